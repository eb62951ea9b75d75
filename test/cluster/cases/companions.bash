# alone: last
# A NetworkPolicy that a policy controller enforces, a budget under a drain, a PodMonitor and a ServiceMonitor of a Prometheus, and Istio's
# AuthorizationPolicy: written for the target alone they do not hold for the primary, whose copies do, through a release, and which go with the Canary.
for program in kube-router prometheus-operator; do [ -x "$CLUSTER_CACHE/$program" ] || skipped "there is no $program; test/setup --cluster builds it"; done
command -v ipset >/dev/null || skipped 'there is no ipset; test/setup --cluster installs it'
part policies "$CLUSTER_CACHE/kube-router" --run-firewall=true --run-router=false --run-service-proxy=false --enable-cni=false --health-port=0 \
    --kubeconfig "$state/admin.kubeconfig" --hostname-override "$NODE" --iptables-sync-period 10s
# Its makers' manifest, in another namespace and without the Service of the kubelet that it writes.
kubectl create namespace prometheus-operator
gojq --yaml-input --yaml-output --arg namespace prometheus-operator 'if .metadata.namespace then .metadata.namespace = $namespace else . end
    | if .kind == "ClusterRoleBinding" then .subjects[].namespace = $namespace else . end
    | if .kind == "Deployment" then .spec.template.spec.containers[0].args |= map(select(startswith("--kubelet-") | not)) else . end' \
    "$CLUSTER_CACHE/prometheus-operator.yaml" | kubectl apply --server-side -f - >"$state/never-kept"
count=4 policy='' istio=''
if [ -e "$CLUSTER_CACHE/istio-crds.yaml" ]; then
    count=5 policy=', {kind: AuthorizationPolicy, name: callers}' istio=',authorizationpolicies'
    gojq --yaml-input --yaml-output 'select(.metadata.name == "authorizationpolicies.security.istio.io")' "$CLUSTER_CACHE/istio-crds.yaml" | kubectl apply --server-side -f -
fi
kubectl wait --for=condition=established --timeout=60s crd --all >"$state/never-kept"
kubectl -n prometheus-operator rollout status deployment/prometheus-operator --timeout 120s
needs controller loadtester
podinfo 6.0.0
k apply -f - <<YAML
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: wall}
spec:
  podSelector: {matchLabels: {app: podinfo}}
  policyTypes: [Ingress]
  ingress:
    - from:
        - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: clients}}
        - podSelector: {matchLabels: {app.kubernetes.io/name: prometheus}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: one}
spec: {minAvailable: 1, selector: {matchLabels: {app: podinfo}}}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: pods}
spec: {selector: {matchLabels: {app: podinfo}}, podMetricsEndpoints: [{port: http-metrics, interval: 5s}]}
---
apiVersion: v1
kind: Service
metadata: {name: metrics, labels: {scraped: "yes"}}
spec: {selector: {app: podinfo}, ports: [{name: http-metrics, port: 9797, targetPort: 9797}]}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: services}
spec: {selector: {matchLabels: {scraped: "yes"}}, endpoints: [{port: http-metrics, interval: 5s}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: prometheus}
rules:
  - {apiGroups: [""], resources: [pods, services, endpoints], verbs: [get, list, watch]}
  - {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: prometheus}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: prometheus}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: $case}]
---
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: all}
spec:
  image: docker.io/prom/prometheus:v2.53.5
  version: v2.53.5
  replicas: 1
  serviceAccountName: prometheus
  podMonitorSelector: {}
  serviceMonitorSelector: {}
  resources: {requests: {cpu: 1m, memory: 64Mi}}
YAML
[ -z "$istio" ] || k apply -f - <<YAML
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: callers}
spec: {selector: {matchLabels: {app: podinfo}}, action: ALLOW, rules: [{from: [{source: {namespaces: [clients]}}]}]}
YAML

