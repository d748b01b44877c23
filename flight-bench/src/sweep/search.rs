//! The search for the highest rate that holds a promise.
//!
//! Nothing is measured here: `probe` says of a rate whether it holds. From the ceiling down by
//! halves until one holds, then by halves of the bracket until its ends are close, and then the
//! lower end once more, measured longer. A rate breaks the promise when two probes do: a pause of
//! the machine must not cap the answer, and one that was lucky is found out in the end.

use crate::limits::{SLO_BRACKET_RATIO, SLO_HALVINGS, SLO_STEPS_DOWN};

/// Between which rates is searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bounds {
    /// What a closed loop reaches.
    pub(crate) ceiling: f64,
    /// Below it nothing can be judged.
    pub(crate) least: f64,
}

impl Bounds {
    /// `judged_from`: the rate from which on a repeat has events enough.
    pub(crate) fn new(ceiling: f64, judged_from: f64) -> Self {
        let least = (ceiling / f64::from(1u32 << SLO_HALVINGS)).max(judged_from);
        Self { ceiling, least: least.min(ceiling) }
    }
}

/// How a rate is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    /// One repeat.
    Probe,
    /// Several repeats, each of which has to hold.
    Confirm,
}

/// What was found; rates are per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Answer {
    /// Confirmed; `broke` is the lowest rate that did not hold, absent at the ceiling.
    Holds { rate: f64, broke: Option<f64> },
    /// The lowest rate that was tried does not hold.
    Never { least: f64 },
    /// Held by a probe; neither that nor somewhat lower rates were confirmed.
    Unconfirmed { probed: f64, broke: f64 },
}

