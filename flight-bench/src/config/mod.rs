//! What a command line means: every rule about which options go together stands here.
//!
//! Nothing is opened or asked yet; files named by options are read where they are used.

mod check;
mod engines;
mod exchange;
mod ladder;
mod metadata;
mod mixed;
mod shared;
mod tls;
mod unary;

use std::path::PathBuf;
use std::time::Duration;

use flight_net::Endpoint;
use flight_net::client::Transport;
use flight_tls::{Engine, Group};
use flight_wire::limits::{
    RECEIVE_MESSAGE_BYTES_MAX, SEND_MESSAGE_BYTES_MAX, SEND_MESSAGE_BYTES_MIN,
};

pub(crate) use crate::cli::{Arrival, Connect, KeyKind, Rate, Resume};
use crate::cli::{
    Call, Cli, Command, Follow, Format, GetArgs, Progress, PutArgs, QuickArgs, Source, TlsArgs,
    Verify,
};
use crate::exit::Stop;
use crate::limits;
use crate::report::Workload;
use crate::saved::Saved;
use crate::workload::Mix;
pub(crate) use check::{Baseline, Checks, Judging, check_build};
pub(crate) use engines::{EnginesWork, names_of};
pub(crate) use ladder::LadderConfig;
pub(crate) use shared::{comparison_output, files_of, keep};
use shared::{optional, within};

/// A run as it will be done.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) work: Work,
    pub(crate) target: Target,
    /// The process of a given server on this machine.
    pub(crate) server_pid: Option<u32>,
    pub(crate) link: LinkConfig,
    pub(crate) load: Load,
    /// Of an open loop.
    pub(crate) pace: Option<AskedPace>,
    pub(crate) checks: Checks,
    pub(crate) output: Output,
}

/// An open loop as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AskedPace {
    pub(crate) rate: Rate,
    pub(crate) arrival: Arrival,
}

/// An open loop as it is run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pace {
    /// Batches, calls or operations a second of all streams together.
    pub(crate) per_second: f64,
    pub(crate) arrival: Arrival,
}

#[derive(Debug)]
pub(crate) enum Work {
    Quick(QuickWork),
    Get(GetWork),
    Put(PutWork),
    Unary(UnaryWork),
    Tls(TlsWork),
    Engines(EnginesWork),
    Exchange(ExchangeWork),
    Mixed(MixedWork),
}

#[allow(clippy::large_enum_variant, reason = "a run has one")]
#[derive(Debug)]
pub(crate) enum Target {
    Given {
        endpoint: Endpoint,
        tls: TlsArgs,
    },
    /// A flight-server that this run starts and stops.
    Child {
        program: Option<PathBuf>,
    },
}

/// How connections are made.
#[derive(Debug, Clone)]
pub(crate) struct LinkConfig {
    pub(crate) connect_timeout: Duration,
    /// How long the server may take to come up; absent: no longer than that takes by default.
    pub(crate) ready_timeout: Option<Duration>,
    pub(crate) stream_window: Option<u32>,
    pub(crate) connection_window: Option<u32>,
    pub(crate) transport: Transport,
    pub(crate) max_message_bytes: usize,
    /// What every call carries.
    pub(crate) metadata: http::HeaderMap,
    /// For runs that connect all the time.
    pub(crate) reset_on_close: bool,
}

/// How much runs at once, and for how long.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) streams: usize,
    pub(crate) connections: usize,
    pub(crate) threads: usize,
    pub(crate) extent: Extent,
    pub(crate) repeats: usize,
}

/// When a repeat is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// At the end of a window that opens after a warm-up.
    Window { warmup: Duration, duration: Duration },
    /// When each stream has moved so many batches.
    Batches(u64),
    /// When each stream has moved the whole source so often.
    Passes(u64),
}

