//! Figures, computed again by hand.

use tempfile::TempDir;

use flight_testkit::ServerCommand;

use crate::support::{
    BATCHES, BYTES, ROWS, bench, command, count, empty, finished, known, number, serve_known, total,
};

#[test]
fn five_reads_count_rows_bytes_and_wall_time() {
    let (server, _folder) = serve_known();
    for streams in [1, 4] {
        let run = bench(&format!(
            "get {} --source path:known --passes 5 --repeats 1 --streams {streams} --format json",
            server.endpoint()
        ))
        .ended(0);
        let got = run.json();
        let times = 5 * streams;
        assert_eq!(total(&got, "rows"), times * ROWS, "{streams} streams");
        assert_eq!(total(&got, "batches"), times * BATCHES);
        let bytes = total(&got, "logical_bytes");
        assert!(bytes.abs_diff(times * BYTES) * 50 <= times * BYTES, "{bytes} bytes");
        assert!(total(&got, "encoded_bytes") >= bytes);
        // The rate is that of wall time, not a sum over workers: no run is shorter than its window.
        let window_s = number(&got, "/repeats/0/window_ns") / 1e9;
        assert!(window_s <= run.took.as_secs_f64(), "{window_s} s of {:?}", run.took);
        let rate = number(&got, "/summary/get.bytes_per_s/est");
        assert!((rate / (bytes as f64 / window_s) - 1.0).abs() < 1e-9, "{rate} B/s");
        let lines = got["repeats"][0]["streams"].as_array().expect("streams");
        assert_eq!(lines.len() as u64, streams);
        assert_eq!(lines.iter().map(|line| count(line, "/bytes")).sum::<u64>(), bytes);
        assert_eq!(count(&got, "/variants/0/latency/get.ttfb/n"), times);
    }
}

#[test]
fn a_window_counts_what_completed_inside_it() {
    let (server, _folder) = serve_known();
    let got = bench(&format!(
        "get {} --source path:known --duration 300ms --warmup 100ms --repeats 3 --streams 2 \
         --format json",
        server.endpoint()
    ))
    .ended(0)
    .json();
    for repeat in got["repeats"].as_array().expect("repeats") {
        assert_eq!(count(repeat, "/window_ns"), 300_000_000);
        let batches = count(repeat, "/counts/batches");
        assert!(batches > 0);
        // Batches of the known dataset are alike, so that bytes follow from batches.
        assert_eq!(count(repeat, "/counts/rows"), batches * ROWS / BATCHES);
        assert_eq!(count(repeat, "/latency/get.wait/n"), batches, "the end of a stream is no wait");
    }
    let median = number(&got, "/summary/get.bytes_per_s/median");
    let by_hand = {
        let rate = |i: usize| number(&got, &format!("/repeats/{i}/counts/logical_bytes")) / 0.3;
        let mut rates = [rate(0), rate(1), rate(2)];
        rates.sort_by(f64::total_cmp);
        rates[1]
    };
    assert!((median / by_hand - 1.0).abs() < 1e-9, "{median} is not {by_hand}");
}

#[test]
fn an_upload_is_credited_as_it_is_acknowledged_and_deleted_afterwards() {
    let (server, _folder) = serve_known();
    let got = bench(&format!(
        "put {} --duration 300ms --warmup 100ms --repeats 2 --streams 2 --format json",
        server.endpoint()
    ))
    .ended(0)
    .json();
    assert_eq!(got["variants"][0]["acks"], "batch");
    let batches = total(&got, "batches");
    assert!(batches > 0);
    assert_eq!(total(&got, "logical_bytes"), batches * 4096 * 32);
    assert_eq!(count(&got, "/variants/0/latency/put.ack/n"), batches);
    // The server is left with its one dataset, which 'get' therefore finds by itself.
    let left = bench(&format!("get {} --passes 1 --repeats 1 --format json", server.endpoint()));
    assert_eq!(left.ended(0).json()["config"]["sources"][0], "path:known");
}

