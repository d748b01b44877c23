//! What a variant cost: processor time, memory, descriptors, switches; and what limited its rate.

use flight_probe::process::Spent;
use flight_probe::verdict::{Facts, OpenLoop, Verdict};
use serde::{Deserialize, Serialize};

use super::figures::{amount, megabytes, nanos};
use super::results::{Measured, Results, Variant};
use super::workload::Workload;
use crate::load::{TcpAmounts, WORKER};
use crate::record::Metric;

/// What one side used for what was moved, over the windows of all repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// Seconds of processor time for each 10^9 logical bytes.
    pub(crate) cpu_s_per_gb: Option<f64>,
    /// Nanoseconds of processor time for each batch, call or operation.
    pub(crate) cpu_ns_per_batch: Option<f64>,
    /// Processors that were busy, on average.
    pub(crate) cores: Option<f64>,
    /// Context switches for each batch or call.
    pub(crate) switches_per_batch: Option<f64>,
    /// The most of any repeat.
    pub(crate) peak_bytes: Option<u64>,
    pub(crate) descriptors: Option<u64>,
}

/// Client and server; a server that cannot be seen is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Costs {
    pub(crate) client: Option<Cost>,
    pub(crate) server: Option<Cost>,
}

impl Costs {
    pub(crate) fn of(variant: &Variant) -> Self {
        Self {
            client: cost(variant, |measured| Some(&measured.repeat.resources.as_ref()?.client)),
            server: cost(variant, |measured| measured.repeat.resources.as_ref()?.server.as_ref()),
        }
    }
}

