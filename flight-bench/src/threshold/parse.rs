//! The grammar: `METRIC[.pNN] [vs base] OP VALUE[unit|%]`.

use std::str::FromStr;

use super::{Against, Operator, Threshold};
use crate::figure::{Figure, Unit};

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expr = text.trim();
        let (left, operator, right) = split(expr)?;
        let mut words = left.split_whitespace();
        let name = words
            .next()
            .ok_or_else(|| format!("nothing stands before the comparison; {EXAMPLE}"))?;
        let figure = Figure::parse(name)?;
        let rest: Vec<&str> = words.collect();
        let against = match rest[..] {
            [] => Against::Value(value(right, figure.unit(), &figure)?),
            ["vs", "base"] if figure.is_count() => {
                return Err(format!("{figure} is a count without repeats; write {figure} > 0"));
            }
            ["vs", "base"] => Against::Base(percent(right)?),
            _ => {
                return Err(format!(
                    "'{}' is not understood after {name}; only 'vs base' may stand there",
                    rest.join(" ")
                ));
            }
        };
        Ok(Self { expr: expr.to_owned(), figure, against, operator })
    }
}

const EXAMPLE: &str = "write METRIC OP VALUE, such as put.ack.p99 > 5ms";

fn split(text: &str) -> Result<(&str, Operator, &str), String> {
    let at = text
        .find(['<', '>', '=', '!'])
        .ok_or_else(|| format!("there is no comparison in it; {EXAMPLE}"))?;
    let (left, rest) = text.split_at(at);
    let end = rest.find(|c| !"<>=!".contains(c)).unwrap_or(rest.len());
    let (written, right) = rest.split_at(end);
    let operator = match written {
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        _ => return Err(format!("'{written}' is no comparison; write <, <=, > or >=")),
    };
    Ok((left, operator, right.trim()))
}

fn value(text: &str, unit: Unit, figure: &Figure) -> Result<f64, String> {
    let written = unit.written();
    let names: Vec<&str> =
        written.iter().map(|(name, _)| *name).filter(|n| !n.is_empty()).collect();
    let (number, suffix) = number(text)?;
    if suffix == "%" {
        return Err(format!("'{text}' is a change; write '{figure} vs base' in front of it"));
    }
    let size = written.iter().find(|(name, _)| *name == suffix).map(|(_, size)| *size);
    let Some(size) = size else {
        return Err(match names.as_slice() {
            [] => format!("'{text}' has a unit and {figure} is a count; write a number alone"),
            names => format!("'{text}' has no unit of {figure}; write one of {}", names.join(", ")),
        });
    };
    Ok(number * size)
}

fn percent(text: &str) -> Result<f64, String> {
    match number(text)? {
        (number, "%") => Ok(number),
        _ => Err(format!("'{text}' is no change; against the base write a percentage such as -3%")),
    }
}

/// A number and what follows it.
fn number(text: &str) -> Result<(f64, &str), String> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c))).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    match number.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((value, rest.trim())),
        _ => Err(format!("'{text}' does not begin with a number such as 5 or 0.5")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_a_metric_a_comparison_and_a_value_with_its_unit() {
        check("put.ack.p99 > 5ms", Ok((5e6, false)));
        check("get.bytes_per_s < 2GB/s", Ok((2e9, false)));
        check("get.bytes_per_s<=1.5MiB/s", Ok((1_572_864.0, false)));
        check("unary.calls_per_s < 20k", Ok((20_000.0, false)));
        check("errors > 0", Ok((0.0, false)));
        check("get.bytes_per_s vs base < -3%", Ok((-3.0, true)));
        check("  put.ack.p99.9  vs  base >= +10 % ", Ok((10.0, true)));
    }

    #[test]
    fn what_is_wrong_is_named_with_the_way_out() {
        check("", Err("there is no comparison in it; write METRIC OP VALUE"));
        check("> 5", Err("nothing stands before the comparison"));
        check("put.ack.p99 == 5ms", Err("'==' is no comparison; write <, <=, > or >="));
        check("speed > 5", Err("'speed' is no metric; those are errors, get.bytes_per_s"));
        check("put.ack.p99 > 5", Err("'5' has no unit of put.ack.p99; write one of ms, us, µs, s"));
        check("put.ack.p99 > fast", Err("'fast' does not begin with a number"));
        check("put.ack.p99 >", Err("'' does not begin with a number"));
        check("get.bytes_per_s < 2GB", Err("write one of GB/s, MB/s, kB/s"));
        check("get.bytes_per_s < -3%", Err("write 'get.bytes_per_s vs base' in front of it"));
        check("get.bytes_per_s vs base < 2GB/s", Err("write a percentage such as -3%"));
        check("get.bytes_per_s vs main < 2%", Err("'vs main' is not understood"));
        check("errors > 5ms", Err("errors is a count; write a number alone"));
        check("errors vs base > 5%", Err("errors is a count without repeats; write errors > 0"));
    }

    fn check(text: &str, want: Result<(f64, bool), &str>) {
        let got = text.parse::<Threshold>().map(|threshold| match threshold.against {
            Against::Value(value) => (value, false),
            Against::Base(change) => (change, true),
        });
        match (got, want) {
            (Ok(got), Ok(want)) => assert_eq!(got, want, "{text}"),
            (Err(got), Err(want)) => assert!(got.contains(want), "{text}: {got}"),
            (got, want) => panic!("{text}: {got:?}, not {want:?}"),
        }
    }
}
