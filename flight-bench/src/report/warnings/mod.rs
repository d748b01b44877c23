//! What a run's figures must not be read without: what was seen, why it matters, what to try.

mod events;
mod machine;
mod rates;
#[cfg(test)]
mod tests;
mod weight;

pub(crate) use rates::is_saturated;

pub(crate) use weight::is_untrusted;

use super::results::{Results, Variant};
use super::warning::Warning;
use super::workload::Workload;
use crate::record::Metric;

/// What was found of a row.
struct Finding {
    code: &'static str,
    /// How bad it is, among findings of one kind: rows that share a kind are told by the worst.
    badness: f64,
    text: String,
    why: String,
    hint: String,
}

/// All that is to be known about the figures of a run, the gravest first. Reading the time took
/// `clock_ns` a call.
pub(crate) fn findings(results: &Results, clock_ns: f64) -> Vec<Warning> {
    let of = |variant: &Variant| {
        // In the order of their weight: what makes the figures mean something else, then what makes
        // them worse, then what makes them less sure.
        [
            rates::saturated(results, variant),
            events::nagle(variant),
            events::other_clock(results, variant),
            machine::limited_by_client(results, variant),
            machine::busy(results, variant),
            machine::stolen(variant),
            machine::throttled(variant),
            rates::unsteady(variant),
            rates::stalled(results, variant),
            rates::unfair(variant),
            rates::varied(variant),
            machine::clock(results, variant, clock_ns),
            events::short(results, variant),
            events::few(variant),
        ]
    };
    // What parts of a mix share is told once, of all together.
    let whole = results.variants.iter().filter(|variant| variant.part.is_none());
    let rows: Vec<_> = whole.map(|variant| (variant.id(), of(variant))).collect();
    let kinds = rows.first().map_or(0, |(_, kinds)| kinds.len());
    let kind = |kind: usize| {
        let found = rows.iter().filter_map(|(id, kinds)| Some((id, kinds[kind].as_ref()?)));
        together(found.collect(), rows.len() > 1)
    };
    (0..kinds).filter_map(kind).collect()
}

/// One warning of what was found in several rows: the worst is told, and all are named.
fn together(mut found: Vec<(&String, &Finding)>, named: bool) -> Option<Warning> {
    // Stable: rows that are as bad stay in the order of the table.
    found.sort_by(|one, other| other.1.badness.total_cmp(&one.1.badness));
    let (_, worst) = found.first()?;
    let rows = found.iter().filter(|_| named).map(|(id, _)| (*id).clone()).collect();
    let (text, why, hint) = (worst.text.clone(), worst.why.clone(), worst.hint.clone());
    Some(Warning { rows, ..Warning::of_run(worst.code, text, why, hint) })
}

/// The time of one batch, call, connection or operation.
fn main_metric(workload: Workload) -> Metric {
    match workload {
        Workload::Get => Metric::GetWait,
        Workload::Put => Metric::PutAck,
        Workload::Unary => Metric::UnaryService,
        Workload::Tls => Metric::ConnectReady,
        Workload::Exchange => Metric::ExchangeRoundTrip,
        Workload::Mixed => Metric::MixedService,
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
