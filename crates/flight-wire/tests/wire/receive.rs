//! The reader of gRPC messages, on bytes that no client of ours sends.

use bytes::Bytes;
use flight_wire::{MessageReader, Received};

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
