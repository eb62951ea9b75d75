# alone: last
# A ScaledObject under a real KEDA, which asks the chart's Prometheus for the requests of the target's pods, through Traefik by steps: the primary's copy
# asks for the primary's, and gives it the pods that its load needs; the target's is paused while no release runs; in the release the canary has pods
# for its share before that grows.
[ -x "$CLUSTER_CACHE/keda" ] || skipped 'there is no KEDA; test/setup --cluster builds it'
needs gateway controller
# Its makers' manifest, without its admission webhooks and in another namespace than the case; the program of the adapter lies at the root of its image here.
sed 's/namespace: keda$/namespace: keda-system/; s/^  name: keda$/  name: keda-system/' "$CLUSTER_CACHE/keda.yaml" | gojq --yaml-input --yaml-output --arg version "$KEDA" 'select((.kind == "ValidatingWebhookConfiguration" or .metadata.name == "keda-admission") | not)
    | if .kind == "Deployment" then .spec.template.spec.containers[0] |= (.image |= sub(":main$"; ":" + $version) | .imagePullPolicy = "IfNotPresent" | .readinessProbe.initialDelaySeconds = 1
        | .resources = {} | if .name == "keda-metrics-apiserver" then .args[0] = "/keda-metrics-apiserver" else . end) else . end' | kubectl apply --server-side -f - >"$state/never-kept"
kubectl -n keda-system rollout status deployment/keda-operator --timeout 150s
kubectl -n keda-system rollout status deployment/keda-metrics-apiserver --timeout 150s
podinfo 6.0.0
k apply -f - <<YAML
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: podinfo}
spec:
  scaleTargetRef: {name: podinfo}
  minReplicaCount: 1
  maxReplicaCount: 6
  pollingInterval: 5
  cooldownPeriod: 30
  advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleDown: {stabilizationWindowSeconds: 30}}}}
  triggers:
  - name: requests
    type: prometheus
    metadata:
      serverAddress: http://flagger-prometheus.$SYSTEM:9090
      query: sum(rate(http_requests_total{kubernetes_namespace="$case",app="podinfo"}[30s]))
      threshold: "10"
YAML
canary 'interval: 10s, stepWeight: 25, maxWeight: 50, threshold: 3' "provider: gatewayapi:v1
  autoscalerRef: {apiVersion: keda.sh/v1alpha1, kind: ScaledObject, name: podinfo}" "hosts: [$case.example.com], gatewayRefs: [{name: gateway, namespace: traefik}]"
comes Initialized
clients_at_gateway
paused() { [ "$(k get scaledobject podinfo -o jsonpath='{.metadata.annotations.autoscaling\.keda\.sh/paused-replicas}')" = 0 ]; }
replicas() { k get deployment "$1" -o 'jsonpath={.spec.replicas}'; }
at_rest() { paused && [ "$(replicas podinfo)" = 0 ]; }
eventually at_rest
[[ $(k get scaledobject podinfo-primary -o json | gojq -r '.spec.triggers[0].metadata.query, .metadata.annotations') == *'app="podinfo-primary"'* ]] || fail "the primary's copy asks for others"
[ -z "$(k get scaledobject podinfo-primary -o jsonpath='{.metadata.annotations.autoscaling\.keda\.sh/paused-replicas}')" ] || fail "the primary's copy is paused"
# 40 requests a second at 10 a pod; on a busy machine clients send fewer.
loaded() { [ "$(k get deployment podinfo-primary -o 'jsonpath={.status.readyReplicas}')" -ge 3 ]; }
within 240 loaded || fail "the primary has $(replicas podinfo-primary) replicas: $(k get hpa -o wide)"
paused || fail 'while no release runs the ScaledObject of the target is not paused'
# A release: no share without pods for it.
podinfo 6.0.1
most=0 now='' deadline=$((SECONDS + 600))
# looked: phase, weight, ready pods of the canary, whether its ScaledObject is paused
looked() {
    k get canary/podinfo deployment/podinfo scaledobject/podinfo -o json | gojq -r '[.items[0].status.phase, .items[0].status.canaryWeight, .items[1].status.readyReplicas // 0,
        (.items[2].metadata.annotations."autoscaling.keda.sh/paused-replicas" != null)] | map(tostring) | join(" ")'
}
within 300 phase_is Progressing
until [ "$now" = Succeeded ]; do
    read -r now weight ready stands < <(looked)
    [ "$now" != Failed ] || fail 'the release has failed'
    if [ "$now" = Progressing ] && [ "$weight" -gt 0 ]; then
        if [ "$ready" -eq 0 ] || [ "$stands" = true ]; then fail "the canary has $weight percent of the requests and $ready pods; paused: $stands"; fi
    fi
    [ "$ready" -le "$most" ] || most=$ready
    [ "$SECONDS" -lt "$deadline" ] || fail "the Canary is $now"
    sleep 0.5
done
primary_runs 6.0.1
[ "$most" -ge 2 ] || fail "half of the load of three pods was given to $most"
eventually at_rest
within 240 loaded
[ "$(k get scaledobject podinfo -o 'jsonpath={.spec.minReplicaCount}')" = 1 ] || fail 'the least number of the ScaledObject was not put back'
echo "measured up to $most pods of the canary, $(replicas podinfo-primary) of the primary at 40 requests a second"
clients_end
k delete canary podinfo --timeout 90s
freed() { ! paused && [ "$(replicas podinfo)" -ge 1 ]; }
eventually freed
k delete scaledobject --all --timeout 60s
kubectl delete apiservice v1beta1.external.metrics.k8s.io
kubectl delete namespace keda-system --wait=false