/// What client and server used, in words; `None` where nothing was watched.
pub(crate) fn sides(variant: &Variant) -> Option<(String, String)> {
    let Costs { client, server } = Costs::of(variant);
    let told = |cost: &Cost| {
        let parts = [
            cost.cpu_s_per_gb.map(|seconds| format!("{seconds:.3} CPU s/GB")),
            cost.cpu_ns_per_batch
                .map(|time| format!("{}/{}", nanos(time), variant.workload.unit())),
            cost.cores.map(|cores| format!("{cores:.2} cores")),
            cost.switches_per_batch.map(|count| format!("{} switches", amount(count))),
            cost.peak_bytes.map(|bytes| format!("{} MB", megabytes(bytes as f64))),
            cost.descriptors.map(|count| format!("{count} fds")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    };
    let unknown = || "n/a: its process is not known (--server-pid)".to_owned();
    Some((told(&client?), server.as_ref().map_or_else(unknown, told)))
}

fn cost<'a>(
    variant: &'a Variant,
    spent: impl Fn(&'a Measured) -> Option<&'a Spent>,
) -> Option<Cost> {
    let complete = variant.measured.iter().filter(|measured| measured.complete);
    let sides: Vec<(&Measured, &Spent)> =
        complete.filter_map(|measured| Some((measured, spent(measured)?))).collect();
    if sides.is_empty() {
        return None;
    }
    let sum = |amount: &dyn Fn(&(&Measured, &Spent)) -> u64| -> f64 {
        sides.iter().map(|side| amount(side) as f64).sum()
    };
    let transfer = |side: &(&Measured, &Spent)| side.0.repeat.recording.counts.transfer;
    let bytes = sum(&|side| transfer(side).logical_bytes);
    let batches = sum(&|side| variant.workload.count(&transfer(side)));
    let cpu = sum(&|side| side.1.cpu_ns);
    let switches =
        sum(&|side| side.1.voluntary_switches.saturating_add(side.1.involuntary_switches));
    let per = |amount: f64, of: f64| (of > 0.0).then(|| amount / of);
    let bytes = if variant.workload.moves_batches() { bytes } else { 0.0 };
    Some(Cost {
        cpu_s_per_gb: per(cpu, bytes),
        cpu_ns_per_batch: per(cpu, batches),
        cores: per(cpu, sum(&|side| side.1.wall_ns)),
        switches_per_batch: per(switches, batches),
        peak_bytes: sides.iter().filter_map(|side| side.1.peak_bytes).max(),
        descriptors: sides.iter().filter_map(|side| side.1.descriptors).max(),
    })
}

/// What limited the rate, from the repeat in the middle; `None` without one that was watched.
pub(crate) fn bottleneck(results: &Results, variant: &Variant) -> Option<Verdict> {
    let mut watched: Vec<&Measured> = variant
        .measured
        .iter()
        .filter(|measured| measured.complete && measured.repeat.resources.is_some())
        .collect();
    watched.sort_by(|one, other| variant.count_per_s(one).total_cmp(&variant.count_per_s(other)));
    let middle = watched.get(watched.len() / 2)?;
    let mut verdict = Verdict::of(&facts(results, variant, middle)?);
    if watched.len() > 1 {
        let all = variant.measured.len();
        verdict.evidence.push(format!("repeat {} of {all}", middle.round + 1));
    }
    Some(verdict)
}

/// Share of the time of all cores that neither client nor server used, nor the hypervisor; `None`
/// where the server is not seen, which may be one of the others.
pub(super) fn others_share(results: &Results, measured: &Measured) -> Option<f64> {
    let resources = measured.repeat.resources.as_ref()?;
    let cores = results.host.cpu.usable.filter(|cores| *cores > 0)? as f64;
    let share = |spent: &Spent| spent.cpu_ns as f64 / spent.wall_ns.max(1) as f64 / cores;
    let ours = share(&resources.client) + share(resources.server.as_ref()?);
    let rest = resources.noise.idle_share? + resources.noise.steal_share.unwrap_or_default();
    Some((1.0 - rest - ours).max(0.0))
}

fn facts(results: &Results, variant: &Variant, measured: &Measured) -> Option<Facts> {
    let resources = measured.repeat.resources.as_ref()?;
    let recording = &measured.repeat.recording;
    let wall = resources.client.wall_ns.max(1) as f64;
    let share = |nanos: u64| nanos as f64 / wall;
    let workers =
        || resources.client.threads.iter().filter(|thread| thread.name.starts_with(WORKER));
    let waits = workers().map(|thread| share(thread.wait_ns));
    let server = resources.server.as_ref();
    let noise = &resources.noise;
    let cores = results.host.cpu.usable;
    let round_trip = match variant.workload {
        Workload::Get => None,
        Workload::Put => recording.latencies.summary(Metric::PutAck),
        Workload::Unary => recording.latencies.summary(Metric::UnaryService),
        Workload::Tls => recording.latencies.summary(Metric::ConnectReady),
        Workload::Exchange => recording.latencies.summary(Metric::ExchangeRoundTrip),
        Workload::Mixed => recording.latencies.summary(Metric::MixedService),
    };
    // Batches of DoGet are late by the server's doing.
    let lags = [
        Metric::PutLag,
        Metric::UnaryLag,
        Metric::ConnectLag,
        Metric::ExchangeLag,
        Metric::MixedLag,
    ];
    let lag = lags.into_iter().find_map(|metric| recording.latencies.summary(metric));
    let moves_bytes = variant.workload.moves_batches();
    // Of a connection, on average.
    let of_tcp = |micros: fn(&TcpAmounts) -> Option<u64>| {
        let tcp = resources.tcp.as_ref()?;
        Some(share(micros(&tcp.all)?.saturating_mul(1000)) / tcp.connections.max(1) as f64)
    };
    Some(Facts {
        socket_busy_share: of_tcp(|tcp| tcp.busy_us),
        peer_window_limited_share: of_tcp(|tcp| tcp.peer_window_limited_us),
        send_buffer_limited_share: of_tcp(|tcp| tcp.send_buffer_limited_us),
        throttled_periods: noise.throttling.map(|throttling| throttling.periods),
        steal_share: noise.steal_share,
        idle_share: noise.idle_share,
        same_machine: server.is_some(),
        cores,
        client_threads: workers().map(|thread| share(thread.cpu_ns)).collect(),
        client_wait_share: waits.reduce(f64::max),
        server_threads: server
            .map(|server| server.threads.iter().map(|thread| share(thread.cpu_ns)).collect())
            .unwrap_or_default(),
        server_cores: server.and(cores),
        open_loop: results.record.rate.zip(lag.and_then(|lag| lag.percentiles_ns[0])).map(
            |(rate, lag_p50)| OpenLoop { interval_ns: 1e9 / rate, lag_p50_ns: lag_p50 as f64 },
        ),
        streams: Some(results.record.streams as u64),
        in_flight: match variant.workload {
            Workload::Get => None,
            Workload::Put | Workload::Exchange => {
                results.record.inflight.map(|batches| batches as f64)
            }
            Workload::Unary | Workload::Tls | Workload::Mixed => Some(1.0),
        },
        rate_per_s: Some(variant.count_per_s(measured)),
        offered_per_s: results.record.rate,
        others_share: others_share(results, measured),
        round_trip_s: round_trip.map(|summary| summary.mean_ns / 1e9),
        bytes_per_s: moves_bytes.then(|| measured.megabytes_per_s() * 1e6),
        ..Facts::default()
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use flight_probe::noise::Noise;
    use flight_probe::process::ThreadUsage;

    use super::*;
    use crate::load::Resources;
    use crate::report::results::tests::single;

    /// One side that was `busy` of a second of a window on one thread.
    pub(crate) fn spent(name: &str, busy: f64) -> Spent {
        let cpu_ns = (busy * 1e9) as u64;
        let thread = ThreadUsage {
            id: 1,
            name: name.to_owned(),
            cpu_ns,
            wait_ns: 0,
            voluntary_switches: 1000,
            involuntary_switches: 500,
        };
        Spent {
            wall_ns: 1_000_000_000,
            cpu_ns,
            user_ns: cpu_ns,
            system_ns: 0,
            wait_ns: 0,
            voluntary_switches: 1000,
            involuntary_switches: 500,
            minor_faults: 0,
            major_faults: 0,
            peak_bytes: Some(31_000_000),
            anonymous_bytes: None,
            descriptors: Some(19),
            threads: vec![thread],
        }
    }

    /// A run whose client and server were so busy in each repeat.
    fn watched(client: f64, server: Option<f64>) -> Results {
        let mut results = single(Workload::Get);
        results.host.cpu.usable = Some(2);
        for measured in &mut results.variants[0].measured {
            let server = server.map(|busy| spent("tokio-rt-worker", busy));
            let noise = Noise { idle_share: Some(0.3), ..Noise::default() };
            let client = spent("worker-0", client);
            measured.repeat.resources = Some(Resources { client, server, noise, tcp: None });
        }
        results
    }

    #[test]
    fn costs_are_sums_over_repeats() {
        let results = watched(0.5, Some(0.25));
        let costs = Costs::of(&results.variants[0]);
        let client = costs.client.expect("it was watched");
        // 5 × 0.5 s for 5 × 131 072 000 bytes in 5 × 1000 batches.
        assert!((client.cpu_s_per_gb.expect("bytes") - 0.5 / 0.131_072).abs() < 1e-9);
        assert_eq!(client.cpu_ns_per_batch, Some(500_000.0));
        assert_eq!((client.cores, client.switches_per_batch), (Some(0.5), Some(1.5)));
        assert_eq!((client.peak_bytes, client.descriptors), (Some(31_000_000), Some(19)));
        assert_eq!(costs.server.expect("it was watched").cpu_ns_per_batch, Some(250_000.0));
    }

    #[test]
    fn what_was_not_seen_costs_nothing_that_can_be_told() {
        let costs = Costs::of(&single(Workload::Get).variants[0]);
        assert_eq!(costs, Costs { client: None, server: None });
        assert_eq!(Costs::of(&watched(0.5, None).variants[0]).server, None);
    }

    #[test]
    fn a_busy_client_beside_an_idle_server_limits() {
        let check = |client, server, want: &str| {
            let results = watched(client, server);
            let verdict = bottleneck(&results, &results.variants[0]);
            let verdict = verdict.expect("it was watched");
            assert_eq!(verdict.name, want, "{verdict:?}");
        };
        check(0.97, Some(0.5), "client");
        check(0.97, None, "unknown");
        check(0.3, Some(0.99), "server (single thread)");
        check(0.3, Some(0.2), "unknown");
        assert!(bottleneck(&single(Workload::Get), &single(Workload::Get).variants[0]).is_none());
    }
}
