# The upgrade of the gate's database from every earlier version, while programs of that version go on. A row of the table
# is a version N: schema_N makes the tables as it did, prepare_N prepares the statements it runs as open, close and check
# (parameter: the name of a Canary in the namespace "up"; check gives t or f). They are frozen: copied from what was
# released, never changed with the code. knows_N is what programs of that version know beside open and closed.

load ../lib/postgres_file

setup() {
    load ../lib/daemon
    GATE=$FLAGGER_BUILD/flagger-gate
    work=$BATS_TEST_TMPDIR
    pids=()
}

teardown() {
    touch "$work/stop"
    for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
    pg_empty || true
}

# --- version 1: one table, an open and a close are the same statement

schema_1() {
    cat <<'SQL'
CREATE TABLE flagger_gate_schema (version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now());
CREATE TABLE flagger_gates (
    kind text NOT NULL CHECK (kind IN ('gate', 'rollback')), namespace text NOT NULL, name text NOT NULL,
    open boolean NOT NULL, changed timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (kind, namespace, name));
INSERT INTO flagger_gate_schema (version) VALUES (1);
SQL
}

statement_1() {
    case $1 in
    set) echo "INSERT INTO flagger_gates (kind, namespace, name, open) VALUES ($2, $3, $4, $5) ON CONFLICT (kind, namespace, name) DO UPDATE SET open = excluded.open, changed = now() RETURNING open;" ;;
    get) echo "SELECT open FROM flagger_gates WHERE kind = $2 AND namespace = $3 AND name = $4;" ;;
    esac
}
prepare_1() {
    echo "PREPARE open_or_close AS $(statement_1 set '$1' '$2' '$3' '$4')"
    echo "PREPARE is_open AS $(statement_1 get '$1' '$2' '$3')"
}
open_1() { echo "EXECUTE open_or_close('gate', 'up', '$1', 't');"; }
close_1() { echo "EXECUTE open_or_close('gate', 'up', '$1', 'f');"; }
check_1() { echo "EXECUTE is_open('gate', 'up', '$1');"; }
bench_1() {
    statement_1 set :kind :namespace :name :open
    statement_1 get :kind :namespace :name
}

knows_1=
before_1() { :; }
after_1() { :; }

# --- version 2: functions; who opens and closes says who he is

schema_2() {
    echo "BEGIN; CREATE TABLE flagger_gate_schema (version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now());"
    # a version is never edited once it was released, so this is what programs of version 2 have made
    cat "$BATS_TEST_DIRNAME/../../gate/rules/schema.sql"
    echo "INSERT INTO flagger_gate_schema (version) VALUES (1), (2); COMMIT;"
}

statement_2() {
    case $1 in
    open) echo "SELECT row_to_json(c) FROM (SELECT r.*, flagger_gate_hash(r.seq) AS hash FROM flagger_gate_open($2, $3, $4, $5, $6, coalesce($7, now() + $8::bigint * interval '1 millisecond'), $9, ${10}, ${11}, ${12}) r) c;" ;;
    close) echo "SELECT row_to_json(c) FROM (SELECT r.*, flagger_gate_hash(r.seq) AS hash FROM flagger_gate_close($2, $3, $4, $5, $6, $7, $8, $9) r) c;" ;;
    check) echo "SELECT * FROM flagger_gate_check($2, $3, $4, $5, $6, $7);" ;;
    wait) echo "SELECT flagger_gate_wait($2, $3, $4, $5, $6);" ;;
    waited) echo "SELECT flagger_gate_waited($2, $3, $4);" ;;
    deadline) echo "SELECT flagger_gate_deadline($2, $3, $4, $5);" ;;
    list) echo "SELECT count(gate) FROM flagger_gate_list($2, $3, $4, $5, $6::integer);" ;;
    esac
}
prepare_2() {
    echo "PREPARE opens AS $(statement_2 open '$1' '$2' '$3' '$4' '$5' '$6' '$7' '$8' '$9' '$10' '$11')"
    echo "PREPARE closes AS $(statement_2 close '$1' '$2' '$3' '$4' '$5' '$6' '$7' '$8')"
    echo "PREPARE checks AS $(statement_2 check '$1' '$2' '$3' '$4' '$5' '$6')"
    echo "PREPARE waits AS $(statement_2 wait '$1' '$2' '$3' '$4' '$5')"
    echo "PREPARE waited AS $(statement_2 waited '$1' '$2' '$3')"
    echo "PREPARE deadline AS $(statement_2 deadline '$1' '$2' '$3' '$4')"
    echo "PREPARE list AS $(statement_2 list '$1' '$2' '$3' '$4' '$5')"
}
# \gset takes the answer in; what is printed is its outcome.
open_2() { echo "EXECUTE opens('gate', 'up', '$1', '', '', NULL, NULL, 'old', 'f', 'api', '') \\gset"$'\n'"SELECT (:'row_to_json'::json ->> 'open')::boolean;"; }
close_2() { echo "EXECUTE closes('gate', 'up', '$1', '', 'old', 'f', 'api', '') \\gset"$'\n'"SELECT (:'row_to_json'::json ->> 'open')::boolean;"; }
check_2() { echo "EXECUTE checks('gate', 'up', '$1', '', '${2:-}', 'Waiting') \\gset"$'\n'"SELECT :'open'::boolean;"; }
bench_2() {
    echo "SELECT CASE :open::boolean WHEN true THEN (SELECT open FROM flagger_gate_open(:kind, :namespace, :name, '', '', NULL, 'old', false, 'api', '')) ELSE (SELECT open FROM flagger_gate_close(:kind, :namespace, :name, '', 'old', false, 'api', '')) END;"
    echo "SELECT * FROM flagger_gate_check(:kind, :namespace, :name, '', '', '');"
}
knows_2=times

