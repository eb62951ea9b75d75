# Through Contour with Envoy by steps, judged on Envoy's own numbers: a good version is promoted, one that answers with errors is rolled back.
if [ ! -x "$CLUSTER_CACHE/contour" ] || [ ! -x "$CLUSTER_CACHE/envoy" ]; then skipped "there is no Contour or no Envoy; test/setup --cluster gets them"; fi
needs contour controller
podinfo 6.0.0
canary "interval: 10s, stepWeight: 20, maxWeight: 60, threshold: 3, metrics: [
    {name: request-success-rate, thresholdRange: {min: 99}, interval: 30s}, {name: request-duration, thresholdRange: {max: 500}, interval: 30s}]" 'provider: contour'
# The host of the case leads to what the controller makes.
k apply -f - <<YAML
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: root}
spec:
  virtualhost: {fqdn: $case.example.com}
  includes: [{name: podinfo, namespace: $case}]
YAML
comes Initialized
address=$(kubectl -n projectcontour get service envoy -o jsonpath='{.spec.clusterIP}')
serves() { curl -sf -m 5 -o "$state/never-kept" -H "Host: $case.example.com" "http://$address/"; }
eventually serves
client new http://envoy.projectcontour/ "$case.example.com"
client kept http://envoy.projectcontour/ "$case.example.com" keep
good_then_wrong
