//! OpenSSL, protocol and cryptography: the settings of both ends, and what was negotiated.

mod failure;
mod gathered;
mod judge;
mod raw;
mod sessions;
mod stream;

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{
    AlpnError, Ssl, SslContext, SslContextBuilder, SslMethod, SslMode, SslOptions,
    SslSessionCacheMode, SslVerifyMode, SslVersion,
};
use openssl::stack::Stack;
use openssl::x509::store::{X509Store, X509StoreBuilder};
use openssl::x509::verify::{X509CheckFlags, X509VerifyFlags};
use openssl::x509::{X509, X509Crl};
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_openssl::SslStream;

use crate::client::{ClientMaterial, Trusted};
use crate::engine::Engine;
use crate::error::TlsError;
use crate::group::{self, Group};
use crate::identity::Pair;
use crate::key::KeyOf;
use crate::negotiated::Negotiated;
use crate::server::{ClientAuth, Clients, Common, ServerMaterial};
use crate::suite::{self, CipherSuite, TlsVersion};
use gathered::Gathered;
use judge::Verdict;
use sessions::Sessions;
pub(crate) use stream::Stream;

/// `h2` as OpenSSL takes protocols: each after its length.
const ALPN_HTTP2: &[u8] = b"\x02h2";
/// As Debian builds it: keys of 112 bits of strength, so RSA of 2048 and more.
const SECURITY_LEVEL: u32 = 2;

/// What all connections of a server share.
#[derive(Clone)]
pub(crate) struct Server {
    context: SslContext,
    clients: Option<ClientAuth>,
}

impl Server {
    pub(crate) fn new(material: &ServerMaterial<'_>) -> Result<Self, TlsError> {
        let mut builder = builder(&material.common)?;
        show(&mut builder, material.identity.pair())?;
        builder.set_options(SslOptions::CIPHER_SERVER_PREFERENCE);
        builder.set_alpn_select_callback(|_, offered| {
            openssl::ssl::select_next_proto(ALPN_HTTP2, offered).ok_or(AlpnError::ALERT_FATAL)
        });
        if let Some(clients) = &material.clients {
            builder.set_verify_cert_store(store_of_clients(clients)?)?;
            let mut names = Stack::new()?;
            for der in &clients.authorities {
                names.push(X509::from_der(der)?.subject_name().to_owned()?)?;
            }
            builder.set_client_ca_list(names);
        }
        // Sessions are resumed by tickets alone, with a key of this context's own.
        builder.set_session_cache_mode(SslSessionCacheMode::OFF);
        builder.set_session_id_context(b"flight")?;
        if !material.resumption {
            builder.set_options(SslOptions::NO_TICKET);
            builder.set_num_tickets(0)?;
        }
        let clients = material.clients.as_ref().map(|clients| clients.auth);
        Ok(Self { context: builder.build(), clients })
    }

    pub(crate) async fn accept<S>(&self, stream: S) -> io::Result<Stream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut ssl = Ssl::new(&self.context)?;
        let verdict = Verdict::default();
        if let Some(auth) = self.clients {
            let mut mode = SslVerifyMode::PEER;
            if auth == ClientAuth::Required {
                mode |= SslVerifyMode::FAIL_IF_NO_PEER_CERT;
            }
            ssl.set_verify_callback(mode, verdict.of_clients());
        }
        let mut stream = SslStream::new(ssl, Gathered::new(stream))?;
        match Pin::new(&mut stream).accept().await {
            Ok(()) => Ok(Stream::begun(stream).await),
            Err(error) => Err(failure::of_handshake(error, verdict.take())),
        }
    }
}

/// What all connections of a client share.
#[derive(Clone)]
pub(crate) struct Client {
    context: SslContext,
    trusted: Arc<Trusted>,
    sessions: Option<Sessions>,
}

