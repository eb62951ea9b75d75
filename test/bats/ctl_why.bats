# kubectl canary why: each situation is made for real, and the paragraph names the cause and a command that helps.

bats_require_minimum_version 1.5.0
load ../lib/postgres

setup_file() {
    load ../lib/sandbox
    sandbox_begin "$(mktemp -d /tmp/flagger-why.XXXXXX)" --no-services
    pg_begin
    export PG_DIR PG_DSN
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --anybody
    echo "$DAEMON_PID $DAEMON_LOG" >"$DIR/gate.pid"
    eventually 20 answers 200 GET /readyz
    echo "$DAEMON_URL" >"$DIR/gate"
    kubectl create namespace test
    controller_start
}

controller_start() { # [OPTION...]
    daemon_start "$FLAGGER_BUILD/flagger-controller" --mesh-provider kubernetes --min-analysis-interval 1s \
        --enable-leader-election --metrics-server http://127.0.0.1:9 "$@"
    echo "$DAEMON_PID $DAEMON_LOG" >"$DIR/controller.pid"
}
stop() { # FILE
    read -r DAEMON_PID DAEMON_LOG <"$DIR/$1.pid"
    daemon_stop
    rm "$DIR/$1.pid"
}

teardown_file() {
    load ../lib/sandbox
    [ ! -e "$DIR/controller.pid" ] || stop controller || true
    stop gate || true
    sandbox_end
    pg_end
    rm -rf "$DIR"
}

setup() {
    load ../lib/sandbox
    load ../lib/sink
    GATE=$(cat "$DIR/gate")
}

# canary NAME ANALYSIS [SPEC]: a Canary and its Deployment; both are flow mappings without their braces
canary() {
    kubectl apply -f - <<YAML >/dev/null
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, namespace: test}
spec:
  replicas: 1
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 9898}]}]}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: test}
spec: {provider: kubernetes, targetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}, service: {port: 9898},
  ${3:+$3,} analysis: {interval: 1s, threshold: 100, iterations: 2, $2}}
YAML
    [ "${4:-}" = quick ] || eventually 60 phase_is "$1" Initialized
}
phase_is() { [ "$(of_canary test "$1" .status.phase)" = "$2" ]; }
image() { kubectl -n test set image "deployment/$1" "app=app:$2" >/dev/null; }
note() { # NAME ANNOTATION: a new revision whose pods have it
    kubectl -n test patch deployment "$1" --type merge -p "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"sandbox.flagger.app/$2\":\"true\"}}}}}" >/dev/null
}
gate() { curl -s -m 10 -H 'Content-Type: application/json' "$@"; }

# A server that takes every connection and answers none.
silence_start() {
    python3 -c 'import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(64)
open(sys.argv[1], "w").write(str(s.getsockname()[1]))
time.sleep(600)' "$BATS_TEST_TMPDIR/silence" 3>&- &
    SILENCE_PID=$!
    eventually 10 test -s "$BATS_TEST_TMPDIR/silence"
    SILENCE=$(cat "$BATS_TEST_TMPDIR/silence")
}

is_situation() { [ "$("$FLAGGER_BUILD/kubectl-canary" why "$1" -n test -o json | gojq -r .situation)" = "$2" ]; }
says() { # NAME SITUATION TEXT [NEXT]
    "$FLAGGER_BUILD/kubectl-canary" why "$1" -n test >"$BATS_TEST_TMPDIR/why" && grep -qE -- "$3" "$BATS_TEST_TMPDIR/why" &&
        { [ -z "${4:-}" ] || grep -qE -- "^  $4" "$BATS_TEST_TMPDIR/why"; } && is_situation "$1" "$2"
}
# because NAME SITUATION TEXT [NEXT]: in the end, why says so; both are patterns
because() {
    eventually 150 says "$@" || { cat "$BATS_TEST_TMPDIR/why" && "$FLAGGER_BUILD/kubectl-canary" why "$1" -n test -o yaml && return 1; }
    sed "s/^/# $2: /" "$BATS_TEST_TMPDIR/why" >&3
}

@test "nothing is wrong" {
    canary rest 'metrics: []'
    because rest at-rest 'Nothing holds rest: revision [0-9a-f]+ is promoted'
}

@test "a gate is closed, frozen, short of a quorum, or silent" {
    canary gated "webhooks: [{name: promote, type: confirm-promotion, url: \"$GATE/gate/check\"}]"
    canary silent 'webhooks: [{name: promote, type: confirm-promotion, url: "http://127.0.0.1:9/gate/check", timeout: 1s}]'
    image gated 2 && image silent 2
    eventually 60 phase_is gated WaitingPromotion
    because gated gate-closed 'gated waits for a person to open the gate promote \(confirm-promotion\), for [0-9]+s' 'kubectl canary approve gated -n test'
    gate -X PUT "$GATE/v1/gates/test/gated/policy" -d '{"quorum": 2, "approvers": ["alice", "bob"]}'
    because gated quorum-missing '0 of 2 approvals are there. Those who may: alice, bob' 'kubectl canary approve'
    gate "$GATE/v1/freezes" -d '{"reason": "year end"}'
    because gated frozen 'A freeze holds gated .*: year end' 'curl -X DELETE '
    because silent gate-silent 'nobody answers there: .*127.0.0.1:9' 'kubectl -n test get canary'
}

