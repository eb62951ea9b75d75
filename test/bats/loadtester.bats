# The load tester, with real commands.

setup() {
    load ../lib/daemon
    LOADTESTER=$FLAGGER_BUILD/flagger-loadtester
}

teardown() {
    [ -z "${HEALTH_PID:-}" ] || kill "$HEALTH_PID" 2>/dev/null || true
    [ -z "${DAEMON_PID:-}" ] || daemon_gone || kill -KILL "$DAEMON_PID"
}

# task TYPE COMMAND [KEY VALUE]...: a webhook payload
task() {
    gojq -cn --arg type "$1" --arg cmd "$2" --arg k "${3:-x}" --arg v "${4:-}" \
        '{name: "podinfo", namespace: "test", phase: "Progressing", metadata: {type: $type, cmd: $cmd, ($k): $v}}'
}

# the state of the newest task whose command is $1
state_of() { curl -s "$DAEMON_URL/tasks" | gojq -r --arg c "$1" 'map(select(.command == $c))[0].state'; }
is() { [ "$(state_of "$1")" = "$2" ]; }
runs() { pgrep -f "$1" >/dev/null; }

@test "cmd is answered at once, runs in the background, and its exit status is kept" {
    daemon_start "$LOADTESTER"
    answers 202 POST / "$(task cmd 'exit 0')"
    eventually 5 is 'exit 0' succeeded
    answers 202 POST / "$(task cmd 'exit 3')"
    eventually 5 is 'exit 3' failed
    curl -s "$DAEMON_URL/tasks" | gojq -e 'map(select(.command == "exit 3"))[0].exitStatus == 3'
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
    [ "$(curl -s "$DAEMON_URL/tasks" | gojq length)" -eq 1 ]
    answers 202 POST / '{"name":"other","namespace":"test","metadata":{"cmd":"sleep 31.4159"}}'
    [ "$(curl -s "$DAEMON_URL/tasks" | gojq length)" -eq 2 ]
    daemon_stop
    refute runs 'sleep 31.4159'
}

@test "who looks into it sees places, queue and who has them" {
    daemon_start "$LOADTESTER" --max-running 1
    answers 202 POST / "$(task cmd 'sleep 31.4160')"
    answers 202 POST / "$(task cmd 'sleep 31.4161')"
    curl -s "$DAEMON_URL/debug/process" | gojq -e '.tasks | .running == 1 and .queued == 1 and .maxRunning == 1
        and .canaries == [{canary: "podinfo.test", running: 1, queued: 1}]'
    curl -s "$DAEMON_URL/debug/process" | gojq -e '.server.answering == 1 and .memory.residentBytes > 0 and .streams.open == 0'
    curl -s "$DAEMON_URL/tasks" | gojq -e 'map(select(.state == "running"))[0] | .waiters == 0 and (.timesOut > .started)'
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Sec-Fetch-Site: same-site' "$DAEMON_URL/debug/process")" = 403 ]
    daemon_stop
}

@test "SIGHUP looks at the files now, and says what takes a restart" {
    knows() { [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $1" "$DAEMON_URL/tasks")" = "$2" ]; }
    echo 0123456789abcdef >"$BATS_TEST_TMPDIR/tokens"
    printf "commands: {'true': }" >"$BATS_TEST_TMPDIR/policy"
    daemon_start "$LOADTESTER" --token-file "$BATS_TEST_TMPDIR/tokens" --policy "$BATS_TEST_TMPDIR/policy"
    knows 0123456789abcdef 200
    echo fedcba9876543210 >"$BATS_TEST_TMPDIR/tokens"
    kill -HUP "$DAEMON_PID"
    eventually 5 knows fedcba9876543210 200
    knows 0123456789abcdef 401
    grep -q '"event":"reload".*"restart":"a restart takes: .*--policy' "$DAEMON_LOG"
    daemon_stop
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
    answers 404 POST /gate/who '{"name":"a","namespace":"b"}'
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
    refute runs 'sleep 27.1828'
    daemon_stop
}

