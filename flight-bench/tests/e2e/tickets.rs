//! A server that signs its tickets is measured like any other: they are passed on as they came.

use flight_testkit::ServerCommand;
use tempfile::TempDir;

use crate::support::{bench, count, known};

#[test]
fn signed_tickets_are_passed_on_as_they_came() {
    let folder = TempDir::new().expect("a temporary folder");
    known(folder.path());
    let serve = ServerCommand::serve(folder.path()).args(["--admin", "none", "--tickets", "es256"]);
    let server = serve.start();
    let target = server.endpoint();
    let line = "--passes 1 --repeats 1 --verify checksum --format json --quiet";
    let got = bench(&format!("get {target} --source path:known {line}")).ended(0).json();
    assert_eq!(got["verify"]["equal"], true, "{got}");
    assert_eq!(count(&got, "/verify/rows"), 1_000_000);
    let put = bench(&format!("put {target} --passes 1 --repeats 1 --quiet")).ended(1);
    assert!(put.stderr.contains("PERMISSION_DENIED"), "{}", put.stderr);
}
