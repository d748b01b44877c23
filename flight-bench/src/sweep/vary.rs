//! What is varied, as it is written: `streams=1,2,4`, `batch-rows=256..64k:x4`, `rate=10%..100%:10%`.
//!
//! Values stay words: the command's own parser says what they mean, and whether they may be.

use std::str::FromStr;

use crate::limits::SWEEP_SETTINGS_MAX;

/// An option of the command, and the values that it gets in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Vary {
    /// Without its dashes.
    pub(crate) name: String,
    /// As they are written at the command line; none twice.
    pub(crate) values: Vec<String>,
}

/// What the size of a value is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Count,
    Bytes,
    Nanoseconds,
    Percent,
}

impl FromStr for Vary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, list) = text
            .split_once('=')
            .ok_or_else(|| format!("'{text}' has no values; write NAME=VALUES, {EXAMPLES}"))?;
        let name = name.trim().trim_start_matches("--");
        let named = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.len() < 2 || !name.chars().all(named) {
            return Err(format!(
                "'{name}' is no name of an option; write a long one, such as streams for --streams"
            ));
        }
        let mut values: Vec<String> = Vec::new();
        for part in list.split(',').map(str::trim) {
            if part.is_empty() {
                return Err(format!(
                    "'{text}' has an empty value; {EXAMPLES} are lists and ranges"
                ));
            }
            for value in
                Range::read(part)?.map_or_else(|| Ok(vec![part.to_owned()]), Range::values)?
            {
                match values.iter().find(|known| are_same(known, &value)) {
                    Some(known) if *known == value => {
                        return Err(format!("'{text}' has {value} twice; leave one out"));
                    }
                    Some(known) => {
                        return Err(format!(
                            "'{text}' has one value twice, as {known} and as {value}; leave one out"
                        ));
                    }
                    None => {}
                }
                values.push(value);
            }
        }
        if values.len() > SWEEP_SETTINGS_MAX {
            return Err(too_many(text));
        }
        Ok(Self { name: name.to_owned(), values })
    }
}

/// Whether two values are one: equal words, or equal numbers such as 1k and 1000.
fn are_same(one: &str, other: &str) -> bool {
    let equal = |one: Number<'_>, other: Number<'_>| {
        both(one.measure, other.measure).is_some()
            && one.value * one.unit == other.value * other.unit
    };
    one == other
        || Number::read(one).zip(Number::read(other)).is_some_and(|(one, other)| equal(one, other))
}

const EXAMPLES: &str = "such as streams=1,2,4, streams=1..64:x2 or rate=10%..100%:10%";

fn too_many(text: &str) -> String {
    format!("'{text}' has more than {SWEEP_SETTINGS_MAX} values, the most of a sweep")
}

impl Vary {
    /// The sizes of the values, if all are numbers of one kind: then a smaller one can be told.
    pub(crate) fn sizes(&self) -> Option<(Vec<f64>, Measure)> {
        let numbers: Option<Vec<_>> = self.values.iter().map(|value| Number::read(value)).collect();
        let numbers = numbers?;
        let mut measures = numbers.iter().map(|number| number.measure);
        let first = measures.next()?;
        let measure = measures.try_fold(first, both)?;
        // A setting of zero has no place on a scale of factors.
        let sizes: Vec<f64> = numbers.iter().map(|number| number.value * number.unit).collect();
        sizes.iter().all(|size| *size > 0.0).then_some((sizes, measure.unwrap_or(Measure::Count)))
    }
}

/// The kind of two numbers together, if there is one; a number without a unit, which has none, is
/// a count, or bytes.
fn both(one: Option<Measure>, other: Option<Measure>) -> Option<Option<Measure>> {
    match (one, other) {
        (None, None) => Some(None),
        (None, any @ Some(Measure::Count | Measure::Bytes))
        | (any @ Some(Measure::Count | Measure::Bytes), None) => Some(any),
        (Some(one), Some(other)) if one == other => Some(Some(one)),
        _ => None,
    }
}

/// `64KiB`: a number and its unit.
#[derive(Debug, Clone, Copy)]
struct Number<'a> {
    value: f64,
    suffix: &'a str,
    unit: f64,
    /// Absent without a unit.
    measure: Option<Measure>,
}

