# Starting one of our programs in a test and talking to it. FLAGGER_BUILD is the build folder.

# shellcheck source=test/lib/look.bash
source "${BASH_SOURCE[0]%/*}/look.bash"
# shellcheck source=test/lib/eventually.bash
source "${BASH_SOURCE[0]%/*}/eventually.bash"
# shellcheck source=test/lib/hey.bash
source "${BASH_SOURCE[0]%/*}/hey.bash"

# refute COMMAND...: fails when the command succeeds (a bare "! command" fails no test)
refute() {
    ! "$@" || { echo "succeeded although it must not: $*" && return 1; }
}

# daemon_start PROGRAM ARGUMENT...: sets DAEMON_PID, DAEMON_LOG and, once it listens, DAEMON_URL
daemon_start() {
    DAEMON_LOG=$(mktemp /tmp/flagger-daemon.XXXXXX)
    "$@" --address 127.0.0.1 --port "${DAEMON_PORT:-0}" 2>"$DAEMON_LOG" >/dev/null </dev/null 3>&- &
    DAEMON_PID=$!
    eventually 20 grep -q '"event":"started"' "$DAEMON_LOG" || { cat "$DAEMON_LOG" && return 1; }
    DAEMON_URL=http://127.0.0.1:$(gojq -r 'select(.event == "started").port' "$DAEMON_LOG")
}

# gate_start_any DATABASE OPTION...: a gate; the options say who may ask, or every client may
gate_start_any() {
    local database=$1 whom=(--anybody)
    shift
    [[ " $* " != *' --token-file '* && " $* " != *' --tls-client-ca '* ]] || whom=()
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$database" "${whom[@]}" "$@"
}

# daemon_stop: a clean end within ten seconds; prints the log otherwise
daemon_stop() {
    local status=0
    kill -TERM "$DAEMON_PID"
    eventually "${DAEMON_STOP_SECONDS:-10}" daemon_gone || { kill -KILL "$DAEMON_PID" && cat "$DAEMON_LOG" && return 1; }
    wait "$DAEMON_PID" || status=$?
    [ "$status" -eq 0 ] || cat "$DAEMON_LOG"
    rm -f "$DAEMON_LOG"
    return "$status"
}

daemon_gone() { ! kill -0 "$DAEMON_PID" 2>/dev/null || grep -qs "^State:.Z" "/proc/$DAEMON_PID/status"; }

# code METHOD PATH [BODY]: the status code; the body is in the file $BATS_TEST_TMPDIR/body
code() {
    curl -s -m 10 -X "$1" ${3+--data-binary "$3"} -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' "$DAEMON_URL$2" || true
}

# answers CODE METHOD PATH [BODY]
answers() {
    local wanted=$1 got
    shift
    got=$(code "$@")
    [ "$got" = "$wanted" ] || { echo "$* answered $got, not $wanted: $(cat "$BATS_TEST_TMPDIR/body")" && return 1; }
}
