//! The command line: what may be written, and nothing of what it means.
//!
//! Parsing only validates single values. What goes together is decided in `config`. Every option
//! can also be set by an environment variable, `FLIGHT_BENCH_` and its name in capitals.

mod ab;
mod check;
mod compare;
mod connect;
mod doctor;
mod engines;
mod exchange;
mod file;
mod get;
mod ladder;
mod mixed;
mod output;
mod pace;
mod put;
mod quick;
mod report;
mod selftest;
mod source;
mod sweep;
mod target;
mod tls;
mod unary;
pub(crate) mod units;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub(crate) use ab::{AbArgs, AbSidesArgs};
pub(crate) use check::{BuildArgs, CheckArgs, FailIfArgs, JudgeArgs};
pub(crate) use compare::{CompareArgs, CompareFormat};
pub(crate) use connect::Connect;
pub(crate) use doctor::{CompletionsArgs, DoctorArgs};
pub(crate) use engines::EnginesArgs;
pub(crate) use exchange::ExchangeArgs;
pub(crate) use get::{Follow, GetArgs, GetWorkArgs, Verify};
pub(crate) use ladder::{LadderArgs, LadderServeArgs};
pub(crate) use mixed::MixedArgs;
pub(crate) use output::{Format, KeepArgs, OutputArgs, Progress, Semantics, SemanticsArgs};
pub(crate) use pace::{Arrival, PaceArgs, Rate};
pub(crate) use put::PutArgs;
pub(crate) use quick::{QuickArgs, QuickLoadArgs, QuickWorkArgs};
pub(crate) use report::{BaselineArgs, BaselineCommand, ReportArgs, RunsArgs};
pub(crate) use selftest::SelftestArgs;
pub(crate) use source::{Source, Text, named};
pub(crate) use sweep::SweepArgs;
pub(crate) use target::{Http2Args, LoadArgs, TargetArgs, TlsArgs, TransportName};
pub(crate) use tls::{KeyKind, Mutual, Resume, TlsRowsArgs, TlsSubjectArgs};
pub(crate) use unary::{Call, UnaryArgs, UnaryWorkArgs};

/// What stands below the options in every help page.
const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 an error of the server, a mismatch, or a server that died; 2 wrong use;
3 a threshold failed or a comparison found a regression; 4 the result does not settle what was
asked (--strict); 5 nothing answers at the target; 130 interrupted (what was measured is printed).

Every option can be set in the environment: --message-bytes as FLIGHT_BENCH_MESSAGE_BYTES.
Proxy variables (http_proxy, https_proxy) are not followed: a proxy would be measured too.";

/// Measures Arrow Flight servers: DoGet and DoPut, in plaintext and over TLS.
///
/// Without a command it runs `quick`: six interleaved measurements against a flight-server that
/// it starts itself, and one table. With a TARGET such as grpc://127.0.0.1:8815 it measures that
/// server.
#[derive(Debug, Parser)]
#[command(
    name = "flight-bench",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = EXIT_CODES
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// File of options: a table a command, such as [get], a key an option.
    ///
    /// TOML: streams = 4, duration = "10s". Flags and variables of the environment come before it.
    /// --print-config writes one.
    #[arg(long, value_name = "FILE", global = true, help_heading = "Output")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) quick: QuickArgs,
}

