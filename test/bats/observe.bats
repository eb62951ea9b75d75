# flagger-controller --observe beside a controller that releases: it foresees every step, writes nothing and calls nobody.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/daemon
    load ../lib/manifest
    load ../lib/sink
    DIR=$(mktemp -d /tmp/flagger-observe.XXXXXX)
    export DIR KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home
    mkdir "$HOME"
    "$FLAGGER_BUILD/flagger-sandbox" --kubeconfig "$KUBECONFIG" --crds "$BATS_TEST_DIRNAME/../../proto/crd" \
        --no-gateway --no-services >"$DIR/out" 2>"$DIR/log" </dev/null 3>&- &
    echo $! >"$DIR/sandbox"
    eventually 60 grep -q '^ready' "$DIR/out" || { cat "$DIR/log" && return 1; }
    work=$DIR sink_start 200 OK 3>&-
    echo "$SINK_PID" >"$DIR/sink.pid"
    kubectl create namespace test
    app steps gatewayapi:v1 'stepWeight: 25, maxWeight: 50' "$SINK" >"$DIR/apps"
    app blue kubernetes 'iterations: 2' "$SINK" >>"$DIR/apps"
    app refused gatewayapi:v1 'stepWeights: [50, 20]' "$SINK" >>"$DIR/apps"
    app targetless kubernetes 'iterations: 2' "$SINK" | gojq --yaml-input --yaml-output 'select(.kind == "Canary")' >"$DIR/targetless"
    kubectl apply -f "$DIR/targetless"
    kubectl apply -f "$DIR/apps"
    start controller
    start observer --observe --enable-leader-election
}

teardown_file() {
    load ../lib/daemon
    load ../lib/manifest
    local one
    for one in observer controller sandbox; do
        DAEMON_PID=$(cat "$DIR/$one")
        kill -TERM "$DAEMON_PID" || true
        eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    done
    kill "$(cat "$DIR/sink.pid")"
    rm -rf "$DIR"
}

setup() {
    load ../lib/daemon
    load ../lib/manifest
    DAEMON_URL=$(cat "$DIR/observer.url")
}

start() { # NAME OPTION...
    daemon_start "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --min-analysis-interval 1s "${@:2}"
    echo "$DAEMON_PID" >"$DIR/$1"
    echo "$DAEMON_LOG" >"$DIR/$1.log"
    echo "$DAEMON_URL" >"$DIR/$1.url"
}

app() { # NAME PROVIDER STEPS SINK
    one_pod "$1" test
    cat <<YAML
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: test}
spec:
  provider: $2
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}
  service: {port: 9898, gatewayRefs: [{name: gateway, namespace: infra}]}
  analysis:
    {interval: 2s, threshold: 3, $3, webhooks: [{name: load, type: rollout, url: "$4/load"}, {name: told, type: event, url: "$4/event"}]}
YAML
}

is_in() { [ "$(of_canary test "$1" .status.phase)" = "$2" ]; }
looks() { curl -s -m 10 "$DAEMON_URL/debug/canaries/test/$1" | gojq -e "$2" >/dev/null; }
# agrees NAME: all its steps were foreseen, and there were six at least
agrees() {
    eventually 30 looks "$1" '.observed.steps.agrees >= 6 and .differences == 0' || { grep observed_ "$(cat "$DIR/observer.log")" && return 1; }
}
counted() { curl -s "$DAEMON_URL/metrics" | awk -v "r=result=\"$1\"" '/^flagger_observed_steps_total/ && index($0, r) {n += $2} END {print n + 0}'; }

@test "each step of two releases is foreseen" {
    for one in steps blue; do eventually 60 is_in $one Initialized; done
    eventually 60 looks steps '.phase == "Initialized" and .observed.at == "Initialized"'
    eventually 60 looks blue '.phase == "Initialized"'
    set_image test steps app app:2
    set_image test blue app app:2
    eventually 60 looks steps '.observed.at == "Progressing" and (.observed.expected | map(.to) | index("Progressing, 25 percent"))'
    for one in steps blue; do eventually 90 looks $one '.phase == "Succeeded" and .state == "idle"'; done
    agrees steps
    agrees blue
    [ "$(counted agrees)" -ge 12 ]
    [ "$(counted differs)" -eq 0 ]
}

@test "what is otherwise is told" {
    kubectl -n test patch canary blue --subresource status --type merge -p '{"status": {"phase": "Failed"}}'
    eventually 30 looks blue '.observed.steps.differs == 1 and (.observed.lastDifference | test("from Succeeded to Failed"))'
    [ "$(counted differs)" -eq 1 ]
    grep '"event":"observed_differs"' "$(cat "$DIR/observer.log")" | gojq -e 'select(.canary == "blue.test")'
}

@test "what would hold each Canary is reported before anything is released" {
    local log
    log=$(cat "$DIR/observer.log")
    eventually 30 looks refused '.observed.waits | test("^its spec is refused: spec.analysis.stepWeights.1.: expected a weight above 50, found 20")'
    eventually 30 looks targetless '.observed.waits | test("^its target cannot be released: .*targetless.test")'
    looks steps '.observed.waits == null'
    curl -s -m 10 "$DAEMON_URL/debug/canaries" | gojq -e '[.canaries[] | select(.waits != null).name] | sort == ["refused", "targetless"]'
    [ "$(grep '"event":"observed_waits"' "$log" | gojq -rs '[.[].canary] | sort | join(" ")')" = 'refused.test targetless.test' ]
    # What holds these rules holds no other controller.
    kubectl -n test patch canary targetless --subresource status --type merge -p '{"status": {"phase": "Failed"}}'
    eventually 30 looks targetless '.observed.lastDifference | test("^it went from Initializing to Failed; expected it to stay at Initializing, since its target cannot be released: ")'
}

@test "it has written nothing and called nobody" {
    kubectl get --raw /sandbox/stats | tee "$BATS_TEST_TMPDIR/stats" |
        gojq -e '[.. | objects | select(.agent? == "flagger-observer") | .verb] | unique | length > 0 and (. - ["get", "list", "watch"]) == []'
    grep -q flagger-controller "$DIR/sink"
    refute grep -q flagger-observer "$DIR/sink"
}
