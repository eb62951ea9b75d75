# `flagger-gate verify`: whatever is changed in the history behind the gate's back, or in the gates against it, is found
# with its place.

# Every kind of change that a gate makes, one a line.
changes() {
    cat <<'END'
SELECT flagger_gate_open('gate', 'test', 'podinfo', '', '', NULL, 'webhook', false, 'webhook', '')
SELECT flagger_gate_close('gate', 'test', 'podinfo', '', 'webhook', false, 'webhook', '')
SELECT flagger_gate_open('gate', 'test', 'early', 'start', 'r1', now() + interval '1 hour', 'ann', true, 'api', 'güt, "really"')
SELECT flagger_gate_open('gate', 'test', 'early', 'start', 'r1', now() + interval '2 hours', 'bob', true, 'api', 'longer')
SELECT flagger_gate_open('gate', 'test', 'podinfo', 'promote', '', now() + interval '1 millisecond', 'ann', true, 'api', 'expired by now')
SELECT flagger_gate_open('gate', 'test', 'podinfo', 'more', '', NULL, 'ann', true, 'api', '')
SELECT flagger_gate_close('gate', 'test', 'podinfo', 'more', 'ann', true, 'api', 'not yet')
SELECT flagger_gate_policy('gate', 'test', 'podinfo', 2, '{ann,bob,eve}', NULL, NULL, 'ann', true, 'api', 'two of three')
SELECT flagger_gate_open('gate', 'test', 'podinfo', 'promote', 'r2', NULL, 'ann', true, 'api', '')
SELECT flagger_gate_open('gate', 'test', 'podinfo', 'promote', 'r2', now() + interval '1 day', 'bob', true, 'api', '')
SELECT flagger_gate_open('gate', 'test', 'podinfo', 'promote', 'r3', NULL, 'eve', true, 'api', 'the first of two')
SELECT flagger_gate_policy('rollback', 'test', 'podinfo', 1, '{ann}', NULL, NULL, 'ann', true, 'api', '')
SELECT flagger_gate_policy('rollback', 'test', 'podinfo', NULL, NULL, NULL, NULL, 'ann', true, 'api', '')
SELECT flagger_gate_open('rollback', 'test', 'podinfo', '', 'r1', NULL, 'ann', true, 'api', 'back')
SELECT flagger_gate_freeze('', '', NULL, now() + interval '3 days', NULL, NULL, NULL, 'ann', true, 'api', 'holiday')
SELECT flagger_gate_freeze('test', 'podinfo', NULL, NULL, 6720, 480, 'Europe/Berlin', 'ann', true, 'api', 'weekend')
SELECT flagger_gate_freeze('prod', '', NULL, NULL, NULL, NULL, NULL, 'ann', true, 'api', '')
SELECT flagger_gate_unfreeze(3, 'ann', true, 'api', '')
SELECT flagger_gate_link('l1', now() + interval '1 hour', 'open', 'gate', 'prod', 'podinfo', '', 'r9', NULL, 'ann', true, 'link', 'from the chat')
SELECT flagger_gate_policy('gate', 'prod', 'slow', 1, '{}', 1, 'open', 'ann', true, 'api', '')
SELECT flagger_gate_wait('prod', 'slow', 'start', 'Waiting', 'r5')
SELECT flagger_gate_deadline('prod', 'slow', 'start', 'r5')
SELECT flagger_gate_policy('gate', 'prod', 'slower', 1, '{}', 1, 'rollback', 'ann', true, 'api', '')
SELECT flagger_gate_wait('prod', 'slower', 'start', 'Waiting', 'r6')
SELECT flagger_gate_deadline('prod', 'slower', 'start', 'r6')
INSERT INTO flagger_gates VALUES ('gate', 'prod', 'old', true)
UPDATE flagger_gates SET open = true WHERE kind = 'gate' AND namespace = 'stage'
UPDATE flagger_gates SET open = false WHERE kind = 'gate' AND namespace = 'stage'
END
}

