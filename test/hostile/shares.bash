# One tenant, in namespaces called greedy, takes all that he can get of what is bounded for all; the releases, alerts and gates of
# another one, in the namespace modest, take as long as before, or nearly so, and the daemons stay small and awake. A row for
# each budget of common/base/budgets.def.

# serve NAME: sets SERVER_NAME, the URL. What tenants have servers for: metrics, hooks that answer, stall or say nothing, and a place for alerts (a line each in $work/alerts).
serve() {
    python3 - "$work" "$1" <<'PYTHON' &
import http.server, os, sys, threading, time
work, name = sys.argv[1:]
sample = b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[0,"1"]}]}}'
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *args): pass
    def say(self, body, short=0):
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body[:len(body) - short])
    def do_GET(self):
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        way = self.path.split('/')[1]
        if way == 'alert':
            open(work + '/alerts', 'ab').write(body + b'\n')
        if way == 'stall':
            self.say(b'x' * 1000000, 1)
        if way in ('stall', 'silent'):
            time.sleep(300)
        else:
            self.say(sample if way == 'metric' else b'ok')
    do_POST = do_GET
class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1000
server = Server(('127.0.0.1', 0), Answer)
open(work + '/port.new', 'w').write(str(server.server_port))
os.rename(work + '/port.new', work + '/port.' + name)
server.serve_forever()
PYTHON
    servers+=($!)
    disown $!
    eventually 10 test -e "$work/port.$1"
    declare -g "SERVER_$1=http://127.0.0.1:$(cat "$work/port.$1")"
}

servers=()

# The CRDs are Flagger's in that lists have no end.
start_cluster() {
    local file
    mkdir "$work/crds"
    for file in proto/crd/*.yaml; do
        sed -E '/^ *(maxItems|maxProperties): /d' "$file" >"$work/crds/${file##*/}"
    done
    "$build/flagger-sandbox" --no-gateway --no-services --kubeconfig "$work/kubeconfig" --crds "$work/crds" >"$work/out" 2>"$work/log" </dev/null &
    sandbox=$!
    eventually 60 grep -q '^ready' "$work/out"
    export KUBECONFIG=$work/kubeconfig HOME=$work
    kubectl create namespace modest >/dev/null
    daemon_start "$CONTROLLER" --mesh-provider kubernetes --min-analysis-interval 1s --tenant-addresses +loopback --metrics-server "$SERVER_modest/metric"
}
end_cluster() {
    control_stop
    control='' control_url=''
    kill -KILL "${servers[@]}" "${sandbox:-}" 2>/dev/null || true
    wait "${sandbox:-}" 2>/dev/null || true
}

# deployment NAMESPACE NAME, and canary NAMESPACE NAME SPEC [ANALYSIS]: JSON, a line
deployment() {
    gojq -cn --arg ns "$1" --arg name "$2" '{apiVersion: "apps/v1", kind: "Deployment", metadata: {namespace: $ns, name: $name}, spec: {
        selector: {matchLabels: {app: $name}}, template: {metadata: {labels: {app: $name}}, spec: {containers: [
            {name: "app", image: "app:1", ports: [{containerPort: 9898}]}]}}}}'
}
canary() {
    gojq -cn --arg ns "$1" --arg name "$2" --argjson analysis "$3" '{apiVersion: "flagger.app/v1beta1", kind: "Canary", metadata: {namespace: $ns, name: $name},
        spec: {targetRef: {apiVersion: "apps/v1", kind: "Deployment", name: $name}, service: {port: 9898},
            analysis: ({interval: "1s", threshold: 5, iterations: 2} + $analysis)}}'
}
provider() { # NAMESPACE ADDRESS
    gojq -cn --arg ns "$1" --arg address "$2" '{apiVersion: "flagger.app/v1beta1", kind: "AlertProvider", metadata: {namespace: $ns, name: "chat"},
        spec: {type: "slack", channel: "x", address: $address}}'
}
phase_of() { kubectl -n "$1" get canary "$2" -o jsonpath='{.status.phase}'; }
is_phase() { [ "$(phase_of "$1" "$2")" = "$3" ]; }

