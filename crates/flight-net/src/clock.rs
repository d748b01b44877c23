//! The clock that all processes of a machine share.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC in nanoseconds, which two processes of one machine can compare (unless one lives
/// in a time namespace of its own), and which machine's it is.
#[derive(Debug, Clone, Copy)]
pub struct MachineClock {
    id: u64,
    at: Instant,
    at_ns: u64,
}

impl MachineClock {
    /// Reads the clock, and the id of this boot.
    pub fn read() -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let (now, at) = (clock_gettime(ClockId::Monotonic), Instant::now());
        // It counts from the boot: neither is ever negative.
        let at_ns = now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs();
        Self { id: id_of(&boot), at, at_ns }
    }

    /// The same number for all processes of one boot of one machine; 0 where the system does not
    /// tell it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// What the clock showed, or will show, at a time.
    pub fn ns(&self, time: Instant) -> u64 {
        let since = |later: Instant, earlier: Instant| {
            u64::try_from(later.saturating_duration_since(earlier).as_nanos()).unwrap_or(u64::MAX)
        };
        self.at_ns.saturating_add(since(time, self.at)).saturating_sub(since(self.at, time))
    }
    /// The time at which the clock shows so much, if one can be told.
    pub fn instant(&self, ns: u64) -> Option<Instant> {
        let away = Duration::from_nanos(ns.abs_diff(self.at_ns));
        if ns < self.at_ns { self.at.checked_sub(away) } else { self.at.checked_add(away) }
    }
}

/// Half of the UUID, which is random but for six bits.
fn id_of(boot: &str) -> u64 {
    let digits: String = boot.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    u64::from_str_radix(&digits, 16).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_readings_agree_on_every_time() {
        let (one, other) = (MachineClock::read(), MachineClock::read());
        assert_eq!(one.id(), other.id());
        assert_ne!(one.id(), 0);
        for time in [one.at - Duration::from_secs(1), one.at, other.at + Duration::from_secs(5)] {
            assert!(one.ns(time).abs_diff(other.ns(time)) < 1_000_000, "within a preemption");
        }
        assert_eq!(one.ns(one.at + Duration::from_nanos(7)), one.at_ns + 7);
        assert_eq!(one.ns(one.at - Duration::from_nanos(7)), one.at_ns - 7);
        for time in [one.at, one.at + Duration::from_secs(3), one.at - Duration::from_secs(1)] {
            assert_eq!(one.instant(one.ns(time)), Some(time));
        }
    }

    #[test]
    fn a_boot_is_told_by_its_id_and_an_unknown_one_by_nought() {
        assert_eq!(id_of("0123abcd-4567-89ab-cdef-000000000000\n"), 0x0123_abcd_4567_89ab);
        assert_eq!(id_of(""), 0);
    }
}