impl<'a> Number<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let value: f64 = number.parse().ok()?;
        let (_, unit, measure) = *UNITS.iter().find(|(name, ..)| *name == suffix)?;
        value.is_finite().then_some(Self { value, suffix, unit, measure })
    }
}

/// `FROM..TO:xFACTOR` or `FROM..TO:STEP`.
struct Range<'a> {
    text: &'a str,
    from: Number<'a>,
    /// In the unit of `from`.
    to: f64,
    step: Step,
}

enum Step {
    Factor(f64),
    /// In the unit of `from`.
    Add(f64),
}

impl<'a> Range<'a> {
    /// `None` for a value that is no range, such as a path with dots in it.
    fn read(text: &'a str) -> Result<Option<Self>, String> {
        let Some((from, rest)) = text.split_once("..") else { return Ok(None) };
        // A name may begin with a digit: 2024/../a, 2024..old.feather.
        let ends_as_a_range = rest.contains(':') || Number::read(rest).is_some();
        let begins_as_one = from.starts_with(|c: char| c.is_ascii_digit());
        if !begins_as_one || !ends_as_a_range || text.contains('/') {
            return Ok(None);
        }
        let (to, step) = rest.split_once(':').ok_or_else(|| {
            format!("'{text}' has no step; write {text}:x2 for factors or {text}:1 for steps")
        })?;
        let number = |text: &'a str, what: &str| {
            Number::read(text).ok_or_else(|| {
                format!("'{text}', the {what} of a range, is no number; write 8, 64k, 1MiB or 10%")
            })
        };
        let (from, to) = (number(from, "start")?, number(to, "end")?);
        let scaled = |other: Number<'_>, what: &str| {
            let fits = both(from.measure, other.measure).is_some();
            fits.then(|| other.value * other.unit / from.unit).ok_or_else(|| {
                format!(
                    "'{text}': the {what} is of another kind than the start; give both one unit"
                )
            })
        };
        let end = scaled(to, "end")?;
        let step = match step.strip_prefix('x') {
            Some(factor) => Step::Factor(number(factor, "factor")?.value),
            None => {
                let mut step = number(step, "step")?;
                if step.suffix.is_empty() {
                    (step.unit, step.measure) = (from.unit, from.measure);
                }
                Step::Add(scaled(step, "step")?)
            }
        };
        let range = Self { text, from, to: end, step };
        range.check()?;
        Ok(Some(range))
    }

    fn check(&self) -> Result<(), String> {
        let text = self.text;
        if self.to < self.from.value {
            return Err(format!("'{text}' runs from the larger to the smaller; turn it round"));
        }
        let is_whole = |value: f64| value.fract() == 0.0;
        let plain = self.from.unit == 1.0 && self.from.measure != Some(Measure::Percent);
        let adds_parts = matches!(self.step, Step::Add(step) if !is_whole(step));
        if plain && (!is_whole(self.from.value) || adds_parts) {
            return Err(format!("'{text}' has parts of one; options take whole numbers"));
        }
        match self.step {
            Step::Factor(factor) if factor <= 1.0 => {
                Err(format!("'{text}' does not grow; write a factor above 1, such as x2"))
            }
            Step::Factor(_) if self.from.value <= 0.0 => {
                Err(format!("'{text}' multiplies 0; begin above it, or add with a step"))
            }
            Step::Add(step) if step <= 0.0 => {
                Err(format!("'{text}' does not grow; write a step above 0"))
            }
            _ => Ok(()),
        }
    }

    /// From the start on, and never beyond the end.
    fn values(self) -> Result<Vec<String>, String> {
        let mut values: Vec<String> = Vec::new();
        for index in 0..=SWEEP_SETTINGS_MAX * 2 {
            let value = match self.step {
                Step::Factor(factor) => self.from.value * factor.powi(index as i32),
                Step::Add(step) => self.from.value + step * index as f64,
            };
            if value > self.to * (1.0 + 1e-9) {
                return Ok(values);
            }
            let written = self.written(value);
            let beyond = Number::read(&written)
                .is_some_and(|one| one.value * one.unit > self.to * self.from.unit * (1.0 + 1e-9));
            if beyond {
                return Ok(values); // It is rounded to one that is.
            }
            // Whole numbers may fall together: 1, 1.5 and 2.25 are 1 and 2.
            if values.last() != Some(&written) {
                values.push(written);
            }
            if values.len() > SWEEP_SETTINGS_MAX {
                break;
            }
        }
        Err(too_many(self.text))
    }

    /// In the unit of the start, or in a smaller one: options take whole numbers, but for percentages.
    fn written(&self, value: f64) -> String {
        let Number { suffix, unit, measure, .. } = self.from;
        if measure == Some(Measure::Percent) {
            return format!("{}{suffix}", (value * 1e4).round() / 1e4);
        }
        let nearest = value.round();
        if unit == 1.0 || (value - nearest).abs() < 1e-9 {
            return format!("{nearest}{suffix}");
        }
        let base = value * unit;
        let (unit, suffix) = match measure {
            Some(Measure::Nanoseconds) if base >= 1e6 => (1e6, "ms"),
            Some(Measure::Nanoseconds) => (1e3, "us"),
            Some(Measure::Bytes) => (1.0, "B"),
            _ => (1.0, ""),
        };
        format!("{}{suffix}", (base / unit).round())
    }
}

