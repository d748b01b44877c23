//! Compares what the ends of a connection saw with what is expected.

use flight_pki::{Authority, Host, Issued, KeyKind};
use flight_tls::{CipherSuite, ClientTls, Negotiated, ServerTls};

use crate::ends::{Seen, group, meet};
use crate::folder::authority;

/// Connects to `host` and compares what the client saw; where that is a connection, the server saw
/// the same.
pub(crate) async fn check(server: &ServerTls, client: &ClientTls, host: &str, expected: &str) {
    let seen = meet(server, client, host).await;
    assert_eq!(text(&seen.client), expected);
    match &seen.client {
        Ok(_) => assert_eq!(text(&seen.server), expected),
        Err(_) => assert!(seen.server.is_err(), "the server believes in a connection"),
    }
}

/// As `check`, comparing what the server saw of a client that it refused too.
pub(crate) async fn check_refused(
    server: &ServerTls,
    client: &ClientTls,
    client_saw: &str,
    server_saw: &str,
) {
    let Seen { client, server } = meet(server, client, "localhost").await;
    assert_eq!(text(&client), client_saw);
    assert_eq!(text(&server), server_saw);
}

fn text(seen: &Result<Negotiated, String>) -> String {
    match seen {
        Ok(negotiated) => negotiated.to_string(),
        Err(sentence) => sentence.clone(),
    }
}

pub(crate) fn of_kind(kind: KeyKind) -> (Authority, Issued) {
    let root = authority();
    let issued = root.server(&Host::loopback(), kind).unwrap();
    (root, issued)
}

/// What the two ends prefer on this processor.
pub(crate) fn preferred() -> String {
    format!("TLS 1.3 {} {}", CipherSuite::all()[0], group())
}
