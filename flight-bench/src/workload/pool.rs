//! The batches of an upload, ready in memory: generated or read from a file.
//!
//! Each is one message: a batch that is too large for a message is cut here, not while the clock
//! runs.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_schema::SchemaRef;
use flight_files::{DatasetFile, Format, ReadLimits, Scan};
use flight_wire::{BatchDecoder, DecodeLimits, Decoded, EncodeOptions, Encoder, Message};

use super::value_bytes;
use crate::exit::Stop;
use crate::limits;
use crate::record::Transfer;

/// Batches that are sent in turn, and again from the first.
pub(crate) struct Pool {
    pub(crate) schema: SchemaRef,
    /// Never empty.
    pub(crate) batches: Vec<Prepared>,
}

/// A batch that fits a message, and what it counts for.
pub(crate) struct Prepared {
    pub(crate) batch: RecordBatch,
    /// Without the encoded bytes, which are known once it is sent.
    pub(crate) amount: Transfer,
}

/// Rows of a generated batch unless told otherwise, as in Arrow's own benchmark.
const BATCH_ROWS_DEFAULT: u64 = 4096;
/// Bytes of a generated row: four 64-bit integers.
const GENERATED_ROW_BYTES: u64 = 32;

impl Pool {
    /// `count` distinct batches of four columns of random 64-bit integers.
    ///
    /// # Errors
    ///
    /// They would take more memory than [`limits::POOL_BYTES_MAX`].
    pub(crate) fn generated(
        count: u64,
        batch_rows: Option<u64>,
        seed: u64,
        message_bytes: usize,
    ) -> Result<Self, Stop> {
        let rows = batch_rows.unwrap_or(BATCH_ROWS_DEFAULT);
        let bytes = count.saturating_mul(rows).saturating_mul(GENERATED_ROW_BYTES);
        if bytes > limits::POOL_BYTES_MAX {
            return Err(Stop::usage(format!(
                "--pool {count} batches of --batch-rows {rows} take {bytes} bytes of memory, more \
                 than the {} that are taken; make one of them smaller",
                limits::POOL_BYTES_MAX
            )));
        }
        let size = flight_sample::Size { rows: count * rows, batch_rows: rows as usize, seed };
        let sample = flight_sample::perf4(size).map_err(Stop::failed)?;
        let schema = Arc::clone(sample.schema());
        Self::cut(schema, sample.map(Ok), message_bytes)
    }

    /// All batches of a Feather, IPC stream or Parquet file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, has no rows, or takes more memory than
    /// [`limits::DATA_FILE_BYTES_MAX`].
    pub(crate) fn from_file(
        path: &Path,
        batch_rows: Option<u64>,
        message_bytes: usize,
    ) -> Result<Self, Stop> {
        let refused = |why: String| Stop::usage(format!("--data-file {}: {why}", path.display()));
        // A folder or a pipe has no batches; a pipe would not even open.
        let metadata = std::fs::metadata(path).map_err(|error| refused(error.to_string()))?;
        if !metadata.is_file() {
            return Err(refused(
                "it is not a file; name a Feather, IPC or Parquet file".to_owned(),
            ));
        }
        let format = Format::of_path(path).ok_or_else(|| {
            refused(
                "its name ends in none of .feather, .arrow, .ipc, .arrows and .parquet; name it \
                 after its format"
                    .to_owned(),
            )
        })?;
        let file = File::open(path).map_err(|error| refused(error.to_string()))?;
        let dataset = DatasetFile::open(file, format, &ReadLimits::default())
            .map_err(|error| refused(error.to_string()))?;
        let scan = Scan { batch_rows: batch_rows.map(|rows| rows as usize), ..Scan::all() };
        let reader = Arc::new(dataset).scan(scan).map_err(|error| refused(error.to_string()))?;
        let schema = Arc::clone(reader.schema());
        let batches = reader.map(|batch| batch.map_err(|error| refused(error.to_string())));
        let pool = Self::cut(schema, batches, message_bytes)?;
        if pool.batches.is_empty() {
            return Err(refused(
                "it holds no batch, so that there is nothing to upload".to_owned(),
            ));
        }
        Ok(pool)
    }

    /// Rows of all batches.
    pub(crate) fn rows(&self) -> u64 {
        self.batches.iter().map(|prepared| prepared.amount.rows).sum()
    }

    /// Unacknowledged batches of a stream that suit their size.
    pub(crate) fn suitable_inflight(&self) -> usize {
        let bytes: u64 = self.batches.iter().map(|prepared| prepared.amount.logical_bytes).sum();
        let mean = (bytes / self.batches.len().max(1) as u64).max(1);
        let range = limits::INFLIGHT_DEFAULT;
        (limits::INFLIGHT_BYTES_DEFAULT / mean).clamp(*range.start(), *range.end()) as usize
    }

