//! The bodies of the fuzz targets over their corpus, as it lies there and mutated.

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use bytes::Buf as _;
use flight_testkit::{FuzzTarget, batches, rng, schemas};
use flight_wire::{Compression, EncodeOptions, Frame, Message};
use proptest::prelude::*;

use super::{body, encode, on_the_wire};

#[path = "../../../../fuzz/targets.rs"]
mod targets;

const TARGETS: [FuzzTarget; 2] = [
    FuzzTarget { name: "guard", run: targets::guard },
    FuzzTarget { name: "message_reader", run: targets::message_reader },
];

#[test]
fn seeds_get_through_their_target_and_findings_do_no_harm() {
    for target in TARGETS {
        target.replay(&seeds(target));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(flight_testkit::cases(1000)))]

    #[test]
    fn mutated_seeds_do_no_harm(
        target in prop::sample::select(TARGETS.to_vec()),
        seed: prop::sample::Index,
        mutations in prop::collection::vec(mutation(), 1..8),
    ) {
        let corpus = target.corpus();
        let mut bytes = corpus[seed.index(corpus.len())].1.clone();
        for mutation in &mutations {
            mutation.apply(&mut bytes);
        }
        (target.run)(&bytes);
    }
}

#[derive(Debug, Clone)]
enum Mutation {
    Overwrite(prop::sample::Index, Vec<u8>),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    // Numbers that lengths are wrong with, beside any bytes at all.
    let number = prop::sample::select(vec![0u64, 1, 0x7f, 0xff, 0x7fff_ffff, u64::MAX, 1 << 63]);
    let bytes = prop_oneof![
        number.prop_map(|number| number.to_le_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 1..9),
    ];
    let at = any::<prop::sample::Index>;
    prop_oneof![
        4 => (at(), bytes.clone()).prop_map(|(at, bytes)| Mutation::Overwrite(at, bytes)),
        1 => (at(), bytes).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        1 => (at(), 1usize..64).prop_map(|(at, length)| Mutation::Remove(at, length)),
        1 => (at(), 1usize..64).prop_map(|(at, length)| Mutation::Repeat(at, length)),
    ]
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let (Self::Overwrite(at, _)
        | Self::Insert(at, _)
        | Self::Remove(at, _)
        | Self::Repeat(at, _)) = self;
        let at = at.index(bytes.len() + 1);
        let end = |length: usize| bytes.len().min(at + length);
        match self {
            Self::Overwrite(_, new) => {
                bytes.splice(at..end(new.len()), new.iter().copied());
            }
            Self::Insert(_, new) => {
                bytes.splice(at..at, new.iter().copied());
            }
            Self::Remove(_, length) => {
                bytes.drain(at..end(*length));
            }
            Self::Repeat(_, length) => {
                let again = bytes[at..end(*length)].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
}

/// Streams of few rows, one for each group of types, by the names of their files.
fn streams() -> Vec<(String, Vec<Message>)> {
    let groups: [(&str, Vec<Field>); 4] = [
        ("flat", schemas::flat_fields()),
        ("nested", schemas::nested_fields()),
        ("dictionaries", schemas::dictionary_fields()),
        ("run-ends", schemas::run_end_fields()),
    ];
    let codecs =
        [("", Compression::None), ("-lz4", Compression::Lz4), ("-zstd", Compression::Zstd)];
    let mut streams = Vec::new();
    for (name, fields) in groups {
        for (suffix, compression) in codecs {
            let mut rng = rng(1);
            let fields: Vec<_> = fields.iter().step_by(3).cloned().collect();
            let schema: SchemaRef = Arc::new(Schema::new(fields));
            let sent = batches::stream_of(&mut rng, &schema, &[3, 2]);
            let options = EncodeOptions { compression, ..EncodeOptions::default() };
            streams.push((format!("{name}{suffix}"), encode(&schema, &sent, &options)));
        }
    }
    streams
}

fn seeds(target: FuzzTarget) -> Vec<(String, Vec<u8>)> {
    let seed = |messages: Vec<Message>| match target.name {
        "guard" => messages
            .iter()
            .flat_map(|m| targets::guard_input(&m.header, &body(m)).expect("a short message"))
            .collect(),
        _ => [&[100], on_the_wire(messages).as_ref()].concat(),
    };
    let mut seeds: Vec<_> =
        streams().into_iter().map(|(name, messages)| (name, seed(messages))).collect();
    if target.name == "message_reader" {
        seeds.truncate(2);
        let (_, messages) = streams().swap_remove(0);
        let first = Frame::new(messages[0].clone(), b"metadata", Some(b"descriptor"));
        let alone = Frame::metadata_only(b"metadata");
        let bytes = [first, alone].into_iter().flat_map(|frame| {
            let mut chunks = frame.into_chunks();
            chunks.copy_to_bytes(chunks.remaining())
        });
        seeds.push(("every-field".to_owned(), [1].into_iter().chain(bytes).collect()));
    }
    seeds
}
