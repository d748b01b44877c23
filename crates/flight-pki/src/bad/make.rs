//! How each broken certificate is made.

use std::net::Ipv4Addr;

use pkcs8::Document;
use pkcs8::der::pem::LineEnding;
use rcgen::{BasicConstraints, CidrSubnet, GeneralSubtree, IsCa, KeyUsagePurpose, NameConstraints};

use super::PASSWORD;
use crate::authority::{self, Authority, Flaw, Issued, server_params};
use crate::error::PkiError;
use crate::form;
use crate::host::Host;
use crate::key::KeyKind;
use crate::validity::Validity;
use crate::version1;

const KIND: KeyKind = KeyKind::P256;

/// What all are made from.
pub(super) struct Ground {
    pub(super) root: Authority,
    pub(super) validity: Validity,
    pub(super) hosts: Vec<Host>,
}

/// The bytes of the two files.
pub(super) struct Made {
    pub(super) cert: Vec<u8>,
    pub(super) key: Vec<u8>,
}

type Outcome = Result<Made, PkiError>;

impl Ground {
    fn good(&self) -> Result<Issued, PkiError> {
        self.root.server(&self.hosts, KIND)
    }

    fn flawed(&self, flaw: Flaw) -> Outcome {
        Ok(self.root.flawed(flaw, &self.hosts, KIND)?.into())
    }
}

pub(super) fn expired(ground: &Ground) -> Outcome {
    ground.flawed(Flaw::Expired)
}

pub(super) fn not_yet_valid(ground: &Ground) -> Outcome {
    ground.flawed(Flaw::NotYetValid)
}

pub(super) fn no_san(ground: &Ground) -> Outcome {
    ground.flawed(Flaw::NoNames)
}

pub(super) fn client_only(ground: &Ground) -> Outcome {
    ground.flawed(Flaw::ForClients)
}

pub(super) fn wrong_host(ground: &Ground) -> Outcome {
    Ok(ground.root.server(&["other.example".parse()?], KIND)?.into())
}

pub(super) fn self_signed(ground: &Ground) -> Outcome {
    Ok(authority::self_signed(&ground.hosts, KIND, ground.validity)?.into())
}

pub(super) fn unknown_ca(ground: &Ground) -> Outcome {
    let other = Authority::root("another CA", KIND, ground.validity)?;
    Ok(other.server(&ground.hosts, KIND)?.into())
}

pub(super) fn same_name_ca(ground: &Ground) -> Outcome {
    Ok(Authority::new(ground.validity)?.server(&ground.hosts, KIND)?.into())
}

pub(super) fn ca_as_server(ground: &Ground) -> Outcome {
    let mut params = server_params(&ground.hosts, ground.validity)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages.push(KeyUsagePurpose::KeyCertSign);
    Ok(ground.root.sign(params, KIND)?.into())
}

pub(super) fn wrong_key(ground: &Ground) -> Outcome {
    let (good, other) = (ground.good()?, ground.good()?);
    Ok(Issued { key_pem: other.key_pem, ..good }.into())
}

pub(super) fn broken_signature(ground: &Ground) -> Outcome {
    let good = ground.good()?;
    let (_, cert) = Document::from_pem(&good.cert_pem)?;
    let mut der = cert.into_vec();
    // The last byte of the signature's second number: it stays a number.
    if let Some(last) = der.last_mut() {
        *last ^= 1;
    }
    let cert_pem = Document::try_from(der)?.to_pem("CERTIFICATE", LineEnding::LF)?;
    Ok(Issued { cert_pem, ..good }.into())
}

pub(super) fn missing_intermediate(ground: &Ground) -> Outcome {
    let (leaf, _) = below_intermediate(ground)?;
    Ok(leaf.into())
}

pub(super) fn wrong_order(ground: &Ground) -> Outcome {
    let (leaf, middle) = below_intermediate(ground)?;
    Ok(Issued { cert_pem: middle + &leaf.cert_pem, ..leaf }.into())
}

/// A server's certificate without its chain, and the intermediate that signed it.
fn below_intermediate(ground: &Ground) -> Result<(Issued, String), PkiError> {
    let middle = ground.root.intermediate()?;
    let issued = middle.server(&ground.hosts, KIND)?;
    let chain = middle.cert_pem();
    let cert_pem = issued.cert_pem.strip_suffix(&chain).unwrap_or(&issued.cert_pem).to_owned();
    Ok((Issued { cert_pem, ..issued }, chain))
}

pub(super) fn expired_intermediate(ground: &Ground) -> Outcome {
    let middle = ground.root.intermediate_of(KIND, ground.validity.past(), None)?;
    Ok(middle.server(&ground.hosts, KIND)?.into())
}

pub(super) fn name_constraints(ground: &Ground) -> Outcome {
    let other = Ipv4Addr::new(192, 0, 2, 0).octets();
    let constraints = NameConstraints {
        permitted_subtrees: vec![
            GeneralSubtree::DnsName("other.example".to_owned()),
            GeneralSubtree::IpAddress(CidrSubnet::from_v4_prefix(other, 24)),
        ],
        excluded_subtrees: Vec::new(),
    };
    let middle = ground.root.intermediate_of(KIND, ground.validity, Some(constraints))?;
    Ok(middle.server(&ground.hosts, KIND)?.into())
}

pub(super) fn version_1(ground: &Ground) -> Outcome {
    let good = ground.good()?;
    let cert_pem = version1::downgraded(&good.cert_pem, ground.root.key())?;
    Ok(Issued { cert_pem, ..good }.into())
}

pub(super) fn truncated(ground: &Ground) -> Outcome {
    let good = ground.good()?;
    let half = good.cert_pem.len() / 2;
    Ok(Issued { cert_pem: good.cert_pem[..half].to_owned(), ..good }.into())
}

pub(super) fn der(ground: &Ground) -> Outcome {
    let good = ground.good()?;
    let (_, cert) = Document::from_pem(&good.cert_pem)?;
    Ok(Made { cert: cert.into_vec(), key: good.key_pem.into() })
}

pub(super) fn encrypted_key(ground: &Ground) -> Outcome {
    let good = ground.good()?;
    let key_pem = form::encrypted(&good.key_pem, PASSWORD.as_bytes())?;
    Ok(Issued { key_pem, ..good }.into())
}
