# The gate's connections to a real PostgreSQL: lanes, limits, losses, standbys, TLS, rotation, versions.

load ../lib/postgres_file

setup() {
    load ../lib/daemon
    GATE=$FLAGGER_BUILD/flagger-gate
    PODINFO='{"name":"podinfo","namespace":"test"}'
}

teardown() {
    [ -z "${DAEMON_PID:-}" ] || daemon_gone || kill -KILL "$DAEMON_PID"
    [ -z "${HEY_PID:-}" ] || kill "$HEY_PID" 2>/dev/null || true
    [ -z "${HOLDER:-}" ] || kill "$HOLDER" 2>/dev/null || true
    [ ! -e "$PG_DIR/standby" ] || standby_end
    pg_sql 'DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO public' >/dev/null 2>&1 || true
}

gate_start() {
    daemon_start "$GATE" --database "${1:-$PG_DSN}" --anybody
    eventually 10 answers 200 GET /readyz
}

# gates_connected N: that many connections of a gate are there
gates_connected() {
    [ "$(pg_sql "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'flagger-gate'")" -eq "$1" ]
}

# hold SQL: runs it in a transaction that stays open until release
hold() {
    coproc HOLD { psql -h "$PG_DIR" -U postgres -Atqc "BEGIN; $1" -f - postgres 2>&1; }
    HOLD_IN=${HOLD[1]} HOLDER=$HOLD_PID
    eventually 5 holds
}