setup_file() {
    load ../lib/daemon
    load ../lib/postgres
    pg_begin
    export PG_DIR PG_DSN
    # A database of version 1, with a gate that is open.
    pg_sql "CREATE TABLE flagger_gate_schema (version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now());
        INSERT INTO flagger_gate_schema VALUES (1);
        CREATE TABLE flagger_gates (kind text NOT NULL, namespace text NOT NULL, name text NOT NULL,
            open boolean NOT NULL, changed timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (kind, namespace, name));
        INSERT INTO flagger_gates VALUES ('gate', 'stage', 'podinfo', true)"
    BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --anybody
    eventually 10 answers 200 GET /readyz
    daemon_stop
    while read -r change; do pg_sql "$change" >/dev/null; done < <(changes)
    for table in flagger_gates flagger_gate_{history,head,passes,votes,policies,freezes}; do
        pg_sql "CREATE TABLE kept_$table AS SELECT * FROM $table"
    done
}

teardown_file() {
    load ../lib/postgres
    pg_end
}

setup() {
    load ../lib/daemon
    load ../lib/postgres
    tamper ''
}

teardown() {
    local pid
    for pid in "${DAEMON_PID:-}" "${others[@]}"; do
        [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
    done
}

# tamper SQL: makes everything as it was, and then does this, as the owner of the database and without the triggers
tamper() {
    pg_sql "SET session_replication_role = replica;
        DELETE FROM flagger_gate_history; DELETE FROM flagger_gate_head; DELETE FROM flagger_gates;
        DELETE FROM flagger_gate_passes; DELETE FROM flagger_gate_votes; DELETE FROM flagger_gate_policies;
        DELETE FROM flagger_gate_freezes;
        INSERT INTO flagger_gate_history (seq, entry, hash) SELECT seq, entry, hash FROM kept_flagger_gate_history;
        INSERT INTO flagger_gate_head SELECT * FROM kept_flagger_gate_head;
        INSERT INTO flagger_gate_passes SELECT * FROM kept_flagger_gate_passes;
        INSERT INTO flagger_gate_votes SELECT * FROM kept_flagger_gate_votes;
        INSERT INTO flagger_gate_policies SELECT * FROM kept_flagger_gate_policies;
        INSERT INTO flagger_gate_freezes OVERRIDING SYSTEM VALUE SELECT * FROM kept_flagger_gate_freezes;
        INSERT INTO flagger_gates SELECT * FROM kept_flagger_gates;
        $1"
}

verify() { "$FLAGGER_BUILD/flagger-gate" verify --database "$PG_DSN" "$@"; }

# found SQL WORDS...: after this, verify exits with 1, and one of its sentences has all the words
found() {
    local sql=$1 status=0 word
    shift
    tamper "$sql" >/dev/null
    verify >"$BATS_TEST_TMPDIR/found" 2>&1 || status=$?
    cp "$BATS_TEST_TMPDIR/found" "$BATS_TEST_TMPDIR/left"
    for word in "$@"; do
        grep -F -- "$word" "$BATS_TEST_TMPDIR/left" >"$BATS_TEST_TMPDIR/more" || true
        mv "$BATS_TEST_TMPDIR/more" "$BATS_TEST_TMPDIR/left"
    done
    [ "$status" -eq 1 ] && [ -s "$BATS_TEST_TMPDIR/left" ] && return
    echo "after $sql, verify exited with $status; expected 1 and: $*" && cat "$BATS_TEST_TMPDIR/found" && return 1
}

head_of() { pg_sql "SELECT seq || ':' || hash FROM flagger_gate_head"; }

@test "a history of every kind of change is whole, and its head is told" {
    run verify
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == "whole: 27 entries; the gates have the 7 passes, 1 approvals, 3 policies and 2 freezes that these say"* ]]
    [[ $output == *"head $(head_of)" ]]
    pg_sql "SELECT DISTINCT entry ->> 'action' FROM flagger_gate_history ORDER BY 1" >"$BATS_TEST_TMPDIR/actions"
    [ "$(tr '\n' ' ' <"$BATS_TEST_TMPDIR/actions")" = 'approve close freeze open policy unfreeze ' ]
    verify --expect "$(head_of)"
    verify --expect "1:$(pg_sql 'SELECT hash FROM flagger_gate_history WHERE seq = 1')"
    verify --expect "0:$(printf '%064d' 0)"
}

