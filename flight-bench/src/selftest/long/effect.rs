//! `ab` held to its word: it says how much it could detect, and has to find what is more than that, and
//! nothing in what is well below.
//!
//! How much that is depends on what the machine does meanwhile, so that the work which is added
//! follows what `ab` says of this one.

use std::path::Path;

use super::processes::{Said, Server, bench_with, this_program};
use super::{Outcome, judged};

/// Batches of the work that nothing is added to: about a second's.
const BATCHES: u64 = 20_000;
const PAIRS: &str = "10";
/// Less than half of the band within which sides are the same, and so of whatever is said to be seen.
const LITTLE: f64 = 0.014;
/// How much more is added than is said to be seen: what a run needs besides its batches, it needs
/// on both sides.
const MARGIN: f64 = 1.5;
/// Four times the work: who cannot see that sees nothing.
const MOST: f64 = 3.0;
/// The machine may get noisier between what was said and what is tried.
const TRIES: usize = 4;

/// What `ab` said of a comparison.
#[derive(Debug, Clone)]
struct Told {
    verdict: String,
    /// B over A, with its interval.
    ratio: [f64; 3],
    /// The smallest difference that it could have detected, as a share; absent if none at all.
    detectable: Option<f64>,
}

/// What follows from it.
#[derive(Debug, Clone, PartialEq)]
enum Held {
    ItsWord,
    /// It said something else than is true.
    Not(&'static str),
    /// It said that it could not see so much: this is to be tried.
    Try(f64),
}

pub(super) async fn what_ab_detects(program: &Path) -> Outcome {
    let server = Server::start(program).await?;
    let found = compared(&server).await;
    server.stop().await?;
    found
}

async fn compared(server: &Server) -> Outcome {
    let little = with_more_work(server, LITTLE).await?;
    let mut told = shown(LITTLE, &little);
    let mut more = match of_little(&little) {
        Ok(more) => more,
        Err(why) => return Ok((format!("{told}: {why}"), false)),
    };
    for _ in 0..TRIES {
        let found = with_more_work(server, more).await?;
        told = format!("{told}; {}", shown(more, &found));
        match of_much(more, &found) {
            Held::ItsWord => return Ok((told, true)),
            Held::Not(why) => return Ok((format!("{told}: {why}"), false)),
            Held::Try(next) => more = next,
        }
    }
    Ok((format!("{told}: it never came to see what it said it would"), false))
}

/// A stream, and one that is longer by this share.
async fn with_more_work(server: &Server, share: f64) -> anyhow::Result<Told> {
    let (bench, target) = (this_program()?, server.target()?);
    let run = |batches: u64| {
        format!(
            "'{}' get {target} --source perf --records-per-stream 1G --batches {batches} \
             --repeats 1 --no-save --quiet",
            bench.display()
        )
    };
    let (base, more) = (run(BATCHES), run((BATCHES as f64 * (1.0 + share)) as u64));
    let said = bench_with(&["ab", "--pairs", PAIRS, "--a-run", &base, "--b-run", &more]).await?;
    Told::of(&said)
}

impl Told {
    fn of(said: &Said) -> anyhow::Result<Self> {
        let (verdict, ratio) = judged(said)?;
        Ok(Self { verdict, ratio, detectable: said.number("/rows/0/detectable").ok() })
    }
}

/// What is well below what can be seen must not be called a difference; what to try next.
fn of_little(told: &Told) -> Result<f64, &'static str> {
    if !matches!(&*told.verdict, "same" | "inconclusive") {
        return Err("less than half of what it could see is called a difference");
    }
    next(told)
}

/// What is more than it could see has to be found, in its direction and about as large as it is.
fn of_much(added: f64, told: &Told) -> Held {
    let [_, lo, hi] = told.ratio;
    match (&*told.verdict, told.detectable) {
        // Less than was added, by what a run takes besides its batches; never more, chance aside.
        ("regressed", _) if hi < 1.0 + added * 0.5 => Held::Not("it finds too little"),
        ("regressed", _) if lo > (1.0 + added) * 1.05 => Held::Not("it finds too much"),
        ("regressed", _) => Held::ItsWord,
        ("improved", _) => Held::Not("it finds that more work takes less time"),
        (_, Some(seen)) if seen * MARGIN <= added * 1.01 => {
            Held::Not("it said that it could see that much, and does not")
        }
        _ => next(told).map_or_else(Held::Not, Held::Try),
    }
}

/// As much more work as it has to see by its own words.
fn next(told: &Told) -> Result<f64, &'static str> {
    let more = told.detectable.map(|seen| seen * MARGIN).filter(|more| *more <= MOST);
    more.ok_or("it says that it could not even see four times the work")
}

fn shown(added: f64, told: &Told) -> String {
    let Told { verdict, ratio: [ratio, lo, hi], detectable } = told;
    let seen = detectable.map_or("nothing".to_owned(), |seen| format!("≥ {:.1} %", seen * 100.0));
    format!(
        "{:.1} % more work is {verdict}, {ratio:.3} [{lo:.3}, {hi:.3}], could see {seen}",
        added * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(verdict: &str, ratio: [f64; 3], detectable: Option<f64>) -> Told {
        Told { verdict: verdict.to_owned(), ratio, detectable }
    }

    #[test]
    fn what_is_tried_follows_what_is_said_to_be_seen() {
        let little = |verdict, seen| of_little(&told(verdict, [1.01, 0.98, 1.04], seen));
        assert_eq!(little("same", Some(0.04)), Ok(0.04 * MARGIN));
        assert_eq!(little("inconclusive", Some(0.5)), Ok(0.75));
        for (verdict, seen) in [("regressed", Some(0.04)), ("improved", Some(0.04))] {
            assert!(little(verdict, seen).is_err(), "{verdict}");
        }
        for seen in [None, Some(2.5), Some(f64::INFINITY)] {
            assert!(little("inconclusive", seen).is_err(), "{seen:?}");
        }
    }

    #[test]
    fn a_difference_that_it_could_see_has_to_be_found() {
        let much = |verdict, ratio, seen| of_much(0.09, &told(verdict, ratio, seen));
        let near = [1.085, 1.07, 1.10];
        assert_eq!(much("regressed", near, Some(0.05)), Held::ItsWord);
        for verdict in ["same", "inconclusive"] {
            assert!(matches!(much(verdict, near, Some(0.06)), Held::Not(_)), "{verdict}");
        }
        assert!(matches!(much("improved", [0.92, 0.9, 0.94], Some(0.06)), Held::Not(_)));
        assert!(matches!(much("regressed", [1.02, 1.01, 1.03], Some(0.06)), Held::Not(_)));
        assert!(matches!(much("regressed", [1.3, 1.2, 1.4], Some(0.06)), Held::Not(_)));
    }

    #[test]
    fn noise_that_grew_is_met_with_more_work() {
        let got = of_much(0.09, &told("inconclusive", [1.1, 0.9, 1.3], Some(0.2)));
        assert_eq!(got, Held::Try(0.2 * MARGIN));
        let got = of_much(2.9, &told("inconclusive", [3.0, 0.9, 9.0], Some(5.0)));
        assert!(matches!(got, Held::Not(_)), "{got:?}");
    }
}
