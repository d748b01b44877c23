//! A mix of operations: which kinds there are, their weights, and which one comes next.

use std::fmt;
use std::str::FromStr;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::limits::WEIGHT_MAX;

/// An operation that can be part of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A whole source, read once.
    Get,
    /// A whole upload, to the server's final answer.
    Put,
    /// A whole call whose batches all came back.
    Exchange,
    /// One call.
    Info,
    Schema,
    List,
}

/// Kinds with their weights, in the order of [`Kind::ALL`]; never empty, and no weight is 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mix(Vec<(Kind, u64)>);

/// Which part of a mix is next: the same ones again for the same seed.
pub(crate) struct Draw {
    /// Sums of the weights up to each part.
    ends: Vec<u64>,
    rng: ChaCha8Rng,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Get, Self::Put, Self::Exchange, Self::Info, Self::Schema, Self::List];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::Exchange => "exchange",
            Self::Info => "info",
            Self::Schema => "schema",
            Self::List => "list",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// As the Flight specification writes the call.
    pub(crate) fn call(self) -> &'static str {
        match self {
            Self::Get => "DoGet",
            Self::Put => "DoPut",
            Self::Exchange => "DoExchange",
            Self::Info => "GetFlightInfo",
            Self::Schema => "GetSchema",
            Self::List => "ListFlights",
        }
    }

    /// Whether it asks about the source.
    pub(crate) fn needs_source(self) -> bool {
        matches!(self, Self::Get | Self::Info | Self::Schema)
    }

    pub(crate) fn sends_batches(self) -> bool {
        matches!(self, Self::Put | Self::Exchange)
    }

    pub(crate) fn moves_batches(self) -> bool {
        matches!(self, Self::Get | Self::Put | Self::Exchange)
    }
}

impl Mix {
    pub(crate) fn parts(&self) -> &[(Kind, u64)] {
        &self.0
    }

    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.any(|one| one == kind)
    }

    pub(crate) fn any(&self, is: impl Fn(Kind) -> bool) -> bool {
        self.0.iter().any(|(kind, _)| is(*kind))
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut weights = [None; Kind::ALL.len()];
        for part in text.split(',') {
            let (name, weight) = part.split_once('=').ok_or_else(|| {
                format!("'{part}' is no part of a mix; write such as get=70,put=20,info=10")
            })?;
            let (name, weight) = (name.trim(), weight.trim());
            let kind = Kind::of_name(name).ok_or_else(|| {
                format!(
                    "'{name}' is no kind of operation; those are {}",
                    Kind::ALL.map(Kind::name).join(", ")
                )
            })?;
            let parsed = weight.parse::<u64>().ok().filter(|weight| *weight <= WEIGHT_MAX);
            let parsed = parsed.ok_or_else(|| {
                format!("{name}: '{weight}' is no weight; write a number from 0 to {WEIGHT_MAX}")
            })?;
            if weights[kind as usize].replace(parsed).is_some() {
                return Err(format!("{name} stands twice; give each kind one weight"));
            }
        }
        let weighed = Kind::ALL.into_iter().zip(weights);
        let parts = weighed.filter_map(|(kind, weight)| Some((kind, weight?)));
        let parts: Vec<(Kind, u64)> = parts.filter(|(_, weight)| *weight > 0).collect();
        if parts.is_empty() {
            return Err(format!("'{text}' has no weight above 0; write such as get=70,put=30"));
        }
        Ok(Self(parts))
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (kind, weight)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}={weight}", kind.name())?;
        }
        Ok(())
    }
}

impl Draw {
    /// Draws by `weights`, of which one at least is above 0.
    pub(crate) fn new(weights: impl IntoIterator<Item = u64>, seed: u64) -> Self {
        let mut sum = 0;
        let ends = weights.into_iter().map(|weight| {
            sum += weight;
            sum
        });
        Self { ends: ends.collect(), rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// The index of the next part.
    pub(crate) fn next(&mut self) -> usize {
        let sum = self.ends.last().copied().unwrap_or_default();
        let at = self.rng.random_range(0..sum.max(1));
        self.ends.partition_point(|end| *end <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_reads_back_in_the_order_of_kinds_and_without_what_weighs_nothing() {
        check("get=70,put=20,info=10", "get=70,put=20,info=10");
        check("list=1,schema=2,exchange=3,get=4", "get=4,exchange=3,schema=2,list=1");
        check("get=1,put=0", "get=1");
        check("info=1000000", "info=1000000");
    }

    #[test]
    fn what_is_no_mix_is_refused_with_the_part_and_the_way_out() {
        check("", "'' is no part of a mix; write such as get=70,put=20,info=10");
        check("get", "'get' is no part of a mix");
        check("get=70,", "'' is no part of a mix");
        check("get=70 put=30", "get: '70 put=30' is no weight");
        check("read=70", "'read' is no kind of operation; those are get, put, exchange, info,");
        check("Get=70", "'Get' is no kind of operation");
        check("get=-5,put=1", "get: '-5' is no weight; write a number from 0 to 1000000");
        check("get=0.5", "get: '0.5' is no weight");
        check("get=", "get: '' is no weight");
        check("get=1000001", "get: '1000001' is no weight");
        check("get=99999999999999999999", "is no weight");
        check("get=1,put=2,get=3", "get stands twice; give each kind one weight");
        check("get=0,put=0", "'get=0,put=0' has no weight above 0");
    }

    #[test]
    fn each_part_is_drawn_as_often_as_it_weighs() {
        let (weights, count) = ([70, 0, 20, 10], 100_000_u32);
        let mut draw = Draw::new(weights, 42);
        let mut drawn = [0_u32; 4];
        (0..count).for_each(|_| drawn[draw.next()] += 1);
        for (drawn, weight) in drawn.into_iter().zip(weights) {
            let share = weight as f64 / 100.0;
            // Five standard deviations of a binomial count.
            let bound = 5.0 * (f64::from(count) * share * (1.0 - share)).sqrt();
            let off = f64::from(drawn) - f64::from(count) * share;
            assert!(off.abs() <= bound, "{drawn} of {count} for a weight of {weight}");
        }
    }

    #[test]
    fn a_seed_draws_the_same_again_and_another_does_not() {
        let drawn = |seed| {
            let mut draw = Draw::new([1, 1], seed);
            (0..64).map(|_| draw.next()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
    }

    fn check(text: &str, want: &str) {
        let got = Mix::from_str(text).map_or_else(|error| error, |mix| mix.to_string());
        let equal = if want.contains(' ') { got.contains(want) } else { got == want };
        assert!(equal, "{text:?} gave {got:?}");
    }
}
