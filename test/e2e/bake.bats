# A version bakes under all traffic while the former one is kept warm, as clients see it: through a gateway, and on plain Services.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/stage
    stage_begin
    stage_enter
    gate open
    api_merge test canaries podinfo '{"spec":{"analysis":{"interval":"2s","stepWeight":50,"maxWeight":50,"metrics":[],
        "bake":{"for":"20s"}}}}'
    kubectl apply -f - >/dev/null <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: plain, namespace: test, labels: {app: plain}}
spec:
  replicas: 2
  progressDeadlineSeconds: 60
  selector: {matchLabels: {app: plain}}
  template:
    metadata: {labels: {app: plain}}
    spec:
      containers:
        - name: app
          image: demo-app:1.0.0
          ports: [{name: http, containerPort: 9898}]
          readinessProbe: {httpGet: {path: /readyz, port: 9898}, periodSeconds: 1}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: plain, namespace: test}
spec:
  provider: kubernetes
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: plain}
  service: {port: 80, targetPort: 9898}
  analysis:
    interval: 1s
    threshold: 2
    iterations: 1
    metrics: [{name: request-success-rate, interval: 10s, thresholdRange: {min: 99}, noData: pass}]
    bake: {for: 15s}
END
    kubectl -n test wait canary/plain --for=condition=promoted --timeout=120s
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
    explain_failure
    [ -z "${CLIENT:-}" ] || kill "$CLIENT" 2>/dev/null || true
    [ -z "${PODS:-}" ] || kill "$PODS" 2>/dev/null || true
}

phase_of() { [ "$(of_canary test "$1" .status.phase)" = "$2" ]; }
bakes() { [ -n "$(of_canary test "$1" '.status.conditions[] | select(.type == "Baked") | .message')" ]; }
primary_is() { [ "$(kubectl -n test get deployment "$1-primary" -o jsonpath='{.spec.template.spec.containers[0].image} {.status.readyReplicas}')" = "demo-app:$2 $3" ]; }
address_of() { api_look test services "$1" | gojq -r '.spec.clusterIP // ""'; }
# answers_of URL: the versions that a hundred new connections find, each once
answers_of() { curl -s -m 20 -o /dev/null -H 'Host: app.example.com' -H 'Connection: close' -w '%{http_code} %header{x-demo-version}\n' "$1/?[1-100]" | sort -u; }
answered_by() { [ "$(answers_of "$1")" = "200 $2" ]; }
# client NAME: forty new connections a second to the Service; a line with code and version for each
client() {
    curl -s -m 5 --rate 40/s -o /dev/null -H 'Connection: close' -w '%{stderr}%{http_code} %header{x-demo-version}\n' \
        "http://$(address_of "$1")/?[1-1000000]" 2>"$BATS_TEST_TMPDIR/client" 3>&- &
    CLIENT=$!
}

@test "a version that bakes has all requests, undo brings back those of the former one, and none fails" {
    ready=$(api_look test deployments podinfo-primary | gojq -r '.status.readyReplicas // ""')
    client_begin
    release 2.1.0
    eventually 120 bakes podinfo
    eventually 10 answered_by "$DEMO_GATEWAY" 2.1.0
    primary_is podinfo 1.0.0 "$ready"
    run -0 "$FLAGGER_BUILD/kubectl-canary" why podinfo -n test
    [[ $output == *'Nothing holds podinfo: its new version bakes'* ]]
    "$FLAGGER_BUILD/kubectl-canary" undo podinfo -n test >/dev/null
    eventually 10 answered_by "$DEMO_GATEWAY" 1.0.0
    primary_is podinfo 1.0.0 "$ready"
    eventually 60 phase_of podinfo Succeeded
    [ "$(client_failed)" = 0 ]
}

@test "a version that has baked is promoted, and none of the requests fails" {
    client_begin
    release 2.2.0
    eventually 120 bakes podinfo
    primary_is podinfo 1.0.0 "$(api_look test deployments podinfo-primary | gojq -r '.status.readyReplicas // ""')"
    eventually 120 phase_of podinfo Succeeded
    answered_by "$DEMO_GATEWAY" 2.2.0
    [ "$(client_failed)" = 0 ]
}

