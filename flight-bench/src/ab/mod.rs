//! `ab`: two sides measured in turn, pair by pair, so that what the machine does hits both alike.
//!
//! A side is a run of one repeat with a server of its own, or any command whose time is taken. The
//! order within a pair alternates (ABBA): a drift over the series cancels out.

mod html;
mod read;
mod report;
mod side;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use flight_stats::{Band, Verdict};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::cli::{AbArgs, CompareFormat, Format};
use crate::compare::{Judged, Row, corrected, exit_of};
use crate::config::{Output, check_build, comparison_output, keep};
use crate::exit::{Exit, Stop};
use crate::figure::Figure;
use crate::floor::{Floor, Known};
use crate::limits::{FLOOR_PAIRS, PAIRS_MAX};
use crate::load::Interrupt;
use crate::progress::say;
use crate::report::{Host, Outcome, RunRecord, Warning};
use crate::run::order_of;
use crate::saved::Saved;
pub(crate) use read::read;
use side::{Measurement, Side};

/// An interleaved comparison as it will be done.
pub(crate) struct AbConfig {
    sides: [Side; 2],
    pairs: usize,
    equivalence: Band,
    /// Both sides are the same.
    equal: bool,
    strict: bool,
    /// What equal sides differ by on this machine.
    floor: Known,
    /// No pair is begun that would not end by then.
    until: Option<Instant>,
    output: Output,
}

/// What the pairs said.
pub(crate) struct AbResults {
    pub(crate) started: SystemTime,
    host: Host,
    labels: [String; 2],
    records: [Option<RunRecord>; 2],
    asked: usize,
    equal: bool,
    /// By figure, in the order of the table: the values of both sides, pair by pair.
    series: Vec<Series>,
    /// Pairs that were measured whole.
    pairs: usize,
    rows: Vec<Row>,
    /// What equal sides differ by on this machine, where that is known and was used.
    floor: Option<Floor>,
    /// Figures that a run had and another had not.
    left_out: Vec<String>,
    warnings: Vec<Warning>,
    outcome: Outcome,
}

/// The values of a figure in every pair.
pub(crate) struct Series {
    figure: Figure,
    sides: [Vec<f64>; 2],
}

impl AbConfig {
    /// # Errors
    ///
    /// Sides that mean nothing, or options that do not go together: exit code 2.
    pub(crate) fn from_args(args: AbArgs) -> Result<Self, Stop> {
        let (design, output) = (args.design, args.output);
        let pairs = usize::try_from(design.pairs).unwrap_or(usize::MAX);
        if !(2..=PAIRS_MAX).contains(&pairs) {
            return Err(Stop::usage(format!(
                "--pairs {} is outside 2 to {PAIRS_MAX}; 10 settle most questions",
                design.pairs
            )));
        }
        check_build(design.strict, &design.build, cfg!(debug_assertions))?;
        let keep = keep(&output.keep);
        // Equal sides are what a floor is made of; of any other program it says nothing.
        let judges = !design.aa && args.sides.a_run.is_none();
        let saved = Saved::new(output.keep.runs.runs_dir.as_deref()).filter(|_| judges);
        let output = comparison_output(output.format, output.out, output.quiet)?;
        Ok(Self {
            sides: side::both(args.sides, &args.command, design.aa)?,
            pairs,
            equivalence: design.equivalence,
            equal: design.aa,
            strict: design.strict,
            floor: Known::here(saved.as_ref()),
            until: None,
            output: Output { keep, ..output },
        })
    }

    pub(crate) fn output(&self) -> &Output {
        &self.output
    }

    /// A server of its own against itself, by DoGet, in pairs that end in time.
    ///
    /// # Errors
    ///
    /// Options of the environment that do not go together: exit code 2.
    pub(crate) fn of_equal_sides(
        program: Option<PathBuf>,
        command: &[OsString],
        until: Instant,
        quiet: bool,
    ) -> Result<Self, Stop> {
        Ok(Self {
            sides: side::equal(program, command)?,
            pairs: FLOOR_PAIRS,
            equivalence: Band::new(0.03).expect("3 % is a band"),
            equal: true,
            strict: false,
            floor: Known::default(),
            until: Some(until),
            output: comparison_output(CompareFormat::Text, Vec::new(), quiet)?,
        })
    }
}

impl AbResults {
    pub(crate) fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    pub(crate) fn render(&self, format: Format) -> String {
        match format {
            Format::Json => report::document(self),
            Format::Md => report::markdown(self),
            Format::Html => html::render(self),
            // Other forms were refused.
            _ => report::text(self),
        }
    }

    fn started_text(&self) -> Option<String> {
        OffsetDateTime::from(self.started).format(&Rfc3339).ok()
    }
}

