//! The URIs by which Flight names its servers.
//!
//! <https://arrow.apache.org/docs/format/Flight.html#transport>: `grpc://` and `grpc+tcp://` are
//! plaintext, `grpc+tls://` is TLS, `grpc+unix://` a socket in the file system.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use http::uri::Authority;

use crate::limits::HOST_BYTES_MAX;

/// Port of a Flight dataset server unless the URI names one.
pub const DEFAULT_PORT: u16 = 8815;

/// Where a Flight server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// Plaintext over TCP; the host is a name or an address, without brackets.
    Tcp { host: String, port: u16 },
    /// TLS over TCP.
    Tls { host: String, port: u16 },
    /// A Unix socket, always plaintext.
    Unix(PathBuf),
}

/// Why a text is not a Flight URI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error(
        "{uri:?} names no scheme that Flight knows; write grpc://HOST:PORT, grpc+tls://HOST:PORT or grpc+unix:///PATH"
    )]
    Scheme { uri: String },
    #[error("{uri:?} names no host; write for example grpc://127.0.0.1:8815")]
    Host { uri: String },
    #[error("{uri:?} holds a control character, and no URI does")]
    Control { uri: String },
    #[error("a host of {bytes} bytes is longer than any; names have {HOST_BYTES_MAX} at most")]
    HostLength { bytes: usize },
    #[error(
        "{uri:?}: {host:?} is no host; write a name in ASCII as DNS does (xn--…), or an address"
    )]
    HostText { uri: String, host: String },
    #[error("{uri:?}: {port:?} is not a port number from 0 to 65535")]
    Port { uri: String, port: String },
    #[error("{uri:?} has a path; a Flight URI ends after the port")]
    Path { uri: String },
    #[error("{uri:?} names no absolute path; write for example grpc+unix:///run/flight.sock")]
    UnixPath { uri: String },
}

impl Endpoint {
    pub fn is_tls(&self) -> bool {
        matches!(self, Self::Tls { .. })
    }

    /// The host that a certificate must name, if any.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Tcp { host, .. } | Self::Tls { host, .. } => Some(host),
            Self::Unix(_) => None,
        }
    }

    /// Whether only this machine can reach it: a loopback address or a Unix socket.
    pub fn is_local(&self) -> bool {
        let Some(host) = self.host() else { return true };
        let address = host.parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|ip| ip.is_loopback())
    }

    /// The same endpoint on another port; a Unix socket has none.
    #[must_use]
    pub fn with_port(self, port: u16) -> Self {
        match self {
            Self::Tcp { host, .. } => Self::Tcp { host, port },
            Self::Tls { host, .. } => Self::Tls { host, port },
            unix @ Self::Unix(_) => unix,
        }
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(uri: &str) -> Result<Self, EndpointError> {
        let owned = || uri.to_owned();
        let Some((scheme, rest)) = uri.split_once("://") else {
            return Err(EndpointError::Scheme { uri: owned() });
        };
        if uri.contains(char::is_control) {
            return Err(EndpointError::Control { uri: owned() });
        }
        if scheme == "grpc+unix" {
            let path = PathBuf::from(rest);
            if !path.is_absolute() {
                return Err(EndpointError::UnixPath { uri: owned() });
            }
            return Ok(Self::Unix(path));
        }
        let tls = match scheme {
            "grpc" | "grpc+tcp" => false,
            "grpc+tls" => true,
            _ => return Err(EndpointError::Scheme { uri: owned() }),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '?', '#']) {
            return Err(EndpointError::Path { uri: owned() });
        }
        let (host, port) = split_authority(rest);
        if host.is_empty() || host.contains(['[', ']', '@']) {
            return Err(EndpointError::Host { uri: owned() });
        }
        if host.len() > HOST_BYTES_MAX {
            return Err(EndpointError::HostLength { bytes: host.len() });
        }
        // It becomes the authority of every call.
        let bracketed = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        if bracketed.parse::<Authority>().is_err() {
            return Err(EndpointError::HostText { uri: owned(), host: host.to_owned() });
        }
        let port = match port {
            None => DEFAULT_PORT,
            Some(port) => port
                .parse()
                .map_err(|_| EndpointError::Port { uri: owned(), port: port.to_owned() })?,
        };
        let host = host.to_owned();
        Ok(if tls { Self::Tls { host, port } } else { Self::Tcp { host, port } })
    }
}