holds() { [ "$(pg_sql "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'")" -gt 0 ]; }

release() {
    echo 'COMMIT;' >&"$HOLD_IN"
    eval "exec $HOLD_IN>&-"
    wait "$HOLDER" || true
    HOLDER=
}

milliseconds() { date +%s%3N; }

@test "connections are spread over three lanes and one that listens" {
    daemon_start "$GATE" --database "$PG_DSN" --anybody --database-connections 6
    eventually 10 answers 200 GET /readyz
    eventually 10 gates_connected 8
    answers 200 GET /metrics
    eventually 5 bash -c "curl -s '$DAEMON_URL/metrics' | grep -q 'connections{lane=\"ask\",state=\"ready\"} 3'"
    curl -s "$DAEMON_URL/metrics" | grep -q 'connections{lane="change",state="ready"} 3'
    curl -s "$DAEMON_URL/metrics" | grep -q 'connections{lane="read",state="ready"} 1'
    curl -s "$DAEMON_URL/metrics" | grep -q 'connections{lane="listen",state="ready"} 1'
    curl -s "$DAEMON_URL/debug/process" | gojq -e '.database | .ready and ([.connections[] | select(.state == "ready") | .lane] |
        group_by(.) | map({(.[0]): length}) | add) == {ask: 3, change: 3, read: 1, listen: 1}'
    curl -s "$DAEMON_URL/debug/process" | gojq -e '.events.clients == 0 and .server.answering == 1 and .memory.residentBytes > 0'
    run "$GATE" --database-connections 1
    [ "$status" -eq 2 ]
    daemon_stop
    gates_connected 0
}

@test "a session has limits and the database's own crash loses no answered change" {
    pg_sql 'ALTER SYSTEM SET synchronous_commit = off'
    pg_sql 'SELECT pg_reload_conf()' >/dev/null
    gate_start
    # Seen from inside: a trigger of the test writes down what holds in a session of the gate.
    pg_sql "CREATE TABLE seen (name text, value text);
        CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
            INSERT INTO seen SELECT name, current_setting(name, true) FROM unnest(ARRAY['statement_timeout',
                'lock_timeout', 'synchronous_commit', 'flagger_gate.version', 'application_name',
                'idle_in_transaction_session_timeout']) name;
            RETURN NULL; END \$\$;
        CREATE TRIGGER see AFTER INSERT ON flagger_gates EXECUTE FUNCTION see()"
    answers 202 POST /gate/open "$PODINFO"
    run pg_sql 'SELECT name, value FROM seen ORDER BY name'
    [[ $output == *'application_name|flagger-gate'* ]]
    [[ $output == *'idle_in_transaction_session_timeout|10s'* ]]
    [[ $output == *'lock_timeout|3s'* ]]
    [[ $output == *'statement_timeout|5s'* ]]
    [[ $output == *'synchronous_commit|on'* ]]
    [[ $output =~ flagger_gate.version\|[0-9]+ ]]
    pg_sql 'ALTER SYSTEM RESET synchronous_commit'
    pg_sql 'SELECT pg_reload_conf()' >/dev/null
    daemon_stop
}

@test "a change that waits for a row delays no check, and gives up in the end" {
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    hold "LOCK TABLE flagger_gates IN ROW EXCLUSIVE MODE; SELECT * FROM flagger_gates FOR UPDATE"
    curl -s -o "$BATS_TEST_TMPDIR/close" -w '%{http_code}' -d "$PODINFO" "$DAEMON_URL/gate/close" \
        >"$BATS_TEST_TMPDIR/code" 3>&- &
    local closing=$! began
    began=$(milliseconds)
    run hey -n 300 -c 20 -m POST -d "$PODINFO" "$DAEMON_URL/gate/check"
    [[ $output == *"[200]"*"300 responses"* ]]
    [ $(($(milliseconds) - began)) -lt 2500 ]
    wait "$closing"
    [ "$(cat "$BATS_TEST_TMPDIR/code")" = 503 ]
    grep -q 'lock timeout' "$BATS_TEST_TMPDIR/close"
    release
    answers 202 POST /gate/close "$PODINFO"
    answers 403 POST /gate/check "$PODINFO"
    daemon_stop
}

@test "changes that queue up behind a lock are answered in time, and do not happen later" {
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    hold "LOCK TABLE flagger_gates IN ROW EXCLUSIVE MODE; SELECT * FROM flagger_gates FOR UPDATE"
    local i pids=() began
    began=$(milliseconds)
    for i in $(seq 1 12); do
        curl -s -o /dev/null -w '%{http_code}\n' -d "$PODINFO" "$DAEMON_URL/gate/close" >"$BATS_TEST_TMPDIR/code.$i" 3>&- &
        pids+=($!)
    done
    wait "${pids[@]}"
    [ $(($(milliseconds) - began)) -lt 9000 ]
    [ "$(sort -u "$BATS_TEST_TMPDIR"/code.*)" = 503 ]
    # None of them is left in the database, where it would happen when nobody expects it.
    eventually 3 gates_wait_for 0
    answers 200 POST /gate/check "$PODINFO"
    release
    answers 200 POST /gate/check "$PODINFO"
    eventually 10 answers 202 POST /gate/close "$PODINFO"
    answers 403 POST /gate/check "$PODINFO"
    daemon_stop
}

gates_wait_for() { [ "$(pg_sql "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")" -eq "$1" ]; }

@test "a table that is locked whole ends in 503, and the gate goes on" {
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    hold "LOCK TABLE flagger_gate_passes"
    answers 503 POST /gate/check "$PODINFO"
    grep -q 'timeout' "$BATS_TEST_TMPDIR/body"
    answers 200 GET /readyz
    release
    answers 200 POST /gate/check "$PODINFO"
    daemon_stop
}

@test "connections ended by an administrator under load are recreated, and nothing wrong is said" {
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    hey -z 6s -c 20 -m POST -d "$PODINFO" "$DAEMON_URL/gate/check" >"$BATS_TEST_TMPDIR/hey" 3>&- &
    HEY_PID=$!
    for _ in 1 2 3 4 5; do
        eventually 5 gates_connected 6
        pg_sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'flagger-gate'
            ORDER BY backend_start LIMIT 1" >/dev/null
    done
    pg_sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'flagger-gate'" >/dev/null
    eventually 5 gates_connected 6
    wait "$HEY_PID"
    HEY_PID=
    # Open all the time: 200, or 503 for what was lost; never "closed".
    [[ $(hey_answers "$BATS_TEST_TMPDIR/hey") == *'[200]'* ]]
    [[ ! $(hey_answers "$BATS_TEST_TMPDIR/hey") =~ \[(403|500)\].*responses ]]
    answers 200 POST /gate/check "$PODINFO"
    daemon_stop
}

@test "kill -9 of the server under load: 503, never another answer, and back by itself" {
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    hey -z 5s -c 20 -m POST -d "$PODINFO" "$DAEMON_URL/gate/check" >"$BATS_TEST_TMPDIR/hey" 3>&- &
    HEY_PID=$!
    pg_kill
    eventually 5 answers 503 POST /gate/check "$PODINFO"
    pg_start
    eventually 15 answers 200 POST /gate/check "$PODINFO"
    wait "$HEY_PID"
    HEY_PID=
    [[ ! $(hey_answers "$BATS_TEST_TMPDIR/hey") =~ \[(403|500)\].*responses ]]
    daemon_stop
}

@test "tables that somebody dropped are made again, closed" {
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    pg_sql 'DROP SCHEMA public CASCADE; CREATE SCHEMA public'
    eventually 10 answers 403 POST /gate/check "$PODINFO"
    eventually 10 answers 202 POST /gate/open "$PODINFO"
    answers 200 POST /gate/check "$PODINFO"
    daemon_stop
}

# standby_begin: a hot standby of the server, on port 5433 of the same directory
standby_begin() {
    pg_as "$PG_BIN/pg_basebackup" -h "$PG_DIR" -U postgres -D "$PG_DIR/standby" -R -X stream -c fast
    pg_as "$PG_BIN/pg_ctl" -w -s -D "$PG_DIR/standby" -l "$PG_DIR/standby.log" \
        -o "-k $PG_DIR -p 5433 -c listen_addresses= -c fsync=off" start 3>&-
}

standby_end() {
    pg_as "$PG_BIN/pg_ctl" -w -s -m immediate -D "$PG_DIR/standby" stop || true
    rm -rf "$PG_DIR/standby"
}

@test "a standby is refused, until it is the primary" {
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    daemon_stop
    standby_begin
    daemon_start "$GATE" --database "$PG_DSN port=5433" --anybody
    eventually 10 grep -q 'the server is a standby' "$DAEMON_LOG"
    answers 503 POST /gate/check "$PODINFO"
    grep -q 'standby' "$BATS_TEST_TMPDIR/body"
    answers 503 GET /readyz
    pg_as "$PG_BIN/pg_ctl" -w -s -D "$PG_DIR/standby" promote
    eventually 10 answers 200 POST /gate/check "$PODINFO"
    daemon_stop
}

@test "of a standby and a primary it finds the primary" {
    standby_begin
    daemon_start "$GATE" --database "host=$PG_DIR,$PG_DIR port=5433,5432 user=postgres dbname=postgres" --anybody
    eventually 10 answers 403 POST /gate/check "$PODINFO"
    eventually 10 answers 202 POST /gate/open "$PODINFO"
    daemon_stop
}

@test "a server that becomes read-only is left, and taken again" {
    gate_start
    pg_sql 'ALTER SYSTEM SET default_transaction_read_only = on'
    pg_sql 'SELECT pg_reload_conf()' >/dev/null
    eventually 10 answers 503 POST /gate/open "$PODINFO"
    eventually 10 grep -q 'it is read-only' "$DAEMON_LOG"
    pg_sql 'SET default_transaction_read_only = off; ALTER SYSTEM RESET default_transaction_read_only' 2>/dev/null ||
        PGOPTIONS='-c default_transaction_read_only=off' pg_sql 'ALTER SYSTEM RESET default_transaction_read_only'
    pg_sql 'SELECT pg_reload_conf()' >/dev/null
    eventually 10 answers 202 POST /gate/open "$PODINFO"
    daemon_stop
}

@test "a role without the right to create tables can use what is there" {
    gate_start
    daemon_stop
    pg_sql 'REVOKE CREATE ON SCHEMA public FROM public; CREATE ROLE small LOGIN;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO small;
        GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO small; GRANT USAGE ON SCHEMA public TO small'
    gate_start "host=$PG_DIR user=small dbname=postgres"
    answers 202 POST /gate/open "$PODINFO"
    answers 200 POST /gate/check "$PODINFO"
    daemon_stop
    pg_sql 'DROP OWNED BY small; DROP ROLE small'
}

@test "replicas that start at once make the tables once" {
    local pids=() i
    for i in 1 2 3 4; do
        "$GATE" --database "$PG_DSN" --anybody --address 127.0.0.1 --port 0 2>"$BATS_TEST_TMPDIR/log.$i" 3>&- &
        pids+=($!)
    done
    eventually 10 gates_connected 24
    for i in 1 2 3 4; do
        eventually 10 grep -q database_ready "$BATS_TEST_TMPDIR/log.$i"
        refute grep -q '"level":"error"' "$BATS_TEST_TMPDIR/log.$i"
    done
    kill "${pids[@]}"
    wait "${pids[@]}"
    [ "$(pg_sql 'SELECT count(*) = max(version) FROM flagger_gate_schema')" = t ]
}

@test "a newer schema is used while it says that it serves this program" {
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    daemon_stop
    pg_sql 'ALTER TABLE flagger_gate_schema ADD COLUMN IF NOT EXISTS oldest integer'
    pg_sql 'INSERT INTO flagger_gate_schema (version, oldest) VALUES (90, 1)'
    gate_start
    answers 200 POST /gate/check "$PODINFO"
    daemon_stop
    pg_sql 'UPDATE flagger_gate_schema SET oldest = 90 WHERE version = 90'
    daemon_start "$GATE" --database "$PG_DSN" --anybody
    eventually 10 grep -q 'use a newer flagger-gate' "$DAEMON_LOG"
    answers 503 POST /gate/check "$PODINFO"
    daemon_stop
}

@test "a shutdown lets an answer come that is on its way" {
    gate_start
    answers 202 POST /gate/open "$PODINFO"
    hold "SELECT * FROM flagger_gates FOR UPDATE"
    curl -s -o /dev/null -w '%{http_code}' -d "$PODINFO" "$DAEMON_URL/gate/close" >"$BATS_TEST_TMPDIR/code" 3>&- &
    local closing=$!
    eventually 5 blocked
    kill -TERM "$DAEMON_PID"
    release
    wait "$closing"
    [ "$(cat "$BATS_TEST_TMPDIR/code")" = 202 ]
    eventually 10 daemon_gone
    wait "$DAEMON_PID"
}

blocked() { [ "$(pg_sql "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")" -gt 0 ]; }

@test "TLS to the server: verify-full takes the right name and CA, and nothing else" {
    local port
    port=$(pg_free_port)
    pg_certificate right localhost
    pg_certificate wrong localhost
    pg_certificate other db.invalid
    pg_stop
    pg_start "-c listen_addresses=127.0.0.1 -p $port -c ssl=on -c ssl_cert_file=$PG_DIR/right/server.crt -c ssl_key_file=$PG_DIR/right/server.key"
    local to="host=localhost port=$port user=postgres dbname=postgres sslmode=verify-full"
    gate_start "$to sslrootcert=$PG_DIR/right/ca.crt"
    answers 202 POST /gate/open "$PODINFO"
    answers 200 POST /gate/check "$PODINFO"
    [ "$(psql -h "$PG_DIR" -p "$port" -U postgres -Atqc "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE ssl AND application_name = 'flagger-gate'" postgres)" -eq 6 ]
    # An answer of many TLS records comes whole.
    psql -h "$PG_DIR" -p "$port" -U postgres -Atqc "INSERT INTO flagger_gates (kind, namespace, name, open)
        SELECT 'gate', 'test', repeat('long', 40) || n, true FROM generate_series(1, 900) n" postgres
    answers 200 GET '/v1/gates?limit=500'
    [ "$(gojq '.gates | length' "$BATS_TEST_TMPDIR/body")" -eq 500 ]
    daemon_stop
    daemon_start "$GATE" --database "$to sslrootcert=$PG_DIR/wrong/ca.crt" --anybody
    eventually 10 grep -q 'certificate verify failed' "$DAEMON_LOG"
    answers 503 POST /gate/check "$PODINFO"
    daemon_stop
    pg_as "$PG_BIN/pg_ctl" -w -s -m fast -D "$PG_DIR/data" stop
    pg_start "-c listen_addresses=127.0.0.1 -p $port -c ssl=on -c ssl_cert_file=$PG_DIR/other/server.crt -c ssl_key_file=$PG_DIR/other/server.key"
    daemon_start "$GATE" --database "$to sslrootcert=$PG_DIR/other/ca.crt" --anybody
    eventually 10 grep -q 'does not match host name' "$DAEMON_LOG"
    answers 503 POST /gate/check "$PODINFO"
    daemon_stop
    pg_stop
    pg_start
}

# all_since EPOCH: six connections of the gate are there, all of them younger
all_since() {
    [ "$(pg_sql "SELECT count(*) FILTER (WHERE backend_start > to_timestamp($1)), count(*) FROM pg_stat_activity
        WHERE application_name = 'flagger-gate'")" = '6|6' ]
}

@test "a password is changed in its file, and no request is lost" {
    local file=$BATS_TEST_TMPDIR/dsn now
    pg_sql "CREATE ROLE rotated LOGIN PASSWORD 'first'; GRANT ALL ON SCHEMA public TO rotated"
    cp "$PG_DIR/data/pg_hba.conf" "$BATS_TEST_TMPDIR/hba"
    { echo 'local all rotated scram-sha-256' && cat "$BATS_TEST_TMPDIR/hba"; } >"$PG_DIR/data/pg_hba.conf"
    pg_sql 'SELECT pg_reload_conf()' >/dev/null
    echo "host=$PG_DIR user=rotated dbname=postgres password=first" >"$file"
    daemon_start "$GATE" --database-file "$file" --anybody
    eventually 10 answers 202 POST /gate/open "$PODINFO"
    eventually 5 gates_connected 6
    hey -z 14s -q 50 -c 10 -m POST -d "$PODINFO" "$DAEMON_URL/gate/check" >"$BATS_TEST_TMPDIR/hey" 3>&- &
    HEY_PID=$!
    pg_sql "ALTER ROLE rotated PASSWORD 'second'"
    now=$(date +%s.%N)
    echo "host=$PG_DIR user=rotated dbname=postgres password=second" >"$file.new"
    mv "$file.new" "$file"
    eventually 13 all_since "$now"
    wait "$HEY_PID"
    HEY_PID=
    [[ $(hey_answers "$BATS_TEST_TMPDIR/hey") =~ ^\ *\[200\][^[]*$ ]]
    # A connection string that is wrong, or none: what is connected stays.
    echo "host=$PG_DIR user=rotated dbname=postgres password=third" >"$file"
    eventually 15 grep -q 'password authentication failed' "$DAEMON_LOG"
    answers 200 POST /gate/check "$PODINFO"
    echo "no connection string" >"$file"
    eventually 15 grep -q database_file_unread "$DAEMON_LOG"
    answers 200 POST /gate/check "$PODINFO"
    answers 200 GET /readyz
    refute grep -qE 'first|second|third' "$DAEMON_LOG"
    daemon_stop
    cp "$BATS_TEST_TMPDIR/hba" "$PG_DIR/data/pg_hba.conf"
    pg_sql 'SELECT pg_reload_conf(); DROP OWNED BY rotated; DROP ROLE rotated' >/dev/null
}

@test "a file without a connection string ends it with one sentence" {
    run "$GATE" --database-file "$BATS_TEST_TMPDIR/none"
    [ "$status" -eq 2 ]
    [[ $output == *"$BATS_TEST_TMPDIR/none"* ]]
    echo 'gate:hush@db.test/gates' >"$BATS_TEST_TMPDIR/dsn"
    run "$GATE" --database-file "$BATS_TEST_TMPDIR/dsn"
    [ "$status" -eq 2 ]
    [[ $output == *"connection string"* ]]
    [[ $output != *hush* ]]
}

@test "a database that cannot hold every name is refused with a sentence" {
    pg_sql 'CREATE DATABASE narrow TEMPLATE template0 ENCODING LATIN1 LC_COLLATE "C" LC_CTYPE "C"'
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "host=$PG_DIR user=postgres dbname=narrow" --anybody
    eventually 10 grep -q 'its encoding is LATIN1, which cannot hold every name: expected UTF8' "$DAEMON_LOG"
    answers 503 POST /gate/check "$PODINFO"
    daemon_stop
    pg_sql 'DROP DATABASE narrow'
}

@test "a password in the arguments is warned of, in the environment it is not" {
    local dsn="$PG_DSN password=hush"
    daemon_start "$GATE" --database "$dsn" --anybody
    grep -q '"event":"password_in_arguments".*DATABASE_URL.*--database-file' "$DAEMON_LOG"
    refute grep -q hush "$DAEMON_LOG"
    eventually 10 answers 202 POST /gate/open "$PODINFO"
    daemon_stop
    DATABASE_URL=$dsn daemon_start "$GATE" --anybody
    eventually 10 answers 200 POST /gate/check "$PODINFO"
    refute grep -q password_in_arguments "$DAEMON_LOG"
    refute grep -q hush <(tr '\0' ' ' <"/proc/$DAEMON_PID/cmdline")
    daemon_stop
    run "$GATE" verify --database "$dsn"
    [ "$status" -eq 0 ]
    [[ $output == *'every user of this machine can read the password'* ]]
    DATABASE_URL=$dsn run "$GATE" verify
    [ "$status" -eq 0 ]
    [[ $output != *password* ]]
}
