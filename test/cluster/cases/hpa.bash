# A HorizontalPodAutoscaler with a real metrics-server: the primary gets a copy of it that has numbers, in the release as well.
[ -x "$CLUSTER_CACHE/metrics-server" ] || skipped "there is no metrics-server; test/setup --cluster gets it"
needs controller
kubectl apply -f test/cluster/parts/metrics-server.yaml
kubectl -n kube-system rollout status deployment/metrics-server --timeout 90s
podinfo 6.0.0
k autoscale deployment podinfo --min 2 --max 4 --cpu-percent 400
canary "$CHECKED" 'autoscalerRef: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: podinfo}'
comes Initialized
clients_at_service
counted() { [ -n "$(k get hpa podinfo-primary -o 'jsonpath={.status.currentMetrics[0].resource.current.averageUtilization}')" ]; }
eventually counted
podinfo 6.0.1
comes Progressing
comes Succeeded
primary_runs 6.0.1
# Its pods are new, and are measured from their second look on.
eventually counted || fail 'the autoscaler of the primary has no numbers'
echo "measured $(k get hpa podinfo-primary -o 'jsonpath={.status.currentReplicas} pods at {.status.currentMetrics[0].resource.current.averageUtilization} percent')"
