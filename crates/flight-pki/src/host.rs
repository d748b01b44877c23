//! Names and addresses that a server certificate vouches for (RFC 5280, 4.2.1.6).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use rcgen::SanType;
use rustls_pki_types::DnsName;

use crate::error::PkiError;

/// One subject alternative name: a DNS name, `*.` in front allowed, or an IP address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host(Name);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Dns(String),
    Address(IpAddr),
}

impl Host {
    /// What every server certificate of a development machine holds.
    pub fn loopback() -> Vec<Self> {
        vec![
            Self(Name::Dns("localhost".to_owned())),
            Self(Name::Address(IpAddr::V4(Ipv4Addr::LOCALHOST))),
            Self(Name::Address(IpAddr::V6(Ipv6Addr::LOCALHOST))),
        ]
    }

    pub(crate) fn to_san(&self) -> Result<SanType, PkiError> {
        match &self.0 {
            Name::Dns(name) => Ok(SanType::DnsName(name.as_str().try_into()?)),
            Name::Address(address) => Ok(SanType::IpAddress(*address)),
        }
    }
}

impl FromStr for Host {
    type Err = PkiError;

    fn from_str(host: &str) -> Result<Self, PkiError> {
        let refused = |reason| Err(PkiError::Host { host: host.to_owned(), reason });
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(Self(Name::Address(address)));
        }
        if !host.is_ascii() {
            return refused("is not ASCII, and certificates hold such names in xn-- form");
        }
        if host.ends_with('.') {
            return refused("ends with a dot, which no certificate may");
        }
        if DnsName::try_from(host.strip_prefix("*.").unwrap_or(host)).is_err() {
            return refused("is neither a DNS name nor an IP address");
        }
        Ok(Self(Name::Dns(host.to_ascii_lowercase())))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Name::Dns(name) => f.write_str(name),
            Name::Address(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, expected: &str) {
        let found = match host.parse::<Host>() {
            Ok(host) => host.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found.split("; give").next(), Some(expected), "{host}");
    }

    #[test]
    fn names_and_addresses_are_taken() {
        check("localhost", "localhost");
        check("DB.Example.com", "db.example.com");
        check("*.example.com", "*.example.com");
        check("xn--mnchen-3ya.example", "xn--mnchen-3ya.example");
        check("10.0.0.7", "10.0.0.7");
        check("fe80::1", "fe80::1");
    }

    #[test]
    fn what_no_certificate_can_vouch_for_is_refused() {
        check("", "'' is neither a DNS name nor an IP address");
        check("*", "'*' is neither a DNS name nor an IP address");
        check("a b", "'a b' is neither a DNS name nor an IP address");
        check("db:8815", "'db:8815' is neither a DNS name nor an IP address");
        check("grpc://db", "'grpc://db' is neither a DNS name nor an IP address");
        check("[::1]", "'[::1]' is neither a DNS name nor an IP address");
        check("1.2.3", "'1.2.3' is neither a DNS name nor an IP address");
        check("db.", "'db.' ends with a dot, which no certificate may");
        check(
            "münchen.example",
            "'münchen.example' is not ASCII, and certificates hold such names in xn-- form",
        );
        let long = "a".repeat(64);
        check(&long, &format!("'{long}' is neither a DNS name nor an IP address"));
    }
}