# Who waits: with a deadline that has passed, with a no to it, and what two people have let through.
before_2() {
    pg_sql "SELECT flagger_gate_policy('gate', 'up', name, 1, '{}', 3600000, action, 'ann', true, 'api', '')
        FROM (VALUES ('late', 'rollback'), ('refused', 'open')) v (name, action)" >/dev/null
    pg_sql "SELECT flagger_gate_policy('gate', 'up', 'held', 2, '{}', NULL, NULL, 'ann', true, 'api', '')" >/dev/null
    pg_sql "SELECT flagger_gate_open('gate', 'up', 'held', '', 'r1', NULL, who, true, 'api', '')
        FROM (VALUES ('ann'), ('bob')) v (who)" >/dev/null
    old_says 4 "EXECUTE waits('up', 'late', '', 'Waiting', 'r1'); EXECUTE waits('up', 'refused', '', 'Waiting', 'r1');" >/dev/null
    old_says 4 "$(close_2 refused)" >/dev/null
    pg_sql "UPDATE flagger_gate_waits SET since = since - interval '2 hours'"
}
after_2() {
    asked 403 /gate/check "$(canary late r2)"
    asked 403 /rollback/check "$(canary late r1)"
    asked 403 /gate/check "$(canary late r1)"
    asked 200 /rollback/check "$(canary late r1)"
    asked 403 /gate/check "$(canary refused r1)"
    # What two have let through meets a policy that wants two, and none that wants three.
    one_asked PUT /v1/gates/up/held/policy '{"quorum": 2, "approvers": ["ann", "bob", "cat"]}'
    asked 200 /gate/check "$(canary held r1)"
    one_asked PUT /v1/gates/up/held/policy '{"quorum": 3}'
    asked 403 /gate/check "$(canary held r1)"
    [ "$(old_says 4 "$(check_2 held r1)")" = f ]
    # and the old ones wait, are let through and list as before
    [ "$(old_says 4 "EXECUTE checks('gate', 'up', 'pending', '', 'r1', 'Waiting');")" = 'f|f|t|f' ]
    old_says 4 "EXECUTE waits('up', 'pending', '', 'Waiting', 'r1');"
    [ "$(old_says 4 "EXECUTE checks('gate', 'up', 'pending', '', 'r1', 'Waiting');")" = 'f|t|f|f' ]
    old_says 4 "$(open_2 pending)"
    [ "$(old_says 4 "EXECUTE checks('gate', 'up', 'pending', '', 'r1', 'Waiting');")" = 't|t|f|f' ]
    old_says 4 "EXECUTE waited('up', 'pending', '');"
    [ "$(old_says 4 "EXECUTE checks('gate', 'up', 'pending', '', 'r1', 'Waiting');")" = 't|f|t|f' ]
    old_says 4 "EXECUTE deadline('up', 'pending', '', 'r1');"
    [ "$(old_says 4 "EXECUTE list('up', '', '', '', '100');")" -ge 8 ]
}

