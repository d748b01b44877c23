//! Figures that become exit codes: thresholds, comparisons of kept runs, and sides in turn.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Run, bench, command, finished, follows, serve_known};

const SHORT: &str = "--duration 100ms --warmup 20ms";

#[test]
fn a_threshold_that_fails_ends_with_3_and_one_that_passes_with_0() {
    let (server, _folder) = serve_known();
    let run = |exprs: &[&str], form: &str| {
        let line = format!("get {} {SHORT} --repeats 3 --format {form}", server.endpoint());
        let mut command = command(&line);
        for expr in exprs {
            command.args(["--fail-if", expr]);
        }
        finished(command)
    };
    let text = run(&["get.bytes_per_s < 1B/s", "errors > 0"], "text").ended(0);
    for want in ["pass  get.bytes_per_s < 1B/s: ", "pass  errors > 0: 0\n"] {
        assert!(text.stdout.contains(want), "{}", text.stdout);
    }
    let failed = run(&["get.bytes_per_s > 1B/s", "errors > 0"], "json").ended(3);
    let want = "flight-bench: threshold failed: get.bytes_per_s > 1B/s: ";
    assert!(failed.stderr.contains(want), "{}", failed.stderr);
    let document = failed.json();
    assert_eq!(document["exit"], 3);
    let passed: Vec<_> = (0..2).map(|i| document["thresholds"][i]["pass"].as_bool()).collect();
    assert_eq!(passed, [Some(false), Some(true)]);
}

#[test]
fn kept_runs_are_compared_and_a_regression_ends_with_3() {
    let (server, _folder) = serve_known();
    let kept = TempDir::new().expect("a temporary folder");
    let measure = format!("get {} {SHORT} --repeats 4 --quiet", server.endpoint());
    saving(kept.path(), &measure).ended(0);
    saving(kept.path(), "baseline save main").ended(0);

    let same = saving(kept.path(), "compare main last --format json").ended(0);
    let same = same.json_of("compare");
    let row = &same["comparisons"][0]["rows"][0];
    assert_eq!((&row["figure"], &row["gates"]), (&json!("get.bytes_per_s"), &json!(true)));
    assert_eq!(row["base"], row["value"]);

    let slow = kept.path().join("slow.json");
    slowed(kept.path(), "main", &slow);
    let text = saving(kept.path(), &format!("compare main {}", slow.display())).ended(3).stdout;
    for want in ["get.bytes_per_s", "-90.0 %", "regressed", "not interleaved: drift not controlled"]
    {
        assert!(text.contains(want), "{want:?} is missing in\n{text}");
    }
    assert!(text.lines().filter(|line| !line.starts_with("B  ")).all(fits), "{text}");
    saving(kept.path(), &format!("compare {} main --format md", slow.display())).ended(0);
}

#[test]
fn a_run_is_compared_with_its_baseline() {
    let (server, _folder) = serve_known();
    let kept = TempDir::new().expect("a temporary folder");
    let measure = format!("get {} {SHORT} --repeats 4 --quiet", server.endpoint());
    saving(kept.path(), &measure).ended(0);
    // The band is as wide as it gets: only a run twice as slow would regress.
    let line = format!("{measure} --baseline last --equivalence 100%");
    let run = saving(kept.path(), &line).ended(0);
    for want in ["A  last (", "B  this run (", "get.bytes_per_s", "drift not controlled"] {
        assert!(run.stdout.contains(want), "{want:?} is missing in\n{}", run.stdout);
    }
    let other = saving(kept.path(), &format!("{measure} --baseline last -s 2")).ended(2);
    assert!(other.stderr.contains("streams: 1 and 2"), "{}", other.stderr);
    assert!(other.stderr.contains("--allow-diff"), "{}", other.stderr);
    let missing = saving(kept.path(), &format!("{measure} --baseline missing")).ended(2);
    assert!(missing.stderr.contains("there is no run \"missing\""), "{}", missing.stderr);
}

