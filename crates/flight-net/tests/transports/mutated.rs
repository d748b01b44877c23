//! The own connection's sans-IO half on damaged streams: an error or an answer, never a panic.

use flight_net::client::fuzzing;
use flight_testkit::{FuzzTarget, cases};
use proptest::prelude::*;

use crate::peer::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PING, RESET, SETTINGS,
    STATUS_200, WINDOW_UPDATE, field, frame, greeting, head, message, trailers,
};

/// A stream with a frame of every kind.
fn stream() -> Vec<u8> {
    let body: Vec<u8> = message(&[7; 3_000]);
    [
        greeting(),
        frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0, 0, 5, 0, 0, 0x80, 0]),
        frame(WINDOW_UPDATE, 0, 0, &1_000u32.to_be_bytes()),
        frame(PING, 0, 0, b"12345678"),
        frame(HEADERS, END_HEADERS, 1, &[&[0x08, 3][..], b"103"].concat()),
        head(),
        frame(DATA, 0, 1, &body[..1_000]),
        frame(DATA, PADDED, 1, &[&[9][..], &body[1_000..], &[0; 9]].concat()),
        frame(HEADERS, 0, 3, STATUS_200),
        frame(CONTINUATION, END_HEADERS, 3, &field("grpc-encoding", "identity")),
        frame(DATA, 0, 3, &message(b"ack")),
        frame(RESET, 0, 3, &8u32.to_be_bytes()),
        trailers(),
        frame(GOAWAY, END_STREAM, 0, &[0, 0, 0, 3, 0, 0, 0, 0, b'x']),
    ]
    .concat()
}

const TARGETS: [FuzzTarget; 2] = [
    FuzzTarget { name: "http2_frames", run: fuzzing::frames },
    FuzzTarget { name: "http2_session", run: fuzzing::session },
];

#[test]
fn seeds_get_through_their_target_and_findings_do_no_harm() {
    let body = message(&vec![7; 40_000]);
    let data = body.chunks(16 << 10).flat_map(|part| frame(DATA, 0, 1, part)).collect();
    let seeds = [
        ("every-frame".to_owned(), stream()),
        ("long-message".to_owned(), [greeting(), head(), data, trailers()].concat()),
    ];
    for target in TARGETS {
        target.replay(&seeds);
    }
}

#[test]
fn a_whole_stream_reads_the_same_in_any_pieces() {
    fuzzing::frames(&stream());
    fuzzing::session(&stream());
    for end in 0..stream().len().min(400) {
        fuzzing::frames(&stream()[..end]);
        fuzzing::session(&stream()[..end]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2_000)))]

    #[test]
    fn damaged_streams_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in any::<prop::sample::Index>(),
        cuts: bool,
    ) {
        let mut bytes = stream();
        for (index, byte) in flips {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if cuts {
            // Lengths and what follows them no longer agree.
            let at = cut.index(bytes.len());
            bytes.remove(at);
        }
        fuzzing::frames(&bytes);
        fuzzing::session(&bytes);
    }

    #[test]
    fn frames_of_anything_never_panic(
        frames in prop::collection::vec(
            (0u8..12, any::<u8>(), 0u32..6, prop::collection::vec(any::<u8>(), 0..40)), 0..30,
        ),
    ) {
        let mut bytes = greeting();
        for (kind, flags, stream, payload) in frames {
            bytes.extend(frame(kind, flags, stream, &payload));
        }
        fuzzing::frames(&bytes);
        fuzzing::session(&bytes);
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        fuzzing::frames(&bytes);
        fuzzing::session(&[greeting(), bytes].concat());
    }
}
