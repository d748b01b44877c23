//! The results of a run before anything happened: who it is and what it was told.

use std::time::SystemTime;

use flight_tls::KeyPassword;

use crate::cli::{Source, Verify};
use crate::config::{
    Arrival, Config, Connect, EnginesWork, LinkConfig, MixedWork, PutData, Rate, Target, TlsWork,
    Work,
};
use crate::exit::Exit;
use crate::load::clock_in_use;
use crate::report::{Host, Outcome, Results, RunRecord, ServerRecord, Warning};
use crate::saved::id_of;
use crate::workload::Kind;

/// What the arrivals of the first round are drawn by, where the data have no seed.
const SEED_OF_ARRIVALS: u64 = 42;

/// Empty results for `config`.
pub(super) fn of(config: &Config) -> Results {
    let started = SystemTime::now();
    let given = ServerRecord { kind: "given".into(), ..ServerRecord::default() };
    Results {
        id: id_of(started),
        started,
        record: run_record(config),
        server: matches!(config.target, Target::Given { .. }).then_some(given),
        host: Host::read(),
        clock: Some(clock_in_use()),
        floor: None,
        variants: Vec::new(),
        verify: None,
        warnings: warnings(config, cfg!(debug_assertions)),
        thresholds: Vec::new(),
        outcome: Outcome { exit: Exit::Failed, error: None, complete: false },
    }
}

/// The configuration, as far as it is known before the run.
pub(crate) fn run_record(config: &Config) -> RunRecord {
    let load = &config.load;
    let mut record = RunRecord {
        command: "quick".into(),
        streams: load.streams,
        connections: load.connections,
        threads: load.threads,
        model: "closed".into(),
        extent: load.extent.into(),
        repeats: load.repeats,
        verify: "count".into(),
        ..of_link(&config.link)
    };
    note_pace(&mut record, config);
    let child = matches!(config.target, Target::Child { .. });
    match &config.work {
        Work::Quick(quick) => record.sample_rows = child.then_some(quick.sample_rows),
        Work::Engines(engines) => note_engines(&mut record, engines),
        Work::Tls(tls) => note_handshakes(&mut record, tls),
        Work::Exchange(exchange) => {
            record.command = "exchange".into();
            record.sources = vec![exchange.source.to_string()];
            record.batch_rows = exchange.batch_rows;
            record.message_bytes = Some(exchange.message_bytes as u64);
            record.inflight = exchange.inflight;
            record.verify = "none".into();
            if let PutData::Generated { pool, seed } = exchange.data {
                (record.pool, record.seed) = (Some(pool), Some(seed));
            }
        }
        Work::Mixed(mixed) => note_mix(&mut record, mixed, child),
        Work::Unary(unary) => {
            record.command = "unary".into();
            record.transport = "hyper".into();
            record.call = Some(unary.call.name().to_owned());
            let other = unary.connect != Connect::Shared;
            record.connect = other.then(|| unary.connect.to_string().into());
            let nanos = |time: std::time::Duration| u64::try_from(time.as_nanos()).ok();
            record.linger_ns = unary.linger.and_then(nanos);
            record.verify = "none".into();
        }
        Work::Get(get) => {
            record.command = "get".into();
            record.sample_rows = child.then_some(get.sample_rows);
            record.sources = get.sources.iter().map(ToString::to_string).collect();
            record.batch_rows = get.batch_rows;
            record.message_bytes = get.message_bytes;
            let perf = get.sources.contains(&Source::Perf);
            record.records_per_stream = perf.then_some(get.records_per_stream);
            record.verify = name(get.verify).into();
            record.follow_locations = Some(get.follow.name().into());
        }
        Work::Put(put) => {
            record.command = "put".into();
            record.sources = put.destination.iter().map(ToString::to_string).collect();
            record.batch_rows = put.batch_rows;
            record.message_bytes = Some(put.message_bytes as u64);
            record.inflight = put.inflight;
            record.upload_bytes = Some(put.upload_bytes);
            record.verify = name(put.verify).into();
            if let PutData::Generated { pool, seed } = put.data {
                (record.pool, record.seed) = (Some(pool), Some(seed));
            }
        }
    }
    record
}

/// What is told of the connections.
fn of_link(link: &LinkConfig) -> RunRecord {
    RunRecord {
        transport: link.transport.name().into(),
        max_message_bytes: link.max_message_bytes as u64,
        metadata: link.metadata.keys().map(ToString::to_string).collect(),
        h2_stream_window: link.stream_window,
        h2_connection_window: link.connection_window,
        ..RunRecord::default()
    }
}

