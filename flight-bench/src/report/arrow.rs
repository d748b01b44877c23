//! The lines of Arrow's own benchmark, `arrow-flight-benchmark`, for scripts that parse them.
//!
//! Asked for, its definitions are kept too, where they differ from ours: "MB/s" are MiB/s, and time
//! has connecting and the question for the plan in it. "Latency" is in both the time that a client
//! was blocked in reading or writing a batch (`get.wait`, `put.write_wait`). From apache/arrow:
//! cpp/src/arrow/flight/flight_benchmark.cc.

use std::fmt::Write;
use std::time::Duration;

use flight_net::Endpoint;

use super::results::{Measured, Results, Variant};
use super::workload::Workload;
use crate::cli::Semantics;
use crate::record::Metric;

pub(super) fn render(results: &Results, semantics: Semantics) -> String {
    let mut out = String::new();
    let Some(variant) = results.variants.first() else { return out };
    head(&mut out, results, variant);
    body(&mut out, results, variant, semantics);
    out
}

/// Whether the time by Arrow's definition is known: see [`time()`].
pub(super) fn knows_arrows_time(results: &Results) -> bool {
    let of_transfers = |v: &Variant| matches!(v.workload, Workload::Get | Workload::Put);
    results.variants.first().is_some_and(|variant| {
        let known = |measured: &Measured| measured.repeat.set_up.is_some();
        of_transfers(variant) && variant.measured.iter().all(known)
    })
}

/// What rates are divided by. Arrow's has the connections of each repeat in it, and the plan's
/// question, which its tool asks in every repeat and this one once.
fn time(results: &Results, variant: &Variant, semantics: Semantics) -> Duration {
    let set_up = variant.measured.iter().filter_map(|measured| measured.repeat.set_up);
    let plan = results.server.as_ref().and_then(|server| server.plan_ns);
    let plan = Duration::from_nanos(plan.unwrap_or(0));
    match semantics {
        Semantics::Own => variant.elapsed(),
        Semantics::Arrow => variant.elapsed() + set_up.sum::<Duration>() + plan,
    }
}

fn head(out: &mut String, results: &Results, variant: &Variant) {
    let started = results.server.as_ref().and_then(|server| server.pid);
    let origin = if started.is_some() { "spawned" } else { "standalone" };
    line(out, format_args!("Testing method: {}", variant.workload.call()));
    let (kind, address) = match variant.url.parse() {
        Ok(Endpoint::Unix(path)) => ("Unix", format!("Server unix socket: {}", path.display())),
        Ok(Endpoint::Tcp { host, port } | Endpoint::Tls { host, port }) => {
            ("TCP", format!("Server host: {host}\nServer port: {port}"))
        }
        Err(_) => ("TCP", format!("Server host: {}", variant.url)),
    };
    line(out, format_args!("Using {origin} {kind} server"));
    if let Some(pid) = started {
        line(out, format_args!("Server running with pid {pid}"));
    }
    line(out, format_args!("{address}"));
}

fn body(out: &mut String, results: &Results, variant: &Variant, semantics: Semantics) {
    let all = variant.merged();
    let transfer = all.counts.transfer;
    let time = time(results, variant, semantics);
    let (nanos, seconds) = (time.as_nanos(), time.as_secs_f64());
    let per_second = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    let (done, latency) = match variant.workload {
        Workload::Get => ("read", Metric::GetWait),
        Workload::Put => ("written", Metric::PutWriteWait),
        // Refused before anything ran; a run that was kept may be told all the same.
        Workload::Unary | Workload::Tls => ("made", Metric::UnaryService),
        Workload::Exchange => ("exchanged", Metric::ExchangeRoundTrip),
        Workload::Mixed => ("moved", Metric::MixedService),
    };
    let concurrent = match variant.workload {
        Workload::Get => "gets",
        Workload::Put => "puts",
        Workload::Unary | Workload::Tls => "calls",
        Workload::Exchange => "exchanges",
        Workload::Mixed => "operations",
    };
    line(out, format_args!("Number of perf runs: {}", variant.repeats().measured));
    line(out, format_args!("Number of concurrent {concurrent}: {}", results.record.streams));
    let batch_bytes = transfer.logical_bytes.checked_div(transfer.batches).unwrap_or(0);
    line(out, format_args!("Batch size: {batch_bytes}"));
    line(out, format_args!("Batches {done}: {}", transfer.batches));
    line(out, format_args!("Bytes {done}: {}", transfer.logical_bytes));
    line(out, format_args!("Nanos: {nanos}"));
    let megabyte = match semantics {
        Semantics::Own => 1e6,
        Semantics::Arrow => f64::from(1 << 20),
    };
    let megabytes = transfer.logical_bytes as f64 / megabyte;
    line(out, format_args!("Speed: {} MB/s", six_digits(per_second(megabytes))));
    let batches = per_second(transfer.batches as f64);
    line(out, format_args!("Throughput: {} batches/s", six_digits(batches)));
    // Arrow's tool states quantiles whatever the number of events; scripts expect the lines.
    let Some(histogram) = all.latencies.histogram(latency) else { return };
    line(out, format_args!("Latency mean: {} us", (histogram.mean() / 1e3) as u64));
    for quantile in [0.5, 0.95, 0.99] {
        let micros = histogram.value_at_quantile(quantile) / 1_000;
        line(out, format_args!("Latency quantile={quantile}: {micros} us"));
    }
    line(out, format_args!("Latency max: {} us", histogram.max() / 1_000));
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string cannot fail");
}