#[test]
fn two_sets_of_options_are_measured_in_turn() {
    let (server, _folder) = serve_known();
    let out = TempDir::new().expect("a temporary folder");
    let out = out.path().join("ab.json");
    let mut command = command("ab --pairs 3 --a");
    command.args(["--streams 1", "--b", "--streams 2", "--out"]).arg(&out);
    command.args(["get", server.endpoint(), "--duration", "200ms", "--warmup", "20ms"]);
    let run = finished(command);
    // Three pairs settle nothing.
    let run = run.ended(0);
    assert!(run.stderr.contains("pair 3 of 3: A "), "{}", run.stderr);
    for want in ["A  --streams 1\nB  --streams 2\n", "3 pairs in turn", "inconclusive"] {
        assert!(run.stdout.contains(want), "{want:?} is missing in\n{}", run.stdout);
    }
    assert!(run.stdout.lines().all(fits), "{}", run.stdout);
    let text = std::fs::read_to_string(&out).expect("--out was written");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    follows("ab", &document);
    assert_eq!(
        (&document["complete"], document["pairs"].as_array().map(Vec::len)),
        (&json!(true), Some(3))
    );
}

#[test]
fn a_server_is_started_anew_for_every_run_of_equal_sides() {
    let run =
        bench("ab --aa --pairs 2 get --sample-rows 10k --duration 50ms --warmup 10ms").ended(0);
    assert!(run.stdout.contains("noise floor of this machine: "), "{}", run.stdout);
}

#[test]
fn the_noise_of_this_machine_is_kept_and_taken_into_account() {
    let kept = TempDir::new().expect("a temporary folder");
    let floor = kept.path().join("floor.json");
    let found = saving(kept.path(), "doctor --aa --max-time 40s --quiet --format json").ended(0);
    let document: Value = serde_json::from_str(&found.stdout).expect("JSON");
    let here = &document["aa_floor"];
    assert!(here["pairs"].as_u64() >= Some(6) && here["throughput"].is_number(), "{document:#}");
    assert!(["yes", "coarse", "no"].iter().any(|fit| here["fit"] == *fit), "{document:#}");
    let text = std::fs::read_to_string(&floor).expect("a floor is kept");
    let mut file: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(file["throughput"], here["throughput"]);

    // A machine so noisy that half is as good as whole: the same slower run says nothing there.
    let (server, _folder) = serve_known();
    let measure = format!("get {} {SHORT} --repeats 4 --quiet", server.endpoint());
    saving(kept.path(), &measure).ended(0);
    let slow = kept.path().join("slow.json");
    slowed(kept.path(), "last", &slow);
    let compare = format!("compare last {} --format json", slow.display());
    file["throughput"] = json!(0.001);
    std::fs::write(&floor, file.to_string()).expect("room for a floor");
    let document = saving(kept.path(), &compare).ended(3).json_of("compare");
    assert_eq!(document["env"]["aa_floor"]["throughput"], 0.001);
    file["throughput"] = json!(20.0);
    std::fs::write(&floor, file.to_string()).expect("room for a floor");
    let document = saving(kept.path(), &compare).ended(0).json_of("compare");
    let row = &document["comparisons"][0]["rows"][0];
    assert_eq!((&row["verdict"], &row["floor"]), (&json!("inconclusive"), &json!(20.0)));
    let run = saving(kept.path(), &format!("{measure} --baseline last --format json")).ended(0);
    assert_eq!(run.json()["env"]["aa_floor"]["throughput"], 20.0);
    assert!(run.stderr.is_empty(), "{}", run.stderr);

    // One that is broken is told and left alone.
    std::fs::write(&floor, "{").expect("room for a floor");
    let text = saving(kept.path(), &compare.replace(" --format json", "")).ended(3).stdout;
    let want = "! the noise floor of this machine is not known: ";
    assert!(text.contains(want) && text.contains("it is broken"), "{text}");
    let run = saving(kept.path(), &format!("{measure} --format json")).ended(0);
    assert!(run.json()["env"]["aa_floor"].is_null());
}

