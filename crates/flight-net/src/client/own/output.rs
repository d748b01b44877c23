//! What goes to the peer: control frames, then as many DATA frames as one write takes, in turns.

use std::io::IoSlice;

use bytes::Bytes;

use super::frame::{HEAD_BYTES, Head, flag, kind};
use super::session::Session;
use crate::limits::FRAME_BYTES_SENT_MAX;

/// Bytes that are put together for one write.
const WRITE_BYTES: usize = 1 << 20;
/// Pieces of one vectored write; Linux takes 1024.
pub(crate) const SLICES_MAX: usize = 128;

impl Session {
    /// Gives a stream that has something to send its turn.
    pub(super) fn schedule(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let outbound = &mut stream.outbound;
        if stream.opened && !outbound.scheduled && outbound.wants_to_send() {
            outbound.scheduled = true;
            self.send.turns.push_back(id);
        }
    }

    pub(super) fn schedule_all(&mut self) {
        let mut ids: Vec<u32> = self.streams.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.schedule(id);
        }
    }

    /// Puts together what one write may carry; whether there is anything to write.
    pub(crate) fn prepare_output(&mut self) -> bool {
        // What answers the peer goes first, but never into the middle of a frame.
        if !self.send.control.is_empty() {
            let control = self.send.control.split().freeze();
            self.put(control);
        }
        while self.send.bytes < WRITE_BYTES
            && let Some(id) = self.send.turns.pop_front()
        {
            self.put_data(id);
        }
        self.send.bytes > 0
    }

    /// The pieces to write, as many as fit `slices`; how many those are.
    pub(crate) fn output<'a>(&'a self, slices: &mut [IoSlice<'a>; SLICES_MAX]) -> usize {
        let pieces = self.send.pieces.iter().take(SLICES_MAX);
        slices.iter_mut().zip(pieces).map(|(slot, piece)| *slot = IoSlice::new(piece)).count()
    }

    /// `count` bytes of the output were written.
    pub(crate) fn written(&mut self, mut count: usize) {
        self.send.bytes -= count;
        while count > 0 {
            let first = self.send.pieces.front_mut().expect("no more is written than there is");
            if first.len() > count {
                let _written = first.split_to(count);
                return;
            }
            count -= first.len();
            self.send.pieces.pop_front();
        }
    }

    /// One DATA frame of a stream, as long as the windows allow.
    fn put_data(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let outbound = &mut stream.outbound;
        outbound.scheduled = false;
        if !outbound.wants_to_send() {
            return;
        }
        let window = outbound.window.min(self.send.window);
        let allowed = usize::try_from(window).unwrap_or(0);
        let length =
            outbound.bytes.min(allowed).min(self.send.frame_bytes_max).min(FRAME_BYTES_SENT_MAX);
        if length == 0 && outbound.bytes > 0 {
            return; // until the peer widens a window, which schedules it again
        }
        let last = outbound.finished && length == outbound.bytes;
        let flags = if last { flag::END_STREAM } else { 0 };
        self.send.heads.reserve(HEAD_BYTES);
        Head { length, kind: kind::DATA, flags, stream: id }.put(&mut self.send.heads);
        let head = self.send.heads.split().freeze();
        let pieces = &mut self.send.pieces;
        pieces.push_back(head);
        outbound.take(length, |piece| pieces.push_back(piece));
        self.send.bytes += HEAD_BYTES + length;
        self.control_frames = 0;
        outbound.window -= length as i64;
        self.send.window -= length as i64;
        outbound.closed = last;
        if let Some(waker) = outbound.waker.take() {
            waker.wake();
        }
        self.schedule(id);
    }

    fn put(&mut self, bytes: Bytes) {
        self.send.bytes += bytes.len();
        self.send.pieces.push_back(bytes);
    }
}
