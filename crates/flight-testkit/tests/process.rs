//! The server fixture against small shell scripts in the part of the server.

use std::process::Command;

use flight_testkit::{ServerCommand, ServerProcess};

const READY: &str = r#"{"ready":true,"pid":1,"endpoints":["grpc://127.0.0.1:9"],"version":"0"}"#;

fn script(body: &str) -> ServerCommand {
    let mut command = Command::new("sh");
    command.args(["-c", body, "script"]);
    ServerCommand::from(command)
}

/// What the fixture says when it gives up on this script.
fn failure(body: &str) -> String {
    let body = body.to_owned();
    let panic = std::thread::spawn(move || drop(script(&body).start()))
        .join()
        .expect_err("the fixture does not take this for a server");
    panic.downcast_ref::<String>().cloned().expect("a panic with a message")
}

#[test]
fn a_ready_server_tells_where_it_listens_and_stops_with_its_stdin() {
    let mut server = script(&format!("echo '{READY}'; cat; echo bye >&2; exit 3")).start();
    assert_eq!(server.endpoint(), "grpc://127.0.0.1:9");
    server.close_stdin();
    assert_eq!(server.wait().code(), Some(3));
    assert_eq!(server.stderr(), "bye\n");
}

#[test]
fn a_server_is_terminated_and_killed_by_signal() {
    use std::os::unix::process::ExitStatusExt;
    let body = format!("echo '{READY}'; exec cat");
    assert_eq!(script(&body).start().terminate().signal(), Some(15));
    assert_eq!(script(&body).start().kill().signal(), Some(9));
}

#[test]
fn a_dropped_server_is_gone() {
    let server: ServerProcess = script(&format!("echo '{READY}'; exec cat")).start();
    let proc = format!("/proc/{}", server.pid());
    assert!(std::fs::exists(&proc).unwrap());
    drop(server);
    assert!(!std::fs::exists(&proc).unwrap());
}

#[test]
fn a_server_that_ends_early_is_reported_with_its_stderr() {
    let said = failure("echo 'no such folder' >&2; exit 2");
    assert!(said.contains("ended before it was ready"), "{said}");
    assert!(said.contains("no such folder"), "{said}");
}

#[test]
fn a_server_that_says_something_else_is_reported_with_what_it_said() {
    let said = failure("echo hello; exec cat");
    assert!(said.contains(r#"printed "hello\n""#), "{said}");
}

#[test]
fn a_refusing_server_gives_its_exit_code_and_its_reason() {
    let (code, stderr) = script("echo '--tls-key: x is no PEM' >&2; exit 2").refused();
    assert_eq!((code, stderr.as_str()), (2, "--tls-key: x is no PEM\n"));
}

#[test]
fn arguments_and_environment_reach_the_server() {
    let body = r#"echo "$@ $FLIGHT_SERVER_PERF" >&2; exit 1"#;
    let (_, stderr) = script(body).arg("--perf").env("FLIGHT_SERVER_PERF", "on").refused();
    let defaults = "--listen grpc://127.0.0.1:0 --admin none --ready json --exit-with-stdin";
    assert_eq!(stderr, format!("--perf {defaults} on\n"));
    let (_, stderr) = script(body).args(["--admin", "x", "--listen", "y"]).refused();
    assert_eq!(stderr, "--admin x --listen y --ready json --exit-with-stdin \n");
}
