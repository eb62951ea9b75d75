# Shares by number of pods on plain Services: releases without a mesh, one promoted and one rolled back, as clients of the Service see them.

bats_require_minimum_version 1.5.0

# app NAME ANALYSIS: a Deployment of four pods with a label besides the selector's, and its Canary
app() {
    sed "s/NAME/$1/g" <<END
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: test, labels: {app: NAME}}
spec:
  replicas: 4
  progressDeadlineSeconds: 60
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME, app.kubernetes.io/name: NAME}}
    spec:
      containers:
        - name: app
          image: demo-app:1.0.0
          ports: [{name: http, containerPort: 9898}]
          readinessProbe: {httpGet: {path: /readyz, port: 9898}, periodSeconds: 1}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: NAME, namespace: test}
spec:
  provider: kubernetes
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}
  service: {port: 80, targetPort: 9898}
  analysis: $2
END
}

# worker NAME: the same without a Service: its pods get their work from jobs_begin(), and the counter of their failures decides
worker() {
    app "$1" '{"interval": "1s", "threshold": 2, "steps": [{"weight": 20, "for": "20s"}, {"weight": 50}],
        "metrics": [{"name": "failures", "interval": "10s", "templateRef": {"name": "failures"}, "thresholdRange": {"max": 0}}]}' |
        sed '/^  service: /d'
    cat <<END
---
apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: failures, namespace: test}
spec:
  provider: {type: prometheus, address: "$DEMO_PROMETHEUS"}
  query: sum(rate(http_request_duration_seconds_count{kubernetes_namespace="{{ namespace }}", kubernetes_pod_name=~"{{ target }}-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)", status=~"5.*"}[{{ interval }}])) or vector(0)
END
}

setup_file() {
    load ../lib/stage
    stage_begin
    stage_enter
    {
        app good '{"interval": "1s", "threshold": 1000, "steps": [{"weight": 20, "gate": true}, {"weight": 50, "gate": true}]}'
        app bad '{"interval": "1s", "threshold": 2, "steps": [{"weight": 30}, {"weight": 50, "for": "10m"}],
            "metrics": [{"name": "request-success-rate", "interval": "10s", "thresholdRange": {"min": 99}}]}'
        worker worker
    } | kubectl apply -f - >/dev/null
    for name in good bad worker; do kubectl -n test wait "canary/$name" --for=condition=promoted --timeout=120s; done
}

teardown_file() {
    load ../lib/stage
    stage_end
}

setup() {
    load ../lib/stage
    stage_enter
}

teardown() {
    [ -z "${JOBS:-}" ] || kill "$JOBS" 2>/dev/null || true
    [ -z "${CLIENT:-}" ] || kill "$CLIENT" 2>/dev/null || true
}

status_is() { [ "$(of_canary test "$1" ".status.$2")" = "$3" ]; }
push() { set_image test "$1" app "demo-app:$2"; }
service() { api_look test services "$1" | gojq -c "$2"; }
service_says() { [ "$(service "$1" "$2")" = "$3" ]; }
replicas_are() { [ "$(api_look test deployments "$1" | gojq -r '.spec.replicas // ""')" = "$2" ]; }
address_of() { api_look test services "$1" | gojq -r '.spec.clusterIP // ""'; }

# client NAME: in the background, forty new connections a second to the Service; a line with code and version for each
client() {
    curl -s -m 5 --rate 40/s -o /dev/null -H 'Connection: close' -w '%{stderr}%{http_code} %header{x-demo-version}\n' \
        "http://$(address_of "$1")/?[1-1000000]" 2>"$BATS_TEST_TMPDIR/client" 3>&- &
    CLIENT=$!
}
# ask NAME COUNT: "20 of 100": the answers of the new version
ask() {
    curl -s -m 20 -o /dev/null -H 'Connection: close' -w '%{http_code} %header{x-demo-version}\n' "http://$(address_of "$1")/?[1-$2]" >"$BATS_TEST_TMPDIR/asked"
    echo "$(grep -c '^[0-9]* [23]\.' "$BATS_TEST_TMPDIR/asked" || true) of $(grep -c . "$BATS_TEST_TMPDIR/asked")"
}
# is_share NAME ONE OF: the new version has one of so many pods' requests, within half of a pod's
is_share() {
    local got
    got=$(ask "$1" 1000)
    echo "# by number of pods: $got requests with $2 of $3 pods" >&3
    got=${got% of 1000}
    [ $((got * $3 * 2)) -ge $((1000 * (2 * $2 - 1))) ] && [ $((got * $3 * 2)) -le $((1000 * (2 * $2 + 1))) ]
}

# jobs_begin: each ready pod takes some jobs at a time, as from a queue; a line with code and version for each, 000 of
# one that was not taken, as its pod had gone
jobs_begin() {
    while :; do
        api_get api/v1/namespaces/test/pods | gojq -r '.items[] | select(.metadata.labels["app.kubernetes.io/name"] == "worker" and .metadata.deletionTimestamp == null)
            | select([.status.conditions[]? | select(.type == "Ready" and .status == "True")] != []) | "http://\(.status.podIP):9898/?[1-5]"' |
            xargs -r -n 1 curl -s -m 5 -o /dev/null -w '%{http_code} %header{x-demo-version}\n' >>"$BATS_TEST_TMPDIR/jobs" || true
        sleep 0.1
    done 3>&- &
    JOBS=$!
}

