# Which Canaries a controller looks after, and how many releases at once.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/daemon
    load ../lib/manifest
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
    load ../lib/manifest
    DAEMON_PID=$(cat "$DIR/sandbox")
    kill -TERM "$DAEMON_PID" || true
    eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    rm -rf "$DIR"
}

setup() {
    load ../lib/daemon
    load ../lib/manifest
}

teardown() {
    daemon_stop
}

app() { # NAME TEAM
    one_pod "$1" "$namespace"
    cat <<YAML
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

@test "one release at a time" {
    controller --max-concurrent-releases 1
    eventually 60 looks canaries '[.canaries[] | select(.phase == "Initialized" and .state == "idle")] | length == 9'
    kubectl -n a set image deployment/one deployment/two app=app:2
    set_image b one app app:2
    eventually 20 looks process '.releases == {underWay: 1, waiting: 2}'
    eventually 20 looks canaries '[.canaries[] | select(.waitsFor == "its turn: as many releases are under way as may be")] | length == 2'
    curl -s "$DAEMON_URL/metrics" | grep -qx 'flagger_releases{state="waiting"} 2'
    api_look '' canaries |
        gojq -e '[.items[] | select(.status.conditions[] | .type == "Admitted" and .reason == "Queued")] | length == 2'
    eventually 90 looks canaries '[.canaries[] | select(.phase == "Succeeded")] | length == 3'
    eventually 20 looks process '.releases == {underWay: 0, waiting: 0}'
    # nobody began before the one before it had ended
    api_look '' events | gojq -e '[.items[] | select(.message | test("New revision detected! Scaling up|Promotion completed!"))]
        | sort_by(.metadata.resourceVersion | tonumber) | [.[].message | if startswith("New") then "begun" else "ended" end]
        == ["begun", "ended", "begun", "ended", "begun", "ended"]'
}

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

# driver NAME: who has written its name into the Canary of namespace b
driver() { api_look b canaries "$1" | gojq -r '.status.controller // ""'; }
phase() { api_look b canaries | gojq -e "[.items[].status | select(.phase == \"$1\" and .controller)] | length == 3" >/dev/null; }
release() { # VERSION: in namespace b
    local name
    for name in one two other; do set_image b "$name" app "app:$1"; done
    eventually 60 images "$1"
    eventually 30 phase Succeeded
}
images() { api_look b deployments | gojq -e "[.items[] | select(.metadata.name | test(\"-primary\")) | .spec.template.spec.containers[0].image == \"app:$1\"] | all" >/dev/null; }

begun_and_ended() { # SINCE COUNT: so many events of namespace b tell of a begin or an end
    api_look b events | gojq -e --argjson since "$1" --argjson count "$2" '
        [.items[] | select((.metadata.resourceVersion | tonumber) > $since and (.message | test("New revision detected! Scaling up|Promotion completed!"))) | .count // 1]
        | add == $count' >/dev/null
}

@test "of two controllers whose parts overlap each Canary has one, and who is left out says so" {
    local first first_url name last
    controller --namespace a,b --enable-leader-election
    first=$DAEMON_PID first_url=$DAEMON_URL
    controller --namespace b,c --enable-leader-election
    last=$(api_look '' events | gojq '[.items[].metadata.resourceVersion | tonumber] | max')
    release 3
    # each release was begun and ended by one alone
    eventually 20 begun_and_ended "$last" 6 # the last event comes after the status
    for name in one two other; do [[ $(driver "$name") == kube-system/flagger-leader-election-* ]]; done
    eventually 30 left_out 3
    api_look b events | gojq -e '[.items[] | select(.message | test("leaves this Canary alone: status.controller names kube-system/")) | .involvedObject.name] | unique == ["one", "other", "two"]'
    looks canaries '[.canaries[] | select(.namespace == "c")] | length == 3'

    # one that ends is followed by the other, which has seen its lease for long enough
    kill -TERM "$first"
    release 4
    eventually 20 left_out 0
    for name in one two other; do [ "$(driver "$name")" = "$(driver one)" ]; done
}
left_out() { # COUNT: as both say, or the one that is left
    local url
    for url in "$first_url" "$DAEMON_URL"; do curl -s "$url/metrics" || true; done |
        awk -v wanted="$1" '/^flagger_canaries_of_others{/ { count += $2 } END { exit count != wanted }'
}

@test "a Canary with another label goes to whose part it is in" {
    local red
    controller --watch-selector team=red --enable-leader-election
    red=$DAEMON_PID
    controller --watch-selector team=blue --enable-leader-election
    set_image a one app app:3
    eventually 60 runs 3
    kubectl -n a label canary one team=blue --overwrite
    set_image a one app app:4
    eventually 60 runs 4
    kill -KILL "$red"
}
runs() { [ "$(api_look a deployments one-primary | gojq -r '.spec.template.spec.containers[0].image // ""')" = "app:$1" ]; }