@test "SIGTERM ends the children, those that hide in a session of their own too" {
    daemon_start "$LOADTESTER"
    answers 202 POST / "$(task cmd 'setsid sleep 16.18033 & sleep 16.18033')"
    eventually 5 runs 'sleep 16.18033'
    daemon_stop
    refute runs 'sleep 16.18033'
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

@test "a task answers with its own number, and hey with what it has counted" {
    daemon_start "$LOADTESTER"
    [ "$(curl -s -d "$(task bash 'echo counting; echo 12.5' returnValue true)" "$DAEMON_URL/")" = '{"value":12.5}' ]
    curl -s -d "$(task cmd "hey -n 20 -c 2 $DAEMON_URL/healthz" returnValue true)" "$DAEMON_URL/" |
        gojq -e '.value == null and .summary.tool == "hey" and .summary.requests == 20 and .summary.errorRate == 0 and .summary.p99 > 0'
    answers 400 POST / "$(task cmd true returnValue maybe)"
    answers 500 POST / "$(task cmd 'echo no number' returnValue true)"
    daemon_stop
}

# --- gates where specs of the field look for them

@test "gates are kept in memory, closed at first, when there is no gate service" {
    daemon_start "$LOADTESTER"
    grep -q gates_in_memory "$DAEMON_LOG"
    canary='{"name":"a","namespace":"b"}'
    for kind in gate rollback; do
        answers 403 POST /$kind/check "$canary"
        answers 202 POST /$kind/open "$canary"
        answers 200 POST /$kind/check "$canary"
        answers 403 POST /$kind/check '{"name":"other","namespace":"b"}'
        answers 202 POST /$kind/close "$canary"
        answers 403 POST /$kind/check "$canary"
        answers 405 GET /$kind/open "$canary"
        answers 400 POST /$kind/check '{"name":"a"}'
    done
    answers 200 POST /gate/approve "$canary"
    answers 403 POST /gate/halt "$canary"
    daemon_stop
}

@test "gates are passed on to the gate service, and closed without it" {
    daemon_start "$LOADTESTER"
    gate_pid=$DAEMON_PID gate_url=$DAEMON_URL gate_log=$DAEMON_LOG
    daemon_start "$LOADTESTER" --gate-url "$gate_url/"
    refute grep -q gates_in_memory "$DAEMON_LOG"
    canary='{"name":"a","namespace":"b"}'
    answers 202 POST /gate/open "$canary"
    answers 200 POST /gate/check "$canary"
    [ "$(curl -s -o /dev/null -w '%{http_code}' -d "$canary" "$gate_url/gate/check")" = 200 ]
    kill -KILL "$gate_pid"
    wait "$gate_pid" || true
    rm -f "$gate_log"
    answers 503 POST /gate/check "$canary"
    grep -q 'the gate service:' "$BATS_TEST_TMPDIR/body"
    daemon_stop
}

@test "a gate path leads nowhere else, and to no namespace that is refused" {
    daemon_start "$LOADTESTER"
    gate_pid=$DAEMON_PID gate_url=$DAEMON_URL gate_log=$DAEMON_LOG
    daemon_start "$LOADTESTER" --gate-url "$gate_url" --namespace-regexp '^prod-'
    [ "$(curl -s --path-as-is -o /dev/null -w '%{http_code}' "$DAEMON_URL/gate/../tasks")" = 404 ]
    [ "$(curl -s --path-as-is -o /dev/null -w '%{http_code}' "$DAEMON_URL/gate/%2e%2e/tasks")" = 404 ]
    answers 403 POST /gate/open '{"name":"a","namespace":"test"}'
    answers 202 POST /gate/open '{"name":"a","namespace":"prod-1"}'
    answers 200 POST /gate/approve ''
    kill -KILL "$gate_pid"
    wait "$gate_pid" || true
    rm -f "$gate_log"
    daemon_stop
}

# --- who may ask

@test "without a token nothing is answered but health and metrics" {
    echo 0123456789abcdef >"$BATS_TEST_TMPDIR/tokens"
    printf "commands: {'true': }" >"$BATS_TEST_TMPDIR/policy"
    daemon_start "$LOADTESTER" --token-file "$BATS_TEST_TMPDIR/tokens" --policy "$BATS_TEST_TMPDIR/policy"
    answers 401 POST / "$(task cmd true)"
    answers 401 GET /tasks
    answers 401 GET /tasks/1/stream
    answers 401 GET /debug/process
    answers 401 POST /gate/open '{"name":"a","namespace":"b"}'
    answers 200 GET /healthz
    answers 200 GET /metrics
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer 0123456789abcdef' -d "$(task bash true)" "$DAEMON_URL/")" = 200 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer 0123456789abcdeF' -d "$(task bash true)" "$DAEMON_URL/")" = 401 ]
    daemon_stop
    refute grep -q 0123456789abcdef "$DAEMON_LOG"
}