/// Measures all pairs; the results tell how it ended.
pub(crate) async fn run(config: &AbConfig, interrupt: &Interrupt) -> AbResults {
    let mut results = AbResults {
        started: SystemTime::now(),
        host: Host::read(),
        labels: [0, 1].map(|side| config.sides[side].label()),
        records: [0, 1].map(|side| config.sides[side].record()),
        asked: config.pairs,
        equal: config.equal,
        series: Vec::new(),
        pairs: 0,
        rows: Vec::new(),
        floor: config.floor.floor().cloned(),
        left_out: Vec::new(),
        warnings: config.floor.trouble.clone().map(Warning::from).into_iter().collect(),
        outcome: Outcome { exit: Exit::Failed, error: None, complete: false },
    };
    let ended = pairs(config, &mut results, interrupt).await;
    let judged = results.judge(config.equivalence);
    let complete = ended.is_ok();
    results.outcome = match ended.and(judged) {
        Ok(()) => {
            let exit = exit_of(&results.rows, config.strict);
            let exit = if config.equal && exit == Exit::Regressed { Exit::Done } else { exit };
            Outcome { exit, error: None, complete }
        }
        Err(stop) => Outcome { exit: stop.exit, error: Some(stop.to_string()), complete },
    };
    results
}

async fn pairs(
    config: &AbConfig,
    results: &mut AbResults,
    interrupt: &Interrupt,
) -> Result<(), Stop> {
    let mut longest = Duration::ZERO;
    for pair in 0..config.pairs {
        let begun = Instant::now();
        if config.until.is_some_and(|until| begun + longest > until) {
            break;
        }
        let mut measured: [Option<Measurement>; 2] = [None, None];
        for index in order_of(pair, 2) {
            let measurement =
                config.sides[index].measure(pair, interrupt).await.map_err(|stop| {
                    stop.because(format!("pair {}, side {}", pair + 1, LETTERS[index]))
                })?;
            measured[index] = Some(measurement);
        }
        let [Some(base), Some(value)] = measured else { continue };
        if !config.output.quiet {
            say(&report::progress(pair, config.pairs, &base, &value));
        }
        results.add(&base, &value);
        longest = longest.max(begun.elapsed());
    }
    Ok(())
}

const LETTERS: [char; 2] = ['A', 'B'];

impl AbResults {
    /// Adds a pair. A figure that a run lacks is left out for good: the other runs would be chosen.
    fn add(&mut self, base: &Measurement, value: &Measurement) {
        for warning in base.warnings.iter().chain(&value.warnings) {
            if !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
        if self.pairs == 0 {
            let series = |(figure, _): &(Figure, f64)| Series {
                figure: figure.clone(),
                sides: [Vec::new(), Vec::new()],
            };
            self.series = base.values.iter().map(series).collect();
        }
        let of = |side: &Measurement| -> BTreeMap<String, f64> {
            side.values.iter().map(|(figure, value)| (figure.to_string(), *value)).collect()
        };
        let (base, value) = (of(base), of(value));
        self.series.retain_mut(|series| {
            let name = series.figure.to_string();
            let (Some(base), Some(value)) = (base.get(&name), value.get(&name)) else {
                self.left_out.push(name);
                return false;
            };
            series.sides[0].push(*base);
            series.sides[1].push(*value);
            true
        });
        self.pairs += 1;
    }

    fn judge(&mut self, equivalence: Band) -> Result<(), Stop> {
        if self.pairs < 2 {
            return Ok(());
        }
        let is_paced = self.records.iter().flatten().any(|record| record.model == "open");
        let judged = Judged { equivalence, floor: self.floor.as_ref(), is_paced };
        let mut rows = Vec::new();
        for series in &self.series {
            let [base, value] = &series.sides;
            match Row::paired(&series.figure, value, base, judged) {
                Ok(row) => rows.push(row),
                Err(error) if series.figure.gates(is_paced) => {
                    let sentence = format!("{} cannot be compared: {error}", series.figure);
                    return Err(Stop::failed(anyhow::Error::msg(sentence)));
                }
                // A latency of zero is below the clock: there is nothing to compare.
                Err(_) => {}
            }
        }
        self.rows = corrected(rows);
        Ok(())
    }

    /// How far equal sides were apart, at 95 %: the floor below which this machine shows nothing.
    pub(crate) fn noise_floor(&self) -> Option<f64> {
        self.gate().and_then(Row::reach)
    }

    /// The same of one figure.
    pub(crate) fn noise_floor_of(&self, figure: &str) -> Option<f64> {
        self.rows.iter().find(|row| row.figure == figure)?.reach()
    }

    /// Whether sides were told apart; equal ones are where the machine is not steady.
    pub(crate) fn sides_differ(&self) -> bool {
        let verdict = self.gate().map(|gate| gate.verdict);
        matches!(verdict, Some(Verdict::Improved | Verdict::Regressed))
    }

    pub(crate) fn pairs(&self) -> usize {
        self.pairs
    }

    fn gate(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.gates)
    }
}

#[cfg(test)]
pub(crate) mod tests;
