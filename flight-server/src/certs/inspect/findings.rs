//! What was found about certificates, as text and JSON show it.

use std::path::Path;

use anyhow::anyhow;
use flight_net::Endpoint;
use flight_tls::{
    CertificateFacts, KeyFacts, Look, client_verdict, moment, server_verdict, serving_verdict,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Serialize;

use super::{Args, End};

/// All that was found.
#[derive(Debug, Serialize)]
pub(super) struct Findings {
    pub(super) source: String,
    /// Of a server.
    pub(super) connection: Option<Connection>,
    pub(super) certificates: Vec<Certificate>,
    pub(super) key: Option<Key>,
    /// What flight-server says about a file that is to be served.
    pub(super) serving: Option<Serving>,
    /// None where there is no certificate.
    pub(super) verdict: Option<Judged>,
}

#[derive(Debug, Serialize)]
pub(super) struct Connection {
    /// `TLS 1.3 TLS_AES_128_GCM_SHA256 X25519MLKEM768`; none where the handshake failed.
    pub(super) handshake: Option<String>,
    pub(super) version: Option<String>,
    pub(super) suite: Option<String>,
    pub(super) group: Option<&'static str>,
    /// By ALPN.
    pub(super) protocol: Option<String>,
    pub(super) asks_for_client_certificate: bool,
    pub(super) failure: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Certificate {
    pub(super) subject: String,
    pub(super) issuer: String,
    pub(super) names: Vec<String>,
    pub(super) x509_version: u32,
    pub(super) not_before: String,
    pub(super) not_after: String,
    pub(super) seconds_left: i64,
    #[serde(skip)]
    pub(super) seconds_until_valid: i64,
    pub(super) key: String,
    pub(super) signature: String,
    pub(super) authority: bool,
    pub(super) purposes: Vec<String>,
    pub(super) sha256: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Key {
    pub(super) encrypted: bool,
    pub(super) form: Option<&'static str>,
    pub(super) key: Option<String>,
    /// Counted from 1; none where it belongs to no certificate here.
    pub(super) of_certificate: Option<usize>,
}

#[derive(Debug, Serialize)]
pub(super) struct Serving {
    pub(super) refused: Option<String>,
    pub(super) warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Judged {
    pub(super) by: By,
    /// By which a client connects.
    pub(super) name: Option<String>,
    /// The file of authorities; none for those of this machine.
    pub(super) trusting: Option<String>,
    pub(super) accepted: bool,
    pub(super) why: Option<String>,
}

/// Who judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum By {
    Client,
    Server,
    /// Authorities are taken for what they are, while they last.
    Dates,
}

/// A key in a file.
pub(super) enum KeyFound {
    Readable(KeyFacts),
    Encrypted,
}

impl Findings {
    /// Whether nothing speaks against what was found.
    pub(super) fn accepted(&self) -> bool {
        self.verdict.as_ref().is_none_or(|judged| judged.accepted)
    }
}

/// Of a server.
pub(super) fn of_server(
    args: &Args,
    endpoint: &Endpoint,
    host: &str,
    looked: &Look,
    now: i64,
) -> anyhow::Result<Findings> {
    let facts = facts(&looked.certs, &endpoint.to_string())?;
    let name = args.name.clone().unwrap_or_else(|| host.to_owned());
    let by_chain = client_verdict(&looked.certs, &name, args.tls_ca.as_deref())?;
    let verdict = by_chain.and_then(|()| match (&looked.unproven, &looked.agreed) {
        (Some(why), _) | (None, Err(why)) => Err(why.clone()),
        (None, Ok(agreed)) if agreed.protocol.as_deref() == Some("http/1.1") => {
            Err("the server speaks TLS but not HTTP/2 (ALPN h2), so it is no Flight server"
                .to_owned())
        }
        (None, Ok(_)) => Ok(()),
    });
    let agreed = looked.agreed.as_ref().ok();
    Ok(Findings {
        source: endpoint.to_string(),
        connection: Some(Connection {
            handshake: agreed.map(|agreed| agreed.negotiated.to_string()),
            version: agreed.map(|agreed| agreed.negotiated.version.to_string()),
            suite: agreed.map(|agreed| agreed.negotiated.suite.to_string()),
            group: agreed.and_then(|agreed| agreed.negotiated.group),
            protocol: agreed.and_then(|agreed| agreed.protocol.clone()),
            asks_for_client_certificate: looked.asks_for_client,
            failure: looked.agreed.as_ref().err().cloned(),
        }),
        certificates: facts.iter().map(|facts| Certificate::new(facts, now)).collect(),
        key: None,
        serving: None,
        verdict: Some(Judged::new(args, By::Client, Some(name), verdict)),
    })
}

/// Of a file.
pub(super) fn of_file(
    args: &Args,
    file: &Path,
    certs: &[CertificateDer<'static>],
    found: Option<KeyFound>,
    key: Option<&PrivateKeyDer<'_>>,
    now: i64,
) -> anyhow::Result<Findings> {
    let facts = facts(certs, &file.display().to_string())?;
    let authorities = args.name.is_none() && facts.iter().all(is_authority);
    let serves = args.end == End::Server && !facts.is_empty() && !authorities;
    let serving = serves.then(|| match serving_verdict(file, certs, key) {
        Ok(warnings) => Serving { refused: None, warnings },
        Err(error) => Serving { refused: Some(error.to_string()), warnings: Vec::new() },
    });
    let verdict = match facts.first() {
        None => None,
        Some(_) if args.end == End::Client => {
            let verdict = server_verdict(certs, args.tls_ca.as_deref())?;
            Some(Judged::new(args, By::Server, None, verdict))
        }
        Some(_) if authorities => Some(Judged::by_dates(&facts, now)),
        Some(leaf) => {
            let first = || leaf.names.first().map(|name| name.replace("*.", "any."));
            let name = args.name.clone().or_else(first).unwrap_or_else(|| "localhost".to_owned());
            let verdict = client_verdict(certs, &name, args.tls_ca.as_deref())?;
            Some(Judged::new(args, By::Client, Some(name), verdict))
        }
    };
    Ok(Findings {
        source: file.display().to_string(),
        connection: None,
        certificates: facts.iter().map(|facts| Certificate::new(facts, now)).collect(),
        key: found.map(|found| Key::new(found, &facts)),
        serving,
        verdict,
    })
}

fn facts(certs: &[CertificateDer<'_>], source: &str) -> anyhow::Result<Vec<CertificateFacts>> {
    let numbered = certs.iter().enumerate();
    let read = numbered.map(|(index, der)| {
        CertificateFacts::read(der).map_err(|reason| {
            anyhow!("certificate {} of {source} cannot be read: {reason}", index + 1)
        })
    });
    read.collect()
}

/// Whether it is meant to sign others, and for nothing else.
fn is_authority(facts: &CertificateFacts) -> bool {
    facts.authority && facts.names.is_empty() && facts.purposes.is_empty()
}

impl Certificate {
    fn new(facts: &CertificateFacts, now: i64) -> Self {
        Self {
            subject: facts.subject.clone(),
            issuer: facts.issuer.clone(),
            names: facts.names.clone(),
            x509_version: facts.version,
            not_before: moment(facts.not_before),
            not_after: moment(facts.not_after),
            seconds_left: facts.not_after.saturating_sub(now),
            seconds_until_valid: facts.not_before.saturating_sub(now),
            key: facts.key.to_string(),
            signature: facts.signature.clone(),
            authority: facts.authority,
            purposes: facts.purposes.clone(),
            sha256: facts.sha256.clone(),
        }
    }
}

impl Key {
    fn new(found: KeyFound, certs: &[CertificateFacts]) -> Self {
        let KeyFound::Readable(facts) = found else {
            return Self { encrypted: true, form: None, key: None, of_certificate: None };
        };
        let of = certs.iter().position(|cert| cert.public_key == facts.public_key);
        Self {
            encrypted: false,
            form: Some(facts.form),
            key: Some(facts.key.to_string()),
            of_certificate: of.map(|index| index + 1),
        }
    }
}

impl Judged {
    fn new(args: &Args, by: By, name: Option<String>, verdict: Result<(), String>) -> Self {
        let trusting = args.tls_ca.as_ref().map(|file| file.display().to_string());
        Self { by, name, trusting, accepted: verdict.is_ok(), why: verdict.err() }
    }

    fn by_dates(certs: &[CertificateFacts], now: i64) -> Self {
        let out = certs.iter().find(|cert| now < cert.not_before || cert.not_after < now);
        let why = out.map(|cert| match now < cert.not_before {
            true => format!("{} is not valid before {}", cert.subject, moment(cert.not_before)),
            false => format!("{} expired on {}", cert.subject, moment(cert.not_after)),
        });
        Self { by: By::Dates, name: None, trusting: None, accepted: why.is_none(), why }
    }
}
