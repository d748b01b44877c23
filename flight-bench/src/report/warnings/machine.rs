//! What the machine, or this program on it, took from what was measured.

use flight_probe::noise::Noise;

use super::super::cost::{bottleneck, others_share};
use super::super::results::{Results, Variant};
use super::{Finding, percent};
use crate::record::Metric;

/// Share of the processors' time.
const STEAL_SHOWN: f64 = 0.02;
/// Share of the processors' time that others may have.
const OTHERS_SHOWN: f64 = 0.10;
/// Share of the workers' time for which they read the clock.
const CLOCK_SHOWN: f64 = 0.01;

/// Processor time that the hypervisor gave to others.
pub(super) fn stolen(variant: &Variant) -> Option<Finding> {
    let steal = noise(variant).filter_map(|noise| noise.steal_share).reduce(f64::max)?;
    (steal > STEAL_SHOWN).then(|| Finding {
        code: "steal",
        badness: steal,
        text: format!("the hypervisor took up to {} of the processors' time", percent(steal)),
        why: "the figures are of what it left".to_owned(),
        hint: "another time, or a machine of one's own".to_owned(),
    })
}

/// Processor time that processes other than client and server used.
pub(super) fn busy(results: &Results, variant: &Variant) -> Option<Finding> {
    let others = variant.measured.iter().filter_map(|measured| others_share(results, measured));
    let others = others.reduce(f64::max).filter(|share| *share > OTHERS_SHOWN)?;
    Some(Finding {
        code: "busy-machine",
        badness: others,
        text: format!("other processes used up to {} of the processors' time", percent(others)),
        why: "the figures are of what they left".to_owned(),
        hint: "cores for client and server alone (taskset)".to_owned(),
    })
}

/// Periods in which a control group had used up its time.
pub(super) fn throttled(variant: &Variant) -> Option<Finding> {
    let periods: u64 =
        noise(variant).filter_map(|noise| noise.throttling).map(|one| one.periods).sum();
    (periods > 0).then(|| Finding {
        code: "throttled",
        badness: periods as f64,
        text: format!("a quota of processor time ran out in {periods} periods"),
        why: "the figures are of the quota".to_owned(),
        hint: "raising cpu.max of the control group".to_owned(),
    })
}

fn noise(variant: &Variant) -> impl Iterator<Item = &Noise> {
    variant.measured.iter().filter_map(|one| Some(&one.repeat.resources.as_ref()?.noise))
}

pub(super) fn limited_by_client(results: &Results, variant: &Variant) -> Option<Finding> {
    let verdict = bottleneck(results, variant).filter(|verdict| verdict.name == "client")?;
    let evidence = verdict.evidence.first()?;
    Some(Finding {
        code: "client-limits",
        badness: 0.0,
        text: format!("this client limits: {evidence}"),
        why: "the server can do more".to_owned(),
        hint: "more --threads, or more cores for the client".to_owned(),
    })
}

/// Time that went into reading the time: each event is stamped once.
pub(super) fn clock(results: &Results, variant: &Variant, clock_ns: f64) -> Option<Finding> {
    let latencies = variant.latencies();
    let stamped = Metric::ALL.into_iter().filter(|metric| !metric.counts_outside_window());
    let events: u64 = stamped.map(|metric| latencies.count(metric)).sum();
    let workers_ns = variant.elapsed().as_nanos() as f64 * results.record.threads as f64;
    let share = events as f64 * clock_ns / workers_ns;
    (share > CLOCK_SHOWN).then(|| Finding {
        code: "clock",
        badness: share,
        text: format!("reading the time took {:.1} % of the workers' time", share * 100.0),
        why: format!("a call costs {clock_ns:.0} ns here, which the figures include"),
        hint: "larger batches, or what 'flight-bench doctor' says of the clock".to_owned(),
    })
}