/// A number as C++ streams print it by default: `%g` with six significant digits.
fn six_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    // The exponent after rounding to six digits, so that 999999.5 becomes 1e+06.
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("`e` stands in this format");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).expect("at most 9 decimals");
        return without_zeros(&format!("{value:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

fn without_zeros(number: &str) -> String {
    if !number.contains('.') {
        return number.to_owned();
    }
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::results::tests::{results, single};

    #[test]
    fn numbers_print_as_in_cpp() {
        let check = |value: f64, want: &str| assert_eq!(six_digits(value), want);
        check(1200.1934, "1200.19");
        check(9601.5, "9601.5");
        check(9601.0, "9601");
        check(0.0, "0");
        check(123_456.7, "123457");
        check(999_999.6, "1e+06");
        check(1_234_567.0, "1.23457e+06");
        check(0.000_123_456_7, "0.000123457");
        check(0.000_012_345, "1.2345e-05");
        check(f64::NAN, "0");
    }

    #[test]
    fn a_get_prints_the_lines_of_arrows_tool() {
        let mut results = single(Workload::Get);
        results.server.as_mut().expect("a server").pid = None;
        assert_eq!(
            render(&results, Semantics::Own),
            "\
Testing method: DoGet
Using standalone TCP server
Server host: 127.0.0.1
Server port: 40213
Number of perf runs: 5
Number of concurrent gets: 4
Batch size: 131072
Batches read: 5000
Bytes read: 655360000
Nanos: 5000000000
Speed: 131.072 MB/s
Throughput: 1000 batches/s
Latency mean: 500 us
Latency quantile=0.5: 500 us
Latency quantile=0.95: 950 us
Latency quantile=0.99: 990 us
Latency max: 1000 us
"
        );
    }

    #[test]
    fn arrows_definitions_have_its_mebibytes_and_the_time_to_connect_and_plan() {
        let mut results = single(Workload::Get);
        assert!(!knows_arrows_time(&results), "windows have no time to connect");
        for measured in &mut results.variants[0].measured {
            measured.repeat.set_up = Some(Duration::from_millis(200));
        }
        results.server.as_mut().expect("a server").plan_ns = Some(250_000_000);
        assert!(knows_arrows_time(&results));
        let text = render(&results, Semantics::Arrow);
        // Five windows of a second, five times 0.2 s, and a quarter.
        let want = "Nanos: 6250000000\nSpeed: 100 MB/s\nThroughput: 800 batches/s\n";
        assert!(text.contains(want), "{text}");
    }

    #[test]
    fn a_put_to_a_started_server_names_it() {
        let text = render(&single(Workload::Put), Semantics::Own);
        for want in [
            "Testing method: DoPut\nUsing spawned TCP server\nServer running with pid 4312\n",
            "Number of concurrent puts: 4\n",
            "Batches written: 5000\nBytes written: 655360000\n",
        ] {
            assert!(text.contains(want), "{text}");
        }
    }

    #[test]
    fn a_run_without_a_batch_has_no_latency_and_no_nan() {
        let mut results = results(&[]);
        assert_eq!(render(&results, Semantics::Own), "");
        results = single(Workload::Get);
        results.variants[0].measured.clear();
        let text = render(&results, Semantics::Own);
        assert!(text.ends_with("Speed: 0 MB/s\nThroughput: 0 batches/s\n"), "{text}");
    }
}
