//! What one run of one rung moved within its window, and what both processes spent on it.

use std::time::{Duration, Instant};

use crate::record::Live;

/// What a rung moved in one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub(crate) round: usize,
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    /// User and system time, in ticks of 10 ms.
    pub(crate) client_cpu_s: Option<f64>,
    /// Absent where no other process takes part.
    pub(crate) server_cpu_s: Option<f64>,
}

impl Sample {
    pub(crate) fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

/// Counts messages within a window that opens after a warm-up.
pub(super) struct Meter<'a> {
    server: Option<u32>,
    live: &'a Live,
    opens: Instant,
    duration: Duration,
    opened: Option<Edge>,
    closed: Option<Edge>,
    bytes: u64,
}

/// The state of the clocks at an edge of the window.
struct Edge {
    at: Instant,
    client_cpu_s: Option<f64>,
    server_cpu_s: Option<f64>,
}

impl<'a> Meter<'a> {
    /// A meter that starts now; `server` is the process at the other end.
    pub(super) fn new(
        warmup: Duration,
        duration: Duration,
        server: Option<u32>,
        live: &'a Live,
    ) -> Self {
        let opens = Instant::now() + warmup;
        Self { server, live, opens, duration, opened: None, closed: None, bytes: 0 }
    }

    /// Notes that so many bytes arrived; `false` once the window has closed.
    pub(super) fn moved(&mut self, bytes: u64) -> bool {
        let now = Instant::now();
        self.live.add(bytes);
        match &self.opened {
            // The message that opens the window came before it.
            None if now >= self.opens => self.opened = Some(self.edge(now)),
            None => {}
            Some(opened) => {
                self.bytes += bytes;
                if now.duration_since(opened.at) >= self.duration {
                    self.closed = Some(self.edge(now));
                    return false;
                }
            }
        }
        true
    }

    /// What was counted; `None` where the window did not close.
    pub(super) fn sample(self, round: usize) -> Option<Sample> {
        let (opened, closed) = (self.opened?, self.closed?);
        let spent = |before: Option<f64>, after: Option<f64>| Some(after? - before?);
        Some(Sample {
            round,
            bytes: self.bytes,
            seconds: (closed.at - opened.at).as_secs_f64(),
            client_cpu_s: spent(opened.client_cpu_s, closed.client_cpu_s),
            server_cpu_s: spent(opened.server_cpu_s, closed.server_cpu_s),
        })
    }

    fn edge(&self, at: Instant) -> Edge {
        let server_cpu_s = self.server.and_then(|pid| cpu_seconds(&pid.to_string()));
        Edge { at, client_cpu_s: cpu_seconds("self"), server_cpu_s }
    }
}

/// User and system time of a process.
fn cpu_seconds(process: &str) -> Option<f64> {
    cpu_of(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// Fields 14 and 15 of `/proc/PID/stat`, in ticks of which Linux shows a hundred a second on every
/// architecture (proc(5), USER_HZ). The second field, a name in parentheses, may hold anything.
fn cpu_of(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) as f64 / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_behind_whatever_name_a_process_has() {
        let check = |stat: &str, want| assert_eq!(cpu_of(stat), want, "{stat}");
        check("7 (a b) S 1 2 3 4 5 6 7 8 9 10 150 50 0", Some(2.0));
        check("7 (a) 1 2) S 1 2 3 4 5 6 7 8 9 10 1 2 0", Some(0.03));
        check("7 (a) S 1 2 3", None);
        check("", None);
    }

    #[test]
    fn what_came_before_the_window_and_after_it_does_not_count() {
        let live = Live::default();
        let mut meter = Meter::new(Duration::ZERO, Duration::ZERO, None, &live);
        assert!(meter.moved(1), "it opens the window");
        assert!(!meter.moved(2), "a window of no time closes with its first message");
        let sample = meter.sample(3).expect("the window closed");
        assert_eq!((sample.round, sample.bytes, sample.server_cpu_s), (3, 2, None));
        assert_eq!(live.bytes(), 3);
    }

    #[test]
    fn a_window_that_did_not_close_has_no_sample() {
        let live = Live::default();
        let hour = Duration::from_secs(3600);
        let mut meter = Meter::new(Duration::ZERO, hour, None, &live);
        assert!(meter.moved(1) && meter.moved(1));
        assert_eq!(meter.sample(0), None);
    }
}
