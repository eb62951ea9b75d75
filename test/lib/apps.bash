# Apps in the namespace $APPS_IN of a stage that are used while something is done to them: what their owners have, and two
# clients for each, at the gateway and at its Service. An app whose name begins with d- is a DaemonSet.

kind_of() { case $1 in d-*) echo DaemonSet ;; *) echo Deployment ;; esac }

workload() { # NAME SECONDS-UNTIL-READY
    cat <<END
---
apiVersion: apps/v1
kind: $(kind_of "$1")
metadata: {name: $1, namespace: $APPS_IN, labels: {app: $1}}
spec:
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec:
      containers:
        - name: app
          image: demo-app:1.0.0
          ports: [{name: http, containerPort: 9898}]
          readinessProbe: {httpGet: {path: /readyz, port: 9898}, initialDelaySeconds: $2, periodSeconds: 1}
END
}

own_service() { # NAME
    cat <<END
---
apiVersion: v1
kind: Service
metadata: {name: $1, namespace: $APPS_IN}
spec:
  selector: {app: $1}
  ports: [{name: http, port: 80, targetPort: 9898}]
END
}

own_route() { # NAME
    cat <<END
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: $1, namespace: $APPS_IN}
spec:
  hostnames: [$1.example.com]
  parentRefs: [{name: gateway, namespace: test}]
  rules: [{backendRefs: [{name: $1, port: 80}]}]
END
}

answers() { curl -sf -m 2 -o /dev/null -H "Host: $1.example.com" "$DEMO_GATEWAY/"; }

# Each test and its setup_file: where the clients write. clients_enter [FOLDER]
clients_enter() {
    export CLIENTS=$BATS_FILE_TMPDIR/clients${1:+/$1}
    mkdir -p "$CLIENTS"
}

# Two clients for the app, until clients_end: client NAME CONNECTIONS REQUESTS-A-SECOND
client() {
    local service
    service=$(api_look "$APPS_IN" services "$1" | gojq -r '.spec.clusterIP // ""')
    hey -z 300s -c "$2" -q "$3" -t 5 -host "$1.example.com" "$DEMO_GATEWAY/" >"$CLIENTS/$1.gateway" 2>&1 3>&- &
    echo $! >>"$CLIENTS/pids"
    hey -z 300s -c "$2" -q "$3" -t 5 -disable-keepalive "http://$service/" >"$CLIENTS/$1.service" 2>&1 3>&- &
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
    local file
    for file in "$CLIENTS"/*.gateway "$CLIENTS"/*.service; do
        grep -q 'Status code distribution\|Error distribution' "$file" || return 1
    done
}

# Every client was answered, and each time well. Of an app `control` the client of its Service must have noticed; the gateway may have
# waited for pods instead.
clients_judge() {
    local file good bad failed=""
    for file in "$CLIENTS"/*.gateway "$CLIENTS"/*.service; do
        good=$(sed -n 's/^ *\[200\][[:space:]]*\([0-9]*\) responses/\1/p' "$file")
        bad=$(hey_failures "$file" | tr -s '\n\t ' ' ')
        echo "# $(basename "$file"): ${good:-0} answered${bad:+, and $bad}" >&3
        case $file in
        */control.gateway) ;;
        */control.service) [ -n "$bad" ] || failed="$failed (the control did not fail)" ;;
        *) [ "${good:-0}" -gt 50 ] && [ -z "$bad" ] || failed="$failed $(basename "$file")" ;;
        esac
    done
    [ -z "$failed" ] || { echo "failed:$failed" && return 1; }
}
