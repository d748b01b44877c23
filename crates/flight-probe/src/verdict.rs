//! What limited a measured rate, told from the facts that were recorded beside it.
//!
//! A pure function: rules in order, the first that holds wins and says why. A rule that needs a
//! fact which is not there does not hold. Where facts come from is the caller's business.

use serde::{Deserialize, Serialize};

/// A thread, or a side, is busy from this share of its time on.
const BUSY_SHARE: f64 = 0.90;
/// A thread below this share does not count among those that worked.
const WORKING_SHARE: f64 = 0.10;
/// Both sides of one machine are busy where each uses this share of its cores.
const SIDE_SHARE: f64 = 0.20;
const STEAL_SHARE_MAX: f64 = 0.02;
const CLIENT_WAIT_SHARE_MAX: f64 = 0.10;
const SERVER_HEADROOM_MIN: f64 = 0.15;
/// Above this share of what it can do without a socket, a client is what limits.
const CEILING_SHARE: f64 = 0.85;
/// With less of the server in use, a late generator has only itself to blame.
const GENERATOR_SERVER_SHARE: f64 = 0.80;
const IDLE_SHARE_MIN: f64 = 0.05;
const STALLED_SHARE_MAX: f64 = 0.20;
const WINDOW_TOLERANCE: f64 = 0.20;
const NETWORK_BUSY_SHARE: f64 = 0.90;
const CONGESTION_SHARE: f64 = 0.50;
const LADDER_SHARE: f64 = 0.90;
const LITTLE_TOLERANCE: f64 = 0.10;
/// Processes beside client and server limit from this share of the time of all cores on.
const OTHERS_SHARE_MIN: f64 = 0.10;
/// A rate that was asked for is held from this share of it on.
const HELD_SHARE: f64 = 0.95;

/// What was recorded of one measured window. Shares are between 0 and 1; the unknown is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Periods in which a control group of either side ran out of its quota.
    pub throttled_periods: Option<u64>,
    /// Share of the time of all cores that the hypervisor took.
    pub steal_share: Option<f64>,
    /// Share of the time of all cores with nothing to do.
    pub idle_share: Option<f64>,
    /// Whether client and server ran on this one machine.
    pub same_machine: bool,
    /// Cores of the machine of the client.
    pub cores: Option<usize>,
    /// Share of the window that each thread of the client was on a core.
    pub client_threads: Vec<f64>,
    /// Share of the window that the client's threads were ready but without a core, of the worst.
    pub client_wait_share: Option<f64>,
    /// Share of the window that each thread of the server was on a core; empty where it cannot be
    /// seen.
    pub server_threads: Vec<f64>,
    /// Cores that the server may use.
    pub server_cores: Option<usize>,
    /// Present where requests were sent on a schedule.
    pub open_loop: Option<OpenLoop>,
    /// Streams at once, all told.
    pub streams: Option<u64>,
    /// Batches or calls under way on each stream.
    pub in_flight: Option<f64>,
    /// Share of the time of all cores that processes other than client and server used; absent
    /// where either of the two is not seen.
    pub others_share: Option<f64>,
    /// Batches or calls a second that were asked for, in an open loop.
    pub offered_per_s: Option<f64>,
    /// Batches or calls done a second.
    pub rate_per_s: Option<f64>,
    /// The time of one round trip, or of one call, in seconds.
    pub round_trip_s: Option<f64>,
    /// Bytes moved a second.
    pub bytes_per_s: Option<f64>,
    /// The sum over all streams of the bytes that may be under way.
    pub window_bytes: Option<f64>,
    /// Share of the window that a sender stood still for HTTP/2's window.
    pub stream_stalled_share: Option<f64>,
    /// Shares of the window from `TCP_INFO`: something to send, and of these the peer's window
    /// full, and the send buffer too small.
    pub socket_busy_share: Option<f64>,
    pub peer_window_limited_share: Option<f64>,
    pub send_buffer_limited_share: Option<f64>,
    /// What plain TCP moved here.
    pub tcp_bytes_per_s: Option<f64>,
    /// What the client can take in with no socket.
    pub client_ceiling_bytes_per_s: Option<f64>,
}

/// How an open loop kept to its schedule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Time between two sends that was meant, in nanoseconds.
    pub interval_ns: f64,
    /// How late a send was in the middle, in nanoseconds.
    pub lag_p50_ns: f64,
}

/// What limited, and the values that say so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    pub name: &'static str,
    pub evidence: Vec<String>,
}

impl Verdict {
    /// The first rule that holds, or `unknown`.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        let rules = [
            throttled,
            generator,
            offered,
            other_processes,
            client,
            machine,
            server,
            flow_control,
            network,
            latency,
        ];
        let held = rules.iter().find_map(|rule| rule(facts));
        held.unwrap_or_else(|| unknown(facts))
    }
}

