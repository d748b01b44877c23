//! rustls, over the cryptography of AWS-LC or ring. The provider is passed everywhere: the
//! process-wide default panics once two are compiled in.

mod sessions;
mod verifier;

use std::io;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs, ring};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::SingleCertAndKey;
use rustls::{
    ClientConfig, CommonState, HandshakeKind, ProtocolVersion, RootCertStore, ServerConfig,
    SupportedProtocolVersion,
};
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

use crate::client::{ClientMaterial, Trusted};
use crate::engine::Engine;
use crate::error::TlsError;
use crate::group::{self, Group};
use crate::key::KeyOf;
use crate::limits::TLS_WRITE_BYTES;
use crate::negotiated::Negotiated;
use crate::server::{ClientAuth, Clients, ServerMaterial};
use crate::suite::{self, CipherSuite, TlsVersion};
use sessions::Sessions;
use verifier::{Accepted, SignatureVerifier};

/// HTTP/2 over TLS, in the negotiation of protocols (RFC 9113, 3.2).
const ALPN_HTTP2: &[u8] = b"h2";

static VERSIONS: [&SupportedProtocolVersion; 2] =
    [&rustls::version::TLS13, &rustls::version::TLS12];

pub(crate) fn server(material: &ServerMaterial<'_>) -> Result<Arc<ServerConfig>, TlsError> {
    let common = &material.common;
    let provider = Arc::new(provider(common.engine, common.min, &common.ciphers, &common.groups)?);
    let shown = SingleCertAndKey::from(material.identity.pair().certified_key(&provider)?);
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions(common.min))?;
    let builder = match &material.clients {
        None => builder.with_no_client_auth(),
        Some(Clients { authorities, auth, revoked }) => {
            let roots = Arc::new(roots(authorities));
            // Lists are there for every authority of a chain, or nobody of it is taken.
            let verifier =
                WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
                    .with_crls(revoked.iter().cloned())
                    .enforce_revocation_expiration();
            builder.with_client_cert_verifier(match auth {
                ClientAuth::Required => verifier.build()?,
                ClientAuth::Optional => verifier.allow_unauthenticated().build()?,
            })
        }
    };
    let mut config = builder.with_cert_resolver(Arc::new(shown));
    config.ignore_client_order = true;
    config.alpn_protocols = vec![ALPN_HTTP2.to_vec()];
    if material.resumption {
        // A ticket holds what is needed, whichever connection it came over; the store beside it is
        // for clients of TLS 1.2 that take none.
        config.ticketer = match common.engine {
            Engine::Ring => ring::Ticketer::new()?,
            _ => aws_lc_rs::Ticketer::new()?,
        };
    } else {
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(Arc::new(config))
}

pub(crate) fn client(material: &ClientMaterial) -> Result<Arc<ClientConfig>, TlsError> {
    let common = &material.common;
    let provider = provider(common.engine, common.min, &common.ciphers, &common.groups)?;
    let shown = material.identity.as_ref().map(|identity| identity.pair().certified_key(&provider));
    let shown = shown.transpose()?;
    let algorithms = provider.signature_verification_algorithms;
    let builder = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions(common.min))?;
    let accepting = |accepted| Arc::new(SignatureVerifier { accepted, algorithms });
    let builder = match &material.trusted {
        Trusted::Authorities(authorities) => builder.with_root_certificates(roots(authorities)),
        Trusted::OneOf(pins) => builder
            .dangerous()
            .with_custom_certificate_verifier(accepting(Accepted::OneOf(pins.clone()))),
        Trusted::Any => {
            builder.dangerous().with_custom_certificate_verifier(accepting(Accepted::Any))
        }
    };
    let mut config = match shown {
        None => builder.with_no_client_auth(),
        Some(shown) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(shown))),
    };
    config.alpn_protocols = vec![ALPN_HTTP2.to_vec()];
    config.resumption = match material.resumption {
        true => Resumption::store(Arc::new(Sessions::new())),
        false => Resumption::disabled(),
    };
    Ok(Arc::new(config))
}

pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
    config: &Arc<ServerConfig>,
    stream: S,
) -> io::Result<TlsStream<S>> {
    let accepted = TlsAcceptor::from(Arc::clone(config))
        .accept_with(stream, |tls| tls.set_buffer_limit(Some(TLS_WRITE_BYTES)));
    accepted.await.map(TlsStream::Server)
}

pub(crate) async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
    config: &Arc<ClientConfig>,
    name: ServerName<'static>,
    stream: S,
) -> io::Result<TlsStream<S>> {
    let connector = TlsConnector::from(Arc::clone(config));
    let connected =
        connector.connect_with(name, stream, |tls| tls.set_buffer_limit(Some(TLS_WRITE_BYTES)));
    connected.await.map(TlsStream::Client)
}

/// What was negotiated; `key` is that of the server's certificate where this end is the server.
/// `None` of a version or suite that has no name here.
pub(crate) fn negotiated(
    engine: Engine,
    connection: &CommonState,
    is_server: bool,
    key: Option<KeyOf>,
) -> Option<Negotiated> {
    let version = match connection.protocol_version()? {
        ProtocolVersion::TLSv1_3 => TlsVersion::V1_3,
        ProtocolVersion::TLSv1_2 => TlsVersion::V1_2,
        _ => return None,
    };
    let of_peer =
        || connection.peer_certificates()?.first().and_then(|der| KeyOf::certificate(der));
    Some(Negotiated {
        engine,
        version,
        suite: CipherSuite::of(connection.negotiated_cipher_suite()?.suite())?,
        group: connection.negotiated_key_exchange_group().and_then(|group| group.name().as_str()),
        key: if is_server { key } else { of_peer() },
        resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
    })
}

fn provider(
    engine: Engine,
    min: TlsVersion,
    ciphers: &[CipherSuite],
    groups: &[Group],
) -> Result<CryptoProvider, TlsError> {
    let (base, all) = match engine {
        Engine::Ring => (ring::default_provider(), ring::ALL_KX_GROUPS),
        _ => (aws_lc_rs::default_provider(), aws_lc_rs::ALL_KX_GROUPS),
    };
    let group = |group: Group| all.iter().find(|known| known.name() == group.id()).copied();
    let groups = group::offered(engine, groups, |chosen| group(chosen).is_some())?;
    let suites = suite::offered(min, ciphers)?;
    let suite = |chosen: &CipherSuite| {
        base.cipher_suites.iter().find(|known| known.suite() == chosen.id()).copied()
    };
    Ok(CryptoProvider {
        cipher_suites: suites.iter().filter_map(suite).collect(),
        kx_groups: groups.into_iter().filter_map(group).collect(),
        ..base
    })
}

fn versions(min: TlsVersion) -> &'static [&'static SupportedProtocolVersion] {
    match min {
        TlsVersion::V1_2 => &VERSIONS,
        TlsVersion::V1_3 => &VERSIONS[..1],
    }
}

/// The authorities that were judged when they were read; stores of a system hold old ones that
/// cannot be parsed, and they are not needed.
fn roots(authorities: &[CertificateDer<'static>]) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities.iter().cloned());
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_is_spoken_by_both_providers_under_its_version() {
        for engine in [Engine::AwsLc, Engine::Ring] {
            let provider = provider(engine, TlsVersion::V1_2, &[], &[]).unwrap();
            assert_eq!(provider.cipher_suites.len(), CipherSuite::all().len(), "{engine}");
            for (spoken, suite) in provider.cipher_suites.iter().zip(CipherSuite::all()) {
                assert_eq!(spoken.tls13().is_some(), suite.version() == TlsVersion::V1_3);
                assert_eq!(CipherSuite::of(spoken.suite()), Some(suite), "{engine}");
            }
        }
    }
}