#[test]
fn passes_upload_the_whole_data_and_commit_it() {
    let (server, folder) = serve_known();
    let file = folder.path().join("known.feather");
    let line = format!(
        "put {} --passes 2 --repeats 1 --streams 2 --verify checksum --format json --data-file {}",
        server.endpoint(),
        file.display()
    );
    let got = bench(&line).ended(0).json();
    assert_eq!(total(&got, "rows"), 4 * ROWS);
    assert_eq!(count(&got, "/variants/0/latency/put.commit/n"), 4);
    assert_eq!(got["verify"]["method"], "read-back");
    assert_eq!(got["verify"]["equal"], true);
    assert_eq!(count(&got, "/verify/rows"), 2 * ROWS, "each stream's dataset is read back");
}

#[test]
fn checksums_of_the_server_are_compared_after_the_windows() {
    let (server, _folder) = serve_known();
    let got = bench(&format!(
        "get {} --source path:known --passes 1 --repeats 1 --streams 3 --verify checksum \
         --format json",
        server.endpoint()
    ))
    .ended(0)
    .json();
    assert_eq!(got["verify"]["method"], "checksum");
    assert_eq!(count(&got, "/verify/rows"), 3 * ROWS);
    assert_eq!(total(&got, "rows"), 3 * ROWS, "the check is not part of the figures");
}

#[test]
fn streams_share_connections_where_they_are_told_to() {
    let (server, _folder) = serve_known();
    let got = bench(&format!(
        "get {} --source path:known --passes 1 --repeats 1 --streams 8 --connections 2 --threads 2 \
         --format json",
        server.endpoint()
    ))
    .ended(0)
    .json();
    assert_eq!(total(&got, "rows"), 8 * ROWS);
    assert_eq!(count(&got, "/variants/0/latency/connect/n"), 2);
    let streams = got["repeats"][0]["streams"].as_array().expect("streams");
    let connections: Vec<u64> = streams.iter().map(|stream| count(stream, "/conn")).collect();
    assert_eq!(connections, [0, 1, 0, 1, 0, 1, 0, 1]);
    // Each has carried at least what its four streams read; both together are the sum.
    let tcp = &got["repeats"][0]["resources"]["tcp"];
    let each = tcp["each"].as_array().expect("connections");
    let read: Vec<_> =
        each.iter().filter(|one| count(one, "/received_bytes") >= 4 * BYTES).collect();
    let numbers: Vec<u64> = read.iter().map(|one| count(one, "/conn")).collect();
    assert_eq!(numbers, [0, 1], "{tcp:#}");
    let sum: u64 = each.iter().map(|one| count(one, "/received_bytes")).sum();
    assert_eq!(sum, count(tcp, "/received_bytes"));
    assert!(read.iter().all(|one| count(one, "/round_trip_us") > 0), "{tcp:#}");
}

#[test]
fn a_server_can_be_asked_for_smaller_batches() {
    let (server, _folder) = serve_known();
    let got = bench(&format!(
        "get {} --source path:known --batch-rows 1000 --passes 1 --repeats 1 --format json",
        server.endpoint()
    ))
    .ended(0)
    .json();
    assert_eq!(total(&got, "batches"), ROWS / 1000);
    assert_eq!(total(&got, "rows"), ROWS);
    let got = bench(&format!(
        "get {} --source path:known --message-bytes 16KiB --passes 1 --repeats 1 --format json",
        server.endpoint()
    ))
    .ended(0)
    .json();
    // 16 bytes a row: no message holds more than 1024.
    assert!(total(&got, "batches") >= ROWS.div_ceil(1024), "{got}");
    assert_eq!(total(&got, "rows"), ROWS);
}

#[test]
fn a_dataset_without_batches_measures_nothing_and_says_so() {
    let folder = TempDir::new().expect("a temporary folder");
    empty(folder.path());
    let server = ServerCommand::serve(folder.path()).args(["--admin", "none"]).start();
    let endpoint = server.endpoint();
    for extent in ["--passes 1", "--batches 5", "--duration 100ms --warmup 0s"] {
        let line = format!("get {endpoint} --source path:empty {extent} --repeats 2");
        let got = bench(&format!("{line} --format json")).ended(0).json();
        assert_eq!(total(&got, "batches"), 0, "{extent}");
        assert_eq!(got["summary"]["get.bytes_per_s"]["est"], serde_json::Value::Null);
        assert_eq!(got["variants"][0]["latency"].get("get.wait"), None);
        let text = bench(&line).ended(0).stdout;
        assert!(text.contains("the source is empty"), "{text}");
    }
}

