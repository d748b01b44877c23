//! Services whose times are known, measured by the recorder of real runs on a clock that is a number.

use std::sync::Arc;
use std::time::{Duration, Instant};

use flight_sample::arrivals::{Arrival, Schedule};
use flight_stats::proof::Experiment;

use crate::record::{Latencies, Metric, Recorder, Recording, Transfer, Window};

/// How far a percentile may be from the truth.
const TOLERANCE: f64 = 0.01;
const WINDOW: Duration = Duration::from_secs(100);
const CALLS_PER_S: f64 = 1_000.0;
/// When the service that stops does so, and for how long.
const STOP: (Duration, Duration) = (Duration::from_secs(40), Duration::from_secs(1));
const SERVICE: Duration = Duration::from_micros(500);

/// All of them.
pub(super) fn experiments() -> Vec<Experiment> {
    vec![
        fixed_delay(),
        known_spread(),
        stopped_in_an_open_loop(),
        stopped_in_a_closed_loop(),
        late_completions(),
    ]
}

/// A service that always takes the same.
fn fixed_delay() -> Experiment {
    let delay = Duration::from_millis(5);
    let recording = open_loop(Arrival::Poisson, |_| delay);
    let percentiles = percentiles(&recording.latencies, Metric::UnaryResponse);
    let off = percentiles.iter().map(|found| relative(*found, 5e6)).fold(0.0, f64::max);
    Experiment {
        name: "a service of a fixed delay",
        what: format!("every percentile is 5 ms within {:.2} %", off * 100.0),
        passed: percentiles.len() == 5 && off <= TOLERANCE,
    }
}

/// A service whose times are spread evenly from 1 to 11 ms.
fn known_spread() -> Experiment {
    let nanos = |call: u64| 1_000_000 + call.wrapping_mul(2_654_435_761) % 10_000_000;
    let recording = open_loop(Arrival::Uniform, |call| Duration::from_nanos(nanos(call)));
    let percentiles = percentiles(&recording.latencies, Metric::UnaryService);
    let truth = [0.5, 0.9, 0.95, 0.99, 0.999].map(|quantile| 1e6 + 1e7 * quantile);
    let off = percentiles.iter().zip(truth).map(|(found, truth)| relative(*found, truth));
    let off = off.fold(0.0, f64::max);
    Experiment {
        name: "a service of evenly spread times",
        what: format!("every percentile is the true one within {:.2} %", off * 100.0),
        passed: percentiles.len() == 5 && off <= TOLERANCE,
    }
}

/// A service that stops for a second: 1 % of the calls of the window meet it, each waits for what is
/// left of it, and the response time counts that.
fn stopped_in_an_open_loop() -> Experiment {
    let recording = open_loop_with_a_stop();
    let summary = recording.latencies.summary(Metric::UnaryResponse);
    let found = summary.and_then(|summary| summary.percentiles_ns[4]).unwrap_or(0) as f64;
    // Of all calls, a share of (1 s - x) / 100 s waits for longer than x: 0.1 % for 0.9 s.
    let truth = 0.9e9 + SERVICE.as_nanos() as f64;
    Experiment {
        name: "a service that stops for a second, in an open loop",
        what: format!(
            "p99.9 of the response is {:.3} s and was to be {:.3} s",
            found / 1e9,
            truth / 1e9
        ),
        passed: relative(found, truth) <= TOLERANCE,
    }
}

/// The same in a closed loop: one call alone meets the stop, so that percentiles do not show it; the
/// longest pause of the stream does.
fn stopped_in_a_closed_loop() -> Experiment {
    let (origin, mut recorder) = recorder(&[Metric::UnaryService]);
    let mut now = origin;
    while now < origin + WINDOW {
        let done = after_the_stop(origin, now) + SERVICE;
        recorder.transferred(0, call(), done);
        recorder.latency(Metric::UnaryService, done - now, done);
        now = done;
    }
    let recording = recorder.into_recording();
    let summary = recording.latencies.summary(Metric::UnaryService);
    let p999 = summary.and_then(|summary| summary.percentiles_ns[4]).unwrap_or(0);
    let pause = recording.streams[0].longest_gap_ns;
    Experiment {
        name: "the same in a closed loop",
        what: format!(
            "p99.9 is {:.2} ms and hides it, the longest pause of {:.3} s shows it",
            p999 as f64 / 1e6,
            pause as f64 / 1e9
        ),
        passed: relative(p999 as f64, SERVICE.as_nanos() as f64) <= TOLERANCE
            && relative(pause as f64, 1e9 + SERVICE.as_nanos() as f64) <= TOLERANCE,
    }
}

/// Calls that end after the window: none is credited, and none before it.
fn late_completions() -> Experiment {
    let recording = open_loop(Arrival::Uniform, |_| Duration::from_secs(30));
    let (found, truth) = (recording.counts.transfer.batches, 70_000);
    Experiment {
        name: "calls that end outside the window",
        what: format!("{found} of 100000 calls are credited, and {truth} were to be"),
        passed: found.abs_diff(truth) <= 1,
    }
}

fn open_loop_with_a_stop() -> Recording {
    let (origin, mut recorder) = recorder(&[Metric::UnaryResponse]);
    let mut schedule = Schedule::new(origin, CALLS_PER_S, Arrival::Uniform, 1);
    loop {
        let intended = schedule.advance();
        if intended >= origin + WINDOW {
            return recorder.into_recording();
        }
        let done = after_the_stop(origin, intended) + SERVICE;
        recorder.transferred(0, call(), done);
        recorder.latency(Metric::UnaryResponse, done - intended, done);
    }
}

/// What is recorded of calls that are made in time and take what `service` says of each.
fn open_loop(arrival: Arrival, service: impl Fn(u64) -> Duration) -> Recording {
    let (origin, mut recorder) = recorder(&[Metric::UnaryService, Metric::UnaryResponse]);
    let mut schedule = Schedule::new(origin, CALLS_PER_S, arrival, 1);
    for number in 0.. {
        let intended = schedule.advance();
        if intended >= origin + WINDOW {
            break;
        }
        let done = intended + service(number);
        recorder.transferred(0, call(), done);
        recorder.latency(Metric::UnaryService, done - intended, done);
        recorder.latency(Metric::UnaryResponse, done - intended, done);
    }
    recorder.into_recording()
}

/// When a call that comes at `at` is begun.
fn after_the_stop(origin: Instant, at: Instant) -> Instant {
    let (from, to) = (origin + STOP.0, origin + STOP.0 + STOP.1);
    if (from..to).contains(&at) { to } else { at }
}

fn recorder(metrics: &[Metric]) -> (Instant, Recorder) {
    let origin = Instant::now();
    let window = Arc::new(Window::unset(origin));
    window.set(origin, Some(origin + WINDOW));
    (origin, Recorder::new(window, Arc::default(), metrics, [(0, 0)]))
}

fn call() -> Transfer {
    Transfer { batches: 1, logical_bytes: 100, encoded_bytes: 100, ..Transfer::default() }
}

/// Those that were stated.
fn percentiles(latencies: &Latencies, metric: Metric) -> Vec<f64> {
    let summary = latencies.summary(metric);
    let percentiles = summary.into_iter().flat_map(|summary| summary.percentiles_ns);
    percentiles.flatten().map(|nanos| nanos as f64).collect()
}

fn relative(found: f64, truth: f64) -> f64 {
    (found / truth - 1.0).abs()
}
