//! Issues in memory: an authority, leaves under it, and leaves that are wrong on purpose.

use std::fmt;
use std::time::SystemTime;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, NameConstraints,
};

use crate::client::ClientName;
use crate::error::PkiError;
use crate::given::{self, GivenAuthority};
use crate::host::Host;
use crate::key::KeyKind;
use crate::limits::HOSTS_MAX;
use crate::validity::{Life, Validity};

/// The common name of a root.
pub(crate) const ROOT_NAME: &str = "flight development CA";

/// A certificate authority with its key, in memory.
pub struct Authority {
    pub(crate) issuer: Issuer<'static, KeyPair>,
    cert_pem: String,
    /// PEM of the certificates between a leaf and the root, the root left out.
    chain_pem: String,
    /// Its own, and that of all that it issues.
    pub(crate) validity: Validity,
}

/// A certificate and its key as PEM. `Debug` does not show the key.
#[derive(Clone)]
pub struct Issued {
    /// The leaf, then what lies between it and the root, in order.
    pub cert_pem: String,
    /// PKCS#8.
    pub key_pem: String,
}

/// What is wrong with a certificate from [`Authority::flawed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Over before the authority's own validity begins.
    Expired,
    /// Begins after the authority's own validity ends.
    NotYetValid,
    /// Its extended key usage is for clients only.
    ForClients,
    /// No subject alternative name.
    NoNames,
}

impl Authority {
    /// A root with an EC P-256 key; `validity` is its own and that of all that it issues.
    ///
    /// # Errors
    /// Only when the cryptographic library fails.
    pub fn new(validity: Validity) -> Result<Self, PkiError> {
        Self::root(ROOT_NAME, KeyKind::P256, validity)
    }

    /// As [`Authority::new`], under another name or with another kind of key.
    ///
    /// # Errors
    /// As there.
    pub fn root(name: &str, kind: KeyKind, validity: Validity) -> Result<Self, PkiError> {
        let params = ca_params(name, validity);
        let key = kind.generate()?;
        let cert_pem = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);
        Ok(Self { issuer, cert_pem, chain_pem: String::new(), validity })
    }

    /// An authority below this one; what it issues carries its certificate along.
    ///
    /// # Errors
    /// Only when the cryptographic library fails.
    pub fn intermediate(&self) -> Result<Self, PkiError> {
        self.intermediate_of(KeyKind::P256, self.validity, None)
    }

    pub(crate) fn intermediate_of(
        &self,
        kind: KeyKind,
        validity: Validity,
        constraints: Option<NameConstraints>,
    ) -> Result<Self, PkiError> {
        let mut params = ca_params("flight development intermediate CA", validity);
        params.name_constraints = constraints;
        let key = kind.generate()?;
        let cert_pem = params.signed_by(&key, &self.issuer)?.pem();
        let chain_pem = cert_pem.clone() + &self.chain_pem;
        let issuer = Issuer::new(params, key);
        Ok(Self { issuer, cert_pem, chain_pem, validity: self.validity })
    }

    /// An authority that was made before. What it issues holds for `life`, but no longer than it.
    ///
    /// # Errors
    /// When it is none, has expired, does not belong to its key, or is of a kind that cannot sign.
    pub fn existing(given: &GivenAuthority, now: SystemTime, life: Life) -> Result<Self, PkiError> {
        given::authority(given, now, life)
    }

    pub(crate) fn of_parts(
        issuer: Issuer<'static, KeyPair>,
        cert_pem: String,
        chain_pem: String,
        validity: Validity,
    ) -> Self {
        Self { issuer, cert_pem, chain_pem, validity }
    }

    pub fn cert_pem(&self) -> String {
        self.cert_pem.clone()
    }

    /// PKCS#8.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    pub(crate) fn key(&self) -> &KeyPair {
        self.issuer.key()
    }

    pub(crate) fn validity(&self) -> Validity {
        self.validity
    }

    /// A server that answers to exactly `hosts`.
    ///
    /// # Errors
    /// When there are more than [`HOSTS_MAX`].
    pub fn server(&self, hosts: &[Host], kind: KeyKind) -> Result<Issued, PkiError> {
        self.sign(server_params(hosts, self.validity)?, kind)
    }

    /// A client called `name`, which stands in the subject and as a DNS name.
    ///
    /// # Errors
    /// Only when the cryptographic library fails.
    pub fn client(&self, name: &Host, kind: KeyKind) -> Result<Issued, PkiError> {
        self.client_named(&name.clone().into(), kind)
    }

    /// A client called `name`.
    ///
    /// # Errors
    /// Only when the cryptographic library fails.
    pub fn client_named(&self, name: &ClientName, kind: KeyKind) -> Result<Issued, PkiError> {
        let mut params = leaf_params(&[], ExtendedKeyUsagePurpose::ClientAuth, self.validity)?;
        params.distinguished_name = name.subject();
        params.subject_alt_names = name.sans()?;
        self.sign(params, kind)
    }

    /// A server certificate that a careful client refuses, for tests.
    ///
    /// # Errors
    /// As [`Authority::server`].
    pub fn flawed(&self, flaw: Flaw, hosts: &[Host], kind: KeyKind) -> Result<Issued, PkiError> {
        let mut params = server_params(hosts, self.validity)?;
        match flaw {
            Flaw::Expired => set_validity(&mut params, self.validity.past()),
            Flaw::NotYetValid => set_validity(&mut params, self.validity.future()),
            Flaw::ForClients => {
                params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            }
            Flaw::NoNames => params.subject_alt_names.clear(),
        }
        self.sign(params, kind)
    }

    pub(crate) fn sign(
        &self,
        mut params: CertificateParams,
        kind: KeyKind,
    ) -> Result<Issued, PkiError> {
        params.use_authority_key_identifier_extension = true;
        let key = kind.generate()?;
        let cert = params.signed_by(&key, &self.issuer)?;
        Ok(Issued { cert_pem: cert.pem() + &self.chain_pem, key_pem: key.serialize_pem() })
    }
}