@test "with mutual TLS a client must show its certificate" {
    cd "$BATS_TEST_TMPDIR"
    openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 2 2>/dev/null
    for who in server client; do
        openssl req -newkey rsa:2048 -nodes -keyout $who.key -out $who.csr -subj /CN=localhost 2>/dev/null
        openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out $who.pem -days 2 \
            -extfile <(echo subjectAltName=IP:127.0.0.1) 2>/dev/null
    done
    printf "commands: {'true': }" >policy
    local probes=$((20000 + RANDOM % 10000))
    daemon_start "$LOADTESTER" --tls-cert server.pem --tls-key server.key --tls-client-ca ca.pem --policy policy --probe-port "$probes"
    url=${DAEMON_URL/http:/https:}
    refute curl -s --cacert ca.pem -d "$(task bash true)" "$url/"
    refute curl -s --cacert ca.pem "$url/healthz"
    curl -sf "http://127.0.0.1:$probes/healthz" # a kubelet has no certificate
    curl -sf "http://127.0.0.1:$probes/metrics" | grep -q ^process_open_fds
    [ "$(curl -s -o /dev/null -w '%{http_code}' -d "$(task bash true)" "http://127.0.0.1:$probes/")" = 404 ]
    curl -sf --cacert ca.pem --cert client.pem --key client.key -d "$(task bash true)" "$url/"
    daemon_stop
    run "$LOADTESTER" --tls-cert server.pem
    [ "$status" -eq 2 ]
    [[ "$output" == *'--tls-cert and --tls-key belong together'* ]]
}

# --- looking

@test "a task can be read and followed" {
    daemon_start "$LOADTESTER"
    answers 202 POST / "$(task cmd 'echo one; sleep 2; printf "tw\303"; sleep 0.2; printf "\266\n"; exit 4')"
    id=$(curl -s "$DAEMON_URL/tasks" | gojq '.[0].id')
    curl -sN -m 10 "$DAEMON_URL/tasks/$id/stream" >"$BATS_TEST_TMPDIR/events"
    [ "$(grep -c '^event: state' "$BATS_TEST_TMPDIR/events")" -ge 2 ]
    sed -n 's/^data: //p' "$BATS_TEST_TMPDIR/events" | gojq -es 'last | .state == "failed" and .exitStatus == 4 and .output == "one\ntwö\n"'
    # what came while it was followed, in pieces that are whole characters
    grep -A1 '^event: output' "$BATS_TEST_TMPDIR/events" | sed -n 's/^data: //p' | gojq -js . | gojq -e 'add | endswith("twö\n")'
    curl -s "$DAEMON_URL/tasks/$id" | gojq -e '.outputBytes == 9 and .error == "exit status 4"'
    # one that has ended is told at once
    curl -sN -m 5 "$DAEMON_URL/tasks/$id/stream" | grep -q '^event: state'
    for path in /tasks/0 /tasks/999 /tasks/x /tasks/1x /tasks/1/streams /tasks/-1 /tasks/18446744073709551617; do answers 404 GET "$path"; done
    daemon_stop
}

# --- what a run means for the release

failed_check() { # the next check of the task $1 is answered 500 with a sentence that has $2 in it
    [ "$(code POST / "$1")" = 500 ] && grep -q -- "$2" "$BATS_TEST_TMPDIR/body"
}

@test "a failed load test fails the next check, once" {
    daemon_start "$LOADTESTER"
    message=$(task cmd 'sleep 2; exit 3' failOnError true)
    answers 202 POST / "$message"
    eventually 20 is 'sleep 2; exit 3' failed
    failed_check "$message" 'load test "sleep 2; exit 3" failed: exit status 3' # and the next run begins
    answers 202 POST / "$message"
    daemon_stop
}

@test "real hey: errors above maxErrorRate and times above maxP99 fail the next check" {
    daemon_start "$LOADTESTER"
    bad="hey -n 20 -c 2 $DAEMON_URL/nowhere"
    slow="hey -n 200 -c 2 $DAEMON_URL/healthz"
    answers 202 POST / "$(task cmd "$bad" maxErrorRate 1)"
    answers 202 POST / "$(task cmd "$slow" maxP99 1us)"
    eventually 10 is "$bad" succeeded
    eventually 10 is "$slow" succeeded
    failed_check "$(task cmd "$bad" maxErrorRate 1)" '100% of the requests failed (20 of 20), maxErrorRate is 1%'
    failed_check "$(task cmd "$slow" maxP99 1us)" 'maxP99 is 0.001ms'
    curl -s "$DAEMON_URL/tasks" | gojq -e --arg c "$bad" 'map(select(.command == $c and .summary))[-1].summary | .tool == "hey" and .errors == 20 and .rps > 0 and .p50 > 0'
    daemon_stop
}

@test "real wrk: its summary is read" {
    command -v wrk || skip 'there is no wrk'
    daemon_start "$LOADTESTER"
    command="wrk -t1 -c2 -d1s --latency $DAEMON_URL/healthz"
    answers 200 POST / "$(task bash "$command")"
    curl -s "$DAEMON_URL/tasks" | gojq -e '.[0].summary | .tool == "wrk" and .requests > 0 and .errors == 0 and .p99 > 0'
    daemon_stop
}

@test "real ghz: its summary is read" {
    command -v ghz || skip 'there is no ghz'
    daemon_start "$LOADTESTER"
    # nobody listens: every call is an error that ghz counts
    proto=$(realpath "$BATS_TEST_DIRNAME/../../deploy/loadtester/health.proto")
    command="ghz --insecure --proto $proto --call grpc.health.v1.Health/Check -n 10 -c 1 127.0.0.1:1"
    answers 202 POST / "$(task cmd "$command" maxErrorRate 0)"
    ended() { [ "$(state_of "$command")" != running ]; }
    eventually 20 ended
    failed_check "$(task cmd "$command" maxErrorRate 0)" '100% of the requests failed (10 of 10)'
    daemon_stop
}

# health_server EVERY: a gRPC health server that fails every so manieth call; sets HEALTH_PID and HEALTH_PORT
health_server() {
    local folder=$BATS_FILE_TMPDIR/health grpc
    if [ ! -x "$folder/health" ]; then
        grpc=$(go version -m "$(command -v ghz)" | awk '$2 == "google.golang.org/grpc" {print $3}')
        mkdir -p "$folder"
        cp "$BATS_TEST_DIRNAME/../lib/health.go" "$folder/main.go"
        (cd "$folder" && go mod init health && go mod edit -require "google.golang.org/grpc@$grpc" && go mod tidy &&
            go build -o health .) >"$folder/log" 2>&1 || return 1
    fi
    "$folder/health" "$1" >"$folder/port" 3>&- &
    HEALTH_PID=$!
    eventually 10 test -s "$folder/port"
    HEALTH_PORT=$(cat "$folder/port")
}

@test "real ghz against a gRPC server: error rate and p99 are read from its summary" {
    command -v ghz >/dev/null || skip 'there is no ghz'
    command -v go >/dev/null || skip 'there is no go to build a gRPC server with'
    health_server 20 || skip "the gRPC server cannot be built here: $(tail -n 1 "$BATS_FILE_TMPDIR/health/log")"
    daemon_start "$LOADTESTER" --allow-command ghz
    proto=$(realpath "$BATS_TEST_DIRNAME/../../deploy/loadtester/health.proto")
    command="ghz --insecure --proto $proto --call grpc.health.v1.Health/Check -d '{\"service\": \"a\"}' -n 200 -c 4 127.0.0.1:$HEALTH_PORT"
    answers 202 POST / "$(task cmd "$command" maxErrorRate 4)"
    eventually 20 is "$command" succeeded
    curl -s "$DAEMON_URL/tasks" | gojq -e '.[0].summary | .tool == "ghz" and .requests == 200 and .errors == 10
        and .errorRate == 5 and .codes == {OK: 190, Unavailable: 10} and .p50 > 0 and .p99 >= .p50 and .rps > 0'
    failed_check "$(task cmd "$command" maxErrorRate 4)" '5% of the requests failed (10 of 200), maxErrorRate is 4%'
    command="$command --skipFirst 1"
    answers 202 POST / "$(task cmd "$command" maxP99 1us)"
    eventually 20 is "$command" succeeded
    failed_check "$(task cmd "$command" maxP99 1us)" 'maxP99 is 0.001ms'
    kill "$HEALTH_PID"
    daemon_stop
}

@test "real helm runs without a shell" {
    command -v helm || skip 'there is no helm'
    daemon_start "$LOADTESTER" --allow-command helm
    for type in helm helmv3; do
        [[ "$(curl -s -d "$(task $type 'version --short' returnCmdOutput true)" "$DAEMON_URL/")" == v3* ]]
        answers 500 POST / "$(task $type 'no-such-command; id')" || answers 400 POST / "$(task $type 'no-such-command; id')"
        answers 500 POST / "$(task $type no-such-command)"
    done
    daemon_stop
}

@test "real kubectl runs without a shell" {
    daemon_start "$LOADTESTER" --allow-command kubectl
    [[ "$(curl -s -d "$(task kubectl 'version --client' returnCmdOutput true)" "$DAEMON_URL/")" == *ersion* ]]
    answers 400 POST / "$(task kubectl 'version --client; id')"
    daemon_stop
}

@test "real bats runs as a task" {
    daemon_start "$LOADTESTER"
    printf '@test "fine" { true; }\n' >"$BATS_TEST_TMPDIR/fine.bats"
    printf '@test "not fine" { false; }\n' >"$BATS_TEST_TMPDIR/bad.bats"
    answers 200 POST / "$(task bash "env -i PATH=/usr/bin:/bin bats --tap $BATS_TEST_TMPDIR/fine.bats")"
    answers 500 POST / "$(task bash "env -i PATH=/usr/bin:/bin bats --tap $BATS_TEST_TMPDIR/bad.bats")"
    grep -q 'not ok 1 not fine' "$BATS_TEST_TMPDIR/body"
    daemon_stop
}

# --- what tasks may

@test "tasks see a scrubbed environment" {
    TOP_SECRET=x SHOWN=y daemon_start "$LOADTESTER" --pass-env 'SHOW*'
    seen=$(curl -s -d "$(task bash env returnCmdOutput true)" "$DAEMON_URL/")
    [[ "$seen" == *PATH=* && "$seen" == *SHOWN=y* && "$seen" != *TOP_SECRET* ]]
    daemon_stop
}

@test "tasks do not read what the daemon itself was started with" {
    run_as=()
    [ "$(id -u)" -ne 0 ] || run_as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    TOP_SECRET=x daemon_start "${run_as[@]}" "$LOADTESTER"
    answers 500 POST / "$(task bash "cat /proc/$DAEMON_PID/environ")"
    grep -q 'Permission denied' "$BATS_TEST_TMPDIR/body"
    answers 500 POST / "$(task bash "cat /proc/$DAEMON_PID/mem")"
    daemon_stop
}

@test "tasks gain no privileges, and dangerous system calls are refused" {
    daemon_start "$LOADTESTER" --seccomp
    run curl -s -d "$(task bash 'grep -E "^(NoNewPrivs|Seccomp):" /proc/self/status; unshare -U true' returnCmdOutput true)" "$DAEMON_URL/"
    [[ "$output" == *$'NoNewPrivs:\t1'* && "$output" == *$'Seccomp:\t2'* && "$output" == *'not permitted'* ]]
    daemon_stop
}

@test "tasks run as another user when root says so" {
    [ "$(id -u)" -eq 0 ] || skip 'only root may'
    daemon_start "$LOADTESTER" --task-user 65534
    [ "$(curl -s -d "$(task bash 'id -u; id -g; id -G' returnCmdOutput true)" "$DAEMON_URL/" | tr '\n' ' ')" = '65534 65534 65534 ' ]
    daemon_stop
}

@test "each namespace has a user of its own when root says so, with a home that nobody else enters" {
    [ "$(id -u)" -eq 0 ] || skip 'only root may'
    local said
    daemon_start "$LOADTESTER" --task-user 20000-20001:10001
    said=$(curl -s -d "$(task bash 'id -u; id -G; echo mine >"$HOME/file"; echo "$HOME $TMPDIR"' returnCmdOutput true)" "$DAEMON_URL/" | xargs)
    [[ $said =~ ^2000([01])\ 2000([01])\ 10001\ (/tmp/flagger-tasks.*/2000[01])\ (/tmp/.*)$ && ${BASH_REMATCH[1]} = "${BASH_REMATCH[2]}" &&
        ${BASH_REMATCH[3]} = "${BASH_REMATCH[4]}" ]] || { echo "$said" && return 1; }
    home=${BASH_REMATCH[3]}
    other() { gojq -c --arg in "$1" '.namespace = $in'; }
    [[ $(curl -s -d "$(task bash "cat $home/file" returnCmdOutput true | other prod)" "$DAEMON_URL/") == *'Permission denied'* ]]
    [ "$(curl -s -d "$(task bash 'cat "$HOME/file"' returnCmdOutput true)" "$DAEMON_URL/")" = mine ]
    answers 429 POST / "$(task bash true | other staging)"
    grep -q 'each user of --task-user belongs to another namespace already' "$BATS_TEST_TMPDIR/body"
    daemon_stop
    [ ! -e "${home%/*}" ]
}

@test "options that cannot be are one sentence" {
    for option in '--task-user root' '--task-user 9-5' '--task-memory lots' '--seccomp --new-privileges' '--token-file /nowhere' '--max-running 0'; do
        run "$LOADTESTER" $option
        [ "$status" -eq 2 ]
        [[ "$output" == *"${option%% *}"* || "$output" == */nowhere* ]]
    done
}

@test "it does not start when tasks could read its tokens or keys" {
    cd "$BATS_TEST_TMPDIR"
    chmod 755 .
    echo 0123456789abcdef >tokens
    mkdir keys && echo key >keys/a
    for option in '--token-file tokens' '--api-key-dir keys' '--token-file tokens --allow-command hey'; do
        run "$LOADTESTER" $option
        [ "$status" -eq 2 ]
        [[ "$output" == *"${option%% *}: tasks could read"* ]]
    done
    [ "$(id -u)" -eq 0 ] || skip 'only root gives tasks another user'
    chmod 644 tokens
    run "$LOADTESTER" --token-file tokens --task-user 65534
    [ "$status" -eq 2 ]
    chmod 600 tokens keys/a
    daemon_start "$LOADTESTER" --token-file tokens --api-key-dir keys --task-user 65534
    daemon_stop
}

@test "a policy bounds flags, values and arguments, and servers of other services" {
    cat >"$BATS_TEST_TMPDIR/policy" <<POLICY
commands:
  echo: {flags: {-n: }, arguments: [['[a-z]+', ...]]}
  ngrinder: {arguments: [['http://ngrinder(:[0-9]+)?']]}
POLICY
    daemon_start "$LOADTESTER" --policy "$BATS_TEST_TMPDIR/policy"
    answers 200 POST / "$(task bash 'echo -n a b')"
    answers 403 POST / "$(task bash 'echo -e a')"
    answers 403 POST / "$(task bash 'echo A')"
    answers 403 POST / "$(task bash id)"
    answers 403 POST / "$(task kubectl 'get pods')"
    ngrinder() { gojq -cn --arg s "$1" '{name: "a", namespace: "b", metadata: {type: "ngrinder", server: $s, clone: "1", username: "u", passwd: "eA=="}}'; }
    answers 403 POST / "$(ngrinder http://elsewhere)"
    answers 202 POST / "$(ngrinder http://ngrinder:1)"
    daemon_stop
    for options in "--policy $BATS_TEST_TMPDIR/policy --allow-command echo" "--policy $BATS_TEST_TMPDIR/policy --allow-shell" '--policy /nowhere'; do
        run "$LOADTESTER" $options
        [ "$status" -eq 2 ]
    done
}

@test "as the first process of a namespace it leaves no zombies" {
    unshare --pid --fork --mount-proc true 2>/dev/null || skip 'no namespace can be made here'
    daemon_start unshare --pid --fork --mount-proc --kill-child "$LOADTESTER"
    # orphans of a task whose supervisor is killed, and of strangers
    answers 500 POST / "$(task bash 'setsid sleep 0.1 & kill -KILL $PPID; sleep 5')"
    first=$(pgrep -P "$DAEMON_PID")
    nsenter --target "$first" --pid --mount sh -c '(sleep 0.2 &) ; (sleep 0.3 &)'
    no_zombies() { [ "$(nsenter --target "$first" --pid --mount ps -eo stat= | grep -c Z)" = 0 ]; }
    sleeping() { nsenter --target "$first" --pid --mount ps -eo args= | grep -q '^sleep'; }
    awake() { ! sleeping; }
    eventually 10 awake
    eventually 5 no_zombies
    kill -TERM "$first"
    wait "$DAEMON_PID" || true
}

@test "the recommended policies take little memory, and a hostile request little time" {
    local policies before
    policies=$(printf '%s,' "$BATS_TEST_DIRNAME"/../../deploy/loadtester/policies/*.yaml)
    resident() { curl -s "$DAEMON_URL/debug/process" | gojq .memory.residentBytes; }
    small() { grep -q __asan_init "$LOADTESTER" || [ "$(resident)" -lt $((40 * 1024 * 1024)) ]; }
    daemon_start "$LOADTESTER" --policy "${policies%,}"
    small
    # Values that almost match, of all the flags that take long ones, as many as there is room for.
    gojq -cn '("a" * 4000) as $long | {name: "podinfo", namespace: "test", metadata: {type: "cmd",
        cmd: ("hey " + ([range(120) | "-H \u0027X-a: " + $long + "\u0001\u0027 -d \u0027" + $long + "\u0001\u0027"] | join(" ")) + " http://x")}}' >"$BATS_TEST_TMPDIR/hostile"
    before=$(date +%s)
    for _ in 1 2 3 4 5 6; do
        [ "$(curl -s -m 5 -o "$BATS_TEST_TMPDIR/answer" -w '%{http_code}' --data-binary "@$BATS_TEST_TMPDIR/hostile" "$DAEMON_URL/")" = 403 ]
    done
    grep -q 'does not let -H of "hey" have this value' "$BATS_TEST_TMPDIR/answer"
    [ $(($(date +%s) - before)) -lt 10 ]
    small
    daemon_stop
}
