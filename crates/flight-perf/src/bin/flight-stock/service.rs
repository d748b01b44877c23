//! The service: what a first implementation with arrow-flight looks like.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightEndpoint, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::SchemaRef;
use flight_perf::sets::{SetName, WorkingSet};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// Batches that are read ahead of the encoder, on a thread of their own.
const BATCHES_AHEAD: usize = 2;

/// Sets in memory and the files of a folder.
#[derive(Clone)]
pub(crate) struct Stock {
    sets: Arc<BTreeMap<SetName, WorkingSet>>,
    data: Option<Arc<Path>>,
}

impl Stock {
    pub(crate) fn new(sets: BTreeMap<SetName, WorkingSet>, data: Option<PathBuf>) -> Self {
        Self { sets: Arc::new(sets), data: data.map(Arc::from) }
    }

    /// A file of the folder; names with separators are nobody's.
    fn file(&self, name: &str, extension: &str) -> Result<PathBuf, Status> {
        let folder = self.data.as_ref().ok_or_else(|| not_found(name))?;
        if name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with('.') {
            return Err(Status::invalid_argument(format!("{name:?} is no file's name")));
        }
        Ok(folder.join(format!("{name}{extension}")))
    }

    fn open(&self, name: &str) -> Result<Box<dyn RecordBatchReader + Send>, Status> {
        let path = self.file(name, "")?;
        let file = File::open(&path).map_err(|_| not_found(name))?;
        let failed = |error: &dyn std::fmt::Display| Status::internal(error.to_string());
        if path.extension().is_some_and(|extension| extension == "parquet") {
            let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| failed(&e))?;
            return Ok(Box::new(builder.build().map_err(|e| failed(&e))?));
        }
        Ok(Box::new(FileReader::try_new_buffered(file, None).map_err(|e| failed(&e))?))
    }

    fn source(&self, name: &str) -> Result<(SchemaRef, Batches), Status> {
        if let Some(set) = SetName::parse(name).and_then(|name| self.sets.get(&name)) {
            let batches = set.batches.clone();
            let stream = tokio_stream::iter(batches.into_iter().map(Ok));
            return Ok((Arc::clone(&set.schema), stream.boxed()));
        }
        let reader = self.open(name)?;
        let schema = reader.schema();
        let (sender, receiver) = mpsc::channel(BATCHES_AHEAD);
        tokio::task::spawn_blocking(move || {
            for batch in reader {
                // A client that has gone needs no more batches.
                if sender.blocking_send(batch.map_err(FlightError::from)).is_err() {
                    return;
                }
            }
        });
        Ok((schema, ReceiverStream::new(receiver).boxed()))
    }

    async fn store(&self, name: Option<&str>, mut batches: FlightRecordBatchStream) -> Answer<u64> {
        let Some(name) = name else {
            let mut rows = 0;
            while let Some(batch) = batches.try_next().await? {
                rows += batch.num_rows() as u64;
            }
            return Ok(rows);
        };
        let failed = |error: &dyn std::fmt::Display| Status::internal(error.to_string());
        let file = File::create(self.file(name, ".arrow")?).map_err(|e| failed(&e))?;
        let mut writer = None;
        let mut rows = 0;
        while let Some(batch) = batches.try_next().await? {
            if writer.is_none() {
                let file = file.try_clone().map_err(|e| failed(&e))?;
                let made = FileWriter::try_new_buffered(file, &batch.schema());
                writer = Some(made.map_err(|e| failed(&e))?);
            }
            if let Some(writer) = &mut writer {
                writer.write(&batch).map_err(|e| failed(&e))?;
            }
            rows += batch.num_rows() as u64;
        }
        if let Some(mut writer) = writer {
            writer.finish().map_err(|e| failed(&e))?;
        }
        Ok(rows)
    }
}

type Batches = BoxStream<'static, Result<RecordBatch, FlightError>>;
type Answer<T> = Result<T, Status>;

