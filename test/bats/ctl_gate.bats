# kubectl canary approve and reject at a real gate, of a release that waits there.

bats_require_minimum_version 1.5.0
load ../lib/postgres_file

setup() {
    load ../lib/daemon
    DIR=$BATS_TEST_TMPDIR
    export KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home
    mkdir "$HOME"
    "$FLAGGER_BUILD/flagger-sandbox" --no-gateway --no-services --kubeconfig "$KUBECONFIG" --crds "$BATS_TEST_DIRNAME/../../proto/crd" \
        >"$DIR/out" 2>"$DIR/log" </dev/null 3>&- &
    SANDBOX=$!
    eventually 60 grep -q '^ready' "$DIR/out" || { cat "$DIR/log" && return 1; }
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" "$@"
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
    kill -TERM "$SANDBOX" && wait "$SANDBOX" || true
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
phase_is() { [ "$(kubectl -n test get canary app -o jsonpath='{.status.phase}')" = "$1" ]; }
image() { kubectl -n test set image deployment/app "app=app:$1" >/dev/null; }
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
    [[ $output == 'Approved revision '*' of app at promote as alice.' ]]
    [ "$(last)" = '["gate","alice","looks good"]' ]
    run -0 --separate-stderr ctl status app --wait --timeout 60s
    image 3
    eventually 60 phase_is WaitingPromotion
    run -0 ctl reject app --as-name bob --why 'too slow'
    [[ $output == 'Rejected revision '*' of app as bob: it is rolled back.' ]]
    [ "$(last)" = '["rollback","bob","too slow"]' ]
    run -3 --separate-stderr ctl status app --wait --timeout 60s
}

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
