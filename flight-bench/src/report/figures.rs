//! Numbers as people read them: three digits that matter, and the unit.

/// A length of time: `412 ns`, `41.2 µs`, `1.31 ms`, `2.50 s`.
pub(crate) fn nanos(value: f64) -> String {
    let (value, unit) = match value {
        v if v < 999.5 => (v, "ns"),
        v if v < 999_500.0 => (v / 1e3, "µs"),
        v if v < 999_500_000.0 => (v / 1e6, "ms"),
        v => (v / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// A rate or an amount: `0`, `9.52`, `640`, `17640`, `72.3M`.
pub(crate) fn amount(value: f64) -> String {
    match value {
        v if v < 99_999.5 => digits(v),
        v if v < 999_500.0 => format!("{}k", digits(v / 1e3)),
        v if v < 999_500_000.0 => format!("{}M", digits(v / 1e6)),
        v => format!("{}G", digits(v / 1e9)),
    }
}

/// A number of things: exact while it is short.
pub(crate) fn count(value: u64) -> String {
    if value < 100_000 { value.to_string() } else { amount(value as f64) }
}

/// Bytes a second in millions.
pub(crate) fn megabytes(bytes_per_s: f64) -> String {
    amount(bytes_per_s / 1e6)
}

/// A value that may be absent.
pub(crate) fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "–".to_owned())
}

/// Three significant digits, and all digits of what is larger.
fn digits(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_carry_three_digits_and_a_unit() {
        let check = |value: f64, want: &str| assert_eq!(nanos(value), want);
        check(0.0, "0 ns");
        check(412.0, "412 ns");
        check(999.6, "1.00 µs");
        check(41_234.0, "41.2 µs");
        check(1_310_000.0, "1.31 ms");
        check(2_500_000_000.0, "2.50 s");
        check(60_000_000_000.0, "60.0 s");
    }

    #[test]
    fn rates_keep_all_their_digits_up_to_five() {
        let check = |value: f64, want: &str| assert_eq!(amount(value), want);
        check(0.0, "0");
        check(9.517, "9.52");
        check(17_640.4, "17640");
        check(123_456.0, "123k");
        check(72_300_000.0, "72.3M");
        check(1_500_000_000.0, "1.50G");
    }

    #[test]
    fn counts_have_no_decimals_while_they_are_short() {
        assert_eq!((count(0), count(12), count(99_999)), ("0".into(), "12".into(), "99999".into()));
        assert_eq!(count(1_234_567), "1.23M");
    }

    #[test]
    fn megabytes_are_millions_of_bytes() {
        assert_eq!(megabytes(2_310_400_000.0), "2310");
        assert_eq!(megabytes(1_048_576.0), "1.05");
    }
}
