//! Whom the bench trusts, and what reports say about it.

use std::borrow::Cow;
use std::path::PathBuf;

use flight_tls::{ClientIdentity, ClientOptions, ClientTls, KeyPassword, Trust, client_config};
use serde::{Deserialize, Serialize};

use crate::cli::TlsArgs;
use crate::exit::Stop;

/// How a variant is encrypted, for reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TlsSide {
    /// What implements TLS on this side: `aws-lc`, `ring`, `openssl`; none in older documents.
    #[serde(default)]
    pub(crate) engine: Option<String>,
    /// The key of the server's certificate: `EC P-256`; unknown until connected, where this program
    /// did not choose it.
    pub(crate) certificate: Option<String>,
    /// How the server was trusted: `system`, `ca`, `pin` or `insecure`.
    pub(crate) trust: Cow<'static, str>,
    /// Whether the server's identity was checked.
    pub(crate) verified: bool,
    pub(crate) client_certificate: bool,
    /// `1.3`; unknown until connected.
    pub(crate) version: Option<String>,
    pub(crate) suite: Option<String>,
    pub(crate) group: Option<String>,
    /// The handshakes of tls: `full` or `ticket`.
    #[serde(default)]
    pub(crate) resume: Option<String>,
}

/// What these options mean for a connection.
///
/// # Errors
///
/// A file that will not do, an unknown suite: one sentence each, exit code 2.
pub(crate) fn client_tls(args: &TlsArgs, no_resumption: bool) -> Result<ClientTls, Stop> {
    let refused = |error: flight_tls::TlsError| Stop::usage(error.to_string());
    let identity = match (&args.tls_cert, &args.tls_key) {
        (Some(cert), Some(key)) => {
            let password = args.tls_key_password_file.as_deref().map(KeyPassword::read);
            let password = password.transpose().map_err(refused)?;
            Some(ClientIdentity::load_with(cert, key, password.as_ref()).map_err(refused)?)
        }
        _ => None,
    };
    let options = ClientOptions {
        engine: args.tls_engine,
        groups: args.tls_groups.clone(),
        ciphers: args.tls_ciphers.clone(),
        min_version: args.tls_min,
        server_name: args.tls_server_name.clone(),
        no_resumption,
    };
    client_config(trust(args), identity, options).map_err(refused)
}

/// What reports say about these options.
pub(crate) fn trust_of(args: &TlsArgs) -> TlsSide {
    let (name, verified) = match trust(args) {
        Trust::SystemRoots => ("system", true),
        Trust::Roots(_) => ("ca", true),
        Trust::Pin(_) => ("pin", true),
        Trust::Insecure => ("insecure", false),
    };
    TlsSide {
        engine: Some(args.tls_engine.to_string()),
        certificate: None,
        trust: name.into(),
        verified,
        client_certificate: args.tls_cert.is_some(),
        version: None,
        suite: None,
        group: None,
        resume: None,
    }
}

impl TlsSide {
    /// A server of this run's own, trusted by the authority in `ca`.
    ///
    /// # Errors
    ///
    /// The file is missing or holds no certificate.
    pub(crate) fn of_child(
        ca: PathBuf,
        certificate: &str,
        identity: Option<ClientIdentity>,
        options: ClientOptions,
    ) -> Result<(ClientTls, Self), Stop> {
        let client_certificate = identity.is_some();
        let tls = client_config(Trust::Roots(ca), identity, options)
            .map_err(|error| Stop::usage(format!("--certs: {error}")))?;
        let side = Self {
            engine: Some(tls.engine().to_string()),
            certificate: Some(certificate.to_owned()),
            trust: "ca".into(),
            verified: true,
            client_certificate,
            version: None,
            suite: None,
            group: None,
            resume: None,
        };
        Ok((tls, side))
    }

    /// Notes what a connection agreed on.
    pub(crate) fn negotiated(&mut self, agreed: &flight_tls::Negotiated) {
        self.certificate = agreed.key.map(|key| key.to_string()).or(self.certificate.take());
        self.version = Some(agreed.version.to_string());
        self.suite = Some(agreed.suite.to_string());
        self.group = agreed.group.map(str::to_owned);
    }
}

fn trust(args: &TlsArgs) -> Trust {
    match (&args.tls_ca, &args.tls_pin, args.tls_insecure) {
        (Some(file), _, _) => Trust::Roots(file.clone()),
        (None, Some(file), _) => Trust::Pin(file.clone()),
        (None, None, true) => Trust::Insecure,
        (None, None, false) => Trust::SystemRoots,
    }
}
