//! Which implementation of TLS a connection uses.

use std::fmt;
use std::str::FromStr;

use crate::error::TlsError;

/// An implementation of TLS.
///
/// [`FromStr`] takes the names that [`Display`](fmt::Display) gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Engine {
    /// `aws-lc`: rustls, with the cryptography of AWS-LC.
    #[default]
    AwsLc,
    /// `ring`: rustls, with the cryptography of ring.
    Ring,
    /// `openssl`: OpenSSL, protocol and cryptography. Needs the feature `openssl`.
    OpenSsl,
}

impl Engine {
    /// Every engine, whether it is part of this build or not.
    pub const ALL: [Self; 3] = [Self::AwsLc, Self::Ring, Self::OpenSsl];

    /// Those that are part of this build.
    pub fn built() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|engine| engine.is_built())
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::AwsLc => "aws-lc",
            Self::Ring => "ring",
            Self::OpenSsl => "openssl",
        }
    }

    fn is_built(self) -> bool {
        self != Self::OpenSsl || cfg!(feature = "openssl")
    }
}

impl FromStr for Engine {
    type Err = TlsError;

    fn from_str(name: &str) -> Result<Self, TlsError> {
        let known = Self::ALL.into_iter().find(|engine| engine.name() == name);
        let engine = known.ok_or_else(|| TlsError::UnknownEngine { name: name.to_owned() })?;
        if engine.is_built() { Ok(engine) } else { Err(TlsError::NotBuilt { engine }) }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_known_by_its_name_if_it_is_built() {
        for engine in Engine::ALL {
            match engine.name().parse::<Engine>() {
                Ok(parsed) => assert!(parsed == engine && engine.is_built()),
                Err(error) => {
                    let sentence = error.to_string();
                    assert!(!engine.is_built(), "{sentence}");
                    assert!(sentence.contains("--features openssl"), "{sentence}");
                }
            }
        }
        let error = "boring".parse::<Engine>().unwrap_err().to_string();
        assert_eq!(error, "unknown TLS engine 'boring'; the known ones are aws-lc, ring, openssl");
    }
}
