# The kind Application, and what is made of one: an API server takes the definition, both spellings of an Application, and each
# object that is derived from it.
kubectl apply --server-side -f deploy/fleet/applications.yaml >/dev/null
kubectl wait --for=condition=established --timeout=30s crd/applications.apps.kurator.dev >/dev/null

# application NAME ROLLOUT: more of its rollout, as YAML within braces
application() {
    cat <<END
apiVersion: apps.kurator.dev/v1alpha1
kind: Application
metadata: {name: $1}
spec: {source: {gitRepository: {interval: 1m, url: "https://example.com/a"}}, syncPolicies: [{kustomization: {interval: 1m, prune: true}, rollout: {$2}}]}
END
}
rest="workload: {apiVersion: apps/v1, kind: Deployment, name: app, namespace: $case}, serviceName: app, port: 80"
metrics='{name: request-success-rate, thresholdRange: {min: 99.5}}, {name: errors, thresholdRange: {max: "1"}, customMetric: {provider: {type: prometheus, address: "http://prometheus:9090"}, query: up}}'
application today "testLoader: true, trafficRoutingProvider: istio, $rest, rolloutPolicy: {trafficRouting: {timeoutSeconds: 5, hosts: [a.example], canaryStrategy: {stepWeight: 10}, match: [{headers: {a: {exact: b}}}]}, trafficAnalysis: {checkIntervalSeconds: 60, checkFailedTimes: 2, metrics: [$metrics], webhooks: {command: [hey]}}}" | k apply -f - >/dev/null
application document "testLoader: {testLoader: true, removeOnDelete: true}, trafficRoutingProvider: nginx, $rest, rolloutPolicy: {trafficRouting: {host: a.example, analysisTimes: 3}, trafficAnalysis: {metrics: [$metrics], webhooks: [{timeoutSeconds: 15, commend: [hey]}, {command: [hey]}]}}" | k apply -f - >/dev/null
k get application today -o json | gojq -e '.spec | .source.gitRepository.interval == "1m" and .syncPolicies[0].kustomization.prune and (.syncPolicies[0].rollout |
    .testLoader == true and .rolloutPolicy.trafficRouting.match[0].headers.a.exact == "b" and .rolloutPolicy.trafficAnalysis.webhooks.command == ["hey"] and
    (.rolloutPolicy.trafficAnalysis.metrics | map(.thresholdRange) == [{min: 99.5}, {max: "1"}]))' >/dev/null || fail "of an Application is kept: $(k get application today -o json)"
k get application document -o json | gojq -e '.spec.syncPolicies[0].rollout | .testLoader.removeOnDelete and .rolloutPolicy.trafficAnalysis.webhooks[0].commend == ["hey"]' >/dev/null ||
    fail "of the other spelling is kept: $(k get application document -o json)"
application wrong "$rest, trafficRoutingProvider: linkerd, rolloutPolicy: {}" | k apply -f - >"$state/wrong.$case" 2>&1 && fail "another provider is taken"
grep -q 'spec.syncPolicies\[0\].rollout.trafficRoutingProvider: Unsupported value' "$state/wrong.$case" || fail "another provider is refused so: $(cat "$state/wrong.$case")"

# What both make is taken as well: Namespace or Ingress, Deployment, Service, MetricTemplate and Canary.
service='{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "app"}, "spec": {"selector": {"app": "app"}, "ports": [{"port": 80, "targetPort": 8080}]}}'
k apply -f - <<<"$service" >/dev/null
for name in today document; do
    { k get application "$name" -o json && echo --- && k get service app -o json && echo --- && kubectl get namespace "$case" -o json; } >"$state/$name.$case"
    "$build/kubectl-canary" objects "$state/$name.$case" >"$state/objects.$case" || fail "objects of $name"
    [ "$(gojq --yaml-input -s length "$state/objects.$case")" -eq 5 ] || fail "$name makes $(cat "$state/objects.$case")"
    kubectl apply --server-side --force-conflicts --dry-run=server -f "$state/objects.$case" >"$state/taken.$case" 2>&1 || fail "objects of $name are refused: $(cat "$state/taken.$case")"
done
"$build/kubectl-canary" fleet -n "$case" >"$state/fleet.$case" || fail "fleet: $(cat "$state/fleet.$case")"
grep -q "Deployment $case/app, this cluster: 1 Missing" "$state/fleet.$case" || fail "fleet shows $(cat "$state/fleet.$case")"
