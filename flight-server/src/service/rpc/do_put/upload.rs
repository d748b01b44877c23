//! The blocking half of an upload: decoding, writing, committing.

use bytes::Bytes;
use flight_files::{Codec, Format};
use flight_store::{self as store, DatasetName, Mode, UploadRequest};
use flight_wire::protocol::{PutMode, PutRequest, PutSummary, StoreCodec, StoreFormat};
use flight_wire::{BatchDecoder, DecodeLimits, Decoded, FlightMessage};
use tonic::Status;

use crate::service::Flight;
use crate::service::budget::Share;
use crate::service::command::PutCommand;
use crate::service::rpc::input::Reserved;
use crate::service::status::IntoStatus;

/// An upload in progress; dropped before [`commit`](Self::commit), it leaves nothing.
pub(super) struct Upload {
    decoder: BatchDecoder,
    target: Target,
    /// Memory of the dictionaries that the decoder keeps.
    dictionaries: Option<Share>,
    /// What the upload's ticket permits beyond what has come.
    bytes_left: u64,
}

enum Target {
    Stored(Box<store::Upload>),
    /// Arrow's benchmark.
    Dropped,
}

/// How an upload begins.
pub(super) enum Begun {
    Upload(Upload),
    /// It was stored before, under the same id.
    AlreadyStored(PutSummary),
}

/// What became of a group of messages.
pub(super) struct Written {
    pub(super) upload: Upload,
    /// The `app_metadata` of batches that had some, in order.
    pub(super) acknowledged: Vec<Bytes>,
    /// Of the messages.
    pub(super) bytes: u64,
    pub(super) batches: u64,
    pub(super) rows: u64,
}

impl Upload {
    /// Begins with the first message, which holds the schema.
    pub(super) fn begin(
        flight: &Flight,
        command: PutCommand,
        bytes_max: u64,
        first: &FlightMessage,
    ) -> Result<Begun, Status> {
        let mut decoder = BatchDecoder::new(DecodeLimits::default());
        if first.header.is_empty() {
            return Err(Status::invalid_argument("the first message of an upload has no schema"));
        }
        let decoded = decoder.decode(&first.header, &first.body);
        let Decoded::Schema(schema) = decoded.map_err(IntoStatus::into_status)? else {
            return Err(Status::invalid_argument("the first message of an upload has no schema"));
        };
        let request = match command {
            PutCommand::Perf => {
                return Ok(Begun::Upload(Self::new(decoder, Target::Dropped, u64::MAX)));
            }
            PutCommand::Dataset(request) => upload_request(request)?,
        };
        match flight.store.begin(request, schema).map_err(IntoStatus::into_status)? {
            store::Begun::Upload(upload) => {
                Ok(Begun::Upload(Self::new(decoder, Target::Stored(upload), bytes_max)))
            }
            store::Begun::AlreadyStored(stored) => Ok(Begun::AlreadyStored(summary(&stored))),
        }
    }

    fn new(decoder: BatchDecoder, target: Target, bytes_left: u64) -> Self {
        Self { decoder, target, dictionaries: None, bytes_left }
    }

    /// Decodes and writes a group of messages.
    pub(super) fn write(mut self, mut group: Vec<Reserved>) -> Result<Written, Status> {
        let mut acknowledged = Vec::new();
        let (mut batches, mut rows) = (0, 0);
        let bytes = group.iter().map(|reserved| reserved.message.bytes as u64).sum();
        self.count(bytes)?;
        // By reference: the writer holds the batches' memory until the flush, and so must we.
        for Reserved { message, share } in &mut group {
            if !message.header.is_empty() {
                let decoded = self.decoder.decode(&message.header, &message.body);
                match decoded.map_err(IntoStatus::into_status)? {
                    Decoded::Batch(batch) => {
                        batches += 1;
                        rows += batch.num_rows() as u64;
                        if let Target::Stored(upload) = &mut self.target {
                            upload.write(&batch).map_err(IntoStatus::into_status)?;
                        }
                    }
                    Decoded::Dictionary => self.keep(share.take()),
                    Decoded::Schema(_) => {}
                }
            }
            if !message.app_metadata.is_empty() {
                acknowledged.push(message.app_metadata.clone());
            }
        }
        if let Target::Stored(upload) = &mut self.target {
            upload.flush().map_err(IntoStatus::into_status)?;
        }
        Ok(Written { upload: self, acknowledged, bytes, batches, rows })
    }

    /// Counts what came against what the ticket permits.
    fn count(&mut self, bytes: u64) -> Result<(), Status> {
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left = left.ok_or_else(|| {
            Status::resource_exhausted(
                "the upload is larger than its ticket permits; ask ticket.issue for more bytes",
            )
        })?;
        Ok(())
    }

    /// Keeps the memory of a dictionary's message for as long as the decoder keeps it.
    fn keep(&mut self, share: Option<Share>) {
        match (&mut self.dictionaries, share) {
            (Some(kept), Some(share)) => kept.merge(share),
            (None, share) => self.dictionaries = share,
            (Some(_), None) => {}
        }
        if let Some(kept) = &mut self.dictionaries {
            kept.shrink_to(self.decoder.dictionary_bytes());
        }
    }

    /// Makes the upload durable and visible.
    pub(super) fn commit(self) -> Result<Option<PutSummary>, Status> {
        match self.target {
            Target::Dropped => Ok(None),
            Target::Stored(upload) => {
                let stored = upload.commit().map_err(IntoStatus::into_status)?;
                Ok(Some(summary(&stored)))
            }
        }
    }
}

fn summary(stored: &store::Stored) -> PutSummary {
    PutSummary { rows: stored.rows, bytes: stored.bytes, version: stored.version.to_string() }
}

fn upload_request(request: PutRequest) -> Result<UploadRequest, Status> {
    let name = DatasetName::from_components(&request.dataset.components())
        .map_err(IntoStatus::into_status)?;
    Ok(UploadRequest {
        name,
        mode: match request.mode {
            PutMode::Create => Mode::Create,
            PutMode::Replace => Mode::Replace,
        },
        format: request.format.map(|format| match format {
            StoreFormat::Feather => Format::Feather,
            StoreFormat::Parquet => Format::Parquet,
        }),
        codec: request.codec.map(|codec| match codec {
            StoreCodec::None => Codec::None,
            StoreCodec::Snappy => Codec::Snappy,
            StoreCodec::Gzip => Codec::Gzip,
            StoreCodec::Lz4 => Codec::Lz4,
            StoreCodec::Zstd => Codec::Zstd,
            StoreCodec::Brotli => Codec::Brotli,
        }),
        upload_id: request.upload_id,
    })
}
