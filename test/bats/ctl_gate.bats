# kubectl canary approve and reject at a real gate, of a release that waits there.

bats_require_minimum_version 1.5.0
load ../lib/postgres_file

setup() {
    load ../lib/sandbox
    sandbox_begin "$BATS_TEST_TMPDIR" --no-services
    gate_start_any "$PG_DSN" "$@"
    GATE_PID=$DAEMON_PID GATE_LOG=$DAEMON_LOG GATE=$DAEMON_URL
    eventually 20 answers 200 GET /readyz
    daemon_start "$FLAGGER_BUILD/flagger-controller" --mesh-provider kubernetes --min-analysis-interval 1s
    kubectl create namespace test
    canary
    eventually 60 phase_is Initialized
}

teardown() {
    daemon_stop || true
    DAEMON_PID=$GATE_PID DAEMON_LOG=$GATE_LOG
    daemon_stop || true
    sandbox_end
    pg_empty || true
}

canary() {
    kubectl apply -f - <<YAML >/dev/null
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: test}
spec:
  replicas: 1
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 9898}]}]}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: app, namespace: test}
spec:
  provider: kubernetes
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: app}
  service: {port: 9898}
  analysis:
    interval: 1s
    threshold: 2
    iterations: 1
    webhooks:
    - {name: promote, type: confirm-promotion, url: "$GATE/gate/check?hook=promote"}
    - {name: back, type: rollback, url: "$GATE/rollback/check"}
YAML
}

ctl() { "$FLAGGER_BUILD/kubectl-canary" "$@" -n test; }
phase_is() { [ "$(of_canary test app .status.phase)" = "$1" ]; }
image() { set_image test app app "app:$1"; }
# what the gate's history says was done last: action, kind, who, why
last() { curl -s -m 10 "$GATE/v1/gates/test/app" | gojq -c ".history[0] | [.kind, .who, .reason]"; }

@test "approve lets through what waits, in the person's name, and reject rolls back" {
    # Nothing waits yet.
    run -3 --separate-stderr ctl approve app --as-name alice
    [[ $stderr == *"nothing of app waits at the gate $GATE"* ]]
    image 2
    eventually 60 phase_is WaitingPromotion
    # This server cannot say who asks.
    run -1 --separate-stderr ctl approve app
    [[ $stderr == *'give --as-name'* ]]
    run -0 ctl approve app --as-name alice --why 'looks good'
    revision=$(api_look test canaries app | gojq -r '.status.lastAppliedSpec // ""')
    [ "$output" = "Approved revision $revision of app at promote as alice." ]
    [ "$(last)" = '["gate","alice","looks good"]' ]
    run -0 --separate-stderr ctl status app --wait --timeout 60s
    # Nobody has proven to this gate who he is.
    ctl history app | grep -E '^[0-9a-f]+  promote: Approved by alice \(name not proven\): looks good$'
    ctl why app | tr -s ' \n' ' ' | grep -F 'At its gates: promote: Approved by alice (name not proven): looks good'
    image 3
    eventually 60 phase_is WaitingPromotion
    # The revision has the same name everywhere.
    revision=$(ctl status app -o json | gojq -r .revision)
    run -0 ctl reject app --as-name bob --why 'too slow' --revision "$revision"
    [ "$output" = "Rejected revision $revision of app as bob: it is rolled back." ]
    [ "$(last)" = '["rollback","bob","too slow"]' ]
    run -3 --separate-stderr ctl status app --wait --timeout 60s
}

