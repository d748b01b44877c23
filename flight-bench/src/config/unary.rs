//! What a command line of `unary` means, and of an open loop.

use flight_wire::limits::RECEIVE_MESSAGE_BYTES_MAX;

use super::{AskedPace, Checks, Config, LinkConfig, Load, Output, Target, UnaryWork, Work};
use crate::cli::{
    Call, Connect, Format, LoadArgs, PaceArgs, Source, TargetArgs, UnaryArgs, UnaryWorkArgs,
};
use crate::exit::Stop;
use crate::report::Workload;

impl AskedPace {
    pub(super) fn of(args: &PaceArgs) -> Option<Self> {
        args.rate.map(|rate| Self { rate, arrival: args.arrival })
    }
}

impl Config {
    pub(super) fn unary(args: UnaryArgs) -> Result<Self, Stop> {
        let (call, work) = (args.call, args.work);
        if args.output.format == Format::Arrow {
            return Err(Stop::usage(
                "--format arrow has lines for batches alone; use it with get or put",
            ));
        }
        let asks = matches!(call, Call::Info | Call::Schema | Call::Poll);
        let rules = [
            ("--source", work.source.is_some(), asks, "info, schema and poll"),
            ("--sql", work.sql.is_some(), asks, "info, schema and poll"),
            ("--action", work.action.is_some(), call == Call::Action, "action"),
            ("--body", work.body.is_some(), call == Call::Action, "action"),
        ];
        if let Some((flag, .., calls)) =
            rules.into_iter().find(|(_, given, fits, _)| *given && !fits)
        {
            let name = call.name();
            return Err(Stop::usage(format!("{flag} goes with {calls}, not with {name}")));
        }
        if let Some(Source::Ticket(_)) = work.source {
            return Err(Stop::usage(
                "--source ticket: is for get; info, schema and poll ask about path:a/b, cmd:TEXT, \
                 sql:QUERY or perf",
            ));
        }
        check_connect(&work, &args.target)?;
        let max = RECEIVE_MESSAGE_BYTES_MAX as u64;
        let unary = UnaryWork {
            call,
            source: work.source.or(work.sql),
            action: work.action.unwrap_or_else(|| "ping".to_owned()),
            body: work.body.unwrap_or_default(),
            connect: work.connect,
            linger: work.linger,
        };
        let load = load_of_calls(work.connect, args.load)?;
        let link = LinkConfig::new(&args.target, Some(&args.http2), max)?;
        Ok(Self {
            // A port of a closed connection would be taken for a minute, and there are 28 000.
            link: LinkConfig { reset_on_close: work.connect.is_own(), ..link },
            work: Work::Unary(unary),
            server_pid: args.target.server_pid,
            target: Target::new(args.target, args.tls)?,
            checks: Checks::new(args.check, Workload::Unary, &load, &args.output.keep.runs)?,
            load,
            pace: AskedPace::of(&args.pace),
            output: Output::new(args.output)?,
        })
    }
}

/// Refuses connections of calls that cannot be made so.
fn check_connect(work: &UnaryWorkArgs, target: &TargetArgs) -> Result<(), Stop> {
    let connect = work.connect;
    if work.linger.is_some() && connect == Connect::Shared {
        return Err(Stop::usage(
            "--linger is for connections that a call makes, with --connect per-call or resumed; \
             shared ones stay open in any case",
        ));
    }
    let why = match &target.target {
        Some(endpoint) if endpoint.is_tls() => return Ok(()),
        Some(endpoint) => format!("TARGET {endpoint} is without it; write grpc+tls://HOST:PORT"),
        None => "the server that is started is without it; give a TARGET such as \
                 grpc+tls://HOST:PORT"
            .to_owned(),
    };
    match connect {
        Connect::Resumed => {
            Err(Stop::usage(format!("--connect resumed resumes sessions of TLS, and {why}")))
        }
        Connect::Shared | Connect::PerCall | Connect::Pooled(_) => Ok(()),
    }
}

/// The load of calls: how many connections there are, `--connect` says too.
fn load_of_calls(connect: Connect, mut args: LoadArgs) -> Result<Load, Stop> {
    if connect != Connect::Shared && args.connections.is_some() {
        return Err(Stop::usage(format!(
            "--connections is for --connect shared; --connect {connect} says how many there are"
        )));
    }
    if let Connect::Pooled(connections) = connect {
        // Streams have one call each, so that no more of them are ever busy.
        args.connections = Some(connections.min(args.streams));
    }
    Load::from_args(&args)
}
