# Many approvals at the same moment, over two gates on one PostgreSQL: what they change, they change once.

load ../lib/postgres_file

setup() {
    load ../lib/daemon
    GATE=$FLAGGER_BUILD/flagger-gate
    work=$BATS_TEST_TMPDIR
    for name in ann bob cat; do echo "this-is-the-token-of-$name admin $name"; done >"$work/tokens"
    pids=() URLS=()
    for _ in 1 2; do
        daemon_start "$GATE" --database "$PG_DSN" --token-file "$work/tokens"
        pids+=("$DAEMON_PID")
        URLS+=("$DAEMON_URL")
        eventually 10 curl -sf -o /dev/null "$DAEMON_URL/readyz"
    done
    listen
}

teardown() {
    for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
    pg_empty || true
}

# A session that hears what others are told.
listen() {
    mkfifo "$work/sql"
    psql -h "$PG_DIR" -U postgres -AtqX postgres <"$work/sql" >"$work/heard" 2>&1 3>&- &
    pids+=($!)
    exec {listener}>"$work/sql"
    printf 'LISTEN flagger_gate;\n\\echo listening\n' >&"$listener"
    eventually 10 grep -q listening "$work/heard"
}

# Notifications of changes; psql tells them after a query.
heard() {
    echo 'SELECT 1; \echo asked' >&"$listener"
    eventually 10 grep -q asked "$work/heard"
    grep -c 'notification "flagger_gate" with payload "[0-9]*"' "$work/heard"
}

# post N PATH BODY NAME...: N requests at once, in turn to each gate and by each name; bodies in answer.*, codes in codes
post() {
    local n=$1 path=$2 body=$3 i
    shift 3
    local -a names=("$@")
    for ((i = 0; i < n; i++)); do
        [ "$i" -eq 0 ] || echo next
        printf 'url = "%s%s"\nheader = "Authorization: Bearer this-is-the-token-of-%s"\nheader = "Content-Type: application/json"\n' \
            "${URLS[$((i % 2))]}" "$path" "${names[$((i / 2 % ${#names[@]}))]}"
        printf 'data-raw = "%s"\noutput = "%s/answer.%d"\nwrite-out = "%%{http_code}\\n"\nmax-time = 30\n' "${body//\"/\\\"}" "$work" "$i"
    done >"$work/curl"
    curl -s --parallel --parallel-immediate --parallel-max "$n" -K "$work/curl" >"$work/codes"
    [ "$(grep -c '^200$' "$work/codes")" -eq "$n" ] || { sort "$work/codes" | uniq -c && head -c 300 "$work/answer.0" && return 1; }
}

answers_with() { cat "$work"/answer.* | gojq -c "$1" | grep -c . || true; }
rows() { pg_sql "SELECT count(*) FROM flagger_gate_history WHERE entry ->> 'action' = '$1'"; }
approvers() { pg_sql "SELECT string_agg(DISTINCT entry ->> 'who', ' ') FROM flagger_gate_history WHERE entry ->> 'action' = 'approve'"; }

# check CODE [REVISION]: of both gates
check() {
    for DAEMON_URL in "${URLS[@]}"; do
        [ "$(curl -s -m 10 -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer this-is-the-token-of-ann' \
            -d "{\"name\": \"podinfo\", \"namespace\": \"test\", \"checksum\": \"${2:-r1}\"}" "$DAEMON_URL/gate/check")" = "$1" ]
    done
}

# quorum N NAMES
quorum() {
    curl -sf -m 10 -X PUT -H 'Authorization: Bearer this-is-the-token-of-ann' -H 'Content-Type: application/json' \
        -d "{\"quorum\": $1, \"approvers\": $2}" "${URLS[0]}/v1/gates/test/podinfo/policy"
}

@test "100 approvals at once over two gates are one change, and all are answered" {
    check 403
    post 100 /v1/gates/test/podinfo/approve '{"revision": "r1"}' ann bob cat
    [ "$(answers_with 'select(.changed)')" -eq 1 ]
    [ "$(answers_with 'select(.open)')" -eq 100 ]
    [ "$(rows open)" -eq 1 ]
    [ "$(pg_sql 'SELECT count(*) FROM flagger_gate_history')" -eq 1 ]
    [ "$(heard)" -eq 1 ]
    check 200 r1
    check 403 r2
}

@test "100 closes at once are one change" {
    post 2 /v1/gates/test/podinfo/open '{}' ann
    post 100 /v1/gates/test/podinfo/close '{}' ann bob cat
    [ "$(answers_with 'select(.changed)')" -eq 1 ]
    [ "$(rows close)" -eq 1 ]
    check 403
}

@test "with a quorum of 2 of 3 people, 100 approvals at once open once, by two of them" {
    quorum 2 '["ann", "bob", "cat"]'
    check 403
    post 100 /v1/gates/test/podinfo/approve '{"revision": "r1"}' ann bob cat
    [ "$(rows approve)" -eq 2 ]
    [ "$(rows open)" -eq 1 ]
    [ "$(answers_with 'select(.changed)')" -eq 2 ]
    [ "$(approvers | wc -w)" -eq 2 ]
    [ "$(pg_sql "SELECT json_array_length(entry -> 'approvers') FROM flagger_gate_history WHERE entry ->> 'action' = 'open'")" -eq 2 ]
    # the policy, two approvals, the opening
    [ "$(heard)" -eq 4 ]
    check 200 r1
    check 403 r2
}

@test "one person's 100 approvals are one, and do not make a quorum" {
    quorum 2 '["ann", "bob", "cat"]'
    post 100 /v1/gates/test/podinfo/approve '{"revision": "r1"}' ann
    [ "$(rows approve)" -eq 1 ]
    [ "$(rows open)" -eq 0 ]
    [ "$(answers_with 'select(.open)')" -eq 0 ]
    check 403 r1
    post 1 /v1/gates/test/podinfo/approve '{"revision": "r1"}' bob
    [ "$(rows open)" -eq 1 ]
    check 200 r1
}
