//! What a run would do, in words: `--dry-run`.

use std::fmt::Write;
use std::time::Duration;

use crate::config::{Config, Extent, LadderConfig, Rate, Target, Work, names_of};
use crate::ladder::Rung;
use crate::run::order_of;

/// What it takes to start a repeat and to end it: connections, and cancelled streams.
const AROUND_A_REPEAT: Duration = Duration::from_millis(200);
/// What it takes to start a server, and to make what it serves.
const AROUND_A_RUN: Duration = Duration::from_secs(2);

/// The plan of a run: what is measured, in which order, and how long that takes.
pub(crate) fn told(config: &Config) -> String {
    let variants = variants(config);
    let load = &config.load;
    let mut out = String::new();
    let mut line = |name: &str, text: &str| {
        writeln!(out, "{name:<9} {text}").expect("writing to a string cannot fail");
    };
    line("measures", &variants.join(", "));
    line(
        "target",
        &match &config.target {
            Target::Given { endpoint, .. } => endpoint.to_string(),
            Target::Child { .. } => "a flight-server that is started for the run".to_owned(),
        },
    );
    let model = match config.pace.map(|pace| pace.rate) {
        None => "closed loop".to_owned(),
        Some(Rate::PerSecond(rate)) => format!("open loop, {rate}/s"),
        Some(Rate::Share(share)) => {
            format!("open loop, {:.0} % of what a closed loop reaches first", share * 100.0)
        }
    };
    let (streams, connections, threads) = (load.streams, load.connections, load.threads);
    line(
        "load",
        &format!("streams {streams}, connections {connections}, threads {threads}, {model}"),
    );
    let repeats = load.repeats;
    match load.extent {
        Extent::Window { warmup, duration } => {
            line("repeats", &format!("{repeats} of {duration:?} after {warmup:?} of warm-up"));
            let whole = takes(config, calibrations(config)).unwrap_or_default();
            line("takes", &format!("about {} s", whole.as_secs()));
        }
        Extent::Batches(count) => {
            line("repeats", &format!("{repeats} of {count} batches, calls or operations a stream"));
        }
        Extent::Passes(count) => {
            line("repeats", &format!("{repeats} of {count} times all of it on each stream"));
        }
    }
    if variants.len() > 1 {
        for round in 0..repeats.min(2) {
            let order: Vec<&str> = order_of(round, variants.len())
                .into_iter()
                .map(|index| variants[index].as_str())
                .collect();
            line(&format!("round {}", round + 1), &order.join(", "));
        }
    }
    out
}

/// The plan of a ladder.
pub(crate) fn of_ladder(config: &LadderConfig) -> String {
    let LadderConfig { sample_rows, message_bytes, warmup, duration, rounds, .. } = config;
    let rungs = Rung::ALL.map(Rung::label);
    let windows = u32::try_from(rounds * rungs.len()).unwrap_or(u32::MAX);
    let takes = (*warmup + *duration).saturating_mul(windows) + AROUND_A_RUN;
    format!(
        "measures  {}\n\
         target    a flight-server that is started, and the rungs below it\n\
         moves     {sample_rows} rows of a sample, in messages of {message_bytes} bytes at most\n\
         rounds    {rounds} of all rungs, {duration:?} each after {warmup:?} of warm-up\n\
         takes     about {} s\n",
        rungs.join(", "),
        takes.as_secs()
    )
}

/// About how long a run takes whose rate is known after so many closed loops; `None` where its
/// repeats end by what they moved.
pub(crate) fn takes(config: &Config, calibrations: usize) -> Option<Duration> {
    let Extent::Window { warmup, duration } = config.load.extent else { return None };
    let count = config.load.repeats * variants(config).len() + calibrations;
    let each = warmup + duration + AROUND_A_REPEAT;
    Some(each.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)) + AROUND_A_RUN)
}

/// The closed loops that a run measures to know its rate.
pub(crate) fn calibrations(config: &Config) -> usize {
    usize::from(matches!(config.pace.map(|pace| pace.rate), Some(Rate::Share(_))))
}

fn variants(config: &Config) -> Vec<String> {
    let one = |name: &str| vec![name.to_owned()];
    match &config.work {
        Work::Get(_) => one("get"),
        Work::Put(_) => one("put"),
        Work::Unary(work) => one(&format!("unary {}", work.call.name())),
        Work::Tls(work) if work.rows.len() > 1 => {
            work.rows.iter().map(|row| format!("tls.{}", row.id())).collect()
        }
        Work::Tls(_) => one("tls"),
        Work::Engines(work) => {
            let suites = |engine| {
                work.suites.iter().map(move |suite| format!("{engine}-{}", names_of(*suite).0))
            };
            let rows: Vec<String> = std::iter::once("plain".to_owned())
                .chain(work.engines.iter().flat_map(suites))
                .collect();
            let of = |name: &'static str| rows.iter().map(move |row| format!("{name}.{row}"));
            of("get").chain(of("put")).collect()
        }
        Work::Exchange(_) => one("exchange"),
        Work::Mixed(work) => one(&format!("mixed {}", work.mix)),
        Work::Quick(_) => {
            let transports: &[&str] = match &config.target {
                Target::Child { .. } => &["plain", "tls-ec", "tls-rsa"],
                Target::Given { endpoint, .. } if endpoint.is_tls() => &["tls"],
                Target::Given { .. } => &["plain"],
            };
            let of = |name: &'static str| transports.iter().map(move |one| format!("{name}.{one}"));
            of("get").chain(of("put")).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, want: &[&str]) {
        let words = std::iter::once("flight-bench").chain(line.split_whitespace());
        let cli = crate::cli::from(words.map(Into::into)).expect("right use");
        let text = told(&Config::from_cli(cli).expect("options that go together"));
        for want in want {
            assert!(text.contains(want), "{line}: {want:?} is missing in\n{text}");
        }
    }

    #[test]
    fn a_plan_says_what_where_and_how_long() {
        check(
            "get grpc://h:1 -s 4 -d 10s --repeats 3",
            &[
                "measures  get\n",
                "target    grpc://h:1\n",
                "load      streams 4, connections 4, ",
                "repeats   3 of 10s after 1s of warm-up\ntakes     about 35 s\n",
            ],
        );
        check(
            "unary info --rate 70%",
            &["unary GetFlightInfo", "open loop, 70 % of what a closed"],
        );
        check(
            "quick --repeats 2",
            &[
                "a flight-server that is started",
                "round 1   get.plain, get.tls-ec, get.tls-rsa, put.plain, put.tls-ec, put.tls-rsa",
                "round 2   put.tls-rsa, ",
            ],
        );
        check(
            "engines --engines ring --suites TLS_AES_256_GCM_SHA384 --repeats 1",
            &["measures  get.plain, get.ring-aes256, put.plain, put.ring-aes256\n"],
        );
        check("put --batches 10", &["5 of 10 batches, calls or operations a stream"]);
    }
}