#[derive(Debug, Subcommand)]
// Parsed once a process: the size of a variant does not matter.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Command {
    /// One table: DoGet and DoPut in plaintext and over TLS, side by side.
    ///
    /// Rounds are interleaved, so that what the machine does meanwhile hits all rows alike, and
    /// the cost of TLS is a ratio within each round. Takes less than a minute.
    #[command(after_help = EXIT_CODES)]
    Quick(QuickArgs),

    /// Measures DoGet: how fast record batches arrive and are decoded.
    ///
    /// Streams read as fast as they can (a closed loop). A batch counts once it is decoded. Streams
    /// that end while the clock runs are opened again. Locations that a server advertises are not
    /// followed: all is read from TARGET.
    #[command(after_help = EXIT_CODES)]
    Get(GetArgs),

    /// Measures DoPut: how fast record batches are taken and acknowledged.
    ///
    /// A batch counts when the server acknowledges it. Servers that do not acknowledge single
    /// batches are measured by whole uploads, and the report says so.
    #[command(after_help = EXIT_CODES)]
    Put(PutArgs),

    /// Measures DoExchange: batches that a server sends back, there and back.
    ///
    /// A batch counts when it has come back and is decoded. Without a TARGET a flight-server with
    /// --perf is started, which echoes.
    #[command(after_help = EXIT_CODES)]
    Exchange(ExchangeArgs),

    /// Measures calls without batches: GetFlightInfo, GetSchema, ListFlights, DoAction, PollFlightInfo.
    ///
    /// Each stream makes one call after another; -s 64 is 64 callers. With --rate, calls are made at
    /// times that are drawn beforehand (an open loop), and response times count from these.
    #[command(after_help = EXIT_CODES)]
    Unary(UnaryArgs),

    /// Measures a mix of operations: whole reads, uploads, exchanges and calls, by weight.
    ///
    /// Such as 'flight-bench mixed --mix get=70,put=20,info=10'. Each stream draws its next operation
    /// from a seed and does it to its end. Reported are all together and each kind by itself: its
    /// operations, bytes, latencies and failures, and the mix that was reached beside the one that was
    /// asked for. Without a TARGET a flight-server is started.
    #[command(after_help = EXIT_CODES)]
    Mixed(MixedArgs),

    /// Measures connections: how many are ready a second, and what their steps take.
    ///
    /// Each stream connects, makes a call, and closes, over and over: socket, TLS handshake, HTTP/2
    /// and the first answer, each by itself. Without a TARGET servers with certificates of their own
    /// are started, and rows are measured in interleaved rounds: each engine with full handshakes and
    /// resumed sessions, other groups, other keys, mutual TLS; or each combination of what --resume,
    /// --key, --engines, --groups and --mutual name.
    #[command(after_help = EXIT_CODES)]
    Tls(TlsSubjectArgs),

    /// What TLS costs with each of its implementations and cipher suites, beside plaintext.
    ///
    /// DoGet and DoPut in plaintext and with aws-lc, ring and OpenSSL × AES-128-GCM, AES-256-GCM and
    /// ChaCha20-Poly1305, in interleaved rounds: MB/s, processor time of both ends and the share of
    /// plaintext within each round. A flight-server is started for each engine. Takes three minutes.
    #[command(after_help = EXIT_CODES)]
    Engines(EnginesArgs),

    /// What each layer between memory and Flight costs, rung by rung.
    ///
    /// memcpy, raw TCP, raw TLS, HTTP/2, gRPC without a message format, Flight without decoding,
    /// and Flight: the same messages in one stream between two processes, in interleaved rounds,
    /// with the processor time of both. A flight-server is started for the Flight rungs.
    #[command(after_help = EXIT_CODES)]
    Ladder(LadderArgs),

    /// Tells again what was measured, in any form: runs, ladders, sweeps, comparisons.
    ///
    /// Everything that is measured is kept on this machine, and 'flight-bench report' tells the last
    /// of it. What compare said is told from the files that --out wrote.
    #[command(after_help = EXIT_CODES)]
    Report(ReportArgs),

    /// Compares kept runs: what differs, and how sure that is.
    ///
    /// The first is the base. Repeats are compared by ranks, so that each side needs 4 of them. What
    /// the machine did between the runs is not controlled: 'flight-bench ab' measures both in turn.
    #[command(after_help = EXIT_CODES)]
    Compare(CompareArgs),

    /// Measures two sides in turn: two servers, builds, sets of options, or commands.
    ///
    /// Such as 'flight-bench ab --b "--streams 4" get --duration 1s'. Pair by pair, each side is
    /// measured once, with servers and connections of its own, and each is first in turn (ABBA). What
    /// the machine does meanwhile hits both alike.
    #[command(after_help = EXIT_CODES)]
    Ab(AbArgs),

    /// Varies one or two options of a command: where more brings no more, and how load becomes latency.
    ///
    /// Such as 'flight-bench sweep --vary streams=1,2,4,8 get'. Every round measures every setting
    /// once, in an order that a seed draws. With --slo it searches the highest rate that keeps a
    /// promise, such as 'flight-bench sweep --slo "unary.response.p99 <= 2ms" unary info'.
    #[command(after_help = EXIT_CODES)]
    Sweep(SweepArgs),

    /// Keeps runs under a name, to compare others with.
    Baseline(BaselineArgs),

    /// Looks at this machine, for three seconds: what makes measurements worse, and how to mend it.
    ///
    /// Needs no root and changes nothing. With --aa, also for a minute: which differences are noise here.
    Doctor(DoctorArgs),

    /// Proves this program on this machine: experiments whose outcomes are known.
    ///
    /// Services of known times on a made-up clock, and thousands of made-up series for the
    /// comparisons; with --long, real servers too. Exit code 1 when one fails.
    Selftest(SelftestArgs),

    /// Prints completions for a shell.
    Completions(CompletionsArgs),

    /// Prints the manual page, for man(1).
    Man,

    /// The other end of the ladder's lower rungs; started by it.
    ///
    /// Serves until stdin closes.
    #[command(hide = true)]
    LadderServe(LadderServeArgs),
}

