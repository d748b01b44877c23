//! Whether a peer would accept a chain of certificates, asked without a connection: the verifiers are
//! those of a handshake, and so are the sentences.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use crate::authorities::{authorities, system_authorities};
use crate::chain::Chain;
use crate::describe::KeyFacts;
use crate::error::{Purpose, TlsError};
use crate::explain::{explain, explain_accept};

/// What is wrong with a chain, in one sentence; `Ok` when it is accepted.
pub type Verdict = Result<(), String>;

/// What a client says that connects to `name` and trusts the authorities in the PEM file `ca`, or
/// those of this machine.
///
/// # Errors
/// When the file will not do, this machine trusts no authority, or `name` is none.
pub fn client_verdict(
    certs: &[CertificateDer<'_>],
    name: &str,
    ca: Option<&Path>,
) -> Result<Verdict, TlsError> {
    let name = ServerName::try_from(name.to_owned())
        .map_err(|_| TlsError::ServerName { name: name.to_owned() })?;
    let verifier = WebPkiServerVerifier::builder_with_provider(
        roots(ca)?,
        Arc::new(aws_lc_rs::default_provider()),
    )
    .build()?;
    let Some((leaf, chain)) = certs.split_first() else { return Ok(Err(NONE.to_owned())) };
    let judged = verifier.verify_server_cert(leaf, chain, &name, &[], UnixTime::now());
    Ok(judged.map(|_| ()).map_err(|error| explain(&error).unwrap_or_else(|| error.to_string())))
}

/// What a server says that asks clients for a certificate of the authorities in `ca`, or of this
/// machine's.
///
/// # Errors
/// As [`client_verdict`].
pub fn server_verdict(
    certs: &[CertificateDer<'_>],
    ca: Option<&Path>,
) -> Result<Verdict, TlsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(ca)?, provider).build()?;
    let Some((leaf, chain)) = certs.split_first() else { return Ok(Err(NONE.to_owned())) };
    let judged = verifier.verify_client_cert(leaf, chain, UnixTime::now());
    Ok(judged
        .map(|_| ())
        .map_err(|error| explain_accept(&error).unwrap_or_else(|| error.to_string())))
}

/// What a flight-server says that is to serve the chain in `file`, with `key` where it is at hand:
/// its warnings, or why it does not start.
///
/// # Errors
/// As [`ServerIdentity::load`](crate::ServerIdentity::load).
pub fn serving_verdict(
    file: &Path,
    certs: &[CertificateDer<'static>],
    key: Option<&PrivateKeyDer<'_>>,
) -> Result<Vec<String>, TlsError> {
    let key = key.and_then(KeyFacts::read).map(|facts| facts.public_key);
    let chain = Chain { cert_file: file, key_file: file, certs };
    chain.judge(key.as_deref(), SystemTime::now(), Purpose::Server)
}

const NONE: &str = "no certificate is shown";

fn roots(ca: Option<&Path>) -> Result<Arc<RootCertStore>, TlsError> {
    let trusted = match ca {
        Some(file) => authorities(file)?,
        None => system_authorities()?,
    };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(trusted);
    Ok(Arc::new(roots))
}