#[derive(Debug)]
pub(crate) struct QuickWork {
    pub(crate) data: Option<PathBuf>,
    pub(crate) dataset: Option<String>,
    pub(crate) certs: Option<PathBuf>,
    pub(crate) sample_rows: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct GetWork {
    /// Empty: the server's only dataset.
    pub(crate) sources: Vec<Source>,
    pub(crate) sample_rows: u64,
    pub(crate) records_per_stream: u64,
    pub(crate) batch_rows: Option<u64>,
    pub(crate) message_bytes: Option<u64>,
    pub(crate) verify: Verify,
    pub(crate) follow: Follow,
}

#[derive(Debug, Clone)]
pub(crate) struct PutWork {
    /// Absent: datasets of this run alone.
    pub(crate) destination: Option<Source>,
    pub(crate) data: PutData,
    pub(crate) batch_rows: Option<u64>,
    /// Absent: as the size of the batches suggests.
    pub(crate) inflight: Option<usize>,
    pub(crate) upload_bytes: u64,
    pub(crate) message_bytes: usize,
    pub(crate) verify: Verify,
}

#[derive(Debug, Clone)]
pub(crate) struct ExchangeWork {
    pub(crate) source: Source,
    pub(crate) data: PutData,
    pub(crate) batch_rows: Option<u64>,
    /// Absent: as the size of the batches suggests.
    pub(crate) inflight: Option<usize>,
    pub(crate) message_bytes: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct MixedWork {
    pub(crate) mix: Mix,
    /// Absent: the server's only dataset.
    pub(crate) source: Option<Source>,
    pub(crate) sample_rows: u64,
    /// What put and exchange send.
    pub(crate) data: PutData,
    pub(crate) upload_bytes: u64,
    pub(crate) batch_rows: Option<u64>,
    /// Absent: as the size of the batches suggests.
    pub(crate) inflight: Option<usize>,
    pub(crate) message_bytes: usize,
    pub(crate) seed: u64,
    pub(crate) verify: Verify,
}

/// Connections of one kind, or of several side by side.
#[derive(Debug, Clone)]
pub(crate) struct TlsWork {
    pub(crate) rows: Vec<TlsRow>,
    /// Rows that there are none of, and why: a sentence each.
    pub(crate) missing: Vec<String>,
}

/// A kind of connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TlsRow {
    pub(crate) engine: Engine,
    /// The only one that is offered; absent: as the engine prefers, or the options of a TARGET say.
    pub(crate) group: Option<Group>,
    /// Of a server that is started.
    pub(crate) key: KeyKind,
    pub(crate) resume: Resume,
    /// Whether the client shows a certificate of this run.
    pub(crate) mutual: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct UnaryWork {
    pub(crate) call: Call,
    /// Absent: the server's only dataset.
    pub(crate) source: Option<Source>,
    pub(crate) action: String,
    pub(crate) body: String,
    pub(crate) connect: Connect,
    /// How long a connection of a call stays open after it.
    pub(crate) linger: Option<Duration>,
}

#[derive(Debug, Clone)]
pub(crate) enum PutData {
    File(PathBuf),
    Generated { pool: u64, seed: u64 },
}

#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) format: Format,
    pub(crate) files: Vec<(PathBuf, Format)>,
    pub(crate) progress: Progress,
    pub(crate) quiet: bool,
    /// Say what would be done, and do nothing.
    pub(crate) dry_run: bool,
    /// Where what was measured is kept; absent where it is not.
    pub(crate) keep: Option<Saved>,
    /// Where runs are, whether this one is kept or not.
    pub(crate) runs: Option<Saved>,
}

impl Config {
    /// # Errors
    ///
    /// Options that do not go together or values out of bounds: one sentence each, exit code 2.
    pub(crate) fn from_cli(cli: Cli) -> Result<Self, Stop> {
        let config = match cli.command {
            None => Self::quick(cli.quick),
            Some(Command::Quick(args)) => Self::quick(args),
            Some(Command::Get(args)) => Self::get(args),
            Some(Command::Put(args)) => Self::put(args),
            Some(Command::Unary(args)) => Self::unary(args),
            Some(Command::Tls(args)) => Self::tls(args),
            Some(Command::Engines(args)) => Self::engines(args),
            Some(Command::Exchange(args)) => Self::exchange(args),
            Some(Command::Mixed(args)) => Self::mixed(args),
            Some(
                Command::Ladder(_)
                | Command::LadderServe(_)
                | Command::Report(_)
                | Command::Baseline(_)
                | Command::Doctor(_)
                | Command::Selftest(_)
                | Command::Completions(_)
                | Command::Man
                | Command::Compare(_)
                | Command::Ab(_)
                | Command::Sweep(_),
            ) => Err(Stop::usage("this command measures no TARGET; use get or put")),
        }?;
        if config.output.format == Format::ArrowsOwn
            && matches!(config.load.extent, Extent::Window { .. })
        {
            return Err(Stop::usage(
                "--semantics arrow counts from the first connection to the last batch, so that a \
                 repeat must end by itself; give --batches or --passes",
            ));
        }
        Ok(config)
    }

    fn quick(args: QuickArgs) -> Result<Self, Stop> {
        if args.output.format == Format::Arrow {
            return Err(Stop::usage(
                "--format arrow has one measurement and quick makes several; use get or put",
            ));
        }
        let child_only =
            [("--data", args.work.data.is_some()), ("--certs", args.work.certs.is_some())];
        if let Some(target) = &args.target.target
            && let Some((flag, _)) = child_only.into_iter().find(|(_, given)| *given)
        {
            return Err(Stop::usage(format!(
                "{flag} is for the server that quick starts itself, and TARGET {target} runs \
                 already; leave one of them out"
            )));
        }
        let load = Load::of_rows(&args.load)?;
        Ok(Self {
            work: Work::Quick(QuickWork::new(args.work)?),
            link: LinkConfig::new(&args.target, None, RECEIVE_MESSAGE_BYTES_MAX as u64)?,
            server_pid: args.target.server_pid,
            target: Target::new(args.target, args.tls)?,
            checks: Checks::rows("quick", args.check, &load)?,
            load,
            pace: None,
            output: Output::new(args.output)?,
        })
    }