@test "one changed byte of any entry is found, in a name and in a blank" {
    for seq in $(pg_sql 'SELECT seq FROM kept_flagger_gate_history'); do
        found "UPDATE flagger_gate_history SET entry = overlay(entry::text PLACING 'Z'
            FROM position('\"who\": \"' IN entry::text) + 8)::json WHERE seq = $seq" "entry $seq (" 'its text or its place'
        found "UPDATE flagger_gate_history SET entry = overlay(entry::text PLACING chr(9)
            FROM position(': ' IN entry::text) + 1 FOR 1)::json WHERE seq = $seq" "entry $seq (" 'its text or its place'
    done
}

@test "one changed byte of any hash or number is found" {
    for seq in $(pg_sql 'SELECT seq FROM kept_flagger_gate_history'); do
        found "UPDATE flagger_gate_history SET hash = overlay(hash PLACING CASE substr(hash, $seq, 1) WHEN '0' THEN '1' ELSE '0' END
            FROM $seq) WHERE seq = $seq" "entry $seq (" 'its hash was changed'
        found "UPDATE flagger_gate_history SET seq = seq + 100 WHERE seq = $seq" "entry $((seq + 100)) (" "says $seq"
        found "UPDATE flagger_gate_history SET seq = -seq WHERE seq = $seq" "entry -$seq (" 'no entry has such a number'
    done
    found "UPDATE flagger_gate_head SET hash = overlay(hash PLACING CASE left(hash, 1) WHEN '0' THEN '1' ELSE '0' END FROM 1)" \
        'entry 27:' 'flagger_gate_head has another hash'
    found 'UPDATE flagger_gate_head SET seq = seq + 1' 'entry 28:' 'cut off'
    found 'UPDATE flagger_gate_head SET seq = seq - 1' 'entry 27:' 'set back'
    found 'DELETE FROM flagger_gate_head' 'flagger_gate_head: it is empty'
}

