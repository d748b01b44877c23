//! A Flight client of few words, and tables to send.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{Action, Criteria, FlightDescriptor, FlightInfo};
use flight_net::client::{
    ConnectError, ConnectOptions, Connection, Connector, GetStream, StreamConnection,
};
use flight_testkit::ServerProcess;
use flight_wire::protocol::{PutSummary, TICKET_HEADER};
use flight_wire::{
    BatchDecoder, DecodeLimits, Decoded, EncodeOptions, Encoder, FlightMessage, Frame,
};
use prost::Message as _;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Request, Status};

/// A table whose rows tell which upload made them: `tag` in every row.
pub fn table(tag: i64, rows: usize) -> RecordBatch {
    let tags: ArrayRef = Arc::new(Int64Array::from(vec![tag; rows]));
    let row: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let text: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("row {row} of {tag}"))));
    RecordBatch::try_from_iter([("tag", tags), ("row", row), ("text", text)]).unwrap()
}

#[derive(Clone)]
pub struct Client {
    connection: Connection,
    /// For batches, over the transport of the connector.
    streams: StreamConnection,
    calls: FlightServiceClient<Connection>,
}

impl Client {
    pub async fn connect(endpoint: &str) -> Self {
        Self::try_connect(endpoint).await.unwrap()
    }

    pub async fn try_connect(endpoint: &str) -> Result<Self, ConnectError> {
        let endpoint = endpoint.parse().unwrap();
        let connector = Connector::new(endpoint, None, ConnectOptions::default());
        let connection = connector.connect().await?;
        let calls = FlightServiceClient::new(connection.clone());
        Ok(Self { streams: connection.clone().into(), connection, calls })
    }

    /// One connection for calls and another, over the connector's transport, for batches.
    pub async fn over(connector: Connector) -> Result<Self, ConnectError> {
        let connection = connector.connect().await?;
        let streams = connector.connect_streams().await?;
        let calls = FlightServiceClient::new(connection.clone());
        Ok(Self { connection, streams, calls })
    }

    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    pub async fn names(&mut self) -> Vec<String> {
        let listed = self.calls.list_flights(Criteria::default()).await.unwrap();
        let mut listed = listed.into_inner();
        let mut names = Vec::new();
        while let Some(info) = listed.message().await.unwrap() {
            names.push(info.flight_descriptor.unwrap().path.join("/"));
        }
        names
    }

    pub async fn info(&mut self, command: &str) -> Result<FlightInfo, Status> {
        let descriptor = FlightDescriptor::new_cmd(command.to_owned());
        Ok(self.calls.get_flight_info(descriptor).await?.into_inner())
    }

    pub async fn action(&mut self, name: &str, body: &str) -> Result<String, Status> {
        let results = self.act(name, body.as_bytes().to_vec(), None).await?;
        Ok(String::from_utf8_lossy(&results).into_owned())
    }

