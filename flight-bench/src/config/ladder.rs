//! What the options of `ladder` mean.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use flight_wire::limits::{SEND_MESSAGE_BYTES_MAX, SEND_MESSAGE_BYTES_MIN};

use super::shared::{window, within};
use super::{Extent, Output};
use crate::cli::{Format, LadderArgs};
use crate::exit::Stop;
use crate::limits;

/// A ladder as it will be climbed.
#[derive(Debug)]
pub(crate) struct LadderConfig {
    pub(crate) program: Option<PathBuf>,
    pub(crate) server_args: Vec<OsString>,
    pub(crate) sample_rows: u64,
    pub(crate) message_bytes: usize,
    pub(crate) warmup: Duration,
    pub(crate) duration: Duration,
    pub(crate) rounds: usize,
    pub(crate) output: Output,
}

impl LadderConfig {
    /// # Errors
    ///
    /// Values out of bounds: one sentence, exit code 2.
    pub(crate) fn from_args(args: LadderArgs) -> Result<Self, Stop> {
        if args.output.format == Format::Arrow {
            return Err(Stop::usage(
                "--format arrow has one measurement and the ladder makes several; use get or put",
            ));
        }
        let Extent::Window { warmup, duration } = window(args.load.warmup, args.load.duration)?
        else {
            unreachable!("a window is made of a warm-up and a duration")
        };
        let message_bytes = within(
            "--message-bytes",
            args.work.message_bytes,
            SEND_MESSAGE_BYTES_MIN as u64,
            SEND_MESSAGE_BYTES_MAX as u64,
        )?;
        let rows = args.work.sample_rows;
        let rounds = within("--repeats", args.load.repeats, 1, limits::REPEATS_MAX as u64)?;
        Ok(Self {
            program: args.target.server_bin,
            server_args: args.target.server_arg,
            sample_rows: within("--sample-rows", rows, 1, limits::SAMPLE_ROWS_MAX)?,
            message_bytes: message_bytes as usize,
            warmup,
            duration,
            rounds: rounds as usize,
            output: Output::new(args.output)?,
        })
    }
}
