# Strangers and people with small rights at the gate.

. test/lib/postgres.bash
on_finish=pg_end
pg_begin
# Carl is the controller, mallory may check as well.
CHECK=check-0123456789abcdef MALLORY=mallory-0123456789abcdef OPERATE=operate-0123456789abcdef ADMIN=admin-0123456789abcdef
gate_tokens() {
    printf '%s check carl\n%s check mallory\n%s operate olga\n%s operate otto\n%s admin adam\n' "$CHECK" "$MALLORY" "$OPERATE" \
        "otto-0123456789abcdef" "$ADMIN" >"$work/tokens"
}

gate_begin() { # OPTION...
    gate_tokens
    daemon_start "$GATE" --database "$PG_DSN" --token-file "$work/tokens" "$@"
    eventually 10 curl -sf -m 5 -o /dev/null "$DAEMON_URL/readyz"
}

gate_end() {
    daemon_stop
    pg_sql 'DROP SCHEMA public CASCADE; CREATE SCHEMA public' >/dev/null 2>&1
}

# Lists of a thousand gates by 200 clients that may only read, while a gate is opened, checked and closed.
try_lists() {
    local i open=0 check=0 close=0 good=/nothing readers slowest=0 began took
    gate_begin
    gates_fill
    list_gates "$CHECK" 200 60 >"$work/hey" 2>&1 &
    readers=$!
    busy() { [ "$(pg_sql "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'flagger-gate' AND state = 'active'")" -gt 0 ]; }
    eventually 5 busy
    for ((i = 0; i < 20; i++)); do
        began=$EPOCHREALTIME
        [ "$(gate_asks "$OPERATE" POST /v1/gates/test/podinfo/open '{}')" != 200 ] || open=$((open + 1))
        [ "$(gate_asks "$CHECK" POST /gate/check '{"name": "podinfo", "namespace": "test"}')" != 200 ] || check=$((check + 1))
        [ "$(gate_asks "$OPERATE" POST /v1/gates/test/podinfo/close '{}')" != 200 ] || close=$((close + 1))
        took=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN {printf "%d", (b - a) * 1000}')
        [ "$took" -le "$slowest" ] || slowest=$took
    done
    kill -0 "$readers" 2>/dev/null && [ "$open $check $close" = '20 20 20' ] && good=ok
    pkill -P "$readers" || true # hey, a child of the shell that is in the background
    kill "$readers" 2>/dev/null || true
    wait "$readers" 2>/dev/null || true
    report '200 clients that list a thousand gates' "of 20 each: $open opened, $check checked, $close closed; slowest three $slowest ms; peak $(peak) KiB" "$good"
    gate_end
}

# Bodies without credentials are refused, and too long ones not read.
try_strangers() {
    gate_begin
    try_stranger /v1/links
    try_stranger /gate/check
    gate_end
}

# waits NAME: the controller asks for a revision until its deadline, three seconds, rolls it back; how long that took, or
# nothing after twelve
waits() {
    local begin=$EPOCHREALTIME body
    body="{\"name\": \"$1\", \"namespace\": \"test\", \"checksum\": \"real\"}"
    asks_until() {
        [ "$(gate_asks "$CHECK" POST /gate/check "$body")" = 403 ] && [ "$(gate_asks "$CHECK" POST /rollback/check "$body")" = 200 ]
    }
    eventually 12 asks_until || return 0
    awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.1f s", b - a}'
}

deadline_gate() {
    [ "$(gate_asks "$ADMIN" PUT "/v1/gates/test/$1/policy" '{"deadline": "3s", "onDeadline": "rollback"}')" = 200 ]
}

# Somebody who may check names another revision of the same gate, again and again.
try_other_revisions() {
    local good=/nothing took other
    gate_begin
    deadline_gate podinfo
    while :; do check_other_revision "$MALLORY"; done &
    other=$!
    took=$(waits podinfo)
    kill "$other" 2>/dev/null || true
    wait "$other" 2>/dev/null || true
    [ -z "$took" ] || good=ok
    report 'a deadline beside checks of other revisions' "of 3 s, came after ${took:-never}" "$good"
    gate_end
}

