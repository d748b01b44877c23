//! What is kept on this machine, whatever was measured, and what may be done with it.

use std::path::Path;

use tempfile::TempDir;

use crate::support::{Run, command, finished, serve_known};

/// By batches: in a short window of a busy machine nothing may be moved.
const SHORT: &str = "--batches 20";
const RUNG: &str = "--sample-rows 5k --duration 60ms --warmup 10ms";

#[test]
fn whatever_was_measured_last_is_told_again() {
    let (server, _files) = serve_known();
    let kept = TempDir::new().expect("a temporary folder");
    let target = server.endpoint();
    let lines = [
        format!("ladder {RUNG} --repeats 2 --quiet"),
        format!("ab --aa --pairs 2 --quiet get {target} {SHORT}"),
        format!("sweep --vary streams=1,2 --rounds 2 --quiet get {target} {SHORT}"),
        format!("mixed {target} --mix get=1,list=3 --repeats 2 --quiet {SHORT}"),
    ];
    for (count, line) in lines.iter().enumerate() {
        let printed = saving(kept.path(), line).ended(0);
        assert_eq!(printed.stderr, "", "{line}");
        assert_eq!(files(kept.path()), count + 1, "{line}");
        assert_eq!(saving(kept.path(), "report").ended(0).stdout, printed.stdout, "{line}");
        // So does the page that is made of it, from wherever it lies.
        let page = kept.path().join("x.html");
        saving(kept.path(), &format!("report last --out {}", page.display())).ended(0);
        let again = saving(kept.path(), &format!("report {}", page.display())).ended(0);
        assert_eq!(again.stdout, printed.stdout, "{line}");
    }
    let ladder = saving(kept.path(), "report last~3").ended(0).stdout;
    assert!(ladder.contains(" · ladder · "), "{ladder}");
}

#[test]
fn nothing_is_kept_that_is_not_to_be() {
    let (server, _files) = serve_known();
    let kept = TempDir::new().expect("a temporary folder");
    let target = server.endpoint();
    for line in [
        format!("ladder {RUNG} --repeats 1 --quiet --no-save"),
        format!("ab --aa --pairs 2 --quiet --no-save get {target} {SHORT}"),
        format!("sweep --vary streams=1,2 --rounds 1 --quiet --no-save get {target} {SHORT}"),
        format!("get {target} --repeats 1 --quiet --no-save {SHORT}"),
    ] {
        saving(kept.path(), &line).ended(0);
        assert_eq!(files(kept.path()), 0, "{line}");
    }
    let refused = |line: String, want: &str| {
        let run = saving(kept.path(), &line).ended(2);
        assert!(run.stderr.contains(want), "{line}: {}", run.stderr);
    };
    // Within the command it would keep nothing from being kept.
    let want = "--no-save is an option of ab; write it before the command";
    refused(format!("ab --aa get {target} --no-save"), want);
    let want = "--runs-dir is an option of sweep; write it before the command";
    refused(format!("sweep --vary streams=1,2 get {target} --runs-dir=x"), want);
}

#[test]
fn a_folder_that_cannot_be_written_costs_no_figures() {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("a new file");
    let (server, _files) = serve_known();
    let line =
        format!("sweep --vary streams=1,2 --rounds 1 --quiet get {} {SHORT}", server.endpoint());
    let run = saving(&file, &line).ended(0);
    let want = "warning: the run is not kept: cannot make the folder";
    assert!(run.stderr.contains(want) && run.stderr.contains("(--no-save)"), "{}", run.stderr);
    assert!(run.stdout.contains("MB/s"), "{}", run.stdout);
}

#[test]
fn only_runs_are_compared_and_made_a_baseline() {
    let (server, _files) = serve_known();
    let kept = TempDir::new().expect("a temporary folder");
    let get = format!("get {} --repeats 4 --quiet {SHORT}", server.endpoint());
    saving(kept.path(), &get).ended(0);
    let line = format!("sweep --vary streams=1,2 --rounds 1 --quiet {get}")
        .replace("--repeats 4 --quiet", "");
    saving(kept.path(), &line).ended(0);
    let refused = |line: &str| {
        let run = saving(kept.path(), line).ended(2);
        for want in ["run last: it is a sweep, which 'flight-bench report' tells", "such as last~1"]
        {
            assert!(run.stderr.contains(want), "{line}: {}", run.stderr);
        }
        assert_eq!(run.stderr.lines().count(), 1, "{line}: {}", run.stderr);
    };
    refused("compare last~1 last");
    refused("compare last last~1");
    refused(&format!("{get} --baseline last"));
    let named = saving(kept.path(), "baseline save main").ended(1);
    assert!(named.stderr.contains("run last: it is a sweep, which"), "{}", named.stderr);
    saving(kept.path(), "baseline save main last~1").ended(0);
    saving(kept.path(), "compare main last~1").ended(0);
}

/// Runs flight-bench with what it keeps in `folder`.
fn saving(folder: &Path, line: &str) -> Run {
    let mut command = command(line);
    command.env_remove("FLIGHT_BENCH_NO_SAVE").env("FLIGHT_BENCH_RUNS_DIR", folder);
    finished(command)
}

/// Documents that are kept in `folder`.
fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder.join("runs")).map_or(0, Iterator::count)
}