@test "a row that is removed, put in or swapped is found" {
    for seq in $(pg_sql 'SELECT seq FROM kept_flagger_gate_history WHERE seq < 27'); do
        found "DELETE FROM flagger_gate_history WHERE seq = $seq" "entry $seq: missing"
        found "WITH gone AS (DELETE FROM flagger_gate_history WHERE seq = $seq RETURNING *)
            UPDATE flagger_gate_history h SET seq = $seq FROM gone WHERE h.seq = $seq + 1" "entry $((seq + 1)): "
        found "UPDATE flagger_gate_history a SET entry = b.entry FROM kept_flagger_gate_history b
            WHERE a.seq IN ($seq, $seq + 1) AND b.seq = 2 * $seq + 1 - a.seq" "entry $seq (" "\`seq\` says $((seq + 1))"
        found "UPDATE flagger_gate_history a SET entry = b.entry, hash = b.hash FROM kept_flagger_gate_history b
            WHERE a.seq IN ($seq, $seq + 1) AND b.seq = 2 * $seq + 1 - a.seq" "entry $seq (" "\`seq\` says $((seq + 1))"
    done
    found 'DELETE FROM flagger_gate_history WHERE seq = 27' 'entry 27: the end was cut off'
    found 'DELETE FROM flagger_gate_history' 'entries 1 to 27: the end was cut off'
    # with a hash that is right
    found "INSERT INTO flagger_gate_history SELECT 28, '{\"seq\": 28}', encode(sha256(convert_to(hash || E'\n{\"seq\": 28}', 'UTF8')), 'hex')
        FROM kept_flagger_gate_head" 'entry 28: added'
    found "INSERT INTO flagger_gate_history SELECT 28, entry, hash FROM kept_flagger_gate_history WHERE seq = 3" \
        'entry 28 (' 'says 3'
    # who cuts the end off and sets the head back, too, leaves what the entries had done
    found 'DELETE FROM flagger_gate_history WHERE seq > 20;
        UPDATE flagger_gate_head SET (seq, hash) = (SELECT seq, hash FROM kept_flagger_gate_history WHERE seq = 20)' \
        'pass of gate old.prod for every hook and every revision: it is there, but the history says that it is not'
}

@test "the columns by which entries are found are theirs" {
    psql -q -h "$PG_DIR" -U postgres -c 'CREATE DATABASE columns TEMPLATE postgres' template1
    local dsn="host=$PG_DIR user=postgres dbname=columns"
    psql -q -h "$PG_DIR" -U postgres -c "ALTER TABLE flagger_gate_history ALTER namespace DROP EXPRESSION, ALTER name DROP EXPRESSION;
        SET session_replication_role = replica;
        UPDATE flagger_gate_history SET name = 'hidden' WHERE seq = 3;
        UPDATE flagger_gate_history SET namespace = NULL WHERE seq = 5" columns
    run "$FLAGGER_BUILD/flagger-gate" verify --database "$dsn"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"entry 3 ("*"): its column name says hidden, the entry podinfo"* ]]
    [[ $output == *"entry 5 ("*"): its column namespace says nothing, the entry test"* ]]
}

@test "a history that was written anew as a whole is found by an earlier head" {
    local before at10
    before=$(head_of)
    at10=10:$(pg_sql 'SELECT hash FROM flagger_gate_history WHERE seq = 10')
    tamper "DO \$\$ DECLARE r record; h text := repeat('0', 64); e text; BEGIN
        FOR r IN SELECT * FROM kept_flagger_gate_history ORDER BY seq LOOP
            e := replace(r.entry::text, 'not yet', 'go on');
            h := encode(sha256(convert_to(h || E'\n' || e, 'UTF8')), 'hex');
            UPDATE flagger_gate_history SET entry = e::json, hash = h WHERE seq = r.seq;
        END LOOP;
        UPDATE flagger_gate_head SET hash = h;
    END \$\$"
    run verify
    echo "$output"
    [ "$status" -eq 0 ]
    run verify --expect "$before"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"entry 27 ("*"the history up to here was rewritten"* ]]
    run verify --expect "$at10"
    [ "$status" -eq 1 ]
    [[ $output == *"entry 10 ("*"the history up to here was rewritten"* ]]
    pg_sql 'SET session_replication_role = replica; DELETE FROM flagger_gate_history WHERE seq > 20;
        UPDATE flagger_gate_head SET (seq, hash) = (SELECT seq, hash FROM flagger_gate_history WHERE seq = 20)'
    run verify --expect "$before"
    [ "$status" -eq 1 ]
    [[ $output == *"entry 27: --expect knows it, the history ends with entry 20"* ]]
}

@test "the gate's log and its answers have heads of the history" {
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --anybody
    eventually 10 answers 200 GET /readyz
    answers 202 POST /gate/open '{"name": "new", "namespace": "test"}'
    curl -s -H 'Content-Type: application/json' -d '{}' "$DAEMON_URL/v1/gates/test/new/close" >"$BATS_TEST_TMPDIR/closed"
    verify --expect "$(gojq -r '"\(.seq):\(.hash)"' "$BATS_TEST_TMPDIR/closed")"
    [ "$(gojq -r 'select(.event == "gate_changed") | "\(.seq):\(.hash)"' "$DAEMON_LOG")" = \
        "$(pg_sql "SELECT seq || ':' || hash FROM flagger_gate_history WHERE seq > 27 ORDER BY seq")" ]
    daemon_stop
}

@test "what no entry says of a gate is found, and what an entry says and is not so" {
    found "INSERT INTO flagger_gate_passes VALUES ('gate', 'prod', 'podinfo', 'promote', '', NULL, 'ann', '')" \
        'pass of gate podinfo.prod for hook promote and every revision: it is there, but the history says that it is not'
    found "DELETE FROM flagger_gate_passes WHERE revision = 'r2'" 'entry 12 (' 'gate podinfo.test)' 'is gone'
    found "UPDATE flagger_gate_passes SET expires = NULL WHERE revision = 'r1' AND kind = 'gate'" \
        'pass of gate early.test for hook start and revision r1: its expires is none, but entry 5 ('
    found "UPDATE flagger_gate_passes SET expires = now() - interval '1 hour' WHERE revision = 'r2'" 'entry 12 (' 'is gone'
    found "UPDATE flagger_gate_passes SET by_whom = 'bob' WHERE kind = 'rollback' AND revision = 'r1'" \
        'pass of rollback podinfo.test' 'its who is "bob", but entry' 'says "ann"'
    found "UPDATE flagger_gate_passes SET expires = now() + interval '1 day' WHERE expires < now()" \
        'pass of gate podinfo.test for hook promote and every revision: its expires is'
    found "INSERT INTO flagger_gate_votes VALUES ('gate', 'test', 'podinfo', 'promote', 'r3', 'bob', NULL, '')" \
        'approval of gate podinfo.test for hook promote and revision r3 by bob: it is there'
    found 'DELETE FROM flagger_gate_votes' 'entry 13 (' 'approval' 'by eve is gone'
    found "UPDATE flagger_gate_votes SET at = at + interval '1 hour'" 'by eve: its time is'
    found "UPDATE flagger_gate_policies SET quorum = 1 WHERE namespace = 'test'" \
        'policy of gate podinfo.test: its quorum is 1, but entry 9 (' 'says 2'
    found "UPDATE flagger_gate_policies SET approvers = '{ann,bob,mallory}' WHERE namespace = 'test'" \
        'policy of gate podinfo.test: its approvers is ["ann","bob","mallory"]'
    found "DELETE FROM flagger_gate_policies WHERE namespace = 'test'" 'entry 9 (' 'policy of gate podinfo.test is gone'
    found 'DELETE FROM flagger_gate_freezes WHERE id = 2; UPDATE flagger_gates SET open = open' 'freeze 2 is gone'
    found "INSERT INTO flagger_gate_freezes (namespace, name, reason, by_whom) VALUES ('x', '', '', 'eve')" \
        'it is there, but the history says that it is not'
    found "UPDATE flagger_gate_freezes SET ends = ends + interval '1 day' WHERE id = 1" 'freeze 1: its until is'
    found "UPDATE flagger_gates SET open = true WHERE kind = 'rollback' AND namespace = 'test'" \
        'rollback podinfo.test: flagger_gates calls it open, which it is not'
}

@test "a used link that would be good again is found" {
    pg_sql "SELECT flagger_gate_link_made('l2', now() + interval '1 hour', 'open', 'gate', 'prod', 'linked', '', '', NULL, '', 'ann', true, '');
        SELECT flagger_gate_link_made('l3', now() + interval '1 hour', 'close', 'gate', 'prod', 'linked', '', '', NULL, '', 'ann', true, '')"
    run verify
    [ "$status" -eq 0 ]
    [[ $output != *note:* ]]
    pg_sql "SELECT flagger_gate_link('l2', now() + interval '1 hour', 'open', 'gate', 'prod', 'linked', '', '', NULL, 'ann', true, 'link', '')"
    verify
    pg_sql "DELETE FROM flagger_gate_links WHERE id = 'l2'"
    run verify
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"entry 28 ("*"gate linked.prod): the link was used, and could be used again"* ]]
}

@test "at most twenty sentences are printed, the others are counted" {
    tamper 'UPDATE flagger_gate_history SET hash = left(hash, 40)'
    run verify
    [ "$status" -eq 1 ]
    [ "$(grep -c '^entry ' <<<"$output")" -eq 20 ]
    grep -Eq '^and [0-9]+ more$' <<<"$output"
}

@test "a clock that was set back is told, and is no tampering" {
    tamper "DO \$\$ DECLARE r record; h text := repeat('0', 64); e text; BEGIN
        FOR r IN SELECT * FROM kept_flagger_gate_history ORDER BY seq LOOP
            e := CASE r.seq WHEN 7 THEN regexp_replace(r.entry::text, '\"at\": \"....', '\"at\": \"2001') ELSE r.entry::text END;
            h := encode(sha256(convert_to(h || E'\n' || e, 'UTF8')), 'hex');
            UPDATE flagger_gate_history SET entry = e::json, hash = h WHERE seq = r.seq;
        END LOOP;
        UPDATE flagger_gate_head SET hash = h;
    END \$\$"
    run verify
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"note: entry 7 (2001-"*"is earlier than the one before it"* ]]
}

@test "what cannot be read has an exit status of its own" {
    run "$FLAGGER_BUILD/flagger-gate" verify --database "host=$BATS_TEST_TMPDIR user=postgres"
    [ "$status" -eq 2 ]
    run "$FLAGGER_BUILD/flagger-gate" verify --database "host=$PG_DIR user=postgres dbname=template1"
    echo "$output"
    [ "$status" -eq 2 ]
    [[ $output == *'relation "flagger_gate_head" does not exist'* ]]
    run verify --expect 3:abc
    [ "$status" -eq 2 ]
    run verify --nothing
    [ "$status" -eq 2 ]
    "$FLAGGER_BUILD/flagger-gate" verify --help | grep -q 'Exit status'
    printf '%s\n' "$PG_DSN" >"$BATS_TEST_TMPDIR/dsn"
    "$FLAGGER_BUILD/flagger-gate" verify --database-file "$BATS_TEST_TMPDIR/dsn"
}

# write_much URL NAME: opens and closes until the file `enough` is there
write_much() {
    while [ ! -e "$BATS_TEST_TMPDIR/enough" ]; do
        curl -s -m 10 -o "$BATS_TEST_TMPDIR/$2" -d "{\"name\": \"$2\", \"namespace\": \"busy\"}" "$1/gate/open"
        curl -s -m 10 -o "$BATS_TEST_TMPDIR/$2" -d "{\"name\": \"$2\", \"namespace\": \"busy\"}" "$1/gate/close"
        curl -s -m 10 -o "$BATS_TEST_TMPDIR/$2" -d "{\"name\": \"shared\", \"namespace\": \"busy\"}" "$1/rollback/open"
        curl -s -m 10 -o "$BATS_TEST_TMPDIR/$2" -d "{\"name\": \"shared\", \"namespace\": \"busy\"}" "$1/rollback/close"
    done
}

seq_of() { pg_sql 'SELECT seq FROM flagger_gate_head'; }
seq_above() { [ "$(seq_of)" -gt "$1" ]; }

@test "it runs beside three gates that write" {
    others=()
    local gates=() writers=()
    for i in 1 2 3; do
        daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --anybody
        eventually 10 answers 200 GET /readyz
        gates+=("$DAEMON_PID $DAEMON_LOG")
        others+=("$DAEMON_PID")
        write_much "$DAEMON_URL" "writer$i" 3>&- &
        writers+=("$!")
    done
    for _ in 1 2 3 4 5 6 7 8; do
        local before
        before=$(seq_of)
        run verify
        [ "$status" -eq 0 ] || { touch "$BATS_TEST_TMPDIR/enough" && echo "$output" && return 1; }
        eventually 20 seq_above "$before"
    done
    touch "$BATS_TEST_TMPDIR/enough"
    wait "${writers[@]}"
    for gate in "${gates[@]}"; do
        read -r DAEMON_PID DAEMON_LOG <<<"$gate"
        daemon_stop
    done
    verify
}