# Somebody who may check invents names until the table of who waits is full. Most of them by the function that the gate
# calls: a flood of requests takes minutes for that.
try_invented_names() {
    local good=/nothing took
    gate_begin
    deadline_gate podinfo
    pg_sql "SELECT count(flagger_gate_wait('test', 'invented' || n + 1500, '', '', '')) FROM generate_series(1, 10000) n" >/dev/null
    invent_names "$MALLORY" 1500
    took=$(waits podinfo)
    [ -z "$took" ] || good=ok
    report 'a deadline beside 11500 invented names' "of 3 s, came after ${took:-never}" "$good"
    gate_end
}

# What was open before a policy came.
try_old_opening() {
    local good=/nothing code
    gate_begin
    [ "$(gate_asks "$OPERATE" POST /v1/gates/test/podinfo/open '{}')" = 200 ]
    [ "$(gate_asks "$ADMIN" PUT /v1/gates/test/podinfo/policy '{"quorum": 2, "approvers": ["olga", "otto"]}')" = 200 ]
    code=$(gate_asks "$CHECK" POST /gate/check '{"name": "podinfo", "namespace": "test"}')
    [ "$code" != 403 ] || good=ok
    report 'an opening of before a quorum of two' "answers $code" "$good"
    gate_end
}

# A page whose name was made to lead here (DNS rebinding): to the browser it is one site with the gate.
try_rebinding() {
    local good=/nothing codes
    gate_begin
    daemon_stop
    daemon_start "$GATE" --database "$PG_DSN" --anybody
    eventually 10 curl -sf -m 5 -o /dev/null "$DAEMON_URL/readyz"
    codes=$(rebind)
    [ "$codes" != '421 421' ] || good=ok
    report 'a page whose name leads to the gate' "opening and reading answer $codes" "$good"
    gate_end
}

tokens_read() { [ "$(grep -c '"event":"tokens_read"' "$DAEMON_LOG")" -ge "$1" ]; }

# A link, and a stream of events, of somebody whose row is taken out of the token file.
try_revoked() {
    local good=/nothing url code followed
    printf '%064d\n' 1 >"$work/keys"
    gate_begin --link-key-file "$work/keys"
    [ "$(gate_asks "$OPERATE" POST /v1/links '{"namespace": "test", "name": "podinfo", "action": "open"}')" = 200 ]
    url=$(gojq -r .url "$work/body")
    curl -s -N -m 60 -H "Authorization: Bearer $OPERATE" "$DAEMON_URL/v1/events" >"$work/events" &
    eventually 5 grep -q 'event: database' "$work/events"
    grep -v olga "$work/tokens" >"$work/tokens.new"
    mv "$work/tokens.new" "$work/tokens"
    eventually 15 tokens_read 1
    code=$(gate_asks '' POST "/links/${url##*/}")
    [ "$(gate_asks "$ADMIN" POST /v1/gates/test/other/open '{}')" = 200 ]
    eventually 20 eval '! curl -s "$DAEMON_URL/metrics" | grep -q "^flagger_gate_event_clients [1-9]"' || true
    followed=$(grep -c 'event: change' "$work/events" || true)
    [ "$code $followed" != '403 0' ] || good=ok
    report 'a link and a stream whose token is gone' "the link answers $code, $followed events came" "$good"
    gate_end
}