    fn get(args: GetArgs) -> Result<Self, Stop> {
        let mut work = args.work;
        let sources = [std::mem::take(&mut work.source), std::mem::take(&mut work.sql)].concat();
        check_get_sources(&sources, &work)?;
        if work.follow_locations == Follow::Always
            && args.tls.tls_insecure
            && args.tls.tls_cert.is_some()
        {
            return Err(Stop::usage(
                "--follow-locations always with --tls-insecure would show the certificate of \
                 --tls-cert to any host that the server names, whoever that is; trust servers with \
                 --tls-ca or --tls-pin, or follow no other host with same",
            ));
        }
        let records =
            within("--records-per-stream", work.records_per_stream, 1, limits::PERF_RECORDS_MAX)?;
        let get = GetWork {
            sample_rows: within("--sample-rows", work.sample_rows, 1, limits::SAMPLE_ROWS_MAX)?,
            records_per_stream: records,
            batch_rows: optional("--batch-rows", work.batch_rows, 1, limits::BATCH_ROWS_MAX)?,
            message_bytes: optional(
                "--message-bytes",
                work.message_bytes,
                SEND_MESSAGE_BYTES_MIN as u64,
                SEND_MESSAGE_BYTES_MAX as u64,
            )?,
            verify: work.verify,
            sources,
            follow: work.follow_locations,
        };
        let load = Load::from_args(&args.load)?;
        let link = LinkConfig::new(&args.target, Some(&args.http2), work.max_message_bytes)?;
        let secure = args.target.target.as_ref().is_some_and(Endpoint::is_tls);
        let is_verified = secure && !args.tls.tls_insecure;
        metadata::check_places(&link.metadata, work.follow_locations, is_verified)?;
        Ok(Self {
            work: Work::Get(get),
            link,
            server_pid: args.target.server_pid,
            target: Target::new(args.target, args.tls)?,
            checks: Checks::new(args.check, Workload::Get, &load, &args.output.keep.runs)?,
            load,
            pace: AskedPace::of(&args.pace),
            output: Output::new(args.output)?,
        })
    }

    fn put(args: PutArgs) -> Result<Self, Stop> {
        let work = args.work;
        match &work.source {
            Some(source @ (Source::Ticket(_) | Source::Sql(_))) => {
                let kind = if matches!(source, Source::Sql(_)) { "sql:" } else { "ticket:" };
                return Err(Stop::usage(format!(
                    "--source {kind} is for get; put writes to path:a/b, cmd:TEXT or perf"
                )));
            }
            Some(source) if work.verify == Verify::Checksum && source.stored_as().is_none() => {
                return Err(Stop::usage(format!(
                    "--verify checksum reads back what was stored, which --source {source} does \
                     not name; use --source path: or none"
                )));
            }
            _ => {}
        }
        if work.upload_bytes.is_some() && args.load.passes.is_some() {
            return Err(Stop::usage(
                "--upload-bytes cannot be used with --passes, where an upload is the whole data",
            ));
        }
        let upload_bytes = work.upload_bytes.unwrap_or(limits::UPLOAD_BYTES_DEFAULT);
        let message_bytes = within(
            "--message-bytes",
            work.message_bytes,
            SEND_MESSAGE_BYTES_MIN as u64,
            SEND_MESSAGE_BYTES_MAX as u64,
        )?;
        let inflight = optional("--inflight", work.inflight, 1, limits::INFLIGHT_MAX as u64)?;
        let put = PutWork {
            destination: work.source,
            batch_rows: optional("--batch-rows", work.batch_rows, 1, limits::BATCH_ROWS_MAX)?,
            data: match work.data_file {
                Some(file) => PutData::File(file),
                None => PutData::Generated {
                    pool: within("--pool", work.pool, 1, limits::POOL_MAX as u64)?,
                    seed: work.seed,
                },
            },
            inflight: inflight.map(|batches| batches as usize),
            upload_bytes: within("--upload-bytes", upload_bytes, 1, u64::MAX)?,
            message_bytes: message_bytes as usize,
            verify: work.verify,
        };
        let load = Load::from_args(&args.load)?;
        Ok(Self {
            work: Work::Put(put),
            link: LinkConfig::new(
                &args.target,
                Some(&args.http2),
                RECEIVE_MESSAGE_BYTES_MAX as u64,
            )?,
            server_pid: args.target.server_pid,
            target: Target::new(args.target, args.tls)?,
            checks: Checks::new(args.check, Workload::Put, &load, &args.output.keep.runs)?,
            load,
            pace: AskedPace::of(&args.pace),
            output: Output::new(args.output)?,
        })
    }
}

fn check_get_sources(sources: &[Source], work: &crate::cli::GetWorkArgs) -> Result<(), Stop> {
    for source in sources {
        let (path, perf) = (matches!(source, Source::Path(_)), *source == Source::Perf);
        let rules = [
            ("--message-bytes", work.message_bytes.is_some(), path, "path:"),
            ("--batch-rows", work.batch_rows.is_some(), path || perf, "path: or perf"),
            ("--verify checksum", work.verify == Verify::Checksum, path, "path:"),
        ];
        for (flag, given, allowed, kinds) in rules {
            if given && !allowed {
                return Err(Stop::usage(format!(
                    "{flag} is part of a request that this program writes; it goes with --source \
                     {kinds}, not with {}",
                    source.named()
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
