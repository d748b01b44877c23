//! What a command line of `exchange` means.

use flight_wire::limits::{
    RECEIVE_MESSAGE_BYTES_MAX, SEND_MESSAGE_BYTES_MAX, SEND_MESSAGE_BYTES_MIN,
};

use super::shared::{optional, within};
use super::{
    AskedPace, Checks, Config, ExchangeWork, LinkConfig, Load, Output, PutData, Target, Work,
};
use crate::cli::{ExchangeArgs, Format, Source};
use crate::exit::Stop;
use crate::limits;
use crate::report::Workload;

impl Config {
    pub(super) fn exchange(args: ExchangeArgs) -> Result<Self, Stop> {
        let work = args.work;
        if args.output.format == Format::Arrow {
            return Err(Stop::usage(
                "--format arrow has lines for get and put alone; use it with one of them",
            ));
        }
        if matches!(work.source, Source::Sql(_) | Source::Ticket(_) | Source::Perf) {
            return Err(Stop::usage(
                "--source of exchange is the descriptor that it begins with: path:a/b or cmd:TEXT",
            ));
        }
        let (min, max) = (SEND_MESSAGE_BYTES_MIN as u64, SEND_MESSAGE_BYTES_MAX as u64);
        let message_bytes = within("--message-bytes", work.message_bytes, min, max)? as usize;
        let inflight = optional("--inflight", work.inflight, 1, limits::INFLIGHT_MAX as u64)?;
        let exchange = ExchangeWork {
            source: work.source,
            data: match work.data_file {
                Some(file) => PutData::File(file),
                None => PutData::Generated {
                    pool: within("--pool", work.pool, 1, limits::POOL_MAX as u64)?,
                    seed: work.seed,
                },
            },
            batch_rows: optional("--batch-rows", work.batch_rows, 1, limits::BATCH_ROWS_MAX)?,
            inflight: inflight.map(|batches| batches as usize),
            message_bytes,
        };
        let max = RECEIVE_MESSAGE_BYTES_MAX as u64;
        let load = Load::from_args(&args.load)?;
        Ok(Self {
            work: Work::Exchange(exchange),
            link: LinkConfig::new(&args.target, Some(&args.http2), max)?,
            server_pid: args.target.server_pid,
            target: Target::new(args.target, args.tls)?,
            checks: Checks::new(args.check, Workload::Exchange, &load, &args.output.keep.runs)?,
            load,
            pace: AskedPace::of(&args.pace),
            output: Output::new(args.output)?,
        })
    }
}