# --- version 3: who asks is told apart

schema_3() {
    schema_2 | sed '$d'
    cat "$BATS_TEST_DIRNAME/../../gate/rules/schema_3.sql"
    echo "INSERT INTO flagger_gate_schema (version) VALUES (1), (2); COMMIT;"
}

prepare_3() {
    prepare_2 | sed 's/flagger_gate_check(\(.*\));$/flagger_gate_ask(\1, '"''"');/'
    echo "PREPARE waits_on AS SELECT flagger_gate_waits_on(\$1, \$2, \$3, \$4, \$5, \$6);"
    echo "PREPARE through AS SELECT flagger_gate_through(\$1, \$2, \$3, \$4, \$5);"
}
open_3() { open_2 "$@"; }
close_3() { close_2 "$@"; }
check_3() { check_2 "$@"; }
bench_3() { bench_2 | sed "s/flagger_gate_check(\(.*\));\$/flagger_gate_ask(\1, '');/"; }
knows_3=times

# Approvals of a release that is over, of one that is under way, and with a time.
before_3() {
    pg_sql "SELECT flagger_gate_open('gate', 'up', 'podinfo', '', revision, until, 'ann', true, 'api', '')
        FROM (VALUES ('over', NULL), ('now', NULL), ('timed', now() + interval '1 day')) v (revision, until)" >/dev/null
    pg_sql "UPDATE flagger_gate_passes SET since = '2025-12-31T00:00:00Z' WHERE name = 'podinfo' AND revision <> 'now'"
}
of_release() { echo "{\"name\":\"podinfo\",\"namespace\":\"up\",\"checksum\":\"$1\",\"release\":\"$2\"}"; }
after_3() {
    # programs of version 3 let through what they did
    for revision in over now timed; do [ "$(old_says 4 "$(check_3 podinfo $revision)")" = t ]; done
    old_says 4 "EXECUTE waits_on('up', 'podinfo', '', 'Waiting', 'r1', ''); EXECUTE through('up', 'podinfo', '', 'r1', '');"
    # the release that goes on passes, one that begins later does not
    asked 200 /gate/check "$(of_release now 2026-01-01T00:00:00Z)"
    [ "$(old_says 4 "$(check_3 podinfo over)")" = f ]
    asked 403 /gate/check "$(of_release over 2026-01-02T00:00:00Z)"
    asked 200 /gate/check "$(of_release timed 2026-01-03T00:00:00Z)"
    asked 403 /gate/check "$(of_release now 2026-01-04T00:00:00Z)"
}

# --- programs of that version

# old_start N VERSION: a session that stays connected; what is written to descriptor OLD_FD[N] is run in it
old_start() {
    mkfifo "$work/in.$1"
    psql -h "$PG_DIR" -U postgres -AtqX -v ON_ERROR_STOP=1 -d postgres <"$work/in.$1" >"$work/out.$1" 2>"$work/err.$1" 3>&- &
    pids+=($!)
    exec {fd}>"$work/in.$1"
    OLD_FD[$1]=$fd
    "prepare_$2" >&"$fd"
}

# old_traffic N VERSION: opens, looks, closes and looks at a gate of its own until there is a file `stop`
old_traffic() {
    local cycle
    cycle="$("open_$2" "own-$1") $("check_$2" "own-$1") $("check_$2" stays-open) $("close_$2" "own-$1") $("check_$2" "own-$1") $("check_$2" stays-closed)"
    {
        # Never far ahead of what was answered, or the traffic would be one of before the upgrade.
        while [ ! -e "$work/stop" ]; do
            for i in 1 2 3 4 5; do echo "$cycle"; done
            sleep 0.2
        done
        echo "\\echo drained"
    } >&"${OLD_FD[$1]}" 3>&- &
}

# old_says N SQL: what the session answers now
old_says() {
    local mark="mark $RANDOM$RANDOM"
    { echo "$2" && echo "\\echo $mark"; } >&"${OLD_FD[$1]}"
    eventually 20 grep -qx "$mark" "$work/out.$1"
    sed -n "/^$mark\$/{x;p;q};h" "$work/out.$1"
}

drained() { grep -qx drained "$work/out.$1"; }