#[test]
fn arrows_perf_protocol_reads_and_writes() {
    let folder = TempDir::new().expect("a temporary folder");
    let server = ServerCommand::serve(folder.path()).args(["--perf", "--admin", "none"]).start();
    let endpoint = server.endpoint();
    let got = bench(&format!(
        "get {endpoint} --source perf --records-per-stream 20 --batch-rows 8 --streams 2 \
         --passes 1 --repeats 1 --format json"
    ))
    .ended(0)
    .json();
    // 20 records in batches of 8: two full ones and one of 4, on each of two streams.
    assert_eq!((total(&got, "rows"), total(&got, "batches")), (40, 6));
    assert_eq!(total(&got, "logical_bytes"), 40 * 32);
    let got = bench(&format!(
        "put {endpoint} --source perf --batches 7 --batch-rows 100 --repeats 1 --format json"
    ))
    .ended(0)
    .json();
    assert_eq!((total(&got, "rows"), total(&got, "batches")), (700, 7));
}

#[test]
fn the_lines_of_arrows_tool_come_in_its_order() {
    let (server, _folder) = serve_known();
    let run = bench(&format!(
        "get {} --source path:known --passes 1 --repeats 1 --format arrow",
        server.endpoint()
    ))
    .ended(0);
    let names: Vec<&str> =
        run.stdout.lines().map(|line| line.split(':').next().unwrap_or_default()).collect();
    assert_eq!(
        names,
        [
            "Testing method",
            "Using standalone TCP server",
            "Server host",
            "Server port",
            "Number of perf runs",
            "Number of concurrent gets",
            "Batch size",
            "Batches read",
            "Bytes read",
            "Nanos",
            "Speed",
            "Throughput",
            "Latency mean",
            "Latency quantile=0.5",
            "Latency quantile=0.95",
            "Latency quantile=0.99",
            "Latency max",
        ]
    );
    assert!(run.stdout.contains(&format!("Bytes read: {BYTES}\n")), "{}", run.stdout);
}

#[test]
fn arrows_definitions_count_the_time_to_plan_and_to_connect() {
    let (server, folder) = serve_known();
    let document = folder.path().join("run.json");
    let run = bench(&format!(
        "get {} --source path:known --passes 1 --repeats 2 --format arrow --semantics arrow --out {}",
        server.endpoint(),
        document.display()
    ))
    .ended(0);
    let text = std::fs::read_to_string(&document).expect("the run as JSON");
    let kept: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let of_repeat = |name: &str| -> u64 {
        let repeats = kept["repeats"].as_array().expect("repeats").iter();
        repeats.map(|repeat| repeat[name].as_u64().expect(name)).sum()
    };
    let plan = kept["target"]["plan_ns"].as_u64().expect("the time of the plan");
    let (windows, set_up) = (of_repeat("window_ns"), of_repeat("set_up_ns"));
    assert!(plan > 0 && set_up > 0, "{plan} {set_up}");
    let want = format!("Nanos: {}\n", windows + set_up + plan);
    assert!(run.stdout.contains(&want), "{want}\n{}", run.stdout);
    // Told again, it is the same; a window cannot be told so.
    let told = format!("report {} --format arrow --semantics arrow", document.display());
    assert_eq!(bench(&told).ended(0).stdout, run.stdout);
    let window = folder.path().join("window.json");
    let of_window = "get --duration 50ms --warmup 0ms --repeats 1 --source path:known";
    bench(&format!("{of_window} {} --out {}", server.endpoint(), window.display())).ended(0);
    let told = format!("report {} --format arrow --semantics arrow", window.display());
    let refused = bench(&told).ended(2);
    assert!(refused.stderr.contains("ended by itself, by --batches or --passes"));
}

