//! What a command line means: every rule about which options go together stands here.
//!
//! Nothing is opened or asked yet; files named by options are read where they are used.

use std::path::PathBuf;
use std::time::Duration;

use flight_net::Endpoint;
use flight_wire::limits::{
    RECEIVE_MESSAGE_BYTES_MAX, SEND_MESSAGE_BYTES_MAX, SEND_MESSAGE_BYTES_MIN,
};

use crate::cli::{
    Cli, Command, Format, GetArgs, Http2Args, LoadArgs, OutputArgs, Progress, PutArgs, QuickArgs,
    Source, TargetArgs, TlsArgs, Verify,
};
use crate::exit::Stop;
use crate::limits;

/// A run as it will be done.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) work: Work,
    pub(crate) target: Target,
    pub(crate) link: LinkConfig,
    pub(crate) load: Load,
    pub(crate) output: Output,
}

#[derive(Debug)]
pub(crate) enum Work {
    Quick(QuickWork),
    Get(GetWork),
    Put(PutWork),
}

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
    pub(crate) stream_window: Option<u32>,
    pub(crate) connection_window: Option<u32>,
    pub(crate) max_message_bytes: usize,
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
}

#[derive(Debug, Clone)]
pub(crate) struct PutWork {
    /// Absent: datasets of this run alone.
    pub(crate) destination: Option<Source>,
    pub(crate) data: PutData,
    pub(crate) batch_rows: Option<u64>,
    pub(crate) inflight: usize,
    pub(crate) upload_bytes: u64,
    pub(crate) message_bytes: usize,
    pub(crate) verify: Verify,
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
}

impl Config {
    /// # Errors
    ///
    /// Options that do not go together or values out of bounds: one sentence each, exit code 2.
    pub(crate) fn from_cli(cli: Cli) -> Result<Self, Stop> {
        match cli.command {
            None => Self::quick(cli.quick),
            Some(Command::Quick(args)) => Self::quick(args),
            Some(Command::Get(args)) => Self::get(args),
            Some(Command::Put(args)) => Self::put(args),
        }
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
        let load = Load::new(
            &[("--streams", args.load.streams), ("--repeats", args.load.repeats)],
            args.load.threads,
            args.load.streams,
            window(args.load.warmup, args.load.duration)?,
        )?;
        let work = QuickWork {
            data: args.work.data,
            dataset: args.work.dataset,
            certs: args.work.certs,
            sample_rows: within(
                "--sample-rows",
                args.work.sample_rows,
                1,
                limits::SAMPLE_ROWS_MAX,
            )?,
        };
        Ok(Self {
            work: Work::Quick(work),
            link: LinkConfig::new(&args.target, None, RECEIVE_MESSAGE_BYTES_MAX as u64)?,
            target: Target::new(args.target, args.tls)?,
            load,
            output: Output::new(args.output)?,
        })
    }

    fn get(args: GetArgs) -> Result<Self, Stop> {
        let work = args.work;
        check_get_sources(&work.source, &work)?;
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
            sources: work.source,
        };
        Ok(Self {
            work: Work::Get(get),
            link: LinkConfig::new(&args.target, Some(&args.http2), work.max_message_bytes)?,
            target: Target::new(args.target, args.tls)?,
            load: Load::from_args(&args.load)?,
            output: Output::new(args.output)?,
        })
    }

    fn put(args: PutArgs) -> Result<Self, Stop> {
        let work = args.work;
        match &work.source {
            Some(Source::Ticket(_)) => {
                return Err(Stop::usage(
                    "--source ticket: is for get; put writes to path:a/b, cmd:TEXT or perf",
                ));
            }
            Some(source @ (Source::Perf | Source::Command(_)))
                if work.verify == Verify::Checksum =>
            {
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
        let inflight = within("--inflight", work.inflight, 1, limits::INFLIGHT_MAX as u64)?;
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
            inflight: inflight as usize,
            upload_bytes: within("--upload-bytes", upload_bytes, 1, u64::MAX)?,
            message_bytes: message_bytes as usize,
            verify: work.verify,
        };
        Ok(Self {
            work: Work::Put(put),
            link: LinkConfig::new(
                &args.target,
                Some(&args.http2),
                RECEIVE_MESSAGE_BYTES_MAX as u64,
            )?,
            target: Target::new(args.target, args.tls)?,
            load: Load::from_args(&args.load)?,
            output: Output::new(args.output)?,
        })
    }
}

impl Target {
    fn new(args: TargetArgs, tls: TlsArgs) -> Result<Self, Stop> {
        let given = tls_flags(&tls);
        match args.target {
            Some(endpoint) => {
                if args.server_bin.is_some() {
                    return Err(Stop::usage(format!(
                        "--server-bin starts a server and TARGET {endpoint} runs already; leave \
                         one of them out"
                    )));
                }
                if let (Some(flag), false) = (given, endpoint.is_tls()) {
                    return Err(Stop::usage(format!(
                        "{flag} goes with TLS and TARGET {endpoint} is plaintext; write \
                         grpc+tls://HOST:PORT"
                    )));
                }
                Ok(Self::Given { endpoint, tls })
            }
            None => match given {
                Some(flag) => Err(Stop::usage(format!(
                    "{flag} goes with a TARGET such as grpc+tls://HOST:PORT; without one, quick \
                     makes certificates of its own and get and put run in plaintext"
                ))),
                None => Ok(Self::Child { program: args.server_bin }),
            },
        }
    }
}

