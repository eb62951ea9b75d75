# A real cluster's control plane on this machine, for test/real/run: etcd, kube-apiserver, kube-controller-manager and the
# pretend node. Everything listens on 127.0.0.1; $state is its folder.

free_ports() { # COUNT: so many ports that nobody listens on
    local port found=0
    for port in $(shuf -i 20000-29999 -n 200); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && continue
        echo "$port"
        found=$((found + 1))
        [ "$found" -lt "$1" ] || return 0
    done
    die "no free ports found"
}

# wait_for SECONDS WHAT COMMAND...: until the command succeeds
wait_for() {
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || die "$what did not come up; see the end of its log:
$(tail -n 3 "$state"/log/*.log)"
        sleep 0.1
    done
}

declare -A running=()
node_options=() # more for the pretend node

# start NAME PROGRAM ARGUMENT...: in the background, with a log of its own
start() {
    local name=$1
    shift
    "$@" >>"$state/log/$name.log" 2>&1 </dev/null &
    running[$name]=$!
}

# end NAME [SIGNAL]: and waits until it has ended
end() {
    local pid=${running[$1]:-}
    [ -n "$pid" ] || return 0
    kill "-${2:-TERM}" "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    unset "running[$1]"
}

# What keeps state goes with its folder, so it is killed: kube-apiserver waits for its clients when it is asked to end.
cluster_end() {
    controller_end || true
    end testnode
    end kube-controller-manager KILL
    [ ! -e "$state/kube-apiserver.pid" ] || apiserver_kill
    end etcd KILL
}

kubeconfig() { # TOKEN
    cat <<END
apiVersion: v1
kind: Config
clusters: [{name: real, cluster: {server: "https://127.0.0.1:$api", certificate-authority: "$state/pki/apiserver.crt"}}]
users: [{name: user, user: {token: "$1"}}]
contexts: [{name: real, context: {cluster: real, user: user}}]
current-context: real
END
}

# Users by token, as a service account would come: its name and groups are what counts for RBAC.
write_users() {
    cat >"$state/tokens" <<END
admin-token,admin,admin,"system:masters"
node-token,testnode,testnode,"system:masters"
flagger-token,system:serviceaccount:flagger-system:flagger,flagger,"system:serviceaccounts,system:serviceaccounts:flagger-system"
replica-0-token,system:serviceaccount:flagger-system:flagger,replica-0,"system:serviceaccounts,system:serviceaccounts:flagger-system"
replica-1-token,system:serviceaccount:flagger-system:flagger,replica-1,"system:serviceaccounts,system:serviceaccounts:flagger-system"
narrow-token,system:serviceaccount:flagger-system:narrow,narrow,"system:serviceaccounts,system:serviceaccounts:flagger-system"
loadtester-token,system:serviceaccount:flagger-system:loadtester,loadtester,"system:serviceaccounts,system:serviceaccounts:flagger-system"
mesh-token,system:serviceaccount:flagger-system:flagger-mesh,mesh,"system:serviceaccounts,system:serviceaccounts:flagger-system"
END
    kubeconfig admin-token >"$state/kubeconfig"
    kubeconfig node-token >"$state/kubeconfig-node"
    local user
    for user in flagger replica-0 replica-1 narrow mesh loadtester; do kubeconfig "$user-token" >"$state/kubeconfig-$user"; done
    openssl genrsa -out "$state/service-accounts.key" 2048 2>/dev/null
    # Every request is a line of the audit log: how many a release takes, and whether one was refused. Of leases with what
    # was written, which says who holds them.
    cat >"$state/audit.yaml" <<END
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - {level: Request, users: ["system:serviceaccount:flagger-system:flagger"], resources: [{group: coordination.k8s.io, resources: [leases]}]}
  - {level: Metadata, users: ["system:serviceaccount:flagger-system:flagger"]}
  - {level: None}
END
}

api_healthy() { curl -sf -m 2 --cacert "$state/pki/apiserver.crt" -H 'Authorization: Bearer admin-token' "https://127.0.0.1:$api/readyz"; }

cluster_begin() { # ASSETS
    local peer ports
    mkdir -p "$state/log" "$state/pki" "$state/history"
    mapfile -t ports < <(free_ports 5)
    etcd=${ports[0]} peer=${ports[1]} api=${ports[2]} answers=${ports[3]} metrics=${ports[4]}
    write_users
    start etcd "$1/etcd" --data-dir "$state/etcd" --unsafe-no-fsync --log-level error \
        --listen-client-urls "http://127.0.0.1:$etcd" --advertise-client-urls "http://127.0.0.1:$etcd" \
        --listen-peer-urls "http://127.0.0.1:$peer"
    apiserver_begin "$1"
    export KUBECONFIG=$state/kubeconfig
    start kube-controller-manager "$1/kube-controller-manager" --kubeconfig "$state/kubeconfig" --leader-elect=false \
        --service-account-private-key-file "$state/service-accounts.key" --secure-port 0 --profiling=false \
        --controllers '*,-serviceaccount-token-controller'
}

# By itself, since a case may start it again after a kill. The address that it would tell pods is one that is nobody's
# (RFC 5737): asked to find one it looks for a default route, which a machine without a network does not have.
apiserver_begin() { # ASSETS
    "$1/kube-apiserver" --etcd-servers "http://127.0.0.1:$etcd" --cert-dir "$state/pki" \
        --secure-port "$api" --bind-address 127.0.0.1 --advertise-address 192.0.2.1 \
        --service-cluster-ip-range 10.0.0.0/16 \
        --service-account-key-file "$state/service-accounts.key" --service-account-issuer https://kubernetes.default \
        --service-account-signing-key-file "$state/service-accounts.key" --token-auth-file "$state/tokens" \
        --authorization-mode RBAC --disable-admission-plugins ServiceAccount \
        --enable-admission-plugins OwnerReferencesPermissionEnforcement \
        --audit-policy-file "$state/audit.yaml" --audit-log-path "$state/audit.log" --profiling=false \
        >>"$state/log/kube-apiserver.log" 2>&1 </dev/null &
    echo $! >"$state/kube-apiserver.pid"
    disown # bash would tell of the kill
    wait_for 60 kube-apiserver api_healthy
}
apiserver_kill() {
    kill -KILL "$(cat "$state/kube-apiserver.pid")" 2>/dev/null || true
    # Its port is free when all of its threads have ended.
    while (exec 3<>"/dev/tcp/127.0.0.1/$api") 2>/dev/null; do read -r -t 0.1 <>"$state/never" || true; done
}

# The CRDs, those of the Gateway API as a cluster has them; and what the controller may do.
cluster_furnish() {
    kubectl apply --server-side -f proto/crd -f test/data/crds/gateway-api.yaml >>"$state/log/kubectl.log"
    kubectl wait --for=condition=established --timeout=30s crd --all >>"$state/log/kubectl.log"
    kubectl create namespace flagger-system >>"$state/log/kubectl.log"
    kubectl apply -f deploy/controller/rbac.yaml >>"$state/log/kubectl.log"
    node_begin
}
node_begin() {
    start testnode "$build/flagger-testnode" --kubeconfig "$state/kubeconfig-node" --port "$answers" --record "$state/history" \
        "${node_options[@]}"
    wait_for 20 "the pretend node" grep -q '"event":"started"' "$state/log/testnode.log"
}

# The controller, started again when it was killed, as a cluster does. A lease that nobody gave back would hold the next one
# off for a minute, so it goes with its holder.
controller_keep_up() {
    local status
    while :; do
        "$build/flagger-controller" --kubeconfig "$state/kubeconfig-flagger" --address 127.0.0.1 --port "$metrics" \
            --mesh-provider gatewayapi:v1 --metrics-server "http://127.0.0.1:$answers" --min-analysis-interval 1s \
            --enable-leader-election --leader-election-namespace flagger-system >>"$state/log/controller.log" 2>&1 &
        echo $! >"$state/controller.pid"
        status=0
        { wait $! || status=$?; } 2>/dev/null # bash would tell of the kill
        if [ "$status" -eq 137 ] || { [ "$status" -eq 0 ] && [ -e "$state/controller.may_end" ]; }; then
            until kubectl -n flagger-system delete lease --all >>"$state/log/kubectl.log" 2>&1; do :; done
        elif [ "$status" -ne 0 ] || [ ! -e "$state/controller.again" ]; then
            break
        fi
        rm -f "$state/controller.again"
    done
    echo "the controller ended with status $status" >"$state/controller.ended"
}
controller_begin() {
    controller_keep_up </dev/null &
    running[controller]=$!
    wait_for 20 "the controller" curl -sf "http://127.0.0.1:$metrics/readyz"
}
controller_restart() {
    touch "$state/controller.again"
    kill -TERM "$(cat "$state/controller.pid")"
}
controller_kill() { kill -KILL "$(cat "$state/controller.pid")"; }
# An orderly end; anything else is told.
controller_end() {
    [ -n "${running[controller]:-}" ] || return 0
    kill -TERM "$(cat "$state/controller.pid")" 2>/dev/null || true
    end controller CONT
    [ "$(cat "$state/controller.ended")" = "the controller ended with status 0" ]
}