impl Client {
    pub(crate) fn new(material: ClientMaterial) -> Result<Self, TlsError> {
        let mut builder = builder(&material.common)?;
        if let Some(identity) = &material.identity {
            show(&mut builder, identity.pair())?;
        }
        builder.set_alpn_protos(ALPN_HTTP2)?;
        if let Trusted::Authorities(authorities) = &material.trusted {
            builder.set_verify_cert_store(store(authorities)?.build())?;
        }
        let sessions =
            if material.resumption { Some(Sessions::kept_by(&mut builder)?) } else { None };
        Ok(Self { context: builder.build(), trusted: Arc::new(material.trusted), sessions })
    }

    pub(crate) async fn connect<S>(
        &self,
        name: &ServerName<'static>,
        stream: S,
    ) -> io::Result<Stream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut ssl = Ssl::new(&self.context)?;
        self.expect(&mut ssl, name)?;
        let verdict = Verdict::default();
        match &*self.trusted {
            Trusted::Any => ssl.set_verify(SslVerifyMode::NONE),
            Trusted::OneOf(pins) => {
                ssl.set_verify_callback(SslVerifyMode::PEER, verdict.of_pinned(pins.clone()));
            }
            Trusted::Authorities(_) => {
                ssl.set_verify_callback(SslVerifyMode::PEER, verdict.of_servers(name.clone()));
            }
        }
        if let Some(sessions) = &self.sessions {
            sessions.resume(&mut ssl, &name.to_str())?;
        }
        let mut stream = SslStream::new(ssl, Gathered::new(stream))?;
        match Pin::new(&mut stream).connect().await {
            Ok(()) => {
                if let Some(sessions) = &self.sessions {
                    sessions.keep_resumed(stream.ssl(), &name.to_str());
                }
                Ok(Stream::begun(stream).await)
            }
            Err(error) => Err(failure::of_handshake(error, verdict.take())),
        }
    }

    /// The name that is asked for, and, where authorities are trusted, must be held.
    fn expect(&self, ssl: &mut Ssl, name: &ServerName<'_>) -> io::Result<()> {
        let verified = matches!(*self.trusted, Trusted::Authorities(_));
        let param = ssl.param_mut();
        // Not the subject's common name, which is for people (RFC 9525, 2); and `*` is a whole label.
        param.set_hostflags(
            X509CheckFlags::NEVER_CHECK_SUBJECT | X509CheckFlags::NO_PARTIAL_WILDCARDS,
        );
        match name {
            ServerName::IpAddress(address) if verified => param.set_ip((*address).into())?,
            ServerName::DnsName(host) => {
                if verified {
                    param.set_host(host.as_ref())?;
                }
                ssl.set_hostname(host.as_ref())?;
            }
            ServerName::IpAddress(_) => {}
            // There is no other kind of name yet; none goes unchecked.
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        }
        Ok(())
    }
}

pub(crate) fn negotiated<S>(stream: &Stream<S>, key: Option<KeyOf>) -> Option<Negotiated> {
    let ssl = stream.ssl();
    let version = match ssl.version2()? {
        SslVersion::TLS1_3 => TlsVersion::V1_3,
        SslVersion::TLS1_2 => TlsVersion::V1_2,
        _ => return None,
    };
    let [high, low] = ssl.current_cipher()?.protocol_id();
    let suite = CipherSuite::of(rustls::CipherSuite::from(u16::from_be_bytes([high, low])))?;
    let old_session = version == TlsVersion::V1_2 && ssl.session_reused();
    let of_peer = || KeyOf::certificate(&ssl.peer_certificate()?.to_der().ok()?);
    Some(Negotiated {
        engine: Engine::OpenSsl,
        version,
        suite,
        // A resumed session of TLS 1.2 exchanges none.
        group: raw::group(ssl).filter(|_| !old_session).map(Group::name),
        key: if ssl.is_server() { key } else { of_peer() },
        resumed: ssl.session_reused(),
    })
}

/// Empty where the peer showed none.
pub(crate) fn peer_certificates<S>(stream: &Stream<S>) -> Vec<Vec<u8>> {
    let ssl = stream.ssl();
    let own = ssl.peer_certificate().and_then(|cert| cert.to_der().ok());
    // A server's chain holds the client's own certificate at most once; a client's holds it first.
    let chain = ssl.peer_cert_chain().into_iter().flatten().filter_map(|cert| cert.to_der().ok());
    let mut shown: Vec<_> = own.into_iter().collect();
    for der in chain {
        if shown.first() != Some(&der) {
            shown.push(der);
        }
    }
    shown
}

