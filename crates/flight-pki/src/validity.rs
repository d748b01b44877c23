//! From when until when a certificate holds.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use time::{Duration, OffsetDateTime};

use crate::error::PkiError;
use crate::limits::DAYS_MAX;

/// The clocks of two machines may differ by this much without a fresh certificate being refused.
const BACKDATED: Duration = Duration::HOUR;

/// What lasts less prints the time of its end too.
const SHORT: Duration = Duration::days(2);

/// How long a certificate is to hold, from now: `90s`, `30m`, `12h`, `30d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life(Duration);

impl Life {
    /// # Errors
    /// When `days` is not between 1 and [`DAYS_MAX`].
    pub fn days(days: u32) -> Result<Self, PkiError> {
        if days == 0 || DAYS_MAX < days {
            return Err(PkiError::Days { days });
        }
        Ok(Self(Duration::days(days.into())))
    }
}

impl FromStr for Life {
    type Err = PkiError;

    fn from_str(text: &str) -> Result<Self, PkiError> {
        let refused = || PkiError::Life { text: text.to_owned() };
        let unit = text.chars().next_back().ok_or_else(refused)?;
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return Err(refused()),
        };
        let number = &text[..text.len() - unit.len_utf8()];
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(refused());
        }
        let number: i64 = number.parse().map_err(|_| refused())?;
        let life = Duration::seconds(number.checked_mul(seconds).ok_or_else(refused)?);
        let bounds = Duration::SECOND..=Duration::days(DAYS_MAX.into());
        if bounds.contains(&life) { Ok(Self(life)) } else { Err(refused()) }
    }
}

/// A span of time. It prints as its last day, `2027-11-30`, or moment where it is short,
/// `2027-11-30 12:00:00 UTC`.
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
        Self::lasting(now, Life::days(days)?)
    }

    /// `life` from `now`, beginning an hour before.
    ///
    /// # Errors
    /// When the clock is beyond all calendars.
    pub fn lasting(now: SystemTime, life: Life) -> Result<Self, PkiError> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).map_err(|_| PkiError::Clock)?;
        let now = Duration::try_from(now).map_err(|_| PkiError::Clock)?;
        let now = OffsetDateTime::UNIX_EPOCH.checked_add(now).ok_or(PkiError::Clock)?;
        Ok(Self {
            not_before: now.checked_sub(BACKDATED).ok_or(PkiError::Clock)?,
            not_after: now.checked_add(life.0).ok_or(PkiError::Clock)?,
        })
    }

    /// What of this comes before `end`; nothing where it has passed.
    pub(crate) fn until(self, end: OffsetDateTime) -> Self {
        Self { not_after: self.not_after.min(end), ..self }
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
        if SHORT + BACKDATED <= self.not_after - self.not_before {
            return self.not_after.date().fmt(f);
        }
        let end = self.not_after;
        let (hour, minute, second) = end.time().as_hms();
        write!(f, "{} {hour:02}:{minute:02}:{second:02} UTC", end.date())
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

    fn check_life(text: &str, expected: &str) {
        let found = match text.parse::<Life>() {
            Ok(life) => {
                Validity::lasting(SystemTime::UNIX_EPOCH, life).expect("a date").to_string()
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_life_is_a_number_and_a_unit() {
        check_life("1s", "1970-01-01 00:00:01 UTC");
        check_life("90s", "1970-01-01 00:01:30 UTC");
        check_life("30m", "1970-01-01 00:30:00 UTC");
        check_life("12h", "1970-01-01 12:00:00 UTC");
        check_life("47h", "1970-01-02 23:00:00 UTC");
        check_life("2d", "1970-01-03");
        check_life("3650d", "1979-12-30");
    }

    #[test]
    fn a_life_out_of_bounds_is_refused() {
        for text in ["", "s", "0s", "90", "1y", "-1d", "+1d", "1.5h", "1 d", "3651d", "1ü", "९d"]
        {
            let bounds = "give 1s to 3650d, as in 90s, 30m, 12h or 30d";
            check_life(text, &format!("'{text}' is not how long a certificate is valid; {bounds}"));
        }
        assert!("99999999999999999999d".parse::<Life>().is_err());
        assert!("9223372036854775807d".parse::<Life>().is_err());
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
