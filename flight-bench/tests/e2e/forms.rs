//! The forms of a report, made of real runs; pages are opened in a browser where there is one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{bench, command, finished, serve_known};

const SHORT: &str = "--duration 200ms --warmup 20ms --repeats 3";

#[test]
fn a_page_of_a_get_works_in_a_browser_and_is_read_back() {
    check("get --streams 2 --sample-rows 20k", &["repeats", "throughput", "latency", "fairness"]);
}

#[test]
fn a_page_of_a_put_in_an_open_loop_works_in_a_browser() {
    check("put --streams 2 --rate 200", &["repeats", "throughput", "latency", "fairness"]);
}

#[test]
fn a_page_of_calls_works_in_a_browser() {
    check("unary info --streams 2", &["repeats", "throughput", "latency", "fairness"]);
}

#[test]
fn a_page_of_a_mix_works_in_a_browser_and_is_read_back() {
    check(
        "mixed --streams 2 --sample-rows 5k --upload-bytes 256KiB --mix get=5,put=3,info=9,list=9",
        &["repeats", "throughput", "latency"],
    );
}

#[test]
fn a_page_of_quick_works_in_a_browser() {
    check(
        "quick --sample-rows 20k --streams 2",
        &["repeats", "tls-cost", "throughput", "latency-get", "latency-put"],
    );
}

#[test]
fn a_page_of_a_ladder_works_in_a_browser() {
    let folder = TempDir::new().expect("a temporary folder");
    let page = folder.path().join("x.html");
    bench(&format!("ladder --sample-rows 5k {SHORT} --quiet --out {}", page.display())).ended(0);
    open(&page, &["ladder", "rungs", "cpu"]);
    // It is told again as it was, in its own form and in others.
    let json = told_again(&page, "json");
    let document = folder.path().join("x.json");
    std::fs::write(&document, &json).expect("room for a document");
    for form in ["text", "json", "ndjson", "csv", "md", "html"] {
        assert_eq!(told_again(&page, form), told_again(&document, form), "{form}");
    }
    assert_eq!(told_again(&document, "html"), std::fs::read_to_string(&page).expect("a page"));
    let refused = bench(&format!("report {} --format arrow", page.display())).ended(2);
    assert!(refused.stderr.contains("a ladder has no form arrow"), "{}", refused.stderr);
}

