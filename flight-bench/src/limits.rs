//! What the bench refuses, waits for and keeps, in one place.

use std::time::Duration;

/// Streams of one run. Each holds a connection of its own unless told otherwise.
pub(crate) const STREAMS_MAX: usize = 10_000;
/// Worker threads of one run.
pub(crate) const THREADS_MAX: usize = 1_024;
/// Repeats of one run, and rounds of `quick`.
pub(crate) const REPEATS_MAX: usize = 1_000;
/// Pairs of `ab`.
pub(crate) const PAIRS_MAX: usize = 1_000;
/// Settings of a sweep: each is measured once a round.
pub(crate) const SWEEP_SETTINGS_MAX: usize = 256;
/// Parameters of a sweep: what a table, a curve or a map can show.
pub(crate) const SWEEP_PARAMETERS_MAX: usize = 2;
/// Repeats of the closed loop whose rate shares and searches are taken of.
pub(crate) const CEILING_REPEATS: usize = 3;
/// How often the search for a rate halves the ceiling before it gives up: to a thousandth of it.
pub(crate) const SLO_HALVINGS: u32 = 10;
/// The search ends once the lowest rate that broke is at most so much higher than one that held.
pub(crate) const SLO_BRACKET_RATIO: f64 = 1.05;
/// Rates that a search tries at most: each halving and the ceiling twice, what makes a factor of two
/// into the bracket's, and those that confirm.
pub(crate) const SLO_TRIALS_MAX: usize = 2 * (1 + SLO_HALVINGS as usize + 4) + SLO_STEPS_DOWN.len();
/// What the rate that was found is divided by until one is confirmed.
pub(crate) const SLO_STEPS_DOWN: [f64; 4] = [1.0, 1.05, 1.1, 1.2];
/// A window that took in a smaller share of what was offered does not hold it, chance aside.
pub(crate) const SLO_ACHIEVED_MIN: f64 = 0.95;
/// A count that is this unlikely is not put down to chance.
pub(crate) const CHANCE_MIN: f64 = 0.001;
/// Standard deviations by which more is offered than is needed, where chance draws the arrivals.
pub(crate) const OFFERED_DEVIATIONS: f64 = 4.0;
/// The longest window, warm-up or timeout.
pub(crate) const DURATION_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// The shortest window: below it, a window holds a handful of batches.
pub(crate) const WINDOW_MIN: Duration = Duration::from_millis(10);
/// Window and warm-up of each of several rows, unless others are asked for.
pub(crate) const ROW_WINDOW: Duration = Duration::from_secs(1);
pub(crate) const ROW_WARMUP: Duration = Duration::from_millis(300);
/// Rows of a generated batch.
pub(crate) const BATCH_ROWS_MAX: u64 = flight_sample::limits::BATCH_ROWS_MAX as u64;
/// Distinct batches that are generated or sliced from a file.
pub(crate) const POOL_MAX: usize = 4_096;
/// Bytes of all generated batches: they stay in memory for the whole run.
pub(crate) const POOL_BYTES_MAX: u64 = 4 << 30;
/// Connections whose TCP figures are told one by one.
pub(crate) const TCP_CONNECTIONS_TOLD_MAX: usize = 64;
/// Connections that are left open after their calls at once (`--linger`).
pub(crate) const LINGERING_MAX: usize = 16_384;
/// A connection of a pool without a call for so long is closed: longer than any pause of a run, which
/// would otherwise be measured with connections made anew.
pub(crate) const POOLED_IDLE: Duration = DURATION_MAX;
/// Batches of one upload that wait for their acknowledgement.
pub(crate) const INFLIGHT_MAX: usize = 65_536;
/// Bytes of batches read from a file: they stay in memory for the whole run.
pub(crate) const DATA_FILE_BYTES_MAX: u64 = 16 << 30;
/// Bytes of unacknowledged batches of a stream, unless told otherwise (`--inflight`): the window of
/// a stream. More would wait in this process, and a round trip would mostly be that queue.
pub(crate) const INFLIGHT_BYTES_DEFAULT: u64 = 16 << 20;
/// Between how many batches that is kept.
pub(crate) const INFLIGHT_DEFAULT: std::ops::RangeInclusive<u64> = 4..=64;
/// The weight of one kind in a mix of operations.
pub(crate) const WEIGHT_MAX: u64 = 1_000_000;
/// Rows of the sample that a child server makes.
pub(crate) const SAMPLE_ROWS_MAX: u64 = 100_000_000;
/// Records of one stream under Arrow's perf protocol.
pub(crate) const PERF_RECORDS_MAX: u64 = 1 << 40;
/// Endpoints of one plan; each costs a ticket in memory.
pub(crate) const ENDPOINTS_MAX: usize = 65_536;
/// Distinct places that a server names for its endpoints.
pub(crate) const LOCATIONS_MAX: usize = 1_024;
/// For looking at all of them, one after another.
pub(crate) const LOCATIONS_TIMEOUT: Duration = Duration::from_secs(60);
/// Characters of the name of such a place in reports.
pub(crate) const LOCATION_CHARS_MAX: usize = 200;
/// Characters of a source in a sentence or a heading; a query may be long.
pub(crate) const SOURCE_CHARS_SHOWN: usize = 80;
/// Bytes of a `ticket:@FILE`, `cmd:@FILE` or `sql:@FILE`.
pub(crate) const SOURCE_FILE_BYTES_MAX: u64 = 1 << 20;
/// Bytes of an answer to a call that is not measured, such as a plan with its tickets.
pub(crate) const CONTROL_BYTES_MAX: usize = 64 << 20;
/// Dataset names shown when a server has several and none was chosen.
pub(crate) const NAMES_SHOWN: usize = 5;
/// Datasets read from ListFlights when none was chosen.
pub(crate) const LISTED_FLIGHTS_MAX: usize = 1_000;

