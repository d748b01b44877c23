//! What a command line of `mixed` means.

use flight_wire::limits::{RECEIVE_MESSAGE_BYTES_MAX, SEND_MESSAGE_BYTES_DEFAULT};

use super::shared::{optional, within};
use super::{
    AskedPace, Checks, Config, LinkConfig, Load, MixedWork, Output, PutData, Target, Work,
};
use crate::cli::{Format, MixedArgs, Source, Verify};
use crate::exit::Stop;
use crate::limits;
use crate::workload::Kind;

impl Config {
    pub(super) fn mixed(args: MixedArgs) -> Result<Self, Stop> {
        check(&args)?;
        let work = args.work;
        let upload_bytes = work.upload_bytes.unwrap_or(limits::UPLOAD_BYTES_MIXED);
        let inflight = optional("--inflight", work.inflight, 1, limits::INFLIGHT_MAX as u64)?;
        let mixed = MixedWork {
            source: work.source,
            sample_rows: within("--sample-rows", work.sample_rows, 1, limits::SAMPLE_ROWS_MAX)?,
            upload_bytes: within("--upload-bytes", upload_bytes, 1, limits::UPLOAD_BYTES_QUICK)?,
            batch_rows: optional("--batch-rows", work.batch_rows, 1, limits::BATCH_ROWS_MAX)?,
            inflight: inflight.map(|batches| batches as usize),
            data: PutData::Generated { pool: POOL, seed: work.seed },
            message_bytes: SEND_MESSAGE_BYTES_DEFAULT,
            seed: work.seed,
            verify: work.verify,
            mix: work.mix,
        };
        let load = Load::from_args(&args.load)?;
        let max = RECEIVE_MESSAGE_BYTES_MAX as u64;
        Ok(Self {
            checks: Checks::mixed(args.check, &mixed.mix, &load, &args.output.keep.runs)?,
            work: Work::Mixed(mixed),
            link: LinkConfig::new(&args.target, Some(&args.http2), max)?,
            server_pid: args.target.server_pid,
            target: Target::new(args.target, args.tls)?,
            load,
            pace: AskedPace::of(&args.pace),
            output: Output::new(args.output)?,
        })
    }
}

/// Refuses what a mix, or this one, has no use for.
fn check(args: &MixedArgs) -> Result<(), Stop> {
    let work = &args.work;
    if args.output.format == Format::Arrow {
        return Err(Stop::usage(
            "--format arrow has lines for get and put alone; use it with one of them",
        ));
    }
    if args.load.passes.is_some() {
        return Err(Stop::usage(
            "--passes counts whole sources, and a mix has operations; give --batches, which \
             counts these",
        ));
    }
    if matches!(work.source, Some(Source::Ticket(_) | Source::Perf)) {
        return Err(Stop::usage(
            "--source of mixed is what get reads and info and schema ask about: path:a/b or \
             cmd:TEXT",
        ));
    }
    let sends = work.mix.any(Kind::sends_batches);
    let rules = [
        (
            "--source",
            work.source.is_some(),
            work.mix.any(Kind::needs_source),
            "get, info or schema",
        ),
        ("--upload-bytes", work.upload_bytes.is_some(), sends, "put or exchange"),
        ("--batch-rows", work.batch_rows.is_some(), sends, "put or exchange"),
        ("--inflight", work.inflight.is_some(), sends, "put or exchange"),
    ];
    if let Some((flag, .., kinds)) = rules.into_iter().find(|(_, given, fits, _)| *given && !fits) {
        return Err(Stop::usage(format!(
            "{flag} is for {kinds}, of which --mix {} has none; leave one of them out",
            work.mix
        )));
    }
    if work.verify == Verify::Checksum {
        return Err(Stop::usage(
            "--verify checksum reads all once more, which get and put do; use it with one of \
             them, and none or count with mixed",
        ));
    }
    Ok(())
}

/// Distinct batches that put and exchange send in turn, as by default when they are alone.
const POOL: u64 = 16;
