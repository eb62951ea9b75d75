# An approval ends with the release that it was given for, unless a time is given.

load ../lib/postgres_file

setup() {
    load ../lib/daemon
    cd "$BATS_TEST_TMPDIR" || return 1
    POD=/v1/gates/test/podinfo
    local name role
    while read -r name role; do
        echo "the-token-of-$name $role $name"
    done >tokens <<<$'controller check\nalice operate\nbob operate\nadam admin'
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --token-file tokens --anonymous-check
    eventually 10 curl -sf -m 5 -o /dev/null "$DAEMON_URL/readyz"
}

teardown() {
    "$FLAGGER_BUILD/flagger-gate" verify --database "$PG_DSN" >verified || { cat verified && return 1; }
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

# asks CODE REVISION RELEASE [HOOK [KIND [NAME]]]: a hook of the Canary, in this release; RELEASE '' is not said
asks() {
    local release=${3:+,\"release\":\"$3\"}
    says "$1" "${6-controller}" POST "/${5:-gate}/check${4:+?hook=$4}" \
        "{\"name\":\"podinfo\",\"namespace\":\"test\",\"checksum\":\"$2\",\"phase\":\"Waiting\"$release}"
}

approves() { says 200 "$1" POST $POD/approve "{\"revision\":\"$2\"${3:+,$3}}"; }

# Times at which the release before has ended.
ONE=2026-01-01T00:00:00Z TWO=2026-01-02T00:00:00Z THREE=2026-01-03T00:00:00Z

@test "a revision that is put back asks again" {
    asks 403 aaa $ONE
    approves alice aaa
    asks 200 aaa $ONE
    asks 200 aaa $ONE promote
    grep -q 'Approved by alice' body
    asks 403 bbb $TWO
    asks 403 aaa $THREE
    asks 403 aaa $THREE promote
    says 200 adam GET $POD
    [ "$(gojq -c '[.history[] | select(.action == "end") | .kind, .hook, .revision, .who]' body)" = '["gate","","aaa","release"]' ]
    [ "$(gojq -c '[.gates[].passes[]]' body)" = '[]' ]
    approves bob aaa
    asks 200 aaa $THREE
    grep -q 'Approved by bob' body
}

@test "it ends as soon as the next release asks, also of the same revision after a failure" {
    approves alice aaa
    asks 200 aaa $ONE
    asks 403 bbb $TWO
    says 200 adam GET $POD
    [ "$(gojq -c '[.gates[].passes[]]' body)" = '[]' ]
    approves alice ccc
    asks 200 ccc $TWO
    asks 403 ccc $THREE
}

@test "what has a time, and a gate that is open for all, hold whatever releases there are" {
    approves alice aaa '"for":"1h"'
    asks 200 aaa $ONE
    asks 200 aaa $TWO
    asks 200 aaa $THREE
    says 200 alice POST $POD/close '{}'
    says 200 alice POST $POD/open '{"hook":"promote"}'
    asks 200 aaa $ONE promote
    asks 200 aaa $TWO promote
    asks 403 aaa $TWO
}

@test "what is approved before the release asks is for that release, also once more" {
    approves alice aaa
    asks 403 bbb $ONE
    asks 200 aaa $TWO
    # before its next release has asked, while the gate still knows the approval of the last one
    approves bob aaa
    asks 200 aaa $THREE
    grep -q 'Approved by bob' body
    asks 403 aaa 2026-01-04T00:00:00Z
}

@test "votes of one release do not count for the next" {
    says 200 adam PUT $POD/policy '{"quorum":2}'
    asks 403 aaa $ONE
    approves alice aaa
    asks 403 aaa $ONE
    asks 403 aaa $TWO
    approves bob aaa
    asks 403 aaa $TWO
    approves alice aaa
    asks 200 aaa $TWO
    asks 403 aaa $THREE
}

@test "a rollback of a revision ends with its release, and what a deadline has said" {
    says 200 adam POST $POD/open '{"kind":"rollback"}'
    says 200 adam POST $POD/close '{"kind":"rollback"}'
    says 200 alice POST $POD/approve '{"kind":"rollback","revision":"aaa"}'
    asks 200 aaa $ONE '' rollback
    asks 403 aaa $TWO '' rollback
    says 200 adam PUT $POD/policy '{"deadline":"1h","onDeadline":"rollback"}'
    asks 403 bbb $TWO
    waits() { [ "$(pg_sql "SELECT count(*) FROM flagger_gate_waiting WHERE name = 'podinfo' AND revision = 'bbb'")" = 1 ]; }
    eventually 5 waits
    pg_sql "UPDATE flagger_gate_waiting SET since = since - interval '2 hours'" >/dev/null
    asks 403 bbb $TWO
    asks 200 bbb $TWO '' rollback
    asks 403 bbb $THREE
    asks 403 bbb $THREE '' rollback
    # and its deadline starts over
    eventually 5 waits
    pg_sql "UPDATE flagger_gate_waiting SET since = since - interval '2 hours'" >/dev/null
    asks 403 bbb $THREE
    asks 200 bbb $THREE '' rollback
}

@test "a message without credentials ends nothing of one who has them; one that says no release changes nothing" {
    approves alice aaa
    asks 200 aaa $ONE
    asks 200 aaa $TWO '' gate ''
    asks 200 aaa ''
    asks 200 aaa $ONE
    asks 200 aaa '' '' gate ''
    asks 200 aaa $ONE
    asks 403 aaa $TWO
}

@test "what was approved before the upgrade is of the release that was under way then" {
    approves alice old
    approves alice new
    pg_sql "UPDATE flagger_gate_passes SET since = '2025-12-31T00:00:00Z' WHERE revision = 'old'" >/dev/null
    pg_sql "INSERT INTO flagger_gate_releases (namespace, name, revision, who, release)
            SELECT namespace, name, revision, '', '' FROM flagger_gate_passes" >/dev/null
    asks 200 new $ONE
    asks 403 old $TWO
    asks 403 new $THREE
}
