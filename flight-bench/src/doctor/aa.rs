//! `doctor --aa`: DoGet measured against itself, and what that says of this machine.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::ab::{self, AbConfig, AbResults};
use crate::cli::DoctorArgs;
use crate::exit::{Exit, Stop};
use crate::floor::{Floor, SHARE_MAX, percent};
use crate::limits::{FLOOR_PAIRS, FLOOR_PAIRS_MIN, FLOOR_TIME, WINDOW_MIN};
use crate::load::Interrupt;
use crate::progress::say;
use crate::saved::Saved;
use crate::{on_this_thread, report, target};

/// What is to be measured, and where it is kept.
pub(super) struct Asked {
    program: PathBuf,
    saved: Saved,
    time: Duration,
    quiet: bool,
}

/// The floor that was found, and where it is kept.
pub(super) struct Found {
    floor: Floor,
    /// Equal sides were told apart.
    drifts: bool,
    took: Duration,
    path: PathBuf,
}

/// What the machine is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Yes,
    /// For large differences.
    Coarse,
    No,
}

/// What a machine that is fit to compare shows: the band within which sides are the same.
const FIT_MAX: f64 = 0.03;
/// Beyond this a comparison of any two builds is a matter of luck.
const COARSE_MAX: f64 = 0.10;

impl Asked {
    /// # Errors
    ///
    /// A time that is too short or too long, no flight-server, or nowhere to keep the floor: exit
    /// code 2.
    pub(super) fn of(args: &DoctorArgs) -> Result<Self, Stop> {
        let (least, most) = (FLOOR_TIME.start(), FLOOR_TIME.end());
        if !FLOOR_TIME.contains(&args.max_time) {
            return Err(Stop::usage(format!(
                "--max-time {:?} is outside {least:?} to {most:?}; 60s is enough for most machines",
                args.max_time
            )));
        }
        let saved = Saved::new(args.runs.runs_dir.as_deref()).ok_or_else(|| {
            Stop::usage(
                "neither XDG_STATE_HOME nor HOME is set, so that there is nowhere to keep a noise \
                 floor; say where with --runs-dir",
            )
        })?;
        let program = target::server_program(args.server_bin.as_deref())?;
        Ok(Self { program, saved, time: args.max_time, quiet: args.quiet })
    }

    /// Measures the pairs and keeps what they say.
    ///
    /// # Errors
    ///
    /// A run failed, too few pairs fit into the time, or the floor cannot be kept.
    pub(super) fn measure(self) -> Result<Found, Stop> {
        let (started, [warmup, window]) = (Instant::now(), windows(self.time));
        let until = started + self.time;
        let words =
            ["get", "--streams", "1", "--warmup", &text(warmup), "--duration", &text(window)];
        let words: Vec<_> = words.map(Into::into).to_vec();
        let config = AbConfig::of_equal_sides(Some(self.program), &words, until, self.quiet)?;
        if !self.quiet {
            say(&format!("DoGet against itself: {FLOOR_PAIRS} pairs, up to {:?}", self.time));
        }
        let (results, broken_off) =
            on_this_thread(async |interrupt| in_time(&config, interrupt, until).await)?;
        if broken_off {
            return Err(Stop::interrupted());
        }
        let floor = floor_of(&results, self.time)?;
        let path = self.saved.keep_floor(&floor)?;
        Ok(Found { floor, drifts: results.sides_differ(), took: started.elapsed(), path })
    }
}

/// Runs the pairs; a run that hangs is ended with the time. Whether the user broke it off.
async fn in_time(config: &AbConfig, interrupt: &Interrupt, until: Instant) -> (AbResults, bool) {
    let (sender, ends) = Interrupt::new();
    let pairs = ab::run(config, &ends);
    tokio::pin!(pairs);
    let broken_off = tokio::select! {
        results = &mut pairs => return (results, false),
        () = interrupt.wait() => true,
        () = tokio::time::sleep_until(until.into()) => false,
    };
    sender.send_replace(true);
    (pairs.await, broken_off)
}

/// Warm-up and window of a run: what is left of its share of the time once servers are started.
fn windows(time: Duration) -> [Duration; 2] {
    let share = time / (2 * FLOOR_PAIRS as u32);
    [share / 10, (share / 3).max(WINDOW_MIN)]
}

