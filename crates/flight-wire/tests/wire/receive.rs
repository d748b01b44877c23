//! The reader of gRPC messages, on bytes that no client of ours sends.

use bytes::Bytes;
use flight_wire::{BufferPool, FlightMessage, MessageReader, Received};

/// Pushes `bytes` one by one and tells what came out, or the error.
fn check(bytes: &[u8], answer: &str) {
    let mut reader = MessageReader::new(1000);
    let mut text = String::new();
    'all: for byte in bytes {
        reader.push(Bytes::copy_from_slice(&[*byte]));
        loop {
            match reader.next() {
                Ok(Received::Starved) => break,
                Ok(Received::Begun(bytes)) => text.push_str(&format!("begun {bytes}; ")),
                Ok(Received::Message(m)) => text.push_str(&format!(
                    "header {:?} metadata {:?} body {:?} descriptor {:?}; ",
                    m.header,
                    m.app_metadata,
                    m.body.as_slice(),
                    m.descriptor,
                )),
                Err(error) => {
                    text.push_str(&error.to_string());
                    break 'all;
                }
            }
        }
    }
    if let Err(error) = reader.finish() {
        text.push_str(&format!("end: {error}"));
    }
    assert!(text.contains(answer), "{bytes:?}: {text}");
}

#[test]
fn fields_are_read_in_any_order() {
    let message = [0xc2, 0x3e, 2, 7, 8, 0x1a, 1, b'm', 0x12, 2, b'h', b'd', 0x0a, 1, b'd'];
    let framed = [&[0, 0, 0, 0, message.len() as u8][..], &message].concat();
    let read = r#"header b"hd" metadata b"m" body [7, 8] descriptor Some(b"d")"#;
    check(&framed, read);
}

#[test]
fn unknown_fields_are_skipped() {
    // Field 15 of each wire type, then a header.
    let message =
        [&[0x78, 0x96, 1, 0x79][..], &[0; 8], &[0x7a, 1, 9, 0x7d, 0, 0, 0, 0, 0x12, 1, b'h']]
            .concat();
    let framed = [&[0, 0, 0, 0, message.len() as u8][..], &message].concat();
    check(&framed, r#"header b"h""#);
}

#[test]
fn an_empty_message_is_a_message() {
    check(&[0, 0, 0, 0, 0], r#"begun 0; header b"""#);
}

#[test]
fn what_is_no_flight_data_is_refused() {
    check(&[1, 0, 0, 0, 0], "compressed by gRPC");
    check(&[0, 0, 0, 4, 0], "a message of 1024 bytes is more than the 1000");
    check(&[0, 255, 255, 255, 255], "a message of 4294967295 bytes");
    check(&[0, 0, 0, 0, 2, 0x13, 0], "unknown wire type");
    check(&[0, 0, 0, 0, 2, 0x12, 9], "longer than its message");
    check(&[0, 0, 0, 0, 3, 0xc2, 0x3e, 9], "longer than its message");
    check(&[0, 0, 0, 0, 1, 0x80, 0x80], "ends within a field");
    check(&[0, 0, 0, 0, 3, 0x7d, 1, 2], "longer than its message");
    check(&[[0, 0, 0, 0, 50].as_slice(), &[0xff; 12]].concat(), "varint of more than 10");
}

#[test]
fn a_stream_that_stops_within_a_message_is_cut() {
    check(&[0, 0, 0], "end: the stream ended in the middle");
    check(&[0, 0, 0, 0, 9, 0x12, 7, b'h'], "end: the stream ended in the middle");
}

/// Reads `framed` in pieces, each as far as it goes into the body's own space and pushed for the
/// rest; what came out, and how many bytes went past the reader's input.
fn read_into_space(framed: &[u8], piece: usize) -> (Vec<FlightMessage>, usize) {
    let mut reader = MessageReader::with_pool(1 << 20, BufferPool::new(1 << 20));
    let (mut messages, mut direct, mut rest) = (Vec::new(), 0, framed);
    while !rest.is_empty() {
        let (mut part, after) = rest.split_at(piece.min(rest.len()));
        rest = after;
        if let Some(space) = reader.body_space() {
            let count = space.len().min(part.len());
            space[..count].copy_from_slice(&part[..count]);
            reader.filled(count);
            part = &part[count..];
            direct += count;
        }
        reader.push(Bytes::copy_from_slice(part));
        loop {
            match reader.next().unwrap() {
                Received::Message(message) => messages.push(message),
                Received::Begun(_) => {}
                Received::Starved => break,
            }
        }
    }
    reader.finish().unwrap();
    (messages, direct)
}

#[test]
fn a_body_may_be_read_into_its_own_memory() {
    let body: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
    // Header, metadata behind the body, and a second message whose body is empty.
    let mut message = [&[0x12, 1, b'h', 0xc2, 0x3e, 0xa0, 0x8d, 6][..], &body].concat();
    message.extend([0x1a, 1, b'm']);
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    let second = [0, 0, 0, 0, 6, 0x12, 1, b'i', 0xc2, 0x3e, 0];
    let framed = [&[0][..], &length, &message, &second].concat();
    for piece in [1, 7, 4096, 65_536, framed.len()] {
        let (messages, direct) = read_into_space(&framed, piece);
        let [first, second] = messages.as_slice() else { panic!("{} messages", messages.len()) };
        assert_eq!(first.body.as_slice(), body, "{piece}");
        assert_eq!(first.body.as_ptr().align_offset(64), 0, "{piece}");
        assert_eq!((&first.header[..], &first.app_metadata[..]), (&b"h"[..], &b"m"[..]));
        assert_eq!((&second.header[..], second.body.len()), (&b"i"[..], 0));
        assert_eq!(direct > 0, piece < framed.len(), "{piece}");
    }
}

#[test]
fn there_is_no_space_where_something_else_comes_next() {
    let mut reader = MessageReader::new(1000);
    assert!(reader.body_space().is_none(), "before a message");
    reader.push(Bytes::from_static(&[0, 0, 0, 0, 5, 0xc2, 0x3e, 2]));
    assert!(matches!(reader.next(), Ok(Received::Begun(5))));
    assert!(matches!(reader.next(), Ok(Received::Starved)));
    assert_eq!(reader.body_space().map(|space| space.len()), Some(2));
    reader.push(Bytes::from_static(&[7]));
    assert!(reader.body_space().is_none(), "a pushed byte comes first");
    assert!(matches!(reader.next(), Ok(Received::Starved)));
    assert_eq!(reader.body_space().map(|space| space.len()), Some(1));
    reader.filled(1);
    assert!(reader.body_space().is_none(), "the body is full");
}

#[test]
fn bodies_share_recycled_memory() {
    let pool = BufferPool::new(1 << 20);
    // A body of 100 000 bytes: field 1000, and its length as a varint.
    let head = [0, 0, 1, 0x86, 0xa5, 0xc2, 0x3e, 0xa0, 0x8d, 0x06];
    let framed = [&head[..], &[7; 100_000]].concat().repeat(2);
    let mut reader = MessageReader::with_pool(1 << 20, pool);
    reader.push(Bytes::from(framed));
    let mut places = Vec::new();
    loop {
        match reader.next().unwrap() {
            Received::Message(message) => places.push(message.body.as_ptr()),
            Received::Begun(_) => {}
            Received::Starved => break,
        }
    }
    assert_eq!(places.len(), 2);
    assert_eq!(places[0], places[1], "the first body was dropped before the second began");
}
