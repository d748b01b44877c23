//! Rows arrive equal, whichever way the server takes them from the disk and the client takes them
//! from the socket.
//!
//! Server: Feather read, Feather mapped, Feather from an upload, an Arrow stream, compressed
//! Feather, Parquet; whole, split, cut by rows and columns, compressed on request. Client: our own
//! HTTP/2 connection, hyper's, hyper's under arrow-flight's decoder. In plaintext and over TLS.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::FlightDescriptor;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::encode::{DictionaryHandling, FlightDataEncoderBuilder};
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use flight_net::client::Transport;
use flight_testkit::{assert_same_rows, batches, rng, schemas};
use futures_util::{StreamExt, TryStreamExt};
use tempfile::tempdir;

use crate::client::Client;
use crate::served::Served;

/// What batches can be like, by name.
fn kinds() -> Vec<(&'static str, SchemaRef, Vec<RecordBatch>)> {
    let mut rng = rng(9);
    let of = |fields: Vec<Field>| Arc::new(Schema::new(fields));
    let plain = of(schemas::flat_fields());
    let (views, nested) = schemas::nested_fields()
        .into_iter()
        .partition(|field| is_any(field.data_type(), &|data_type| is_list_view(data_type)));
    let (views, nested): (SchemaRef, SchemaRef) = (of(views), of(nested));
    let dictionaries = of(schemas::dictionary_fields());
    let runs = of(schemas::run_end_fields());
    let numbers = of(vec![Field::new("n", DataType::Int64, true)]);
    let whole = batches::batch_of(&mut rng, &plain, 500);
    vec![
        ("small", Arc::clone(&plain), batches::stream_of(&mut rng, &plain, &[10, 1, 70])),
        ("large", Arc::clone(&numbers), batches::stream_of(&mut rng, &numbers, &[700_000, 5])),
        ("empty", Arc::clone(&plain), batches::stream_of(&mut rng, &plain, &[0, 0])),
        ("sliced", plain, vec![whole.slice(3, 100), whole.slice(103, 397)]),
        ("nested", Arc::clone(&nested), batches::stream_of(&mut rng, &nested, &[200, 50])),
        ("list-views", Arc::clone(&views), batches::stream_of(&mut rng, &views, &[200, 50])),
        ("runs", Arc::clone(&runs), batches::stream_of(&mut rng, &runs, &[200, 50])),
        (
            "dictionary",
            Arc::clone(&dictionaries),
            batches::stream_of(&mut rng, &dictionaries, &[200, 50]),
        ),
    ]
}

fn is_list_view(data_type: &DataType) -> bool {
    matches!(data_type, DataType::ListView(_) | DataType::LargeListView(_))
}

/// Whether `is` holds for a type, or for one within it, values of dictionaries included.
fn is_any(data_type: &DataType, is: &dyn Fn(&DataType) -> bool) -> bool {
    if is(data_type) {
        return true;
    }
    match data_type {
        DataType::Dictionary(_, values) => is_any(values, is),
        _ => {
            let column = Schema::new(vec![Field::new("column", data_type.clone(), true)]);
            let within = column.flattened_fields();
            within.iter().skip(1).any(|field| is(field.data_type()))
        }
    }
}

/// Writes the batches as Feather, plain and compressed, and as a stream.
fn write(data: &Path, name: &str, schema: &SchemaRef, sent: &[RecordBatch]) {
    for (ending, codec) in [
        ("plain", None),
        ("lz4", Some(CompressionType::LZ4_FRAME)),
        ("zstd", Some(CompressionType::ZSTD)),
    ] {
        let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
        let file = File::create(data.join(format!("{name}-{ending}.feather"))).unwrap();
        let mut writer = FileWriter::try_new_with_options(file, schema, options).unwrap();
        sent.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    }
    let file = File::create(data.join(format!("{name}-stream.arrows"))).unwrap();
    let mut writer = StreamWriter::try_new(file, schema).unwrap();
    sent.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

/// A server in plaintext and over TLS, over files of every kind.
fn start(flags: &[&str]) -> Served {
    let data = tempdir().unwrap();
    for (name, schema, sent) in kinds() {
        write(data.path(), name, &schema, &sent);
    }
    Served::start(data, flags)
}

/// How a client takes rows from the socket.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reader {
    Ours(Transport),
    ArrowFlight,
}

