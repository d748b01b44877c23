//! The commands of docs/benchmarking.md, run as they are written.

use std::process::Stdio;

use crate::support::{command, finished};

const PAGE: &str = include_str!("../../../docs/benchmarking.md");

/// The commands of the page, in their order.
fn commands() -> Vec<&'static str> {
    PAGE.lines().filter_map(|line| line.strip_prefix("$ flight-bench ")).collect()
}

/// Splits as a shell does, as far as the page needs it: at spaces, but for what stands in quotes.
fn words(line: &str) -> Vec<String> {
    let quoted = line.split('\'').enumerate();
    let parts = quoted.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    parts.collect()
}

#[test]
fn every_command_of_the_page_does_what_it_says() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert!(commands().len() > 15, "{:?}", commands());
    for line in commands() {
        let mut command = command("");
        command.args(words(line)).stdin(Stdio::null()).current_dir(folder.path());
        // Short windows: what is tried here are the words, not the figures.
        let short = [
            ("NO_SAVE", "false"),
            ("DURATION", "150ms"),
            ("WARMUP", "20ms"),
            ("SAMPLE_ROWS", "20k"),
            ("MAX_TIME", "20s"),
            ("QUIET", "true"),
        ];
        // Windows, for what has them.
        let by_window = !line.contains("--passes");
        let short = short.into_iter();
        for (name, value) in
            short.filter(|(name, _)| by_window || !["DURATION", "WARMUP"].contains(name))
        {
            command.env(format!("FLIGHT_BENCH_{name}"), value);
        }
        command.env("FLIGHT_BENCH_RUNS_DIR", folder.path().join("runs"));
        let run = finished(command);
        // Windows of a sixth of a second on a busy machine may well seem to regress.
        let judged =
            ["--baseline", "compare", "ab ", "--slo"].iter().any(|word| line.contains(word));
        assert!(run.code == 0 || judged && run.code == 3, "{line}: {run:?}");
        assert!(!run.stdout.is_empty() || line.starts_with("baseline"), "{line}: {run:?}");
    }
    assert!(folder.path().join("report.html").is_file(), "the page is written");
}
