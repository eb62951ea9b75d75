# The gate, with a real PostgreSQL.

load ../lib/postgres_file

setup() {
    load ../lib/daemon
    GATE=$FLAGGER_BUILD/flagger-gate
    PODINFO='{"name":"podinfo","namespace":"test"}'
}

teardown() {
    [ -z "${DAEMON_PID:-}" ] || daemon_gone || kill -KILL "$DAEMON_PID"
    pg_empty || true
}

gate_start() {
    daemon_start "$GATE" --database "$PG_DSN" --anybody
    eventually 10 answers 200 GET /readyz
}

@test "a gate nobody opened is closed, opens and closes, and the two kinds are apart" {
    gate_start
    answers 403 POST /gate/check "$PODINFO"
    answers 202 POST /gate/open "$PODINFO"
    answers 200 POST /gate/check "$PODINFO"
    answers 403 POST /rollback/check "$PODINFO"
    answers 403 POST /gate/check '{"name":"podinfo","namespace":"prod"}'
    answers 202 POST /rollback/open "$PODINFO"
    answers 200 POST /rollback/check "$PODINFO"
    answers 202 POST /gate/close "$PODINFO"
    answers 403 POST /gate/check "$PODINFO"
    answers 202 POST /rollback/close "$PODINFO"
    answers 403 POST /rollback/check "$PODINFO"
    daemon_stop
}

@test "the bodies are Flagger's" {
    gate_start
    [ "$(curl -s -d "$PODINFO" "$DAEMON_URL/gate/check")" = Forbidden ]
    [ -z "$(curl -s -d "$PODINFO" "$DAEMON_URL/gate/open")" ]
    [ "$(curl -s -d "$PODINFO" "$DAEMON_URL/gate/check")" = Approved ]
    [ "$(curl -s -d "$PODINFO" "$DAEMON_URL/gate/approve")" = OK ]
    [ "$(curl -s -d "$PODINFO" "$DAEMON_URL/gate/halt")" = Forbidden ]
    answers 200 POST /gate/approve "$PODINFO"
    answers 403 POST /gate/halt "$PODINFO"
    # What Flagger's controller posts, with all its keys.
    answers 200 POST /gate/check \
        '{"name":"podinfo","namespace":"test","phase":"Waiting","checksum":"85d557f47b","metadata":{"a":"b"}}'
    daemon_stop
}

@test "a bad request gets one sentence that says what is wrong" {
    gate_start
    answers 400 POST /gate/open '{"name":"podinfo"}'
    answers 400 POST /gate/open '{"name":7,"namespace":"test"}'
    curl -s -d '{"name":7,"namespace":"test"}' "$DAEMON_URL/gate/open" | gojq -e '.error | test("name")'
    answers 400 POST /gate/open '{"name":'
    answers 400 POST /gate/open ''
    answers 405 GET /gate/open
    answers 404 GET /nothing
    answers 413 POST /gate/open "$(head -c 100000 /dev/zero | tr '\0' ' ')"
    answers 403 POST /gate/check "$PODINFO"
    daemon_stop
}

@test "it says what was set" {
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    curl -s "$DAEMON_URL/v1/gates" | gojq -e '.gates | length == 1 and .[0].name == "podinfo" and .[0].open and .[0].kind == "gate"'
    curl -s "$DAEMON_URL/metrics" | grep -q 'flagger_gate_changes_total{gate="gate",change="open",outcome="changed"} 1'
    daemon_stop
}

@test "an open gate survives a kill -9 of the gate" {
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    kill -KILL "$DAEMON_PID"
    wait "$DAEMON_PID" || true
    gate_start
    answers 200 POST /gate/check "$PODINFO"
    daemon_stop
}

@test "without its database it answers 503 and never open, and recovers by itself" {
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    pg_kill
    answers 503 POST /gate/check "$PODINFO"
    answers 503 POST /gate/close "$PODINFO"
    answers 503 GET /readyz
    answers 200 GET /healthz
    pg_start
    eventually 15 answers 200 POST /gate/check "$PODINFO"
    answers 202 POST /gate/close "$PODINFO"
    answers 403 POST /gate/check "$PODINFO"
    daemon_stop
}

@test "it starts without a database and waits for it" {
    pg_stop
    daemon_start "$GATE" --database "$PG_DSN" --anybody
    answers 503 POST /gate/check "$PODINFO"
    pg_start
    eventually 15 answers 403 POST /gate/check "$PODINFO"
    daemon_stop
}

@test "tables of a newer version are refused, not used" {
    gate_start
    daemon_stop
    pg_sql 'INSERT INTO flagger_gate_schema (version) VALUES (99)'
    daemon_start "$GATE" --database "$PG_DSN" --anybody
    eventually 10 grep -q 'use a newer flagger-gate' "$DAEMON_LOG"
    answers 503 POST /gate/check "$PODINFO"
    daemon_stop
}

@test "two gates share one state" {
    gate_start
    first=$DAEMON_PID
    second_log=$DAEMON_LOG
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    answers 200 POST /gate/check "$PODINFO"
    daemon_stop
    kill "$first"
    wait "$first"
    rm -f "$second_log"
}

@test "hundreds of checks at once are all answered" {
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    run hey -n 2000 -c 100 -m POST -d "$PODINFO" "$DAEMON_URL/gate/check"
    [[ $output == *"[200]"*"2000 responses"* ]]
    daemon_stop
}

@test "a connection string that cannot be read ends it with one sentence without the password" {
    run "$GATE" --database 'gate:hush@db.test/gates' --anybody
    [ "$status" -eq 2 ]
    [[ $output == *"connection string"* ]]
    [[ $output != *hush* ]]
}

@test "a host name is resolved, an unknown one is told and never open" {
    daemon_start "$GATE" --database 'host=no-such-host.invalid dbname=gates' --anybody
    eventually 10 grep -q 'no-such-host.invalid' "$DAEMON_LOG"
    answers 503 POST /gate/check "$PODINFO"
    answers 503 POST /gate/open "$PODINFO"
    daemon_stop
}

@test "--help teaches and a wrong option is one sentence" {
    run "$GATE" --help
    [ "$status" -eq 0 ]
    [[ $output == *--database* ]]
    run "$GATE" --databse x
    [ "$status" -eq 2 ]
    [[ $output == *--database* ]]
    run "$GATE" --port 70000
    [ "$status" -eq 2 ]
    [[ $output == *port* ]]
}
