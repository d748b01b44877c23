//! What reading or writing a file may cost, before anything is sized by what the file claims.

use flight_wire::DecodeLimits;

/// How often a file whose change time moved is looked at before it counts as changed, one
/// millisecond later each time: one that is being deleted loses its name in a moment.
pub const CHANGE_LOOKS: u64 = 6;
/// Words of 64 columns or blocks of which it is noted, for each open file, that they were decoded.
pub const CHECKED_WORDS_MAX: usize = 4 << 20;
/// Bytes of memory that is kept for the next blocks to be read into.
pub const READ_BYTES_KEPT: usize = 8 << 20;
/// Bytes of a body that are read from a file at once while they are sent: they and what carries them
/// to the socket stay in a core's second-level cache.
pub const BODY_PART_BYTES: u64 = 384 << 10;
/// Bytes written to a file at once.
pub const WRITE_BUFFER_BYTES: usize = 1 << 20;
/// Bytes that a batch read from Parquet aims at: large enough to amortise, small enough to stay in
/// a cache on the way to the socket.
pub const PARQUET_BATCH_BYTES: u64 = 3 << 19;
/// Rows of a batch read from Parquet, however narrow they are.
pub const PARQUET_BATCH_ROWS_MAX: u64 = 1 << 18;
/// Batches fall on multiples of this many rows where they can, so that their bitmaps need no shift.
pub const BATCH_ROWS_STEP: u64 = 64;
/// Files that a process maps at once; further ones are read.
pub const MAPPINGS_MAX: usize = 4096;
/// Bytes that all Parquet scans of a process hold ahead of their readers: some seventeen that nobody
/// reads from, before the others have to decode a batch at a time.
pub const DECODE_POOL_BYTES: u64 = 1 << 30;
/// Decoded bytes of a part that a large row group is cut into: each part reads dictionaries again
/// and unpacks the pages at its start a second time, so that it must be far larger than they are;
/// and it waits in memory, out of cache, while those before it are sent.
pub const PARQUET_PART_BYTES: u64 = 12 << 20;
/// Parts of a scan that are decoded at once: four threads decode more than a stream carries away.
pub const PARQUET_READERS_MAX: usize = 4;
/// Parts of a scan that are decoded or wait for it, however small they are.
pub const PARQUET_PARTS_MAX: usize = 64;
/// What a column's page is taken to hold, its dictionary included, before one was seen: writers
/// close both at about this size.
pub const PARQUET_PAGE_BYTES: u64 = 1 << 20;
/// Bytes of memory that a Parquet scan keeps for its next pages.
pub const PARQUET_KEPT_BYTES: usize = 4 << 20;
const _: () = assert!(PARQUET_BATCH_BYTES * 2 <= PARQUET_PART_BYTES, "a part is several batches");
const _: () = assert!(
    PARQUET_PART_BYTES * (PARQUET_READERS_MAX as u64 + 1) <= 64 << 20,
    "a scan's share, its sender and what an allocator keeps are below 256 MiB"
);
/// Bytes of encoded rows that the Parquet writer holds before it writes a row group.
pub const ROW_GROUP_BYTES: usize = 128 << 20;
/// Rows of a row group.
pub const ROW_GROUP_ROWS: usize = 1 << 20;
/// Bytes that the rows of one batch may stand for when they are written as Parquet, where every row
/// is written out: 2 000 keys of one 8 MiB value are 16 GiB.
pub const PARQUET_WRITE_LOGICAL_BYTES_MAX: u64 = 1 << 30;
/// Bytes of a Parquet page's header.
pub const PAGE_HEADER_BYTES_MAX: usize = 1 << 20;
/// Groups of a Parquet schema per level of nesting in Arrow (a list is two, a map two).
pub const PARQUET_GROUPS_PER_LEVEL: usize = 3;

/// What is read of a file.
#[derive(Debug, Clone)]
pub struct ReadLimits {
    /// Fields of a schema, nested ones counted.
    pub columns: usize,
    /// How deep a type may nest.
    pub depth: usize,
    /// Rows of one batch of an IPC file or stream.
    pub batch_rows: u64,
    /// Bytes of one IPC message's body as it is stored. It is read whole where it is decoded.
    pub body_bytes: u64,
    /// Bytes of one IPC batch that its compressed buffers may unpack to.
    pub batch_bytes: u64,
    /// Bytes of all dictionaries of an IPC file or stream.
    pub dictionary_bytes: u64,
    /// Bytes of a file's footer.
    pub footer_bytes: u64,
    /// Bytes of one IPC message's header.
    pub message_header_bytes: u64,
    /// Messages of an IPC file or stream; row groups of a Parquet file.
    pub blocks: usize,
    /// Column chunks of a Parquet file, over all row groups.
    pub column_chunks: usize,
    /// Bytes that one Parquet page may unpack to.
    pub page_bytes: u64,
    /// Bytes that are held, pages and values together, while one batch of a Parquet file is
    /// decoded. A batch is made of fewer rows to stay below; a single row above it is refused.
    pub decoded_bytes: u64,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            columns: 10_000,
            depth: 32,
            batch_rows: 1 << 31,
            body_bytes: 8 << 30,
            batch_bytes: 2 << 30,
            dictionary_bytes: 1 << 30,
            footer_bytes: 64 << 20,
            message_header_bytes: 16 << 20,
            blocks: 1 << 20,
            column_chunks: 1 << 20,
            page_bytes: 256 << 20,
            decoded_bytes: 512 << 20,
        }
    }
}

impl ReadLimits {
    /// The part of these limits that holds for IPC messages.
    pub(crate) fn decode(&self) -> DecodeLimits {
        DecodeLimits {
            columns: self.columns,
            depth: self.depth,
            rows: self.batch_rows,
            batch_bytes: self.batch_bytes,
            dictionary_bytes: self.dictionary_bytes,
            // What a batch stands for costs nothing as long as nobody writes it out, and the
            // Parquet writer has a bound of its own.
            expansion: u64::MAX,
            logical_bytes: u64::MAX,
            ..DecodeLimits::default()
        }
    }
}
