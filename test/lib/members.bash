# A fleet for a test: a management cluster, and member clusters with an app, clients, and a controller of their own. Each is a
# sandbox; between the management cluster and a member stands a relay (HAProxy), which can be cut off and can fall silent while
# the member goes on. Needs root, for Services on port 80. Everything lies in the folder $FLEET, and ends with fleet_end.
#
#   fleet_begin DIR                  the management cluster; kubectl reaches it
#   members_begin NAME:LABEL=VALUE...   members with the app, version 1.0.0, and its Canary, all at once; each is known to the
#                                    management cluster by a Secret with the label flagger.app/cluster and this one
#   member NAME ARGUMENT...          kubectl on the member
#   member_release NAME VERSION      delivers another version there
#   clients_begin NAME, clients_end  ten requests a second to its app, as long as it is told; then clients_count
#   link_cut, link_hang, link_back NAME   what the management cluster has of it
#   controller_kill, controller_begin NAME   the controller of the member
#   fleet_end                        ends all of it; fails if a sanitizer has found something

# shellcheck source=test/lib/daemon.bash
source "${BASH_SOURCE[0]%/*}/daemon.bash"
FLEET_ROOT=$(realpath "${BASH_SOURCE[0]%/*}/../..")

# A port that nobody has; who asks at the same time gets another one.
fleet_port() {
    local port
    (
        flock 9
        while :; do
            port=$((30000 + ($(cat "$FLEET/port" 2>/dev/null || echo $((RANDOM % 2000))) + 1) % 2000))
            echo $((port - 30000)) >"$FLEET/port"
            (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
        done
        echo "$port"
    ) 9>"$FLEET/port.lock"
}

# fleet_run NAME COMMAND...: in the background, its process in $FLEET/NAME.pid
fleet_run() {
    local name=$1
    shift
    "$@" >"$FLEET/$name.out" 2>>"$FLEET/$name.log" </dev/null 3>&- &
    echo $! >"$FLEET/$name.pid"
}

# fleet_stop NAME [SIGNAL]: ends what fleet_run has started, which may have ended
fleet_stop() {
    [ -e "$FLEET/$1.pid" ] || return 0
    DAEMON_PID=$(cat "$FLEET/$1.pid")
    kill -CONT "$DAEMON_PID" 2>/dev/null || true
    kill "-${2:-TERM}" "$DAEMON_PID" 2>/dev/null || true
    eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    rm "$FLEET/$1.pid"
}

fleet_begin() {
    export FLEET=$1 KUBECONFIG=$1/management HOME=$1/home
    mkdir -p "$HOME"
    fleet_run sandbox.management "$FLAGGER_BUILD/flagger-sandbox" --no-gateway --no-services --kubeconfig "$KUBECONFIG" \
        --crds "$FLEET_ROOT/proto/crd,$FLEET_ROOT/deploy/fleet"
    eventually 60 grep -q '^ready' "$FLEET/sandbox.management.out" || { cat "$FLEET/sandbox.management.log" && return 1; }
}

fleet_end() {
    local file
    for file in "$FLEET"/clients.*.pid "$FLEET"/*.pid; do
        [ ! -e "$file" ] || fleet_stop "$(basename "$file" .pid)"
    done
    refute grep -lE 'ERROR: (Address|Leak)Sanitizer|runtime error' "$FLEET"/*.log
}

member() {
    local name=$1
    shift
    kubectl --kubeconfig "$FLEET/member.$name" "$@"
}

member_app() {
    cat <<YAML
apiVersion: v1
kind: Namespace
metadata: {name: test}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: podinfo, namespace: test}
spec:
  replicas: ${MEMBER_REPLICAS:-1}
  progressDeadlineSeconds: 60
  selector: {matchLabels: {app: podinfo}}
  template:
    metadata:
      labels: {app: podinfo}
      annotations: {prometheus.io/scrape: "true", prometheus.io/port: "9898"}
    spec:
      containers:
      - name: app
        image: demo-app:1.0.0
        ports: [{name: http, containerPort: 9898}]
        readinessProbe: {httpGet: {path: /readyz, port: 9898}, periodSeconds: 1}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: podinfo, namespace: test, labels: {app: podinfo}}
spec:
  provider: gatewayapi:v1
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: podinfo}
  progressDeadlineSeconds: 60
  service: {port: 80, targetPort: 9898, hosts: [app.example.com], gatewayRefs: [{name: gateway, namespace: test}]}
  analysis:
    interval: ${MEMBER_INTERVAL:-2s}
    threshold: 5
    maxWeight: 50
    stepWeight: ${MEMBER_STEP:-25}
    metrics: [{name: request-success-rate, thresholdRange: {min: 90}, interval: 10s, noData: hold}]
YAML
}

# What the management cluster has of a member: its kubeconfig, with the address of the relay.
member_secret() { # NAME LABEL=VALUE...
    local name=$1 port
    shift
    port=$(fleet_port)
    cat >"$FLEET/link.$name.cfg" <<CFG
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen link
  bind 127.0.0.1:$port
  server member $(gojq --yaml-input -r '.clusters[0].cluster.server | sub("https://"; "")' "$FLEET/member.$name")
CFG
    gojq --yaml-input --arg port "$port" '.clusters[0].cluster.server = "https://127.0.0.1:" + $port' "$FLEET/member.$name" >"$FLEET/kubeconfig.$name"
    link_back "$name"
    kubectl create secret generic "$name" --from-file="value=$FLEET/kubeconfig.$name" >/dev/null
    kubectl label secret "$name" "flagger.app/cluster=$name" "$@" >/dev/null
}

members_begin() {
    local one pid pids=()
    for one in "$@"; do
        member_begin "${one%%:*}" "${one#*:}" 3>&- &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid"; done
    for one in "$@"; do member_ready "${one%%:*}"; done
}

member_begin() { # NAME LABEL=VALUE...
    local name=$1 prometheus
    prometheus=$(fleet_port)
    echo "$prometheus" >"$FLEET/prometheus.$name"
    fleet_run "sandbox.$name" "$FLAGGER_BUILD/flagger-sandbox" --kubeconfig "$FLEET/member.$name" --prometheus "$prometheus" \
        --crds "$FLEET_ROOT/proto/crd"
    eventually 60 grep -q '^ready' "$FLEET/sandbox.$name.out" || { cat "$FLEET/sandbox.$name.log" && return 1; }
    controller_begin "$name"
    member_app | member "$name" apply -f - >/dev/null || return 1
    member_secret "$@"
}

member_canary() { KUBECONFIG=$FLEET/member.$1 of_canary test podinfo "$2"; }
member_phase() { member_canary "$1" .status.phase; }
member_phase_is() { [ "$(member_phase "$1")" = "$2" ]; }
member_weight() { member_canary "$1" .status.canaryWeight; }
member_ready() {
    eventually 90 member_phase_is "$1" Initialized || { tail -n 5 "$FLEET/controller.$1.log" && return 1; }
    eventually 30 member_serves "$1" 1.0.0
}
member_gateway() { sed -n 's/.* gateway=\(\S*\).*/\1/p' "$FLEET/sandbox.$1.out"; }
member_api() { sed -n 's/.*api-http=\(\S*\).*/\1/p' "$FLEET/sandbox.$1.out"; }
member_serves() { curl -s -m 5 -H 'Host: app.example.com' "$(member_gateway "$1")/" -o /dev/null -D - | grep -qi "x-demo-version: $2"; }
member_release() { member "$1" -n test set image deployment/podinfo "app=demo-app:$2" >/dev/null; }
member_held() { [ "$(member_canary "$1" '"\(.spec.suspend) \(.metadata.annotations["flagger.app/held-by"])"')" = "true $2" ]; }

controller_begin() {
    fleet_run "controller.$1" "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$FLEET/member.$1" --address 127.0.0.1 --port 0 \
        --mesh-provider gatewayapi:v1 --metrics-server "http://127.0.0.1:$(cat "$FLEET/prometheus.$1")" --tenant-addresses +loopback --min-analysis-interval 1s --log-level info
}
controller_kill() { fleet_stop "controller.$1" KILL; }

# A relay that is gone refuses connections; one that hangs takes them and says nothing.
link_cut() { fleet_stop "link.$1" KILL; }
link_hang() { kill -STOP "$(cat "$FLEET/link.$1.pid")"; }
link_back() {
    if [ -e "$FLEET/link.$1.pid" ]; then
        kill -CONT "$(cat "$FLEET/link.$1.pid")"
    else
        fleet_run "link.$1" haproxy -db -f "$FLEET/link.$1.cfg"
    fi
}

# --- clients: one curl each, which writes the status and the version of each answer

clients_begin() {
    fleet_run "clients.$1" stdbuf -oL curl -s -m 5 --rate 10/s -H 'Host: app.example.com' -o /dev/null \
        -w '%{http_code} %header{x-demo-version}\n' "$(member_gateway "$1")/?[1-1000000]"
}
clients_end() { fleet_stop "clients.$1"; }
# clients_count NAME [PATTERN]: how many answers there were, or those that a line as "200 2.0.0" fits; at any time
clients_count() { grep -cE "${2:-.}" "$FLEET/clients.$1.out" || true; }
clients_failed() { grep -vcE '^200 ' "$FLEET/clients.$1.out" || true; }
