//! docs/cli.md is what the programs' own --help says.
//!
//! `FLIGHT_UPDATE_DOCS=1` writes it anew.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use flight_testkit::program;

const PAGES: &[(&str, &[&[&str]])] = &[
    (
        "flight-server",
        &[
            &[],
            &["serve"],
            &["certs"],
            &["certs", "inspect"],
            &["keys"],
            &["keys", "init"],
            &["keys", "list"],
            &["keys", "rotate"],
            &["keys", "revoke"],
            &["sample"],
        ],
    ),
    (
        "flight-bench",
        &[
            &[],
            &["quick"],
            &["get"],
            &["put"],
            &["exchange"],
            &["mixed"],
            &["unary"],
            &["tls"],
            &["engines"],
            &["ladder"],
            &["ab"],
            &["sweep"],
            &["compare"],
            &["report"],
            &["baseline"],
            &["doctor"],
            &["selftest"],
        ],
    ),
];

fn help(name: &str, words: &[&str]) -> String {
    let output = Command::new(program(name)).args(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "{name} {words:?} --help failed");
    let text = String::from_utf8(output.stdout).unwrap();
    // Lines end where the text does: help pads some of them.
    text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_page_about_the_command_line_is_up_to_date() {
    let mut page = String::from(
        "# Command line\n\nWritten from the programs' `--help`. Every option can also be set by the \
         environment variable\nthat stands with it.\n",
    );
    for (name, commands) in PAGES {
        for words in *commands {
            let title = [&[*name], *words].concat().join(" ");
            write!(page, "\n## {title}\n\n```text\n{}\n```\n", help(name, words)).unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    if std::env::var_os("FLIGHT_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == page,
        "docs/cli.md differs from --help; write it with \
         FLIGHT_UPDATE_DOCS=1 cargo test --profile e2e -p flight-testkit --test cli"
    );
}
