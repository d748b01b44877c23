//! The ladder against the real flight-server and its own lower rungs.

use crate::support::{bench, count, number};

#[test]
fn the_ladder_moves_the_same_messages_on_every_rung() {
    let run = bench(
        "ladder --sample-rows 20k --message-bytes 256KiB --duration 30ms --warmup 10ms \
         --repeats 2 --format json --quiet",
    )
    .ended(0);
    let got = run.json_of("ladder");
    assert_eq!((&got["schema"], &got["complete"]), (&"flight-bench.ladder/1".into(), &true.into()));
    let rungs = got["rungs"].as_array().expect("rungs");
    let ids: Vec<_> = rungs.iter().map(|rung| rung["id"].as_str().expect("a name")).collect();
    assert_eq!(ids, ["memcpy", "tcp", "tls", "http2", "grpc", "messages", "flight"]);
    for rung in rungs {
        let samples = rung["samples"].as_array().expect("samples");
        assert_eq!(samples.len(), 2, "{rung:#}");
        for sample in samples {
            assert!(count(sample, "/bytes") > 0 && number(sample, "/window_s") >= 0.03, "{rung:#}");
        }
    }
    // 20 000 trips of more than 100 bytes, in messages of at most a quarter of a mebibyte.
    let (messages, bytes) = (count(&got, "/config/messages"), count(&got, "/config/pass_bytes"));
    assert!(bytes / messages < 256 << 10, "{got:#}");
    assert!(bytes > 20_000 * 100, "{got:#}");
}

#[test]
fn the_table_of_the_ladder_fits_100_columns() {
    let run =
        bench("ladder --sample-rows 5k --duration 20ms --warmup 0ms --repeats 3 --progress none")
            .ended(0);
    for line in run.stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    for rung in ["memcpy", "raw TCP", "raw TLS", "HTTP/2", "gRPC no-op", "Flight, no decode"] {
        assert!(run.stdout.lines().any(|line| line.starts_with(rung)), "{}", run.stdout);
    }
    // Which steps three short rounds tell apart is the machine's to say.
    assert!(run.stdout.contains("% of raw TCP"), "{}", run.stdout);
}

#[test]
fn a_dry_run_of_the_ladder_measures_nothing() {
    let line = "ladder --dry-run --server-bin nowhere/flight-server --repeats 3 -d 2s -w 1s";
    let run = bench(line).ended(0);
    for want in ["measures  memcpy, raw TCP, ", "rounds    3 of all rungs, 2s each", "about 65 s\n"]
    {
        assert!(run.stdout.contains(want), "{}", run.stdout);
    }
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 100), "{}", run.stdout);
}

#[test]
fn a_ladder_that_cannot_be_climbed_says_why() {
    check("--server-bin nowhere/flight-server", 2, "nowhere/flight-server is not a file");
    check("--message-bytes 1", 2, "--message-bytes 1 is outside");
    check("--format arrow", 2, "the ladder makes several; use get or put");
    check("--sample-rows 0", 2, "--sample-rows 0 is outside 1 to");
    check("--sample-rows 1k --server-arg=--no-such-flag", 1, "unexpected argument");
}

fn check(options: &str, code: i32, want: &str) {
    let run = bench(&format!("ladder {options}")).ended(code);
    assert!(run.stderr.contains(want), "{want:?} is not in {}", run.stderr);
}
