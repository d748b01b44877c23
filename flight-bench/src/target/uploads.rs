//! Where uploads go, whether the server acknowledges batches, and who cleans up.

use std::sync::Arc;

use arrow_flight::FlightDescriptor;
use bytes::Bytes;
use flight_net::client::{Connector, PutResults, PutSink};
use flight_wire::protocol::actions::DELETE_DATASET;
use flight_wire::protocol::{PutMode, PutRequest};
use flight_wire::{EncodeOptions, Encoder, Frame, Kind};
use prost::Message;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use super::plan::read_text;
use super::{Capability, Control};
use crate::cli::Source;
use crate::exit::Stop;
use crate::limits;
use crate::load::Acks;
use crate::workload::Pool;

/// The datasets of one run.
pub(crate) struct Uploads {
    /// The encoded descriptor of each stream, or one for all.
    descriptors: Vec<Vec<u8>>,
    /// What is deleted afterwards: this run's own names, where the server can delete.
    names: Vec<Vec<String>>,
    deletable: bool,
    if_exists: Option<String>,
}

impl Uploads {
    /// Decides where the uploads of `streams` streams go. Without a `destination` they get names
    /// of their own, which replace what an earlier upload of this run left there.
    ///
    /// # Errors
    ///
    /// The connection broke, or a file of the destination cannot be read.
    pub(crate) async fn new(
        control: &mut Control,
        destination: Option<&Source>,
        run_id: &str,
        streams: usize,
    ) -> Result<Self, Stop> {
        if let Some(source) = destination {
            let descriptor = match source {
                Source::Path(components) => FlightDescriptor::new_path(components.clone()),
                Source::Command(text) => FlightDescriptor::new_cmd(read_text(text)?),
                // Arrow's own client sends an empty command.
                Source::Perf | Source::Sql(_) | Source::Ticket(_) => {
                    FlightDescriptor::new_cmd(Bytes::new())
                }
            };
            let descriptors = vec![descriptor.encode_to_vec()];
            let if_exists = replacing(source);
            return Ok(Self { descriptors, names: Vec::new(), deletable: false, if_exists });
        }
        let deletable = control.has_action(DELETE_DATASET).await?;
        let name = |stream: usize| {
            ["flight-bench", run_id, &stream.to_string()].map(str::to_owned).to_vec()
        };
        let names: Vec<Vec<String>> = (0..streams).map(name).collect();
        // A server that deletes datasets takes flight-server's requests; others know paths alone.
        let descriptor = |name: &Vec<String>| {
            if !deletable {
                return FlightDescriptor::new_path(name.clone());
            }
            let request = PutRequest { mode: PutMode::Replace, ..PutRequest::create(name.clone()) };
            let json = serde_json::to_vec(&request).expect("strings are always JSON");
            FlightDescriptor::new_cmd(json)
        };
        let descriptors = names.iter().map(|name| descriptor(name).encode_to_vec()).collect();
        Ok(Self { descriptors, names, deletable, if_exists: None })
    }

    pub(crate) fn descriptors(&self) -> &[Vec<u8>] {
        &self.descriptors
    }

    /// What to write where the server refuses to create what exists.
    pub(crate) fn if_exists(&self) -> Option<&str> {
        self.if_exists.as_deref()
    }

    /// The dataset of a stream, if it has one of its own.
    pub(crate) fn name(&self, stream: usize) -> Option<&[String]> {
        self.names.get(stream).map(Vec::as_slice)
    }

    /// Deletes the datasets of the run, where the server can.
    ///
    /// # Errors
    ///
    /// One sentence that names what is left.
    pub(crate) async fn delete(&self, connector: &Connector) -> Result<(), Stop> {
        if !self.deletable {
            return Ok(());
        }
        let left = || {
            let run = self.names.first().and_then(|name| name.split_last());
            let run = run.map_or_else(String::new, |(_, folder)| folder.join("/"));
            format!("the uploads below {run} could not be deleted")
        };
        let connected = Control::connect(connector).await;
        let mut control = connected.map_err(|stop| stop.because(left()))?;
        for name in &self.names {
            let call = format!("deleting {}", name.join("/"));
            let deleted = control.delete_dataset(name).await;
            deleted.map_err(|status| control.refused(&call, status).because(left()))?;
        }
        Ok(())
    }
}

/// The source that replaces what a path names, as it is written at the command line.
fn replacing(source: &Source) -> Option<String> {
    let Source::Path(components) = source else { return None };
    let name = components.join("/");
    let command = serde_json::json!({ "dataset": name, "mode": PutMode::Replace }).to_string();
    // Within single quotes a shell takes everything as it stands but a single quote.
    let command = command.replace('\'', r"'\''");
    Some(format!("to replace it at a flight-server, write --source 'cmd:{command}'"))
}

