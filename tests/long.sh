#!/usr/bin/env bash
# What takes longer than a change should wait for. Writes docs/long-tests.txt: what ran, where, and
# how it ended. Usage: tests/long.sh FOLDER_OF_PROGRAMS PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
built=$(realpath "$1")
python=$2
out=docs/long-tests.txt
features=${FEATURES:-} # unquoted below: words of cargo's

{
    echo "Long tests, $(date -u +%Y-%m-%d), $(nproc) cores, $(uname -sr), $(rustc --version)"
    echo
} > "$out"

failed=0
run() { # title command…
    local title=$1 started=$SECONDS outcome=passed
    shift
    "$@" > target/long.log 2>&1 || { outcome=FAILED; failed=1; tail -40 target/long.log; }
    printf '%-62s %-6s %5d s   %s\n' "$title" "$outcome" $((SECONDS - started)) \
        "$(grep -E '^test result|passed' target/long.log | grep -vE '(: ok\.|^) 0 passed' | tail -1 | tr -s ' ')" | tee -a "$out"
}

export FLIGHT_LONG=1
run "mutated messages and fuzz seeds, 400 000 cases" \
    env FLIGHT_CASES=100 cargo test --profile e2e --workspace $features --test wire mutated
run "damaged HTTP/2 streams, 600 000 cases" \
    env FLIGHT_CASES=100 cargo test --profile e2e --workspace $features --test transports mutated
run "random batches through every layer, 30 000 cases" \
    env FLIGHT_CASES=100 cargo test --profile e2e --workspace $features --test wire any_batches
run "kill -9 at 300 random moments of uploads" \
    env FLIGHT_KILLS=300 cargo test --profile e2e --workspace $features --test e2e kills
run "memory while 2 GiB are served" \
    cargo test --profile e2e --workspace $features --test e2e memory
run "100 certificates under load, 64 streams" \
    cargo test --profile e2e --workspace $features --test e2e rotation_load
run "200 TLS connections a second for a minute, a fifth broken off" \
    cargo test --profile e2e --workspace $features --test e2e come_and_go_leave
run "any part of random files, 6 000 files" \
    env FLIGHT_CASES=100 cargo test --profile e2e --workspace $features --test files any_part
run "interop with large inputs (over 2 GiB in one batch, in one column)" \
    env FLIGHT_SERVER_BIN="$built/flight-server" FLIGHT_BENCH_BIN="$built/flight-bench" \
    "$python" -m pytest -q -p no:cacheprovider -c tests/interop/pytest.ini tests/interop
run "flight-bench against servers that stop, die and starve it" \
    "$built/flight-bench" selftest --long
# libFuzzer needs a nightly compiler and cargo-fuzz; what it would run is replayed and mutated above.
if cargo +nightly fuzz --version > /dev/null 2>&1; then
    for target in guard message_reader http2_frames http2_session; do
        # What it finds on its way lies beside the seeds, which are the ordinary tests'.
        mkdir -p "target/fuzz-corpus/$target"
        run "libFuzzer, $target" env -C fuzz cargo +nightly fuzz run "$target" \
            --target-dir ../target/fuzz "../target/fuzz-corpus/$target" "corpus/$target" -- -max_total_time=60 -rss_limit_mb=2048
    done
else
    echo "libFuzzer did not run: no nightly toolchain with cargo-fuzz" | tee -a "$out"
fi
exit $failed