@test "metrics say nothing, or nobody answers for them, or a hook fails or is slow" {
    canary down 'metrics: [{name: request-success-rate, interval: 1m, thresholdRange: {min: 99}}]'
    canary nohost 'metrics: [{name: request-success-rate, interval: 1m, thresholdRange: {min: 99}}]' 'metricsServer: "http://prometheus.nowhere.invalid:9090"'
    canary failing 'onMetricError: fail, metrics: [{name: request-success-rate, interval: 1m, thresholdRange: {min: 99}}]'
    canary hook 'webhooks: [{name: smoke, type: pre-rollout, url: "http://127.0.0.1:9/", timeout: 1s}]'
    canary unusable 'metrics: [{name: mine, interval: 1m, templateRef: {name: none}}]'
    canary held 'onMetricError: hold, metrics: [{name: request-success-rate, interval: 1m, thresholdRange: {min: 99}}]'
    silence_start
    canary slow "webhooks: [{name: smoke, type: pre-rollout, url: \"http://127.0.0.1:$SILENCE/\", timeout: 1s}]"
    work=$BATS_TEST_TMPDIR
    sink_start 200 '{"status":"success","data":{"resultType":"vector","result":[]}}'
    canary empty "metrics: [{name: mine, interval: 1m, query: 'x', thresholdRange: {max: 1}}]" "metricsServer: \"$SINK\""
    image slow 2 && image empty 2
    because slow hook-failing 'A webhook of slow is too slow, for .*smoke.*of 100 failed checks'
    because empty no-metrics 'A metric of empty has no values, for .*of 100 failed checks'
    kill "$SILENCE_PID" "$SINK_PID"
    image down 2 && image nohost 2 && image failing 2 && image hook 2 && image unusable 2 && image held 2
    because down metrics-held 'down holds its step until its metrics can be asked, for .*127.0.0.1:9' 'kubectl canary abort down -n test'
    because nohost metrics-held 'nohost holds its step until its metrics can be asked, for .*prometheus.nowhere.invalid'
    because failing metric-server-down 'A metric server does not answer the queries of failing, for .*127.0.0.1:9.* of 100 failed checks'
    because hook hook-failing 'A webhook of hook fails, for .*smoke.*of 100 failed checks'
    because unusable metric-unusable 'A metric of unusable cannot be asked for, for .*none'
    because held metrics-held 'held holds its step until its metrics say something again'
}

@test "pods are not ready: for their image, a quota, a crash, or by themselves" {
    canary noimage 'metrics: []' && canary noquota 'metrics: []' && canary crash 'metrics: []' && canary never 'metrics: []'
    note noimage no-image && note noquota no-quota && note crash crash && note never never-ready
    because noimage image-missing 'An image of noimage cannot be pulled: the container app of the pod noimage-.* app:1' 'kubectl -n test describe pod noimage-'
    because noquota quota 'Pods beyond a quota of noquota cannot be made, for .*exceeded quota' 'kubectl -n test describe resourcequota'
    because crash crashing 'A pod of crash does not (start: .* is in CrashLoopBackOff|stay up: .* has ended with exit code)' 'kubectl -n test logs crash-.* -c app --previous'
    because never pods-not-ready 'never waits for pods: of the canary never, 0 of 1 are ready.*\(600\)'
}

@test "the spec is refused, another Canary owns the target, a CRD, a config or the target is missing" {
    canary refused 'metrics: []'
    kubectl -n test patch canary refused --type merge -p '{"spec":{"analysis":{"iterations":null,"stepWeights":[50,20]}}}'
    because refused spec-refused 'The spec of refused has been refused for .*stepWeights\[1\]' 'kubectl -n test edit canary refused'
    canary owner 'metrics: []'
    kubectl -n test get canary owner -o json | gojq '.metadata = {name: "rival", namespace: "test"} | del(.status)' | kubectl apply -f -
    because rival another-owns-target 'Another Canary owns what rival wants.*looked after by Canary owner.test' 'kubectl -n test get canaries'
    canary nocrd 'metrics: []' 'provider: istio' quick || true
    kubectl -n test patch canary nocrd --type merge -p '{"spec":{"provider":"istio"}}' || true
    because nocrd crd-missing 'A CRD is missing, for .*does not serve .*istio' 'kubectl get crds'
    canary config 'metrics: []'
    kubectl -n test patch deployment config --type json -p '[{"op":"add","path":"/spec/template/spec/containers/0/envFrom","value":[{"configMapRef":{"name":"none"}}]}]'
    because config config-missing 'A config that config needs is missing, for .*none' 'kubectl -n test get configmaps,secrets'
    canary gone 'metrics: []'
    kubectl -n test delete deployment gone
    because gone target-missing 'The target of gone cannot be released, for '
}