#[test]
fn a_noise_floor_that_cannot_be_measured_is_refused_in_a_sentence() {
    let kept = TempDir::new().expect("a temporary folder");
    let check = |line: &str, code: i32, want: &str| {
        let run = saving(kept.path(), line).ended(code);
        assert!(run.stderr.contains(want), "{line}: {}", run.stderr);
    };
    check("doctor --aa --max-time 9s", 2, "--max-time 9s is outside 10s to 3600s");
    check("doctor --aa --server-bin /none", 2, "--server-bin /none is not a file");
    check("doctor --aa --quiet --server-bin /bin/true", 1, "pair 1, side A");
    assert!(!kept.path().join("floor.json").exists());
}

#[test]
fn commands_are_timed_and_a_slower_one_is_a_regression() {
    let run = |a: &str, b: &str| {
        let mut command = command("ab --pairs 6 --format json --quiet");
        command.args(["--a-run", a, "--b-run", b]);
        finished(command)
    };
    let slower = run("true", "sleep 0.2").ended(3);
    let document = slower.json_of("ab");
    assert_eq!(document["rows"][0]["figure"], "wall_time");
    assert_eq!(document["rows"][0]["verdict"], "regressed");
    let failed = run("true", "exit 7").ended(1);
    let want = "flight-bench: pair 1, side B: 'exit 7' ended with exit status: 7";
    assert!(failed.stderr.contains(want), "{}", failed.stderr);
}

#[test]
fn a_debug_build_is_refused_by_strict_unless_it_is_allowed() {
    let (server, _folder) = serve_known();
    let refused = |line: String| {
        let run = bench(&line).ended(4);
        assert!(run.stderr.contains("give --allow-debug"), "{line}: {}", run.stderr);
        assert_eq!(run.stdout, "", "nothing is measured");
    };
    // Programs that tests start are such a build.
    if cfg!(debug_assertions) {
        refused(format!("get {} --strict", server.endpoint()));
        refused(format!("ab --aa --strict get {}", server.endpoint()));
    }
    // So few batches are told, and not to be trusted.
    let line = format!("get {} --batches 8 --repeats 1 --strict --allow-debug", server.endpoint());
    let run = bench(&line).ended(4);
    assert!(
        run.stderr.contains("flight-bench: --strict: a repeat has 8 batches"),
        "{}",
        run.stderr
    );
    assert!(run.stdout.contains("total"), "{}", run.stdout);
}

#[test]
fn wrong_use_is_refused_before_anything_is_measured() {
    let check = |line: &str, want: &str| {
        let run = bench(line).ended(2);
        assert!(run.stderr.contains(want), "{line}: {}", run.stderr);
    };
    check("get --fail-if speed", "there is no comparison in it; write METRIC OP VALUE");
    check("get --fail-if=put.ack.p99>5ms", "put.ack.p99 is not measured by get");
    check("get --fail-if=put.ack.p99>5", "'5' has no unit of put.ack.p99; write one of ms, us");
    check("ab --aa get --allow-debug", "leave --allow-debug out of the command");
    check("get --baseline main --repeats 3", "--repeats 3 are too few; give 4 or more");
    check("compare one", "2 values required");
    check("compare ./one.json ./two.json", "run ./one.json: cannot read ./one.json");
    check("ab get", "both sides are the same; tell them apart with --a and --b");
    check("ab --aa get --repeats 2", "give --pairs in place of --repeats");
}

/// Writes a kept run as it were, were its windows ten times as long: it moves a tenth a second.
fn slowed(kept: &Path, run: &str, slow: &Path) {
    let text = saving(kept, &format!("report {run} --format json")).ended(0).stdout;
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    for repeat in document["repeats"].as_array_mut().expect("repeats") {
        repeat["window_ns"] = json!(repeat["window_ns"].as_u64().expect("a window") * 10);
    }
    std::fs::write(slow, document.to_string()).expect("room for a run");
}

/// Runs flight-bench with its runs in `folder`.
fn saving(folder: &Path, line: &str) -> Run {
    let mut command = command(line);
    command.env_remove("FLIGHT_BENCH_NO_SAVE").env("FLIGHT_BENCH_RUNS_DIR", folder);
    finished(command)
}

fn fits(line: &str) -> bool {
    line.chars().count() <= 100
}
