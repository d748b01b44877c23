//! Each row of the table of verdicts, at its bounds, and the order of the rows.

use super::*;

/// Two machines of four cores, nobody busy, nothing stalled.
fn calm() -> Facts {
    Facts {
        throttled_periods: Some(0),
        steal_share: Some(0.0),
        idle_share: Some(0.6),
        same_machine: false,
        cores: Some(4),
        client_threads: vec![0.5, 0.4],
        client_wait_share: Some(0.01),
        server_threads: vec![0.3, 0.3],
        server_cores: Some(4),
        ..Facts::default()
    }
}

#[track_caller]
fn check(change: impl FnOnce(&mut Facts), name: &str, evidence: &str) {
    let mut facts = calm();
    change(&mut facts);
    let verdict = Verdict::of(&facts);
    assert_eq!(verdict.name, name, "{verdict:?}");
    assert!(verdict.evidence.iter().any(|line| line == evidence), "{verdict:?}");
}

#[track_caller]
fn unknown(change: impl FnOnce(&mut Facts)) {
    check(change, "unknown", "no rule fits what was recorded");
}

#[test]
fn nothing_that_fits_is_unknown() {
    unknown(|_| ());
    unknown(|facts| *facts = Facts::default());
}

#[test]
fn a_quota_that_ran_out_or_stolen_time_is_throttled() {
    let quota = "the CPU quota ran out in 1 periods";
    check(|facts| facts.throttled_periods = Some(1), "throttled", quota);
    let steal = "the hypervisor took 3 % of the time";
    check(|facts| facts.steal_share = Some(0.03), "throttled", steal);
    unknown(|facts| facts.steal_share = Some(0.02));
}

#[test]
fn late_sends_to_a_server_with_time_left_are_the_generators_fault() {
    let late = |facts: &mut Facts| {
        facts.open_loop = Some(OpenLoop { interval_ns: 100.0, lag_p50_ns: 250.0 });
    };
    check(late, "generator", "sends were 2.5 intervals late (p50)");
    unknown(|facts| facts.open_loop = Some(OpenLoop { interval_ns: 100.0, lag_p50_ns: 100.0 }));
    unknown(|facts| {
        late(facts);
        facts.server_threads = vec![0.8; 4];
    });
    unknown(|facts| {
        late(facts);
        facts.server_threads.clear();
    });
}

#[test]
fn a_client_without_time_left_limits_while_the_server_has_some() {
    let busy = |facts: &mut Facts| facts.client_threads = vec![0.9, 0.1];
    check(busy, "client", "a thread of the client was 90 % busy");
    check(busy, "client", "the server used 15 % of its cores");
    let waits = |facts: &mut Facts| facts.client_wait_share = Some(0.12);
    check(waits, "client", "the client was ready but without a core for 12 %");
    unknown(|facts| facts.client_wait_share = Some(0.1));
    unknown(|facts| {
        waits(facts);
        facts.server_threads = vec![0.87; 4];
    });
}

#[test]
fn what_limits_is_unknown_where_a_busy_clients_server_is_not_seen() {
    let change = |facts: &mut Facts| {
        facts.client_threads = vec![0.95];
        facts.server_threads.clear();
    };
    check(change, "unknown", "a thread of the client was 95 % busy");
    check(change, "unknown", "the server was not seen and may limit as well");
}

#[test]
fn a_rate_that_was_asked_for_and_held_was_limited_by_nobody() {
    let busy = |facts: &mut Facts, done: f64| {
        facts.client_threads = vec![0.97];
        (facts.offered_per_s, facts.rate_per_s) = (Some(1000.0), Some(done));
    };
    let told = "960/s were done of the 1000/s that were asked for";
    check(|facts| busy(facts, 960.0), "offered rate", told);
    check(|facts| busy(facts, 900.0), "client", "a thread of the client was 97 % busy");
}

#[test]
fn processes_that_hold_the_cores_limit_both_sides() {
    let full = |facts: &mut Facts| {
        facts.client_threads = vec![0.97];
        (facts.idle_share, facts.others_share) = (Some(0.01), Some(0.3));
    };
    check(full, "other processes", "other processes used 30 % of the time of all cores");
    let few = |facts: &mut Facts| {
        full(facts);
        facts.others_share = Some(0.05);
    };
    check(few, "client", "a thread of the client was 97 % busy");
    let room = |facts: &mut Facts| {
        full(facts);
        facts.idle_share = Some(0.3);
    };
    check(room, "client", "a thread of the client was 97 % busy");
}

#[test]
fn a_client_near_its_ceiling_limits_however_busy_it_looks() {
    let change = |facts: &mut Facts| {
        facts.bytes_per_s = Some(86.0);
        facts.client_ceiling_bytes_per_s = Some(100.0);
    };
    check(change, "client", "the rate is 86 % of what the client does without a socket");
    unknown(|facts| {
        facts.bytes_per_s = Some(85.0);
        facts.client_ceiling_bytes_per_s = Some(100.0);
    });
}