/// Searches; halvings, bisections and steps down are bounded, and so are the trials.
///
/// # Errors
///
/// Those of `probe`.
pub(crate) async fn search<E>(
    bounds: Bounds,
    mut probe: impl AsyncFnMut(f64, Trial) -> Result<bool, E>,
) -> Result<Answer, E> {
    let mut broke: Option<f64> = None;
    let mut held = bounds.ceiling;
    let mut holds = async |rate| -> Result<bool, E> {
        Ok(probe(rate, Trial::Probe).await? || probe(rate, Trial::Probe).await?)
    };
    while !holds(held).await? {
        if held <= bounds.least {
            return Ok(Answer::Never { least: held });
        }
        broke = Some(held);
        held = (held / 2.0).max(bounds.least);
    }
    while let Some(high) = broke.filter(|high| high / held > SLO_BRACKET_RATIO) {
        let middle = (held * high).sqrt();
        if holds(middle).await? {
            held = middle;
        } else {
            broke = Some(middle);
        }
    }
    let probed = held;
    for step in SLO_STEPS_DOWN {
        let rate = probed / step;
        if rate < bounds.least {
            break;
        }
        if probe(rate, Trial::Confirm).await? {
            return Ok(Answer::Holds { rate, broke });
        }
        broke = Some(rate);
    }
    Ok(Answer::Unconfirmed { probed, broke: broke.unwrap_or(probed) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::SLO_TRIALS_MAX;

    const CEILING: Bounds = Bounds { ceiling: 1000.0, least: 1000.0 / 1024.0 };

    fn check(bounds: Bounds, mut holds: impl FnMut(f64, Trial) -> bool) -> Answer {
        let mut trials = 0;
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let found = runtime.block_on(search(bounds, async |rate, trial| {
            trials += 1;
            assert!((bounds.least..=bounds.ceiling).contains(&rate), "{rate} of {bounds:?}");
            Ok::<_, ()>(holds(rate, trial))
        }));
        assert!(trials <= SLO_TRIALS_MAX, "{trials} trials");
        found.expect("no probe fails")
    }

    fn holds_up_to(limit: f64) -> (f64, f64) {
        match check(CEILING, |rate, _| rate <= limit) {
            Answer::Holds { rate, broke: Some(broke) } => (rate, broke),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_step_is_found_within_five_percent_wherever_it_is() {
        for limit in [999.0, 731.0, 500.0, 499.0, 40.0, 3.3, 1.0] {
            let (rate, broke) = holds_up_to(limit);
            assert!(rate <= limit && limit < broke, "{rate} to {broke}, not {limit}");
            assert!(broke / rate <= SLO_BRACKET_RATIO, "{rate} to {broke}");
        }
    }

    #[test]
    fn a_queue_is_found_where_its_tail_reaches_the_limit() {
        // M/M/1: times in the system are exponential, so p99 = ln 100 / (μ - λ), and p99 <= 50 ms
        // where λ <= μ - 92.1.
        let p99 = |rate: f64| if rate < 1000.0 { 100f64.ln() / (1000.0 - rate) } else { f64::MAX };
        let answer = check(CEILING, |rate, _| p99(rate) <= 0.05);
        let Answer::Holds { rate, broke: Some(broke) } = answer else { panic!("{answer:?}") };
        assert!(rate <= 907.9 && 907.9 < broke && broke / rate <= 1.05, "{rate} to {broke}");
    }

    #[test]
    fn what_always_holds_is_answered_by_the_ceiling_and_a_confirming_run() {
        let mut trials = Vec::new();
        let answer = check(CEILING, |rate, trial| {
            trials.push((rate, trial));
            true
        });
        assert_eq!(answer, Answer::Holds { rate: 1000.0, broke: None });
        assert_eq!(trials, [(1000.0, Trial::Probe), (1000.0, Trial::Confirm)]);
    }

    #[test]
    fn what_never_holds_ends_at_the_lowest_rate() {
        assert_eq!(check(CEILING, |_, _| false), Answer::Never { least: 1000.0 / 1024.0 });
        let few = Bounds::new(1000.0, 300.0);
        assert_eq!(check(few, |_, _| false), Answer::Never { least: 300.0 });
        let answer = check(few, |rate, _| rate <= 310.0);
        assert!(matches!(answer, Answer::Holds { rate, .. } if rate <= 310.0), "{answer:?}");
        let none = Bounds::new(1000.0, 5000.0);
        assert_eq!(check(none, |_, _| false), Answer::Never { least: 1000.0 });
    }

    #[test]
    fn a_probe_that_was_lucky_is_corrected_by_the_confirming_run() {
        // Probes hold up to 500, repeats only up to 460: some steps lower is confirmed.
        let lucky = |limit: f64| {
            move |rate: f64, trial| rate <= if trial == Trial::Probe { 500.0 } else { limit }
        };
        let answer = check(CEILING, lucky(460.0));
        let Answer::Holds { rate, broke: Some(broke) } = answer else { panic!("{answer:?}") };
        assert!(rate <= 460.0 && 460.0 < broke, "{answer:?}");
        let answer = check(CEILING, lucky(100.0));
        assert!(
            matches!(answer, Answer::Unconfirmed { probed, broke } if probed <= 500.0 && broke < probed),
            "{answer:?}"
        );
    }

    #[test]
    fn one_probe_that_was_unlucky_does_not_cap_the_answer() {
        for unlucky in 0..8 {
            let mut held = 0;
            let answer = check(CEILING, |rate, trial| {
                let holds = rate <= 900.0;
                held += usize::from(holds && trial == Trial::Probe);
                // The machine pauses in one of those that would hold.
                holds && (trial == Trial::Confirm || held != unlucky + 1)
            });
            let Answer::Holds { rate, broke: Some(broke) } = answer else { panic!("{answer:?}") };
            assert!(rate <= 900.0 && 900.0 < broke && broke / rate <= 1.05, "{answer:?}");
        }
    }

    #[test]
    fn noise_never_makes_it_search_for_ever() {
        // A fixed sequence that has nothing to do with the rate.
        for seed in 1..200u64 {
            let mut state = seed;
            check(CEILING, |_, _| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state >> 63 == 1
            });
        }
    }

    #[test]
    fn a_probe_that_fails_ends_the_search() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let mut left = 5;
        let found = runtime.block_on(search(CEILING, async |_, _| {
            left -= 1;
            if left == 0 { Err("gone") } else { Ok(false) }
        }));
        assert_eq!((found, left), (Err("gone"), 0));
    }
}
