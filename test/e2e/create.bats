# Canaries that are created over apps that run and are used, each with a client at its Service and one at the gateway: no
# request may fail, neither while the primary takes over nor when the target's pods go.

load ../lib/stage

# Those that begin with k- use plain Services, d- is a DaemonSet.
APPS="gateway k-services d-nodes"
# One more, control, loses its pods without anybody who takes over: the same clients must notice.

kind_of() { case $1 in d-*) echo DaemonSet ;; *) echo Deployment ;; esac }

app() { # NAME: what its owner had before
    cat <<END
---
apiVersion: apps/v1
kind: $(kind_of "$1")
metadata: {name: $1, namespace: arrive, labels: {app: $1}}
spec:
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec:
      containers:
        - name: app
          image: demo-app:1.0.0
          ports: [{name: http, containerPort: 9898}]
          readinessProbe: {httpGet: {path: /readyz, port: 9898}, initialDelaySeconds: 1, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: $1, namespace: arrive}
spec:
  selector: {app: $1}
  ports: [{name: http, port: 80, targetPort: 9898}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: $1, namespace: arrive}
spec:
  hostnames: [$1.example.com]
  parentRefs: [{name: gateway, namespace: test}]
  rules: [{backendRefs: [{name: $1, port: 80}]}]
END
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

answers() { curl -sf -m 2 -o /dev/null -H "Host: $1.example.com" "$DEMO_GATEWAY/"; }

client() { # NAME
    local service
    service=$(kubectl -n arrive get service "$1" -o jsonpath='{.spec.clusterIP}')
    hey -z 300s -c 2 -q 20 -t 5 -host "$1.example.com" "$DEMO_GATEWAY/" >"$CLIENTS/$1.gateway" 2>&1 3>&- &
    echo $! >>"$CLIENTS/pids"
    hey -z 300s -c 2 -q 20 -t 5 -disable-keepalive "http://$service/" >"$CLIENTS/$1.service" 2>&1 3>&- &
    echo $! >>"$CLIENTS/pids"
}

clients_end() {
    [ -e "$CLIENTS/pids" ] || return 0
    # shellcheck disable=SC2046
    kill -INT $(cat "$CLIENTS/pids") 2>/dev/null || true
    rm "$CLIENTS/pids"
    eventually 10 clients_done
}
clients_done() {
    for file in "$CLIENTS"/*.gateway "$CLIENTS"/*.service; do
        grep -q 'Status code distribution\|Error distribution' "$file" || return 1
    done
}

pods_of() { kubectl -n arrive get pods -l "app=$1" -o name; }
has_no_pods() { [ -z "$(pods_of "$1")" ]; }
phase_in() { [ "$(kubectl -n arrive get canary "$1" -o jsonpath='{.status.phase}')" = "$2" ]; }

setup_file() {
    stage_begin
    stage_enter
    export CLIENTS=$BATS_FILE_TMPDIR/clients
    mkdir "$CLIENTS"
    kubectl create namespace arrive >/dev/null
    for name in $APPS control; do app "$name"; done | kubectl apply -f - >/dev/null
    for name in $APPS control; do eventually 20 answers "$name"; done
    for name in $APPS control; do client "$name"; done
}

teardown_file() {
    CLIENTS=$BATS_FILE_TMPDIR/clients
    clients_end || true
    stage_end
}

setup() {
    stage_enter
    export CLIENTS=$BATS_FILE_TMPDIR/clients
}

@test "Canaries are created over apps that serve" {
    for name in $APPS; do canary "$name"; done | kubectl apply -f - >/dev/null
    for name in $APPS; do
        eventually 60 phase_in "$name" Initialized
    done
}

@test "the targets keep their pods for a pause, and then they go" {
    name=$(awk '{print $1}' <<<"$APPS")
    kubectl -n arrive get canary "$name" -o json |
        jq -e '[.status.conditions[] | select(.type == "Drained") | .status] | . == ["False"] or . == []'
    for name in $APPS; do eventually 60 has_no_pods "$name"; done
    for name in $APPS; do answers "$name"; done
    kubectl -n arrive scale deployment control --replicas=0 >/dev/null
    eventually 30 has_no_pods control
}

@test "the clients had no failed request" {
    failed=""
    unanswered() { ! answers control; }
    eventually 10 unanswered
    clients_end
    for file in "$CLIENTS"/*.gateway "$CLIENTS"/*.service; do
        good=$(sed -n 's/^ *\[200\][[:space:]]*\([0-9]*\) responses/\1/p' "$file")
        bad=$(sed -n '/^Status code distribution/,$p' "$file" | grep -E '^ *\[[0-9]+\]' | grep -vE '^ *\[200\].*responses' | tr -s '\n\t ' ' ' || true)
        echo "# $(basename "$file"): ${good:-0} answered${bad:+, and $bad}" >&3
        case $file in
        */control.*) [ -n "$bad" ] || failed="$failed (the control did not fail)" ;;
        *) [ "${good:-0}" -gt 50 ] && [ -z "$bad" ] || failed="$failed $(basename "$file")" ;;
        esac
    done
    [ -z "$failed" ] || { echo "failed:$failed" && return 1; }
}
