# The load tester under valgrind: hundreds of tasks, and clients that go, stay silent, or are refused.

setup() {
    load ../lib/daemon
    LOADTESTER=$FLAGGER_BUILD/flagger-loadtester
    command -v valgrind >/dev/null || skip 'there is no valgrind'
    ! grep -q __asan_init "$LOADTESTER" || skip 'the build has a sanitizer'
}

teardown() {
    [ -z "${DAEMON_PID:-}" ] || daemon_gone || kill -KILL "$DAEMON_PID"
}

task() { gojq -cn --arg type "$1" --arg cmd "$2" '{name: "podinfo", namespace: "test", metadata: {type: $type, cmd: $cmd, failOnError: "true"}}'; }

# posts TYPE COMMAND COUNT: that many different tasks, eight at a time
posts() {
    local i
    for i in $(seq "$3"); do
        printf 'url = "%s/"\ndata = %s\noutput = "/dev/null"\nmax-time = 60\nnext\n' "$DAEMON_URL" "$(task "$1" "$2 $i" | gojq -Rs .)"
    done | sed '$d' >"$BATS_TEST_TMPDIR/curl"
    curl -s --parallel --parallel-max 8 -K "$BATS_TEST_TMPDIR/curl"
}

# silent REQUEST: a client that sends this and reads nothing; the connection is descriptor 7
silent() {
    exec 7<>"/dev/tcp/127.0.0.1/${DAEMON_URL##*:}"
    printf "$1" >&7
}

settled() { curl -s "$DAEMON_URL/tasks" | gojq -e 'map(select(.state == "queued" or .state == "running")) | length == 0'; }
followed() { grep -qs begun "$BATS_TEST_TMPDIR/events"; }

@test "valgrind finds nothing in hundreds of tasks and rude clients" {
    daemon_start valgrind -q --leak-check=full --errors-for-leak-kinds=definite,indirect --track-fds=no --error-exitcode=99 \
        "$LOADTESTER" --max-running 4 --max-queued 8 --max-per-canary 4 --task-processes 200
    posts cmd 'exit 3; :' 150
    eventually 60 settled
    posts bash 'echo some output; :' 150
    # the failures of the first are told, and their tasks run again
    posts cmd 'exit 3; :' 20
    eventually 60 settled
    # refused: no JSON, no type, too long
    answers 400 POST / '{'
    answers 400 POST / '{"metadata":{"type":"nope","cmd":"x"}}'
    head -c 2000000 /dev/zero | tr '\0' 'x' >"$BATS_TEST_TMPDIR/long"
    [ "$(curl -s -o /dev/null -w '%{http_code}' --data-binary "@$BATS_TEST_TMPDIR/long" "$DAEMON_URL/")" = 413 ]
    # followers: one that reads, one that does not, one that goes
    answers 202 POST / "$(task cmd 'echo begun; timeout 3 yes')"
    id=$(curl -s "$DAEMON_URL/tasks" | gojq '.[0].id')
    curl -sN -m 1 "$DAEMON_URL/tasks/$id/stream" >"$BATS_TEST_TMPDIR/events" || true
    followed
    for _ in 1 2 3 4; do silent "GET /tasks/$id/stream HTTP/1.1\r\nHost: x\r\n\r\n"; done
    # half a request, a client that goes in the middle of its task, one that waits at the end
    silent 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{'
    curl -s -m 0.3 -d "$(task bash 'sleep 1')" "$DAEMON_URL/" || true
    curl -s -m 20 -d "$(task bash 'sleep 61')" "$DAEMON_URL/" >/dev/null &
    eventually 60 settled_but 'sleep 61'
    silent "GET /tasks HTTP/1.1\r\nHost: x\r\n\r\n"
    DAEMON_STOP_SECONDS=30 daemon_stop
    exec 7>&-
    wait
}

settled_but() { curl -s "$DAEMON_URL/tasks" | gojq -e --arg c "$1" 'map(select(.state == "queued" or .state == "running").command) == [$c]'; }
