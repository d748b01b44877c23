//! `tls`: kinds of connections side by side, each held against what it is named after.

use std::path::Path;
use std::sync::Arc;

use flight_net::Body;
use flight_net::limits::ServerLimits;
use flight_net::server::{CallContext, Counters, Handler, Listener, Server};
use flight_testkit::program;
use flight_tls::{ServerIdentity, ServerOptions, ServerTls};
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::sync::watch;
use tonic::Status;

use crate::secure::Secure;
use crate::support::{bench, command, count, finished, number, total};

const SHORT: &str = "-s 2 --duration 100ms --warmup 20ms --repeats 3";

#[test]
fn each_kind_of_connection_has_a_row_that_agreed_on_it() {
    let rows = "--groups X25519,secp256r1 --key ec,ed25519 --mutual off,on --resume full,ticket";
    let got = bench(&format!("tls {rows} {SHORT} --format json --quiet")).ended(0).json();
    let variants = got["variants"].as_array().expect("a list of variants");
    assert_eq!(variants.len(), 16);
    for variant in variants {
        let id = variant["transport"].as_str().expect("a name");
        let words: Vec<&str> = id.strip_prefix("aws-lc-").expect("the engine").split('-').collect();
        let (group, key, resume, mutual) = match words[..] {
            [group, key, resume] => (group, key, resume, false),
            [group, key, resume, "mutual"] => (group, key, resume, true),
            _ => panic!("{id}"),
        };
        let tls = &variant["tls"];
        let agreed = tls["group"].as_str().expect("a group").to_lowercase();
        assert_eq!((&*agreed, &tls["resume"]), (group, &resume.into()));
        let certificate = if key == "ec" { "EC P-256" } else { "Ed25519" };
        assert_eq!(tls["certificate"], certificate, "{id}");
        assert_eq!((&tls["client_certificate"], &tls["version"]), (&mutual.into(), &"1.3".into()));
        // Each connection has its steps, one after the other.
        let of = |metric: &str, value: &str| count(variant, &format!("/latency/{metric}/{value}"));
        let made = of("tls.ready", "n");
        let steps = ["tls.socket", "tls.handshake", "tls.http2", "tls.first_call"];
        for step in steps {
            assert_eq!(of(step, "n"), made, "{id}: {step}");
        }
        let mean = |step: &str| number(variant, &format!("/latency/{step}/mean_ns"));
        let (sum, ready) = (steps.map(mean).iter().sum::<f64>(), mean("tls.ready"));
        // Histograms have three digits.
        assert!(sum < ready * 1.002, "{id}: {sum} of {ready}");
        assert!(number(variant, "/cost/server/cpu_ns_per_batch") > 1000.0, "{id}");
    }
    // A row of its own for each, and a failure for none.
    assert_eq!(got["summary"].as_object().map(serde_json::Map::len), Some(16));
    assert!(
        got["repeats"]
            .as_array()
            .expect("repeats")
            .iter()
            .all(|one| one["errors"] == serde_json::json!({}))
    );
}

#[test]
fn without_a_word_the_usual_rows_are_measured_kept_and_told_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = |line: &str| {
        let mut command = command(line);
        command.env_remove("FLIGHT_BENCH_NO_SAVE").env("FLIGHT_BENCH_RUNS_DIR", folder.path());
        finished(command)
    };
    let first = run("tls --duration 50ms --warmup 10ms --repeats 2 --progress plain").ended(0);
    let told = first.stdout;
    for want in [
        "aws-lc X25519 ec full",
        "aws-lc X25519 ec ticket",
        "ring X25519 ec full",
        "aws-lc X25519MLKEM768 ec full",
        "aws-lc secp256r1 ec full",
        "aws-lc X25519 rsa full",
        "aws-lc X25519 ed25519 full",
        "aws-lc X25519 ec full mutual",
        "conn/s",
    ] {
        assert!(told.contains(want), "{want} is missing in:\n{told}");
    }
    assert!(told.lines().all(|line| line.chars().count() <= 100), "{told}");
    assert!(first.stderr.contains(" connections/s"), "{}", first.stderr);
    assert_eq!(run("report").ended(0).stdout, told);
    for (form, want) in [
        ("csv", ",tls,tls.ring-x25519-ec-full,,tls.connections_per_s,est,"),
        ("md", "| ring X25519 ec ticket |"),
        ("html", "ring X25519 ec ticket"),
    ] {
        let told = run(&format!("report last --format {form}")).ended(0).stdout;
        assert!(told.contains(want), "{form}: {told}");
    }
}

