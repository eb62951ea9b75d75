# Through Traefik with Gateway API by steps, with built-in metrics and a MetricTemplate asked of the chart's Prometheus: a good version is promoted,
# one that answers with errors is rolled back on its numbers.
needs gateway controller loadtester
podinfo 6.0.0
k apply -f - <<YAML
apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: errors}
spec:
  provider: {type: prometheus, address: "http://flagger-prometheus.$SYSTEM:9090"}
  query: |
    100 * (sum(rate(traefik_service_requests_total{service=~"{{ namespace }}-{{ target }}-canary-.*", code=~"5.."}[{{ interval }}])) or vector(0))
    / sum(rate(traefik_service_requests_total{service=~"{{ namespace }}-{{ target }}-canary-.*"}[{{ interval }}]))
YAML
through_gateway "interval: 10s, stepWeight: 20, maxWeight: 60, threshold: 3, metrics: [
    {name: request-success-rate, thresholdRange: {min: 99}, interval: 30s}, {name: request-duration, thresholdRange: {max: 500}, interval: 30s},
    {name: errors, templateRef: {name: errors}, thresholdRange: {max: 1}, interval: 30s}],
    webhooks: [{name: load, type: rollout, url: \"http://flagger-loadtester.$SYSTEM/\", metadata: {cmd: \"hey -z 30s -q 10 -c 2 http://podinfo-canary.$case/\"}}]"
comes Initialized
clients_at_gateway
good_then_wrong
