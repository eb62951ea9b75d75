# One tenant, in namespaces called greedy, takes all that he can get of what is bounded for all; the releases and alerts of another
# one, in the namespace modest, take as long as before, or nearly so, and the daemons stay small and awake. A row for each budget of
# common/base/budgets.def: here the controller's, in shares_*.bash those of the others.
beside_own=1

# serve NAME: sets SERVER_NAME, the URL. What tenants have servers for: metrics, hooks that answer, stall, say nothing or fail with another text each time, and a place for
# alerts (a line each in $work/alerts).
serve() {
    python3 - "$work" "$1" <<'PYTHON' &
import http.server, os, sys, threading, time
work, name = sys.argv[1:]
sample = b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[0,"1"]}]}}'
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *args): pass
    def say(self, body, short=0, status=200):
        self.send_response(status)
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
        elif way == 'vary':
            self.say(str(time.time_ns()).encode(), status=400)
        else:
            self.say(sample if way == 'metric' else b'ok')
    do_POST = do_GET
class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1000
    def handle_error(self, *args): pass # who hangs up
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
    gojq -cn --arg ns "$1" --arg name "$2" --slurpfile analysis <(printf %s "$3") '{apiVersion: "flagger.app/v1beta1", kind: "Canary", metadata: {namespace: $ns, name: $name},
        spec: {targetRef: {apiVersion: "apps/v1", kind: "Deployment", name: $name}, service: {port: 9898},
            analysis: ({interval: "1s", threshold: 5, iterations: 2} + $analysis[0])}}'
}
provider() { # NAMESPACE ADDRESS
    gojq -cn --arg ns "$1" --arg address "$2" '{apiVersion: "flagger.app/v1beta1", kind: "AlertProvider", metadata: {namespace: $ns, name: "chat"},
        spec: {type: "slack", channel: "x", address: $address}}'
}
phase_of() { of_canary "$1" "$2" .status.phase; }
is_phase() { [ "$(phase_of "$1" "$2")" = "$3" ]; }

# modest_release VERSION: sets took, the seconds of a whole release with a gate, metrics, an alert and its last event in the API, or 999
modest_release() {
    local began=${EPOCHREALTIME/./}
    rm -f "$work/alerts"
    set_image modest app app "app:$1"
    ended() {
        [ "$(of_canary modest app '.status.history[0] | "\(.outcome) \(.image)"')" = "promoted app:$1" ] && grep -q . "$work/alerts" &&
            api_get api/v1/namespaces/modest/events | gojq -e --argjson began $((began / 1000000)) 'any(.items[]; (.message | startswith("Promotion completed")) and (.lastTimestamp | fromdate) >= $began)' >/dev/null
    }
    took=999
    eventually 60 ended "$1" && took=$(((${EPOCHREALTIME/./} - began) / 1000000)) || true
}

# greedy_begin COUNT ANALYSIS: so many Canaries in a release; greedy_end takes them away
greedy_begin() {
    local i
    greedy=greedy-$((${greedy#greedy-} + 1))
    kubectl create namespace "$greedy" >/dev/null
    costly_metrics | kubectl apply -f - >/dev/null
    long_provider | kubectl create -f - >/dev/null
    provider "$greedy" http://127.0.0.1:1/ | kubectl apply -f - >/dev/null
    for i in $(seq "$1"); do
        deployment "$greedy" "app$i"
        canary "$greedy" "app$i" "$(gojq -c '{threshold: 1000000, iterations: 1000000} + .' <<<"$2")"
    done >"$work/greedy"
    kubectl create --validate=false -f "$work/greedy" >/dev/null
    begun() { [ "$(api_get "apis/flagger.app/v1beta1/namespaces/$greedy/canaries" | gojq '[.items[] | select(.status.phase == "Initialized")] | length')" = "$1" ]; }
    [ -n "${at_once:-}" ] || eventually 90 begun "$1" || true
    grep '"Deployment"' "$work/greedy" | grep -v '"kind":"Canary"' | sed 's/"app:1"/"app:2"/' | kubectl apply -f - >/dev/null 2>&1
    sleep 2 # of the attack, before it is looked at
}
greedy_end() {
    kubectl -n "$greedy" delete canaries --all --wait=false >/dev/null
    gone() { [ "$(api_get "apis/flagger.app/v1beta1/namespaces/$greedy/canaries" | gojq '.items | length')" = 0 ]; }
    eventually 30 gone &>/dev/null || true
    kubectl delete namespace "$greedy" --wait=false >/dev/null
}

# waiting_of BUDGET: the requests that wait for the budget of events or of other writes
waiting_of() {
    local kind=events
    [ "$1" = records ] || kind=otherWrites
    curl -s "$DAEMON_URL/debug/process" | gojq ".requests.$kind.waiting // 0"
}

# is_filled BUDGET: prints what shows that greedy has all of it, where something does; false if it has not
is_filled() {
    local count waiting
    case $1 in
    ticks)
        count=$(gojq -rs --arg ns "$greedy" '[.[] | select(.event == "tick_too_large" and (.canary | contains($ns)))] | length' "$DAEMON_LOG")
        echo "$count ticks of the greedy were above 32 MiB, " && [ "$count" -gt 0 ]
        ;;
    records | api)
        waiting=$(waiting_of "$1")
        echo "$waiting requests of that kind wait, " && [ "$waiting" -gt 0 ]
        ;;
    esac
}

# try_share BUDGET COUNT ANALYSIS: the row. What was slow may be the machine's doing, so there are two more tries.
version=10
greedy=greedy-0
try_share() {
    local good=/nothing filled name="one takes all of: $1"
    wanted "$1" || return 0
    greedy_begin "$2" "$3"
    for _ in 1 2 3; do
        health_watch
        version=$((version + 1))
        modest_release "$version"
        health_watched
        [ "$took" -gt $((2 * usual + 5)) ] || ! stays_awake || { good=ok && break; }
    done
    [ "$(peak)" -lt $((CHART_MEMORY * 1024)) ] || good=/nothing
    filled=$(is_filled "$1") || good=/nothing
    report "$name" "another's release took $took s (beside twenty that take nothing: $usual s), ${filled}$(awake_text)" "$good"
    measured "$name" controller "$slowest" "$(peak)" "$worked"
    greedy_end
}

# 300 metrics of one template of 3500 variables in nested ranges, 46 KB
costly_metrics() {
    gojq -cn '(([range(3500) | "{{$v\(.):=1}}"] | join("")) + "{{range 60}}{{range 65}}{{if $v0}}{{end}}{{end}}{{end}}") as $query
        | {apiVersion: "flagger.app/v1beta1", kind: "MetricTemplate", metadata: {namespace: $ARGS.named.ns, name: "costly"},
            spec: {provider: {type: "prometheus", address: $ARGS.named.server}, query: $query}}' --arg server "$SERVER_greedy/metric" --arg ns "$greedy"
}
many_metrics() { gojq -cn '{metrics: [range(300) | {name: "m\(.)", templateRef: {name: "costly"}, thresholdRange: {max: 10}, interval: "1m"}]}'; }

# Metrics of a provider that is described at length: a tick has a text of it for each of them.
long_provider() {
    gojq -cn '{apiVersion: "flagger.app/v1beta1", kind: "MetricTemplate", metadata: {namespace: $ARGS.named.ns, name: "long"},
        spec: {provider: {type: "prometheus", address: $ARGS.named.server, region: ("r" * 300000)}, query: "up"}}' --arg server "$SERVER_greedy/metric" --arg ns "$greedy"
}
large_tick() { gojq -cn '{metrics: [range(200) | {name: "m\(.)", templateRef: {name: "long"}, thresholdRange: {max: 10}, interval: "1m"}]}'; }

