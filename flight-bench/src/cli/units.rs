//! Sizes, durations and counts as they are written at the command line.
//!
//! A bare `k` is refused for bytes, since half of the world reads it as 1000 and half as 1024.

use std::time::Duration;

use flight_stats::Band;

use crate::limits;

/// Bytes: `4MiB`, `10kB`, `65536`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let factor: u64 = match unit {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" | "kiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "k" | "K" | "m" | "M" | "g" | "G" => {
            let letter = unit.to_uppercase();
            let decimal = if letter == "K" { "k" } else { letter.as_str() };
            return Err(format!(
                "'{text}' can mean {number}{decimal}B (powers of 1000) or {number}{letter}iB \
                 (powers of 1024); write one of them"
            ));
        }
        _ => return Err(format!("'{text}' has no unit of bytes; write 4MiB, 10kB or 65536")),
    };
    number.checked_mul(factor).ok_or_else(|| format!("'{text}' is more than 2^64 bytes"))
}

/// A length of time: `500ms`, `10s`, `2m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text)?;
    let micros: u64 = match unit {
        "us" | "µs" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" | "min" => 60_000_000,
        "h" => 3_600_000_000,
        _ => return Err(format!("'{text}' has no unit of time; write 500ms, 10s or 2m")),
    };
    let span = number.checked_mul(micros).map(Duration::from_micros);
    match span {
        Some(span) if span <= limits::DURATION_MAX => Ok(span),
        _ => Err(format!("'{text}' is more than 7 days, the longest that is taken")),
    }
}

/// A number of things: `4096`, `10k`, `1M`; powers of 1000.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let factor: u64 = match unit {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return Err(format!("'{text}' is not a number; write 4096, 10k or 1M")),
    };
    number.checked_mul(factor).ok_or_else(|| format!("'{text}' is more than 2^64"))
}

/// Differences that count as none: `3%`, `0.5%`.
pub(crate) fn band(text: &str) -> Result<Band, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let percent = number.ok_or_else(|| format!("'{text}' is no percentage; write 3% or 0.5%"))?;
    Band::new(percent / 100.0).map_err(|_| format!("'{text}' is outside 0% to 100%; write 3%"))
}

fn split(text: &str) -> Result<(u64, &str), String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number = number
        .parse()
        .map_err(|_| format!("'{text}' does not begin with a whole number below 2^64"))?;
    Ok((number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_or_are_bytes() {
        check_bytes("65536", "65536");
        check_bytes("10kB", "10000");
        check_bytes("64KiB", "65536");
        check_bytes("4MiB", "4194304");
        check_bytes("2GB", "2000000000");
        check_bytes("0", "0");
    }

    #[test]
    fn a_bare_letter_shows_both_readings() {
        check_bytes(
            "64k",
            "'64k' can mean 64kB (powers of 1000) or 64KiB (powers of 1024); write one of them",
        );
        check_bytes(
            "4M",
            "'4M' can mean 4MB (powers of 1000) or 4MiB (powers of 1024); write one of them",
        );
    }

    #[test]
    fn what_is_no_size_is_refused() {
        check_bytes("", "'' does not begin with a whole number below 2^64");
        check_bytes("-1", "'-1' does not begin with a whole number below 2^64");
        check_bytes("1.5MiB", "'1.5MiB' has no unit of bytes; write 4MiB, 10kB or 65536");
        check_bytes("5 MiB", "'5 MiB' has no unit of bytes; write 4MiB, 10kB or 65536");
        check_bytes("99999999999GiB", "'99999999999GiB' is more than 2^64 bytes");
        check_bytes(
            "99999999999999999999",
            "'99999999999999999999' does not begin with a whole number below 2^64",
        );
    }

    #[test]
    fn durations_need_a_unit() {
        let check = |text: &str, want: Result<u128, &str>| {
            assert_eq!(duration(text).map(|d| d.as_millis()), want.map_err(str::to_owned));
        };
        check("500ms", Ok(500));
        check("10s", Ok(10_000));
        check("2m", Ok(120_000));
        check("10", Err("'10' has no unit of time; write 500ms, 10s or 2m"));
        check("1.5s", Err("'1.5s' has no unit of time; write 500ms, 10s or 2m"));
        check("1000h", Err("'1000h' is more than 7 days, the longest that is taken"));
    }

    #[test]
    fn counts_are_powers_of_1000() {
        let check = |text: &str, want: Result<u64, &str>| {
            assert_eq!(count(text), want.map_err(str::to_owned));
        };
        check("10k", Ok(10_000));
        check("1M", Ok(1_000_000));
        check("7", Ok(7));
        check("7KiB", Err("'7KiB' is not a number; write 4096, 10k or 1M"));
    }

    #[test]
    fn bands_are_percentages() {
        let check = |text: &str, want: Result<f64, &str>| match (band(text), want) {
            (Ok(got), Ok(want)) => assert!((got.bounds().1 - want).abs() < 1e-12),
            (Err(got), Err(want)) => assert!(got.contains(want), "{got}"),
            (got, want) => panic!("{text}: {got:?}, not {want:?}"),
        };
        check("3%", Ok(1.03));
        check("0.5 %", Ok(1.005));
        check("0.03", Err("'0.03' is no percentage; write 3% or 0.5%"));
        check("-3%", Err("'-3%' is outside 0% to 100%; write 3%"));
    }

    fn check_bytes(text: &str, want: &str) {
        let got = bytes(text).map_or_else(|error| error, |n| n.to_string());
        assert_eq!(got, want);
    }
}