#[test]
fn a_target_has_one_row_of_the_kind_that_was_asked_for() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let secure = Secure::over(folder.path(), "ec", &[]);
    let target = secure.trusted();
    for (resume, rest) in [("full", "--tls-groups secp256r1"), ("ticket", "--tls-engine ring")] {
        let line = format!("tls {target} --resume {resume} {rest} --batches 9 --repeats 1");
        let got = bench(&format!("{line} --format json")).ended(0).json();
        assert_eq!(total(&got, "batches"), 9);
        let variant = &got["variants"][0];
        assert_eq!(
            (&variant["id"], &variant["tls"]["resume"]),
            (&"tls.tls".into(), &resume.into())
        );
        if resume == "full" {
            assert_eq!(variant["tls"]["group"], "secp256r1");
        } else {
            assert_eq!(variant["tls"]["engine"], "ring");
        }
    }
}

#[test]
fn a_server_that_resumes_no_session_fails_what_was_to_resume_one() {
    let server = NoTickets::start();
    let target = server.trusted();
    let full = bench(&format!("tls {target} --batches 4 --repeats 1 --format json")).ended(0);
    assert_eq!(total(&full.json(), "batches"), 4);
    let line = format!("tls {target} --resume ticket --batches 4 --repeats 1");
    let run = bench(&format!("{line} --format json")).ended(1);
    for want in ["MISMATCH", "the server resumed no session", "--resume full"] {
        assert!(run.stderr.contains(want), "{want} is missing in: {}", run.stderr);
    }
    let got = run.json();
    // What was not resumed is counted as a failure, and never as a connection.
    assert_eq!(total(&got, "batches"), 0);
    assert!(count(&got, "/repeats/0/errors/MISMATCH/count") > 0);
}

#[test]
fn rows_that_there_are_not_are_refused_with_those_that_there_are() {
    let check = |options: &str, want: &str| {
        let run = bench(&format!("tls {options}")).ended(2);
        assert!(run.stderr.contains(want), "{options}: {}", run.stderr);
    };
    let groups = "the known ones are X25519MLKEM768, X25519, secp256r1, secp384r1";
    check("--groups ffdhe2048", groups);
    check("--engines boring", "'boring'; the known ones are aws-lc, ring, openssl");
    check("--key dsa", "[possible values: ec, rsa, ed25519]");
    check("--resume never", "[possible values: full, ticket]");
    check("--engines ring --groups X25519MLKEM768", "no row is left: the TLS engine ring has no");
    check("grpc+tls://h:1 --mutual on", "to which --tls-cert and --tls-key show who one is");
    check("grpc+tls://h:1 --resume full,ticket", "of which one run measures one kind");
    // One thing after the other is measured of one row.
    let sweep = bench("sweep --vary streams=1,2 tls").ended(2);
    assert!(sweep.stderr.contains("several rows"), "{}", sweep.stderr);
}

/// A server that answers every call with a refusal, and keeps no sessions.
struct NoTickets {
    uri: String,
    folder: tempfile::TempDir,
    stop: watch::Sender<bool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Clone)]
struct Refuses;

impl Handler for Refuses {
    async fn call(&self, _context: CallContext, _request: Request<Incoming>) -> Response<Body> {
        Status::unimplemented("no calls").into_http::<tonic::body::Body>().map(Body::from)
    }
}

impl NoTickets {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let made = std::process::Command::new(program("flight-server"))
            .args([Path::new("certs"), Path::new("--out"), folder.path()])
            .output()
            .expect("flight-server starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let file = |name: &str| folder.path().join(name);
        let identity = ServerIdentity::load(&file("server-ec.pem"), &file("server-ec.key"));
        let options = ServerOptions { no_resumption: true, ..ServerOptions::default() };
        let tls = ServerTls::new(&identity.expect("a certificate"), options).expect("settings");
        let (stop, stopped) = watch::channel(false);
        let (sender, bound) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let any = "grpc+tls://127.0.0.1:0".parse().expect("an endpoint");
                let listener = Listener::bind(&any).expect("a free port");
                sender.send(listener.endpoint().to_string()).expect("the test waits");
                let tls = Some(watch::channel(tls).1);
                let (limits, counters) = (ServerLimits::default(), Arc::new(Counters::default()));
                let server = Server { limits, tls, counters };
                server.serve(vec![listener], Refuses, stopped).await;
            });
        });
        let uri = bound.recv().expect("the server starts");
        Self { uri, folder, stop, thread: Some(thread) }
    }

    fn trusted(&self) -> String {
        format!("{} --tls-ca {}", self.uri, self.folder.path().join("ca.pem").display())
    }
}

impl Drop for NoTickets {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        // A panic of the server has already failed the test through what the bench saw.
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}
