//! How long keys and what they sign are good for.

use std::time::Duration;

use crate::Lifetime;

/// Durations that go together: what a key signed is over before the key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    ttl_ms: u64,
    rotate_ms: u64,
    valid_ms: u64,
    skew_ms: u64,
    check_ms: u64,
}

/// Durations that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    #[error(
        "keys that are valid for {valid:?} may go before what they signed: it takes {needed:?}, the \
         sum of a ticket's life, a rotation, a look at the keys and the clocks' difference"
    )]
    TooShort { valid: Duration, needed: Duration },
    #[error("keys that rotate each {rotate:?} need a shorter time between looks than {check:?}")]
    Rotation { rotate: Duration, check: Duration },
    #[error("tickets and the time between looks at the keys must last a millisecond or more")]
    Zero,
}

impl Schedule {
    /// `ttl`: the life of what is signed. `rotate`: how long a key signs. `valid`: how long it
    /// verifies. `skew`: how far clocks may differ. `check`: how often keys are looked at.
    ///
    /// A key signs for `rotate` and, since its successor may be made late, for `check` more; what it
    /// signs last is good for `ttl` and `skew` from then on.
    ///
    /// # Errors
    ///
    /// When a key would go before what it signed, or be followed before it is known.
    pub fn new(
        ttl: Duration,
        rotate: Duration,
        valid: Duration,
        skew: Duration,
        check: Duration,
    ) -> Result<Self, ScheduleError> {
        if ttl < Duration::from_millis(1) || check < Duration::from_millis(1) {
            return Err(ScheduleError::Zero);
        }
        if rotate <= check {
            return Err(ScheduleError::Rotation { rotate, check });
        }
        let needed = [ttl, rotate, skew, check]
            .iter()
            .fold(Duration::ZERO, |sum, part| sum.saturating_add(*part));
        if valid < needed {
            return Err(ScheduleError::TooShort { valid, needed });
        }
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Ok(Self {
            ttl_ms: millis(ttl),
            rotate_ms: millis(rotate),
            valid_ms: millis(valid),
            skew_ms: millis(skew),
            check_ms: millis(check),
        })
    }

    pub fn ttl_ms(&self) -> u64 {
        self.ttl_ms
    }

    pub fn skew_ms(&self) -> u64 {
        self.skew_ms
    }

    pub fn check(&self) -> Duration {
        Duration::from_millis(self.check_ms)
    }

    /// When the successor of a key that signs from `signs_from_ms` is to be made: early enough that
    /// all have heard of it when it begins to sign.
    pub(crate) fn successor_due_ms(&self, signs_from_ms: u64) -> u64 {
        signs_from_ms.saturating_add(self.rotate_ms - self.check_ms)
    }

    /// Of a key that signs at once, for nobody waits for another.
    pub fn at_once(&self, now_ms: u64) -> Lifetime {
        self.lifetime(now_ms, now_ms)
    }

    /// Of a key that signs once all who look at the keys have seen it.
    pub fn announced(&self, now_ms: u64) -> Lifetime {
        self.lifetime(now_ms, now_ms.saturating_add(self.check_ms))
    }

    fn lifetime(&self, created_ms: u64, signs_from_ms: u64) -> Lifetime {
        let not_after_ms = signs_from_ms.saturating_add(self.valid_ms);
        Lifetime { created_ms, signs_from_ms, not_after_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check([ttl, rotate, valid, skew, check]: [u64; 5], answer: &str) {
        let [ttl, rotate, valid, skew, check] =
            [ttl, rotate, valid, skew, check].map(Duration::from_secs);
        let text = match Schedule::new(ttl, rotate, valid, skew, check) {
            Ok(_) => "good".to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(text.contains(answer), "{text}");
    }

    #[test]
    fn a_key_outlives_all_that_it_signs() {
        check([300, 3600, 10_800, 30, 10], "good");
        check([300, 3600, 3940, 30, 10], "good");
        check([300, 3600, 3939, 30, 10], "valid for 3939s may go before what they signed");
        check([u64::MAX, 3600, 3939, 30, 10], "valid for 3939s");
        check([300, 10, 10_800, 30, 10], "need a shorter time between looks than 10s");
        check([0, 60, 600, 30, 10], "a millisecond or more");
    }
}