# --- what holds, and for whom
address_of() { k get pods -l "$1" --field-selector status.phase=Running -o jsonpath='{.items[0].status.podIP}'; } # LABELS
# outsider LABELS: a pod of another namespace gets an answer of one with these labels
outsider() { in_pod curl -sf --max-time 2 -o /dev/null "http://$(address_of "$1"):9898/"; }
walled() { ! outsider "$1"; }
# scraped JOB COUNT: Prometheus gets the metrics of as many pods by it
scraped() {
    local found
    found=$(curl -sf --max-time 5 "http://$(address_of prometheus=all):9090/api/v1/query" --data-urlencode "query=sum(up{job=\"$1\"})" | gojq -r '.data.result[0].value[1] // "0"')
    [ "$found" = "$2" ]
}
copies() { k get "pdb,networkpolicies,podmonitors,services$istio" -o name | sed '/^service[/]podinfo-primary$/d' | grep -c -- '-primary$' || true; }
eventually walled app=podinfo
eventually scraped "$case/pods" 2
eventually scraped metrics 2
canary "interval: 5s, iterations: 4, threshold: 3"
comes Initialized
clients_at_service
# Without copies the primary is open, has no budget, and nothing measures it; which is told. The target keeps its pods for the Service.
eventually outsider app=podinfo-primary
told 'NetworkPolicy wall' && told 'ServiceMonitor services'
list="{kind: NetworkPolicy, name: wall}, {kind: PodDisruptionBudget, name: one}, {kind: PodMonitor, name: pods}, {kind: ServiceMonitor, name: services}$policy"
k patch canary podinfo --type merge -p "$(gojq --yaml-input -c . <<<"{spec: {companions: [$list]}}")"
all_copied() { [ "$(copies)" -eq "$count" ]; }
eventually all_copied
holds() { walled app=podinfo-primary && scraped "$case/pods-primary" 2 && scraped metrics-primary 2 && scraped "$case/pods" 0; }
eventually holds
if [ -n "$istio" ]; then [ "$(k get authorizationpolicy callers-primary -o json | gojq -c '[.spec.selector.matchLabels.app, .spec.action]')" = '["podinfo-primary","ALLOW"]' ] || fail "the copy of the AuthorizationPolicy is another one"; fi

# A drain evicts one pod that serves, and not the other one before the first has a successor.
drained=$state/drain.$case
kubectl drain "$NODE" --ignore-daemonsets --delete-emptydir-data --force --timeout 120s --pod-selector=app=podinfo-primary >"$drained" 2>&1 &
drain=$!
refused() { grep -q "violate the pod's disruption budget" "$drained"; }
eventually refused
[ "$(k get pods -l app=podinfo-primary --field-selector status.phase=Running -o name | wc -l)" -ge 1 ] || fail 'no pod of the primary is left'
kubectl uncordon "$NODE"
wait "$drain" || fail "the drain failed: $(tail -n 1 "$drained")"
k rollout status deployment/podinfo-primary --timeout 120s

# Through a release.
podinfo 6.0.1
comes Progressing
within 120 walled app=podinfo
walled app=podinfo-primary || fail 'the wall has a hole in the release'
comes Succeeded
primary_runs 6.0.1
eventually holds
echo "measured $(copies) copies; the outsider was refused by both sides, $(grep -c "violate the pod's disruption budget" "$drained") evictions by the budget, 2 pods of the primary scraped by each monitor"

# All is given back with the Canary: the originals hold for the target, which serves.
k delete canary podinfo --timeout 120s
given_back() { [ "$(copies)" -eq 0 ] && walled app=podinfo && scraped "$case/pods" 2 && scraped metrics 2; }
eventually given_back
clients_end
[ "$(k get pdb,networkpolicies,podmonitors,servicemonitors -o name | wc -l)" -eq 4 ] || fail "an original is gone: $(k get pdb,networkpolicies,podmonitors,servicemonitors -o name)"
# The next cases have no policy controller.
part_hold policies
for chain in INPUT FORWARD OUTPUT; do iptables -S "$chain" | sed -n 's/^-A\(.*KUBE-ROUTER.*\)/-D\1/p' | xargs -r -L 1 iptables; done
k delete prometheus all
kubectl delete namespace prometheus-operator --wait=false
