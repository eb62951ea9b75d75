# GET /v1/events of the gate: every change once and in order, from a real PostgreSQL, over two gates and broken connections.

load ../lib/postgres_file

setup() {
    load ../lib/daemon
    GATE=$FLAGGER_BUILD/flagger-gate
    POD=/v1/gates/test/podinfo
    FOLLOWERS=()
    GATES=()
    cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
    [ ${#FOLLOWERS[@]} -eq 0 ] || kill "${FOLLOWERS[@]}" 2>/dev/null || true
    [ ${#GATES[@]} -eq 0 ] || kill -KILL "${GATES[@]}" 2>/dev/null || true
    pg_empty || true
}

gate_start() {
    gate_start_any "$PG_DSN" "$@"
    GATES+=("$DAEMON_PID")
    eventually 10 answers 200 GET /readyz
}

# Ends cleanly, also with clients that follow.
gates_stop() {
    local pid
    for pid in "${GATES[@]}"; do kill "$pid"; done
    for pid in "${GATES[@]}"; do wait "$pid"; done
    GATES=()
}

# follow FILE [CURL ARGUMENT...]: keeps what DAEMON_URL/v1/events says; returns when it has begun
follow() {
    local file=$1
    shift
    curl -s -N "$@" "$DAEMON_URL/v1/events${AFTER:+?after=$AFTER}" >"$file" 3>&- &
    FOLLOWERS+=($!)
    eventually 5 grep -q 'event: database' "$file"
}

change() { # change opens and closes: two entries
    curl -s -m 10 -f -o /dev/null -X POST -H 'Content-Type: application/json' -d "{\"reason\":\"${1:-}\"}" "$DAEMON_URL$POD/open" &&
        curl -s -m 10 -f -o /dev/null -X POST -H 'Content-Type: application/json' "$DAEMON_URL$POD/close"
}

# seqs [FILE]: the numbers of the changes, in the order they came; as bytes, since lines are long
seqs() { LC_ALL=C sed -n 's/^data: {.*"seq": *\([0-9]*\).*/\1/p' "${1:--}"; }

# Ends all connections of the gates, and at once adds an entry, which is committed before they listen again.
behind_its_back() {
    pg_sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'flagger-gate';
        SELECT flagger_gate_append('{\"action\":\"open\",\"namespace\":\"test\",\"name\":\"podinfo\"}')" >/dev/null
}

# The stream is another channel than /readyz: what it says may come a moment later.
ready_again() { [ "$(grep -c '^data: {"ready":true}$' "$1")" -ge 2 ]; }
# has FILE FIRST LAST: exactly these, each once, in order
has() { [ "$(seqs "$1")" = "$(seq "$2" "$3")" ]; }
said() { [ "$(tail -n 50 "$1" | seqs | tail -n 1)" = "$2" ]; }

@test "changes come live, with what was said, and who waits is told" {
    gate_start
    follow live
    grep -q '^id: 0$' live
    grep -q '^data: {"ready":true}$' live
    change 'looks \"good\"'
    eventually 5 has live 1 2
    # The data of an event is the entry of the history, its id the number.
    curl -s "$DAEMON_URL/v1/history" | gojq -c '.history[]' >history
    grep -A 2 '^id: [12]$' live | sed -n 's/^data: //p' | gojq -c . | diff - history
    [ "$(grep -c '^event: change$' live)" -eq 2 ]
    answers 403 POST /gate/check '{"name":"podinfo","namespace":"test","phase":"Waiting","checksum":"abc"}'
    eventually 5 grep -q '^data: {"namespace":"test","name":"podinfo"}$' live
    grep -q '^event: wait$' live
    curl -s "$DAEMON_URL/metrics" | grep -q '^flagger_gate_event_clients 1$'
    gates_stop
    wait "${FOLLOWERS[0]}" # ended by the gate, in order
}

@test "whatever gate made a change, followers of all gates see it once and in order" {
    local urls=() i
    gate_start
    urls+=("$DAEMON_URL")
    follow first
    gate_start
    urls+=("$DAEMON_URL")
    follow second
    for _ in 1 2 3 4; do
        local changing=()
        for i in 1 2 3 4 5; do
            DAEMON_URL=${urls[i % 2]} change 3>&- &
            changing+=($!)
        done
        wait "${changing[@]}"
    done
    local head
    head=$(pg_sql 'SELECT seq FROM flagger_gate_head')
    [ "$head" -ge 8 ] # an opening of what is open is no change
    eventually 10 said first "$head"
    eventually 10 said second "$head"
    has first 1 "$head"
    has second 1 "$head"
    gates_stop
}

@test "connections that are ended under load lose no event" {
    local urls=() round
    gate_start
    urls+=("$DAEMON_URL")
    follow first
    gate_start
    urls+=("$DAEMON_URL")
    follow second
    for round in 1 2 3 4 5 6; do
        DAEMON_URL=${urls[round % 2]} change || true
        behind_its_back
        DAEMON_URL=${urls[0]} change || true
        DAEMON_URL=${urls[1]} change || true
        eventually 10 answers 200 GET /readyz
    done
    eventually 10 change
    local head
    head=$(pg_sql 'SELECT seq FROM flagger_gate_head')
    [ "$head" -ge 8 ]
    eventually 10 said first "$head"
    eventually 10 said second "$head"
    has first 1 "$head"
    has second 1 "$head"
    gates_stop
}

@test "a killed database is told, and when it is back nothing is missing" {
    gate_start
    follow live
    change
    pg_kill
    eventually 10 grep -q '^data: {"ready":false}$' live
    pg_start
    eventually 15 answers 200 GET /readyz
    eventually 5 ready_again live
    behind_its_back
    eventually 10 has live 1 3
    gates_stop
}

@test "a client that resumes misses nothing and gets nothing twice" {
    gate_start
    for _ in 1 2 3 4 5; do change; done
    AFTER=4 follow after
    eventually 5 has after 5 10
    follow header -H 'Last-Event-ID: 7'
    eventually 5 has header 8 10
    AFTER=1 follow both -H 'Last-Event-ID: 9'
    eventually 5 has both 10 10
    AFTER=0 follow all
    eventually 5 has all 1 10
    AFTER=10 follow none
    follow now
    change
    for file in after header both all none now; do eventually 5 said $file 12; done
    has after 5 12
    has header 8 12
    has all 1 12
    has none 11 12
    has now 11 12
    # What another history said: this one from its beginning.
    AFTER=999 follow other
    eventually 5 has other 1 12
    answers 400 GET '/v1/events?after=x'
    answers 400 GET '/v1/events?after=-1'
    answers 400 GET '/v1/events?after=99999999999999999999'
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Last-Event-ID: seven' "$DAEMON_URL/v1/events")" = 400 ]
    [ "$(curl -s -m 5 -I -o /dev/null -w '%{http_code}' "$DAEMON_URL/v1/events")" = 200 ]
    gates_stop
}

@test "a long history is read page by page while it grows" {
    gate_start
    pg_sql "SELECT flagger_gate_append(jsonb_build_object('action', 'open', 'namespace', 'test', 'name', 'podinfo',
        'reason', repeat('long ', 200), 'n', n)) FROM generate_series(1, 3000) n" >/dev/null
    AFTER=0 follow all
    AFTER=1490 follow half --limit-rate 300k
    follow now
    for _ in 1 2 3 4 5 6 7 8 9 10; do change; done
    eventually 20 said all 3020
    eventually 30 said half 3020
    has all 1 3020
    has half 1491 3020
    eventually 5 said now 3020
    [ "$(seqs now | sort -n | uniq -d | wc -l)" -eq 0 ]
    gates_stop
}

# A flood of entries in one transaction, while followers listen: all of them come.
@test "many changes at once are all told" {
    gate_start
    follow first
    follow second --limit-rate 500k
    pg_sql "SELECT flagger_gate_append(jsonb_build_object('action', 'open', 'namespace', 'test', 'name', 'podinfo',
        'reason', repeat('long ', 200), 'n', n)) FROM generate_series(1, 2000) n" >/dev/null
    eventually 20 said first 2000
    eventually 30 said second 2000
    has first 1 2000
    has second 1 2000
    gates_stop
}

