//! One repeat of a command that another command repeats: what `ab` and `sweep` measure in turn.
//!
//! Their COMMAND is a command line of this program with words added to it. How often it is
//! repeated, judged and told is theirs, so that options for that are refused within it.

use std::ffi::OsString;

use anyhow::anyhow;

use crate::cli::{self, Progress};
use crate::config::{Config, Work};
use crate::exit::{Exit, Stop};
use crate::figure::Figure;
use crate::load::Interrupt;
use crate::report::Results;
use crate::run;

/// Who measures in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Series {
    Ab,
    Sweep,
}

impl Series {
    fn name(self) -> &'static str {
        match self {
            Self::Ab => "ab",
            Self::Sweep => "sweep",
        }
    }

    /// Its option in place of --repeats.
    fn repeats(self) -> &'static str {
        match self {
            Self::Ab => "--pairs",
            Self::Sweep => "--rounds",
        }
    }

    /// Refuses a COMMAND that is none of those that can be repeated.
    ///
    /// # Errors
    ///
    /// It is missing, another command, or has options that are not its own here.
    pub(crate) fn check_command(self, command: &[OsString]) -> Result<(), Stop> {
        let name = self.name();
        let refused = match command.first().map(|word| word.to_string_lossy()).as_deref() {
            Some("get" | "put" | "exchange" | "unary" | "tls" | "mixed") => {
                return self.check_options(command);
            }
            Some(other) => match self {
                Self::Ab => format!(
                    "ab compares get, put, exchange, unary, tls or mixed, not {other}; for other \
                     programs give --a-run and --b-run"
                ),
                Self::Sweep => format!(
                    "sweep measures get, put, exchange, unary, tls or mixed, not {other}; end with \
                     one of them and its options"
                ),
            },
            None => format!(
                "{name} has no COMMAND; end with get, put, exchange, unary, tls or mixed and its \
                 options{}",
                if self == Self::Ab { ", or give --a-run and --b-run" } else { "" }
            ),
        };
        Err(Stop::usage(refused))
    }

    /// Refuses options of a single run that mean something else here, or nothing. Set in the
    /// environment or a file they are for other commands, and are passed over.
    ///
    /// # Errors
    ///
    /// The command line that `words` are has such an option.
    pub(crate) fn check_options(self, words: &[OsString]) -> Result<(), Stop> {
        let given = cli::given(words.iter().cloned());
        match given.iter().find_map(|name| self.refusal(name)) {
            Some(refused) => Err(Stop::usage(refused)),
            None => Ok(()),
        }
    }

    /// Why a command has no such option here; `None` if it has.
    fn refusal(self, name: &str) -> Option<String> {
        let series = self.name();
        let judges = match self {
            Self::Ab => "judges both sides together",
            Self::Sweep => "judges all settings together",
        };
        Some(match name {
            "repeats" => format!(
                "a run of {series} is one repeat; give {} in place of --repeats",
                self.repeats()
            ),
            "fail-if" | "baseline" | "strict" | "equivalence" | "allow-diff" | "allow-debug" => {
                format!("{series} {judges}; leave --{name} out of the command")
            }
            "format" | "out" | "quiet" | "no-save" | "runs-dir" => {
                format!("--{name} is an option of {series}; write it before the command")
            }
            "dry-run" if self == Self::Sweep => {
                format!("--{name} is an option of {series}; write it before the command")
            }
            "dry-run" | "print-config" => {
                format!("--{name} is for a single run; leave it out, or ask the command by itself")
            }
            "progress" => format!(
                "--progress is for a single run, and {series} has a line for every measurement; \
                 leave it out, or write --quiet before the command"
            ),
            _ => return None,
        })
    }
}

/// The configuration of one repeat of the command line that `words` are, the program left out.
///
/// # Errors
///
/// What clap refuses, or options that do not go together: a sentence, for its caller to say of
/// which words it is.
pub(crate) fn config_of(words: impl IntoIterator<Item = OsString>) -> Result<Config, String> {
    let line = std::iter::once(OsString::from("flight-bench")).chain(words);
    let cli = cli::from(line).map_err(|error| {
        let text = error.to_string();
        // clap's usage and hints are those of another command line than the user's.
        let first = text.lines().next().unwrap_or_default();
        first.trim_start_matches("error: ").to_owned()
    })?;
    let mut config = Config::from_cli(cli).map_err(|stop| stop.to_string())?;
    if let Work::Tls(work) = &config.work
        && work.rows.len() > 1
    {
        return Err(
            "tls has several rows there, and one is compared with itself; choose it, such as \
                    with --resume full"
                .to_owned(),
        );
    }
    config.load.repeats = 1;
    config.output.progress = Progress::None;
    config.output.keep = None;
    Ok(config)
}

