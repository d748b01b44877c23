//! Numbers with their units: `2.31 GB/s`, `412 µs`, `17 640 rows`.

use crate::scale::drawable;

/// Stands between a number and its unit.
const NARROW_SPACE: char = '\u{202f}';
/// Counts below this are written out when they are whole.
const WHOLE_MAX: f64 = 1e6;

/// What the numbers of an axis or a cell are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit<'a> {
    /// Bytes a second, by powers of 1 000: `2.31 GB/s`.
    BytesPerSecond,
    /// Bytes, by powers of 1 000: `131 kB`.
    Bytes,
    /// Nanoseconds, written as ns, µs, ms or s.
    Nanoseconds,
    /// Seconds, written as ns, µs, ms or s.
    Seconds,
    /// Hundredths: 5.6 is `5.60 %`.
    Percent,
    /// Anything that is counted, such as `cores` or `batches/s`; empty for a bare number, and `/s`
    /// for one a second: `1.55 k/s`.
    Count(&'a str),
}

impl Unit<'_> {
    /// `value` in three digits with prefix and unit; a dash for what is not finite.
    pub fn show(self, value: f64) -> String {
        let Some(value) = drawable(value) else {
            return "–".to_owned();
        };
        if let Some(whole) = self.show_whole(value) {
            return whole;
        }
        // Rounded before the prefix is chosen, so that 999.9 MB/s is 1.00 GB/s.
        let rounded = three_digits(value);
        let (factor, suffix) = self.prefix(rounded.abs());
        joined(&digits(rounded / factor), &suffix)
    }

    /// As [`show`](Self::show), but `1 ms` and not `1.00 ms`: for the round values of ticks.
    pub(crate) fn show_short(self, tick: f64) -> String {
        if let Some(whole) = self.show_whole(tick) {
            return whole;
        }
        let (factor, suffix) = self.prefix(tick.abs() * (1.0 + 1e-9));
        joined(&format!("{}", three_digits(tick / factor) as f32), &suffix)
    }

    /// A count that is whole and not too long, written out.
    fn show_whole(self, value: f64) -> Option<String> {
        let Self::Count(name) = self else { return None };
        let short = value.fract() == 0.0 && value.abs() < WHOLE_MAX;
        short.then(|| joined(&grouped(value), name))
    }

    /// The labels of evenly spaced `ticks`, and the unit that they share.
    pub(crate) fn tick_labels(self, ticks: &[f64]) -> (Vec<String>, String) {
        let largest = ticks.iter().fold(0.0, |most: f64, tick| most.max(tick.abs()));
        let (factor, suffix) = self.prefix(largest);
        let spacing = ticks.windows(2).next().map_or(1.0, |pair| (pair[1] - pair[0]) / factor);
        // The small term keeps 0.1, whose logarithm may fall just below -1, at one decimal.
        let decimals = (-(spacing.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize;
        (ticks.iter().map(|tick| fixed(tick / factor, decimals)).collect(), suffix)
    }

    /// `value` under the prefix of `largest`, without its unit.
    pub(crate) fn show_under(self, largest: f64, value: f64) -> String {
        digits(three_digits(value) / self.prefix(largest).0)
    }

    /// The divisor and the unit for numbers of about this size.
    fn prefix(self, magnitude: f64) -> (f64, String) {
        const LARGE: &[(f64, &str)] =
            &[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P")];
        const TIME: &[(f64, &str)] = &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];
        match self {
            Self::BytesPerSecond => scaled(LARGE, magnitude, |prefix| format!("{prefix}B/s")),
            Self::Bytes => scaled(LARGE, magnitude, |prefix| format!("{prefix}B")),
            Self::Nanoseconds => scaled(TIME, magnitude, str::to_owned),
            Self::Seconds => {
                let (factor, suffix) = scaled(TIME, magnitude * 1e9, str::to_owned);
                (factor / 1e9, suffix)
            }
            Self::Percent => (1.0, "%".to_owned()),
            Self::Count(name) => scaled(LARGE, magnitude, |prefix| {
                let space = if prefix.is_empty() || follows_at_once(name) { "" } else { " " };
                format!("{prefix}{space}{name}").trim_end().to_owned()
            }),
        }
    }
}

fn scaled(steps: &[(f64, &str)], magnitude: f64, suffix: impl Fn(&str) -> String) -> (f64, String) {
    let fits = steps.iter().rev().find(|(factor, _)| magnitude >= *factor);
    // Nothing is in the smallest unit rather than without one: zero is `0 B/s`.
    let (factor, prefix) = fits.unwrap_or(&steps[0]);
    (*factor, suffix(prefix))
}

fn joined(number: &str, suffix: &str) -> String {
    if suffix.is_empty() || follows_at_once(suffix) {
        return format!("{number}{suffix}");
    }
    format!("{number}{NARROW_SPACE}{suffix}")
}

/// `500/s`: what a number is divided by needs no space before it.
fn follows_at_once(name: &str) -> bool {
    name.starts_with('/')
}

fn three_digits(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let unit = 10_f64.powf(value.abs().log10().floor() - 2.0);
    (value / unit).round() * unit
}

fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // As in `tick_labels`: 0.1 must not come out as a hundredth.
    let decimals = 2.0 - (value.abs().log10() + 1e-9).floor();
    fixed(value, decimals.clamp(0.0, 6.0) as usize)
}

fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if value < 0.0 && !is_zero { format!("−{text}") } else { text }
}

/// A whole number with its thousands set apart, from five digits on.
fn grouped(value: f64) -> String {
    let plain = fixed(value, 0);
    if value.abs() < 1e4 {
        return plain;
    }
    let (head, tail) = plain.split_at(plain.len() - 3);
    format!("{head}{NARROW_SPACE}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(unit: Unit<'_>, value: f64, shown: &str) {
        assert_eq!(unit.show(value).replace(NARROW_SPACE, " "), shown);
    }

    #[test]
    fn rates_take_the_prefix_that_leaves_three_digits() {
        check(Unit::BytesPerSecond, 2.314e9, "2.31 GB/s");
        check(Unit::BytesPerSecond, 512.0, "512 B/s");
        check(Unit::BytesPerSecond, 0.0, "0 B/s");
        check(Unit::Bytes, 131_072.0, "131 kB");
    }

    #[test]
    fn a_number_that_rounds_up_takes_the_next_prefix() {
        check(Unit::BytesPerSecond, 999.96e6, "1.00 GB/s");
        check(Unit::Nanoseconds, 999.6, "1.00 µs");
    }

    #[test]
    fn times_are_read_from_nanoseconds_and_from_seconds() {
        check(Unit::Nanoseconds, 412_300.0, "412 µs");
        check(Unit::Seconds, 0.0021, "2.10 ms");
        check(Unit::Seconds, 3.0, "3.00 s");
        check(Unit::Seconds, 90.0, "90.0 s");
    }

    #[test]
    fn whole_counts_are_written_out() {
        check(Unit::Count("rows"), 4096.0, "4096 rows");
        check(Unit::Count("rows"), 262_144.0, "262 144 rows");
        check(Unit::Count("batches/s"), 17_640.4, "17.6 k batches/s");
        check(Unit::Count("cores"), 0.95, "0.950 cores");
        check(Unit::Count(""), 3.0, "3");
    }

    #[test]
    fn less_than_nothing_has_a_minus_sign() {
        check(Unit::Percent, -6.04, "−6.04 %");
        check(Unit::Count(""), -12_000.0, "−12 000");
    }

    #[test]
    fn what_is_not_finite_is_a_dash() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
            check(Unit::Bytes, value, "–");
        }
    }

    #[test]
    fn ticks_share_a_unit_and_their_decimals() {
        let (labels, suffix) = Unit::BytesPerSecond.tick_labels(&[0.0, 0.5e9, 1e9, 1.5e9]);
        assert_eq!(labels, ["0.0", "0.5", "1.0", "1.5"]);
        assert_eq!(suffix, "GB/s");
        let (labels, suffix) = Unit::Seconds.tick_labels(&[0.0, 0.1, 0.2]);
        assert_eq!(labels, ["0", "100", "200"]);
        assert_eq!(suffix, "ms");
    }
}