fn builder(common: &Common) -> Result<SslContextBuilder, TlsError> {
    let suites = suite::offered(common.min, &common.ciphers)?;
    let groups = group::offered(Engine::OpenSsl, &common.groups, has_group)?;
    let names = |version| {
        let names = suites.iter().filter(|suite| suite.version() == version);
        names.map(|suite| suite.openssl_name()).collect::<Vec<_>>().join(":")
    };
    let (old, new) = (names(TlsVersion::V1_2), names(TlsVersion::V1_3));
    let mut builder = SslContextBuilder::new(SslMethod::tls())?;
    let min = if old.is_empty() { TlsVersion::V1_3 } else { common.min };
    builder.set_min_proto_version(Some(match min {
        TlsVersion::V1_2 => SslVersion::TLS1_2,
        TlsVersion::V1_3 => SslVersion::TLS1_3,
    }))?;
    if new.is_empty() {
        builder.set_max_proto_version(Some(SslVersion::TLS1_2))?;
    } else {
        builder.set_ciphersuites(&new)?;
    }
    if !old.is_empty() {
        builder.set_cipher_list(&old)?;
    }
    let groups: Vec<_> = groups.into_iter().map(openssl_name).collect();
    builder.set_groups_list(&groups.join(":"))?;
    builder.set_options(SslOptions::NO_COMPRESSION | SslOptions::NO_RENEGOTIATION);
    // What tokio's buffers need; and a record is read at once, not its head before.
    builder.set_mode(SslMode::ENABLE_PARTIAL_WRITE | SslMode::ACCEPT_MOVING_WRITE_BUFFER);
    builder.set_read_ahead(true);
    builder.set_security_level(SECURITY_LEVEL);
    // An authority that is named is trusted, whoever certified it.
    builder.verify_param_mut().set_flags(X509VerifyFlags::PARTIAL_CHAIN)?;
    Ok(builder)
}

fn has_group(group: Group) -> bool {
    let scratch = SslContextBuilder::new(SslMethod::tls());
    scratch.is_ok_and(|mut scratch| scratch.set_groups_list(openssl_name(group)).is_ok())
}

fn openssl_name(group: Group) -> &'static str {
    match group {
        Group::Secp256r1 => "P-256",
        Group::Secp384r1 => "P-384",
        other => other.name(),
    }
}

fn show(builder: &mut SslContextBuilder, pair: &Pair) -> Result<(), TlsError> {
    let key: PKey<Private> = PKey::private_key_from_der(pair.key.secret_der())?;
    let mut certs = pair.certs.iter();
    if let Some(own) = certs.next() {
        builder.set_certificate(&*X509::from_der(own)?)?;
    }
    for der in certs {
        builder.add_extra_chain_cert(X509::from_der(der)?)?;
    }
    builder.set_private_key(&key)?;
    Ok(())
}

/// Authorities of clients, and what they revoked: with lists, one is asked for of each authority of
/// a chain.
fn store_of_clients(clients: &Clients) -> Result<X509Store, ErrorStack> {
    let mut store = store(&clients.authorities)?;
    if !clients.revoked.is_empty() {
        store.set_flags(X509VerifyFlags::CRL_CHECK | X509VerifyFlags::CRL_CHECK_ALL)?;
    }
    for der in &clients.revoked {
        let list = X509Crl::from_der(der)?;
        raw::add_revocation_list(&mut store, &list)?;
    }
    Ok(store.build())
}

fn store(authorities: &[CertificateDer<'static>]) -> Result<X509StoreBuilder, ErrorStack> {
    let mut store = X509StoreBuilder::new()?;
    for der in authorities {
        // Stores of a system hold old ones that cannot be parsed; those are not needed.
        if let Ok(cert) = X509::from_der(der) {
            store.add_cert(cert)?;
        }
    }
    Ok(store)
}
