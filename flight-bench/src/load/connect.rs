//! Connections, one after another: made, asked one call, and closed.

use arrow_flight::Action;
use arrow_flight::flight_service_client::FlightServiceClient;
use flight_net::client::Connection;
use flight_tls::Negotiated;
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
            Ok(counted) => {
                left -= u64::from(!by_window && counted);
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

/// Makes a connection; whether it is one of those that were asked for.
async fn once(stream: &Stream, job: &ConnectJob, resumes: bool) -> Result<bool, Failure> {
    let intended = stream.next_arrival().await;
    let began = clock::now();
    let connected = stream.link.connector().connect_settled().await;
    let connection = connected.map_err(|error| Failure::new("CONNECT", error.to_string()))?;
    if let Some(agreed) = connection.negotiated() {
        check(job, agreed, resumes)?;
    }
    let times = connection.times();
    let called = clock::now();
    call(&connection).await?;
    let done = clock::now();
    stream.started();
    stream.first(done - began);
    if job.resume == Resume::Ticket && !resumes {
        return Ok(false); // A full handshake, which is not among those that were asked for.
    }
    let mut recorder = stream.recorder();
    let amount = Transfer { batches: 1, ..Transfer::default() };
    recorder.transferred(stream.slot, amount, done);
    recorder.latency(Metric::ConnectSocket, times.socket, done);
    if !times.tls.is_zero() {
        recorder.latency(Metric::ConnectTls, times.tls, done);
    }
    recorder.latency(Metric::ConnectHttp2, times.http2, done);
    recorder.latency(Metric::ConnectFirstCall, done - called, done);
    recorder.latency(Metric::ConnectReady, done - began, done);
    if let Some(intended) = intended {
        recorder.latency(Metric::ConnectResponse, done - intended, done);
        recorder.lag(Metric::ConnectLag, began - intended, done);
    }
    Ok(true)
}

/// A handshake of another kind than was asked for must not pass as a fast, or a slow, one; nor one
/// that agreed on something else than that by which the row is told.
fn check(job: &ConnectJob, agreed: &Negotiated, resumes: bool) -> Result<(), Failure> {
    let mismatch = |why: &str| Err(Failure::new("MISMATCH", why));
    match job.resume {
        Resume::Full if agreed.resumed => {
            return mismatch("a session was resumed, and none was to be");
        }
        Resume::Ticket if resumes && !agreed.resumed => {
            return mismatch(
                "the server resumed no session; --resume full measures its full handshakes",
            );
        }
        _ => {}
    }
    let Some(first) = &job.agreed else { return Ok(()) };
    // A session that was resumed does not always tell.
    let other_group = first.group.zip(agreed.group).is_some_and(|(first, agreed)| first != agreed);
    if (first.version, first.suite) != (agreed.version, agreed.suite) || other_group {
        return mismatch(&format!("{agreed} was negotiated, and {first} before"));
    }
    Ok(())
}

/// The first call of the connection: any answer shows that the server is ready, a refusal too.
pub(super) async fn call(connection: &Connection) -> Result<(), Status> {
    let mut client = FlightServiceClient::new(connection.clone());
    match client.do_action(Action::new("ping", "")).await {
        Err(status) if status.code() == Code::Unavailable => Err(status),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use flight_tls::{CipherSuite, Engine, TlsVersion};

    use super::*;

    fn negotiated(resumed: bool, group: Option<&'static str>, suite: usize) -> Negotiated {
        let suite = CipherSuite::of_tls13().nth(suite).expect("there are three");
        let (engine, version) = (Engine::AwsLc, TlsVersion::V1_3);
        Negotiated { engine, version, suite, group, key: None, resumed }
    }

    #[test]
    fn a_connection_that_is_not_of_its_row_is_a_failure() {
        let check = |resume, resumes, agreed: Negotiated, want: &str| {
            let first = negotiated(false, Some("X25519"), 0);
            let got = check(&ConnectJob { resume, agreed: Some(first) }, &agreed, resumes);
            let got = got.map_or_else(|failure| failure.sentence, |()| "taken".to_owned());
            assert!(got.starts_with(want), "{agreed:?}: {got}");
        };
        let of = |resumed, group| negotiated(resumed, Some(group), 0);
        check(Resume::Full, false, of(false, "X25519"), "taken");
        check(Resume::Full, false, of(true, "X25519"), "a session was resumed, and none was to be");
        check(Resume::Ticket, false, of(false, "X25519"), "taken");
        check(Resume::Ticket, true, of(true, "X25519"), "taken");
        check(Resume::Ticket, true, negotiated(true, None, 0), "taken");
        check(Resume::Ticket, true, of(false, "X25519"), "the server resumed no session; --resume");
        check(
            Resume::Full,
            false,
            of(false, "secp256r1"),
            "TLS 1.3 TLS_AES_128_GCM_SHA256 secp256r1 was negotiated, and TLS 1.3 TLS_AES_128_GCM",
        );
        let other = negotiated(false, Some("X25519"), 1);
        check(Resume::Full, false, other, "TLS 1.3 TLS_AES_256_GCM_SHA384 X25519 was negotiated");
    }
}
