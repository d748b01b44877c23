//! What is shown while a run goes on: a line that is redrawn on a terminal, lines elsewhere.
//!
//! Everything goes to stderr. The display only reads the counters that workers keep anyway, four
//! times a second at most, and computes no percentiles. SIGUSR1 asks for a line whatever is shown.

mod json;

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli;
use crate::config::Output;
use crate::record::Live;

/// How often the line is redrawn.
const REDRAW: Duration = Duration::from_millis(250);
/// How often a long window shows that it is alive where nothing is redrawn.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The display of one run.
pub(crate) struct Progress {
    bar: ProgressBar,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Silent,
    /// A line that is redrawn.
    Bar,
    /// A line a repeat, and in long windows one in between.
    Plain,
    /// An object a second, a repeat and a step.
    Json,
}

/// What is measured: its name, and what its speed counts.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) counted: Counted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    Bytes,
    /// Calls move no bytes worth counting.
    Calls,
    Connections,
}

/// What was moved between two looks at the counters.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Interval {
    /// Since the row began, warm-up included.
    elapsed: Duration,
    took: Duration,
    bytes: u64,
    batches: u64,
    /// Since the row began.
    batches_total: u64,
}

impl Progress {
    /// A display as `output` asks for.
    pub(crate) fn new(output: &Output) -> Self {
        // From here on: without a handler the signal would end the process.
        drop(asked());
        let bar = ProgressBar::new(0);
        bar.set_style(style("{msg}"));
        // Hidden is a bar without a terminal to draw on.
        let kind = match output.progress {
            cli::Progress::Json => Kind::Json,
            _ if output.quiet => Kind::Silent,
            cli::Progress::None => Kind::Silent,
            cli::Progress::Plain => Kind::Plain,
            cli::Progress::Bar if bar.is_hidden() => Kind::Silent,
            cli::Progress::Auto if bar.is_hidden() => Kind::Plain,
            cli::Progress::Bar | cli::Progress::Auto => Kind::Bar,
        };
        let bar = if kind == Kind::Bar { bar } else { ProgressBar::hidden() };
        Self { bar, kind }
    }

    /// Sets how many repeats there will be.
    pub(crate) fn expect(&self, repeats: usize) {
        self.bar.set_length(repeats as u64);
        self.bar.set_style(style("{bar:20} {pos}/{len}  {msg}  {elapsed}"));
    }

    /// Shows what `live` counts until `measuring` is over.
    pub(crate) async fn watch<T>(
        &self,
        row: &Row,
        live: &[Arc<Live>],
        measuring: impl Future<Output = T>,
    ) -> T {
        let mut measuring = std::pin::pin!(measuring);
        let every = match self.kind {
            // A timer that nobody waits for.
            Kind::Silent => HEARTBEAT,
            Kind::Bar => REDRAW,
            Kind::Plain => HEARTBEAT,
            Kind::Json => json::INTERVAL,
        };
        let began = Instant::now();
        let mut ticks = tokio::time::interval(every);
        ticks.tick().await;
        let mut asked = asked();
        let mut before = Look::at(began, live);
        loop {
            let answer = tokio::select! {
                done = &mut measuring => return done,
                _ = ticks.tick() => false,
                Some(()) = async { asked.as_mut()?.recv().await } => true,
            };
            let now = Look::at(Instant::now(), live);
            let interval = now.since(before, began);
            if answer {
                self.bar.suspend(|| say(&line(row, interval)));
            } else {
                self.show(row, interval);
            }
            before = now;
        }
    }

    fn show(&self, row: &Row, interval: Interval) {
        match self.kind {
            Kind::Silent => {}
            Kind::Bar => {
                let speed = row.counted.show(interval.per_second(row.counted));
                let (name, moved) = (&row.name, moved(row, interval));
                self.bar.set_message(format!("{name}  {speed}  {moved}"));
            }
            Kind::Plain => say(&line(row, interval)),
            Kind::Json => say(&json::interval(row, interval)),
        }
    }

