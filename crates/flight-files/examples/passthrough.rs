//! Stored batches to frames again and again, for `tests/instructions.sh` to count what it costs.
//!
//! `passthrough SCENARIO TIMES`; without arguments it lists the scenarios. The file is mapped, so
//! that nothing but our own work counts, and was read before, so that nothing is checked again.

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use flight_files::{DatasetFile, DecodeOptions, DecodePool, Format, Piece, ReadLimits, Scan};
use flight_testkit::measured::{self, Scenario, small, taxi};
use flight_wire::{EncodeOptions, Frame};

const SCENARIOS: [Scenario; 4] = [
    Scenario { name: "pass-small", run: |times| pass(&small(), 64 << 20, &Scan::all(), times) },
    Scenario { name: "pass-taxi", run: |times| pass(&taxi(), 64 << 20, &Scan::all(), times) },
    Scenario { name: "pass-taxi-split", run: |times| pass(&taxi(), 1 << 20, &Scan::all(), times) },
    Scenario {
        name: "pass-taxi-columns",
        run: |times| {
            let columns = Some(vec![1, 5, 12, 19]);
            pass(&taxi(), 64 << 20, &Scan { columns, ..Scan::all() }, times);
        },
    },
];

fn main() -> Result<(), String> {
    measured::run(&SCENARIOS)
}

fn pass(batch: &RecordBatch, message_bytes_max: usize, scan: &Scan, times: usize) {
    let file = tempfile::tempfile().expect("a temporary file");
    let handle = file.try_clone().expect("a second descriptor");
    let mut writer = FileWriter::try_new(handle, &batch.schema()).expect("plain types");
    writer.write(batch).expect("room on the disk");
    writer.finish().expect("room on the disk");
    let dataset = DatasetFile::open(file, Format::Feather, &ReadLimits::default());
    let dataset = Arc::new(dataset.expect("our own file"));
    dataset.map().expect("a file can be mapped");
    let pool = DecodePool::new(DecodeOptions::default()).expect("a pool without threads");
    let options = EncodeOptions { message_bytes_max, ..EncodeOptions::default() };
    // The first time, it is checked.
    for _ in 0..=times {
        for piece in dataset.pieces(scan.clone(), options.clone(), &pool).expect("columns") {
            match piece.expect("our own file") {
                Piece::Message(message) => {
                    black_box(Frame::new(message, b"", None).into_chunks());
                }
                other => panic!("not a message: {other:?}"),
            }
        }
    }
}