fn verdict<const N: usize>(name: &'static str, evidence: [Option<String>; N]) -> Option<Verdict> {
    let evidence: Vec<String> = evidence.into_iter().flatten().collect();
    (!evidence.is_empty()).then_some(Verdict { name, evidence })
}

fn throttled(facts: &Facts) -> Option<Verdict> {
    let periods = facts.throttled_periods.filter(|periods| *periods > 0);
    let steal = facts.steal_share.filter(|share| *share > STEAL_SHARE_MAX);
    verdict(
        "throttled",
        [
            periods.map(|periods| format!("the CPU quota ran out in {periods} periods")),
            steal.map(|share| format!("the hypervisor took {} of the time", percent(share))),
        ],
    )
}

fn generator(facts: &Facts) -> Option<Verdict> {
    let OpenLoop { interval_ns, lag_p50_ns } = facts.open_loop?;
    // A server that cannot be seen may well be what holds the sends up.
    let used = server_use(facts)?;
    if lag_p50_ns <= interval_ns || used >= GENERATOR_SERVER_SHARE {
        return None;
    }
    let late = format!("sends were {:.1} intervals late (p50)", lag_p50_ns / interval_ns);
    verdict("generator", [Some(late), Some(server_used(facts))])
}

/// Nothing limited: what was asked for was done.
fn offered(facts: &Facts) -> Option<Verdict> {
    let (asked, done) = facts.offered_per_s.zip(facts.rate_per_s)?;
    let held = done >= HELD_SHARE * asked;
    let told = || format!("{done:.0}/s were done of the {asked:.0}/s that were asked for");
    verdict("offered rate", [held.then(told)])
}

fn other_processes(facts: &Facts) -> Option<Verdict> {
    let others = facts.others_share.filter(|share| *share >= OTHERS_SHARE_MIN)?;
    let idle = facts.idle_share.filter(|idle| *idle < IDLE_SHARE_MIN)?;
    let used = format!("other processes used {} of the time of all cores", percent(others));
    verdict("other processes", [Some(used), Some(format!("{} of it was idle", percent(idle)))])
}

/// What no rule tells, and what stands in the way of one.
fn unknown(facts: &Facts) -> Verdict {
    let mut evidence: Vec<String> = match server_use(facts) {
        Some(_) => Vec::new(),
        None => busy_client(facts).into_iter().flatten().collect(),
    };
    evidence.push(match evidence.is_empty() {
        true => "no rule fits what was recorded".to_owned(),
        false => "the server was not seen and may limit as well".to_owned(),
    });
    Verdict { name: "unknown", evidence }
}

/// A thread of the client that has no time left, or waits for a core.
fn busy_client(facts: &Facts) -> [Option<String>; 2] {
    let busy = busiest(&facts.client_threads).filter(|share| *share >= BUSY_SHARE);
    let wait = facts.client_wait_share.filter(|share| *share > CLIENT_WAIT_SHARE_MAX);
    [
        busy.map(|share| format!("a thread of the client was {} busy", percent(share))),
        wait.map(|share| format!("the client was ready but without a core for {}", percent(share))),
    ]
}

fn client(facts: &Facts) -> Option<Verdict> {
    let ceiling = facts.client_ceiling_bytes_per_s.filter(|ceiling| *ceiling > 0.0);
    let of_ceiling = facts.bytes_per_s.zip(ceiling).map(|(rate, ceiling)| rate / ceiling);
    if let Some(share) = of_ceiling.filter(|share| *share > CEILING_SHARE) {
        let share = percent(share);
        let evidence = format!("the rate is {share} of what the client does without a socket");
        return verdict("client", [Some(evidence)]);
    }
    // A server that is not seen may have no time left either.
    if server_use(facts)? > 1.0 - SERVER_HEADROOM_MIN {
        return None;
    }
    // Where nothing is idle on the machine that both share, neither has room for more.
    let full = facts.same_machine && facts.idle_share.is_some_and(|idle| idle < IDLE_SHARE_MIN);
    if full && server_use(facts).is_some_and(|used| used >= SIDE_SHARE) {
        return None;
    }
    let [busy, wait] = busy_client(facts);
    let server = (busy.is_some() || wait.is_some()).then(|| server_used(facts));
    verdict("client", [busy, wait, server])
}

fn machine(facts: &Facts) -> Option<Verdict> {
    let idle = facts.idle_share.filter(|idle| facts.same_machine && *idle < IDLE_SHARE_MIN)?;
    let cores = facts.cores.filter(|cores| *cores > 0)?;
    let [client, server] = [&facts.client_threads, &facts.server_threads].map(|side| sum(side));
    let least = SIDE_SHARE * cores as f64;
    if client < least || server < least {
        return None;
    }
    let used = format!("of {cores} cores the client used {client:.2} and the server {server:.2}");
    verdict("machine", [Some(format!("{} of the time was idle", percent(idle))), Some(used)])
}