# hooks COUNT TYPE PATH: that many webhooks
hooks() {
    gojq -cn --argjson count "$1" --arg type "$2" --arg url "$SERVER_greedy/$3" '[range($count) | {name: "h\(.)", type: $type, url: $url, timeout: "24h", retries: 1000}]'
}

# try_controller: the budgets of the controller
try_controller() {
    CHART_MEMORY=$(chart_memory flagger)
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
    at_once=1 try_share ticks 10 "$(large_tick)"
    try_share alerts 20 "$(gojq -cn '{alerts: [range(16) | {name: "a\(.)", severity: "info", providerRef: {name: "chat"}}]}')"
    daemon_stop
    try_small_budget
    end_cluster
    on_finish=:
}

# modest_begins NAME: sets took, the seconds until another Canary of modest is initialized, or 999
modest_begins() {
    local began=${EPOCHREALTIME/./}
    { deployment modest "$1" && canary modest "$1" '{}'; } | kubectl apply -f - >/dev/null
    took=999
    eventually 60 is_phase modest "$1" Initialized && took=$(((${EPOCHREALTIME/./} - began) / 1000000)) || true
}

# try_begin BUDGET COUNT: so many Canaries of greedy are new, all at once; another one of modest is initialized soon
try_begin() {
    local good=/nothing name="one takes all of: $1" filled
    wanted "$1" || return 0
    modest_begins first
    usual=$took
    at_once=1 greedy_begin "$2" '{}'
    health_watch
    for _ in {1..50}; do filled=$(is_filled "$1") && good=ok && break || sleep 0.2; done
    modest_begins second
    health_watched
    [ "$took" -le $((2 * usual + 15)) ] && stays_awake && [ "$(peak)" -lt $((CHART_MEMORY * 1024)) ] || good=/nothing
    report "$name" "another's Canary was initialized after $took s (before: $usual s), ${filled}$(awake_text)" "$good"
    measured "$name" controller "$slowest" "$(peak)" "$worked"
    greedy_end
}

# try_small_budget: of a controller that sends few requests a second: greedy's Canaries have another event each second, or are all new
try_small_budget() {
    wanted api || wanted records || return 0
    daemon_start "$CONTROLLER" --mesh-provider kubernetes --min-analysis-interval 1s --tenant-addresses +loopback --metrics-server "$SERVER_modest/metric" \
        --kubeconfig-qps 10 --kubeconfig-burst 10
    try_share records 30 "{\"webhooks\": $(hooks 1 rollout vary)}"
    try_begin api 150
    daemon_stop
}

# Every budget of the programs has its row, here or in shares_*.bash.
try_all_named() {
    local good=ok missing='' budget
    for budget in $(sed -n 's/^BUDGET([A-Z_]*, "\([a-z-]*\)".*/\1/p' common/base/budgets.def); do
        grep -qE "^ *(at_once=1 )?try_[a-z]+ $budget( |\$)" test/hostile/shares*.bash || { missing+=" $budget" && good=/nothing; }
    done
    report 'every budget of budgets.def is tried' "${missing:+not$missing}" "$good"
}

if ! command -v python3 >/dev/null || ! command -v kubectl >/dev/null || [ ! -x "$build/flagger-sandbox" ]; then
    skip 'shares of what is bounded' 'it needs python3, kubectl and flagger-sandbox'
else
    on_finish=end_cluster
    try_controller
    try_all_named
fi
