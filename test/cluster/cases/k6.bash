# Load by k6's own operator: a TestRun of three runners, whose percentiles are those of all samples; and a release that is judged by TestRuns, without a
# metric server. Rights as the chart gives them.
[ -x "$CLUSTER_CACHE/k6-operator" ] || skipped 'there is no operator of k6; test/setup --cluster builds it'
needs controller
kubectl create namespace "$case-load" >/dev/null
# Its makers' manifest, without the proxy before its metrics.
gojq --yaml-input --yaml-output --arg version "$K6_OPERATOR" 'select(. != null) | if .kind == "Deployment" then .spec.template.spec.containers |= [.[0]
    | .image = "ghcr.io/grafana/k6-operator:controller-v" + $version | .args = ["--enable-leader-election"] | .resources = {}] else . end' \
    "$CLUSTER_CACHE/k6-operator.yaml" | kubectl apply --server-side -f - >"$state/never-kept"
kubectl wait --for=condition=established --timeout=30s crd/testruns.k6.io >/dev/null
kubectl -n k6-operator-system rollout status deployment/k6-operator-controller-manager --timeout 120s
cat >"$state/script.$case.js" <<'JS'
import http from 'k6/http';
export const options = { scenarios: { all: { executor: 'shared-iterations', vus: 6, iterations: Number(__ENV.REQUESTS || 6) } } };
export default function () { http.get(__ENV.TARGET_URL || 'http://127.0.0.1/'); }
JS
kubectl -n "$case-load" create configmap script --from-file=test.js="$state/script.$case.js" >/dev/null
cat >"$state/k6.$case.yaml" <<YAML
image: {repository: registry.example.com/flagger-loadtester}
jobs:
  enabled: true
  k6: true
  namespace: $case-load
  maxPods: 3
  templates:
    k6:
      apiVersion: k6.io/v1alpha1
      kind: TestRun
      spec:
        script: {configMap: {name: script, file: test.js}}
        arguments: --out json=/dev/stdout
        runner:
          image: ghcr.io/grafana/k6-operator:runner-v$K6_OPERATOR
          env: [{name: K6_NO_USAGE_REPORT, value: "true"}]
          resources: {requests: {cpu: 1m, memory: 64Mi}}
        starter: {image: "registry.example.com/flagger-loadtester:0.1.0"}
YAML
helm upgrade --install k6 deploy/charts/loadtester --namespace "$case" --wait --timeout 120s --values "$state/k6.$case.yaml" >/dev/null
may() { [ "$(kubectl auth can-i "$@" --as "system:serviceaccount:$case:k6-loadtester" 2>/dev/null || true)" = "${expected:-yes}" ]; }
for verb in create get list delete; do may "$verb" testruns.k6.io -n "$case-load" || fail "it may not $verb TestRuns"; done
expected=no may patch testruns.k6.io -n "$case-load" || fail 'it may patch TestRuns'
expected=no may create testruns.k6.io -n "$case" || fail 'it may create TestRuns in another namespace'
expected=no may get secrets -n "$case-load" || fail 'it may read secrets'
podinfo 6.0.0
metadata() { echo "{type: k6, template: k6, parallelism: \"3\", requests: \"$1\", url: \"http://$2.$case/\"}"; }
load="http://k6-loadtester.$case/"
canary "interval: 5s, iterations: 2, threshold: 2, webhooks: [{name: load, url: \"$load\", timeout: 20s, metadata: $(metadata 300 podinfo-canary)}],
    metrics: [{name: failed, loadTest: {figure: failure-rate}, thresholdRange: {max: 1}}, {name: slow, loadTest: {figure: p99}, thresholdRange: {max: 20000}}, {name: enough, loadTest: {figure: requests}, thresholdRange: {min: 300}}]"
comes Initialized
clients_at_service
# One TestRun by hand, and the logs of its runners.
service=$(k get service k6-loadtester -o jsonpath='{.spec.clusterIP}')
asked() { # PHASE: of a Canary that is not there
    curl -s -m 20 "http://$service/" -d "$(gojq --yaml-input -c . <<<"{name: by-hand, namespace: $case, phase: $1, checksum: c, release: r, step: one, metadata: $(metadata 600 podinfo)}")" >"$state/figures.$case"
}
by_hand() { asked Progressing && [ "$(gojq -r .state "$state/figures.$case")" = succeeded ]; }
within 300 by_hand || fail "$(cat "$state/figures.$case"); $(kubectl -n "$case-load" get testruns,pods)"
run=$(gojq -r .object "$state/figures.$case")
logs=()
for pod in $(kubectl -n "$case-load" get pods -l "k6_cr=$run,runner=true" -o name); do
    logs+=("$state/runner.${#logs[@]}.$case")
    kubectl -n "$case-load" logs "$pod" >"${logs[-1]}"
done
[ ${#logs[@]} -eq 3 ] || fail "the TestRun has ${#logs[@]} runners"
python3 test/real/percentiles.py "$state/figures.$case" "${logs[@]}"
echo "measured $(gojq -r '"\(.requests) requests of a TestRun, p50 \(.p50) p99 \(.p99) ms, as of all samples"' "$state/figures.$case")"
asked Failed
no_testruns() { [ -z "$(kubectl -n "$case-load" get testruns,jobs -o name)" ]; }
eventually no_testruns
# A release.
podinfo 6.0.1
comes Progressing
within 400 phase_is Succeeded || comes Succeeded
primary_runs 6.0.1
told 'its load test load runs'
echo "measured $(k get canary podinfo -o json | gojq -r '[.status.history[0] | .. | strings | select(startswith("{\"state\":"))][0] // "no figures in the status"')"
eventually no_testruns
WRONG=true podinfo 6.0.2
comes Progressing
within 400 phase_is Failed || comes Failed
primary_runs 6.0.1
told 'advancement failed'
eventually no_testruns
# A Canary that is deleted in the middle of one ends it.
podinfo 6.1.0
runs() { [ -n "$(kubectl -n "$case-load" get testruns -o name)" ]; }
within 300 runs
k delete canary podinfo --timeout 120s
eventually no_testruns
clients_end
helm uninstall k6 --namespace "$case" >/dev/null