    /// Says that a repeat is over, and how many bytes or calls it moved a second; one in which
    /// nothing was moved has no rate.
    pub(crate) fn repeat_done(&self, row: &Row, round: usize, per_second: Option<f64>) {
        self.bar.inc(1);
        match self.kind {
            Kind::Silent | Kind::Bar => {}
            Kind::Plain => {
                let rate = per_second.map(|rate| row.counted.show(rate));
                let rate = rate.unwrap_or_else(|| "nothing was moved".to_owned());
                say(&format!("{} round {}: {rate}", row.name, round + 1));
            }
            Kind::Json => say(&json::repeat(row, round, per_second)),
        }
    }

    /// Says what is being done outside of repeats.
    pub(crate) fn step(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        match self.kind {
            Kind::Silent | Kind::Bar => {}
            Kind::Plain => say(what),
            Kind::Json => say_json("step", what),
        }
    }

    /// Clears the line, so that what follows stands alone.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// A line that stands by itself.
fn line(row: &Row, interval: Interval) -> String {
    let speed = row.counted.show(interval.per_second(row.counted));
    let (name, seconds) = (&row.name, interval.elapsed.as_secs_f64());
    format!("{name} after {seconds:.0} s: {speed}, {}", moved(row, interval))
}

/// All that was moved since the row began.
fn moved(row: &Row, interval: Interval) -> String {
    let things = match row.counted {
        Counted::Bytes => "batches",
        Counted::Calls => "calls",
        Counted::Connections => "connections",
    };
    format!("{} {things}", interval.batches_total)
}

/// Those who want a line now; `None` where the system gives no handler.
fn asked() -> Option<Signal> {
    signal(SignalKind::user_defined1()).ok()
}

impl Counted {
    /// `per_second` bytes or calls, as people read it.
    fn show(self, per_second: f64) -> String {
        match self {
            Self::Bytes => format!("{:.0} MB/s", per_second / 1e6),
            Self::Calls => format!("{per_second:.0} calls/s"),
            Self::Connections => format!("{per_second:.0} connections/s"),
        }
    }
}

impl Interval {
    fn per_second(self, counted: Counted) -> f64 {
        let amount = match counted {
            Counted::Bytes => self.bytes,
            Counted::Calls | Counted::Connections => self.batches,
        };
        amount as f64 / self.took.as_secs_f64().max(1e-3)
    }
}

/// The counters at one time.
#[derive(Debug, Clone, Copy)]
struct Look {
    at: Instant,
    bytes: u64,
    batches: u64,
}

impl Look {
    fn at(at: Instant, live: &[Arc<Live>]) -> Self {
        let bytes = live.iter().map(|live| live.bytes()).sum();
        let batches = live.iter().map(|live| live.batches()).sum();
        Self { at, bytes, batches }
    }

    fn since(self, before: Self, began: Instant) -> Interval {
        Interval {
            elapsed: self.at - began,
            took: self.at - before.at,
            bytes: self.bytes.saturating_sub(before.bytes),
            batches: self.batches.saturating_sub(before.batches),
            batches_total: self.batches,
        }
    }
}

fn style(template: &'static str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are constant and valid")
}

/// Writes a line to stderr. Where stderr is gone, there is nobody to tell.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Writes a sentence to stderr as an object of this type.
pub(crate) fn say_json(kind: &str, text: &str) {
    say(&json::sentence(kind, text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_is_of_bytes_and_for_calls_of_calls() {
        let second = Duration::from_secs(1);
        let moved = Interval {
            elapsed: 2 * second,
            took: second / 2,
            bytes: 5_000_000,
            batches: 40,
            batches_total: 80,
        };
        let check = |counted: Counted, want: &str| {
            assert_eq!(counted.show(moved.per_second(counted)), want);
        };
        check(Counted::Bytes, "10 MB/s");
        check(Counted::Calls, "80 calls/s");
    }

    #[test]
    fn an_interval_is_what_was_moved_between_two_looks() {
        let live = [Arc::new(Live::default()), Arc::new(Live::default())];
        let began = Instant::now();
        live[0].add(100);
        let before = Look::at(began + Duration::from_secs(1), &live);
        live[0].add(10);
        live[1].add(1);
        let got = Look::at(began + Duration::from_secs(3), &live).since(before, began);
        assert_eq!((got.bytes, got.batches, got.batches_total), (11, 2, 3));
        assert_eq!((got.elapsed.as_secs(), got.took.as_secs()), (3, 2));
    }
}
