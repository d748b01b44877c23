//! What is refused for its size.

/// Bytes of a ticket: its name, subject and tail at their longest would be more.
pub const TICKET_BYTES_MAX: usize = 64 << 10;
/// Bytes of a dataset's name.
pub const DATASET_BYTES_MAX: usize = 4096;
/// Bytes of a subject.
pub const SUBJECT_BYTES_MAX: usize = 255;
/// Bytes of the tail, which says how the rows are sent.
pub const TAIL_BYTES_MAX: usize = 48 << 10;
/// Tickets for one use that are remembered as used.
pub const SPENT_MAX: usize = 1 << 18;

const _: () = assert!(
    crate::encoded::HEAD_BYTES + DATASET_BYTES_MAX + SUBJECT_BYTES_MAX + TAIL_BYTES_MAX + 256
        <= TICKET_BYTES_MAX,
    "what may be issued can be verified"
);
