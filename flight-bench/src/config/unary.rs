//! What a command line of `unary` means, and of an open loop.

use flight_wire::limits::RECEIVE_MESSAGE_BYTES_MAX;

use super::{AskedPace, Checks, Config, LinkConfig, Load, Output, Target, UnaryWork, Work};
use crate::cli::{Call, Format, PaceArgs, Source, UnaryArgs};
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
        let max = RECEIVE_MESSAGE_BYTES_MAX as u64;
        let unary = UnaryWork {
            call,
            source: work.source.or(work.sql),
            action: work.action.unwrap_or_else(|| "ping".to_owned()),
            body: work.body.unwrap_or_default(),
        };
        let load = Load::from_args(&args.load)?;
        Ok(Self {
            work: Work::Unary(unary),
            link: LinkConfig::new(&args.target, Some(&args.http2), max)?,
            server_pid: args.target.server_pid,
            target: Target::new(args.target, args.tls)?,
            checks: Checks::new(args.check, Workload::Unary, &load, &args.output.keep.runs)?,
            load,
            pace: AskedPace::of(&args.pace),
            output: Output::new(args.output)?,
        })
    }
}