#[test]
fn a_page_of_pairs_works_in_a_browser_and_is_read_back() {
    let folder = TempDir::new().expect("a temporary folder");
    let (page, document) = (folder.path().join("x.html"), folder.path().join("x.json"));
    let mut command = command("ab --pairs 3 --quiet --b");
    command.args(["--streams 2", "--out"]).arg(&page).arg("--out").arg(&document);
    command.args("get --sample-rows 20k --duration 100ms --warmup 20ms".split(' '));
    // Three pairs settle nothing, so that the exit code is known.
    let printed = finished(command).ended(0).stdout;
    assert_eq!(told_again(&page, "text"), printed);
    assert_eq!(told_again(&document, "text"), printed);
    let html = std::fs::read_to_string(&page).expect("a page");
    assert_eq!(told_again(&document, "html"), html);
    assert_eq!(told_again(&page, "html"), html);
    let named = html.split("data-chart=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let charts: Vec<&str> = named.collect();
    assert_eq!(&charts[..2], ["changes", "pairs-get.bytes_per_s"]);
    open(&page, &charts);
    let refused = bench(&format!("report {} --format csv", page.display())).ended(2);
    assert!(refused.stderr.contains("a comparison has no form csv"), "{}", refused.stderr);
    let compared = bench(&format!("compare {0} {0}", page.display())).ended(2);
    assert!(compared.stderr.contains("it is a comparison, which"), "{}", compared.stderr);
}

#[test]
fn a_window_that_is_long_enough_shows_the_cores_of_both_sides() {
    let folder = TempDir::new().expect("a temporary folder");
    let (page, document) = (folder.path().join("x.html"), folder.path().join("x.json"));
    let outs = format!("--out {} --out {}", page.display(), document.display());
    let long = "--duration 900ms --warmup 20ms --repeats 2 --sample-rows 20k --quiet";
    bench(&format!("get {long} {outs}")).ended(0);
    let run: Value = serde_json::from_str(&std::fs::read_to_string(&document).expect("a document"))
        .expect("JSON");
    for repeat in run["repeats"].as_array().expect("repeats") {
        let timeline = repeat["timeline"].as_array().expect("a timeline");
        // One when it opens, one when it closes, and no more than five a second between them.
        assert!((3..=6).contains(&timeline.len()), "{timeline:#?}");
        let (first, last) = (&timeline[0], &timeline[timeline.len() - 1]);
        let used = |key: &str| {
            last[key].as_u64().expect("a count") > first[key].as_u64().expect("a count")
        };
        assert!(used("client_cpu_ns") && used("server_cpu_ns") && used("t_ns"), "{timeline:#?}");
    }
    open(&page, &["repeats", "throughput", "cores", "latency"]);
    // A server of somebody else's is not seen, and the page says so.
    let (server, _files) = serve_known();
    bench(&format!("get {} {long} --out {}", server.endpoint(), page.display())).ended(0);
    let html = std::fs::read_to_string(&page).expect("a page");
    assert!(html.contains("process is not known (--server-pid): the client alone"), "{html}");
}

#[test]
fn pages_of_sweeps_work_in_a_browser_and_are_read_back() {
    let page = |sweep: &str, command: &str, charts: &[&str]| {
        let folder = TempDir::new().expect("a temporary folder");
        let out = |ending: &str| folder.path().join(format!("x.{ending}"));
        let forms =
            [("txt", "text"), ("json", "json"), ("csv", "csv"), ("md", "md"), ("html", "html")];
        let outs = forms.map(|(ending, _)| format!("--out {}", out(ending).display())).join(" ");
        let line = format!(
            "sweep {sweep} --rounds 2 --quiet {outs} {command} --duration 100ms --warmup 10ms"
        );
        let run = bench(&line);
        // Calls may pile up on a busy machine at any rate, so that a search may find none.
        assert!(run.code == 0 || sweep.contains("--slo") && run.code == 3, "{run:?}");
        open(&out("html"), charts);
        for (ending, form) in forms {
            let written = std::fs::read_to_string(out(ending)).expect("it was written");
            assert_eq!(told_again(&out("json"), form), written, "{form}");
            assert_eq!(told_again(&out("html"), form), written, "{form}");
        }
        assert_eq!(told_again(&out("json"), "text"), run.stdout);
        let refused = bench(&format!("report {} --format ndjson", out("json").display())).ended(2);
        let want = "a sweep has no form ndjson; take text, json, csv, md or html";
        assert!(refused.stderr.contains(want), "{}", refused.stderr);
    };
    page("--vary rate=20%,40%", "unary list", &["load", "sweep"]);
    page("--vary streams=1,2 --vary batch-rows=500,1k", "put", &["sweep"]);
    page("--slo unary.response.p50<=60s", "unary list", &["search"]);
}

#[test]
fn every_form_is_written_beside_the_one_that_is_printed() {
    let (server, _files) = serve_known();
    let folder = TempDir::new().expect("a temporary folder");
    let endings = ["txt", "json", "ndjson", "csv", "md", "html"];
    let out = |ending: &str| folder.path().join(format!("x.{ending}"));
    let outs: String =
        endings.iter().map(|ending| format!(" --out {}", out(ending).display())).collect();
    let line = format!("get {} --passes 1 --repeats 2 --format csv{outs}", server.endpoint());
    let run = bench(&line).ended(0);
    let read = |ending: &str| std::fs::read_to_string(out(ending)).expect("it was written");
    assert_eq!(read("csv"), run.stdout);
    assert!(read("md").starts_with("### flight-bench "), "{}", read("md"));
    assert_eq!(read("ndjson").lines().count(), 3);
    // What is kept in one form can be told in every other.
    for (from, to) in [("html", "json"), ("json", "csv"), ("html", "md")] {
        let again = bench(&format!("report {} --format {to}", out(from).display())).ended(0);
        assert_eq!(again.stdout, read(to), "{to} of {from}");
    }
}

#[test]
fn progress_by_lines_is_json_alone_and_ends_with_the_summary() {
    for line in [
        "get --sample-rows 20k --duration 2200ms --warmup 0s --repeats 1 --progress json",
        "ladder --sample-rows 5k --duration 20ms --warmup 0s --repeats 1 --progress json",
    ] {
        let run = bench(line).ended(0);
        let lines: Vec<Value> = run
            .stderr
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{}", run.stderr)))
            .collect();
        let kinds: Vec<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
        assert_eq!(kinds.last(), Some(&"summary"), "{kinds:?}");
        assert!(kinds.contains(&"repeat") && kinds.contains(&"step"), "{kinds:?}");
        assert_eq!(kinds.contains(&"interval"), line.starts_with("get"), "{kinds:?}");
    }
}

#[test]
fn calls_are_shown_as_calls_while_they_are_made() {
    let run = bench(&format!("unary info {SHORT} --progress plain")).ended(0);
    assert!(run.stderr.contains("unary.plain round 1: "), "{}", run.stderr);
    assert!(run.stderr.contains(" calls/s") && !run.stderr.contains("MB/s"), "{}", run.stderr);
}

/// The page of a run has these charts, for a browser too, and holds the run.
fn check(line: &str, charts: &[&str]) {
    let folder = TempDir::new().expect("a temporary folder");
    let (page, document) = (folder.path().join("x.html"), folder.path().join("x.json"));
    let outs = format!("--out {} --out {}", page.display(), document.display());
    bench(&format!("{line} {SHORT} --quiet {outs}")).ended(0);
    let again = bench(&format!("report {} --format json", page.display())).ended(0).stdout;
    assert_eq!(again, std::fs::read_to_string(&document).expect("it was written"));
    open(&page, charts);
}

/// Opens a page: its charts are there, and its script logs no error.
fn open(page: &Path, charts: &[&str]) {
    let html = std::fs::read_to_string(page).expect("a page");
    for outside in ["src=", "href=", "http://", "https://", "url(", "@import"] {
        assert!(!html.contains(outside), "{outside} in the page");
    }
    let Some(browser) = browser() else {
        // Where it was to be installed, its absence is no reason to pass.
        assert!(std::env::var_os("CI").is_none(), "there is no browser on the PATH");
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"skipped: no chromium-headless-shell or chromium on the PATH\n",
        );
        return;
    };
    let profile = TempDir::new().expect("a temporary folder");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--enable-logging=stderr", "--v=0"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .output()
        .expect("the browser starts");
    let (dom, log) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{log}");
    for chart in charts {
        assert!(dom.contains(&format!("data-chart=\"{chart}\"")), "{chart} is not drawn");
    }
    assert_eq!(dom.matches("data-chart=").count(), charts.len());
    assert!(!dom.contains("No data"), "a chart has nothing to show");
    assert!(!log.contains("CONSOLE"), "{log}");
}

/// What `report` prints of a file in a form.
fn told_again(file: &Path, form: &str) -> String {
    bench(&format!("report {} --format {form}", file.display())).ended(0).stdout
}

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium-headless-shell", "chromium"];
    let places = names.iter().flat_map(|name| {
        std::env::split_paths(&path).map(move |folder| folder.join(name)).collect::<Vec<_>>()
    });
    places.into_iter().find(|place| place.is_file())
}