/// Uploads one batch to learn whether the server acknowledges batches one by one, and that it takes
/// the upload at all.
///
/// # Errors
///
/// The server's refusal.
pub(crate) async fn probe_acks(
    control: &mut Control,
    uploads: &Uploads,
    pool: &Arc<Pool>,
) -> Result<Acks, Stop> {
    let descriptor = &uploads.descriptors()[0];
    let (sink, results) = control.connection().do_put(MetadataMap::new());
    let probing = async {
        let (acks, ()) = tokio::try_join!(first_ack(results), send_one(&sink, descriptor, pool))?;
        Ok::<_, Status>(acks)
    };
    match tokio::time::timeout(limits::CALL_TIMEOUT, probing).await {
        // The probe ends here: a dropped sink breaks the upload off, and nothing is stored.
        Ok(acks) => {
            let acks = control.noted(Capability::Put, acks).map_err(|status| {
                let exists = status.code() == Code::AlreadyExists;
                let stop = control.lacks(Capability::Put, "", status);
                match uploads.if_exists() {
                    Some(way_out) if exists => Stop::failed(anyhow::anyhow!("{stop}; {way_out}")),
                    _ => stop,
                }
            })?;
            control.note(Capability::Acks, acks == Acks::PerBatch);
            Ok(acks)
        }
        Err(_) => Err(Stop::failed(anyhow::anyhow!(
            "DoPut: the server took no batch within {:?}",
            limits::CALL_TIMEOUT
        ))),
    }
}

/// Exchanges one batch to learn whether the server exchanges any; that it sends back something else
/// than it was sent is left to the measured streams.
///
/// # Errors
///
/// The server lacks DoExchange, or is not there.
pub(crate) async fn probe_exchange(
    control: &mut Control,
    descriptor: &[u8],
    pool: &Pool,
) -> Result<(), Stop> {
    let (sink, messages) = control.connection().do_exchange(MetadataMap::new());
    let first = async {
        match messages.await?.next().await {
            Some(Err(status)) => Err(status),
            Some(Ok(_)) | None => Ok(()),
        }
    };
    let probing = async { tokio::try_join!(first, send_one(&sink, descriptor, pool)).map(drop) };
    let answer = tokio::time::timeout(limits::ACK_PROBE_TIMEOUT, probing).await;
    // A server may well wait for more than a batch: one that says nothing has refused nothing.
    let Ok(answer) = answer else { return Ok(()) };
    match control.noted(Capability::Exchange, answer) {
        Err(status) if matches!(status.code(), Code::Unimplemented | Code::Unavailable) => {
            Err(control.lacks(Capability::Exchange, "", status))
        }
        _ => Ok(()),
    }
}

async fn send_one(sink: &PutSink, descriptor: &[u8], pool: &Pool) -> Result<(), Status> {
    let failed = |error| Status::internal(format!("{error}"));
    let mut encoder = Encoder::new(&pool.schema, EncodeOptions::default()).map_err(failed)?;
    // A server that ended the call says why in its results.
    let mut open = sink.send(Frame::new(encoder.schema(), &[], Some(descriptor))).await;
    for message in encoder.encode(&pool.batches[0].batch).map_err(failed)? {
        let is_batch = matches!(message.kind, Kind::Batch { .. });
        let app_metadata = if is_batch { &PROBE[..] } else { &[] };
        open = open && sink.send(Frame::new(message, app_metadata, None)).await;
    }
    Ok(())
}

/// The sequence number of the probe's batch.
const PROBE: [u8; 8] = 0u64.to_le_bytes();

async fn first_ack(
    results: impl Future<Output = Result<PutResults, Status>>,
) -> Result<Acks, Status> {
    let waiting = async {
        let mut results = results.await?;
        Ok::<_, Status>(match results.next().await {
            Some(metadata) if metadata.as_ref().is_ok_and(|m| m.as_ref() == PROBE) => {
                Acks::PerBatch
            }
            Some(Err(status)) => return Err(status),
            Some(Ok(_)) | None => Acks::Final,
        })
    };
    tokio::time::timeout(limits::ACK_PROBE_TIMEOUT, waiting).await.unwrap_or(Ok(Acks::Final))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_exists_is_told_how_to_be_replaced() {
        let check = |source: &str, want: Option<&str>| {
            let source: Source = source.parse().expect("a source");
            let want = want.map(|command| {
                format!("to replace it at a flight-server, write --source '{command}'")
            });
            assert_eq!(replacing(&source), want);
        };
        check("path:a/b", Some(r#"cmd:{"dataset":"a/b","mode":"replace"}"#));
        check("path:it's", Some(r#"cmd:{"dataset":"it'\''s","mode":"replace"}"#));
        check("cmd:x", None);
        check("perf", None);
    }
}