/// As options are written.
fn text(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

/// # Errors
///
/// The pairs failed, or are too few to say anything.
fn floor_of(results: &AbResults, time: Duration) -> Result<Floor, Stop> {
    let pairs = results.pairs();
    let outcome = results.outcome();
    // What was measured before the time ran out counts.
    let failed = ![Exit::Done, Exit::Interrupted].contains(&outcome.exit);
    if let Some(why) = outcome.error.as_ref().filter(|_| failed) {
        return Err(Stop::with_exit(outcome.exit, anyhow!("{why}")));
    }
    let throughput = results.noise_floor().filter(|_| pairs >= FLOOR_PAIRS_MIN);
    let Some(throughput) = throughput else {
        return Err(Stop::failed(anyhow!(
            "{pairs} pairs were measured within --max-time {time:?} and a noise floor takes \
             {FLOOR_PAIRS_MIN}; give it more"
        )));
    };
    let latency = |name| results.noise_floor_of(name).map(bounded);
    let now = OffsetDateTime::now_utc();
    Ok(Floor {
        measured: now
            .replace_nanosecond(0)
            .unwrap_or(now)
            .format(&Rfc3339)
            .map_err(|error| Stop::failed(anyhow!("the clock of this machine: {error}")))?,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pairs,
        throughput: bounded(throughput),
        p50: latency("get.wait.p50"),
        p99: latency("get.wait.p99"),
    })
}

fn bounded(share: f64) -> f64 {
    share.clamp(0.0, SHARE_MAX)
}

impl Found {
    fn fit(&self) -> Fit {
        match self.floor.throughput {
            _ if self.drifts => Fit::No,
            share if share <= FIT_MAX => Fit::Yes,
            share if share <= COARSE_MAX => Fit::Coarse,
            _ => Fit::No,
        }
    }

    fn verdict(&self) -> String {
        let floor = percent(self.floor.throughput);
        match self.fit() {
            Fit::Yes => format!("this machine is fit to compare: it tells differences above {floor}"),
            Fit::Coarse => format!(
                "this machine is fit to compare what differs by more than {floor}; for less, mend \
                 what is told above, or measure elsewhere"
            ),
            Fit::No if self.drifts => "this machine is NOT fit to compare: equal sides were told \
                                       apart, so that it changes while it measures; mend what is told \
                                       above, and try again"
                .to_owned(),
            Fit::No => format!(
                "this machine is NOT fit to compare: equal sides may differ by {floor}; mend what is \
                 told above, measure elsewhere, or compare processor time (the cost) rather than rates"
            ),
        }
    }

    pub(super) fn as_text(&self) -> String {
        let Floor { pairs, throughput, p50, p99, .. } = &self.floor;
        let seconds = self.took.as_secs_f64();
        let mut out = format!("DoGet against itself, {pairs} pairs in {seconds:.0} s:\n");
        let known =
            [("throughput", Some(*throughput)), ("latency, p50", *p50), ("latency, p99", *p99)];
        for (what, share) in known {
            let told = match share {
                Some(share) => {
                    format!("differences under {} on this machine are noise", percent(share))
                }
                None => "not known: a window had too few batches".to_owned(),
            };
            out.push_str(&format!("  {what:<13} {told}\n"));
        }
        out.push('\n');
        report::wrapped(&mut out, "", "", &self.verdict());
        let kept = format!(
            "kept for 30 days in {}: ab, compare and --baseline call nothing within it improved or \
             regressed",
            self.path.display()
        );
        report::wrapped(&mut out, "", "", &kept);
        out
    }

    pub(super) fn as_json(&self) -> Value {
        let mut document = json!(self.floor);
        document["fit"] = json!(match self.fit() {
            Fit::Yes => "yes",
            Fit::Coarse => "coarse",
            Fit::No => "no",
        });
        document["steady"] = json!(!self.drifts);
        document["file"] = json!(self.path.display().to_string());
        document
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(throughput: f64, drifts: bool) -> Found {
        let floor = crate::floor::tests::floor(throughput);
        let (took, path) = (Duration::from_secs(41), PathBuf::from("/state/floor.json"));
        Found { floor, drifts, took, path }
    }

    #[test]
    fn the_floor_is_told_in_words_that_one_can_use() {
        let text = found(0.021, false).as_text();
        let want = "\
DoGet against itself, 10 pairs in 41 s:
  throughput    differences under 2.1 % on this machine are noise
  latency, p50  differences under 4.2 % on this machine are noise
  latency, p99  not known: a window had too few batches

this machine is fit to compare: it tells differences above 2.1 %
kept for 30 days in /state/floor.json: ab, compare and --baseline call nothing within it improved
or regressed
";
        assert_eq!(text, want);
    }

    fn check(throughput: f64, drifts: bool, fit: &str, want: &str) {
        let found = found(throughput, drifts);
        assert!(found.verdict().contains(want), "{}", found.verdict());
        let document = found.as_json();
        assert_eq!((&document["fit"], &document["steady"]), (&json!(fit), &json!(!drifts)));
        assert!(found.as_text().lines().all(|line| line.chars().count() <= 100));
    }

    #[test]
    fn a_machine_is_fit_by_what_it_can_tell() {
        check(0.03, false, "yes", "it tells differences above 3.0 %");
        check(0.031, false, "coarse", "what differs by more than 3.1 %");
        check(0.10, false, "coarse", "what differs by more than 10.0 %");
        check(0.11, false, "no", "NOT fit to compare: equal sides may differ by 11.0 %");
        check(0.01, true, "no", "NOT fit to compare: equal sides were told apart");
    }

    #[test]
    fn windows_leave_room_for_servers_to_start() {
        let [warmup, window] = windows(Duration::from_secs(60));
        assert_eq!((warmup, window), (Duration::from_millis(300), Duration::from_secs(1)));
        let [warmup, window] = windows(*FLOOR_TIME.start());
        assert!(window >= WINDOW_MIN && warmup < window, "{warmup:?} {window:?}");
        assert!(2 * FLOOR_PAIRS as u32 * (warmup + window) < *FLOOR_TIME.start());
    }
}
