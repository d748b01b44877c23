//! Every batch over both transports, in plaintext, over a Unix socket and over TLS.

use flight_testkit::ServerCommand;
use tempfile::TempDir;

use crate::secure::Secure;
use crate::support::{ROWS, bench, count, known, total};

/// Reads and uploads the known data over both transports, each batch compared.
fn check(target: &str, file: &str) {
    for transport in ["own", "hyper"] {
        let options = "--passes 1 --repeats 1 --streams 3 --connections 2 --verify checksum";
        let run = |call: &str| {
            let line = format!("{call} {target} {options} --transport {transport} --format json");
            let got = bench(&line).ended(0).json();
            assert_eq!(got["config"]["transport"], transport, "{line}");
            assert_eq!(got["verify"]["equal"], true, "{line}");
            assert_eq!(count(&got, "/verify/rows"), 3 * ROWS, "{line}");
            assert_eq!(total(&got, "rows"), 3 * ROWS, "{line}");
        };
        run("get --source path:known");
        run(&format!("put --data-file {file}"));
    }
}

#[test]
fn batches_are_equal_in_plaintext_over_unix_sockets_and_over_tls() {
    let folder = TempDir::new().expect("a temporary folder");
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("a new folder");
    known(&data);
    let file = data.join("known.feather").display().to_string();
    let plain = ServerCommand::serve(&data).args(["--admin", "none"]).start();
    check(plain.endpoint(), &file);
    let socket = format!("grpc+unix://{}", folder.path().join("s").display());
    let unix = ServerCommand::serve(&data).args(["--admin", "none", "--listen", &socket]).start();
    check(unix.endpoint(), &file);
    check(&Secure::over(&data, "ec", &[]).trusted(), &file);
}

#[test]
fn the_table_says_which_transport_ran() {
    let (server, _folder) = crate::support::serve_known();
    for transport in ["own", "hyper"] {
        let line = format!(
            "get {} --source path:known --passes 1 --repeats 1 --transport {transport}",
            server.endpoint()
        );
        let text = bench(&line).ended(0).stdout;
        assert!(text.contains(&format!("transport {transport}\n")), "{text}");
    }
    let run = bench(&format!("get {} --transport tcp", server.endpoint())).ended(2);
    assert!(run.stderr.contains("own, hyper"), "{}", run.stderr);
}
