//! The names that a certificate holds, and whom it lets a server take a client for.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::limits::CLIENT_NAMES_MAX;

/// A name in a certificate. Prints with its kind: `DNS:ann.example`, what is not plain text escaped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    Uri(String),
    /// In lower case, since DNS knows no other.
    Dns(String),
    Email(String),
    Ip(IpAddr),
    /// The subject, of a certificate without any of the above.
    Subject(String),
}

impl Name {
    /// What a policy should look at first: names made for it, before those of hosts and people.
    fn rank(&self) -> u8 {
        match self {
            Self::Uri(_) => 0,
            Self::Dns(_) => 1,
            Self::Email(_) => 2,
            Self::Ip(_) => 3,
            Self::Subject(_) => 4,
        }
    }

    fn of(name: &GeneralName<'_>) -> Option<Self> {
        match name {
            GeneralName::URI(uri) => Some(Self::Uri((*uri).to_owned())),
            GeneralName::DNSName(host) => Some(Self::Dns(host.to_ascii_lowercase())),
            GeneralName::RFC822Name(email) => Some(Self::Email((*email).to_owned())),
            GeneralName::IPAddress(bytes) => ip(bytes).map(Self::Ip),
            _ => None,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uri(uri) => write!(f, "URI:{}", uri.escape_debug()),
            Self::Dns(host) => write!(f, "DNS:{}", host.escape_debug()),
            Self::Email(email) => write!(f, "email:{}", email.escape_debug()),
            Self::Ip(address) => write!(f, "IP:{address}"),
            Self::Subject(subject) => write!(f, "subject:{}", subject.escape_debug()),
        }
    }
}

/// Who a client is, by the certificate that was verified: all its names, URIs first, then DNS, email
/// and IP names, each kind in the certificate's order; or its subject where it has none of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientNames(Vec<Name>);

impl ClientNames {
    /// At least one.
    pub fn all(&self) -> &[Name] {
        &self.0
    }

    /// Of a certificate (DER); `None` where it cannot be read, names nobody, or holds more than
    /// [`CLIENT_NAMES_MAX`]: whoever goes by names must not see some of them.
    pub(crate) fn of_certificate(der: &[u8]) -> Option<Self> {
        let (_, cert) = X509Certificate::from_der(der).ok()?;
        let mut names = alternative_names(&cert);
        if names.is_empty() {
            let subject = cert.subject().to_string();
            names.extend((!subject.is_empty()).then_some(Name::Subject(subject)));
        }
        names.sort_by_key(Name::rank);
        (1..=CLIENT_NAMES_MAX).contains(&names.len()).then_some(Self(names))
    }
}

impl fmt::Display for ClientNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{name}")?;
        }
        Ok(())
    }
}

/// The subject alternative names of a certificate, in its order.
pub(crate) fn alternative_names(cert: &X509Certificate<'_>) -> Vec<Name> {
    let Ok(Some(names)) = cert.subject_alternative_name() else { return Vec::new() };
    names.value.general_names.iter().filter_map(Name::of).collect()
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(|v4| IpAddr::V4(Ipv4Addr::from(v4)));
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(|v6| IpAddr::V6(Ipv6Addr::from(v6)))).ok()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};

    use super::*;

    fn check(subject: &str, names: Vec<SanType>, expected: &str) {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        if !subject.is_empty() {
            params.distinguished_name.push(DnType::CommonName, subject);
        }
        params.subject_alt_names = names;
        let cert = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let names = ClientNames::of_certificate(cert.der());
        assert_eq!(names.map_or_else(|| "nobody".to_owned(), |names| names.to_string()), expected);
    }

    fn dns(name: &str) -> SanType {
        SanType::DnsName(name.try_into().unwrap())
    }

    #[test]
    fn names_come_by_kind_and_then_in_the_certificates_order() {
        let names = vec![
            SanType::IpAddress("10.0.0.7".parse().unwrap()),
            SanType::IpAddress("::1".parse().unwrap()),
            SanType::Rfc822Name("ann@example.org".try_into().unwrap()),
            dns("B.example"),
            dns("a.example"),
            SanType::URI("flight://role/data".try_into().unwrap()),
        ];
        check(
            "not shown",
            names,
            "URI:flight://role/data, DNS:b.example, DNS:a.example, email:ann@example.org, \
             IP:10.0.0.7, IP:::1",
        );
    }

    #[test]
    fn the_subject_stands_in_where_there_is_no_other_name() {
        check("Ann", Vec::new(), "subject:CN=Ann");
        check("", Vec::new(), "nobody");
    }

    #[test]
    fn a_name_cannot_break_a_line_of_the_log() {
        check("a\nb\u{1b}[31m", Vec::new(), "subject:CN=a\\nb\\u{1b}[31m");
    }

    #[test]
    fn a_client_with_more_names_than_are_looked_at_is_nobody() {
        let many = |count| (0..count).map(|n| dns(&format!("n{n}.example"))).collect::<Vec<_>>();
        check("", many(CLIENT_NAMES_MAX + 1), "nobody");
        let expected: Vec<_> = (0..CLIENT_NAMES_MAX).map(|n| format!("DNS:n{n}.example")).collect();
        check("", many(CLIENT_NAMES_MAX), &expected.join(", "));
    }
}
