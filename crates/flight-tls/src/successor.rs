//! Whether new settings of a running server may take the place of the present ones.
//!
//! Files were judged when they were loaded: the key is that of the certificate, the dates hold. Here
//! the two are compared, and the new ones are tried in handshakes in memory.
//!
//! A server has clients but is none, so only one of the two directions of such a trial means much:
//! the *new* settings against a client that holds to the new certificate. It proves that the key
//! signs for the certificate and that both fit the versions, suites and groups that were asked for.
//! The *present* settings against a client made for the new ones could only fail for the
//! certificate, and it is meant to change. What they are good for is to tell what would be lost: a
//! version of TLS over which the present settings serve clients, and the new ones, of another kind
//! of key, would not.

use std::io;
use std::time::Duration;

use tokio::time::timeout;

use crate::client::ClientTls;
use crate::error::TlsError;
use crate::explain::{asked_in_vain, explain, explain_accept};
use crate::server::ServerTls;
use crate::suite::TlsVersion;

/// Far beyond what a handshake in memory takes.
const REHEARSAL_WITHIN: Duration = Duration::from_secs(10);
/// Holds the largest flight of a handshake.
const PIPE_BYTES: usize = 64 << 10;

impl ServerTls {
    /// Whether `new` may take this one's place: its certificate has all names of the present one
    /// (or `may_lose_names`), and it serves every version that this one does.
    ///
    /// # Errors
    /// [`TlsError::LostNames`] and [`TlsError::Rehearsal`].
    pub async fn check_successor(&self, new: &Self, may_lose_names: bool) -> Result<(), TlsError> {
        if let (Some(present), Some(next)) = (self.certificate(), new.certificate())
            && !may_lose_names
        {
            let names = present.names_beyond(next);
            if !names.is_empty() {
                return Err(TlsError::LostNames { names: names.join(", ") });
            }
        }
        let mut served = false;
        let mut refusal = None;
        for version in [TlsVersion::V1_3, TlsVersion::V1_2] {
            match rehearse(new, version).await {
                None => {}
                Some(Ok(())) => served = true,
                Some(Err(reason)) if matches!(rehearse(self, version).await, Some(Ok(()))) => {
                    return Err(TlsError::Rehearsal { version, reason });
                }
                Some(Err(reason)) => refusal = Some((version, reason)),
            }
        }
        match refusal {
            Some((version, reason)) if !served => Err(TlsError::Rehearsal { version, reason }),
            _ => Ok(()),
        }
    }
}

/// Has a client that trusts exactly the certificate of `server`, and speaks `version` alone, connect
/// to it. `None` where there is nothing to try.
async fn rehearse(server: &ServerTls, version: TlsVersion) -> Option<Result<(), String>> {
    let client = match ClientTls::for_rehearsal(server, version)? {
        Ok(client) => client,
        Err(error) => return Some(Err(error.to_string())),
    };
    let (near, far) = tokio::io::duplex(PIPE_BYTES);
    let both = async { tokio::join!(client.connect("localhost", near), server.accept(far)) };
    let said = |sentence: Option<String>, error: &io::Error| {
        Err(sentence.unwrap_or_else(|| error.to_string()))
    };
    Some(match timeout(REHEARSAL_WITHIN, both).await {
        Err(_) => Err("it took too long".to_owned()),
        // The client, which has no certificate, was asked for one: it had verified the server's.
        Ok((_, Err(error))) if asked_in_vain(&error) => Ok(()),
        Ok((Ok(_), Ok(_))) => Ok(()),
        Ok((Err(error), _)) => said(explain(&error), &error),
        Ok((_, Err(error))) => said(explain_accept(&error), &error),
    })
}
