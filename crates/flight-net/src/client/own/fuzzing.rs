//! What a fuzzer calls: any bytes as those of a peer. Nothing here may panic, hang or grow.

use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::HeaderMap;

use super::decoder::{Event, FrameDecoder};
use super::frame::FrameError;
use super::session::Session;
use crate::client::Origin;
use crate::limits::Http2Settings;
use crate::paths;

/// Cuts `data` into frames, whole and in small pieces. Gives the number of events.
///
/// # Panics
///
/// When the two differ: how bytes arrive must not change what they mean.
pub fn frames(data: &[u8]) -> usize {
    let whole = events(data, data.len().max(1));
    for piece in [1, 3, 10] {
        assert_eq!(events(data, piece), whole, "pieces of {piece} bytes");
    }
    whole.0.len()
}

/// Gives `data` to a connection with an answer and an upload under way, as a socket would. Gives the
/// number of messages that came of it.
pub fn session(data: &[u8]) -> usize {
    let origin =
        Origin { scheme: "http", authority: "h:1".to_owned(), metadata: std::sync::Arc::default() };
    let http2 = Http2Settings { stream_window_bytes: 1 << 17, ..Http2Settings::default() };
    let mut session = Session::new(origin, http2);
    let mut open = |path, body, handles| {
        let call = session.open(path, &HeaderMap::new(), body, 1 << 20, handles);
        call.expect("a new connection takes calls")
    };
    let answer = open(paths::DO_GET, Some(Bytes::from_static(b"ticket")), 1);
    let upload = open(paths::DO_PUT, None, 2);
    let (mut rest, mut messages) = (data, 0);
    while !rest.is_empty() {
        let space = session.direct_space();
        let direct = space.len().min(rest.len());
        space[..direct].copy_from_slice(&rest[..direct]);
        let (piece, after) = rest[direct..].split_at((rest.len() - direct).min(PIECE_BYTES));
        rest = after;
        let taken =
            session.filled(direct).and_then(|()| session.receive(Bytes::copy_from_slice(piece)));
        if taken.is_err() {
            break;
        }
        let cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(Ok(_))) = session.poll_message(answer, &cx) {
            messages += 1;
        }
        while session.prepare_output() {
            let mut slices = [std::io::IoSlice::new(&[]); super::output::SLICES_MAX];
            let count = session.output(&mut slices);
            let bytes = slices[..count].iter().map(|slice| slice.len()).sum();
            session.written(bytes);
        }
    }
    for (call, handles) in [(answer, 1), (upload, 2)] {
        (0..handles).for_each(|_| session.release(call, false));
    }
    messages
}

const PIECE_BYTES: usize = 100;

/// The events of `data` in pieces, runs of DATA payload joined, and the error that ended them.
fn events(data: &[u8], piece: usize) -> (Vec<Event>, Option<FrameError>) {
    let mut decoder = FrameDecoder::new(1 << 14);
    let (mut events, mut payload) = (Vec::new(), Vec::new());
    for part in data.chunks(piece) {
        let mut input = Bytes::copy_from_slice(part);
        loop {
            let next = decoder.next(&mut input);
            if let Ok(Some(Event::Data(bytes))) = &next {
                payload.extend_from_slice(bytes);
                continue;
            }
            let over = !matches!(next, Ok(None));
            if over && !payload.is_empty() {
                events.push(Event::Data(std::mem::take(&mut payload).into()));
            }
            match next {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => return (events, Some(error)),
            }
        }
    }
    if !payload.is_empty() {
        events.push(Event::Data(payload.into()));
    }
    (events, None)
}