# pods_over_time: begins a table of the ready pods of both Deployments, a line each time that it changes: after which time, version and pods of
# primary and target
pods_over_time() {
    local begin=$SECONDS now last=
    while sleep 0.5; do
        now=$(kubectl -n test get deployment podinfo-primary podinfo -o json |
            gojq -r '[.items[] | "\(.spec.template.spec.containers[0].image | ltrimstr("demo-app:")):\(.status.readyReplicas // 0)"] | join(" ")')
        [ "$now" = "$last" ] || echo "$((SECONDS - begin))s $now"
        last=$now
    done >"$BATS_TEST_TMPDIR/pods" 2>/dev/null 3>&- &
    PODS=$!
}
pods_changed() { [ "$(wc -l <"$BATS_TEST_TMPDIR/pods")" -gt 1 ]; }
# went_back VERSION: undone to it, all clients get it, and none of their requests has failed
went_back() {
    eventually 10 answered_by "$DEMO_GATEWAY" "$1"
    eventually 60 phase_of podinfo Succeeded
    eventually 60 primary_is podinfo "$1" "$ready"
    answered_by "$DEMO_GATEWAY" "$1"
    [ "$(client_failed)" = 0 ]
    eventually 20 pods_changed # what lasts less than a look of a busy machine is not in the table
    kill "$PODS"
    echo "# pods of primary and target: $(paste -sd, "$BATS_TEST_TMPDIR/pods")" >&3
}

@test "undo leads back within its window without a check, and none of the requests fails" {
    api_merge test canaries podinfo '{"spec":{"rollback":{"window":"30m"},"analysis":{"bake":null,"interval":"20s"}}}'
    ready=$(api_look test deployments podinfo-primary | gojq -r '.status.readyReplicas // ""')
    pods_over_time
    client_begin
    "$FLAGGER_BUILD/kubectl-canary" undo podinfo -n test >/dev/null
    went_back 1.0.0
}

@test "undo leads back after days, by the template of the history, and none of the requests fails" {
    # Four days pass for what the status says of them.
    api_look test canaries podinfo | gojq -c '.status.history |= map(. as $one | with_entries(select(.key | IN("began", "ended"))
        | .value |= (sub("\\.[0-9]+Z$"; "Z") | fromdate - 345600 | todate)) as $times | $one + $times) | {status: {history: .status.history}}' >"$BATS_TEST_TMPDIR/days"
    kubectl -n test patch canary podinfo --subresource status --type merge --patch-file "$BATS_TEST_TMPDIR/days" >/dev/null
    ready=$(api_look test deployments podinfo-primary | gojq -r '.status.readyReplicas // ""')
    pods_over_time
    client_begin
    "$FLAGGER_BUILD/kubectl-canary" undo podinfo -n test >/dev/null
    went_back 2.2.0
}

@test "on plain Services a version that has baked is promoted, and none of the requests fails" {
    client plain
    set_image test plain app demo-app:2.0.0
    eventually 120 bakes plain
    eventually 10 answered_by "http://$(address_of plain)" 2.0.0
    primary_is plain 1.0.0 2
    eventually 120 phase_of plain Succeeded
    answered_by "http://$(address_of plain)" 2.0.0
    primary_is plain 2.0.0 2
    kill "$CLIENT"
    run -1 grep -v '^200 ' "$BATS_TEST_TMPDIR/client"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/client")" -gt 100 ]
}

@test "on plain Services a version with errors is taken back from its bake, and fails no requests but its own" {
    client plain
    set_image test plain app demo-app:3.0.0-errors50
    eventually 120 bakes plain
    primary_is plain 2.0.0 2
    eventually 120 phase_of plain Failed
    eventually 10 answered_by "http://$(address_of plain)" 2.0.0
    primary_is plain 2.0.0 2
    kill "$CLIENT"
    echo "# a version with errors in its bake: $(sort "$BATS_TEST_TMPDIR/client" | uniq -c | sed 's/^ *//' | paste -sd,)" >&3
    run -1 grep -v '^200 \|^500 3\.0\.0$' "$BATS_TEST_TMPDIR/client"
}