@test "who has approved, and why, stands in the history, with a name that the gate knows" {
    local evil=$'<b>\u202e\\"x' url=$GATE
    printf '%s\n' 'alices-token-1234567 operate alice' 'bobs-token-123456789 operate bob' 'canarys-token-123456 check:test flagger' >"$DIR/tokens"
    echo alices-token-1234567 >"$DIR/alice"
    local controller=$DAEMON_PID controller_log=$DAEMON_LOG controller_url=$DAEMON_URL
    DAEMON_PID=$GATE_PID DAEMON_LOG=$GATE_LOG
    daemon_stop
    DAEMON_PORT=${url##*:} daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --token-file "$DIR/tokens" --anonymous-check
    GATE_PID=$DAEMON_PID GATE_LOG=$DAEMON_LOG
    eventually 20 answers 200 GET /readyz
    kubectl -n test create secret generic gate --from-literal 'Authorization=Bearer canarys-token-123456'
    kubectl -n test patch canary app --type json -p '[{"op":"add","path":"/spec/analysis/webhooks/0/headersFrom","value":[{"secretRef":{"name":"gate"}}]}]'
    image 2
    eventually 60 phase_is WaitingPromotion
    waits() { [ "$(curl -s -m 10 -H 'Authorization: Bearer bobs-token-123456789' "$url/v1/gates/test/app" | gojq '[.gates[].waits[]] | length')" = 1 ]; }
    eventually 60 waits
    run -0 ctl why app
    [[ $output == *"kubectl canary approve app -n test --gate $url --gate-token-file FILE"* ]]
    run -0 ctl approve app --gate "$url" --gate-token-file "$DIR/alice" --why "looks good $evil"
    run -0 --separate-stderr ctl status app --wait --timeout 60s
    ctl history app >"$DIR/table"
    cat "$DIR/table"
    grep -F "  promote: Approved by alice: looks good <b>" "$DIR/table"
    refute grep -q $'\u202e' "$DIR/table"
    [ "$(ctl history app -o json | gojq -r '.releases[0].hooks[] | select(.name == "promote").said')" = "Approved by alice: looks good $evil" ]
    # Whoever may ask without credentials is told nothing of people.
    revision=$(curl -s -m 10 -H 'Authorization: Bearer bobs-token-123456789' "$url/v1/gates/test/app" | gojq -r '.gates[0].passes[0].revision')
    check() { curl -s -m 10 "$@" -d "{\"name\":\"app\",\"namespace\":\"test\",\"checksum\":\"$revision\"}" "$url/gate/check?hook=promote"; }
    [ "$(check)" = Approved ]
    [ "$(check -H 'Authorization: Bearer bobs-token-123456789')" = "Approved by alice: looks good $evil" ]
    DAEMON_PID=$controller DAEMON_LOG=$controller_log DAEMON_URL=$controller_url
}

@test "an approval ends with its release: what is put back later waits again" {
    for n in 2 3; do
        image $n
        eventually 60 phase_is WaitingPromotion
        ctl approve app --as-name alice
        eventually 60 phase_is Succeeded
    done
    image 2
    eventually 60 phase_is WaitingPromotion
    eventually 20 asked_again
    [ "$(of_canary test app .status.phase)" = WaitingPromotion ]
    curl -s -m 10 "$GATE/v1/gates/test/app" | gojq -e '.history | map(select(.action == "end")) | length >= 2' >/dev/null
    # in the name of whoever approves this release
    ctl approve app --as-name bob
    eventually 60 phase_is Succeeded
    "$FLAGGER_BUILD/flagger-gate" verify --database "$PG_DSN"
}
# the gate has been asked more than once since
asked_again() { curl -s -m 10 "$GATE/v1/gates/test/app" | gojq -e '.gates[] | select(.kind == "gate") | .waits | length > 0' >/dev/null; }

@test "a quorum and a freeze are told, as is what is no gate" {
    curl -s -m 10 -X PUT -H 'Content-Type: application/json' "$GATE/v1/gates/test/app/policy" -d '{"quorum": 2}'
    image 2
    eventually 60 phase_is WaitingPromotion
    # Under a quorum the gate wants to know by itself who votes.
    run -1 --separate-stderr ctl approve app --as-name alice
    [[ $stderr == *"the gate at $GATE: "* ]]
    curl -s -m 10 -X DELETE "$GATE/v1/gates/test/app/policy"
    curl -s -m 10 -H 'Content-Type: application/json' "$GATE/v1/freezes" -d '{"reason": "year end"}'
    run -0 ctl approve app --as-name alice
    [[ $output == *'A freeze holds it: year end.' ]]
    run -1 --separate-stderr ctl approve app --as-name alice --gate "$DAEMON_URL"
    [[ $stderr == *"the gate at $DAEMON_URL"* ]]
    run -1 --separate-stderr ctl approve app --as-name alice --gate http://127.0.0.1:9
    [ "${#stderr_lines[@]}" -eq 1 ] && [[ $stderr == *'connection refused'* ]]
    run -2 ctl approve app --gate-token-file /none
    run -1 --separate-stderr ctl approve app --hook other --as-name alice
    [[ $stderr == *'no hook "other"'* ]]
}
