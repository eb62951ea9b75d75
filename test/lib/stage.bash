# The demo's stage for a test: stage_begin, stage_end, and what a person would do on it.

stage_begin() {
    export FLAGGER_DEMO_DIR=/tmp/flagger-e2e.$$
    "$BATS_TEST_DIRNAME/../demo" --preset "${FLAGGER_PRESET:-release}" --stage 3>&- >/dev/null
    echo "$FLAGGER_DEMO_DIR" >"$BATS_FILE_TMPDIR/stage"
}

# For each test: the stage's variables, and a HOME of its own, since kubectl keeps its discovery there.
stage_enter() {
    FLAGGER_DEMO_DIR=$(cat "$BATS_FILE_TMPDIR/stage")
    export FLAGGER_DEMO_DIR HOME=$BATS_FILE_TMPDIR
    # shellcheck disable=SC1091
    source "$FLAGGER_DEMO_DIR/env"
}

stage_end() {
    FLAGGER_DEMO_DIR=$(cat "$BATS_FILE_TMPDIR/stage") "$BATS_TEST_DIRNAME/../demo" --stop
}

# The stage's processes are root's.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# The process that runs the program NAME on this stage.
stage_pid() {
    local pid program
    for pid in $(pgrep -f "$1"); do
        program=$(head -z -n 1 "/proc/$pid/cmdline" 2>/dev/null | tr -d '\0') || continue
        [ "${program##*/}" = "$1" ] || continue
        as_root cat "/proc/$pid/environ" | tr '\0' '\n' | grep -qx "FLAGGER_DEMO_DIR=$FLAGGER_DEMO_DIR" && echo "$pid" && return 0
    done
    echo "no $1 runs" >&2
    return 1
}

phase() { of_canary test podinfo .status.phase; }
phase_is() { [ "$(phase)" = "$1" ]; }
weight() { of_canary test podinfo .status.canaryWeight; }
weight_above() { [ "$(weight)" -gt "$1" ]; }
# release VERSION: returns when the controller has noticed the new revision. What a test asks of the Canary then is of this release: before,
# its phase and its history are those of the last one.
release() {
    local before
    before=$(of_canary test podinfo .status.lastAppliedSpec)
    set_image test podinfo podinfod "demo-app:$1"
    eventually 60 noticed_after "$before"
}
noticed_after() { # REVISION: a revision that waits to begin may not be in the status yet
    of_canary test podinfo '[.status.phase, .status.lastAppliedSpec] | @tsv' | {
        read -r phase applied
        [ "$phase" = Waiting ] || { [ -n "$applied" ] && [ "$applied" != "$1" ]; }
    }
}
serves() { curl -s -m 5 -H 'Host: app.example.com' "$DEMO_GATEWAY/" -o /dev/null -D - | grep -qi "x-demo-version: $1"; }
gate() { curl -sS --fail -d '{"name":"podinfo","namespace":"test"}' "$DEMO_GATE/gate/$1"; }

# What a test that failed leaves to read: the Canary's status, its last events, and what the controllers have logged.
explain_failure() {
    [ -z "${BATS_TEST_COMPLETED:-}" ] || return 0
    api_look test canaries podinfo | gojq -c .status || true
    api_look test events | gojq -r '.items | sort_by(.lastTimestamp)[-25:][] | "\(.lastTimestamp) \(.count // 1) \(.message)"' || true
    kubectl get pods -A -o wide || true
    kubectl -n flagger-system logs deployment/flagger 2>/dev/null | tail -n 30 | cut -c 1-400 || true
}

# busy AGENT: API requests that are neither watches nor renewals of leases
busy() { kubectl get --raw /sandbox/stats | gojq --arg a "$1" '.agents[$a].busy // 0'; }

# shellcheck source=test/lib/look.bash
source "${BASH_SOURCE[0]%/*}/look.bash"
# shellcheck source=test/lib/eventually.bash
source "${BASH_SOURCE[0]%/*}/eventually.bash"
# shellcheck source=test/lib/hey.bash
source "${BASH_SOURCE[0]%/*}/hey.bash"

# A client outside, in the background, that comes with a new connection forty times a second: client_begin, client_end; and
# client_failed, which ends it and prints how many requests got no good answer.
client_begin() {
    # Not a curl for each: that took a minute of the processor time of all tests.
    curl -s -m 5 --rate 40/s -o /dev/null -H 'Host: app.example.com' -H 'Connection: close' -w '%{stderr}%{http_code}\n' \
        "$DEMO_GATEWAY/#[1-1000000]" 2>"$BATS_TEST_TMPDIR/client" 3>&- &
    CLIENT=$!
}
client_end() {
    kill "$CLIENT" && wait "$CLIENT" || true
}
client_failed() {
    client_end
    [ "$(wc -l <"$BATS_TEST_TMPDIR/client")" -gt 20 ] || echo "too few requests"
    grep -vc '^200$' "$BATS_TEST_TMPDIR/client" || true
}