# A token of one namespace, at the gates of another.
try_other_namespace() {
    local good=/nothing bounded=bounded-0123456789abcdef codes= path
    gate_begin
    echo "$bounded operate:test bea" >>"$work/tokens"
    eventually 15 tokens_read 1 || true
    [ "$(gate_asks "$bounded" POST /v1/gates/test/podinfo/open '{}')" = 200 ] || codes="own: refused, "
    for path in gate/open gate/check rollback/open; do
        codes+=$(gate_asks "$bounded" POST "/$path" '{"name": "podinfo", "namespace": "prod"}')
    done
    codes+=$(gate_asks "$bounded" POST /v1/gates/prod/podinfo/approve '{"revision": "r1"}')$(gate_asks "$bounded" GET /v1/gates/prod/podinfo)
    [ "$codes" != 403403403403403 ] || good=ok
    report 'a token of one namespace at another one' "its answers: $codes" "$good"
    gate_end
}

# A gate that nobody has told whom to let in, and one with tokens that a tenant's alert asks: the controller's place in the network
# is worth nothing.
try_without_tokens() {
    local good=/nothing status=0 codes=
    timeout 10 "$GATE" --database "$PG_DSN" --address 127.0.0.1 --port 0 >"$work/said" 2>&1 </dev/null || status=$?
    gate_begin
    for path in gate/open rollback/open v1/gates/test/podinfo/approve; do codes+=$(gate_asks '' POST "/$path" '{"name": "podinfo", "namespace": "test"}'); done
    [ "$status $codes" != '2 401401401' ] || ! grep -q 'nothing says who may open gates' "$work/said" || good=ok
    report 'a gate without tokens, a body without one' "it ends with $status; with tokens the answers are $codes" "$good"
    gate_end
}

# false_database OPTION...: what the gate's check answers where the server is not its own, and the passwords that this took
false_database() {
    pg_stop
    : >"$PG_DIR/log"
    pg_start "-c listen_addresses=127.0.0.1 -p $port -c log_connections=on $*"
    DATABASE_URL="host=localhost port=$port user=gate password=hush dbname=postgres sslmode=verify-full sslrootcert=$PG_DIR/right/ca.crt" \
        daemon_start "$GATE" --token-file "$work/tokens"
    eventually 10 grep -q '"event":"database_' "$DAEMON_LOG" || true
    echo "$(gate_asks "$CHECK" POST /gate/check '{"name": "podinfo", "namespace": "test"}')/$(grep -c 'connection authorized: user=gate' "$PG_DIR/log" || true)"
    daemon_stop
}

# A server that a stranger runs in the place of the database, and asks for the password: of another authority, of another name, expired,
# without TLS.
try_false_databases() {
    local port seen good=/nothing name
    port=$(pg_free_port)
    gate_tokens
    pg_sql "CREATE ROLE gate LOGIN SUPERUSER PASSWORD 'hush'"
    cp "$PG_DIR/data/pg_hba.conf" "$work/hba"
    { echo 'host all gate 127.0.0.1/32 password' && echo 'host all gate ::1/128 password' && cat "$work/hba"; } >"$PG_DIR/data/pg_hba.conf"
    pg_certificate right localhost
    pg_certificate wrong localhost
    pg_certificate other db.invalid 2 right
    pg_certificate late localhost -1 right
    seen=$(for name in right wrong other late; do
        false_database "-c ssl=on -c ssl_cert_file=$PG_DIR/$name/server.crt -c ssl_key_file=$PG_DIR/$name/server.key"
    done && false_database -c ssl=off)
    pg_stop
    cp "$work/hba" "$PG_DIR/data/pg_hba.conf"
    pg_start
    pg_sql 'DROP OWNED BY gate CASCADE; DROP ROLE gate; CREATE SCHEMA IF NOT EXISTS public' >/dev/null 2>&1
    seen=$(xargs <<<"$seen")
    [[ ! $seen =~ ^403/[1-9][0-9]*\ 503/0\ 503/0\ 503/0\ 503/0$ ]] || good=ok
    report "a stranger's server in the database's place" "answers and passwords: $seen" "$good"
}

try_without_tokens
try_false_databases
try_lists
try_strangers
try_other_revisions
try_invented_names
try_old_opening
try_rebinding
try_revoked
try_other_namespace
