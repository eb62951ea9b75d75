# The load tester, with real commands.

setup() {
    load ../lib/daemon
    LOADTESTER=$FLAGGER_BUILD/flagger-loadtester
}

teardown() {
    [ -z "${DAEMON_PID:-}" ] || daemon_gone || kill -KILL "$DAEMON_PID"
}

# task TYPE COMMAND [KEY VALUE]...: a webhook payload
task() {
    jq -cn --arg type "$1" --arg cmd "$2" --arg k "${3:-x}" --arg v "${4:-}" \
        '{name: "podinfo", namespace: "test", phase: "Progressing", metadata: {type: $type, cmd: $cmd, ($k): $v}}'
}

# the state of the newest task whose command is $1
state_of() { curl -s "$DAEMON_URL/tasks" | jq -r --arg c "$1" 'map(select(.command == $c))[0].state'; }
is() { [ "$(state_of "$1")" = "$2" ]; }
runs() { pgrep -f "$1" >/dev/null; }

@test "cmd is answered at once, runs in the background, and its exit status is kept" {
    daemon_start "$LOADTESTER"
    answers 202 POST / "$(task cmd 'exit 0')"
    eventually 5 is 'exit 0' succeeded
    answers 202 POST / "$(task cmd 'exit 3')"
    eventually 5 is 'exit 3' failed
    curl -s "$DAEMON_URL/tasks" | jq -e 'map(select(.command == "exit 3"))[0].exitStatus == 3'
    curl -s "$DAEMON_URL/metrics" | grep -q 'flagger_loadtester_tasks_total{type="cmd",result="failed"} 1'
    daemon_stop
}

@test "a type is not needed, and any path takes a task" {
    daemon_start "$LOADTESTER"
    answers 202 POST /anything '{"name":"podinfo","namespace":"test","metadata":{"cmd":"true"}}'
    eventually 5 is true succeeded
    daemon_stop
}

@test "the same task of a canary is one task while it runs" {
    daemon_start "$LOADTESTER"
    for _ in 1 2 3; do answers 202 POST / "$(task cmd 'sleep 31.4159')"; done
    eventually 5 is 'sleep 31.4159' running
    [ "$(curl -s "$DAEMON_URL/tasks" | jq length)" -eq 1 ]
    answers 202 POST / '{"name":"other","namespace":"test","metadata":{"cmd":"sleep 31.4159"}}'
    [ "$(curl -s "$DAEMON_URL/tasks" | jq length)" -eq 2 ]
    daemon_stop
    ! runs 'sleep 31.4159'
}

@test "bash waits for the end and returns the output when asked" {
    daemon_start "$LOADTESTER"
    answers 200 POST / "$(task bash 'echo hello')"
    [ -z "$(curl -s -d "$(task bash 'echo hello')" "$DAEMON_URL/")" ]
    [ "$(curl -s -d "$(task bash 'echo hello' returnCmdOutput true)" "$DAEMON_URL/")" = hello ]
    answers 500 POST / "$(task bash 'echo oops >&2; exit 7')"
    [[ "$(curl -s -d "$(task bash 'echo oops >&2; exit 7')" "$DAEMON_URL/")" == *"failed"*oops*"exit status 7"* ]]
    daemon_stop
}

@test "what cannot be a task is refused with one sentence" {
    daemon_start "$LOADTESTER"
    [ "$(curl -s -d '{"name":"a","namespace":"b"}' "$DAEMON_URL/")" = 'metadata not found in payload' ]
    answers 400 POST / '{"name":"a","namespace":"b"}'
    [ "$(curl -s -d '{"name":"a","namespace":"b","metadata":{"x":"y"}}' "$DAEMON_URL/")" = 'cmd not found in metadata' ]
    [ "$(curl -s -d "$(task tanka x)" "$DAEMON_URL/")" = 'unknown task type tanka' ]
    answers 400 POST / "$(task tanka x)"
    answers 400 POST / "$(task bash true returnCmdOutput maybe)"
    answers 400 POST / '{"name":'
    answers 404 POST /gate/check '{"name":"a","namespace":"b"}'
    daemon_stop
}

@test "a namespace that does not match is refused" {
    daemon_start "$LOADTESTER" --namespace-regexp '^prod-'
    answers 403 POST / "$(task cmd true)"
    answers 202 POST / '{"name":"a","namespace":"prod-1","metadata":{"cmd":"true"}}'
    daemon_stop
    run "$LOADTESTER" --namespace-regexp '('
    [ "$status" -eq 2 ]
}

@test "a task that runs too long is ended" {
    daemon_start "$LOADTESTER" --timeout 1s
    answers 500 POST / "$(task bash 'sleep 27.1828')"
    ! runs 'sleep 27.1828'
    daemon_stop
}

@test "SIGTERM ends the children, those that hide in a session of their own too" {
    daemon_start "$LOADTESTER"
    answers 202 POST / "$(task cmd 'setsid sleep 16.18033 & sleep 16.18033')"
    eventually 5 runs 'sleep 16.18033'
    daemon_stop
    ! runs 'sleep 16.18033'
}

@test "kill -9 leaves no children behind" {
    daemon_start "$LOADTESTER"
    answers 202 POST / "$(task cmd 'setsid sleep 14.14213 & sleep 14.14213')"
    eventually 5 runs 'sleep 14.14213'
    kill -KILL "$DAEMON_PID"
    wait "$DAEMON_PID" || true
    gone() { ! runs 'sleep 14.14213'; }
    eventually 10 gone
}

@test "real hey runs and ends" {
    daemon_start "$LOADTESTER"
    cmd="hey -n 20 -c 2 $DAEMON_URL/healthz"
    answers 200 POST / "$(task bash "$cmd" returnCmdOutput true)"
    [[ "$(curl -s -d "$(task bash "$cmd" returnCmdOutput true)" "$DAEMON_URL/")" == *"[200]"*"20 responses"* ]]
    daemon_stop
}