/// Host and port of `host:port`, `[v6]:port` or either without a port.
fn split_authority(text: &str) -> (&str, Option<&str>) {
    if let Some(rest) = text.strip_prefix('[')
        && let Some((host, after)) = rest.split_once(']')
    {
        return (host, after.strip_prefix(':'));
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => (host, Some(port)),
        // More than one colon and no brackets: an IPv6 address without a port.
        _ => (text, None),
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, host, port) = match self {
            Self::Unix(path) => return write!(f, "grpc+unix://{}", path.display()),
            Self::Tcp { host, port } => ("grpc", host, port),
            Self::Tls { host, port } => ("grpc+tls", host, port),
        };
        if host.contains(':') {
            return write!(f, "{scheme}://[{host}]:{port}");
        }
        write!(f, "{scheme}://{host}:{port}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(uri: &str, answer: &str) {
        let text = match uri.parse::<Endpoint>() {
            Ok(endpoint) => endpoint.to_string(),
            Err(error) => error.to_string(),
        };
        assert!(text.contains(answer), "{uri}: {text}");
    }

    #[test]
    fn every_scheme_of_flight_is_read() {
        check("grpc://h:1", "grpc://h:1");
        check("grpc+tcp://h:1", "grpc://h:1");
        check("grpc+tls://h:1/", "grpc+tls://h:1");
        check("grpc+unix:///run/f.sock", "grpc+unix:///run/f.sock");
        check("grpc://h", "grpc://h:8815");
    }

    #[test]
    fn ipv6_addresses_stand_in_brackets() {
        check("grpc://[::1]:5", "grpc://[::1]:5");
        check("grpc://[::1]", "grpc://[::1]:8815");
        check("grpc://::1", "grpc://[::1]:8815");
    }

    #[test]
    fn what_is_wrong_is_named_with_the_way_out() {
        check("localhost:8815", "write grpc://HOST:PORT");
        check("http://h:1", "no scheme that Flight knows");
        check("grpc://:1", "names no host");
        check("grpc://h:99999", "\"99999\" is not a port");
        check("grpc://h:1/x", "ends after the port");
        check("grpc+unix://run/f", "no absolute path");
        check("grpc://user@h:1", "names no host");
    }

    #[test]
    fn what_can_be_no_host_is_refused_before_it_is_looked_up() {
        check("grpc://a\u{1b}[2Jb:1", "holds a control character");
        check("grpc+unix:///run/a\nb", r#""grpc+unix:///run/a\nb" holds a control character"#);
        check(&format!("grpc://{}:1", "h".repeat(253)), ":1");
        check(&format!("grpc://{}:1", "h".repeat(254)), "a host of 254 bytes is longer than any");
        check("grpc://a b:1", "\"a b\" is no host");
        check("grpc://münchen:1", "write a name in ASCII");
        check("grpc+unix:///run/a b", "grpc+unix:///run/a b");
    }

    #[test]
    fn only_loopback_and_unix_sockets_are_local() {
        for (uri, local) in [
            ("grpc://127.0.0.1:1", true),
            ("grpc://[::1]:1", true),
            ("grpc://localhost:1", true),
            ("grpc+unix:///s", true),
            ("grpc://0.0.0.0:1", false),
            ("grpc+tls://example.org:1", false),
        ] {
            assert_eq!(uri.parse::<Endpoint>().unwrap().is_local(), local, "{uri}");
        }
    }
}
