# PodSecurity "restricted": a release in such a namespace, and the pods of controller and gate as chart and manifest make them. The load
# tester is root with three capabilities by default, and fits with the user of Flagger's chart.
needs controller
k label namespace "$case" pod-security.kubernetes.io/enforce=restricted
podinfo 6.0.0
canary "$CHECKED"
comes Initialized
clients_at_service
podinfo 6.0.1
comes Succeeded
primary_runs 6.0.1
kubectl create namespace "$case-daemons"
kubectl label namespace "$case-daemons" pod-security.kubernetes.io/enforce=restricted pod-security.kubernetes.io/warn=restricted
warned() { # of what the pods in these objects violate
    kubectl -n "$case-daemons" apply --dry-run=server -f - 2>&1 >/dev/null | grep -c 'would violate PodSecurity' || true
}
[ "$(helm template flagger deploy/charts/flagger --namespace "$case-daemons" 2>/dev/null | gojq --yaml-input 'select(.kind == "Deployment")' | warned)" = 0 ] || fail 'the controller violates "restricted"'
[ "$(gojq --yaml-input 'select(.kind == "Deployment")' deploy/gate/gate.yaml | warned)" = 0 ] || fail 'the gate violates "restricted"'
loadtester() { helm template flagger-loadtester deploy/charts/loadtester --namespace "$case-daemons" "$@" 2>/dev/null | gojq --yaml-input 'select(.kind == "Deployment")' | warned; }
[ "$(loadtester --set securityContext.enabled=true --set-json 'securityContext.context={"runAsUser":10001,"runAsGroup":10001,"runAsNonRoot":true,"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}}')" = 0 ] ||
    fail 'the load tester as user 10001 violates "restricted"'
echo "measured the load tester as root: $(loadtester) pod refused"
kubectl delete namespace "$case-daemons" --wait=false
