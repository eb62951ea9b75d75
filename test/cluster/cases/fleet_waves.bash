# alone: last
# A ReleasePlan over three members: this cluster in the first wave, and two API servers with controllers of their own in the second, where a pretended
# node says of pods that they are ready. The second wave goes one by one; its first member is lost while it releases, the others' releases are not
# touched, the plan says so, and when it is back all end on the new version.
needs controller
fleet_install
on() { kubectl --kubeconfig "$state/$1.kubeconfig" "${@:2}"; }
cp "$KUBECONFIG" "$state/paris.kubeconfig"

# member NAME NUMBER: an API server with what makes pods of Deployments and places them
member() {
    local name=$1 etcd=$((12000 + $2 * 10)) port=$((16443 + $2)) a=$CLUSTER_ASSETS pki=$state/pki
    part "etcd-$name" "$a/etcd" --data-dir "$state/etcd-$name" --listen-client-urls "http://127.0.0.1:$etcd" --advertise-client-urls "http://127.0.0.1:$etcd" \
        --listen-peer-urls "http://127.0.0.1:$((etcd + 1))" --initial-advertise-peer-urls "http://127.0.0.1:$((etcd + 1))" \
        --initial-cluster "default=http://127.0.0.1:$((etcd + 1))" --unsafe-no-fsync --log-level warn
    part "apiserver-$name" "$a/kube-apiserver" --etcd-servers "http://127.0.0.1:$etcd" --secure-port "$port" --bind-address 0.0.0.0 --advertise-address "$NODE_IP" \
        --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" --client-ca-file "$pki/ca.crt" \
        --service-account-key-file "$pki/sa.pub" --service-account-signing-key-file "$pki/sa.key" --service-account-issuer https://kubernetes.default.svc \
        --service-cluster-ip-range 10.97.0.0/16 --authorization-mode RBAC --disable-admission-plugins ServiceAccount
    sed "s,:6443,:$port," "$KUBECONFIG" >"$state/$name.kubeconfig"
    member_ready() { [ "$(on "$name" get --raw /readyz 2>/dev/null)" = ok ]; }
    within 60 member_ready
    part "manager-$name" "$a/kube-controller-manager" --kubeconfig "$state/$name.kubeconfig" --leader-elect=false --secure-port 0 \
        --controllers '*,-node-lifecycle-controller,-serviceaccount-token-controller,-service-lb-controller,-node-route-controller'
    part "scheduler-$name" "$a/kube-scheduler" --kubeconfig "$state/$name.kubeconfig" --leader-elect=false --secure-port $((port + 1000))
    on "$name" apply -f proto/crd >"$state/never-kept"
    on "$name" create -f - <<YAML
apiVersion: v1
kind: Node
metadata: {name: pretended}
YAML
    on "$name" patch node pretended --subresource=status -p '{"status": {"capacity": {"cpu": "8", "memory": "16Gi", "pods": "100"}, "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "100"}, "conditions": [{"type": "Ready", "status": "True", "reason": "Pretended", "message": "", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]}}'
    on "$name" patch node pretended --type merge -p '{"spec": {"taints": null}}'
    pretended "$name" &
    kubectl -n "$case" create secret generic "$name-admin" --from-file=kubeconfig="$state/$name.kubeconfig"
    k apply -f - <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: controller-$name}
spec:
  selector: {matchLabels: {app: controller-$name}}
  template:
    metadata: {labels: {app: controller-$name}}
    spec:
      containers:
        - name: controller
          image: registry.example.com/flagger-controller:0.1.0
          args: [--kubeconfig=/member/kubeconfig, --mesh-provider=kubernetes, --min-analysis-interval=5s]
          volumeMounts: [{name: member, mountPath: /member}]
      securityContext: {runAsUser: 10001, fsGroup: 10001}
      volumes: [{name: member, secret: {secretName: $name-admin}}]
