# flagger-sandbox as a cluster: pods that run, Services and a gateway that carry traffic, and what happens when
# something is killed. kubectl, curl and hey are the real ones.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/daemon
    DIR=$(mktemp -d /tmp/flagger-cluster.XXXXXX)
    GATEWAY=$((20000 + RANDOM % 10000))
    export DIR KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home GATEWAY PROMETHEUS=$((GATEWAY + 10000))
    mkdir "$HOME"
    sandbox_begin
    kubectl create namespace test
}

teardown_file() {
    load ../lib/daemon
    sandbox_end
    rm -rf "$DIR"
}

setup() {
    load ../lib/daemon
}

sandbox_begin() {
    rm -f "$DIR/out" # what an earlier one said there would be taken for this one's
    "$FLAGGER_BUILD/flagger-sandbox" --kubeconfig "$KUBECONFIG" --gateway-port "$GATEWAY" --prometheus "$PROMETHEUS" \
        --nodes 2 --hosts "$DIR/hosts" --register echo.tools:8080=127.0.0.1:9 >"$DIR/out" 2>>"$DIR/log" </dev/null 3>&- &
    echo $! >"$DIR/pid"
    eventually 60 grep -q '^ready' "$DIR/out" || { cat "$DIR/log" && return 1; }
}

sandbox_end() {
    DAEMON_PID=$(cat "$DIR/pid")
    kill -TERM "$DAEMON_PID" || true
    eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    if grep -qE 'ERROR: (Address|Leak)Sanitizer|runtime error' "$DIR/log"; then cat "$DIR/log" && return 1; fi
}

# app NAME TAG [REPLICAS]: a Deployment of the demo app and its Service
app() {
    cat <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, namespace: test}
spec:
  replicas: ${3:-1}
  progressDeadlineSeconds: 60
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec:
      containers:
      - name: app
        image: demo-app:$2
        ports: [{name: http, containerPort: 9898}]
        readinessProbe: {httpGet: {path: /readyz, port: http}}
---
apiVersion: v1
kind: Service
metadata: {name: $1, namespace: test}
spec:
  selector: {app: $1}
  ports: [{name: http, port: 9898, targetPort: http}]
YAML
}

# route NAME HOST WEIGHT_OF_A WEIGHT_OF_B
route() {
    cat <<YAML
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: $1, namespace: test}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [$2]
  rules:
  - backendRefs:
    - {name: a, port: 9898, weight: $3}
    - {name: b, port: 9898, weight: $4}
YAML
}

both_up() {
    { app a 1.0.0 && echo --- && app b 2.0.0; } | kubectl apply -f - >/dev/null
    kubectl -n test rollout status deploy/a --timeout 90s
    kubectl -n test rollout status deploy/b --timeout 90s
}

accepted() {
    [ "$(kubectl -n test get httproute "$1" -o jsonpath='{.metadata.generation} {.status.parents[0].conditions[?(@.type=="Accepted")].observedGeneration} {.status.parents[0].conditions[?(@.type=="Accepted")].status}')" = "$2 $2 ${3:-True}" ]
}

gateway() { curl -s -m 5 -H "Host: $1" "http://127.0.0.1:$GATEWAY${2:-/}"; }

# share HOST VERSION COUNT: how many of COUNT answers come from VERSION
share() {
    seq "$3" | xargs -P 2 -I{} curl -s -m 5 -H "Host: $1" "http://127.0.0.1:$GATEWAY/version" | grep -c "\"version\":\"$2\"" || true
}