/// Reads the command line of this process; help, version and wrong use end the process.
pub(crate) fn parse() -> Cli {
    from(std::env::args_os()).unwrap_or_else(|error| error.exit())
}

/// The options of this process as a file, where `--print-config` asks for them.
pub(crate) fn printed_config() -> Option<String> {
    let command = with_config(std::env::args_os()).ok()?;
    let matches = command.clone().try_get_matches_from(std::env::args_os()).ok()?;
    // Without a command it is quick, whose options the program itself has.
    let (name, part) = matches.subcommand().unwrap_or(("quick", &matches));
    let asked = part.try_get_one::<bool>("print_config").ok().flatten().copied();
    asked.unwrap_or(false).then(|| file::resolved(&command, name, part))
}

/// Reads a command line, its first word being the program.
///
/// # Errors
///
/// What clap refuses; also its way of asking for help and version.
pub(crate) fn from(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let words: Vec<OsString> = words.into_iter().collect();
    let matches = with_config(words.iter().cloned())?.try_get_matches_from(words)?;
    Cli::from_arg_matches(&matches)
}

/// The long names of the options of a command that a command line gives itself: not those of the
/// environment, of a file or by default. Of a line that is wrong, those before the fault.
pub(crate) fn given(words: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let line = std::iter::once(OsString::from("flight-bench")).chain(words);
    let Ok(matches) = command().ignore_errors(true).try_get_matches_from(line) else {
        return Vec::new();
    };
    let Some((name, part)) = matches.subcommand() else { return Vec::new() };
    let of_line = |arg: &&clap::Arg| {
        part.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    let definition = command();
    let options = definition.find_subcommand(name).into_iter();
    let options = options.flat_map(clap::Command::get_arguments);
    options.filter(of_line).filter_map(|arg| arg.get_long().map(str::to_owned)).collect()
}

/// The definition, with the defaults of the file that `words` or the environment name.
fn with_config(words: impl Iterator<Item = OsString>) -> Result<clap::Command, clap::Error> {
    let command = command();
    let words: Vec<OsString> = words.take_while(|word| word != "--").collect();
    let named = words.iter().enumerate().find_map(|(at, word)| {
        let joined = word.to_str().and_then(|word| word.strip_prefix("--config="));
        joined
            .map(OsString::from)
            .or_else(|| words.get(at + 1).filter(|_| word == "--config").cloned())
    });
    match named.or_else(|| std::env::var_os("FLIGHT_BENCH_CONFIG")) {
        None => Ok(command),
        Some(path) => file::with_file(command.clone(), Path::new(&path), &words)
            .map_err(|why| command.clone().error(clap::error::ErrorKind::InvalidValue, why)),
    }
}

/// The definition of the whole command line.
pub(crate) fn command() -> clap::Command {
    with_environment(Cli::command())
}

/// Gives every option its environment variable.
fn with_environment(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let name = arg.get_long().unwrap_or_else(|| arg.get_id().as_str());
        let variable = format!("FLIGHT_BENCH_{}", name.to_uppercase().replace('-', "_"));
        // clap keeps names for the life of the process; there are a few dozen, made once.
        let variable: &'static str = variable.leak();
        arg.env(variable).hide_env_values(true)
    });
    command.mut_subcommands(with_environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_option_is_documented_and_has_a_heading_and_a_variable() {
        let mut root = command();
        root.build();
        for command in root.get_subcommands() {
            for arg in command.get_arguments().filter(|a| a.get_id() != "help") {
                let name = format!("{} {}", command.get_name(), arg.get_id());
                let line = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(line.len() > 10 && line.len() < 90, "{name}: {line:?}");
                let text = arg.get_long_help().map(ToString::to_string).unwrap_or_default();
                assert!(text.lines().count() > 1, "{name} has no paragraph");
                assert!(arg.get_help_heading().is_some(), "{name} has no heading");
                assert!(arg.get_env().is_some(), "{name} has no variable");
            }
        }
    }

    #[test]
    fn no_command_means_quick_and_a_target_may_follow_at_once() {
        check("", "quick, no target");
        check("grpc://h:1", "quick at grpc://h:1");
        check("quick grpc://h:1", "quick at grpc://h:1");
        check("get grpc://h:1 --streams 4", "get at grpc://h:1");
        check("put", "put, no target");
        check("unary info grpc://h:1 -s 64 --rate 70%", "unary at grpc://h:1");
        check("mixed grpc://h:1 --mix get=1,list=1", "mixed at grpc://h:1");
        check("ladder --server-arg=--perf", "ladder, no target");
        check("engines --engines ring --suites TLS13_AES_128_GCM_SHA256", "engines, no target");
    }

    #[test]
    fn options_are_known_by_their_long_names_however_they_are_given() {
        let check = |line: &str, want: &[&str]| {
            let mut got = given(line.split_whitespace().map(OsString::from));
            got.sort();
            assert_eq!(got, want, "{line}");
        };
        check("get -s8 grpc://h:1", &["streams"]);
        check("get -qo json --streams=8", &["format", "quiet", "streams"]);
        check("unary info -r 5", &["rate"]);
        check("get --progress none --sideways", &["progress"]);
        check(
            "get --num-streams 4 --num-threads 2 --num-perf-runs 3 --records-per-batch 9",
            &["batch-rows", "repeats", "streams", "threads"],
        );
        check("get -- -s8", &[]);
    }

    #[test]
    fn wrong_use_is_refused_with_the_value_and_the_way_out() {
        check("get --message-bytes 64k", "64kB (powers of 1000) or 64KiB (powers of 1024)");
        check("get --duration 5", "write 500ms, 10s or 2m");
        check("get --source nowhere", "path:a/b, cmd:TEXT, sql:QUERY, ticket:TEXT or perf");
        check("get --sql= ", "the query is empty");
        check("get --sql x --source perf", "cannot be used with");
        check("get --follow-locations some", "[possible values: never, same, always]");
        check("get --duration 1s --batches 5", "cannot be used with");
        check(
            "engines --suites TLS_AES_128_CCM_SHA256",
            "no cipher suite of TLS 1.3; those are TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, \
             TLS_CHACHA20_POLY1305_SHA256",
        );
        check("engines --engines boring", "'boring'; the known ones are aws-lc, ring, openssl");
        check("get --verify maybe", "[possible values: none, count, checksum]");
        check(
            "mixed --mix get=70,fetch=30",
            "'fetch' is no kind of operation; those are get, put,",
        );
        check("mixed --mix get=-5", "get: '-5' is no weight");
        check("sideways", "sideways");
        check("get --tls-insecure --tls-ca ca.pem", "cannot be used with");
        check("get --tls-cert c.pem", "--tls-key");
    }

    fn check(line: &str, want: &str) {
        let words = std::iter::once("flight-bench").chain(line.split_whitespace());
        let got = match from(words.map(OsString::from)) {
            Err(error) => error.to_string(),
            Ok(cli) => describe(cli),
        };
        assert!(got.contains(want), "{line:?} gave {got:?}");
    }

    fn describe(cli: Cli) -> String {
        let (name, target) = match cli.command {
            None => ("quick", cli.quick.target.target),
            Some(Command::Quick(args)) => ("quick", args.target.target),
            Some(Command::Get(args)) => ("get", args.target.target),
            Some(Command::Put(args)) => ("put", args.target.target),
            Some(Command::Unary(args)) => ("unary", args.target.target),
            Some(Command::Tls(args)) => ("tls", args.target.target),
            Some(Command::Exchange(args)) => ("exchange", args.target.target),
            Some(Command::Mixed(args)) => ("mixed", args.target.target),
            Some(Command::Engines(_)) => ("engines", None),
            Some(Command::Ladder(_)) => ("ladder", None),
            Some(Command::LadderServe(_)) => ("ladder-serve", None),
            Some(Command::Report(_)) => ("report", None),
            Some(Command::Baseline(_)) => ("baseline", None),
            Some(
                Command::Doctor(_) | Command::Selftest(_) | Command::Completions(_) | Command::Man,
            ) => ("tool", None),
            Some(Command::Compare(_)) => ("compare", None),
            Some(Command::Ab(_)) => ("ab", None),
            Some(Command::Sweep(_)) => ("sweep", None),
        };
        target.map_or(format!("{name}, no target"), |target| format!("{name} at {target}"))
    }
}
