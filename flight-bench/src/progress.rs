//! What is shown while a run goes on: a line that is redrawn on a terminal, one a repeat elsewhere.
//!
//! Everything goes to stderr. The display only reads the counters that workers keep anyway, four
//! times a second, and computes no percentiles.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli;
use crate::config::Output;
use crate::record::Live;

/// How often the line is redrawn.
const REDRAW: Duration = Duration::from_millis(250);

/// The display of one run.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Without a terminal, a line a repeat says how far the run is.
    plain: bool,
}

impl Progress {
    /// A display as `output` asks for.
    pub(crate) fn new(output: &Output) -> Self {
        let wanted = output.progress == cli::Progress::Auto && !output.quiet;
        let bar = if wanted { ProgressBar::new(0) } else { ProgressBar::hidden() };
        bar.set_style(style("{msg}"));
        let plain = wanted && bar.is_hidden();
        Self { bar, plain }
    }

    /// Sets how many repeats there will be.
    pub(crate) fn expect(&self, repeats: usize) {
        self.bar.set_length(repeats as u64);
        self.bar.set_style(style("{bar:20} {pos}/{len}  {msg}  {elapsed}"));
    }

    /// Shows what `live` counts until `measuring` is over.
    pub(crate) async fn watch<T>(
        &self,
        name: &str,
        live: &[Arc<Live>],
        measuring: impl Future<Output = T>,
    ) -> T {
        let mut measuring = std::pin::pin!(measuring);
        if self.bar.is_hidden() {
            return measuring.await;
        }
        let mut ticks = tokio::time::interval(REDRAW);
        let mut before = (Instant::now(), 0);
        loop {
            tokio::select! {
                done = &mut measuring => return done,
                _ = ticks.tick() => {}
            }
            let now = (Instant::now(), live.iter().map(|live| live.bytes()).sum::<u64>());
            let batches: u64 = live.iter().map(|live| live.batches()).sum();
            let seconds = (now.0 - before.0).as_secs_f64().max(1e-3);
            let rate = now.1.saturating_sub(before.1) as f64 / seconds / 1e6;
            self.bar.set_message(format!("{name}  {rate:.0} MB/s  {batches} batches"));
            before = now;
        }
    }

    /// Says that a repeat is over; one in which nothing was moved has no rate.
    pub(crate) fn repeat_done(&self, name: &str, round: usize, megabytes_per_s: Option<f64>) {
        self.bar.inc(1);
        if self.plain {
            let rate = megabytes_per_s
                .map_or_else(|| "nothing was moved".to_owned(), |rate| format!("{rate:.0} MB/s"));
            say(&format!("{name} round {}: {rate}", round + 1));
        }
    }

    /// Says what is being done outside of repeats.
    pub(crate) fn step(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        if self.plain {
            say(what);
        }
    }

    /// Clears the line, so that what follows stands alone.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &'static str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are constant and valid")
}

/// Writes a line to stderr. Where stderr is gone, there is nobody to tell.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
