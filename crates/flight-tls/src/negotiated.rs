//! What the two ends of a connection agreed on, read from the connection itself.

use std::fmt;

use crate::engine::Engine;
use crate::key::KeyOf;
use crate::suite::{CipherSuite, TlsVersion};

/// What was negotiated. Prints as `TLS 1.3 TLS_AES_128_GCM_SHA256 X25519MLKEM768`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// This end's own.
    pub engine: Engine,
    pub version: TlsVersion,
    pub suite: CipherSuite,
    /// The key exchange, by IANA's name; `None` when a session of TLS 1.2 was resumed, or when the
    /// engine does not tell.
    pub group: Option<&'static str>,
    /// The key of the server's certificate; `None` where a resumed session does not hold it.
    pub key: Option<KeyOf>,
    /// True when an earlier session spared the certificates.
    pub resumed: bool,
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
