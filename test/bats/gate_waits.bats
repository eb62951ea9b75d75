# Who waits at a gate, its deadline, and a policy that binds what is open: what others ask or say changes nothing of it.

load ../lib/postgres_file

setup() {
    load ../lib/daemon
    cd "$BATS_TEST_TMPDIR" || return 1
    POD=/v1/gates/test/podinfo
    local name role
    while read -r name role; do
        echo "the-token-of-$name $role $name"
    done >tokens <<<$'controller check\nmallory check\nalice operate\nbob operate\ncarol operate\nadam admin'
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --token-file tokens --anonymous-check
    eventually 10 curl -sf -m 5 -o /dev/null "$DAEMON_URL/readyz"
}

teardown() {
    daemon_stop
    pg_empty
}

# by NAME METHOD PATH [BODY]: the status code; the body is in the file body; NAME '' has no token
by() {
    curl -s -m 10 -X "$2" ${1:+-H "Authorization: Bearer the-token-of-$1"} -H 'Content-Type: application/json' \
        ${4+--data-binary "$4"} -o body -w '%{http_code}' "$DAEMON_URL$3"
}

# says CODE NAME METHOD PATH [BODY]
says() {
    local wanted=$1 got
    shift
    got=$(by "$@")
    [ "$got" = "$wanted" ] || { echo "$* answered $got, not $wanted: $(cat body)" && return 1; }
}

# checks NAME REVISION [HOOK [KIND]]: the code that a webhook gets
checks() { by "$1" POST "/${4:-gate}/check${3:+?hook=$3}" "{\"name\":\"podinfo\",\"namespace\":\"test\",\"checksum\":\"$2\",\"phase\":\"Waiting\"}"; }

gate() { by adam GET $POD >/dev/null && gojq -ce ".gates[] | select(.kind == \"gate\") | $1" body; }

# row REVISION: the row of the controller's wait is there
row() { [ "$(pg_sql "SELECT count(*) FROM flagger_gate_waiting WHERE name = 'podinfo' AND revision = '$1' AND who = 'controller'")" = 1 ]; }

# age INTERVAL: as if all that waits had begun, and been asked for, that much earlier
age() { pg_sql "UPDATE flagger_gate_waiting SET since = since - interval '$1', seen = greatest(seen - interval '$1', now() - interval '20 s')" >/dev/null; }

due() { [ "$(checks controller "$1")" = 403 ] && [ "$(checks controller "$1" '' rollback)" = 200 ]; }

@test "a check of another revision does not begin a deadline anew" {
    says 200 adam PUT $POD/policy '{"deadline":"1h","onDeadline":"rollback"}'
    [ "$(checks controller aaa)" = 403 ]
    eventually 5 row aaa
    age '59 minutes'
    for name in '' mallory controller; do [ "$(checks "$name" bbb)" = 403 ]; done
    eventually 5 row bbb
    age '2 minutes'
    due aaa
    [ "$(checks controller bbb '' rollback)" = 403 ]
}

@test "invented names do not push out who waits, nor do invented revisions" {
    says 200 adam PUT $POD/policy '{"deadline":"1h","onDeadline":"rollback"}'
    # the tables as 60,000 checks would leave them
    pg_sql "INSERT INTO flagger_gate_waiting (namespace, name, hook, phase, revision, who)
        SELECT 'test', 'invented' || n, '', 'Waiting', 'r', who FROM generate_series(1, 10000) n, unnest(ARRAY['', 'mallory']) who"
    pg_sql "INSERT INTO flagger_gate_waiting (namespace, name, hook, phase, revision, who)
        SELECT 'test', 'podinfo', '', 'Waiting', 'invented' || n, who FROM generate_series(1, 64) n, unnest(ARRAY['', 'mallory']) who"
    [ "$(checks controller aaa)" = 403 ]
    eventually 5 row aaa
    # Mallory has his 64 here; without a name the same.
    for name in '' mallory; do [ "$(checks "$name" one-more)" = 403 ]; done
    age '61 minutes'
    due aaa
    [ "$(pg_sql "SELECT count(*) FROM flagger_gate_waiting WHERE revision = 'one-more'")" = 0 ]
}

@test "of one asker the names that nobody knows give way first" {
    says 200 adam PUT $POD/policy '{"deadline":"1h","onDeadline":"rollback"}'
    pg_sql "INSERT INTO flagger_gate_waiting (namespace, name, hook, phase, revision, who, seen)
        SELECT 'test', 'invented' || n, '', 'Waiting', 'r', '', now() - n * interval '1 s' FROM generate_series(1, 10000) n"
    [ "$(checks '' aaa)" = 403 ]
    kept() { [ "$(pg_sql "SELECT count(*) FROM flagger_gate_waiting WHERE name = 'podinfo'")" = 1 ]; }
    eventually 5 kept
    [ "$(pg_sql "SELECT count(*), min(now() - seen) < interval '1 minute' FROM flagger_gate_waiting")" = '9901|t' ]
    pg_sql "INSERT INTO flagger_gate_waiting (namespace, name, hook, phase, revision, who, seen)
        SELECT 'test', 'later' || n, '', 'Waiting', 'r', '', now() FROM generate_series(1, 99) n"
    says 403 '' POST /gate/check '{"name":"nobody-knows-it","namespace":"test","checksum":"aaa"}'
    new() { [ "$(pg_sql "SELECT count(*) FROM flagger_gate_waiting WHERE name = 'nobody-knows-it'")" = 1 ]; }
    eventually 5 new
    kept
    age '61 minutes'
    [ "$(checks '' aaa)" = 403 ]
    [ "$(checks '' aaa '' rollback)" = 200 ]
}