@test "a person has paused it, and the mesh has not accepted its routes" {
    canary held-up 'iterations: 3600'
    image held-up 2
    eventually 60 phase_is held-up Progressing
    USER=eve "$FLAGGER_BUILD/kubectl-canary" pause held-up -n test --why lunch
    because held-up paused 'eve \(not proven\) has paused the release of held-up, [0-9a-z]+ ago, saying lunch' 'kubectl canary resume held-up -n test'
    # Nobody serves routes here: the test is the mesh, and says no.
    kubectl apply -f "$BATS_TEST_DIRNAME/../sandbox/crd" >/dev/null
    canary meshed 'metrics: []'
    kubectl -n test patch canary meshed --type merge -p '{"spec":{"provider":"gatewayapi:v1","service":{"hosts":["meshed.example.com"],"gatewayRefs":[{"name":"gw","namespace":"test"}]},
        "analysis":{"iterations":null,"stepWeight":50,"maxWeight":50}}}'
    eventually 60 kubectl -n test get httproute meshed
    image meshed 2
    eventually 60 phase_is meshed Progressing
    refuse() {
        kubectl -n test get httproute meshed -o json | gojq '{apiVersion, kind, metadata, status: {parents: [{parentRef: .spec.parentRefs[0], controllerName: "test/mesh",
            conditions: [{type: "Accepted", status: "False", observedGeneration: .metadata.generation, reason: "NotAllowedByListeners", message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}]}}' >"$BATS_TEST_TMPDIR/route"
        kubectl replace --raw /apis/gateway.networking.k8s.io/v1/namespaces/test/httproutes/meshed/status -f "$BATS_TEST_TMPDIR/route" >/dev/null
        says "$@"
    }
    # The controller writes the route as well: who comes too late tries again.
    eventually 90 refuse meshed routes-pending 'The mesh has not accepted the routes of meshed, for [0-9a-z]+: HTTPRoute meshed.test parent gw is not ready' 'kubectl -n test describe canary meshed'
    sed 's/^/# routes-pending: /' "$BATS_TEST_TMPDIR/why" >&3
}

@test "it is suspended, was rolled back, or is being deleted" {
    canary still 'metrics: []'
    kubectl -n test patch canary still --type merge -p '{"spec":{"suspend":true}}'
    because still suspended 'still is suspended.*spec.suspend is true' "kubectl -n test patch canary still --type merge -p '\{\"spec\":\{\"suspend\":false\}\}'"
    canary bad 'threshold: 1, webhooks: [{name: smoke, type: pre-rollout, url: "http://127.0.0.1:9/", timeout: 1s}]' quick || true
    kubectl -n test patch canary bad --type merge -p '{"spec":{"analysis":{"threshold":1}}}' >/dev/null
    eventually 60 phase_is bad Initialized
    image bad 2
    because bad failed 'Revision [0-9a-f]+ of bad was rolled back [0-9a-z]+ ago: .*smoke' 'kubectl canary restart bad -n test'
}

@test "as many releases are under way as may be" {
    canary late 'metrics: []'
    stop controller >/dev/null || true # it is no child of this test
    controller_start --max-concurrent-releases 1
    # Those of the tests before are under way: it is not the turn of this one.
    [ "$(kubectl -n test get canaries -o json | gojq '[.items[] | select(.status.phase == "Progressing" or .status.phase == "WaitingPromotion")] | length')" -ge 1 ]
    image late 2
    because late queued 'late waits for its turn, for [0-9a-z]+: as many releases are under way as the controller allows' 'kubectl canary get -A'
}

@test "the controller has lost its lease, or none has ever come" {
    read -r pid _ <"$DIR/controller.pid"
    kill -KILL "$pid"
    rm "$DIR/controller.pid"
    because rest lease-lost 'No controller works on rest: its lease kube-system/flagger-leader-election was last renewed .* ago by ' 'kubectl get pods -A'
    kubectl -n kube-system delete lease flagger-leader-election
    canary new 'metrics: []' '' quick 2>/dev/null || true
    because new no-controller 'No controller has looked at new since it was made'
}

# Of Canaries, and of ReleasePlans.
situations_of_code() {
    local why=$BATS_TEST_DIRNAME/../../controller/ctl/why
    find "$why" -name '*.c' ! -name '*_test.c' -exec grep -ohE '^ *(const struct why_situation why_[a-z]+\[\] = )?\{"[a-z-]+",|\{"[a-z-]+", [a-z_]+\}' {} + |
        grep -oE '"[a-z-]+"'
    grep -ohE '"plan-[a-z-]+"' "$why/release_plan.c"
}

@test "the tables of situations are in the manual" {
    skip_unless() { [ -e "$1" ] || skip "no $1"; }
    skip_unless "$BATS_TEST_DIRNAME/../../deploy/manual/ctl.md"
    [ "$(sed -n '/^| situation/,/^$/s/^| `\([a-z-]*\)` .*/\1/p' "$BATS_TEST_DIRNAME/../../deploy/manual/ctl.md" | sort)" = \
        "$(situations_of_code | tr -d '"' | sort -u)" ]
}
