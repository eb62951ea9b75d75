# Canaries that are created over apps that run and are used, each with a client at its Service and one at the gateway: no
# request may fail, neither while the primary takes over nor when the target's pods go.

load ../lib/stage
load ../lib/apps

export APPS_IN=arrive

# Those that begin with k- use plain Services.
APPS="gateway k-services d-nodes"
# One more, control, loses its pods without anybody who takes over: the same clients must notice.

app() { # NAME: what its owner had before
    workload "$1" 1 && own_service "$1" && own_route "$1"
}

canary() { # NAME
    local provider=gatewayapi:v1 steps="stepWeight: 50, maxWeight: 50"
    [[ $1 != k-* ]] || { provider=kubernetes && steps="iterations: 2"; }
    cat <<END
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: arrive}
spec:
  provider: $provider
  targetRef: {apiVersion: apps/v1, kind: $(kind_of "$1"), name: $1}
  service:
    port: 80
    targetPort: 9898
    hosts: [$1.example.com]
    gatewayRefs: [{name: gateway, namespace: test}]
  analysis: {interval: 3s, threshold: 1, $steps}
END
}

pods_of() { kubectl -n arrive get pods -l "app=$1" -o name; }
has_no_pods() { [ -z "$(pods_of "$1")" ]; }
phase_in() { [ "$(of_canary arrive "$1" .status.phase)" = "$2" ]; }

setup_file() {
    stage_begin
    stage_enter
    clients_enter
    kubectl create namespace arrive >/dev/null
    for name in $APPS control; do app "$name"; done | kubectl apply -f - >/dev/null
    for name in $APPS control; do eventually 20 answers "$name"; done
    for name in $APPS control; do client "$name" 2 20; done
}

teardown_file() {
    clients_enter
    clients_end || true
    stage_end
}

setup() {
    stage_enter
    clients_enter
}

@test "Canaries are created over apps that serve" {
    for name in $APPS; do canary "$name"; done | kubectl apply -f - >/dev/null
    for name in $APPS; do
        eventually 60 phase_in "$name" Initialized
    done
}

@test "the targets keep their pods for a pause, and then they go" {
    name=$(awk '{print $1}' <<<"$APPS")
    api_look arrive canaries "$name" |
        gojq -e '[.status.conditions[] | select(.type == "Drained") | .status] | . == ["False"] or . == []'
    for name in $APPS; do eventually 60 has_no_pods "$name"; done
    for name in $APPS; do answers "$name"; done
    kubectl -n arrive scale deployment control --replicas=0 >/dev/null
    eventually 30 has_no_pods control
}

@test "the clients had no failed request" {
    unanswered() { ! answers control; }
    eventually 10 unanswered
    clients_end
    clients_judge
}