    fn cut(
        schema: SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch, Stop>>,
        message_bytes: usize,
    ) -> Result<Self, Stop> {
        let options =
            EncodeOptions { message_bytes_max: message_bytes, ..EncodeOptions::default() };
        let mut encoder = Encoder::new(&schema, options).map_err(Stop::failed)?;
        let mut decoder = BatchDecoder::new(unlimited());
        decode(&mut decoder, encoder.schema())?;
        let mut prepared = Vec::new();
        let mut bytes = 0;
        for batch in batches {
            for message in encoder.encode(&batch?).map_err(Stop::failed)? {
                bytes += message.body_bytes as u64;
                if bytes > limits::DATA_FILE_BYTES_MAX {
                    return Err(Stop::usage(format!(
                        "--data-file holds more than the {} bytes of batches that are kept in \
                         memory; give a smaller file",
                        limits::DATA_FILE_BYTES_MAX
                    )));
                }
                if let Some(batch) = decode(&mut decoder, message)? {
                    prepared.push(Prepared { amount: amount(&batch), batch });
                }
            }
        }
        Ok(Self { schema, batches: prepared })
    }
}

fn amount(batch: &RecordBatch) -> Transfer {
    Transfer {
        batches: 1,
        rows: batch.num_rows() as u64,
        logical_bytes: value_bytes(batch),
        ..Transfer::default()
    }
}

/// The batch of a message, its arrays spanning their buffers as they will at the receiver.
fn decode(decoder: &mut BatchDecoder, message: Message) -> Result<Option<RecordBatch>, Stop> {
    let body = joined(message.body, message.body_bytes);
    match decoder.decode(&message.header, &body).map_err(Stop::failed)? {
        Decoded::Batch(batch) => Ok(Some(batch)),
        Decoded::Schema(_) | Decoded::Dictionary => Ok(None),
    }
}

fn joined(pieces: Vec<Buffer>, bytes: usize) -> Buffer {
    let mut body = MutableBuffer::with_capacity(bytes);
    for piece in pieces {
        body.extend_from_slice(&piece);
    }
    body.into()
}

/// Our own batches are trusted; what they hold is bounded where they come from.
fn unlimited() -> DecodeLimits {
    DecodeLimits {
        batch_bytes: u64::MAX,
        dictionary_bytes: u64::MAX,
        dictionary_work_bytes: u64::MAX,
        logical_bytes: u64::MAX,
        expansion: u64::MAX,
        ..DecodeLimits::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE_BYTES: usize = 3500 << 10;

    #[test]
    fn generated_batches_count_32_bytes_a_row_and_differ() {
        let pool = Pool::generated(3, None, 42, MESSAGE_BYTES).expect("small");
        check(&pool, &[4096, 4096, 4096]);
        assert_ne!(pool.batches[0].batch, pool.batches[1].batch);
        let again = Pool::generated(3, None, 42, MESSAGE_BYTES).expect("small");
        assert_eq!(pool.batches[2].batch, again.batches[2].batch, "the same seed");
        let other = Pool::generated(3, None, 43, MESSAGE_BYTES).expect("small");
        assert_ne!(pool.batches[2].batch, other.batches[2].batch, "another seed");
    }

    #[test]
    fn a_batch_that_is_too_large_for_a_message_is_cut() {
        let pool = Pool::generated(1, Some(2048), 42, 16 << 10).expect("small");
        assert!(pool.batches.len() > 3, "{} messages", pool.batches.len());
        assert_eq!(pool.rows(), 2048);
        let bytes: u64 = pool.batches.iter().map(|p| p.amount.logical_bytes).sum();
        assert_eq!(bytes, 2048 * GENERATED_ROW_BYTES);
    }

    #[test]
    fn large_batches_queue_less() {
        let check = |rows: u64, want: usize| {
            let pool = Pool::generated(1, Some(rows), 42, MESSAGE_BYTES).expect("small");
            assert_eq!(pool.suitable_inflight(), want, "{rows} rows");
        };
        check(100, 64);
        check(4096, 64);
        check(32 << 10, 16);
        check(100_000, 5);
    }

    #[test]
    fn a_pool_that_fills_the_memory_is_refused() {
        let Err(stop) = Pool::generated(4096, Some(1 << 20), 42, MESSAGE_BYTES) else {
            panic!("128 GiB were taken");
        };
        assert!(stop.to_string().contains("make one of them smaller"), "{stop}");
    }

    #[test]
    fn files_that_cannot_be_uploaded_are_named() {
        let check = |path: &str, want: &str| {
            let Err(stop) = Pool::from_file(Path::new(path), None, MESSAGE_BYTES) else {
                panic!("{path} was read");
            };
            assert!(stop.to_string().contains(want), "{stop}");
        };
        check("nowhere/data", "--data-file nowhere/data: No such file");
        check("nowhere/data.parquet", "--data-file nowhere/data.parquet: No such file");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let given = folder.path().display().to_string();
        check(&given, &format!("--data-file {given}: it is not a file"));
        let file = folder.path().join("data.csv").display().to_string();
        std::fs::write(&file, "a,b").expect("a new file");
        check(&file, &format!("--data-file {file}: its name ends in none of"));
    }

    fn check(pool: &Pool, rows: &[u64]) {
        let got: Vec<u64> = pool.batches.iter().map(|p| p.amount.rows).collect();
        assert_eq!(got, rows);
        for prepared in &pool.batches {
            let rows = prepared.amount.rows;
            assert_eq!(prepared.amount.logical_bytes, rows * GENERATED_ROW_BYTES);
            assert_eq!(prepared.batch.num_rows() as u64, rows);
        }
    }
}