/// Bytes of one upload before it is committed and the next begins (`--upload-bytes`).
pub(crate) const UPLOAD_BYTES_DEFAULT: u64 = 256 << 20;
/// The same in a mix, where an upload is one of many operations.
pub(crate) const UPLOAD_BYTES_MIXED: u64 = 4 << 20;
/// `quick` measures the stream, not the disk: its uploads end with their window.
pub(crate) const UPLOAD_BYTES_QUICK: u64 = 1 << 40;

/// All streams must have moved a batch, or failed, this soon after they were opened.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a server may take to acknowledge the batch that asks whether it does.
pub(crate) const ACK_PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// A run that has a fixed amount to move fails when nothing moved for so long; a commit may take
/// a while.
pub(crate) const STALL_TIMEOUT: Duration = Duration::from_secs(300);
/// Uploads that were sent whole when the run ended are waited for this long.
pub(crate) const COMMIT_TIMEOUT: Duration = Duration::from_secs(10);
/// A call outside the measured part: planning, deleting, probing.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Between two questions whether a server is there.
pub(crate) const READY_PAUSE: Duration = Duration::from_millis(50);
/// A child server prints its ready line this soon, unless told otherwise.
pub(crate) const CHILD_READY_TIMEOUT: Duration = Duration::from_secs(30);
/// A child server ends this soon after its input is closed, else it is killed.
pub(crate) const CHILD_STOP_TIMEOUT: Duration = Duration::from_secs(40);
/// Bytes of a child's ready line.
pub(crate) const READY_LINE_BYTES_MAX: u64 = 64 << 10;
/// Bytes of a child's log that are shown when it fails.
pub(crate) const LOG_TAIL_BYTES: usize = 2_000;

/// First and last pause of a stream that failed, before it tries again.
pub(crate) const RETRY_FIRST: Duration = Duration::from_millis(20);
pub(crate) const RETRY_LAST: Duration = Duration::from_secs(1);
/// A stream that has to move a fixed number of batches gives up after so many failures in a row.
pub(crate) const FAILURES_IN_A_ROW_MAX: u32 = 10;
/// The same for operations of a mix: a kind that weighs little gets its turn among others that fail.
pub(crate) const FAILURES_OF_A_MIX_MAX: u32 = 200;
/// Distinct sentences kept for one error code.
pub(crate) const ERROR_SENTENCES_MAX: usize = 3;
/// Bytes of an error sentence of a server that are kept and shown.
pub(crate) const ERROR_SENTENCE_CHARS_MAX: usize = 400;

/// Bytes of the names and values of what every call carries; servers refuse more than 8 or 16 KiB.
pub(crate) const METADATA_BYTES_MAX: usize = 8 << 10;
/// Bytes of a file of options.
pub(crate) const CONFIG_FILE_BYTES_MAX: u64 = 1 << 20;
/// Runs that are kept; the oldest make room.
pub(crate) const RUNS_KEPT: usize = 500;
/// Bytes of the file that keeps the noise floor of a machine.
pub(crate) const FLOOR_FILE_BYTES_MAX: u64 = 64 << 10;
/// Days for which a noise floor holds.
pub(crate) const FLOOR_DAYS_MAX: i64 = 30;
/// Pairs without which there is no noise floor: fewer show nothing at 95 %.
pub(crate) const FLOOR_PAIRS_MIN: usize = 6;
/// Pairs that it is made of where there is time for them.
pub(crate) const FLOOR_PAIRS: usize = 10;
/// For how long `doctor --aa` may measure.
pub(crate) const FLOOR_TIME: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(10)..=Duration::from_secs(3600);
/// Bytes of a saved run, or of a report that holds one.
pub(crate) const RUN_FILE_BYTES_MAX: u64 = 256 << 20;

/// Bytes of a word of a sweep's document: Linux takes no longer ones at a command line.
pub(crate) const SWEEP_WORD_BYTES_MAX: usize = 128 << 10;
/// Rows of a saved run: `quick` has six, a mix at most one more than there are kinds.
pub(crate) const VARIANTS_READ_MAX: usize = 64;
/// Histograms of a saved run. Each takes 216 KiB, however short its text is.
pub(crate) const HISTOGRAMS_READ_MAX: usize = 8_192;
/// Bytes of a histogram that is inflated: its 27 648 counts at their longest, and its head.
pub(crate) const HISTOGRAM_BYTES_MAX: u64 = 27_648 * 9 + 40;

/// The longest latency a histogram tells apart; longer ones count as this one.
pub(crate) const LATENCY_MAX: Duration = Duration::from_secs(60);
/// Decimal digits that a histogram keeps.
pub(crate) const LATENCY_DIGITS: u8 = 3;

const _: () = assert!(RETRY_FIRST.as_nanos() < RETRY_LAST.as_nanos());
const _: () = assert!(FAILURES_IN_A_ROW_MAX < FAILURES_OF_A_MIX_MAX);
const _: () = assert!(WINDOW_MIN.as_nanos() < DURATION_MAX.as_nanos());
const _: () = assert!(POOL_MAX as u64 <= POOL_BYTES_MAX);