type UnitName = (&'static str, f64, Option<Measure>);

/// The units of options, each with its size; times in nanoseconds.
const UNITS: [UnitName; 21] = [
    ("", 1.0, None),
    ("k", 1e3, Some(Measure::Count)),
    ("K", 1e3, Some(Measure::Count)),
    ("M", 1e6, Some(Measure::Count)),
    ("G", 1e9, Some(Measure::Count)),
    ("B", 1.0, Some(Measure::Bytes)),
    ("kB", 1e3, Some(Measure::Bytes)),
    ("KB", 1e3, Some(Measure::Bytes)),
    ("MB", 1e6, Some(Measure::Bytes)),
    ("GB", 1e9, Some(Measure::Bytes)),
    ("KiB", 1024.0, Some(Measure::Bytes)),
    ("kiB", 1024.0, Some(Measure::Bytes)),
    ("MiB", 1_048_576.0, Some(Measure::Bytes)),
    ("GiB", 1_073_741_824.0, Some(Measure::Bytes)),
    ("us", 1e3, Some(Measure::Nanoseconds)),
    ("µs", 1e3, Some(Measure::Nanoseconds)),
    ("ms", 1e6, Some(Measure::Nanoseconds)),
    ("s", 1e9, Some(Measure::Nanoseconds)),
    ("m", 6e10, Some(Measure::Nanoseconds)),
    ("h", 3.6e12, Some(Measure::Nanoseconds)),
    ("%", 1.0, Some(Measure::Percent)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_taken_as_they_are_written() {
        check("streams=1,2,4,8", Ok("streams: 1 2 4 8"));
        check("--streams= 1, 2", Ok("streams: 1 2"));
        check("transport=own,hyper", Ok("transport: own hyper"));
        check("data-file=../a.feather,b.feather", Ok("data-file: ../a.feather b.feather"));
        check("source=path:a=b", Ok("source: path:a=b"));
        check("data-file=2024/../a.arrow,b", Ok("data-file: 2024/../a.arrow b"));
        check("data-file=2024..old.arrow,b", Ok("data-file: 2024..old.arrow b"));
        check("data-file=1../2:x,b", Ok("data-file: 1../2:x b"));
        check("rate=50,50%", Ok("rate: 50 50%"));
    }

    #[test]
    fn ranges_multiply_or_add_and_stay_below_their_end() {
        check("batch-rows=256..64k:x4", Ok("batch-rows: 256 1024 4096 16384"));
        check("batch-rows=256..65536:x4", Ok("batch-rows: 256 1024 4096 16384 65536"));
        check("rate=10%..100%:30%", Ok("rate: 10% 40% 70% 100%"));
        check("rate=0.5%..2%:x2", Ok("rate: 0.5% 1% 2%"));
        check("rate=0.1%..0.5%:0.1%", Ok("rate: 0.1% 0.2% 0.3% 0.4% 0.5%"));
        check("message-bytes=64KiB..1MiB:x4", Ok("message-bytes: 64KiB 256KiB 1024KiB"));
        check("warmup=0ms..1s:500ms", Ok("warmup: 0ms 500ms 1000ms"));
        check("streams=1..4:1", Ok("streams: 1 2 3 4"));
        check("streams=1..6:x1.5", Ok("streams: 1 2 3 5"));
        check("streams=1..3:1,8,16", Ok("streams: 1 2 3 8 16"));
        check("streams=4..4:x2", Ok("streams: 4"));
        check("streams=1..2.6:x2.6", Ok("streams: 1"));
        check("duration=1.5s..4s:0.5s", Ok("duration: 1500ms 2s 2500ms 3s 3500ms 4s"));
        check("duration=0.4s..1.2s:0.4s", Ok("duration: 400ms 800ms 1200ms"));
        check("message-bytes=1.5KiB..6KiB:x2", Ok("message-bytes: 1536B 3KiB 6KiB"));
        check("rate=1.5k..6k:x2", Ok("rate: 1500 3k 6k"));
    }

    #[test]
    fn what_is_wrong_is_named_with_the_way_out() {
        check("streams", Err("'streams' has no values; write NAME=VALUES"));
        check("s=1,2", Err("'s' is no name of an option; write a long one"));
        check("=1", Err("'' is no name of an option"));
        check("streams=", Err("has an empty value"));
        check("streams=1,,2", Err("has an empty value"));
        check("streams=1,2,1", Err("has 1 twice; leave one out"));
        check("streams=1..4:1,2", Err("has 2 twice"));
        check("streams=1,01", Err("has one value twice, as 1 and as 01; leave one out"));
        check("batch-rows=1k,1000", Err("has one value twice, as 1k and as 1000"));
        check("message-bytes=1MiB,64KiB,1024KiB", Err("as 1MiB and as 1024KiB"));
        check("warmup=1s,1000ms", Err("as 1s and as 1000ms"));
        check("streams=1..4:1,02", Err("as 2 and as 02"));
        check("streams=1..8", Err("'1..8' has no step; write 1..8:x2 for factors or 1..8:1"));
        check("streams=8..1:x2", Err("runs from the larger to the smaller; turn it round"));
        check("streams=1..8:x1", Err("write a factor above 1, such as x2"));
        check("streams=1..8:x", Err("'', the factor of a range, is no number"));
        check("streams=0..8:x2", Err("multiplies 0; begin above it"));
        check("streams=1..8:0", Err("write a step above 0"));
        check("streams=1..many:x2", Err("'many', the end of a range, is no number"));
        check("rate=1.5..6:x2", Err("has parts of one; options take whole numbers"));
        check("streams=1..3:0.5", Err("has parts of one"));
        check("rate=10..100%:10%", Err("the end is of another kind than the start"));
        check("rate=10%..100%:1s", Err("the step is of another kind than the start"));
        check("warmup=1s..1MiB:x2", Err("the end is of another kind than the start"));
        check("streams=1..1000000:1", Err("has more than 256 values, the most of a sweep"));
        check("streams=1..1M:x1.0000001", Err("has more than 256 values"));
    }

    #[test]
    fn sizes_are_those_of_numbers_of_one_kind() {
        sizes("streams=1,2k", Some((&[1.0, 2000.0], Measure::Count)));
        sizes("message-bytes=65536,1MiB", Some((&[65_536.0, 1_048_576.0], Measure::Bytes)));
        sizes("rate=10%,70%", Some((&[10.0, 70.0], Measure::Percent)));
        sizes("rate=500,70%", None);
        sizes("transport=own,hyper", None);
        sizes("warmup=0s,1s", None);
    }

    fn sizes(text: &str, want: Option<(&[f64], Measure)>) {
        let got = text.parse::<Vary>().expect("a parameter").sizes();
        let got = got.as_ref().map(|(sizes, measure)| (sizes.as_slice(), *measure));
        assert_eq!(got, want, "{text}");
    }

    fn check(text: &str, want: Result<&str, &str>) {
        let got =
            text.parse::<Vary>().map(|vary| format!("{}: {}", vary.name, vary.values.join(" ")));
        match (&got, want) {
            (Ok(got), Ok(want)) => assert_eq!(got, want, "{text}"),
            (Err(got), Err(want)) => assert!(got.contains(want), "{text}: {got}"),
            _ => panic!("{text}: {got:?}, not {want:?}"),
        }
    }
}