@test "a no ends the deadline of what waits for good, also when it is forgotten, and nothing else does" {
    says 200 adam PUT $POD/policy '{"deadline":"1h","onDeadline":"open"}'
    for revision in aaa bbb; do
        [ "$(checks controller $revision)" = 403 ]
        eventually 5 row $revision
    done
    says 200 alice POST $POD/close '{"reason":"not this one"}'
    gojq -e '.changed and .seq == 2' body
    pg_sql "DELETE FROM flagger_gate_waiting WHERE revision = 'aaa'"
    [ "$(checks controller aaa)" = 403 ]
    [ "$(checks controller ccc)" = 403 ]
    eventually 5 row aaa
    eventually 5 row ccc
    age '61 minutes'
    [ "$(checks controller aaa)" = 403 ]
    [ "$(checks controller bbb)" = 403 ]
    [ "$(checks controller ccc)" = 200 ]
}

@test "a no without a proven name ends no deadline of a gate that asks for names" {
    says 200 adam PUT $POD/policy '{"approvers":["alice"],"deadline":"1h","onDeadline":"open"}'
    [ "$(checks controller aaa)" = 403 ]
    eventually 5 row aaa
    pg_sql "SELECT flagger_gate_close('gate', 'test', 'podinfo', '', 'alice', false, 'api', '')"
    age '61 minutes'
    [ "$(checks controller aaa)" = 200 ]
    [ "$(checks controller bbb)" = 403 ]
    eventually 5 row bbb
    pg_sql "SELECT flagger_gate_close('gate', 'test', 'podinfo', '', 'alice', true, 'api', '')"
    age '61 minutes'
    [ "$(checks controller bbb)" = 403 ]
}

@test "what waits is told by hook and revision, and goes when its revision is let through" {
    [ "$(checks controller aaa promote)" = 403 ]
    eventually 5 row aaa
    [ "$(checks mallory zzz promote)" = 403 ]
    both() { [ "$(gate '[.waits[].revision]')" = '["aaa","zzz"]' ]; }
    eventually 5 both
    pg_sql "UPDATE flagger_gate_waiting SET since = since - interval '5 s', seen = seen - interval '5 s'"
    [ "$(checks controller bbb promote)" = 403 ]
    newer() { [ "$(gate '[.waits[].revision]')" = '["zzz","bbb"]' ]; }
    eventually 5 newer
    says 200 alice POST $POD/approve '{"revision":"bbb","hook":"promote"}'
    [ "$(checks controller bbb promote)" = 200 ]
    left() { [ "$(gate '[.waits[].revision]')" = '["zzz"]' ]; }
    eventually 5 left
    [ "$(pg_sql "SELECT string_agg(revision, ' ') FROM flagger_gate_waiting")" = zzz ]
}

# --- a policy that comes later

verified() {
    "$FLAGGER_BUILD/flagger-gate" verify --database "$PG_DSN" >verified 2>&1 || { cat verified && return 1; }
}

@test "a policy closes what it would not have let through, and leaves what it would" {
    says 200 adam PUT $POD/policy '{"quorum":2}'
    for name in alice bob; do says 200 $name POST $POD/approve '{"revision":"two","hook":"a"}'; done
    says 200 adam PUT $POD/policy '{"quorum":1}'
    says 200 alice POST $POD/approve '{"revision":"one","hook":"b"}'
    says 200 alice POST $POD/open '{"kind":"rollback"}'
    says 200 adam PUT $POD/policy '{"quorum":2,"approvers":["alice","bob","carol"]}'
    [ "$(checks controller two a)" = 200 ]
    [ "$(checks controller one b)" = 403 ]
    [ "$(checks controller one '' rollback)" = 200 ]
    gate '[.passes[].revision] == ["two"]'
    gojq -e '.history[0] | .action == "close" and .via == "policy" and .who == "adam" and .hook == "b"' body
    says 200 adam PUT $POD/policy '{"quorum":2,"approvers":["alice","carol"]}'
    [ "$(checks controller two a)" = 403 ]
    for name in alice carol; do says 200 $name POST $POD/approve '{"revision":"two","hook":"a"}'; done
    [ "$(checks controller two a)" = 200 ]
    says 200 adam PUT $POD/policy '{"quorum":3}'
    [ "$(checks controller two a)" = 403 ]
    verified
}

@test "a policy closes what is open to everything, to programs of version 1 too" {
    says 200 alice POST $POD/open
    [ "$(checks controller aaa)" = 200 ]
    says 200 adam PUT $POD/policy '{"quorum":2}'
    [ "$(checks controller aaa)" = 403 ]
    [ "$(pg_sql "SELECT open FROM flagger_gates WHERE name = 'podinfo' AND kind = 'gate'")" = f ]
    verified
}

@test "what a deadline has opened stays while the policy opens at a deadline" {
    says 200 adam PUT $POD/policy '{"deadline":"1h","onDeadline":"open"}'
    [ "$(checks controller aaa)" = 403 ]
    eventually 5 row aaa
    age '61 minutes'
    [ "$(checks controller aaa)" = 200 ]
    says 200 adam PUT $POD/policy '{"quorum":2,"deadline":"2h","onDeadline":"open"}'
    [ "$(checks controller aaa)" = 200 ]
    says 200 adam PUT $POD/policy '{"quorum":2,"deadline":"2h","onDeadline":"rollback"}'
    [ "$(checks controller aaa)" = 403 ]
    verified
}
