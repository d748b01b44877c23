//! Steps of the data plane that `tests/instructions.sh` counts the instructions of.
//!
//! The script runs a scenario twice, a different number of times, and divides the difference, so
//! that what comes before and after the loop does not count. Sources are made without randomness,
//! so that every run counts the same.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};

/// A step, by name.
pub struct Scenario {
    pub name: &'static str,
    /// Runs it so many times.
    pub run: fn(usize),
}

/// Runs the scenario that the program's arguments name, as many times as they say, or lists them.
///
/// # Errors
///
/// A sentence about arguments that are none.
#[allow(clippy::print_stdout, reason = "the list of scenarios is the program's answer")]
pub fn run(scenarios: &[Scenario]) -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, times] = arguments.as_slice() else {
        scenarios.iter().for_each(|scenario| println!("{}", scenario.name));
        return Ok(());
    };
    let scenario = scenarios.iter().find(|scenario| scenario.name == name);
    let scenario = scenario.ok_or_else(|| format!("there is no scenario {name:?}"))?;
    let times = times.parse().map_err(|_| format!("{times:?} is no number of times"))?;
    (scenario.run)(times);
    Ok(())
}

/// 4096 rows of 4 integers: 128 KiB.
pub fn small() -> RecordBatch {
    let column = |seed: i64| Arc::new(Int64Array::from_iter_values((0..4096).map(|n| n * seed)));
    let columns = (1..=4).map(|seed| (format!("c{seed}"), column(seed) as ArrayRef));
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

/// 32 768 rows of 20 columns as trips of a taxi have them: about 5 MB.
pub fn taxi() -> RecordBatch {
    const ROWS: i64 = 32_768;
    let whole: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|n| n % 7)));
    let times = (0..ROWS).map(|n| 1_700_000_000_000_000 + n * 1_000_003);
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from_iter_values(times));
    let fare = (0..ROWS).map(|n| (n % 10 > 0).then_some(n as f64 / 8.0));
    let fare: ArrayRef = Arc::new(Float64Array::from_iter(fare));
    let flag = (0..ROWS).map(|n| if n % 3 == 0 { "N" } else { "Y" });
    let flag: ArrayRef = Arc::new(StringArray::from_iter_values(flag));
    let zone = (0..ROWS).map(|n| format!("zone {}", n % 263));
    let zone: ArrayRef = Arc::new(StringArray::from_iter_values(zone));
    let kinds = [(&whole, 5), (&times, 2), (&fare, 11), (&flag, 1), (&zone, 1)];
    let columns = kinds.into_iter().flat_map(|(column, count)| vec![Arc::clone(column); count]);
    let named = columns.enumerate().map(|(index, column)| (format!("c{index}"), column));
    RecordBatch::try_from_iter_with_nullable(named.map(|(name, c)| (name, c, true)))
        .expect("columns of one length")
}
