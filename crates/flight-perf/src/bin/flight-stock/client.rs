//! The clients: arrow-flight's encoder and decoder over a tonic channel, a connection a stream.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{FlightClient, FlightData, FlightDescriptor, Ticket};
use bytes::Bytes;
use flight_perf::sets::WorkingSet;
use flight_perf::tally::{Stopwatch, Tally};
use futures_util::TryStreamExt;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tokio::task::JoinSet;
use tonic::transport::Channel;

use crate::connect::{self, Address};
use crate::{GetArgs, InfoArgs, PutArgs, ReadArgs, raw};

pub(crate) async fn get(args: GetArgs) -> Result<Tally> {
    let address = Address::parse(&args.target.url)?;
    if address.raw {
        return raw::get(&args).await;
    }
    let mut clients = Vec::new();
    for _ in 0..args.streams {
        let channel = connect::channel(&address, args.target.tls_ca.as_deref()).await?;
        let client = FlightServiceClient::new(channel);
        clients.push(match args.max_message_bytes {
            Some(max) => client.max_decoding_message_size(max),
            None => client,
        });
    }
    let descriptor = match args.cmd {
        Some(command) => FlightDescriptor::new_cmd(command),
        None => FlightDescriptor::new_path(vec![args.path]),
    };
    let tickets = tickets(clients[0].clone(), descriptor).await?;
    let watch = Stopwatch::start();
    let mut streams = JoinSet::new();
    for client in clients {
        streams.spawn(read_all(client, tickets.clone(), args.target.passes));
    }
    let mut tally = Tally::default();
    while let Some(read) = streams.join_next().await {
        tally.add(&read.context("a stream panicked")??);
    }
    Ok(watch.stop(tally))
}

async fn tickets(
    mut client: FlightServiceClient<Channel>,
    descriptor: FlightDescriptor,
) -> Result<Vec<Ticket>> {
    let info = client.get_flight_info(descriptor).await?.into_inner();
    let tickets: Vec<_> = info.endpoint.into_iter().filter_map(|e| e.ticket).collect();
    if tickets.is_empty() {
        bail!("the server names no ticket for this dataset");
    }
    Ok(tickets)
}

async fn read_all(
    mut client: FlightServiceClient<Channel>,
    tickets: Vec<Ticket>,
    passes: u64,
) -> Result<Tally> {
    let mut tally = Tally::default();
    let bytes = Arc::new(AtomicU64::new(0));
    for _ in 0..passes {
        for ticket in &tickets {
            let bytes = Arc::clone(&bytes);
            let messages = client.do_get(ticket.clone()).await?.into_inner();
            let counted = messages.map_err(|s| FlightError::Tonic(Box::new(s))).inspect_ok(
                move |message: &FlightData| {
                    bytes.fetch_add(message.data_body.len() as u64, Ordering::Relaxed);
                },
            );
            let mut batches = FlightRecordBatchStream::new_from_flight_data(counted);
            while let Some(batch) = batches.try_next().await? {
                tally.batches += 1;
                tally.rows += batch.num_rows() as u64;
            }
            tally.calls += 1;
        }
    }
    tally.bytes = bytes.load(Ordering::Relaxed);
    Ok(tally)
}

pub(crate) async fn put(args: PutArgs) -> Result<Tally> {
    let address = Address::parse(&args.target.url)?;
    if address.raw {
        return raw::put(&args).await;
    }
    let set = WorkingSet::generate(args.set);
    let channel = connect::channel(&address, args.target.tls_ca.as_deref()).await?;
    let mut client = FlightClient::new(channel);
    // An upload without a name is dropped.
    let descriptor = FlightDescriptor::new_path(args.store.into_iter().collect());
    let bytes = Arc::new(AtomicU64::new(0));
    let watch = Stopwatch::start();
    let mut tally = Tally::default();
    for _ in 0..args.target.passes {
        let batches = tokio_stream::iter(set.batches.clone().into_iter().map(Ok));
        let bytes = Arc::clone(&bytes);
        let encoded = FlightDataEncoderBuilder::new()
            .with_schema(Arc::clone(&set.schema))
            .with_flight_descriptor(Some(descriptor.clone()))
            .build(batches);
        let counted = encoded.inspect_ok(move |message| {
            bytes.fetch_add(message.data_body.len() as u64, Ordering::Relaxed);
        });
        let mut answers = client.do_put(counted).await?;
        while answers.try_next().await?.is_some() {}
        tally.calls += 1;
        tally.batches += set.batches.len() as u64;
        tally.rows += set.rows();
    }
    tally.bytes = bytes.load(Ordering::Relaxed);
    Ok(watch.stop(tally))
}

pub(crate) async fn info(args: InfoArgs) -> Result<Tally> {
    let address = Address::parse(&args.url)?;
    if address.raw {
        bail!("{}: GetFlightInfo needs grpc:// or grpc+tls://", args.url);
    }
    let channel = connect::channel(&address, args.tls_ca.as_deref()).await?;
    let descriptor = FlightDescriptor::new_path(vec![args.path]);
    let watch = Stopwatch::start();
    let mut callers = JoinSet::new();
    for _ in 0..args.callers {
        let mut client = FlightServiceClient::new(channel.clone());
        let descriptor = descriptor.clone();
        callers.spawn(async move {
            for _ in 0..args.passes {
                let info = client.get_flight_info(descriptor.clone()).await?.into_inner();
                if info.schema == Bytes::new() {
                    bail!("the server announced no schema");
                }
            }
            Ok(())
        });
    }
    while let Some(called) = callers.join_next().await {
        called.context("a caller panicked")??;
    }
    Ok(watch.stop(Tally { calls: args.callers * args.passes, ..Tally::default() }))
}

pub(crate) fn read(args: &ReadArgs) -> Result<Tally> {
    let named = || format!("{}", args.file.display());
    let watch = Stopwatch::start();
    let mut tally = Tally::default();
    for _ in 0..args.passes {
        let file = File::open(&args.file).with_context(named)?;
        let batch_rows = usize::try_from(args.batch_rows).expect("bounded by its option");
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).with_context(named)?;
        for batch in reader.with_batch_size(batch_rows).build()? {
            tally.batches += 1;
            tally.rows += batch?.num_rows() as u64;
        }
        tally.calls += 1;
    }
    Ok(watch.stop(tally))
}