/// The first TLS option that was given; `--tls-min` has a default and says nothing.
fn tls_flags(tls: &TlsArgs) -> Option<&'static str> {
    let flags = [
        ("--tls-ca", tls.tls_ca.is_some()),
        ("--tls-pin", tls.tls_pin.is_some()),
        ("--tls-insecure", tls.tls_insecure),
        ("--tls-cert", tls.tls_cert.is_some()),
        ("--tls-server-name", tls.tls_server_name.is_some()),
        ("--tls-ciphers", !tls.tls_ciphers.is_empty()),
    ];
    flags.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
}

impl LinkConfig {
    fn new(
        target: &TargetArgs,
        http2: Option<&Http2Args>,
        max_message_bytes: u64,
    ) -> Result<Self, Stop> {
        // RFC 9113 section 6.9.2: windows of 65535 bytes to 2^31 - 1.
        let window = |flag, size: Option<u64>| {
            let size = optional(flag, size, 65_535, (1 << 31) - 1)?;
            Ok::<_, Stop>(size.map(|size| size as u32))
        };
        let max = within(
            "--max-message-bytes",
            max_message_bytes,
            SEND_MESSAGE_BYTES_MIN as u64,
            (1 << 31) - 1,
        )?;
        Ok(Self {
            connect_timeout: target.connect_timeout,
            stream_window: window("--h2-stream-window", http2.and_then(|h| h.h2_stream_window))?,
            connection_window: window(
                "--h2-connection-window",
                http2.and_then(|h| h.h2_connection_window),
            )?,
            max_message_bytes: max as usize,
        })
    }
}

impl Load {
    fn from_args(args: &LoadArgs) -> Result<Self, Stop> {
        let extent = match (args.batches, args.passes) {
            (Some(batches), _) => Extent::Batches(within("--batches", batches, 1, u64::MAX)?),
            (None, Some(passes)) => Extent::Passes(within("--passes", passes, 1, u64::MAX)?),
            (None, None) => window(
                args.warmup.unwrap_or(Duration::from_secs(1)),
                args.duration.unwrap_or(Duration::from_secs(3)),
            )?,
        };
        Self::new(
            &[("--streams", args.streams), ("--repeats", args.repeats)],
            args.threads,
            args.connections.unwrap_or(args.streams),
            extent,
        )
    }

    fn new(
        [streams, repeats]: &[(&str, u64); 2],
        threads: Option<u64>,
        connections: u64,
        extent: Extent,
    ) -> Result<Self, Stop> {
        let streams = within(streams.0, streams.1, 1, limits::STREAMS_MAX as u64)?;
        let connections = within("--connections", connections, 1, streams)?;
        let threads = match threads {
            // A connection lives on one thread, so that more threads would idle.
            Some(threads) => {
                within("--threads", threads, 1, connections.min(limits::THREADS_MAX as u64))?
            }
            None => default_threads().clamp(1, connections),
        };
        Ok(Self {
            streams: streams as usize,
            connections: connections as usize,
            threads: threads as usize,
            extent,
            repeats: within(repeats.0, repeats.1, 1, limits::REPEATS_MAX as u64)? as usize,
        })
    }
}

impl Output {
    fn new(args: OutputArgs) -> Result<Self, Stop> {
        let file = |path: PathBuf| match path.extension().and_then(|e| e.to_str()) {
            Some("json") => Ok((path, Format::Json)),
            Some("txt") => Ok((path, Format::Text)),
            _ => Err(Stop::usage(format!(
                "--out {} has no form in its name; end it with .json or .txt",
                path.display()
            ))),
        };
        Ok(Self {
            format: args.format,
            files: args.out.into_iter().map(file).collect::<Result<_, _>>()?,
            progress: args.progress,
            quiet: args.quiet,
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
                     {kinds}, not with {source}"
                )));
            }
        }
    }
    Ok(())
}

fn window(warmup: Duration, duration: Duration) -> Result<Extent, Stop> {
    if duration < limits::WINDOW_MIN {
        return Err(Stop::usage(format!(
            "--duration {duration:?} is too short to measure; give {:?} or more",
            limits::WINDOW_MIN
        )));
    }
    Ok(Extent::Window { warmup, duration })
}

fn default_threads() -> u64 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64 / 2)
}

fn within(flag: &str, value: u64, min: u64, max: u64) -> Result<u64, Stop> {
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    Err(Stop::usage(format!("{flag} {value} is outside {min} to {max}; choose a value in between")))
}

fn optional(flag: &str, value: Option<u64>, min: u64, max: u64) -> Result<Option<u64>, Stop> {
    value.map(|value| within(flag, value, min, max)).transpose()
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
