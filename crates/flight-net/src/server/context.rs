//! What is known of a call before anything is dispatched.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use flight_tls::{ClientNames, Negotiated};
use http::HeaderMap;

/// Who is at the other end of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    /// `None` for a Unix socket.
    pub address: Option<SocketAddr>,
    /// What the handshake agreed on; `None` in plaintext.
    pub tls: Option<Negotiated>,
    /// Who the client is, by its certificate, which was verified; `None` where it showed none.
    pub client: Option<ClientNames>,
    /// SHA-256 of that certificate.
    pub client_fingerprint: Option<[u8; 32]>,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => write!(f, "{address}"),
            None => f.write_str("unix"),
        }
    }
}

/// When a call must be done.
pub type Deadline = tokio::time::Instant;

/// A call's circumstances, made from its HTTP request; found in the request's extensions.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Counts calls of this process; for logs.
    pub id: u64,
    pub peer: Arc<Peer>,
    pub started: Instant,
    /// From `grpc-timeout`.
    pub deadline: Option<Deadline>,
}

impl CallContext {
    pub(super) fn new(peer: &Arc<Peer>, headers: &HeaderMap) -> Self {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let timeout = headers.get("grpc-timeout").and_then(|value| value.to_str().ok());
        Self {
            id: CALLS.fetch_add(1, Ordering::Relaxed),
            peer: Arc::clone(peer),
            started: Instant::now(),
            deadline: timeout
                .and_then(parse_timeout)
                .and_then(|timeout| Deadline::now().checked_add(timeout)),
        }
    }
}

/// Parses `grpc-timeout`: at most eight digits and a unit. What is not of this form is ignored, as
/// other servers do.
///
/// <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>
fn parse_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(amount * 3600),
        "M" => Duration::from_secs(amount * 60),
        "S" => Duration::from_secs(amount),
        "m" => Duration::from_millis(amount),
        "u" => Duration::from_micros(amount),
        "n" => Duration::from_nanos(amount),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_has_at_most_eight_digits_and_a_unit() {
        for (text, answer) in [
            ("5S", Some(Duration::from_secs(5))),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3600))),
            ("250m", Some(Duration::from_millis(250))),
            ("7u", Some(Duration::from_micros(7))),
            ("7n", Some(Duration::from_nanos(7))),
            ("2M", Some(Duration::from_secs(120))),
            ("", None),
            ("S", None),
            ("5", None),
            ("-5S", None),
            ("123456789S", None),
            ("5é", None),
        ] {
            assert_eq!(parse_timeout(text), answer, "{text:?}");
        }
    }
}
