//! Versions and cipher suites: what is offered, in which order, by which name.

use std::fmt;
use std::str::FromStr;

use rustls::CipherSuite as Id;

use crate::error::TlsError;

/// A version of TLS that is spoken here. Written `1.2` and `1.3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    #[default]
    V1_2,
    V1_3,
}

/// A cipher suite of TLS 1.2 or 1.3. [`FromStr`] takes the name of IANA, of OpenSSL or of rustls
/// (`TLS13_…`); [`Display`](fmt::Display) gives IANA's.
#[derive(Clone, Copy)]
pub struct CipherSuite(&'static Row);

struct Row {
    iana: &'static str,
    openssl: &'static str,
    version: TlsVersion,
    id: Id,
}

/// In the order of preference where the processor has AES: AES-128-GCM costs least and is not known
/// to be weaker in any way that matters here.
#[rustfmt::skip]
static SUITES: [Row; 9] = [
    row("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", TlsVersion::V1_3, Id::TLS13_AES_128_GCM_SHA256),
    row("TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", TlsVersion::V1_3, Id::TLS13_AES_256_GCM_SHA384),
    row("TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", TlsVersion::V1_3, Id::TLS13_CHACHA20_POLY1305_SHA256),
    row("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256", TlsVersion::V1_2, Id::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    row("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256", TlsVersion::V1_2, Id::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    row("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384", TlsVersion::V1_2, Id::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    row("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384", TlsVersion::V1_2, Id::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    row("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305", TlsVersion::V1_2, Id::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    row("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305", TlsVersion::V1_2, Id::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];

const fn row(iana: &'static str, openssl: &'static str, version: TlsVersion, id: Id) -> Row {
    Row { iana, openssl, version, id }
}

impl CipherSuite {
    /// All suites, most preferred first.
    pub fn all() -> Vec<Self> {
        let mut suites: Vec<_> = SUITES.iter().map(Self).collect();
        if !processor_has_aes() {
            suites.sort_by_key(|suite| (suite.0.version < TlsVersion::V1_3, suite.needs_aes()));
        }
        suites
    }

    /// Those of TLS 1.3, most preferred first where the processor has AES.
    pub fn of_tls13() -> impl Iterator<Item = Self> {
        SUITES.iter().map(Self).filter(|suite| suite.version() == TlsVersion::V1_3)
    }

    /// The names that IANA gave to all suites, as a sentence lists them.
    pub fn names() -> String {
        SUITES.iter().map(|row| row.iana).collect::<Vec<_>>().join(", ")
    }

    pub fn version(self) -> TlsVersion {
        self.0.version
    }

    pub(crate) fn of(id: Id) -> Option<Self> {
        SUITES.iter().find(|row| row.id == id).map(Self)
    }

    pub(crate) fn id(self) -> Id {
        self.0.id
    }

    /// OpenSSL's name.
    #[cfg(feature = "openssl")]
    pub(crate) fn openssl_name(self) -> &'static str {
        self.0.openssl
    }

    fn needs_aes(self) -> bool {
        self.0.iana.contains("_AES_")
    }
}

/// `ciphers`, or all suites when there are none, of which at least one is of version `min` or later.
///
/// # Errors
/// When none of `ciphers` is.
pub(crate) fn offered(
    min: TlsVersion,
    ciphers: &[CipherSuite],
) -> Result<Vec<CipherSuite>, TlsError> {
    if ciphers.is_empty() {
        return Ok(CipherSuite::all());
    }
    if ciphers.iter().all(|suite| suite.version() < min) {
        return Err(TlsError::NoSuite { min });
    }
    Ok(ciphers.to_vec())
}

#[cfg(target_arch = "x86_64")]
fn processor_has_aes() -> bool {
    std::arch::is_x86_feature_detected!("aes")
}

#[cfg(target_arch = "aarch64")]
fn processor_has_aes() -> bool {
    std::arch::is_aarch64_feature_detected!("aes")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn processor_has_aes() -> bool {
    false
}

impl FromStr for CipherSuite {
    type Err = TlsError;

    fn from_str(name: &str) -> Result<Self, TlsError> {
        let rustls = name.get(..6).filter(|start| start.eq_ignore_ascii_case("TLS13_"));
        let known = rustls.map_or_else(|| name.to_owned(), |_| format!("TLS_{}", &name[6..]));
        let matches = |row: &&Row| {
            row.iana.eq_ignore_ascii_case(&known) || row.openssl.eq_ignore_ascii_case(&known)
        };
        let found = SUITES.iter().find(matches).map(Self);
        found.ok_or_else(|| TlsError::UnknownSuite { name: name.to_owned() })
    }
}

impl fmt::Display for CipherSuite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.iana)
    }
}

impl fmt::Debug for CipherSuite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.iana)
    }
}

impl PartialEq for CipherSuite {
    fn eq(&self, other: &Self) -> bool {
        self.0.iana == other.0.iana
    }
}

impl Eq for CipherSuite {}

impl FromStr for TlsVersion {
    type Err = TlsError;

    fn from_str(value: &str) -> Result<Self, TlsError> {
        match value {
            "1.2" => Ok(Self::V1_2),
            "1.3" => Ok(Self::V1_3),
            _ => Err(TlsError::UnknownVersion { value: value.to_owned() }),
        }
    }
}

impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1_2 => "1.2",
            Self::V1_3 => "1.3",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &str) {
        match name.parse::<CipherSuite>() {
            Ok(suite) => assert_eq!(suite.to_string(), expected),
            Err(error) => assert!(error.to_string().starts_with(expected), "{error}"),
        }
    }

    #[test]
    fn a_suite_is_known_by_the_names_of_iana_openssl_and_rustls() {
        check("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384");
        check("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256");
        check("tls_chacha20_poly1305_sha256", "TLS_CHACHA20_POLY1305_SHA256");
        check("ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384");
        check("ecdhe-ecdsa-chacha20-poly1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256");
    }

    #[test]
    fn an_unknown_suite_is_refused_with_the_known_ones() {
        let names = CipherSuite::names();
        assert_eq!(names.split(", ").count(), 9);
        for name in ["", "AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_AES_128_GCM_SHA256 "] {
            check(name, &format!("unknown cipher suite '{name}'; the known ones are {names}"));
        }
    }

    #[test]
    fn suites_of_the_least_version_are_left() {
        let count = |min, ciphers: &[CipherSuite]| match offered(min, ciphers) {
            Ok(suites) => suites.len().to_string(),
            Err(error) => error.to_string(),
        };
        let old = ["ECDHE-RSA-AES128-GCM-SHA256".parse().unwrap()];
        assert_eq!(count(TlsVersion::V1_2, &[]), "9");
        assert_eq!(count(TlsVersion::V1_2, &old), "1");
        assert_eq!(
            count(TlsVersion::V1_3, &old),
            "no cipher suite is left for TLS 1.3 or later; add one, or lower the version"
        );
    }

    #[test]
    fn versions_are_read_as_they_are_written() {
        for version in [TlsVersion::V1_2, TlsVersion::V1_3] {
            assert_eq!(version.to_string().parse::<TlsVersion>().unwrap(), version);
        }
        assert_eq!(
            "1.1".parse::<TlsVersion>().unwrap_err().to_string(),
            "unknown TLS version '1.1'; give 1.2 or 1.3"
        );
    }
}
