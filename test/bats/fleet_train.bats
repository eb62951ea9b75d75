# Plans over several Applications, and with a budget of replicas: a management cluster and three members whose Canaries nobody
# releases but this test, which writes their statuses.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/daemon
    load ../lib/fleet
    local name
    clusters_begin one two three
    for name in one two three; do
        on "$name" create namespace test
        on "$name" create namespace shop
        fleet_member "$name" "wave=$([ "$name" = one ] && echo 1 || echo 2)"
    done
}

teardown_file() {
    load ../lib/daemon
    load ../lib/fleet
    clusters_end
}

setup() {
    load ../lib/daemon
    load ../lib/fleet
    daemon_start "$FLAGGER_BUILD/flagger-controller" fleet --allow-namespaces "default:*" --ui
}

teardown() { daemon_stop; }

canary() { # CLUSTER NAMESPACE NAME
    on "$1" apply -f - <<YAML
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $3, namespace: $2, labels: {app: $3}}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: $3}
  service: {port: 80}
  analysis: {interval: 1m, threshold: 1, stepWeight: 10}
YAML
}
primary() { # CLUSTER NAMESPACE NAME REPLICAS
    on "$1" apply -f - <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: $3-primary, namespace: $2}
spec:
  replicas: $4
  selector: {matchLabels: {app: $3-primary}}
  template: {metadata: {labels: {app: $3-primary}}, spec: {containers: [{name: app, image: "app:1"}]}}
YAML
}
# stands CLUSTER NAMESPACE NAME PHASE APPLIED PROMOTED: as its controller writes it
stands() {
    on "$1" -n "$2" patch canary "$3" --subresource=status --type merge \
        -p "{\"status\": {\"phase\": \"$4\", \"canaryWeight\": 0, \"failedChecks\": 0, \"iterations\": 0, \"lastAppliedSpec\": \"$5\", \"lastPromotedSpec\": \"$6\"}}"
}
held() { [ "$(KUBECONFIG=$DIR/$1 of_canary "$2" "$3" .spec.suspend)" = true ]; }
free() { ! held "$@"; }
application() { # NAME
    kubectl apply -f - <<YAML
apiVersion: apps.kurator.dev/v1alpha1
kind: Application
metadata: {name: $1, namespace: default}
spec:
  destination: {fleet: all}
  syncPolicies:
  - rollout: {workload: {name: $1, namespace: test}, serviceName: $1, port: 80, rolloutPolicy: {trafficRouting: {canaryStrategy: {stepWeight: 10}}}}
YAML
}
plan() { api_get "apis/flagger.app/v1alpha1/namespaces/default/releaseplans/$1" | gojq -e "$2" >/dev/null; }
says() { plan "$1" ".status.clusters[] | select(.name == \"$2\").says | test(\"$3\")"; }

@test "a train: in each wave one Application after the other, and one verdict" {
    for name in one two; do
        for app in api web; do canary "$name" test "$app" && stands "$name" test "$app" Succeeded 1 1; done
    done
    application api
    application web
    kubectl apply -f - <<'YAML'
apiVersion: flagger.app/v1alpha1
kind: ReleasePlan
metadata: {name: train, namespace: default}
spec: {train: [api, web], waves: [{name: first, clusterSelector: {matchLabels: {wave: "1"}}}, {name: rest}]}
YAML
    eventually 30 held two test api
    eventually 30 held two test web
    eventually 30 plan train '.status.phase == "Completed" and .status.revisions == {"test/api": "1", "test/web": "1"}'
    free one test api
    free one test web
    # The first one is released in the first wave: the second is held there.
    stands one test api Progressing 2 1
    eventually 30 held one test web
    eventually 30 says train one 'test/api releases revision 2'
    stands one test api Succeeded 2 2
    eventually 30 free one test web
    # Then in the next one, where the second has nothing to do yet.
    eventually 30 free two test api
    held two test web
    stands one test web Progressing 2 1
    stands one test web Succeeded 2 2
    eventually 30 plan train '.status.revisions == {"test/api": "2", "test/web": "2"}'
    held two test web
    eventually 30 says train two 'test/api is let go; 1 more'
    stands two test api Succeeded 2 2
    eventually 30 free two test web
    eventually 30 held two test api
    # One that fails holds all.
    stands two test web Failed 2 1
    eventually 30 plan train '.status.phase == "Stopped"'
    eventually 30 held two test web
    kubectl delete releaseplan train --timeout=30s
    free two test web
}

@test "a daemon that starts over finds the status right, and writes nothing" {
    for name in one two three; do
        canary "$name" shop app
        stands "$name" shop app Succeeded 1 1
    done
    kubectl apply -f - <<'YAML'
apiVersion: flagger.app/v1alpha1
kind: ReleasePlan
metadata: {name: rest, namespace: default}
spec: {canaries: {namespace: shop}, destination: {fleet: all}, waves: [{name: first, clusterSelector: {matchLabels: {wave: "1"}}}, {name: rest}]}
YAML
    eventually 30 plan rest '.status.phase == "Completed" and (.status.clusters | map(.name) == ["one", "three", "two"])'
    eventually 30 held two shop app
    eventually 30 held three shop app
    version() { kubectl get releaseplan rest -o jsonpath='{.metadata.resourceVersion}'; }
    settled() { curl -s "$DAEMON_URL/metrics" | grep -q '^flagger_fleet_clusters{state="reached"} 3' && curl -s "$DAEMON_URL/debug/plans" | gojq -e '.plans[0] | .doing == "resting" and .phase == "Completed"' >/dev/null; }
    eventually 30 settled
    eventually 30 plan rest '.status.waves[1].held == 2' # which it writes last
    before=$(version)
    for _ in 1 2 3; do
        daemon_stop
        daemon_start "$FLAGGER_BUILD/flagger-controller" fleet --allow-namespaces "default:*" --ui
        eventually 30 settled
        [ "$(version)" = "$before" ]
    done
    kubectl delete releaseplan rest --timeout=30s
}

@test "a budget of replicas: no more are let go than it allows, by what the primaries have" {
    for name in one two three; do
        canary "$name" shop app
        stands "$name" shop app Succeeded 1 1
    done
    primary one shop app 2
    primary two shop app 3
    primary three shop app 2
    kubectl apply -f - <<'YAML'
apiVersion: flagger.app/v1alpha1
kind: ReleasePlan
metadata: {name: share, namespace: default}
spec:
  canaries: {namespace: shop}
  destination: {fleet: all}
  budget: {maxReplicasPercent: 50}
  waves: [{name: first, clusterSelector: {matchLabels: {wave: "1"}}}, {name: rest}]
YAML
    eventually 30 held two shop app
    eventually 30 held three shop app
    stands one shop app Succeeded 2 2
    # Of 7 replicas 3 may be released at once.
    one_is_free() { [ "$(free two shop app && echo 1)$(free three shop app && echo 1)" = 1 ]; }
    eventually 30 one_is_free
    eventually 30 plan share '.status.clusters | map(.replicas) | sort == [2, 2, 3]'
    first=two second=three
    held three shop app || { first=three second=two; }
    eventually 30 says share "$second" 'waits for its turn: [23] of the 3 replicas that the budget allows are being released'
    held "$second" shop app
    stands "$first" shop app Succeeded 2 2
    eventually 30 held "$first" shop app
    eventually 30 free "$second" shop app
    # Without it nobody can be reached, and the status says since when.
    kill -KILL "$(cat "$DIR/three.pid")"
    eventually 60 says share three 'cannot be reached'
    eventually 30 plan share '.status.clusters[] | select(.name == "three").lastContact | test("^20")'
}
