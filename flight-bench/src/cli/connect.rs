//! What `unary --connect` says: which connections calls go over.

use std::fmt;
use std::str::FromStr;

/// Where a call's connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connect {
    /// Made once, for the same streams all the time.
    Shared,
    /// Made for the call, with a full handshake where it is encrypted.
    PerCall,
    /// Made for the call, and resumes a session of an earlier connection.
    Resumed,
    /// The least busy one of up to so many.
    Pooled(u64),
}

/// Connections of a pool that is given without a number: as many as `flight-net` keeps.
const POOLED_DEFAULT: u64 = 4;

impl Connect {
    /// Whether each call has a connection of its own.
    pub(crate) fn is_own(self) -> bool {
        matches!(self, Self::PerCall | Self::Resumed)
    }
}

impl FromStr for Connect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        match (name, number) {
            ("shared", None) => Ok(Self::Shared),
            ("per-call", None) => Ok(Self::PerCall),
            ("resumed", None) => Ok(Self::Resumed),
            ("pooled", None) => Ok(Self::Pooled(POOLED_DEFAULT)),
            ("pooled", Some(number)) => match number.parse() {
                Ok(count) if count > 0 => Ok(Self::Pooled(count)),
                _ => Err(format!(
                    "'{number}' is no number of connections; write pooled:4, or pooled alone"
                )),
            },
            ("shared" | "per-call" | "resumed", Some(_)) => {
                Err(format!("{name} has no number; of these, only pooled has one: pooled:4"))
            }
            _ => Err(format!("'{text}' is none of shared, per-call, resumed and pooled:N")),
        }
    }
}

impl fmt::Display for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared => f.write_str("shared"),
            Self::PerCall => f.write_str("per-call"),
            Self::Resumed => f.write_str("resumed"),
            Self::Pooled(count) => write!(f, "pooled:{count}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_what_is_wrong_has_a_way_out() {
        let check = |text: &str, want: Result<&str, &str>| match (text.parse::<Connect>(), want) {
            (Ok(got), Ok(want)) => assert_eq!(got.to_string(), want, "{text}"),
            (Err(got), Err(want)) => assert!(got.contains(want), "{text}: {got}"),
            (got, want) => panic!("{text}: {got:?}, not {want:?}"),
        };
        check("shared", Ok("shared"));
        check("per-call", Ok("per-call"));
        check("resumed", Ok("resumed"));
        check("pooled:12", Ok("pooled:12"));
        check("pooled", Ok("pooled:4"));
        check("pooled:0", Err("'0' is no number of connections; write pooled:4"));
        check("pooled:", Err("'' is no number of connections"));
        check("pooled:-1", Err("'-1' is no number"));
        check("per-call:4", Err("per-call has no number; of these, only pooled has one"));
        check("percall", Err("'percall' is none of shared, per-call, resumed and pooled:N"));
        check("", Err("'' is none of shared"));
    }
}
