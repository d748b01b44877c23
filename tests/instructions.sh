#!/usr/bin/env bash
# Counts the processor's instructions per batch of the data plane's steps and compares them with
# crates/flight-wire/benches/instructions.baseline: a rise of more than 3 % fails. Unlike times,
# counts are the same on a busy machine. Needs valgrind, and the example that it runs:
#
#   cargo build --profile e2e --workspace --example instructions --example passthrough
#   tests/instructions.sh target/e2e             # compares
#   tests/instructions.sh target/e2e --refresh   # writes the baseline anew
#
# A refreshed baseline needs a reason in the same commit. Compiler and C library count too: both
# are named in the baseline, so that a new one can be told from a change of the code.
set -euo pipefail
cd "$(dirname "$0")/.."
examples=$(realpath "$1")/examples
programs=(instructions passthrough)
mode=${2:-}
baseline=crates/flight-wire/benches/instructions.baseline
rise_max_percent=3
# So often that the start of the program, which differs by some thousand instructions from run to
# run, is far below a percent of them.
declare -A times=([instructions]=10 [passthrough]=500)

command -v valgrind >/dev/null || { echo "valgrind is missing; install it: apt-get install valgrind" >&2; exit 1; }
for program in "${programs[@]}"; do
    [[ -x $examples/$program ]] || { echo "$examples/$program is missing; build it: cargo build --profile e2e --workspace --example $program" >&2; exit 1; }
done

collected() { # program scenario times
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$examples/$1" "$2" "$3" 2>&1 |
        awk '/Collected/ { print $4; found = 1 } END { exit !found }'
}
# The difference of two runs, so that start-up and the making of the source cancel out.
per_batch() { # program scenario
    local once twice
    once=$(collected "$1" "$2" "${times[$1]}")
    twice=$(collected "$1" "$2" $((2 * times[$1])))
    echo $(((twice - once) / times[$1]))
}
measured() {
    for program in "${programs[@]}"; do
        for scenario in $("$examples/$program"); do
            echo "$scenario $(per_batch "$program" "$scenario")"
        done
    done
}
tools=$(printf '# %s; %s; %s' "$(rustc --version)" "$(ldd --version | head -1)" "$(valgrind --version)")

counts=$(measured)
if [[ $mode == --refresh ]]; then
    printf '# Instructions per batch; tests/instructions.sh compares and refreshes.\n%s\n%s\n' \
        "$tools" "$counts" > "$baseline"
    cat "$baseline"
    exit
fi

awk -v max="$rise_max_percent" -v baseline="$baseline" -v tools="$tools" '
    NR == FNR && /^# .*;.*;/ { baseline_tools = $0 }
    NR == FNR && !/^#/ { expected[$1] = $2 }
    NR == FNR { next }
    !($1 in expected) {
        printf "%s is not in %s; refresh it: tests/instructions.sh target/e2e --refresh\n", $1, baseline
        failed = 1
        next
    }
    {
        rise = ($2 / expected[$1] - 1) * 100
        verdict = rise > max ? "FAILED" : "ok"
        printf "%-20s %12d %12d %+7.2f %%  %s\n", $1, expected[$1], $2, rise, verdict
        if (rise > max) {
            failed = 1
            printf "%s takes %d instructions per batch, %.1f %% more than the %d of %s (at most %d %% are let pass); make it leaner, or say in the commit why it has to be and refresh: tests/instructions.sh target/e2e --refresh\n", $1, $2, rise, expected[$1], baseline, max
        }
        if (rise < -max) lower = lower " " $1
        delete expected[$1]
    }
    END {
        for (name in expected) {
            printf "%s in %s is no scenario any more; refresh it: tests/instructions.sh target/e2e --refresh\n", name, baseline
            failed = 1
        }
        if (lower) printf "less than the baseline:%s; refresh it, so that the gain is kept\n", lower
        if (failed && tools != baseline_tools) printf "the tools differ, which may be all there is to it\n  baseline %s\n  now      %s\n", baseline_tools, tools
        exit failed
    }' "$baseline" <(echo "$counts")