@test "the share is that of the pods, and the promotion fails no request" {
    service_says good .spec.selector '{"app":"good-primary"}'
    client good
    push good 2.0.0
    eventually 120 status_is good paused.by 'spec.analysis.steps[0].gate'
    status_is good canaryWeight 20
    status_is good canaryPods.percent 20.0
    replicas_are good 1
    replicas_are good-primary 4
    service_says good .spec.selector '{"app.kubernetes.io/name":"good"}'
    eventually 30 is_share good 1 5
    # The manifest of the Service is applied again.
    api_merge test services good '{"spec":{"selector":{"app":"good"}}}'
    eventually 30 service_says good .spec.selector '{"app.kubernetes.io/name":"good"}'
    "$FLAGGER_BUILD/kubectl-canary" resume good -n test >/dev/null
    eventually 120 status_is good paused.by 'spec.analysis.steps[1].gate'
    replicas_are good 4
    replicas_are good-primary 4
    eventually 30 is_share good 4 8
    "$FLAGGER_BUILD/kubectl-canary" resume good -n test >/dev/null
    eventually 120 status_is good phase Succeeded
    service_says good '.spec.selector, .metadata.annotations["flagger.app/canary-share"]' $'{"app":"good-primary"}\nnull'
    eventually 60 replicas_are good 0
    [ "$(ask good 100)" = "100 of 100" ]
    kill "$CLIENT"
    run -1 grep -v '^200 ' "$BATS_TEST_TMPDIR/client"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/client")" -gt 100 ]
}

@test "a version with errors is rolled back, and has had its share alone" {
    client bad
    push bad 3.0.0-errors50
    eventually 120 status_is bad canaryWeight 30
    status_is bad canaryPods.canary 2
    eventually 120 status_is bad phase Failed
    service_says bad '.spec.selector, .metadata.annotations["flagger.app/canary-share"]' $'{"app":"bad-primary"}\nnull'
    eventually 60 replicas_are bad 0
    replicas_are bad-primary 4
    [ "$(ask bad 100)" = "0 of 100" ]
    kill "$CLIENT"
    echo "# a version with errors got: $(sort "$BATS_TEST_TMPDIR/client" | uniq -c | sed 's/^ *//' | paste -sd,)" >&3
    # What failed is the new version's own: half of its share.
    run -1 grep -v '^200 \|^500 3\.0\.0$' "$BATS_TEST_TMPDIR/client"
}

@test "no share is given while another pod has the labels in common" {
    kubectl -n test apply -f - >/dev/null <<END
apiVersion: v1
kind: Pod
metadata: {name: debug, namespace: test, labels: {app.kubernetes.io/name: good}}
spec: {containers: [{name: app, image: "demo-app:1.0.0", ports: [{containerPort: 9898}]}]}
END
    push good 2.1.0
    eventually 120 eval '[ -n "$(of_canary test good ".status.conditions[] | select(.type == \"SharePossible\") | .message")" ]'
    run -0 "$FLAGGER_BUILD/kubectl-canary" why good -n test
    [[ $output == *'Pod debug in namespace test: its pods have all labels'* ]]
    service_says good .spec.selector '{"app":"good-primary"}'
    kubectl -n test delete pod debug >/dev/null
    eventually 120 status_is good paused.by 'spec.analysis.steps[0].gate'
    "$FLAGGER_BUILD/kubectl-canary" abort good -n test >/dev/null
    eventually 120 status_is good phase Failed
    service_says good .spec.selector '{"app":"good-primary"}'
}

@test "a worker without a Service is promoted, and rolled back by a counter of failures" {
    run kubectl -n test get services -o name
    [[ $output != *worker* ]]
    replicas_are worker-primary 4
    jobs_begin
    push worker 2.0.0
    eventually 120 status_is worker canaryWeight 20
    status_is worker canaryPods.percent 20.0
    replicas_are worker 1
    eventually 90 status_is worker phase Succeeded
    eventually 60 replicas_are worker 0
    echo "# jobs of a worker: $(sort "$BATS_TEST_TMPDIR/jobs" | uniq -c | sed 's/^ *//' | paste -sd,)" >&3
    grep -q '^200 2' "$BATS_TEST_TMPDIR/jobs"
    run -1 grep '^5' "$BATS_TEST_TMPDIR/jobs"
    push worker 3.0.0-errors50
    eventually 120 status_is worker canaryWeight 20
    eventually 90 status_is worker phase Failed
    eventually 60 replicas_are worker 0
    replicas_are worker-primary 4
    [ "$(api_look test deployments worker-primary | gojq -r '.spec.template.spec.containers[0].image // ""')" = demo-app:2.0.0 ]
    # What failed is the new version's own.
    run -1 grep -v '^200 \|^500 3\.0\.0$\|^000 ' "$BATS_TEST_TMPDIR/jobs"
    run kubectl -n test get services -o name
    [[ $output != *worker* ]]
}