async fn read(client: &mut Client, reader: Reader, command: &str) -> Vec<RecordBatch> {
    if reader != Reader::ArrowFlight {
        return client.get(command).await.unwrap();
    }
    let mut calls = FlightServiceClient::new(client.connection().clone());
    let descriptor = FlightDescriptor::new_cmd(command.to_owned());
    let info = calls.get_flight_info(descriptor).await.unwrap().into_inner();
    let mut got = Vec::new();
    for endpoint in info.endpoint {
        let messages = calls.do_get(endpoint.ticket.unwrap()).await.unwrap().into_inner();
        let messages = messages.map_err(Into::into).boxed();
        let stream = FlightRecordBatchStream::new_from_flight_data(messages);
        got.extend(stream.try_collect::<Vec<_>>().await.unwrap());
    }
    got
}

/// Everything that may be asked of a dataset with `columns` columns.
fn commands(dataset: &str, columns: usize) -> Vec<(String, std::ops::Range<usize>, bool)> {
    let whole = format!(r#"{{"dataset":"{dataset}""#);
    let last = columns - 1;
    vec![
        (format!("{whole}}}"), 0..usize::MAX, false),
        (format!(r#"{whole},"message_bytes":16384}}"#), 0..usize::MAX, false),
        (format!(r#"{whole},"batch_rows":33,"endpoints":3}}"#), 0..usize::MAX, false),
        (format!(r#"{whole},"offset":5,"limit":60,"columns":[{last}]}}"#), 5..65, true),
        (format!(r#"{whole},"compression":"lz4"}}"#), 0..usize::MAX, false),
    ]
}

/// The rows of `sent` that a command asks for.
fn asked(sent: &[RecordBatch], rows: std::ops::Range<usize>, last: bool) -> Vec<RecordBatch> {
    let mut first = 0;
    let part = |batch: &RecordBatch| {
        let (start, end) = (rows.start.max(first), rows.end.min(first + batch.num_rows()));
        let part = batch
            .slice(start.saturating_sub(first).min(batch.num_rows()), end.saturating_sub(start));
        first += batch.num_rows();
        if last { part.project(&[batch.num_columns() - 1]).unwrap() } else { part }
    };
    sent.iter().map(part).collect()
}

/// Every way of reading the datasets of each kind whose names end in one of `forms`.
async fn check_reads(served: &Served, forms: &[&str], secure: bool) {
    for reader in
        [Reader::Ours(Transport::Own), Reader::Ours(Transport::Hyper), Reader::ArrowFlight]
    {
        let transport =
            if let Reader::Ours(transport) = reader { transport } else { Transport::Hyper };
        let mut client = served.client(secure, transport).await;
        for (name, schema, sent) in kinds() {
            for form in forms {
                let dataset = format!("{name}-{form}");
                for (command, rows, last) in commands(&dataset, schema.fields().len()) {
                    // arrow-flight 60.1 reads no list views.
                    if reader == Reader::ArrowFlight && name == "list-views" {
                        continue;
                    }
                    let got = read(&mut client, reader, &command).await;
                    let what = format!("{command}, {reader:?}, TLS {secure}");
                    assert_same_rows(&asked(&sent, rows, last), &got, &what);
                }
            }
        }
    }
}

const ALL_FORMS: &[&str] = &["plain", "lz4", "zstd", "stream"];

#[tokio::test]
async fn files_that_are_read_arrive_equal() {
    let served = start(&[]);
    for secure in [false, true] {
        check_reads(&served, ALL_FORMS, secure).await;
    }
}

#[tokio::test]
async fn files_that_are_mapped_arrive_equal() {
    let served = start(&["--map-files"]);
    for secure in [false, true] {
        check_reads(&served, ALL_FORMS, secure).await;
    }
}

#[tokio::test]
async fn uploads_arrive_equal() {
    let served = start(&[]);
    for secure in [false, true] {
        for transport in [Transport::Own, Transport::Hyper] {
            let client = served.client(secure, transport).await;
            for (name, _, sent) in kinds() {
                let put = format!(r#"{{"dataset":"{name}-sent","mode":"replace"}}"#);
                client.put(&put, &sent).await.unwrap();
            }
            check_reads(&served, &["sent"], secure).await;
        }
    }
}

/// Uploads as arrow-flight's encoder frames them.
async fn put_by_arrow_flight(client: &Client, command: String, sent: Vec<RecordBatch>) {
    let schema = sent[0].schema();
    let encoded = FlightDataEncoderBuilder::new()
        .with_schema(schema)
        .with_dictionary_handling(DictionaryHandling::Resend)
        .with_flight_descriptor(Some(FlightDescriptor::new_cmd(command)))
        .build(futures_util::stream::iter(sent.into_iter().map(Ok)))
        .map(|data| data.unwrap());
    let mut calls = FlightServiceClient::new(client.connection().clone());
    let mut results = calls.do_put(encoded).await.unwrap().into_inner();
    while results.message().await.unwrap().is_some() {}
}

#[tokio::test]
async fn uploads_of_arrow_flight_arrive_equal() {
    let served = start(&[]);
    for secure in [false, true] {
        let client = served.client(secure, Transport::Hyper).await;
        for (name, _, sent) in kinds() {
            let command = format!(r#"{{"dataset":"{name}-sent","mode":"replace"}}"#);
            // arrow-flight 60.1 writes no list views; ours take their place.
            match name {
                "list-views" => drop(client.put(&command, &sent).await.unwrap()),
                _ => put_by_arrow_flight(&client, command, sent).await,
            }
        }
        check_reads(&served, &["sent"], secure).await;
    }
}

#[tokio::test]
async fn parquet_arrives_equal() {
    let served = start(&[]);
    let client = served.client(false, Transport::Own).await;
    // Columns that Parquet refuses are left out.
    let stored = |schema: &SchemaRef| -> Vec<usize> {
        let refused = |data_type: &DataType| match data_type {
            DataType::Interval(arrow_schema::IntervalUnit::MonthDayNano)
            | DataType::Decimal256(_, i8::MIN..0)
            | DataType::Union(..)
            | DataType::RunEndEncoded(..) => true,
            DataType::Dictionary(_, values) => values.is_nested(),
            _ => false,
        };
        let fields = schema.fields().iter().enumerate();
        let fields = fields.filter(|(_, field)| !is_any(field.data_type(), &refused));
        fields.map(|(index, _)| index).collect()
    };
    for (name, schema, sent) in kinds() {
        let columns = stored(&schema);
        if columns.is_empty() {
            assert_eq!(name, "runs");
            continue;
        }
        let sent: Vec<_> = sent.iter().map(|batch| batch.project(&columns).unwrap()).collect();
        let put = format!(r#"{{"dataset":"{name}-rows","format":"parquet"}}"#);
        client.put(&put, &sent).await.unwrap();
        for secure in [false, true] {
            for transport in [Transport::Own, Transport::Hyper] {
                let mut reading = served.client(secure, transport).await;
                for (command, rows, last) in commands(&format!("{name}-rows"), columns.len()) {
                    let got = read(&mut reading, Reader::Ours(transport), &command).await;
                    assert_same_rows(&asked(&sent, rows, last), &got, &command);
                }
            }
        }
    }
}
