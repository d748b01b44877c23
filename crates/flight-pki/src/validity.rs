//! From when until when a certificate holds.

use std::fmt;
use std::time::SystemTime;

use time::{Duration, OffsetDateTime};

use crate::error::PkiError;
use crate::limits::DAYS_MAX;

/// The clocks of two machines may differ by this much without a fresh certificate being refused.
const BACKDATED: Duration = Duration::HOUR;

/// A span of time. It prints as its last day: `2027-11-30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub(crate) not_before: OffsetDateTime,
    pub(crate) not_after: OffsetDateTime,
}

impl Validity {
    /// `days` from `now`, beginning an hour before.
    ///
    /// # Errors
    /// When `days` is not between 1 and [`DAYS_MAX`], or the clock is beyond all calendars.
    pub fn starting(now: SystemTime, days: u32) -> Result<Self, PkiError> {
        if days == 0 || DAYS_MAX < days {
            return Err(PkiError::Days { days });
        }
        let now = now.duration_since(SystemTime::UNIX_EPOCH).map_err(|_| PkiError::Clock)?;
        let now = Duration::try_from(now).map_err(|_| PkiError::Clock)?;
        let now = OffsetDateTime::UNIX_EPOCH.checked_add(now).ok_or(PkiError::Clock)?;
        Ok(Self {
            not_before: now.checked_sub(BACKDATED).ok_or(PkiError::Clock)?,
            not_after: now.checked_add(Duration::days(days.into())).ok_or(PkiError::Clock)?,
        })
    }

    /// The same length, over just before this one begins.
    pub(crate) fn past(self) -> Self {
        self.shifted(self.not_before - self.not_after - Duration::DAY)
    }

    /// The same length, beginning only after this one is over.
    pub(crate) fn future(self) -> Self {
        self.shifted(self.not_after - self.not_before + Duration::DAY)
    }

    fn shifted(self, by: Duration) -> Self {
        Self {
            not_before: self.not_before.saturating_add(by),
            not_after: self.not_after.saturating_add(by),
        }
    }
}

impl fmt::Display for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.not_after.date().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(unix_s: u64, days: u32, expected: &str) {
        let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(unix_s);
        let found = match Validity::starting(now, days) {
            Ok(validity) => format!("{} to {}", validity.not_before, validity.not_after),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn it_begins_an_hour_in_the_past() {
        check(86_400, 1, "1970-01-01 23:00:00.0 +00:00:00 to 1970-01-03 0:00:00.0 +00:00:00");
    }

    #[test]
    fn days_out_of_bounds_are_refused() {
        check(0, 0, "0 days of validity; give a number from 1 to 3650");
        check(0, 3_651, "3651 days of validity; give a number from 1 to 3650");
        check(0, u32::MAX, "4294967295 days of validity; give a number from 1 to 3650");
    }

    #[test]
    fn a_clock_beyond_all_calendars_is_an_error() {
        let sentence =
            "the system clock is outside the dates that a certificate can carry; set it right";
        check(253_402_300_799, 1, sentence);
        check(u64::MAX >> 1, 1, sentence);
    }
}