/// A server certificate that is its own root: a client trusts it as if it were an authority, and it
/// is none (CA:FALSE), so that verifiers accept it.
///
/// # Errors
/// When there are more than [`HOSTS_MAX`] hosts.
pub fn self_signed(hosts: &[Host], kind: KeyKind, validity: Validity) -> Result<Issued, PkiError> {
    let mut params = server_params(hosts, validity)?;
    // Without keyCertSign, which only an authority may claim, OpenSSL does not take a certificate
    // with a key usage for its own issuer. One that says nothing about it is taken by all.
    params.key_usages.clear();
    sign_itself(&params, kind)
}

/// The certificate that plain `openssl req -x509` makes: an authority that poses as a server, without
/// names. Verifiers refuse it; a client can only trust it as it is, byte for byte.
///
/// # Errors
/// Only when the cryptographic library fails.
pub fn ca_as_server(kind: KeyKind, validity: Validity) -> Result<Issued, PkiError> {
    let mut params = CertificateParams::default();
    set_validity(&mut params, validity);
    params.distinguished_name = subject("localhost");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    sign_itself(&params, kind)
}

fn sign_itself(params: &CertificateParams, kind: KeyKind) -> Result<Issued, PkiError> {
    let key = kind.generate()?;
    let cert = params.self_signed(&key)?;
    Ok(Issued { cert_pem: cert.pem(), key_pem: key.serialize_pem() })
}

fn ca_params(name: &str, validity: Validity) -> CertificateParams {
    let mut params = CertificateParams::default();
    set_validity(&mut params, validity);
    params.distinguished_name = subject(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    // Authorities that were made anew have the same names: their keys tell them apart.
    params.use_authority_key_identifier_extension = true;
    params
}

pub(crate) fn server_params(
    hosts: &[Host],
    validity: Validity,
) -> Result<CertificateParams, PkiError> {
    leaf_params(hosts, ExtendedKeyUsagePurpose::ServerAuth, validity)
}

fn leaf_params(
    hosts: &[Host],
    purpose: ExtendedKeyUsagePurpose,
    validity: Validity,
) -> Result<CertificateParams, PkiError> {
    if HOSTS_MAX < hosts.len() {
        return Err(PkiError::HostCount { count: hosts.len() });
    }
    let mut params = CertificateParams::default();
    set_validity(&mut params, validity);
    let name = hosts.first().map_or_else(|| "nameless".to_owned(), Host::to_string);
    params.distinguished_name = subject(&name);
    params.subject_alt_names = hosts.iter().map(Host::to_san).collect::<Result<_, _>>()?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    Ok(params)
}

pub(crate) fn set_validity(params: &mut CertificateParams, validity: Validity) {
    params.not_before = validity.not_before;
    params.not_after = validity.not_after;
}

pub(crate) fn subject(common_name: &str) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::OrganizationName, "flight development");
    subject.push(DnType::CommonName, common_name);
    subject
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("validity", &self.validity).finish_non_exhaustive()
    }
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").field("cert_pem", &self.cert_pem).finish_non_exhaustive()
    }
}