fn server(facts: &Facts) -> Option<Verdict> {
    let working = facts.server_threads.iter().copied().filter(|share| *share >= WORKING_SHARE);
    let count = working.clone().count();
    let least_busy = working.reduce(f64::min)?;
    let cores = facts.server_cores.unwrap_or(count);
    if least_busy >= BUSY_SHARE && count == 1 && cores > 1 {
        let busy = format!("one thread of the server was {} busy", percent(least_busy));
        let rest = format!("its other threads were idle, and it may use {cores} cores");
        return verdict("server (single thread)", [Some(busy), Some(rest)]);
    }
    let full = server_use(facts).is_some_and(|used| used >= BUSY_SHARE);
    if least_busy < BUSY_SHARE && !full {
        return None;
    }
    let least = percent(least_busy);
    let busy = format!("{count} threads of the server worked, the least busy one {least}");
    verdict("server", [Some(busy), Some(server_used(facts))])
}

fn flow_control(facts: &Facts) -> Option<Verdict> {
    nobody_busy(facts)?;
    let stalled = |share: Option<f64>| share.filter(|share| *share > STALLED_SHARE_MAX);
    let peer = stalled(facts.peer_window_limited_share);
    let stream = stalled(facts.stream_stalled_share);
    let window = facts.window_bytes.filter(|bytes| *bytes > 0.0);
    let under_way = facts.bytes_per_s.zip(facts.round_trip_s).map(|(rate, time)| rate * time);
    let filled = under_way.zip(window).map(|(bytes, window)| bytes / window);
    let filled = filled.filter(|share| near(*share, WINDOW_TOLERANCE));
    verdict(
        "flow-control",
        [
            peer.map(|share| format!("the peer's TCP window was full for {}", percent(share))),
            stream.map(|share| format!("the HTTP/2 window was full for {}", percent(share))),
            filled.map(|share| {
                format!("rate × round trip is {} of the windows' sum", percent(share))
            }),
        ],
    )
}

fn network(facts: &Facts) -> Option<Verdict> {
    nobody_busy(facts)?;
    let busy = facts.socket_busy_share.filter(|share| *share >= NETWORK_BUSY_SHARE);
    // The kernel names two of the three reasons to wait; the third is the congestion window.
    let congestion = facts
        .socket_busy_share
        .zip(facts.peer_window_limited_share)
        .zip(facts.send_buffer_limited_share)
        .map(|((busy, peer), buffer)| busy - peer - buffer)
        .filter(|share| *share >= CONGESTION_SHARE);
    let tcp = facts.tcp_bytes_per_s.filter(|rate| *rate > 0.0);
    let of_tcp = facts.bytes_per_s.zip(tcp).map(|(rate, tcp)| rate / tcp);
    let of_tcp = of_tcp.filter(|share| *share >= LADDER_SHARE);
    verdict(
        "network",
        [
            busy.zip(congestion).map(|(busy, congestion)| {
                let (busy, congestion) = (percent(busy), percent(congestion));
                format!("sockets had data to send for {busy}, limited by congestion {congestion}")
            }),
            of_tcp.map(|share| format!("the rate is {} of plain TCP's", percent(share))),
        ],
    )
}

fn latency(facts: &Facts) -> Option<Verdict> {
    nobody_busy(facts)?;
    let (streams, in_flight) = facts.streams.zip(facts.in_flight)?;
    let (rate, time_s) = facts.rate_per_s.zip(facts.round_trip_s)?;
    let expected = streams as f64 * in_flight / time_s;
    if !near(rate / expected, LITTLE_TOLERANCE) {
        return None;
    }
    let sum = format!(
        "{streams} streams × {in_flight} in flight / {:.0} µs = {expected:.0}/s; \
         measured {rate:.0}/s",
        time_s * 1e6
    );
    verdict("latency", [Some(sum)])
}

/// Present where no thread that can be seen is busy, and some can.
fn nobody_busy(facts: &Facts) -> Option<()> {
    let client = busiest(&facts.client_threads)?;
    let server = busiest(&facts.server_threads).unwrap_or(0.0);
    (client < BUSY_SHARE && server < BUSY_SHARE).then_some(())
}

/// Share of its cores that the server used; absent where it cannot be seen.
fn server_use(facts: &Facts) -> Option<f64> {
    let cores = facts.server_cores.filter(|cores| *cores > 0)?;
    (!facts.server_threads.is_empty()).then(|| sum(&facts.server_threads) / cores as f64)
}

fn server_used(facts: &Facts) -> String {
    match server_use(facts) {
        Some(share) => format!("the server used {} of its cores", percent(share)),
        None => "the server was not seen".to_owned(),
    }
}

fn busiest(threads: &[f64]) -> Option<f64> {
    threads.iter().copied().reduce(f64::max)
}

fn sum(threads: &[f64]) -> f64 {
    threads.iter().sum()
}

fn near(ratio: f64, tolerance: f64) -> bool {
    (ratio - 1.0).abs() <= tolerance
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests;
