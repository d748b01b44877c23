//! The working sets: what both sides of every comparison move.
//!
//! Each has far more bytes than a core's caches hold, in different batches: one batch sent again
//! and again would stay in a cache and flatter every copy.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use arrow_ipc::writer::{
    DictionaryTracker, FileWriter, IpcDataGenerator, IpcWriteContext, IpcWriteOptions,
};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use clap::ValueEnum;
use flight_sample::{Size, perf4, taxi};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

/// The seed of every set, on both sides of a comparison.
const SEED: u64 = 42;
/// Rows of a Parquet row group.
const ROW_GROUP_ROWS: usize = 131_072;

/// Which working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum SetName {
    /// 16 batches of taxi trips, about 5.5 MB each.
    Taxi,
    /// 512 batches of 4096 rows of four 64-bit integers, 128 KiB each.
    Small,
}

impl SetName {
    pub const ALL: [Self; 2] = [Self::Taxi, Self::Small];

    pub fn name(self) -> &'static str {
        match self {
            Self::Taxi => "taxi",
            Self::Small => "small",
        }
    }

    /// The set of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == name)
    }

    fn size(self) -> Size {
        let (batches, batch_rows) = match self {
            Self::Taxi => (16, 40_960),
            Self::Small => (512, 4_096),
        };
        Size { rows: batches * batch_rows as u64, batch_rows, seed: SEED }
    }
}

/// A working set in memory.
#[derive(Debug, Clone)]
pub struct WorkingSet {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

impl WorkingSet {
    /// Generates a set; the same bytes every time.
    pub fn generate(name: SetName) -> Self {
        let sample = match name {
            SetName::Taxi => taxi(name.size()),
            SetName::Small => perf4(name.size()),
        };
        let sample = sample.expect("the sizes above are within the bounds of samples");
        Self { schema: Arc::clone(sample.schema()), batches: sample.collect() }
    }

    pub fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    /// The IPC body of each batch, as one piece: what a socket would move if there were no Flight.
    ///
    /// # Errors
    ///
    /// A fault of the encoder.
    pub fn bodies(&self) -> Result<Vec<Bytes>> {
        let generator = IpcDataGenerator::default();
        let mut tracker = DictionaryTracker::new(false);
        let options = IpcWriteOptions::default();
        let body = |batch: &RecordBatch| {
            let (_, encoded) = generator
                .encode(batch, &mut tracker, &options, &mut IpcWriteContext::default())
                .context("a batch of the set cannot be encoded")?;
            Ok(Bytes::from(encoded.arrow_data))
        };
        self.batches.iter().map(body).collect()
    }

    /// Writes the set as a Feather file, a message for each batch.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write_feather(&self, path: &Path) -> Result<()> {
        let file = create(path)?;
        let mut writer = FileWriter::try_new_buffered(file, &self.schema)?;
        for batch in &self.batches {
            writer.write(batch)?;
        }
        writer.finish()?;
        Ok(())
    }

    /// Writes the set as a Parquet file with Zstandard (level 1) or Snappy pages.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write_parquet(&self, path: &Path, codec: ParquetCodec) -> Result<()> {
        let compression = match codec {
            ParquetCodec::Zstd => Compression::ZSTD(ZstdLevel::default()),
            ParquetCodec::Snappy => Compression::SNAPPY,
        };
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .build();
        let schema = Arc::clone(&self.schema);
        let mut writer = ArrowWriter::try_new(create(path)?, schema, Some(properties))?;
        for batch in &self.batches {
            writer.write(batch)?;
        }
        writer.close()?;
        Ok(())
    }
}

/// How the pages of a Parquet file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParquetCodec {
    Zstd,
    Snappy,
}

fn create(path: &Path) -> Result<std::fs::File> {
    std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))
}
