//! The messages that every rung moves: those of a dataset as Flight sends them.

use std::path::Path;

use bytes::{Buf, Bytes};
use flight_wire::{EncodeOptions, Encoder, Frame};

use crate::exit::Stop;
use crate::workload::Pool;

/// Bytes of a write, as in flight-server: smaller messages are grouped.
const GROUP_BYTES: usize = 1 << 20;

/// A dataset's batches as gRPC messages, in memory.
pub(super) struct Messages(Vec<Frame>);

impl Messages {
    /// Reads and encodes `file`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or holds no batch.
    pub(super) fn of_file(file: &Path, message_bytes: usize) -> Result<Self, Stop> {
        let pool = Pool::from_file(file, None, message_bytes)?;
        let options =
            EncodeOptions { message_bytes_max: message_bytes, ..EncodeOptions::default() };
        let mut encoder = Encoder::new(&pool.schema, options).map_err(Stop::failed)?;
        let mut frames = Vec::new();
        for prepared in &pool.batches {
            let messages = encoder.encode(&prepared.batch).map_err(Stop::failed)?;
            frames.extend(messages.into_iter().map(|message| Frame::new(message, &[], None)));
        }
        Ok(Self(frames))
    }

    /// Each message in one piece, as raw sockets and copies take it.
    pub(super) fn whole(&self) -> Vec<Bytes> {
        let joined = |frame: &Frame| {
            let mut chunks = frame.clone().into_chunks();
            chunks.copy_to_bytes(chunks.remaining())
        };
        self.0.iter().map(joined).collect()
    }

    /// The messages in pieces, grouped to writes.
    pub(super) fn grouped(self) -> Vec<Frame> {
        let mut groups: Vec<Frame> = Vec::new();
        for frame in self.0 {
            match groups.last_mut().filter(|group| group.bytes() < GROUP_BYTES) {
                Some(group) => group.append(frame),
                None => groups.push(frame),
            }
        }
        groups
    }
}
