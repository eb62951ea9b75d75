# The gate's API below /v1, with a real PostgreSQL.

load ../lib/postgres_file

setup() {
    load ../lib/daemon
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --anybody
    eventually 10 answers 200 GET /readyz
    POD=/v1/gates/test/podinfo
}

teardown() {
    daemon_stop
    pg_empty
}

# asks METHOD PATH [BODY]: with the content type that /v1 wants; sets $output to the body and $status to the code
asks() {
    status=$(curl -s -m 10 -X "$1" -H 'Content-Type: application/json' ${3+--data-binary "$3"} \
        -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' "$DAEMON_URL$2")
    output=$(cat "$BATS_TEST_TMPDIR/body")
}

# says CODE METHOD PATH [BODY]
says() {
    local wanted=$1
    shift
    asks "$@"
    [ "$status" = "$wanted" ] || { echo "$* answered $status: $output" && return 1; }
}

# checks [CHECKSUM [HOOK [PHASE [KIND]]]]: the code that a webhook gets
checks() {
    code POST "/${4:-gate}/check${2:+?hook=$2}" \
        "{\"name\":\"podinfo\",\"namespace\":\"test\",\"checksum\":\"${1-}\",\"phase\":\"${3:-Waiting}\"}"
}

gate() { curl -s "$DAEMON_URL$POD" | gojq -e ".gates[] | select(.kind == \"gate\") | $1"; }

@test "exactly one revision is approved" {
    says 200 POST $POD/approve '{"revision":"aaa","reason":"looks good","who":"alice"}'
    gojq -e '.changed and .open and .seq == 1' <<<"$output"
    [ "$(checks aaa)" = 200 ]
    [ "$(checks bbb)" = 403 ]
    [ "$(checks '')" = 403 ]
    says 200 POST $POD/approve '{"revision":"bbb"}'
    [ "$(checks aaa)" = 200 ] # no approval is lost
    [ "$(checks bbb)" = 200 ]
    says 200 POST $POD/approve '{"revision":"bbb"}'
    gojq -e '.changed == false and .seq == null' <<<"$output"
    gate '.passes[0] | .revision == "aaa" and .by == "alice" and .reason == "looks good"'
    says 200 POST $POD/close '{}'
    [ "$(checks aaa)" = 403 ]
    [ "$(checks bbb)" = 403 ]
}

@test "a hook is opened by its name" {
    says 200 POST $POD/open '{"hook":"promote"}'
    [ "$(checks x promote)" = 200 ]
    [ "$(checks x start)" = 403 ]
    [ "$(checks x)" = 403 ]
    says 200 POST $POD/open
    [ "$(checks x start)" = 200 ]
    says 409 POST $POD/close '{"hook":"promote"}'
    gojq -e '.error | test("every hook")' <<<"$output"
    says 200 POST $POD/close
    [ "$(checks x promote)" = 403 ]
}

@test "an opening ends by itself" {
    says 200 POST $POD/open '{"for":"1s"}'
    [ "$(checks)" = 200 ]
    ended() { [ "$(checks)" = 403 ]; }
    eventually 10 ended
    says 200 POST $POD/open '{"expires":"2999-01-01T00:00:00+01:00"}'
    gate '.passes[0].expires == "2998-12-31T23:00:00.000000Z"'
    says 400 POST $POD/open '{"expires":"2001-01-01T00:00:00Z"}'
    gojq -e '.error | test("has passed already")' <<<"$output"
}

@test "who waits is told, with its revision, phase and since when" {
    [ "$(checks aaa promote WaitingPromotion)" = 403 ]
    waits() { gate '.waits[0] | .revision == "aaa" and .hook == "promote" and .phase == "WaitingPromotion"'; }
    eventually 5 waits
    since=$(gate '.waits[0].since')
    [ "$(checks aaa promote Progressing)" = 403 ]
    moved() { gate '.waits[0].phase == "Progressing"'; }
    eventually 5 moved
    [ "$(gate '.waits[0].since')" = "$since" ]
    [ "$(checks bbb promote)" = 403 ]
    newer() { gate '.waits[0].revision == "bbb"' && [ "$(gate '.waits[0].since')" != "$since" ]; }
    eventually 5 newer
    says 200 POST $POD/open
    [ "$(checks bbb promote)" = 200 ]
    gone() { gate '.waits == []'; }
    eventually 5 gone
    # asking whether to roll back is no waiting
    [ "$(checks aaa '' Progressing rollback)" = 403 ]
    gate '.waits == []'
}

@test "a policy wants several approvers, known by name" {
    says 200 PUT $POD/policy '{"quorum":2,"approvers":["alice","bob","carol"]}'
    says 403 POST $POD/approve '{"revision":"aaa","who":"alice"}' # said, not proven
    gojq -e '.error | test("token of your own")' <<<"$output"
    says 403 POST $POD/open
    [ "$(code POST /gate/open '{"name":"podinfo","namespace":"test"}')" = 403 ]
    [ "$(checks aaa)" = 403 ]
    says 200 DELETE $POD/policy
    gojq -e '.seq == 2' <<<"$output"
    says 200 DELETE $POD/policy
    gojq -e '.seq == null' <<<"$output"
    says 200 POST $POD/open
}

@test "at the deadline it opens, or rolls back, for the revision that waits; a no stays a no" {
    says 200 PUT $POD/policy '{"deadline":"1s","onDeadline":"open"}'
    [ "$(checks aaa)" = 403 ]
    opened() { [ "$(checks aaa)" = 200 ]; }
    eventually 10 opened
    [ "$(checks bbb)" = 403 ]
    says 200 POST $POD/close
    [ "$(checks bbb)" = 403 ]
    gate '.waits[0].revision == "bbb"'
    said_no() { says 200 POST $POD/close && gojq -e '.changed == false' <<<"$output"; }
    said_no
    says 200 PUT $POD/policy '{"deadline":"1s","onDeadline":"rollback"}'
    [ "$(checks ccc)" = 403 ]
    [ "$(checks ccc '' Waiting rollback)" = 403 ]
    rolls_back() { [ "$(checks ccc)" = 403 ] && [ "$(checks ccc '' Waiting rollback)" = 200 ]; }
    eventually 10 rolls_back
    [ "$(checks ddd '' Waiting rollback)" = 403 ]
    [ "$(checks bbb)" = 403 ]
    curl -s "$DAEMON_URL$POD" | gojq -e '.history[0] | .who == "deadline" and .kind == "rollback" and .revision == "ccc"'
}

@test "a freeze holds every release, and no rollback" {
    says 200 POST $POD/open
    says 200 POST $POD/open '{"kind":"rollback"}'
    says 200 POST /v1/freezes '{"reason":"the holidays","until":"2999-01-01T00:00:00Z"}'
    id=$(gojq .id <<<"$output")
    [ "$(checks)" = 403 ]
    [ "$(checks '' '' Progressing rollback)" = 200 ]
    gate '.frozen.reason == "the holidays" and .open'
    says 200 GET /v1/freezes
    gojq -e '.freezes[0] | .active and .namespace == "" and .until == "2999-01-01T00:00:00.000000Z"' <<<"$output"
    says 200 DELETE "/v1/freezes/$id"
    [ "$(checks)" = 200 ]
    says 404 DELETE "/v1/freezes/$id"
    says 200 POST /v1/freezes '{"namespace":"prod","reason":"not here"}'
    [ "$(checks)" = 200 ]
    says 200 POST /v1/freezes '{"namespace":"test","name":"podinfo","reason":"not yet","from":"2998-01-01T00:00:00Z"}'
    [ "$(checks)" = 200 ]
}

@test "a freeze comes every week, in the time of its zone" {
    says 200 POST $POD/open
    # from an hour ago to in an hour, in Tokyo
    from=$(TZ=Asia/Tokyo LC_ALL=C date -d '-1 hour' '+%a %H:%M')
    until=$(TZ=Asia/Tokyo LC_ALL=C date -d '+1 hour' '+%a %H:%M')
    says 200 POST /v1/freezes "{\"reason\":\"x\",\"weekly\":{\"from\":\"$from\",\"until\":\"$until\",\"zone\":\"Asia/Tokyo\"}}"
    id=$(gojq .id <<<"$output")
    [ "$(checks)" = 403 ]
    says 200 GET /v1/freezes
    gojq -e --arg from "$from" --arg until "$until" '.freezes[0].weekly | .from == $from and .until == $until' <<<"$output"
    says 200 DELETE "/v1/freezes/$id"
    says 200 POST /v1/freezes "{\"reason\":\"x\",\"weekly\":{\"from\":\"$until\",\"until\":\"$from\",\"zone\":\"Asia/Tokyo\"}}"
    [ "$(checks)" = 200 ]
}

@test "the history says who did what, when and why, page by page" {
    says 200 POST $POD/open '{"who":"alice","reason":"go"}'
    says 200 POST $POD/close '{"who":"bob","reason":"no"}'
    [ "$(code POST /gate/open '{"name":"other","namespace":"test"}')" = 202 ]
    says 200 GET '/v1/history?limit=2'
    gojq -e '.history | length == 2 and .[0].seq == 1 and .[0].who == "alice" and .[0].action == "open" and .[0].verified == false
        and .[1].who == "bob" and .[1].reason == "no" and .[1].action == "close"' <<<"$output"
    says 200 GET '/v1/history?after=2'
    gojq -e '.history | length == 1 and .[0].name == "other" and .[0].via == "webhook" and .[0].who == "anonymous"' <<<"$output"
    says 200 GET '/v1/history?namespace=test&name=podinfo'
    gojq -e '.history | length == 2' <<<"$output"
    curl -s "$DAEMON_URL$POD" | gojq -e '[.history[].seq] == [2, 1]'
}

@test "gates are listed page by page" {
    for name in a b c; do says 200 POST "/v1/gates/test/$name/open"; done
    says 200 POST /v1/gates/prod/a/open
    says 200 GET '/v1/gates?limit=3'
    gojq -e '[.gates[] | .namespace + "/" + .name] == ["prod/a", "test/a", "test/b"] and .continue == "test/b/gate"' <<<"$output"
    says 200 GET "/v1/gates?limit=3&continue=test/b/gate"
    gojq -e '[.gates[].name] == ["c"] and .continue == ""' <<<"$output"
    says 200 GET '/v1/gates?namespace=prod'
    gojq -e '.gates | length == 1' <<<"$output"
}

@test "names are bytes of UTF-8, whatever they look like" {
    says 200 POST '/v1/gates/test/%C3%A4%22%27%3Cscript%3E%20%5C/open'
    says 200 GET /v1/gates
    gojq -e '.gates[0].name == "ä\"'"'"'<script> \\"' <<<"$output"
}

@test "a bad request gets one sentence with the field" {
    # METHOD PATH BODY | CODE | what the sentence names
    while IFS='|' read -r method path body wanted names; do
        says "$wanted" "$method" "$path" "$body"
        gojq -e --arg names "$names" '.error | contains($names)' <<<"$output" || { echo "$method $path $body: $output" && return 1; }
    done <<'CASES'
POST|/v1/gates/test/podinfo/open|{"fro":"30m"}|400|fro
POST|/v1/gates/test/podinfo/open|{"for":"-30m"}|400|for
POST|/v1/gates/test/podinfo/open|{"for":"1h","expires":"2999-01-01T00:00:00Z"}|400|for
POST|/v1/gates/test/podinfo/open|{"expires":"tomorrow"}|400|expires
POST|/v1/gates/test/podinfo/open|{"kind":"door"}|400|kind
POST|/v1/gates/test/podinfo/open|{"revision":"aaa"}|400|revision
POST|/v1/gates/test/podinfo/open|{"reason":7}|400|reason
POST|/v1/gates/test/podinfo/open|{"reason":"a\u0007b"}|400|reason
POST|/v1/gates/test/podinfo/open|{"who":""}|400|who
POST|/v1/gates/test/podinfo/open|[]|400|object
POST|/v1/gates/test/podinfo/open|{|400|the body
POST|/v1/gates/test/podinfo/approve|{}|400|revision
PUT|/v1/gates/test/podinfo/policy|{"quorum":0}|400|quorum
PUT|/v1/gates/test/podinfo/policy|{"quorum":3,"approvers":["a","b"]}|400|quorum
PUT|/v1/gates/test/podinfo/policy|{"quorum":2,"approvers":["a","a"]}|400|approvers
PUT|/v1/gates/test/podinfo/policy|{"approvers":["a",7]}|400|approvers[1]
PUT|/v1/gates/test/podinfo/policy|{"deadline":"1h"}|400|onDeadline
PUT|/v1/gates/test/podinfo/policy|{"deadline":"1h","onDeadline":"explode"}|400|onDeadline
PUT|/v1/gates/test/podinfo/policy|{"kind":"rollback","deadline":"1h","onDeadline":"open"}|400|deadline
POST|/v1/freezes|{}|400|reason
POST|/v1/freezes|{"reason":"x","name":"podinfo"}|400|namespace
POST|/v1/freezes|{"reason":"x","weekly":{"from":"Fry 16:00","until":"Mon 08:00"}}|400|weekly.from
POST|/v1/freezes|{"reason":"x","weekly":{"from":"Fri 16:00"}}|400|weekly.until
POST|/v1/freezes|{"reason":"x","weekly":{"from":"Fri 16:00","until":"Mon 08:00","zone":"Berlin"}}|400|weekly.zone
POST|/v1/freezes|{"reason":"x","from":"2999-01-02T00:00:00Z","until":"2999-01-01T00:00:00Z"}|400|until
DELETE|/v1/freezes/x|{}|400|freeze
GET|/v1/gates?limit=x||400|limit
GET|/v1/gates?continue=x||400|continue
GET|/v1/history?after=-1||400|after
GET|/v1/gates/test/||400|name
GET|/v1/gates/test/%FF||400|name
POST|/v1/gates/test/podinfo/explode||404|/approve
POST|/v1/gates/a%2Fb/podinfo/open||400|slash
CASES
    says 200 GET /v1/history
    gojq -e '.history == []' <<<"$output"
}
