# Load from three pods by an indexed Job, of a template that the chart of the load tester mounts, with the rights that it gives: a good version
# is promoted by the figures of all pods, without a metric server, and one that answers with errors is rolled back by them.
needs controller
kubectl create namespace "$case-load" >/dev/null
cat >"$state/jobs.$case.yaml" <<YAML
image: {repository: registry.example.com/flagger-loadtester}
jobs:
  enabled: true
  namespace: $case-load
  maxPods: 3
  templates:
    hey:
      apiVersion: batch/v1
      kind: Job
      metadata: {annotations: {flagger.app/results: hey-csv}}
      spec:
        template:
          spec:
            terminationGracePeriodSeconds: 1
            automountServiceAccountToken: false
            containers:
              - name: hey
                image: registry.example.com/flagger-loadtester:0.1.0
                command: [hey, -o, csv, -n, \$(REQUESTS_PER_POD), -c, "2", \$(TARGET_URL)]
                resources: {requests: {cpu: 1m, memory: 16Mi}}
YAML
helm upgrade --install jobs deploy/charts/loadtester --namespace "$case" --wait --timeout 120s --values "$state/jobs.$case.yaml" >/dev/null
# The account has these rights and no more.
may() { [ "$(kubectl auth can-i "$@" --as "system:serviceaccount:$case:jobs-loadtester" 2>/dev/null || true)" = "${expected:-yes}" ]; }
for verb in create get list delete; do may "$verb" jobs.batch -n "$case-load" || fail "it may not $verb jobs"; done
may get pods --subresource=log -n "$case-load" || fail 'it may not read logs'
expected=no may create jobs.batch -n "$case" || fail 'it may create jobs in another namespace'
expected=no may get secrets -n "$case-load" || fail 'it may read secrets'
expected=no may create pods -n "$case-load" || fail 'it may create pods'
podinfo 6.0.0
canary "$CHECKED, webhooks: [{name: load, url: \"http://jobs-loadtester.$case/\", timeout: 20s, metadata: {type: job, template: hey, parallelism: \"3\", requests: \"300\", url: \"http://podinfo-canary.$case/\"}}],
    metrics: [{name: failed, loadTest: {figure: failure-rate}, thresholdRange: {max: 1}}, {name: enough, loadTest: {figure: requests}, thresholdRange: {min: 300}}]"
comes Initialized
clients_at_service
podinfo 6.0.1
comes Progressing
comes Succeeded
primary_runs 6.0.1
told 'its load test load runs'
echo "measured $(k get canary podinfo -o json | gojq -r '[.status.history[0] | .. | strings | select(startswith("{\"state\":"))][0] // "no figures in the status"')"
WRONG=true podinfo 6.0.2
comes Progressing
comes Failed
primary_runs 6.0.1
told 'Halt podinfo.'
no_jobs() { [ -z "$(kubectl -n "$case-load" get jobs -o name)" ]; }
eventually no_jobs
helm uninstall jobs --namespace "$case" >/dev/null
