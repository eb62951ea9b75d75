# Which Canaries a controller looks after, and how many releases at once.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/daemon
    DIR=$(mktemp -d /tmp/flagger-scope.XXXXXX)
    export DIR KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home
    mkdir "$HOME"
    "$FLAGGER_BUILD/flagger-sandbox" --kubeconfig "$KUBECONFIG" --crds "$BATS_TEST_DIRNAME/../../proto/crd" \
        --no-gateway --no-services >"$DIR/out" 2>"$DIR/log" </dev/null 3>&- &
    echo $! >"$DIR/sandbox"
    eventually 60 grep -q '^ready' "$DIR/out" || { cat "$DIR/log" && return 1; }
    local namespace
    for namespace in a b c; do
        kubectl create namespace "$namespace" >/dev/null
        app one red; app two red; app other blue
    done | kubectl apply -f - >"$DIR/applied"
}

teardown_file() {
    load ../lib/daemon
    DAEMON_PID=$(cat "$DIR/sandbox")
    kill -TERM "$DAEMON_PID" || true
    eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    rm -rf "$DIR"
}

setup() {
    load ../lib/daemon
}

teardown() {
    daemon_stop
}

app() { # NAME TEAM
    cat <<YAML
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, namespace: $namespace}
spec:
  replicas: 1
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 9898}]}]}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: $namespace, labels: {team: $2}}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}
  service: {port: 9898}
  analysis: {interval: 1s, threshold: 3, iterations: 3}
YAML
}

controller() {
    daemon_start "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --mesh-provider kubernetes --min-analysis-interval 1s "$@"
    eventually 20 curl -sf -o /dev/null "$DAEMON_URL/readyz"
}
# looks PATH FILTER: the answer is so
looks() { curl -s -m 10 "$DAEMON_URL/debug/$1" | gojq -e "$2" >/dev/null; }
lease() { kubectl -n "$1" get leases -o jsonpath='{.items[*].metadata.name}'; }

@test "namespaces and labels" {
    controller --namespace a,b --watch-selector team=red --enable-leader-election
    eventually 20 looks canaries '[.canaries[] | "\(.namespace)/\(.name)"] | sort == ["a/one", "a/two", "b/one", "b/two"]'
    looks process '[.watches[] | select(.resource == "canaries") | .namespace] | sort == ["a", "b"]'
    # another part of the cluster has another lease
    [[ $(lease kube-system) =~ ^flagger-leader-election-[0-9a-f]{8}$ ]]
    kubectl -n b label canary other team=red --overwrite
    eventually 20 looks canaries/b/other '.name == "other"'
    kubectl -n b label canary other team=blue --overwrite
    eventually 20 looks canaries '.canaries | length == 4'
}

@test "one namespace has its lease there" {
    controller --namespace c --enable-leader-election
    eventually 20 looks canaries '[.canaries[].namespace] == ["c", "c", "c"]'
    [ "$(lease c)" = flagger-leader-election ]
}

@test "one release at a time" {
    controller --max-concurrent-releases 1
    eventually 60 looks canaries '[.canaries[] | select(.phase == "Initialized" and .state == "idle")] | length == 9'
    kubectl -n a set image deployment/one deployment/two app=app:2
    kubectl -n b set image deployment/one app=app:2
    eventually 20 looks process '.releases == {underWay: 1, waiting: 2}'
    looks canaries '[.canaries[] | select(.waitsFor == "its turn: as many releases are under way as may be")] | length == 2'
    curl -s "$DAEMON_URL/metrics" | grep -qx 'flagger_releases{state="waiting"} 2'
    kubectl get canaries -A -o json |
        gojq -e '[.items[] | select(.status.conditions[] | .type == "Admitted" and .reason == "Queued")] | length == 2'
    eventually 90 looks canaries '[.canaries[] | select(.phase == "Succeeded")] | length == 3'
    eventually 20 looks process '.releases == {underWay: 0, waiting: 0}'
    # nobody began before the one before it had ended
    kubectl get events -A -o json | gojq -e '[.items[] | select(.message | test("New revision detected! Scaling up|Promotion completed!"))]
        | sort_by(.metadata.resourceVersion | tonumber) | [.[].message | if startswith("New") then "begun" else "ended" end]
        == ["begun", "ended", "begun", "ended", "begun", "ended"]'
}