only_200() {
    [[ $(hey_answers "$1") =~ ^\ *\[200\][^[]*$ ]] || { cat "$1" && return 1; }
}

@test "a rollout under traffic fails no request, through the Service and through the gateway" {
    app web 1.0.0 2 | kubectl apply -f -
    route web web.example.com 1 0 | sed 's/name: a,/name: web,/; /name: b,/d' | kubectl apply -f -
    kubectl -n test rollout status deploy/web --timeout 90s
    eventually 10 accepted web 1
    eventually 10 gateway web.example.com
    ip=$(kubectl -n test get svc web -o jsonpath='{.spec.clusterIP}')
    hey -z 6s -c 2 -q 40 -host web.example.com "http://127.0.0.1:$GATEWAY/" >"$DIR/hey-gateway" 3>&- &
    one=$!
    hey -z 6s -c 2 -q 40 "http://$ip:9898/" >"$DIR/hey-service" 3>&- &
    two=$!
    kubectl -n test set image deploy/web app=demo-app:2.0.0
    kubectl -n test rollout status deploy/web --timeout 90s
    eventually 5 sh -c "curl -s http://$ip:9898/version | grep -q 2.0.0"
    wait "$one" "$two"
    only_200 "$DIR/hey-gateway"
    only_200 "$DIR/hey-service"
}

@test "weights are shared out exactly, and a change of them is live when the status says so" {
    both_up
    route ab ab.example.com 100 0 | kubectl apply -f -
    eventually 10 accepted ab 1
    [ "$(share ab.example.com 2.0.0 40)" = 0 ]
    generation=1
    for weight in 5 50 100; do
        generation=$((generation + 1))
        route ab ab.example.com $((100 - weight)) $weight | kubectl apply -f -
        eventually 10 accepted ab $generation
        got=$(share ab.example.com 2.0.0 100)
        echo "weight $weight: $got of 100"
        [ $((got - weight)) -ge -1 ] && [ $((got - weight)) -le 1 ]
    done
}

@test "headers and cookies choose, answers are edited, and a bad route is refused with a reason" {
    both_up
    kubectl apply -f - <<YAML
apiVersion: gateway.networking.k8s.io/v1beta1
kind: HTTPRoute
metadata: {name: choose, namespace: test}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [choose.example.com]
  rules:
  - matches: [{headers: [{name: x-canary, value: insider}]}, {headers: [{name: Cookie, type: RegularExpression, value: ".*always.*"}]}]
    filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: x-by, value: gateway}]}}]
    backendRefs: [{name: b, port: 9898}]
  - matches: [{path: {type: PathPrefix, value: /old}}]
    filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}]
    backendRefs: [{name: a, port: 9898}]
  - backendRefs: [{name: a, port: 9898}]
YAML
    eventually 10 accepted choose 1
    gateway choose.example.com /version | grep 1.0.0
    curl -s -H 'Host: choose.example.com' -H 'x-canary: insider' "http://127.0.0.1:$GATEWAY/version" | grep 2.0.0
    curl -si -b 'a=1; stay=always' -H 'Host: choose.example.com' "http://127.0.0.1:$GATEWAY/version" | grep -i '^x-by: gateway'
    gateway choose.example.com /old/version | grep 1.0.0
    gateway choose.example.com /older | grep 'no such page'
    gateway nobody.example.com | grep 'no HTTPRoute matches'
    route refused refused.example.com 1 1 | sed 's/port: 9898/port: 9898, filters: [{type: RequestMirror}]/' | kubectl apply -f -
    eventually 10 accepted refused 1 False
    kubectl -n test get httproute refused -o jsonpath='{.status.parents[0].conditions[0].message}' | grep 'RequestMirror is not supported on backends'
    kubectl -n test delete httproute refused
}

@test "a mirrored request reaches both, and the client sees the first one's answer" {
    both_up
    route copy copy.example.com 1 0 |
        sed 's/  - backendRefs:/  - filters: [{type: RequestMirror, requestMirror: {backendRef: {name: b, port: 9898}}}]\n    backendRefs:/; /name: b, port: 9898, weight/d' |
        kubectl apply -f -
    eventually 10 accepted copy 1
    ip=$(kubectl -n test get pods -l app=b -o jsonpath='{.items[0].status.podIP}')
    for _ in 1 2 3; do gateway copy.example.com /headers | grep 1.0.0; done
    eventually 5 sh -c "curl -s http://$ip:9898/metrics | grep 'count{.*path=\"/headers\",status=\"200\"} 3'"
}

restarted() { [ "$(kubectl -n test get pods -l app=a -o jsonpath='{.items[0].status.containerStatuses[0].restartCount} {.items[0].status.containerStatuses[0].ready}')" = "$1 true" ]; }

@test "a killed pod comes back by itself" {
    both_up
    pod=$(kubectl -n test get pods -l app=a -o jsonpath='{.items[0].metadata.name}')
    kill -KILL "$(pgrep -f "^$FLAGGER_BUILD/flagger-demo-app .*--pod $pod ")"
    eventually 20 restarted 1
    kubectl -n test get pods -l app=a -o jsonpath='{.items[0].status.containerStatuses[0].lastState.terminated.signal}' | grep 9
    kubectl -n test logs "$pod" | grep listening
}

