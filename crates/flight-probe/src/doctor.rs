//! What about this host, or this program, makes measurements worse than they could be.
//!
//! Looking takes two to three seconds, needs no root and changes nothing. The rules are pure
//! functions of what was seen; each finding has one, in the file of its subject.

mod memory;
mod network;
mod noise;
mod processor;
mod program;

use std::thread;
use std::time::Duration;

use serde::Serialize;

use crate::clock::{Clock, Cost, instant_cost};
use crate::host::Host;
use crate::noise::{CoreNoise, Noise, Snapshot, spin, usable_cores};

/// How to look.
#[derive(Debug, Clone)]
pub struct Options {
    /// For how long to watch the counters of the host while this process rests.
    pub watch: Duration,
    /// For how long to spin on every core after that.
    pub spin: Duration,
    /// Whether the program that asks is a debug build: `cfg!(debug_assertions)` there.
    pub debug_build: bool,
}

/// A thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A name that stays, such as `governor`.
    pub id: &'static str,
    pub level: Level,
    /// What was seen.
    pub what: String,
    /// Why it matters to a measurement.
    pub why: String,
    /// The command or the option that mends it.
    pub fix: Option<String>,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Ok,
    /// To know when one reads results, or it could not be seen.
    Note,
    /// Results suffer.
    Warn,
}

/// Everything the rules look at.
#[derive(Debug, Clone)]
pub struct Seen {
    pub host: Host,
    pub noise: Noise,
    pub cores: Vec<CoreNoise>,
    pub timer: Cost,
    /// Why the clock of the measurements is what it is, and what it costs.
    pub clock: (String, Cost),
    pub debug_build: bool,
}

impl Default for Options {
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Self { watch: second, spin: second, debug_build: false }
    }
}

/// Looks at this host and judges it.
#[must_use]
pub fn findings(options: &Options) -> Vec<Finding> {
    judge(&Seen::look(options))
}

/// Judges what was seen, in the order in which it is told.
#[must_use]
pub fn judge(seen: &Seen) -> Vec<Finding> {
    let Seen { host, noise, .. } = seen;
    vec![
        program::build(seen.debug_build),
        processor::cores(&host.cpu),
        processor::quota(&host.cgroup, noise),
        processor::smt(&host.cpu),
        processor::governor(&host.cpu),
        processor::boost(&host.cpu),
        program::clocksource(host),
        program::timer(&seen.timer, &seen.clock),
        noise::gaps(&seen.cores),
        noise::pressure(noise),
        noise::steal(&host.cpu, noise),
        memory::huge_pages(&host.memory),
        memory::numa(&host.memory),
        memory::swap(&host.memory),
        memory::limit(host),
        network::descriptors(host),
        network::ports(&host.network),
        network::backlog(&host.network),
        network::loopback(&host.network),
        network::congestion(&host.network),
        processor::tls(&host.cpu),
        program::counters(host),
    ]
}

impl Seen {
    /// Takes as long as `options` say, and some 0.2 s for the clocks.
    #[must_use]
    pub fn look(options: &Options) -> Self {
        let host = Host::read();
        // At rest first: spinning is itself what would be seen.
        let before = Snapshot::read();
        thread::sleep(options.watch);
        let noise = Snapshot::read().since(&before);
        let cores = spin(&usable_cores(), options.spin);
        let clock = Clock::best();
        Self {
            host,
            noise,
            cores,
            timer: instant_cost(),
            clock: (format!("{:?}, as {}", clock.kind(), clock.why()), clock.cost()),
            debug_build: options.debug_build,
        }
    }
}

impl Finding {
    fn ok(id: &'static str, what: impl Into<String>, why: &str) -> Self {
        Self { id, level: Level::Ok, what: what.into(), why: why.to_owned(), fix: None }
    }

    fn note(id: &'static str, what: impl Into<String>, why: &str) -> Self {
        Self { level: Level::Note, ..Self::ok(id, what, why) }
    }

    fn warn(id: &'static str, what: impl Into<String>, why: &str) -> Self {
        Self { level: Level::Warn, ..Self::ok(id, what, why) }
    }

    /// What this host does not tell is a note, with where it was looked for.
    fn unseen(id: &'static str, place: &str, why: &str) -> Self {
        Self::note(id, format!("unknown: {place} could not be read"), why)
    }

    fn fixed_by(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests;