# How much traffic there was, and that all of it went well: own gate open, open, closed, closed; the others as ever.
# Until it is drained the last cycle may be half done.
cycles() {
    local over=0
    ! drained "$1" || over=1
    sed '/^drained$/,$d' "$work/out.$1" | awk -v wanted='t t t f f f' -v over=$over '
        { line = line (NR % 6 == 1 ? "" : " ") $0 }
        NR % 6 == 0 { if (line != wanted) { print "cycle", NR / 6, "read", line > "/dev/stderr"; bad = 1 } line = "" }
        END { print int(NR / 6); exit bad || over && NR % 6 != 0 }'
}

rows_of() { pg_sql "SELECT count(*) FROM flagger_gate_history WHERE namespace = 'up' AND name = '$1'"; }

# asked CODE PATH BODY: of each new gate
asked() {
    for DAEMON_URL in "${URLS[@]}"; do answers "$1" POST "$2" "$3"; done
}

canary() { printf '{"name": "%s", "namespace": "up"%s}' "$1" "${2:+, \"checksum\": \"$2\"}"; }

# one_asked METHOD PATH BODY: of the first new gate, as JSON; prints the answer
one_asked() { curl -sf -m 10 -X "$1" -H 'Content-Type: application/json' -d "$3" "${URLS[0]}$2"; }