@test "a killed gateway is back at once with the present weights" {
    both_up
    route kill kill.example.com 1 0 | kubectl apply -f -
    eventually 10 accepted kill 1
    route kill kill.example.com 0 1 | kubectl apply -f -
    eventually 10 accepted kill 2
    # Ours alone: other sandboxes may run on this machine. By one command, which fails only when it reached none of them: a
    # worker may end by itself once its master is gone.
    gateways=$(for pid in $(pgrep -x haproxy); do if descends "$pid"; then echo "$pid"; fi; done)
    kill -KILL $gateways
    eventually 10 gateway kill.example.com /version
    gateway kill.example.com /version | grep 2.0.0
    grep -q '"event":"child_ended"' "$DIR/log"
}

# descends PID: whether it descends from our sandbox
descends() {
    local pid=$1
    while [ "$pid" -gt 1 ]; do
        [ "$pid" != "$(cat "$DIR/pid")" ] || return 0
        pid=$(sed 's/.*) . \([0-9]*\) .*/\1/' "/proc/$pid/stat" 2>/dev/null || echo 1)
    done
    return 1
}

@test "names of Services and the gateway stand in the hosts file; a Service without pods refuses" {
    both_up
    ip=$(kubectl -n test get svc a -o jsonpath='{.spec.clusterIP}')
    grep "^$ip a.test a.test.svc a.test.svc.cluster.local a$" "$DIR/hosts"
    grep 'gateway.test' "$DIR/hosts"
    grep ' echo.tools ' "$DIR/hosts"
    kubectl -n test scale deploy/a --replicas 0
    eventually 10 sh -c "! curl -s -m 2 http://$ip:9898/"
    run curl -s -m 2 "http://$ip:9898/"
    [ "$status" -eq 7 ]
    kubectl -n test scale deploy/a --replicas 1
    eventually 10 curl -s -m 2 "http://$ip:9898/"
}

query() {
    curl -s -m 5 --data-urlencode "query=$1" "http://127.0.0.1:$PROMETHEUS/api/v1/query" | gojq -e '.data.result[0].value[1]' >/dev/null
}

@test "Prometheus sees the requests under the names Flagger asks for" {
    both_up
    route seen seen.example.com 1 0 | kubectl apply -f -
    eventually 10 accepted seen 1
    for _ in $(seq 20); do gateway seen.example.com >/dev/null; done
    eventually 30 query 'http_request_duration_seconds_count{kubernetes_namespace="test",kubernetes_pod_name=~"a-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)",status!~"5.*"}'
    eventually 30 query 'histogram_quantile(0.99, sum(rate(http_request_duration_seconds_bucket{kubernetes_namespace="test",kubernetes_pod_name=~"a-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)"}[1m])) by (le))'
}

@test "a ConfigMap's value reaches the app's environment, and a missing one is waited for" {
    app cfg 1.0.0 | sed 's/        ports:/        env: [{name: DEMO_MESSAGE, valueFrom: {configMapKeyRef: {name: words, key: hello}}}]\n        ports:/' | kubectl apply -f -
    eventually 10 sh -c "kubectl -n test get pods -l app=cfg -o jsonpath='{.items[0].status.containerStatuses[0].state.waiting.reason}' | grep CreateContainerConfigError"
    kubectl -n test create configmap words --from-literal hello=bonjour
    kubectl -n test rollout status deploy/cfg --timeout 90s
    curl -s "http://$(kubectl -n test get svc cfg -o jsonpath='{.spec.clusterIP}'):9898/" | grep bonjour
}

ours() { for pid in $(pgrep -f "flagger-demo-app|haproxy|prometheus"); do if descends "$pid"; then echo "$pid"; fi; done; }
gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status"; }

@test "TERM ends everything, and says what the API was asked" {
    both_up
    pids=$(ours)
    [ -n "$pids" ]
    sandbox_end
    for pid in $pids; do eventually 1 gone "$pid"; done
    grep '^api requests: .*"verb":"create","resource":"deployments.apps"' "$DIR/out"
    [ "$(tail -n 1 "$DIR/log" | gojq -r .level)" = info ]
}

@test "kill -9 of the sandbox leaves no process behind" {
    sandbox_begin
    kubectl create namespace test
    both_up
    pids=$(ours)
    [ -n "$pids" ]
    kill -KILL "$(cat "$DIR/pid")"
    for pid in $pids; do eventually 20 gone "$pid"; done
}