#[test]
fn a_machine_that_both_sides_fill_is_what_limits() {
    let full = |facts: &mut Facts| {
        facts.same_machine = true;
        facts.idle_share = Some(0.01);
        facts.cores = Some(2);
        facts.server_cores = Some(2);
        facts.client_threads = vec![0.5, 0.4];
        facts.server_threads = vec![0.6, 0.5];
    };
    check(full, "machine", "of 2 cores the client used 0.90 and the server 1.10");
    unknown(|facts| {
        full(facts);
        facts.idle_share = Some(0.05);
    });
    unknown(|facts| {
        full(facts);
        facts.same_machine = false;
    });
    unknown(|facts| {
        full(facts);
        facts.client_threads = vec![0.3];
    });
}

#[test]
fn a_server_all_of_whose_threads_are_busy_limits() {
    let all = |facts: &mut Facts| facts.server_threads = vec![0.95, 0.92, 0.91, 0.93, 0.01];
    check(all, "server", "4 threads of the server worked, the least busy one 91 %");
    let cores = |facts: &mut Facts| facts.server_threads = vec![0.7, 0.6, 0.6, 0.6, 0.6, 0.6];
    check(cores, "server", "the server used 92 % of its cores");
    unknown(|facts| facts.server_threads = vec![0.95, 0.5]);
}

#[test]
fn a_server_with_one_busy_thread_is_named_so() {
    let one = |facts: &mut Facts| facts.server_threads = vec![1.0, 0.02, 0.0];
    check(one, "server (single thread)", "one thread of the server was 100 % busy");
    let only_core = |facts: &mut Facts| {
        facts.server_threads = vec![1.0, 0.02];
        facts.server_cores = Some(1);
    };
    check(only_core, "server", "the server used 102 % of its cores");
}

#[test]
fn full_windows_while_nobody_is_busy_are_flow_control() {
    let peer = "the peer's TCP window was full for 25 %";
    check(|facts| facts.peer_window_limited_share = Some(0.25), "flow-control", peer);
    let stream = "the HTTP/2 window was full for 21 %";
    check(|facts| facts.stream_stalled_share = Some(0.21), "flow-control", stream);
    let product = |facts: &mut Facts| {
        facts.bytes_per_s = Some(9e6);
        facts.round_trip_s = Some(0.1);
        facts.window_bytes = Some(1e6);
    };
    check(product, "flow-control", "rate × round trip is 90 % of the windows' sum");
    unknown(|facts| {
        product(facts);
        facts.window_bytes = Some(2e6);
    });
    unknown(|facts| facts.peer_window_limited_share = Some(0.2));
    unknown(|facts| {
        facts.peer_window_limited_share = Some(0.25);
        facts.client_threads.clear();
    });
}

#[test]
fn sockets_that_wait_for_the_network_or_are_as_fast_as_plain_tcp_are_the_network() {
    let waits = |facts: &mut Facts| {
        facts.socket_busy_share = Some(0.97);
        facts.peer_window_limited_share = Some(0.1);
        facts.send_buffer_limited_share = Some(0.0);
    };
    let evidence = "sockets had data to send for 97 %, limited by congestion 87 %";
    check(waits, "network", evidence);
    unknown(|facts| {
        waits(facts);
        facts.send_buffer_limited_share = Some(0.5);
    });
    unknown(|facts| {
        waits(facts);
        facts.send_buffer_limited_share = None;
    });
    let fast = |facts: &mut Facts| {
        facts.bytes_per_s = Some(90.0);
        facts.tcp_bytes_per_s = Some(100.0);
    };
    check(fast, "network", "the rate is 90 % of plain TCP's");
}

#[test]
fn a_rate_that_the_round_trip_explains_is_latency() {
    let little = |facts: &mut Facts| {
        facts.streams = Some(8);
        facts.in_flight = Some(2.0);
        facts.round_trip_s = Some(0.001);
        facts.rate_per_s = Some(15_000.0);
    };
    let sum = "8 streams × 2 in flight / 1000 µs = 16000/s; measured 15000/s";
    check(little, "latency", sum);
    unknown(|facts| {
        little(facts);
        facts.rate_per_s = Some(14_000.0);
    });
    unknown(|facts| {
        little(facts);
        facts.round_trip_s = Some(0.0);
    });
}

#[test]
fn the_first_rule_that_holds_wins() {
    let all = |facts: &mut Facts| {
        facts.throttled_periods = Some(3);
        facts.client_threads = vec![1.0];
        facts.server_threads = vec![1.0, 0.0];
        facts.peer_window_limited_share = Some(0.9);
    };
    check(all, "throttled", "the CPU quota ran out in 3 periods");
    let but_quota = |facts: &mut Facts| {
        all(facts);
        facts.throttled_periods = None;
    };
    check(but_quota, "client", "a thread of the client was 100 % busy");
    let but_client = |facts: &mut Facts| {
        but_quota(facts);
        facts.client_threads = vec![0.5];
    };
    check(but_client, "server (single thread)", "one thread of the server was 100 % busy");
}