upgrade_from() {
    local version=$1 i before count knows=knows_$1
    knows=${!knows}
    local -a OLD_FD=() URLS=() benches=()
    "schema_$version" | psql -h "$PG_DIR" -U postgres -qX -v ON_ERROR_STOP=1 -d postgres
    for i in 1 2 3 4; do old_start "$i" "$version"; done
    old_says 4 "$("open_$version" stays-open) $("close_$version" stays-closed) $("close_$version" shut)"
    "before_$version"
    for i in 1 2 3; do old_traffic "$i" "$version"; done
    # And some that get into each other's way, with the protocol that programs use.
    "bench_$version" >"$work/bench.sql"
    for open in t f; do
        pgbench -h "$PG_DIR" -U postgres -n -M extended -c 3 -T 6 -R 150 -f "$work/bench.sql" -D kind=gate -D namespace=up \
            -D name=crowd -D open=$open postgres >"$work/bench.$open" 2>&1 3>&- &
        benches+=($!)
    done
    eventually 20 has_cycles 1 20

    # Three at once, in the midst of it.
    before=$(cycles 1)
    for i in 1 2 3; do
        (daemon_start "$GATE" --database "$PG_DSN" --anybody && echo "$DAEMON_PID $DAEMON_URL" >"$work/new.$i") &
    done
    for i in 1 2 3; do
        eventually 20 test -s "$work/new.$i"
        read -r pid url <"$work/new.$i"
        pids+=("$pid")
        URLS+=("$url")
    done
    for i in 0 1 2; do eventually 20 curl -sf -o /dev/null "${URLS[$i]}/readyz"; done
    [ "$(pg_sql "SELECT string_agg(version::text, ' ' ORDER BY version) FROM flagger_gate_schema")" = "$(seq -s ' ' 1 "$NEWEST")" ]
    for i in 1 2 3; do eventually 20 has_cycles "$i" $((before + 40)); done

    # Nothing was lost, to the new ones and to the old.
    asked 200 /gate/check "$(canary stays-open)"
    asked 200 /gate/check "$(canary stays-open r1)"
    asked 403 /gate/check "$(canary stays-closed)"
    [ "$(old_says 4 "$("check_$version" stays-open)")" = t ]
    [ "$(old_says 4 "$("check_$version" stays-closed)")" = f ]

    # What the old ones do is so for the new, and the other way round.
    [ "$(old_says 4 "$("open_$version" shared)")" = t ]
    asked 200 /gate/check "$(canary shared r1)"
    one_asked POST /v1/gates/up/shared/close '{"who": "ann"}'
    [ "$(old_says 4 "$("check_$version" shared)")" = f ]
    one_asked POST /v1/gates/up/shared/open '{"reason": "seen by all"}'
    [ "$(old_says 4 "$("check_$version" shared)")" = t ]
    [ "$(old_says 4 "$("close_$version" shared)")" = f ]
    asked 403 /gate/check "$(canary shared)"
    [ "$(pg_sql "SELECT string_agg(entry ->> 'action', ' ' ORDER BY seq) FROM flagger_gate_history WHERE name = 'shared'")" = 'open close open close' ]

    # What is open only for some, for a time, or not now, is closed to who cannot know that.
    one_asked POST /v1/gates/up/partly/approve '{"revision": "r1"}'
    asked 200 /gate/check "$(canary partly r1)"
    refute_old_open 4 "$version" partly
    one_asked POST /v1/gates/up/hooked/open '{"hook": "promote"}'
    refute_old_open 4 "$version" hooked
    one_asked POST /v1/gates/up/timed/open '{"for": "1h"}'
    asked 200 /gate/check "$(canary timed)"
    [ "$knows" = times ] || refute_old_open 4 "$version" timed
    one_asked POST /v1/freezes '{"namespace": "up", "name": "frozen", "reason": "stocktaking"}' >"$work/freeze"
    one_asked POST /v1/gates/up/frozen/open '{}'
    refute_old_open 4 "$version" frozen
    asked 403 /gate/check "$(canary frozen)"
    curl -sf -X DELETE "${URLS[1]}/v1/freezes/$(gojq .id "$work/freeze")"
    asked 200 /gate/check "$(canary frozen)"
    [ "$(old_says 4 "$("check_$version" frozen)")" = t ]
    # and a close of theirs closes all of it
    old_says 4 "$("close_$version" partly) $("close_$version" timed) $("close_$version" hooked)"
    asked 403 /gate/check "$(canary partly r1)"
    asked 403 /gate/check "$(canary timed)"
    for DAEMON_URL in "${URLS[@]}"; do answers 403 POST '/gate/check?hook=promote' "$(canary hooked)"; done

    "after_$version"

    # The old sessions saw what they did at all times, and no error.
    touch "$work/stop"
    for i in 1 2 3; do
        eventually 20 drained "$i"
        count=$(cycles "$i")
        echo "session $i: $count cycles, $before before the upgrade"
        [ "$count" -gt $((before + 40)) ]
        [ ! -s "$work/err.$i" ] || { cat "$work/err.$i" && return 1; }
    done
    [ ! -s "$work/err.4" ] || { cat "$work/err.4" && return 1; }
    for pid in "${benches[@]}"; do wait "$pid" || { cat "$work"/bench.* && return 1; }; done
    [ "$(rows_of crowd)" -gt 10 ]

    # Each of their changes has its row: of the traffic those after the upgrade, in turn; and of more all.
    for i in 1 2 3; do
        before=$(rows_of "own-$i")
        count=$(cycles "$i")
        echo "session $i: $before rows"
        [ "$before" -ge 40 ]
        [ "$before" -le $((2 * count + 1)) ]
        [ "$(pg_sql "SELECT count(*) FROM (SELECT entry ->> 'action' AS a, lag(entry ->> 'action') OVER (ORDER BY seq) AS b
                     FROM flagger_gate_history WHERE name = 'own-$i') h WHERE a = b")" = 0 ]
        for n in $(seq 25); do "open_$version" "own-$i" && "close_$version" "own-$i"; done >&"${OLD_FD[$i]}"
        [ "$(old_says "$i" "$("check_$version" "own-$i")")" = f ]
        [ "$(rows_of "own-$i")" -eq $((before + 50)) ]
    done
    for fd in "${OLD_FD[@]}"; do exec {fd}>&-; done
    chain_is_whole
    for pid in "${pids[@]: -3}"; do kill -TERM "$pid"; done
}

has_cycles() { [ "$(wc -l <"$work/out.$1")" -ge $((6 * $2)) ]; }

refute_old_open() { [ "$(old_says "$1" "$("check_$2" "$3")")" != t ]; }

# Every hash follows from the one before it.
chain_is_whole() {
    [ "$(pg_sql "SELECT count(*) FROM (
                     SELECT hash, encode(sha256(convert_to(lag(hash, 1, repeat('0', 64)) OVER (ORDER BY seq) || E'\\n' || entry::text, 'UTF8')), 'hex') AS wanted
                     FROM flagger_gate_history) h WHERE hash IS DISTINCT FROM wanted")" = 0 ]
}

# --- the versions

NEWEST=4

@test "from version 1, three new gates at once, while programs of version 1 go on" { upgrade_from 1; }

@test "from version 2, three new gates at once, while programs of version 2 go on" { upgrade_from 2; }

@test "from version 3, three new gates at once, while programs of version 3 go on" { upgrade_from 3; }