fn note_handshakes(record: &mut RunRecord, tls: &TlsWork) {
    record.command = "tls".into();
    record.transport = "hyper".into();
    record.verify = "none".into();
    record.missing.clone_from(&tls.missing);
    // Of several, each row says what it is.
    if let [row] = tls.rows.as_slice() {
        record.key = Some(row.key.name().into());
        record.resume = Some(row.resume.name().into());
    }
}

fn note_engines(record: &mut RunRecord, engines: &EnginesWork) {
    record.command = "engines".into();
    record.sample_rows = Some(engines.data.sample_rows);
    record.key = Some(engines.key.name().into());
    record.missing.clone_from(&engines.missing);
}

fn note_mix(record: &mut RunRecord, mixed: &MixedWork, child: bool) {
    record.command = "mixed".into();
    record.mix = Some(mixed.mix.to_string());
    record.sources = mixed.source.iter().map(ToString::to_string).collect();
    record.sample_rows = (child && mixed.source.is_none()).then_some(mixed.sample_rows);
    record.seed = Some(mixed.seed);
    record.verify = name(mixed.verify).into();
    if !mixed.mix.any(Kind::sends_batches) {
        return;
    }
    record.upload_bytes = Some(mixed.upload_bytes);
    record.batch_rows = mixed.batch_rows;
    record.inflight = mixed.inflight;
    record.message_bytes = Some(mixed.message_bytes as u64);
    if let PutData::Generated { pool, .. } = mixed.data {
        record.pool = Some(pool);
    }
}

/// Notes an open loop.
fn note_pace(record: &mut RunRecord, config: &Config) {
    let Some(pace) = config.pace else { return };
    // That of generated data is good for both.
    record.seed = record.seed.or(Some(SEED_OF_ARRIVALS));
    record.model = "open".into();
    let arrival = if pace.arrival == Arrival::Poisson { "poisson" } else { "uniform" };
    record.arrival = Some(arrival.into());
    match pace.rate {
        Rate::PerSecond(rate) => record.rate = Some(rate),
        Rate::Share(share) => record.rate_share = Some(share),
    }
}

/// What is wrong with whatever a debug build measures.
pub(crate) fn debug_build(debug: bool) -> Option<Warning> {
    debug.then(|| {
        Warning::of_run(
            "debug-build",
            "this flight-bench is built with debug assertions",
            "its figures are not those of a release",
            "cargo build --release",
        )
    })
}

/// What is wrong with the run whatever it finds; `debug` is of this program's build.
fn warnings(config: &Config, debug: bool) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = debug_build(debug).into_iter().collect();
    if let Target::Given { tls, .. } = &config.target
        && let Some(file) = &tls.tls_key_password_file
        && KeyPassword::warning(file).is_some()
    {
        warnings.push(Warning::of_run(
            "password-readable",
            format!("{} can be read by others than its owner", file.display()),
            "whoever reads it can open the key of --tls-cert",
            format!("chmod 600 {}", file.display()),
        ));
    }
    if let Target::Given { endpoint, tls } = &config.target
        && endpoint.is_tls()
        && tls.tls_insecure
    {
        warnings.push(Warning::of_run(
            "unverified",
            "the server's identity was not verified (--tls-insecure)",
            "the figures may be of another server",
            "--tls-ca FILE, or --tls-pin",
        ));
    }
    warnings
}

fn name(verify: Verify) -> &'static str {
    match verify {
        Verify::None => "none",
        Verify::Count => "count",
        Verify::Checksum => "checksum",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_with_checks_and_a_server_that_was_not_verified_are_told() {
        let check = |line: &str, debug, want: &[&str]| {
            let words = line.split(' ').map(std::ffi::OsString::from);
            let config = Config::from_cli(crate::cli::from(words).expect("a command line"));
            let told = warnings(&config.expect("options that go together"), debug);
            let codes: Vec<&str> = told.iter().map(|warning| warning.code.as_ref()).collect();
            assert_eq!(codes, want, "{line}");
        };
        check("flight-bench get", false, &[]);
        check("flight-bench get", true, &["debug-build"]);
        let tls = "flight-bench get grpc+tls://h:1 --tls-insecure";
        check(tls, false, &["unverified"]);
        check(tls, true, &["debug-build", "unverified"]);
    }
}