fn not_found(name: &str) -> Status {
    Status::not_found(format!("there is no dataset {name}"))
}

fn name_of(descriptor: &FlightDescriptor) -> Option<&str> {
    descriptor.path.first().map(String::as_str)
}

/// The calls that no measurement makes.
fn not_served<T>() -> Answer<T> {
    Err(Status::unimplemented("flight-stock serves DoGet, DoPut and GetFlightInfo"))
}

#[tonic::async_trait]
impl FlightService for Stock {
    type HandshakeStream = BoxStream<'static, Answer<HandshakeResponse>>;
    type ListFlightsStream = BoxStream<'static, Answer<FlightInfo>>;
    type DoGetStream = BoxStream<'static, Answer<FlightData>>;
    type DoPutStream = BoxStream<'static, Answer<PutResult>>;
    type DoActionStream = BoxStream<'static, Answer<arrow_flight::Result>>;
    type ListActionsStream = BoxStream<'static, Answer<ActionType>>;
    type DoExchangeStream = BoxStream<'static, Answer<FlightData>>;

    async fn do_get(&self, request: Request<Ticket>) -> Answer<Response<Self::DoGetStream>> {
        let ticket = request.into_inner().ticket;
        let name = std::str::from_utf8(&ticket)
            .map_err(|_| Status::invalid_argument("the ticket is no name"))?;
        let (schema, batches) = self.source(name)?;
        let encoded = FlightDataEncoderBuilder::new().with_schema(schema).build(batches);
        Ok(Response::new(encoded.map_err(Status::from).boxed()))
    }

    async fn do_put(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Answer<Response<Self::DoPutStream>> {
        let mut messages = request.into_inner().peekable();
        let first = std::pin::Pin::new(&mut messages).peek().await;
        let name = match first {
            Some(Ok(first)) => first.flight_descriptor.as_ref().and_then(name_of),
            _ => None,
        };
        let name = name.map(str::to_owned);
        let batches = FlightRecordBatchStream::new_from_flight_data(
            messages.map_err(|status| FlightError::Tonic(Box::new(status))),
        );
        let rows = self.store(name.as_deref(), batches).await?;
        let done = PutResult { app_metadata: rows.to_le_bytes().to_vec().into() };
        Ok(Response::new(tokio_stream::once(Ok(done)).boxed()))
    }

    async fn get_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Answer<Response<FlightInfo>> {
        let descriptor = request.into_inner();
        let name = name_of(&descriptor).ok_or_else(|| Status::invalid_argument("no PATH"))?;
        let (schema, rows) = match SetName::parse(name).and_then(|name| self.sets.get(&name)) {
            Some(set) => (Arc::clone(&set.schema), i64::try_from(set.rows()).unwrap_or(-1)),
            None => (self.open(name)?.schema(), -1),
        };
        let endpoint = FlightEndpoint::new().with_ticket(Ticket::new(name.to_owned()));
        let info = FlightInfo::new()
            .try_with_schema(&schema)
            .map_err(|error| Status::internal(error.to_string()))?
            .with_endpoint(endpoint)
            .with_total_records(rows)
            .with_descriptor(descriptor);
        Ok(Response::new(info))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Answer<Response<Self::HandshakeStream>> {
        not_served()
    }

    async fn list_flights(
        &self,
        _: Request<Criteria>,
    ) -> Answer<Response<Self::ListFlightsStream>> {
        not_served()
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Answer<Response<PollInfo>> {
        not_served()
    }

    async fn get_schema(&self, _: Request<FlightDescriptor>) -> Answer<Response<SchemaResult>> {
        not_served()
    }

    async fn do_action(&self, _: Request<Action>) -> Answer<Response<Self::DoActionStream>> {
        not_served()
    }

    async fn list_actions(&self, _: Request<Empty>) -> Answer<Response<Self::ListActionsStream>> {
        not_served()
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Answer<Response<Self::DoExchangeStream>> {
        not_served()
    }
}