# modest_release VERSION: sets took, the seconds of a whole release with a gate, metrics and an alert, or 999
modest_release() {
    local began=${EPOCHREALTIME/./}
    rm -f "$work/alerts"
    kubectl -n modest set image deployment/app "app=app:$1" >/dev/null
    ended() { [ "$(kubectl -n modest get canary app -o jsonpath='{.status.history[0].outcome} {.status.history[0].image}')" = "promoted app:$1" ] && grep -q . "$work/alerts"; }
    took=999
    eventually 60 ended "$1" && took=$(((${EPOCHREALTIME/./} - began) / 1000000)) || true
}

# greedy_begin COUNT ANALYSIS: so many Canaries in a release; greedy_end takes them away
greedy_begin() {
    local i
    greedy=greedy-$((${greedy#greedy-} + 1))
    kubectl create namespace "$greedy" >/dev/null
    costly_metrics | kubectl apply -f - >/dev/null
    provider "$greedy" http://127.0.0.1:1/ | kubectl apply -f - >/dev/null
    for i in $(seq "$1"); do
        deployment "$greedy" "app$i"
        canary "$greedy" "app$i" "$(gojq -c '{threshold: 1000000, iterations: 1000000} + .' <<<"$2")"
    done >"$work/greedy"
    kubectl apply --validate=false -f "$work/greedy" >/dev/null
    begun() { [ "$(kubectl -n "$greedy" get canaries -o json | gojq '[.items[] | select(.status.phase == "Initialized")] | length')" = "$1" ]; }
    eventually 90 begun "$1" || true
    grep '"Deployment"' "$work/greedy" | grep -v '"kind":"Canary"' | sed 's/"app:1"/"app:2"/' | kubectl apply -f - >/dev/null
    sleep 2 # of the attack, before it is looked at
}
greedy_end() {
    kubectl -n "$greedy" delete canaries --all --wait=false >/dev/null
    gone() { [ -z "$(kubectl get canaries -n "$greedy" -o name)" ]; }
    eventually 30 gone &>/dev/null || true
    kubectl delete namespace "$greedy" --wait=false >/dev/null
}

# try_share BUDGET COUNT ANALYSIS: the row. What was slow may be the machine's doing, so there are two more tries.
version=10
greedy=greedy-0
tried=()
try_share() {
    local good=/nothing name="one takes all of: $1"
    tried+=("$1")
    greedy_begin "$2" "$3"
    for _ in 1 2 3; do
        health_watch
        version=$((version + 1))
        modest_release "$version"
        health_watched
        [ "$took" -gt $((2 * usual + 5)) ] || [ "$slowest" -ge $((5 * (MOST_MS + control_slowest))) ] || { good=ok && break; }
    done
    [ "$(peak)" -lt $((CHART_MEMORY * 1024)) ] || good=/nothing
    report "$name" "another's release took $took s (beside twenty that take nothing: $usual s), slowest /healthz $slowest ms (of one that is left alone: $control_slowest), at most $(($(peak) / 1024)) MiB" "$good"
    measured "$name" controller "$slowest" "$(peak)"
    greedy_end
}

# 300 metrics of one template of 3500 variables in nested ranges, 46 KB
costly_metrics() {
    gojq -cn '(([range(3500) | "{{$v\(.):=1}}"] | join("")) + "{{range 60}}{{range 65}}{{if $v0}}{{end}}{{end}}{{end}}") as $query
        | {apiVersion: "flagger.app/v1beta1", kind: "MetricTemplate", metadata: {namespace: $ARGS.named.ns, name: "costly"},
            spec: {provider: {type: "prometheus", address: $ARGS.named.server}, query: $query}}' --arg server "$SERVER_greedy/metric" --arg ns "$greedy"
}
many_metrics() { gojq -cn '{metrics: [range(300) | {name: "m\(.)", templateRef: {name: "costly"}, thresholdRange: {max: 10}, interval: "1m"}]}'; }

# hooks COUNT TYPE PATH: that many webhooks
hooks() {
    gojq -cn --argjson count "$1" --arg type "$2" --arg url "$SERVER_greedy/$3" '[range($count) | {name: "h\(.)", type: $type, url: $url, timeout: "24h", retries: 1000}]'
}

# try_controller: the budgets of the controller
try_controller() {
    CHART_MEMORY=$(chart_memory flagger)
    control_start
    serve modest
    serve greedy
    start_cluster
    {
        deployment modest app
        provider modest "$SERVER_modest/alert"
        canary modest app "$(gojq -cn --arg server "$SERVER_modest" '{metrics: [{name: "errors", query: "up", thresholdRange: {max: 10}, interval: "1m"}],
            alerts: [{name: "chat", severity: "info", providerRef: {name: "chat"}}], webhooks: [{name: "gate", type: "confirm-rollout", url: "\($server)/gate"},
                {name: "load", type: "rollout", url: "\($server)/load"}, {name: "events", type: "event", url: "\($server)/event"}]}')"
    } | kubectl apply -f - >/dev/null
    eventually 60 is_phase modest app Initialized
    # As many that take nothing: what is usual.
    greedy_begin 20 '{}'
    modest_release 10
    usual=$took
    greedy_end
    try_share templates 1 "$(many_metrics)"
    try_share answers 40 "{\"webhooks\": $(hooks 1 pre-rollout stall)}"
    try_share calls 20 "{\"webhooks\": $(hooks 2 rollout silent)}"
    try_share events 20 "{\"webhooks\": $(hooks 16 event silent)}"
    try_share hooks 10 "{\"iterations\": 1, \"webhooks\": $(hooks 200 post-rollout silent)}"
    try_share alerts 20 "$(gojq -cn '{alerts: [range(16) | {name: "a\(.)", severity: "info", providerRef: {name: "chat"}}]}')"
    daemon_stop
    end_cluster
    on_finish=:
}

# try_tasks BUDGET COUNT PAD: greedy asks the load tester for so many tasks that do not end, each of a Canary of its own, with so
# many bytes; modest has a task run at once
try_tasks() {
    local good=/nothing name="one takes all of: $1" began status
    tried+=("$1")
    daemon_start "$LOADTESTER" "${user[@]}" --timeout 60s
    gojq -nr --arg url "$DAEMON_URL/" --argjson count "$2" --argjson pad "$3" 'range($count) | {name: "c\(.)", namespace: "greedy", metadata: {type: "cmd", cmd: ("sleep 5\(.) " + ("#" * $pad))}}
        | "url = \"\($url)\"\ndata-binary = \(tojson | tojson)\noutput = \"/dev/null\"\nwrite-out = \"%{http_code}\\n\"\nnext"' | sed '$d' >"$work/tasks"
    curl -s --parallel --parallel-max 8 -K "$work/tasks" >"$work/codes" 2>/dev/null || true
    health_watch
    began=${EPOCHREALTIME/./}
    printf '%s' '{"name": "app", "namespace": "modest", "metadata": {"type": "bash", "cmd": "echo modest"}}' >"$work/post"
    status=$(curl -s -m 30 -o "$work/body" -w '%{http_code}' --data-binary "@$work/post" "$DAEMON_URL/" || true)
    took=$(((${EPOCHREALTIME/./} - began) / 1000000))
    health_watched
    [ "$status" = 200 ] && [ "$took" -le 10 ] && { [ "$1" = tasks-running ] || grep -q '^429$' "$work/codes"; } && [ "$(peak)" -lt "$MOST_MEMORY" ] && good=ok
    report "$name" "$(grep -c '^202$' "$work/codes" || true) tasks taken, $(grep -c '^429$' "$work/codes" || true) refused; another's was answered $status after $took s, slowest /healthz $slowest ms, at most $(($(peak) / 1024)) MiB" "$good"
    measured "$name" loadtester "$slowest" "$(peak)"
    kill -KILL "$DAEMON_PID" && wait "$DAEMON_PID" 2>/dev/null || true # hundreds of tasks end with it
    rm -f "$DAEMON_LOG"
    DAEMON_PID=
}

# Every budget of the programs has its row above.
try_all_named() {
    local good=ok missing='' budget
    for budget in $(sed -n 's/^BUDGET([A-Z_]*, "\([a-z-]*\)".*/\1/p' common/base/budgets.def); do
        [[ " ${tried[*]} " == *" $budget "* ]] || { missing+=" $budget" && good=/nothing; }
    done
    report 'every budget of budgets.def was tried' "${#tried[@]} were${missing:+, not$missing}" "$good"
}

if ! command -v python3 >/dev/null || ! command -v kubectl >/dev/null || [ ! -x "$build/flagger-sandbox" ]; then
    skip 'shares of what is bounded' 'it needs python3, kubectl and flagger-sandbox'
else
    on_finish=end_cluster
    try_controller
    try_tasks tasks-running 250 0
    try_tasks tasks-waiting 600 0
    try_tasks tasks-bytes 250 100000
    try_all_named
fi
