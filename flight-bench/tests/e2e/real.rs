//! Public files, read and uploaded again, in plaintext and over TLS.

use std::path::Path;

use flight_testkit::ServerCommand;
use tempfile::TempDir;

use crate::secure::Secure;
use crate::support::{bench, count, total};

/// Files of the corpus and their rows.
const FILES: [(&str, u64); 3] = [
    ("flights-3m.parquet", 3_000_000),
    ("flights-200k.arrow", 200_000),
    ("yellow_tripdata_sample.parquet", 5),
];

#[test]
fn real_files_go_there_and_back_in_plaintext() {
    let Some(corpus) = flight_testkit::corpus("real_files_go_there_and_back_in_plaintext") else {
        return;
    };
    let real = corpus.join("real");
    let server = ServerCommand::serve(&real).args(["--admin", "none", "--read-only"]).start();
    let folder = TempDir::new().expect("a temporary folder");
    let target = ServerCommand::serve(folder.path()).args(["--admin", "none"]).start();
    check(&real, server.endpoint(), target.endpoint());
}

#[test]
fn real_files_go_there_and_back_over_tls() {
    let Some(corpus) = flight_testkit::corpus("real_files_go_there_and_back_over_tls") else {
        return;
    };
    let real = corpus.join("real");
    let server = Secure::over(&real, "ec", &["--read-only"]);
    let folder = TempDir::new().expect("a temporary folder");
    let target = Secure::over(folder.path(), "rsa", &[]);
    check(&real, &server.trusted(), &target.trusted());
}

/// Reads every file from `server` and uploads it to `target`, each compared value by value.
fn check(real: &Path, server: &str, target: &str) {
    let line = "--passes 1 --repeats 1 --verify checksum --format json";
    for (file, rows) in FILES {
        let name = file.split('.').next().expect("a name");
        let got = bench(&format!("get {server} --source path:{name} {line}")).ended(0).json();
        assert_eq!(got["verify"]["method"], "checksum", "{file}");
        assert_eq!(got["verify"]["equal"], true, "{file}");
        assert_eq!(count(&got, "/verify/rows"), rows, "{file}");
        assert_eq!(total(&got, "rows"), rows, "{file}");
        let path = real.join(file);
        let put = format!("put {target} --data-file {} {line}", path.display());
        let back = bench(&put).ended(0).json();
        assert_eq!(back["verify"]["method"], "read-back", "{file}");
        assert_eq!(back["verify"]["equal"], true, "{file}");
        assert_eq!(count(&back, "/verify/rows"), rows, "{file}");
        assert_eq!(total(&back, "rows"), rows, "{file}");
    }
}
