//! The options of an open loop.

use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::units;

#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct PaceArgs {
    /// Batches, calls or operations a second of all streams, such as 20k, or a share such as 70%.
    ///
    /// An open loop: each is sent at a time that is drawn beforehand, however slow the server is,
    /// and its response time counts from that time. A share is one of what the same streams reach in
    /// a closed loop, measured first. The batches of get are the server's to send: a flight-server
    /// with --perf sends them at such times, and says when each was due. Default: as fast as the
    /// streams can (a closed loop).
    #[arg(short, long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,

    /// How the times of an open loop are spread.
    ///
    /// poisson is what many independent clients do together; uniform is a metronome.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Arrival::Poisson)]
    pub(crate) arrival: Arrival,
}

/// How the times of an open loop are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arrival {
    Poisson,
    Uniform,
}

impl From<Arrival> for flight_sample::arrivals::Arrival {
    fn from(arrival: Arrival) -> Self {
        match arrival {
            Arrival::Poisson => Self::Poisson,
            Arrival::Uniform => Self::Uniform,
        }
    }
}

/// The load of an open loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rate {
    PerSecond(f64),
    /// Of what a closed loop reaches.
    Share(f64),
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("'{text}' is no rate; write 500, 20k or 70%");
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.parse().map_err(|_| refused())?;
            if !(0.01..=1000.0).contains(&percent) {
                return Err(format!("'{text}' is outside 0.01% to 1000%; 70% is a usual load"));
            }
            return Ok(Self::Share(percent / 100.0));
        }
        match units::count(text).map_err(|_| refused())? {
            0 => Err("a rate of 0 sends nothing; write 500, 20k or 70%".to_owned()),
            count => Ok(Self::PerSecond(count as f64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_counts_or_shares() {
        let check = |text: &str, want: Result<Rate, &str>| match (text.parse::<Rate>(), want) {
            (Ok(got), Ok(want)) => assert_eq!(got, want),
            (Err(got), Err(want)) => assert!(got.contains(want), "{got}"),
            (got, want) => panic!("{text}: {got:?}, not {want:?}"),
        };
        check("500", Ok(Rate::PerSecond(500.0)));
        check("20k", Ok(Rate::PerSecond(20_000.0)));
        check("70%", Ok(Rate::Share(0.7)));
        check("0.5%", Ok(Rate::Share(0.005)));
        check("0", Err("sends nothing"));
        check("0%", Err("outside 0.01% to 1000%"));
        check("1e-30%", Err("outside 0.01% to 1000%"));
        check("-5", Err("no rate"));
        check("fast", Err("write 500, 20k or 70%"));
    }
}
