//! The rules of the house that a machine can hold: who may depend on whom, sizes, docs, no keys.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lines of a file at most; ARCHITECTURE.md says to split along a seam from 400 on.
const FILE_LINES_MAX: usize = 600;

/// Which of our crates each may use, as ARCHITECTURE.md has it. What is not listed is forbidden.
const MAY_USE: &[(&str, &[&str])] = &[
    ("flight-wire", &[]),
    ("flight-sample", &[]),
    ("flight-pki", &[]),
    ("flight-tls", &[]),
    ("flight-auth", &[]),
    ("flight-keys", &[]),
    ("flight-ticket", &["flight-keys"]),
    ("flight-files", &["flight-wire"]),
    ("flight-store", &["flight-files", "flight-wire"]),
    ("flight-net", &["flight-tls", "flight-wire"]),
    ("flight-chart", &[]),
    ("flight-probe", &[]),
    ("flight-stats", &[]),
    ("flight-testkit", &[]),
    ("fuzz", &["flight-net", "flight-ticket", "flight-wire"]),
    ("flight-perf", &["flight-sample", "flight-tls"]),
    (
        "flight-server",
        &[
            "flight-auth",
            "flight-files",
            "flight-keys",
            "flight-net",
            "flight-pki",
            "flight-sample",
            "flight-store",
            "flight-ticket",
            "flight-tls",
            "flight-wire",
        ],
    ),
    (
        "flight-bench",
        &[
            "flight-chart",
            "flight-files",
            "flight-net",
            "flight-pki",
            "flight-probe",
            "flight-sample",
            "flight-stats",
            "flight-tls",
            "flight-wire",
        ],
    ),
];

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this crate lies in crates/").to_owned()
}

/// Files that git tracks, or would.
fn tracked() -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root())
        .output()
        .expect("git runs");
    assert!(listed.status.success(), "git ls-files failed");
    let names = String::from_utf8(listed.stdout).expect("file names are UTF-8");
    names.split('\0').filter(|n| !n.is_empty()).map(|n| root().join(n)).collect()
}

fn sources() -> impl Iterator<Item = (PathBuf, String)> {
    let rust = tracked().into_iter().filter(|p| p.extension().is_some_and(|e| e == "rs"));
    rust.filter_map(|path| fs::read_to_string(&path).ok().map(|text| (path, text)))
}

fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn crates_use_only_what_the_architecture_allows() {
    let allowed: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    let mut faults = Vec::new();
    let manifests = tracked().into_iter().filter(|p| p.ends_with("Cargo.toml"));
    for manifest in manifests.filter(|m| *m != root().join("Cargo.toml")) {
        let text = fs::read_to_string(&manifest).unwrap();
        let name = manifest.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        let Some(allowed) = allowed.get(name.as_str()) else {
            faults.push(format!("{name} is not in the table of crates"));
            continue;
        };
        let mut section = "";
        for line in text.lines() {
            if line.starts_with('[') {
                section = line;
            }
            let used = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let ours = section == "[dependencies]" && used.starts_with("flight-");
            if ours && !allowed.contains(&used) {
                faults.push(format!("{name} must not use {used}"));
            }
        }
    }
    none(&faults);
}

#[test]
fn files_are_small_rooms() {
    let over = |(path, text): (PathBuf, String)| {
        let lines = text.lines().count();
        (lines > FILE_LINES_MAX).then(|| format!("{}: {lines} lines", path.display()))
    };
    none(&sources().filter_map(over).collect::<Vec<_>>());
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    let silent = |(path, text): (PathBuf, String)| {
        (!text.starts_with("//!")).then(|| format!("{}: no //! at its top", path.display()))
    };
    none(&sources().filter_map(silent).collect::<Vec<_>>());
}

#[test]
fn no_key_is_tracked() {
    let is_key = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let by_name = [".key", ".pem", ".p12", ".pfx"].iter().any(|end| name.ends_with(end));
        // Sources hold the marker of PEM, to look for it or to break it.
        let source = path.extension().is_some_and(|end| end == "rs" || end == "py");
        let holds_key = |text: String| text.contains("PRIVATE KEY-----");
        by_name || !source && fs::read_to_string(path).is_ok_and(holds_key)
    };
    let keys = tracked().into_iter().filter(is_key);
    none(&keys.map(|p| format!("{} is a key", p.display())).collect::<Vec<_>>());
}

#[test]
fn one_version_of_the_crates_whose_types_must_meet() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let mut faults = Vec::new();
    for name in ["arrow-array", "arrow-ipc", "parquet", "tonic", "hyper", "h2", "rustls", "prost"] {
        let count = lock.lines().filter(|l| *l == format!("name = \"{name}\"")).count();
        if count != 1 {
            faults.push(format!("{count} versions of {name}"));
        }
    }
    none(&faults);
}

#[test]
fn every_dependency_of_the_workspace_is_used() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let section = manifest.split("[workspace.dependencies]").nth(1).unwrap();
    let section = section.split("[workspace.lints").next().unwrap();
    let all: String = tracked()
        .into_iter()
        .filter(|p| p.ends_with("Cargo.toml"))
        .map(|p| fs::read_to_string(p).unwrap())
        .collect();
    let named = section.lines().filter_map(|line| line.split_once(" = ").map(|(name, _)| name));
    let forms = |name: &str| {
        [format!("{name}.workspace = true"), format!("\n{name} = {{ workspace = true")]
    };
    let unused = named.filter(|name| !forms(name).iter().any(|form| all.contains(form.as_str())));
    none(&unused.map(|name| format!("{name} is used by no crate")).collect::<Vec<_>>());
}
