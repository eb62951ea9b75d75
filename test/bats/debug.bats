# Looking into a real controller while it works on a sandbox: /debug/process and /debug/canaries.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/daemon
    DIR=$(mktemp -d /tmp/flagger-debug.XXXXXX)
    export DIR KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home
    mkdir "$HOME"
    "$FLAGGER_BUILD/flagger-sandbox" --kubeconfig "$KUBECONFIG" --crds "$BATS_TEST_DIRNAME/../../proto/crd" \
        --gateway-port $((20000 + RANDOM % 10000)) >"$DIR/out" 2>"$DIR/log" </dev/null 3>&- &
    echo $! >"$DIR/sandbox"
    eventually 60 grep -q '^ready' "$DIR/out" || { cat "$DIR/log" && return 1; }
    kubectl create namespace test
    manifest | kubectl apply -f -
    kubectl -n test rollout status deploy/app --timeout 90s
    controller_start
    canary | kubectl apply -f -
}

teardown_file() {
    load ../lib/daemon
    DAEMON_PID=$(cat "$DIR/controller") DAEMON_LOG=$DIR/controller.log
    daemon_stop
    DAEMON_PID=$(cat "$DIR/sandbox")
    kill -TERM "$DAEMON_PID" || true
    eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    rm -rf "$DIR"
}

setup() {
    load ../lib/daemon
    DAEMON_URL=$(cat "$DIR/url")
}

controller_start() {
    daemon_start "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --mesh-provider kubernetes \
        --min-analysis-interval 1s
    echo "$DAEMON_PID" >"$DIR/controller"
    echo "$DAEMON_URL" >"$DIR/url"
}

# An app whose pods have a password in their environment, which no answer may show.
manifest() {
    cat <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: test}
spec:
  replicas: 1
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
      - name: app
        image: demo-app:1.0.0
        env: [{name: PASSWORD, value: hunter2}]
        ports: [{name: http, containerPort: 9898}]
        readinessProbe: {httpGet: {path: /readyz, port: http}}
YAML
}

# Its releases wait for a gate at which nobody answers, and whose path is a password.
canary() {
    cat <<YAML
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: app, namespace: test}
spec:
  provider: kubernetes
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: app}
  service: {port: 9898}
  analysis:
    interval: 1s
    threshold: 3
    iterations: 3
    webhooks:
    - {name: nobody, type: confirm-rollout, url: "http://127.0.0.1:9/hunter2", timeout: 1s, deadline: 30m}
YAML
}

look() { curl -s -m 10 "$DAEMON_URL/debug/$1"; }
# looks PATH FILTER: the answer is so
looks() { look "$1" | gojq -e "$2" >/dev/null; }

@test "a Canary that rests waits for a change, and its last plan is there" {
    eventually 60 looks canaries/test/app '.phase == "Initialized" and .state == "idle"'
    eventually 60 looks canaries/test/app '.waitsFor == "a change of what it depends on"'
    looks canaries/test/app '.lastPlan.text | test("status|patch")'
    looks canaries/test/app '.runs > 0 and (.wokenBy.what | length > 0) and (has("nextWakeup") | not)'
    looks canaries '.canaries == [.canaries[] | select(.name == "app" and .namespace == "test")] and (has("continue") | not)'
}

@test "the process tells its watches, queue and memory" {
    look process >"$BATS_TEST_TMPDIR/process"
    gojq -e '.leader.leads and .queue.maxRunning == 32 and .queue.waiting == 0' "$BATS_TEST_TMPDIR/process"
    gojq -e '.watches | map({(.resource): .}) | add | .canaries.objects == 1 and .deployments.objects == 2
           and (.deployments | .synced and .state == "streaming" and .lagSeconds < 300)' "$BATS_TEST_TMPDIR/process"
    gojq -e '.requests.otherWrites.burst == 250 and .requests.writesOfReleases.burst == 2500 and .server.answering == 1 and .memory.kept.canaries.count == 1' "$BATS_TEST_TMPDIR/process"
}

@test "a Canary that waits at a gate says so, and since when" {
    set_image test app app demo-app:2.0.0
    eventually 60 looks canaries/test/app '.phase == "Waiting"'
    eventually 30 looks canaries/test/app '[.conditions[] | select(.reason == "WaitingForRollout" and .since)] | length == 1'
    eventually 30 looks canaries/test/app '.state == "idle" and .nextWakeup'
    looks 'canaries?phase=Waiting' '.canaries | length == 1'
    looks 'canaries?phase=Initialized' '.canaries | length == 0'
}

@test "no answer shows what objects hold, nor the path of a URL" {
    for path in process canaries canaries/test/app; do
        for _ in $(seq 20); do look "$path" >>"$BATS_TEST_TMPDIR/all"; done
    done
    grep -q '"webhooksAndMetrics"' "$BATS_TEST_TMPDIR/all"
    refute grep -q hunter2 "$BATS_TEST_TMPDIR/all"
}

@test "what is wrong is one sentence" {
    answers 404 GET /debug/canaries/test/other
    gojq -e '.error | test("no such Canary")' "$BATS_TEST_TMPDIR/body"
    answers 404 GET /debug/canaries/test
    answers 404 GET /debug/canaries/test/app/more
    answers 400 GET '/debug/canaries?limit=many'
    answers 410 GET '/debug/canaries?continue=test/gone'
    answers 405 POST /debug/canaries
    answers 405 DELETE /debug/canaries/test/app
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Sec-Fetch-Site: cross-site' "$DAEMON_URL/debug/canaries")" = 403 ]
}

@test "a name that leads here is not enough to ask" {
    local name path
    for path in process canaries canaries/test/app; do
        for name in evil.example flagger.evil.example:8080; do
            [ "$(curl -s -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' -H "Host: $name" "$DAEMON_URL/debug/$path")" = 421 ]
            gojq -e '.error | test("by its address, localhost or the name of a Service")' "$BATS_TEST_TMPDIR/body"
        done
        for name in localhost flagger flagger.flagger-system.svc flagger.flagger-system.svc.cluster.local:8080; do
            [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Host: $name" "$DAEMON_URL/debug/$path")" = 200 ]
        done
    done
}

@test "with tokens of the page the same ones are asked for" {
    echo a-token-of-people-123 >"$BATS_TEST_TMPDIR/tokens"
    daemon_start "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --ui-token-file "$BATS_TEST_TMPDIR/tokens" \
        --enable-leader-election --namespace elsewhere
    answers 401 GET /debug/process
    answers 401 GET /debug/canaries
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer a-token-of-people-123' "$DAEMON_URL/debug/process")" = 200 ]
    daemon_stop
}

@test "--debug-endpoints=false answers none of it" {
    daemon_start "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --debug-endpoints=false \
        --enable-leader-election --namespace elsewhere
    answers 404 GET /debug/process
    answers 404 GET /debug/canaries
    answers 200 GET /metrics
    daemon_stop
}