#[test]
fn a_unix_socket_is_a_target_like_any_other() {
    let folder = TempDir::new().expect("a temporary folder");
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("a new folder");
    known(&data);
    let uri = format!("grpc+unix://{}", folder.path().join("flight.sock").display());
    let _server = ServerCommand::serve(&data).args(["--admin", "none", "--listen", &uri]).start();
    for call in ["get --source path:known", "put"] {
        let line = format!("{call} {uri} --passes 1 --repeats 1 --format json");
        let got = bench(&line).ended(0).json();
        assert_eq!(got["variants"][0]["url"], *uri);
        assert!(total(&got, "rows") > 0);
    }
}

#[test]
fn proxy_variables_change_nothing() {
    let (server, _folder) = serve_known();
    let mut run = command(&format!(
        "get {} --source path:known --passes 1 --repeats 1 --format json",
        server.endpoint()
    ));
    for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "ALL_PROXY", "grpc_proxy"] {
        run.env(name, "http://127.0.0.1:1");
    }
    assert_eq!(total(&finished(run).ended(0).json(), "rows"), ROWS);
}

#[test]
fn options_come_from_the_environment_too_and_flags_win() {
    let (server, _folder) = serve_known();
    let mut run = command("get --streams 2 --format json");
    run.env("FLIGHT_BENCH_TARGET", server.endpoint())
        .env("FLIGHT_BENCH_PASSES", "1")
        .env("FLIGHT_BENCH_REPEATS", "1")
        .env("FLIGHT_BENCH_SOURCE", "path:known")
        .env("FLIGHT_BENCH_STREAMS", "7");
    assert_eq!(total(&finished(run).ended(0).json(), "rows"), 2 * ROWS);
}

#[test]
fn the_progress_display_costs_less_than_a_hundredth_of_a_core() {
    // A terminal for the display, by script(1): where nobody looks, nothing is drawn.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let bench = command("get").get_program().to_owned();
    let line = format!(
        "{} get --source perf -d 1s --repeats 2 --progress bar --no-save --out {}",
        bench.display(),
        file.display()
    );
    let script = std::process::Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(std::process::Stdio::null())
        .output();
    let Ok(shown) = script else {
        eprintln!("not run: there is no script(1)");
        return;
    };
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("\u{1b}["), "it was drawn: {shown}");
    let text = std::fs::read_to_string(&file).expect("a document");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for repeat in document["repeats"].as_array().expect("repeats") {
        let client = &repeat["resources"]["client"];
        let threads = client["threads"].as_array().expect("threads");
        // All but those that measure: it waits for them, samples and draws.
        let display = threads.iter().filter(|thread| thread["name"] == "flight-bench");
        let display: f64 = display.map(|thread| thread["cpu_ns"].as_f64().expect("time")).sum();
        let share = display / client["wall_ns"].as_f64().expect("time");
        assert!(share > 0.0 && share < 0.01, "{share} of a core");
    }
}

#[test]
fn a_window_that_is_ten_times_as_long_takes_no_more_memory() {
    let (server, _folder) = serve_known();
    let memory = |line: &str, window: &str| {
        let line = line.replace("TARGET", server.endpoint());
        let run = bench(&format!("{line} --duration {window} --warmup 20ms --repeats 1 -o json"));
        let run = run.ended(0).json();
        let client = &run["repeats"][0]["resources"]["client"];
        let bytes = client["anonymous_bytes"].as_u64().expect("the memory of the client");
        (bytes, total(&run, "batches"))
    };
    for line in [
        "unary info TARGET --source path:known -s 4",
        "unary info TARGET --source path:known -s 4 --rate 2k",
        "get TARGET --source path:known -s 4",
    ] {
        let (short, few) = memory(line, "200ms");
        let (long, many) = memory(line, "2s");
        assert!(many > few * 3, "{line}: {few} and {many} events");
        // A list of events would take 8 bytes of each; the allocator may differ by some pages.
        assert!(long <= short + (2 << 20), "{line}: {short} and {long} bytes");
    }
}
