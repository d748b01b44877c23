//! Calls without batches, one after another: GetFlightInfo, GetSchema, ListFlights, DoAction,
//! PollFlightInfo.

use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{Action, Criteria, FlightDescriptor};
use flight_net::client::Connection;
use prost::Message;
use tonic::{Status, Streaming};

use super::connect;
use super::lender::{Lender, Lent};
use super::stream::Stream;
use super::{UnaryJob, clock};
use crate::config::{Connect, Extent};
use crate::limits;
use crate::record::{Failure, Metric, Transfer};

/// What is called, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    Info(FlightDescriptor),
    Schema(FlightDescriptor),
    List(Criteria),
    Action(Action),
    Poll(FlightDescriptor),
}

/// Calls until the run is over or the stream has made the calls that it had to.
pub(super) async fn run(stream: &Stream, job: &UnaryJob, extent: Extent) {
    let by_window = matches!(extent, Extent::Window { .. });
    match job.connect {
        Connect::Resumed => stream.wait_once(async || get_ticket(stream).await).await,
        Connect::PerCall if !by_window => {
            stream.started();
            stream.gate.running().await;
        }
        Connect::Shared | Connect::Pooled(_) if !by_window => {
            stream.wait_for_the_clock_of_calls().await;
        }
        Connect::Shared | Connect::Pooled(_) | Connect::PerCall => {}
    }
    let mut left = match extent {
        Extent::Window { .. } => u64::MAX,
        Extent::Batches(calls) | Extent::Passes(calls) => calls,
    };
    while left > 0 {
        match call(stream, job).await {
            Ok(()) => left -= u64::from(!by_window),
            Err(failure) => {
                if !stream.failed(failure).await && !by_window {
                    return;
                }
            }
        }
    }
}

/// Makes a connection and a call that no figure counts: its session is there to be resumed, since
/// tickets come before the answer.
async fn get_ticket(stream: &Stream) -> Result<(), Failure> {
    let lent = stream.link.lend(stream.shared_recorder()).await?;
    Ok(connect::call(&lent).await?)
}

/// One call, at its time in an open loop.
pub(super) async fn call(stream: &Stream, job: &UnaryJob) -> Result<(), Failure> {
    let recorder = stream.shared_recorder();
    // A connection that is shared is there before the call's clock; any other is part of its time.
    let kept = match job.connect {
        Connect::Shared => Some(stream.link.calls(recorder).await?),
        _ => None,
    };
    let intended = stream.next_arrival().await;
    let sent = clock::now();
    let lent = match kept {
        Some(connection) => Lent::Kept(connection),
        None => stream.link.lend(recorder).await?,
    };
    let mut client = FlightServiceClient::new(Connection::clone(&lent))
        .max_decoding_message_size(limits::CONTROL_BYTES_MAX);
    let answer = job.request.answer(&mut client).await;
    let done = clock::now();
    drop(client);
    let answer = answer.map_err(|status| job.explained(Lender::explained(&lent, status.into())));
    let returned = stream.link.take_back(lent);
    let bytes = answer?;
    returned?;
    // An answer has bytes of a message and no array.
    let amount = Transfer { batches: 1, encoded_bytes: bytes, ..Transfer::default() };
    stream.started();
    stream.first(done - sent);
    let mut recorder = stream.recorder();
    recorder.transferred(stream.slot, amount, done);
    recorder.latency(Metric::UnaryService, done - sent, done);
    if let Some(intended) = intended {
        recorder.latency(Metric::UnaryResponse, done - intended, done);
        recorder.lag(Metric::UnaryLag, sent - intended, done);
    }
    Ok(())
}

impl Request {
    /// Makes the call; how many bytes the answer has, as protobuf messages.
    ///
    /// # Errors
    ///
    /// The server's refusal.
    pub(crate) async fn answer(
        &self,
        client: &mut FlightServiceClient<Connection>,
    ) -> Result<u64, Status> {
        let bytes = match self.clone() {
            Self::Info(descriptor) => {
                client.get_flight_info(descriptor).await?.get_ref().encoded_len()
            }
            Self::Schema(descriptor) => {
                client.get_schema(descriptor).await?.get_ref().encoded_len()
            }
            Self::Poll(descriptor) => {
                client.poll_flight_info(descriptor).await?.get_ref().encoded_len()
            }
            Self::List(criteria) => all(client.list_flights(criteria).await?.into_inner()).await?,
            Self::Action(action) => all(client.do_action(action).await?.into_inner()).await?,
        };
        Ok(bytes as u64)
    }
}

/// Bytes of all messages of a stream.
async fn all<T: Message>(mut messages: Streaming<T>) -> Result<usize, Status> {
    let mut bytes = 0;
    while let Some(message) = messages.message().await? {
        bytes += message.encoded_len();
    }
    Ok(bytes)
}
