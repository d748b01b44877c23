//! A DoGet that the server paces: batches leave at times that it draws beforehand, and say which.
//!
//! What a stream that is pushed keeps waiting cannot be seen by its reader: a slow server and one
//! that had nothing to send look alike. Only the one that sends can say when each batch was due.

use std::fmt;
use std::str::FromStr;

use super::ProtocolError;

/// The header of a DoGet that asks for it, such as `rate=1000; arrival=poisson; seed=42`.
pub const PACE_HEADER: &str = "flight-pace";

/// Batches a second of a stream.
const PER_SECOND_MIN: f64 = 1.0;
const PER_SECOND_MAX: f64 = 1e7;

/// How a stream is to be paced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaceRequest {
    /// Batches a second, 1 to 10 million.
    pub per_second: f64,
    /// Whether gaps are exponential (a Poisson process), or all the same.
    pub poisson: bool,
    pub seed: u64,
    /// When the batch before the first was due, where a schedule goes on in a new stream: the
    /// [clock](EmitStamp::clock) and its nanoseconds. Else the schedule begins when the stream does.
    pub after: Option<(u64, u64)>,
}

impl fmt::Display for PaceRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrival = if self.poisson { "poisson" } else { "uniform" };
        write!(f, "rate={}; arrival={arrival}; seed={}", self.per_second, self.seed)?;
        match self.after {
            Some((clock, ns)) => write!(f, "; after={clock}:{ns}"),
            None => Ok(()),
        }
    }
}

impl FromStr for PaceRequest {
    type Err = ProtocolError;

    fn from_str(text: &str) -> Result<Self, ProtocolError> {
        let mut request = Self { per_second: 0.0, poisson: true, seed: 0, after: None };
        for field in text.split(';') {
            let (key, value) = field.trim().split_once('=').ok_or(ProtocolError::Pace)?;
            match (key, value) {
                ("rate", rate) => request.per_second = rate.parse().map_err(refused)?,
                ("arrival", "poisson") => request.poisson = true,
                ("arrival", "uniform") => request.poisson = false,
                ("seed", seed) => request.seed = seed.parse().map_err(refused)?,
                ("after", after) => {
                    let (clock, ns) = after.split_once(':').ok_or(ProtocolError::Pace)?;
                    let after = (clock.parse().map_err(refused)?, ns.parse().map_err(refused)?);
                    request.after = Some(after);
                }
                _ => return Err(ProtocolError::Pace),
            }
        }
        if !(PER_SECOND_MIN..=PER_SECOND_MAX).contains(&request.per_second) {
            return Err(ProtocolError::Pace);
        }
        Ok(request)
    }
}

fn refused<E>(_: E) -> ProtocolError {
    ProtocolError::Pace
}

/// The `app_metadata` of a paced batch. Times are nanoseconds of CLOCK_MONOTONIC, which all processes
/// of a machine share.
///
/// Layout, 32 bytes, little-endian: `"flight-1" | clock u64 | intended u64 | emitted u64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmitStamp {
    /// Which machine's clock it is: the same for all processes of one boot of one machine.
    pub clock: u64,
    /// When the batch was due.
    pub intended_ns: u64,
    /// When the server began to make it: the lateness before that is its own.
    pub emitted_ns: u64,
}

const STAMP_MAGIC: &[u8; 8] = b"flight-1";

impl EmitStamp {
    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(STAMP_MAGIC);
        for (at, value) in [(8, self.clock), (16, self.intended_ns), (24, self.emitted_ns)] {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    /// `None` for what is no stamp: servers may put anything into `app_metadata`.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; 32] = bytes.try_into().ok()?;
        let (magic, values) = bytes.split_first_chunk::<8>()?;
        let mut values = values.chunks_exact(8).map(|value| {
            let mut number = [0; 8];
            number.copy_from_slice(value);
            u64::from_le_bytes(number)
        });
        let stamp =
            Self { clock: values.next()?, intended_ns: values.next()?, emitted_ns: values.next()? };
        (magic == STAMP_MAGIC).then_some(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        for request in [
            PaceRequest { per_second: 1000.0, poisson: true, seed: 42, after: None },
            PaceRequest {
                per_second: 1.0,
                poisson: false,
                seed: u64::MAX,
                after: Some((7, u64::MAX)),
            },
            PaceRequest { per_second: 12345.678, poisson: true, seed: 0, after: Some((0, 0)) },
        ] {
            assert_eq!(request.to_string().parse(), Ok(request));
        }
    }

    #[test]
    fn what_is_no_request_is_refused_with_the_form_of_one() {
        for text in [
            "",
            "fast",
            "rate",
            "rate=",
            "rate=0.9",
            "rate=-5",
            "rate=NaN",
            "rate=inf",
            "rate=1e8",
            "rate=10; arrival=never",
            "rate=10; seed=-1",
            "seed=1",
            "rate=10; more=1",
            "rate=10;",
            "rate=10; after=1",
            "rate=10; after=1:",
            "rate=10; after=-1:5",
        ] {
            let refused = text.parse::<PaceRequest>().expect_err(text);
            assert!(refused.to_string().contains("rate=1000; arrival=poisson; seed=42"), "{text}");
        }
    }

    #[test]
    fn a_stamp_is_read_as_it_was_written_and_nothing_else_is_one() {
        let stamp = EmitStamp { clock: 1, intended_ns: u64::MAX, emitted_ns: 3 };
        let bytes = stamp.to_bytes();
        assert_eq!(EmitStamp::parse(&bytes), Some(stamp));
        assert_eq!(EmitStamp::parse(&bytes[..31]), None);
        assert_eq!(EmitStamp::parse(&[&bytes[..], &[0]].concat()), None);
        assert_eq!(EmitStamp::parse(&[0; 32]), None);
        assert_eq!(EmitStamp::parse(b""), None);
    }
}