@test "a client that takes nothing is cut off, and the others go on" {
    gate_start
    follow live
    # Its receive buffer is full soon, and it sleeps.
    python3 - "$DAEMON_URL" <<'PY' 3>&- &
import socket, sys, time
host, port = sys.argv[1][len("http://"):].split(":")
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
s.connect((host, int(port)))
s.sendall(b"GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n")
time.sleep(600)
PY
    FOLLOWERS+=($!)
    eventually 5 two_clients
    pg_sql "SELECT flagger_gate_append(jsonb_build_object('action', 'open', 'namespace', 'test', 'name', 'podinfo',
        'reason', repeat('long ', 1000), 'n', n)) FROM generate_series(1, 2000) n" >/dev/null
    eventually 20 said live 2000
    eventually 60 bash -c "curl -s '$DAEMON_URL/metrics' | grep -q '^flagger_gate_event_clients_cut_total 1$'"
    curl -s "$DAEMON_URL/metrics" | grep -q '^flagger_gate_event_clients 1$'
    change
    eventually 5 said live 2002
    has live 1 2002
    gates_stop
}

two_clients() { curl -s "$DAEMON_URL/metrics" | grep -q '^flagger_gate_event_clients 2$'; }

# Whatever is on its way to them when they go.
@test "clients come and go at any time, while connections are ended" {
    gate_start
    local round i
    pg_sql "SELECT flagger_gate_append(jsonb_build_object('action', 'open', 'namespace', 'test', 'name', 'podinfo',
        'n', n)) FROM generate_series(1, 1500) n" >/dev/null
    for round in $(seq 1 12); do
        for i in 1 2 3 4 5 6; do
            curl -s -N -m "0.0$i" "$DAEMON_URL/v1/events?after=$((round * i))" >/dev/null 3>&- &
            curl -s -N -m "0.$i" "$DAEMON_URL/v1/events" >/dev/null 3>&- &
        done
        change || true
        pg_sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'flagger-gate'
            ORDER BY random() LIMIT 2" >/dev/null
        change || true
    done
    eventually 10 bash -c "curl -s '$DAEMON_URL/metrics' | grep -q '^flagger_gate_event_clients 0$'"
    eventually 5 change
    AFTER=0 follow all
    eventually 10 said all "$(pg_sql 'SELECT seq FROM flagger_gate_head')"
    gates_stop
}

@test "there is a limit to followers" {
    gate_start
    local i
    printf 'url = "%s/v1/events"\noutput = "/dev/null"\n' "$DAEMON_URL" >one
    for i in $(seq 1 256); do cat one; done >many
    curl -s -N --parallel --parallel-immediate --parallel-max 300 -K many 3>&- &
    FOLLOWERS+=($!)
    eventually 10 bash -c "curl -s '$DAEMON_URL/metrics' | grep -q '^flagger_gate_event_clients 256$'"
    answers 429 GET /v1/events
    kill "${FOLLOWERS[0]}"
    eventually 20 bash -c "curl -s '$DAEMON_URL/metrics' | grep -q '^flagger_gate_event_clients 0$'"
    follow live
    gates_stop
}

@test "a history that starts over is told from its beginning" {
    gate_start
    follow live
    change
    eventually 5 said live 2
    pg_sql 'DROP SCHEMA public CASCADE; CREATE SCHEMA public'
    eventually 15 answers 202 POST /gate/open '{"name":"podinfo","namespace":"test"}'
    pg_sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'flagger-gate'" >/dev/null
    eventually 10 last_is_one
    gates_stop
}

last_is_one() { said live 1; }
