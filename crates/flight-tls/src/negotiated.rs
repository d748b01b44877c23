//! What the two ends of a connection agreed on, read from the connection itself.

use std::fmt;

use rustls::{CommonState, HandshakeKind, ProtocolVersion};

use crate::suite::{CipherSuite, TlsVersion};

/// What was negotiated. Prints as `TLS 1.3 TLS_AES_128_GCM_SHA256 X25519MLKEM768`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    pub version: TlsVersion,
    pub suite: CipherSuite,
    /// The key exchange, by IANA's name; `None` when a session of TLS 1.2 was resumed.
    pub group: Option<&'static str>,
    /// True when an earlier session spared the certificates.
    pub resumed: bool,
}

/// Reads what was negotiated; `None` before the handshake is over.
///
/// `stream.get_ref().1` of a [`ClientStream`](crate::ClientStream) or
/// [`ServerStream`](crate::ServerStream) is such a state.
pub fn negotiated(connection: &CommonState) -> Option<Negotiated> {
    if connection.is_handshaking() {
        return None;
    }
    let version = match connection.protocol_version()? {
        ProtocolVersion::TLSv1_3 => TlsVersion::V1_3,
        ProtocolVersion::TLSv1_2 => TlsVersion::V1_2,
        _ => return None,
    };
    Some(Negotiated {
        version,
        suite: CipherSuite::of(connection.negotiated_cipher_suite()?)?,
        group: connection.negotiated_key_exchange_group().and_then(|group| group.name().as_str()),
        resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
    })
}

impl fmt::Display for Negotiated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TLS {} {}", self.version, self.suite)?;
        if let Some(group) = self.group {
            write!(f, " {group}")?;
        }
        Ok(())
    }
}
