//! A file of options: what `--config` reads and `--print-config` writes.
//!
//! A table a command, a key an option, as at the command line: `[get]`, `streams = 4`,
//! `duration = "10s"`. What is written there takes the place of an option's default, so that flags
//! and variables of the environment come before it; what cannot go together with one of these is
//! left out.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, Id};
use toml::{Table, Value};

use crate::limits::CONFIG_FILE_BYTES_MAX;

/// What is run without a command: its options are those of the program itself.
const QUICK: &str = "quick";
/// Options that are about this run of the program and never part of a file.
const NOT_KEPT: [&str; 5] = ["help", "version", "config", "print_config", "dry_run"];

/// The command line with the defaults of a file, for the line that `words` are.
///
/// # Errors
///
/// The file cannot be read, is no TOML, or names a command or an option that does not exist.
pub(super) fn with_file(
    command: Command,
    path: &Path,
    words: &[OsString],
) -> Result<Command, String> {
    let refused = |why: String| format!("--config {}: {why}", path.display());
    let length = std::fs::metadata(path).map_err(|error| refused(error.to_string()))?.len();
    if length > CONFIG_FILE_BYTES_MAX {
        return Err(refused(format!("{length} bytes are more than {CONFIG_FILE_BYTES_MAX}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
    with_text(command, &text, words).map_err(refused)
}

fn with_text(mut command: Command, text: &str, words: &[OsString]) -> Result<Command, String> {
    let tables: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let given = Given::read(&command, words);
    for (name, options) in tables {
        let Value::Table(options) = options else {
            return Err(format!(
                "{name} stands outside of a table; write it below [get] or another command"
            ));
        };
        let Some(part) = command.find_subcommand(&name) else {
            return Err(format!("[{name}] is no command of this program"));
        };
        let mut part = part.clone();
        for (key, value) in options {
            let known = part.get_arguments().find(|arg| key_of(arg) == key && is_kept(arg));
            let Some(id) = known.map(|arg| arg.get_id().clone()) else {
                return Err(format!("{key} is no option of {name}; its help lists them"));
            };
            let values = values_of(&value).ok_or_else(|| {
                format!("[{name}] {key}: write a string, a number, true or a list")
            })?;
            if given.contradicts(&part, &name, &id) {
                continue;
            }
            // clap keeps them for the life of the process; they are read once.
            let values = values.into_iter().map(|value| &*value.leak());
            let values: Vec<&'static str> = values.collect();
            if name == QUICK {
                let values = values.clone();
                command = command.mut_arg(&id, |arg| arg.default_values(values).required(false));
            }
            part = part.mut_arg(id, |arg| arg.default_values(values).required(false));
        }
        command = command.mut_subcommand(name, |_| part);
    }
    Ok(command)
}

/// The options that the line or the environment give, and of which command.
struct Given {
    command: String,
    ids: Vec<Id>,
}

impl Given {
    fn read(command: &Command, words: &[OsString]) -> Self {
        // What is missing still may stand in the file.
        let matches = command.clone().ignore_errors(true).try_get_matches_from(words);
        let ids = |of: &ArgMatches| {
            let given = |id: &&Id| {
                let source = of.value_source(id.as_str());
                source.is_some_and(|source| source != ValueSource::DefaultValue)
            };
            of.ids().filter(given).cloned().collect()
        };
        let none = || Self { command: QUICK.to_owned(), ids: Vec::new() };
        matches.map_or_else(
            |_| none(),
            |matches| match matches.subcommand() {
                Some((name, part)) => Self { command: name.to_owned(), ids: ids(part) },
                None => Self { command: QUICK.to_owned(), ids: ids(&matches) },
            },
        )
    }

    /// Whether one of them cannot go together with this option of a command.
    fn contradicts(&self, part: &Command, name: &str, option: &Id) -> bool {
        let excludes = |one: &Id, other: &Id| {
            let arg = part.get_arguments().find(|arg| arg.get_id() == one);
            arg.is_some_and(|arg| {
                part.get_arg_conflicts_with(arg).iter().any(|arg| arg.get_id() == other)
            })
        };
        self.command == name
            && self.ids.iter().any(|given| excludes(given, option) || excludes(option, given))
    }
}

/// The options of this run as a file: it runs the same thing again.
pub(super) fn resolved(command: &Command, name: &str, matches: &ArgMatches) -> String {
    let mut table = Table::new();
    let part = command.find_subcommand(name);
    for arg in part.into_iter().flat_map(Command::get_arguments).filter(|arg| is_kept(arg)) {
        let id = arg.get_id().as_str();
        let text = |value: &OsStr| value.to_string_lossy().into_owned();
        let Some(raw) = matches.get_raw(id) else { continue };
        let mut values: Vec<Value> = raw.map(|value| Value::String(text(value))).collect();
        let value = match arg.get_action() {
            ArgAction::SetTrue if !matches.get_flag(id) => continue,
            ArgAction::SetTrue => Value::Boolean(true),
            ArgAction::Append => Value::Array(values),
            _ if values.len() == 1 => values.remove(0),
            _ => Value::Array(values),
        };
        table.insert(key_of(arg).to_owned(), value);
    }
    let whole = Table::from_iter([(name.to_owned(), Value::Table(table))]);
    whole.to_string()
}

fn is_kept(arg: &Arg) -> bool {
    !NOT_KEPT.contains(&arg.get_id().as_str())
}

/// An option's key in a file: its long name, or a value's name without one.
fn key_of(arg: &Arg) -> &str {
    arg.get_long().unwrap_or_else(|| arg.get_id().as_str())
}

fn values_of(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Integer(number) => Some(vec![number.to_string()]),
        Value::Boolean(yes) => Some(vec![yes.to_string()]),
        Value::Array(values) => {
            let one = |value| values_of(value).filter(|values| values.len() == 1);
            Some(values.iter().map(one).collect::<Option<Vec<_>>>()?.concat())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::super::{Cli, Command as Parsed, command};
    use super::*;

    /// The streams and duration of `line` with this file, or what is wrong.
    fn check(file: &str, line: &str, want: &str) {
        let words = std::iter::once("flight-bench").chain(line.split_whitespace());
        let words: Vec<OsString> = words.map(OsString::from).collect();
        let parsed = || {
            let command = with_text(command(), file, &words)?;
            let matches = command.try_get_matches_from(&words).map_err(|e| e.to_string())?;
            Cli::from_arg_matches(&matches).map_err(|e| e.to_string())
        };
        let got = match parsed() {
            Err(error) => error,
            Ok(Cli { command: Some(Parsed::Get(args)), .. }) => format!(
                "{} streams, {:?}, {:?}, quiet {}, {} sources, {:?} batches, {:?}",
                args.load.streams,
                args.load.duration,
                args.target.target.map(|target| target.to_string()),
                args.output.quiet,
                args.work.source.len(),
                args.load.batches,
                args.work.sql,
            ),
            Ok(Cli { command: None, quick, .. }) => {
                format!("quick, {} streams", quick.load.streams)
            }
            Ok(_) => "another command".to_owned(),
        };
        assert!(got.contains(want), "{file:?}, {line:?}: {got}");
    }

    #[test]
    fn a_file_gives_defaults_and_flags_come_before_it() {
        let file = "[get]\nstreams = 4\nduration = \"10s\"\nquiet = true\ntarget = \"grpc://h:1\"\n\
                    source = [\"path:a\", \"path:b\"]\n[put]\nstreams = 9\n";
        check(file, "get", "4 streams, Some(10s), Some(\"grpc://h:1\"), quiet true, 2 sources");
        check(file, "get -s 2 grpc://h:2", "2 streams, Some(10s), Some(\"grpc://h:2\")");
        check("", "get", "1 streams, None, None, quiet false, 0 sources");
    }

    #[test]
    fn what_the_line_says_leaves_out_what_cannot_go_with_it() {
        let file = "[get]\nbatches = 100\nsource = \"path:a\"\n[put]\nbatches = 5\n";
        check(file, "get", "None, None, quiet false, 1 sources, Some(100) batches, []");
        check(file, "get -d 1s", "Some(1s), None, quiet false, 1 sources, None batches");
        check(file, "get --warmup 1s", "1 sources, None batches");
        let line = "get --sql select";
        check(file, line, "0 sources, Some(100) batches, [S");
        check(
            "[get]\nduration = \"9s\"",
            "get --batches 7",
            "None, None, quiet false, 0 sources, Some(7)",
        );
        check(file, "put -d 1s", "another command");
    }

    #[test]
    fn a_table_of_quick_counts_without_a_command_too() {
        check("[quick]\nstreams = 7", "", "quick, 7 streams");
        check("[quick]\nstreams = 7", "-s 2", "quick, 2 streams");
    }

    #[test]
    fn what_a_file_cannot_say_is_named() {
        check("streams = 4", "get", "streams stands outside of a table");
        check("[got]\nstreams = 4", "get", "[got] is no command");
        check("[get]\nstreems = 4", "get", "streems is no option of get");
        check("[get]\nstreams = 1.5", "get", "write a string, a number");
        check("[get]\nstreams = \"many\"", "get", "many");
        check("[get]\nprint_config = true", "get", "print_config is no option");
        check("[get", "get", "TOML");
    }

    #[test]
    fn what_is_printed_runs_the_same_again() {
        let line = "get grpc://h:1 -s 3 --source path:a --source path:b -q --tls-min 1.3";
        let words = || std::iter::once("flight-bench").chain(line.split_whitespace());
        let matches = command().try_get_matches_from(words()).expect("right use");
        let (name, part) = matches.subcommand().expect("a command");
        let file = resolved(&command(), name, part);
        check(&file, "get", "3 streams, None, Some(\"grpc://h:1\"), quiet true, 2 sources");
        let words = ["flight-bench", "get"].map(OsString::from);
        let again = with_text(command(), &file, &words).expect("it was written here");
        let matches =
            again.clone().try_get_matches_from(["flight-bench", "get"]).expect("right use");
        let (name, part) = matches.subcommand().expect("a command");
        assert_eq!(resolved(&again, name, part), file);
    }
}
