//! Names of clients: what a server tells them apart by.

use std::fmt;
use std::str::FromStr;

use rcgen::{DistinguishedName, SanType};

use crate::authority::subject;
use crate::error::PkiError;
use crate::host::Host;
use crate::limits::{CLIENT_NAME_BYTES_MAX, COMMON_NAME_BYTES_MAX};

/// What a client's certificate calls it.
///
/// [`FromStr`] takes a URI (`flight://role/data`), a DNS name or an address, all of which become a
/// subject alternative name, and any other printable text, which stands in the subject alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientName {
    text: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Uri,
    Host(Host),
    Subject,
}

impl ClientName {
    /// The part of a file's name that stands for it: letters, digits, dots and hyphens.
    pub fn file_stem(&self) -> String {
        let mut stem = String::new();
        for c in self.text.chars() {
            if c.is_ascii_alphanumeric() || c == '.' || c == '_' {
                stem.push(c);
            } else if !stem.ends_with('-') {
                stem.push('-');
            }
        }
        stem.trim_matches(['-', '.']).to_owned()
    }

    pub(crate) fn subject(&self) -> DistinguishedName {
        match self.text.len() <= COMMON_NAME_BYTES_MAX {
            true => subject(&self.text),
            // A common name is bounded (RFC 5280, A.1), and the name stands elsewhere.
            false => subject("flight client"),
        }
    }

    pub(crate) fn sans(&self) -> Result<Vec<SanType>, PkiError> {
        match &self.kind {
            Kind::Uri => Ok(vec![SanType::URI(self.text.as_str().try_into()?)]),
            Kind::Host(host) => Ok(vec![host.to_san()?]),
            Kind::Subject => Ok(Vec::new()),
        }
    }
}

impl FromStr for ClientName {
    type Err = PkiError;

    fn from_str(name: &str) -> Result<Self, PkiError> {
        let refused = |reason| Err(PkiError::ClientName { name: name.to_owned(), reason });
        if CLIENT_NAME_BYTES_MAX < name.len() {
            return refused("is longer than 255 bytes");
        }
        if name.chars().any(char::is_control) {
            return refused("holds control characters");
        }
        let kind = if name.contains("://") {
            if !is_uri(name) {
                return refused("is no URI that a certificate could hold");
            }
            Kind::Uri
        } else if let Ok(host) = name.parse::<Host>() {
            Kind::Host(host)
        } else if name.len() <= COMMON_NAME_BYTES_MAX {
            Kind::Subject
        } else {
            return refused("is longer than the 64 bytes of a common name");
        };
        let name = Self { text: name.to_owned(), kind };
        if name.file_stem().is_empty() {
            return refused("has no letter or digit to name a file by");
        }
        Ok(name)
    }
}

/// A scheme, something after `://`, and nothing that a URI must escape (RFC 3986, 2 and 3.1).
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let letter_first = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let allowed = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c);
    letter_first && scheme.chars().all(of_scheme) && !rest.is_empty() && rest.chars().all(allowed)
}

impl From<Host> for ClientName {
    fn from(host: Host) -> Self {
        Self { text: host.to_string(), kind: Kind::Host(host) }
    }
}

impl fmt::Display for ClientName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &str) {
        let found = match name.parse::<ClientName>() {
            Ok(name) => {
                let kind = match name.kind {
                    Kind::Uri => "URI",
                    Kind::Host(_) => "host",
                    Kind::Subject => "subject",
                };
                format!("{kind} {}", name.file_stem())
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_name_is_a_uri_a_host_or_a_subject() {
        check("flight://role/data", "URI flight-role-data");
        check("spiffe://example.org/ns/a?b=1#c", "URI spiffe-example.org-ns-a-b-1-c");
        check("ann.example", "host ann.example");
        check("10.0.0.7", "host 10.0.0.7");
        check("Ann Example", "subject Ann-Example");
        check("ann@example.com", "subject ann-example.com");
        check("Änn", "subject nn");
    }

    #[test]
    fn a_files_name_stays_in_its_folder() {
        check("../../etc/passwd", "subject etc-passwd");
        check("flight://role/../x", "URI flight-role-..-x");
        check("/", "client name '/' has no letter or digit to name a file by");
        check("..", "client name '..' has no letter or digit to name a file by");
    }

    #[test]
    fn what_no_certificate_can_hold_is_refused() {
        check("", "client name '' has no letter or digit to name a file by");
        check("a\nb", "client name 'a\nb' holds control characters");
        check("flight://", "client name 'flight://' is no URI that a certificate could hold");
        check("1://a", "client name '1://a' is no URI that a certificate could hold");
        check("a://b c", "client name 'a://b c' is no URI that a certificate could hold");
        let long = "a b".repeat(22);
        check(&long, &format!("client name '{long}' is longer than the 64 bytes of a common name"));
        let long = format!("a://{}", "b".repeat(252));
        check(&long, &format!("client name '{long}' is longer than 255 bytes"));
    }
}
