//! A handshake that looks: it takes whatever certificates a server shows and notes them.
//!
//! Nothing is sent over the connection afterwards, so nothing depends on who the server is.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, aws_lc_rs};
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use crate::engine::Engine;
use crate::error::{TlsError, during_handshake};
use crate::explain::explain;
use crate::negotiated::Negotiated;
use crate::rustls_engine;

/// What a server showed.
#[derive(Debug)]
pub struct Look {
    /// Its own first. The handshake bounds them to 64 KiB.
    pub certs: Vec<CertificateDer<'static>>,
    /// Why the server did not prove that it holds the key of its certificate; `None` when it did.
    pub unproven: Option<String>,
    pub asks_for_client: bool,
    /// What was agreed on, or why the handshake failed after the certificates were seen.
    pub agreed: Result<Agreed, String>,
}

/// What the two ends agreed on.
#[derive(Clone, Debug)]
pub struct Agreed {
    pub negotiated: Negotiated,
    /// The protocol above TLS (ALPN); `None` when the server chose none of h2 and http/1.1.
    pub protocol: Option<String>,
}

/// Looks at the server at `host` (a DNS name or an IP address without brackets). It takes as long as
/// the server likes: the caller sets the limit.
///
/// # Errors
/// When the handshake fails before the server shows a certificate; [`explain()`] puts it into a
/// sentence.
pub async fn look<S>(host: &str, stream: S) -> io::Result<Look>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let name = ServerName::try_from(host.to_owned()).map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidInput, TlsError::ServerName { name: host.to_owned() })
    })?;
    let provider = aws_lc_rs::default_provider();
    let algorithms = provider.signature_verification_algorithms;
    let seen = Arc::new(Seen { notes: Mutex::default(), algorithms });
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(&seen) as Arc<dyn ServerCertVerifier>)
        .with_client_cert_resolver(Arc::clone(&seen) as Arc<dyn ResolvesClientCert>);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    let agreed = connected.map(|stream| {
        let connection = stream.get_ref().1;
        let protocol =
            connection.alpn_protocol().map(|it| String::from_utf8_lossy(it).into_owned());
        let negotiated = rustls_engine::negotiated(Engine::AwsLc, connection, false, None);
        negotiated.map(|negotiated| Agreed { negotiated, protocol })
    });
    let notes = seen.take();
    let agreed = match agreed {
        Ok(Some(agreed)) => Ok(agreed),
        Ok(None) => Err("the version or cipher suite that was agreed on has no name here".into()),
        Err(error) => {
            let error = during_handshake(error, TlsError::ServerClosed);
            if notes.certs.is_empty() {
                return Err(error);
            }
            Err(explain(&error).unwrap_or_else(|| error.to_string()))
        }
    };
    Ok(Look {
        certs: notes.certs,
        unproven: notes.unproven,
        asks_for_client: notes.asks_for_client,
        agreed,
    })
}

/// Accepts every certificate and notes it.
struct Seen {
    notes: Mutex<Notes>,
    algorithms: WebPkiSupportedAlgorithms,
}

#[derive(Default)]
struct Notes {
    certs: Vec<CertificateDer<'static>>,
    unproven: Option<String>,
    asks_for_client: bool,
}

impl Seen {
    fn note(&self, what: impl FnOnce(&mut Notes)) {
        what(&mut self.notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }

    fn take(&self) -> Notes {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// A proof that fails is noted, and the handshake goes on.
    fn proven(&self, proof: Result<HandshakeSignatureValid, Error>) -> HandshakeSignatureValid {
        proof.unwrap_or_else(|error| {
            let why = explain(&error).unwrap_or_else(|| error.to_string());
            self.note(|notes| notes.unproven = Some(why));
            HandshakeSignatureValid::assertion()
        })
    }
}

impl ServerCertVerifier for Seen {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown = std::iter::once(end_entity).chain(intermediates);
        self.note(|notes| notes.certs = shown.map(|cert| cert.clone().into_owned()).collect());
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(self.proven(verify_tls12_signature(message, cert, signed, &self.algorithms)))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(self.proven(verify_tls13_signature(message, cert, signed, &self.algorithms)))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ResolvesClientCert for Seen {
    fn resolve(
        &self,
        _root_hint_subjects: &[&[u8]],
        _schemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        self.note(|notes| notes.asks_for_client = true);
        None
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seen").finish_non_exhaustive()
    }
}
