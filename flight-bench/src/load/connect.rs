//! Connections, one after another: made, asked one call, and closed.

use arrow_flight::Action;
use arrow_flight::flight_service_client::FlightServiceClient;
use flight_net::client::Connection;
use tonic::{Code, Status};

use super::stream::Stream;
use super::{ConnectJob, clock};
use crate::config::{Extent, Resume};
use crate::record::{Failure, Metric, Transfer};

/// Connects until the run is over or the stream has connected as often as it had to.
pub(super) async fn run(stream: &Stream, job: &ConnectJob, extent: Extent) {
    let by_window = matches!(extent, Extent::Window { .. });
    if !by_window {
        stream.started();
        stream.gate.running().await;
    }
    let mut left = match extent {
        Extent::Window { .. } => u64::MAX,
        Extent::Batches(count) | Extent::Passes(count) => count,
    };
    // The first connection of a client has no session to resume.
    let mut resumes = false;
    while left > 0 {
        match once(stream, job, resumes).await {
            Ok(()) => {
                left -= u64::from(!by_window);
                resumes = job.resume == Resume::Ticket;
            }
            Err(failure) => {
                if !stream.failed(failure).await && !by_window {
                    return;
                }
            }
        }
    }
}

async fn once(stream: &Stream, job: &ConnectJob, resumes: bool) -> Result<(), Failure> {
    let intended = stream.next_arrival().await;
    let began = clock::now();
    let connected = stream.link.connector().connect().await;
    let connection = connected.map_err(|error| Failure::new("CONNECT", error.to_string()))?;
    check(job, &connection, resumes)?;
    let times = connection.times();
    call(&connection).await?;
    let done = clock::now();
    stream.started();
    stream.first(done - began);
    if job.resume == Resume::Ticket && !resumes {
        return Ok(()); // A full handshake, which is not among those that were asked for.
    }
    let mut recorder = stream.recorder();
    let amount = Transfer { batches: 1, ..Transfer::default() };
    recorder.transferred(stream.slot, amount, done);
    recorder.latency(Metric::ConnectSocket, times.socket, done);
    if !times.tls.is_zero() {
        recorder.latency(Metric::ConnectTls, times.tls, done);
    }
    recorder.latency(Metric::ConnectReady, done - began, done);
    if let Some(intended) = intended {
        recorder.latency(Metric::ConnectResponse, done - intended, done);
        recorder.lag(Metric::ConnectLag, began - intended, done);
    }
    Ok(())
}

/// A handshake of another kind than was asked for must not pass as a fast, or a slow, one.
fn check(job: &ConnectJob, connection: &Connection, resumes: bool) -> Result<(), Failure> {
    let Some(agreed) = connection.negotiated() else { return Ok(()) };
    let mismatch = |why: &str| Err(Failure::new("MISMATCH", why));
    match job.resume {
        Resume::Full if agreed.resumed => mismatch("a session was resumed, and none was to be"),
        Resume::Ticket if resumes && !agreed.resumed => {
            mismatch("the server resumed no session; --resume full measures its full handshakes")
        }
        _ => Ok(()),
    }
}

/// The first call of the connection: any answer shows that the server is ready, a refusal too.
async fn call(connection: &Connection) -> Result<(), Status> {
    let mut client = FlightServiceClient::new(connection.clone());
    match client.do_action(Action::new("ping", "")).await {
        Err(status) if status.code() == Code::Unavailable => Err(status),
        _ => Ok(()),
    }
}