    /// An action of any bytes, with a ticket in its metadata.
    pub async fn act(
        &mut self,
        name: &str,
        body: Vec<u8>,
        ticket: Option<&[u8]>,
    ) -> Result<Vec<u8>, Status> {
        let mut request = Request::new(Action { r#type: name.to_owned(), body: body.into() });
        *request.metadata_mut() = permit(ticket);
        let mut results = self.calls.do_action(request).await?.into_inner();
        let mut bytes = Vec::new();
        while let Some(result) = results.message().await? {
            bytes.extend_from_slice(&result.body);
        }
        Ok(bytes)
    }

    /// Reads all endpoints of `command`, batch after batch.
    pub async fn get(&mut self, command: &str) -> Result<Vec<RecordBatch>, Status> {
        let mut batches = Vec::new();
        for endpoint in self.info(command).await?.endpoint {
            let mut stream = self.stream(&endpoint.ticket.unwrap().ticket).await?;
            while let Some(batch) = stream.next().await? {
                batches.push(batch);
            }
        }
        Ok(batches)
    }

    pub async fn stream(&self, ticket: &[u8]) -> Result<Stream, Status> {
        let messages = self.streams.do_get(ticket, MetadataMap::new()).await?;
        Ok(Stream { messages, decoder: BatchDecoder::new(DecodeLimits::default()) })
    }

    pub async fn message_stream(
        &self,
        ticket: &[u8],
        headers: &[(&'static str, &str)],
    ) -> Result<GetStream, Status> {
        let mut metadata = MetadataMap::new();
        for (name, value) in headers {
            metadata.insert(*name, value.parse().unwrap());
        }
        self.streams.do_get(ticket, metadata).await
    }

    /// The messages of a ticket, asked for with headers, as they come.
    pub async fn messages(
        &self,
        ticket: &[u8],
        headers: &[(&'static str, &str)],
    ) -> Result<Vec<FlightMessage>, Status> {
        let mut stream = self.message_stream(ticket, headers).await?;
        let mut messages = Vec::new();
        while let Some(message) = stream.next().await {
            messages.push(message?);
        }
        Ok(messages)
    }

    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Uploads `batches` and returns the summary of what was stored.
    pub async fn put(&self, command: &str, batches: &[RecordBatch]) -> Result<PutSummary, Status> {
        self.put_with(command, batches, EncodeOptions::default(), None).await
    }

    /// The same, with a ticket in its metadata.
    pub async fn put_permitted(
        &self,
        command: &str,
        batches: &[RecordBatch],
        ticket: &[u8],
    ) -> Result<PutSummary, Status> {
        self.put_with(command, batches, EncodeOptions::default(), Some(ticket)).await
    }

    /// The same, each batch one message.
    pub async fn put_whole(
        &self,
        command: &str,
        batches: &[RecordBatch],
    ) -> Result<PutSummary, Status> {
        let options = EncodeOptions { message_bytes_max: 256 << 20, ..EncodeOptions::default() };
        self.put_with(command, batches, options, None).await
    }

    async fn put_with(
        &self,
        command: &str,
        batches: &[RecordBatch],
        options: EncodeOptions,
        ticket: Option<&[u8]>,
    ) -> Result<PutSummary, Status> {
        let (sink, results) = self.streams.do_put(permit(ticket));
        let descriptor = FlightDescriptor::new_cmd(command.to_owned()).encode_to_vec();
        let schema = batches[0].schema();
        let mut encoder = Encoder::new(&schema, options).unwrap();
        let batches = batches.to_vec();
        let sending = tokio::spawn(async move {
            sink.send(Frame::new(encoder.schema(), b"", Some(&descriptor))).await;
            for batch in batches {
                for message in encoder.encode(&batch).unwrap() {
                    if !sink.send(Frame::new(message, b"", None)).await {
                        return;
                    }
                }
            }
            sink.finish().await;
        });
        let mut last = None;
        let mut results = results.await?;
        while let Some(result) = results.next().await {
            last = PutSummary::parse(&result?);
        }
        sending.await.unwrap();
        last.ok_or_else(|| Status::unknown("OK without a summary"))
    }
}

/// Metadata that holds a ticket.
fn permit(ticket: Option<&[u8]>) -> MetadataMap {
    let mut metadata = MetadataMap::new();
    if let Some(ticket) = ticket {
        metadata.insert_bin(TICKET_HEADER, MetadataValue::from_bytes(ticket));
    }
    metadata
}

pub struct Stream {
    messages: GetStream,
    decoder: BatchDecoder,
}

impl Stream {
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, Status> {
        while let Some(message) = self.messages.next().await {
            let message = message?;
            let decoded = self.decoder.decode(&message.header, &message.body);
            if let Decoded::Batch(batch) = decoded.unwrap() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

/// The tag of a table, after checking that every row belongs to the same upload and none is missing.
pub fn tag_of(batches: &[RecordBatch], rows: usize) -> i64 {
    let column = |batch: &RecordBatch, index: usize| {
        batch.column(index).as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec()
    };
    let tags: Vec<i64> = batches.iter().flat_map(|b| column(b, 0)).collect();
    let order: Vec<i64> = batches.iter().flat_map(|b| column(b, 1)).collect();
    assert_eq!(tags.len(), rows);
    assert!(tags.iter().all(|tag| *tag == tags[0]), "rows of several uploads in one table");
    assert!(order.iter().enumerate().all(|(at, row)| at as i64 == *row), "rows out of order");
    tags[0]
}

/// What a server's admin endpoint answers, head and all.
pub fn admin_get(server: &ServerProcess, path: &str) -> String {
    use std::io::{Read as _, Write as _};
    let admin = server.ready()["admin"].as_str().unwrap().strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(admin).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}
