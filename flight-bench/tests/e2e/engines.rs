//! `engines`: a row for each engine and suite, beside plaintext.

use serde_json::Value;

use crate::support::{bench, command, finished, number};

const SHORT: &str = "-s 1 --duration 150ms --warmup 10ms --repeats 3 --sample-rows 20k";

/// The engines that are part of these builds.
fn built() -> Vec<&'static str> {
    let openssl = cfg!(feature = "openssl").then_some("openssl");
    ["aws-lc", "ring"].into_iter().chain(openssl).collect()
}

/// The rows of a workload.
fn rows<'a>(document: &'a Value, workload: &str) -> Vec<&'a Value> {
    let variants = document["variants"].as_array().expect("a list of variants");
    variants.iter().filter(|variant| variant["workload"] == workload).collect()
}

/// Bytes a second of each repeat of a row, in the order of rounds.
fn rates(document: &Value, variant: &str) -> Vec<f64> {
    let repeats = document["repeats"].as_array().expect("a list of repeats");
    let own = repeats.iter().filter(|repeat| repeat["variant"] == variant);
    own.map(|repeat| number(repeat, "/counts/logical_bytes") / number(repeat, "/window_ns") * 1e9)
        .collect()
}

#[test]
fn each_engine_and_suite_has_a_row_that_negotiated_it_beside_plaintext() {
    let line = format!("engines {SHORT} --format json --quiet");
    let got = bench(&line).ended(0).json();
    let suites = [
        ("aes128", "TLS_AES_128_GCM_SHA256"),
        ("aes256", "TLS_AES_256_GCM_SHA384"),
        ("chacha20", "TLS_CHACHA20_POLY1305_SHA256"),
    ];
    let mut want = vec![("plain".to_owned(), None)];
    for engine in built() {
        want.extend(suites.map(|(id, suite)| (format!("{engine}-{id}"), Some((engine, suite)))));
    }
    for workload in ["get", "put"] {
        let rows = rows(&got, workload);
        assert_eq!(rows.len(), want.len(), "{workload}");
        for (row, (transport, tls)) in rows.into_iter().zip(&want) {
            assert_eq!(row["transport"], transport.as_str());
            let Some((engine, suite)) = tls else {
                assert_eq!(row["tls"], Value::Null);
                continue;
            };
            let agreed = &row["tls"];
            assert_eq!(
                (&agreed["engine"], &agreed["suite"]),
                (&(*engine).into(), &(*suite).into())
            );
            assert_eq!((&agreed["version"], &agreed["verified"]), (&"1.3".into(), &true.into()));
            assert_eq!(agreed["certificate"], "EC P-256");
            let ratio = &got["summary"][format!("{workload}.bytes_per_s@{transport}/plain")];
            let base = rates(&got, &format!("{workload}.plain"));
            let own = rates(&got, &format!("{workload}.{transport}"));
            let mut want: Vec<f64> = own.iter().zip(&base).map(|(own, base)| own / base).collect();
            // Nothing in a window is no share of anything.
            want.retain(|share| share.is_finite());
            want.sort_by(f64::total_cmp);
            assert_eq!(ratio["n"], want.len(), "{ratio}");
            if let [low, middle, high] = want[..] {
                let near = |key: &str, want: f64| (number(ratio, key) / want - 1.0).abs() < 1e-9;
                assert!(near("/median", middle) && near("/max", high), "{ratio} of {want:?}");
                assert!(low == 0.0 || near("/min", low), "{ratio} of {want:?}");
            }
            assert!(number(row, "/cost/client/cpu_s_per_gb") > 0.0, "{row}");
            assert!(number(row, "/cost/server/cpu_s_per_gb") > 0.0, "{row}");
        }
    }
    // Each engine has a server of its own.
    let mut urls: Vec<&str> =
        rows(&got, "get").iter().filter_map(|row| row["url"].as_str()).collect();
    urls.sort_unstable();
    urls.dedup();
    assert_eq!(urls.len(), 1 + built().len(), "{urls:?}");
}

#[test]
fn chosen_rows_are_kept_and_told_again_in_every_form() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = |line: &str| {
        let mut command = command(line);
        command.env_remove("FLIGHT_BENCH_NO_SAVE").env("FLIGHT_BENCH_RUNS_DIR", folder.path());
        finished(command)
    };
    let rows = "--engines ring --suites TLS13_CHACHA20_POLY1305_SHA256 --key rsa";
    let told = run(&format!("engines {rows} {SHORT} --quiet")).ended(0).stdout;
    for want in ["DoGet plaintext", "DoPut ring CHACHA20-POLY1305", "of plaintext", "RSA-4096"] {
        assert!(told.contains(want), "{want} is missing in:\n{told}");
    }
    // Who chooses misses nothing.
    assert!(!told.contains("not measured"), "{told}");
    assert!(told.lines().all(|line| line.chars().count() <= 100), "{told}");
    assert_eq!(run("report").ended(0).stdout, told);
    for (form, want) in [
        ("csv", "ring CHACHA20-POLY1305,engines,get.ring-chacha20,,get.bytes_per_s/plain,est,"),
        ("md", "| DoGet ring CHACHA20-POLY1305 |"),
        ("html", "ring CHACHA20-POLY1305"),
    ] {
        let told = run(&format!("report last --format {form}")).ended(0).stdout;
        assert!(told.contains(want), "{form}: {told}");
    }
}

#[test]
fn an_engine_or_a_suite_that_there_is_not_is_refused_with_those_that_there_are() {
    let check = |options: &str, want: &str| {
        let run = bench(&format!("engines {options}")).ended(2);
        assert!(run.stderr.contains(want), "{options}: {}", run.stderr);
    };
    check("--engines boring", "'boring'; the known ones are aws-lc, ring, openssl");
    check("--suites ROT13", "no cipher suite of TLS 1.3; those are TLS_AES_128_GCM_SHA256, TLS_");
    check("--suites ECDHE-RSA-AES128-GCM-SHA256", "no cipher suite of TLS 1.3");
    check("--format arrow", "engines makes several");
    check("--server-bin nowhere", "--server-bin nowhere is not a file");
    check("--certs nowhere", "--certs nowhere is not a folder");
}