/// Runs what `config` says, in this round of the series: measurements of one round draw alike.
///
/// # Errors
///
/// The run failed or was broken off: a series has no use for figures beside failures.
pub(crate) async fn measure(
    config: &Config,
    round: usize,
    interrupt: &Interrupt,
) -> Result<Results, Stop> {
    let results = Box::pin(run::run_from(config, round as u64, interrupt)).await;
    let outcome = &results.outcome;
    if outcome.exit != Exit::Done {
        let why = outcome.error.clone().unwrap_or_else(|| "the run failed".to_owned());
        return Err(Stop::with_exit(outcome.exit, anyhow::Error::msg(why)));
    }
    Ok(results)
}

/// The figures of a run of one repeat, the throughput first.
///
/// # Errors
///
/// There are none.
pub(crate) fn figures(results: &Results) -> Result<Vec<(Figure, f64)>, Stop> {
    let value = |figure: Figure| {
        let value = *figure.values(results)?.first()?;
        Some((figure, value))
    };
    let values: Vec<_> = Figure::of_run(results).into_iter().filter_map(value).collect();
    if values.is_empty() {
        return Err(Stop::failed(anyhow!("nothing was moved: the source is empty")));
    }
    Ok(values)
}

/// A word of a command line as it may be told: tickets are secrets.
pub(crate) fn shown(word: &str) -> String {
    match word.find("ticket:") {
        Some(at) => format!("{}ticket:<redacted>", &word[..at]),
        None => word.to_owned(),
    }
}

/// The words of a command line as they may be told: values of `--header` are secrets too.
pub(crate) fn shown_line(words: &[OsString]) -> Vec<String> {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let told = |(index, word): (usize, &std::borrow::Cow<'_, str>)| {
        let is_value = index > 0 && words[index - 1] == "--header";
        match word.strip_prefix("--header=").or(is_value.then_some(word)) {
            Some(header) => {
                let name = header.split(':').next().unwrap_or_default();
                let flag = if is_value { "" } else { "--header=" };
                format!("{flag}{name}:<redacted>")
            }
            None => shown(word),
        }
    };
    words.iter().enumerate().map(told).collect()
}

/// The command that does `work`.
pub(crate) fn name(work: &Work) -> &'static str {
    match work {
        Work::Quick(_) => "quick",
        Work::Get(_) => "get",
        Work::Put(_) => "put",
        Work::Unary(_) => "unary",
        Work::Tls(_) => "tls",
        Work::Engines(_) => "engines",
        Work::Exchange(_) => "exchange",
        Work::Mixed(_) => "mixed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_a_series_would_drop_are_refused_however_they_are_written() {
        let check = |series: Series, line: &str, want: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let got = series.check_command(&words);
            let got = got.map_or_else(|stop| stop.to_string(), |()| "accepted".to_owned());
            assert!(got.contains(want), "{line}: {got}");
        };
        for series in [Series::Ab, Series::Sweep] {
            let own = format!("is an option of {}; write it before the command", series.name());
            check(series, "get -qo json", &own);
            check(series, "get -ojson", &format!("--format {own}"));
            check(series, "put -s 2 --out=x.json", &format!("--out {own}"));
            check(series, "get -q", &format!("--quiet {own}"));
            check(series, "get --progress plain", "--progress is for a single run, and");
            check(series, "unary info --print-config", "--print-config is for a single run");
            check(series, "get --runs-dir x", &format!("--runs-dir {own}"));
            check(series, "get --strict", "together; leave --strict out of the command");
            check(series, "get --no-save -s8", &format!("--no-save {own}"));
            check(series, "get -s8", "accepted");
            // The value of another option, and what is no option.
            check(series, "get --source path:--out", "accepted");
        }
        check(Series::Ab, "get --repeats=3", "give --pairs in place of --repeats");
        check(Series::Sweep, "get --repeats 3", "give --rounds in place of --repeats");
        check(Series::Ab, "get --dry-run", "--dry-run is for a single run");
        check(Series::Sweep, "get --dry-run", "--dry-run is an option of sweep; write it before");
    }

    #[test]
    fn a_word_is_told_without_its_tickets() {
        assert_eq!(shown("--streams"), "--streams");
        assert_eq!(shown("--source=ticket:abc"), "--source=ticket:<redacted>");
        let line = "--header k:s3cret -s 8 --header=k:s3cret --source ticket:s3cret";
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let told = "--header k:<redacted> -s 8 --header=k:<redacted> --source ticket:<redacted>";
        assert_eq!(shown_line(&words).join(" "), told);
    }
}
