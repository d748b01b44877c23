//! The rules of the options that several commands share: target, connections, load and output.

use std::path::PathBuf;
use std::time::Duration;

use super::metadata::metadata;
use super::{Extent, LinkConfig, Load, Output, QuickWork, Target};
use crate::cli::{
    CompareFormat, Format, Http2Args, KeepArgs, LoadArgs, OutputArgs, Progress, QuickLoadArgs,
    QuickWorkArgs, TargetArgs, TlsArgs, TransportName,
};
use crate::exit::Stop;
use crate::limits;
use crate::report::check_files;
use crate::saved::Saved;
use flight_net::client::Transport;
use flight_tls::{Engine, TlsVersion};
use flight_wire::limits::SEND_MESSAGE_BYTES_MIN;

impl Target {
    pub(super) fn new(args: TargetArgs, tls: TlsArgs) -> Result<Self, Stop> {
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
            None if args.server_pid.is_some() => Err(Stop::usage(
                "--server-pid is for a TARGET that runs already; the server of this run is known",
            )),
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

/// The first TLS option that was given; one with a default, as something else than that.
fn tls_flags(tls: &TlsArgs) -> Option<&'static str> {
    let flags = [
        ("--tls-ca", tls.tls_ca.is_some()),
        ("--tls-pin", tls.tls_pin.is_some()),
        ("--tls-insecure", tls.tls_insecure),
        ("--tls-cert", tls.tls_cert.is_some()),
        ("--tls-server-name", tls.tls_server_name.is_some()),
        ("--tls-ciphers", !tls.tls_ciphers.is_empty()),
        ("--tls-groups", !tls.tls_groups.is_empty()),
        ("--tls-engine", tls.tls_engine != Engine::default()),
        ("--tls-min", tls.tls_min != TlsVersion::default()),
    ];
    flags.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
}

impl LinkConfig {
    pub(super) fn new(
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
            ready_timeout: target.ready_timeout,
            stream_window: window("--h2-stream-window", http2.and_then(|h| h.h2_stream_window))?,
            connection_window: window(
                "--h2-connection-window",
                http2.and_then(|h| h.h2_connection_window),
            )?,
            transport: match target.transport {
                TransportName::Own => Transport::Own,
                TransportName::Hyper => Transport::Hyper,
            },
            max_message_bytes: max as usize,
            metadata: metadata(target)?,
            reset_on_close: false,
        })
    }
}

impl Load {
    pub(super) fn from_args(args: &LoadArgs) -> Result<Self, Stop> {
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

    /// Of rows in interleaved rounds.
    pub(super) fn of_rows(args: &QuickLoadArgs) -> Result<Self, Stop> {
        Self::new(
            &[("--streams", args.streams), ("--repeats", args.repeats)],
            args.threads,
            args.streams,
            window(args.warmup, args.duration)?,
        )
    }

    pub(super) fn new(
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

impl QuickWork {
    pub(super) fn new(args: QuickWorkArgs) -> Result<Self, Stop> {
        let rows = within("--sample-rows", args.sample_rows, 1, limits::SAMPLE_ROWS_MAX)?;
        Ok(Self { data: args.data, dataset: args.dataset, certs: args.certs, sample_rows: rows })
    }
}

impl Output {
    pub(super) fn new(args: OutputArgs) -> Result<Self, Stop> {
        let runs = Saved::new(args.keep.runs.runs_dir.as_deref());
        Ok(Self {
            format: args.format.with(args.semantics.semantics).map_err(Stop::usage)?,
            files: files_of(args.out)?,
            progress: args.progress,
            quiet: args.quiet,
            dry_run: args.dry_run,
            keep: keep(&args.keep),
            runs,
        })
    }
}

/// Where what was measured is kept.
pub(crate) fn keep(args: &KeepArgs) -> Option<Saved> {
    Saved::new(args.runs.runs_dir.as_deref()).filter(|_| !args.no_save)
}

/// Where a comparison goes.
///
/// # Errors
///
/// A file whose form a comparison has not, or that cannot be written.
pub(crate) fn comparison_output(
    format: CompareFormat,
    out: Vec<PathBuf>,
    quiet: bool,
) -> Result<Output, Stop> {
    let files = files_of(out)?;
    let told = |format| [Format::Text, Format::Json, Format::Md, Format::Html].contains(&format);
    if let Some((path, _)) = files.iter().find(|(_, format)| !told(*format)) {
        return Err(Stop::usage(format!(
            "--out {}: a comparison has no such form; end the name with .txt, .json, .md or .html",
            path.display()
        )));
    }
    let (format, progress) = (format.into(), Progress::None);
    let output = Output { format, files, progress, quiet, dry_run: false, keep: None, runs: None };
    check_files(&output)?;
    Ok(output)
}

/// The values of `--out`, each with the form that its name says.
pub(crate) fn files_of(paths: Vec<PathBuf>) -> Result<Vec<(PathBuf, Format)>, Stop> {
    let file = |path: PathBuf| match Format::of_file(&path) {
        Some(format) => Ok((path, format)),
        None => Err(Stop::usage(format!(
            "--out {} has no form in its name; end it with .txt, .json, .ndjson, .csv, .md or .html",
            path.display()
        ))),
    };
    paths.into_iter().map(file).collect()
}

pub(super) fn window(warmup: Duration, duration: Duration) -> Result<Extent, Stop> {
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

pub(super) fn within(flag: &str, value: u64, min: u64, max: u64) -> Result<u64, Stop> {
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    Err(Stop::usage(format!("{flag} {value} is outside {min} to {max}; choose a value in between")))
}

pub(super) fn optional(
    flag: &str,
    value: Option<u64>,
    min: u64,
    max: u64,
) -> Result<Option<u64>, Stop> {
    value.map(|value| within(flag, value, min, max)).transpose()
}