YAML
}
pretended() { # NAME: its node, while the case runs
    local line n=1
    while :; do
        sleep 1
        on "$1" get pods -A -o json --request-timeout 5s 2>/dev/null | gojq -r '.items[] | select(.spec.nodeName) |
            if .metadata.deletionTimestamp then "gone" elif .status.phase == "Pending" then "new" else empty end + " " + .metadata.namespace + " " + .metadata.name' |
            while read -r word namespace pod; do
                n=$((n % 250 + 1))
                if [ "$word" = gone ]; then on "$1" -n "$namespace" delete pod "$pod" --grace-period 0 --force; else
                    on "$1" -n "$namespace" patch pod "$pod" --subresource=status -p "{\"status\": {\"phase\": \"Running\", \"podIP\": \"10.250.0.$n\", \"podIPs\": [{\"ip\": \"10.250.0.$n\"}], \"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}]}}"
                fi
            done
    done >"$state/log/pretended-$1.log" 2>&1 || true
}
# delivered VERSION: the same template everywhere, since a revision is its hash
delivered() {
    podinfo "$1"
    for name in berlin rome; do
        k get deployment podinfo -o json | gojq -c '{spec: {template: .spec.template}}' >"$state/template.$case"
        on "$name" -n "$case" patch deployment podinfo --type merge --patch-file "$state/template.$case"
    done
}
the_canary() { canary "$CHECKED" && k label canary podinfo team=shop; }
joined() { # NAME WAVE
    k create secret generic "$1" --from-file=value="$state/$1.kubeconfig"
    k label secret "$1" "flagger.app/cluster=$1" flagger.app/fleet=europe "wave=$2"
}
member berlin 1
member rome 2
trap 'kill %% %- 2>/dev/null || true' EXIT
for name in berlin rome; do on "$name" create namespace "$case"; done
podinfo 6.0.0
the_canary
for name in berlin rome; do
    k get deployment podinfo -o json | gojq '{apiVersion, kind, metadata: {name: "podinfo"}, spec: (.spec | .replicas = 1)}' | on "$name" -n "$case" create -f -
    k get canary podinfo -o json | gojq '{apiVersion, kind, metadata: {name: .metadata.name, labels: .metadata.labels}, spec}' | on "$name" -n "$case" apply -f -
done
state_of() { on "$1" -n "$case" get canary podinfo -o jsonpath='{.status.phase}' 2>/dev/null; }
in_phase() { [ "$(state_of "$1")" = "$2" ]; } # MEMBER PHASE
runs() { [[ $(on "$1" -n "$case" get deployment podinfo-primary -o jsonpath='{.spec.template.spec.containers[0].image}') == *":$2" ]]; }
for name in paris berlin rome; do eventually in_phase "$name" Initialized; done
clients_at_service
joined paris first
joined berlin rest
joined rome rest
k apply -f - <<YAML
apiVersion: flagger.app/v1alpha1
kind: ReleasePlan
metadata: {name: shop}
spec:
  canaries: {namespace: $case, selector: {matchLabels: {team: shop}}}
  destination: {fleet: europe}
  waves:
  - {name: first, clusterSelector: {matchLabels: {wave: first}}}
  - {name: rest, maxConcurrent: 1}
YAML
held() { [ "$(on "$1" -n "$case" get canary podinfo -o jsonpath='{.spec.suspend}')" = true ]; }
eventually held berlin
eventually held rome
plan() { k get releaseplan shop -o json | gojq -e "$1" >"$state/never-kept"; }
delivered 6.0.1
eventually runs paris 6.0.1
# One of the second wave has begun: it is lost.
begun() { for lost in berlin rome; do if in_phase "$lost" Progressing; then return; fi; done; false; }
eventually begun
other=$([ "$lost" = berlin ] && echo rome || echo berlin)
part_hold "apiserver-$lost"
named_lost() { plan "[.status.waves[].clusters[]?, .status.clusters[]?] | any(.state == \"Unreachable\")"; }
eventually named_lost
sleep 15
runs "$other" 6.0.0 || fail "$other was released while $lost, of which no more than one may be under way, is not known"
in_phase paris Succeeded
part_go "apiserver-$lost"
for name in paris berlin rome; do eventually runs "$name" 6.0.1; done
complete() { plan '.status.phase == "Completed"'; }
eventually complete
# A fresh start of the daemon goes on with what is there.
kubectl -n "$SYSTEM" delete pod -l app.kubernetes.io/name=flagger-fleet --wait=false
delivered 6.0.2
for name in paris berlin rome; do eventually runs "$name" 6.0.2; done
eventually complete
k delete releaseplan shop --timeout 60s
kubectl -n "$SYSTEM" delete deployment flagger-fleet
for name in berlin rome; do
    k delete deployment "controller-$name"
    for program in scheduler manager apiserver etcd; do part_hold "$program-$name"; done
done
echo "measured $lost lost while $other waited"
