# One tenant's clusters stall in the middle of their answers; another one's Applications come to their member as before.
beside_own=1

servers=() sandboxes=()

# A member of the fleet whose API server is greedy's: lists that stall one byte before their end, or watches of one line without end.
stalling_member() {
    python3 - "$work" "$1" <<'PYTHON' &
import http.server, os, sys, time
work, what = sys.argv[1:]
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *args): pass
    def do_GET(self):
        self.rfile.read(int(self.headers.get('Content-Length') or 0))
        watches = 'watch=1' in self.path
        if self.command != 'GET' or not (watches or 'limit=' in self.path):
            text = b'{"kind":"Status","status":"Failure","code":404,"details":{"name":"x"}}'
            self.send_response(404)
            self.send_header('Content-Length', str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            return
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        if watches or what == 'lists':
            self.send_header('Content-Length', '1000000000' if watches else '4000001')
            self.end_headers()
            self.wfile.write(b'{"type":"ADDED","object":{"x":"')
            for _ in range(75 if watches else 60):
                self.wfile.write(b'x' * 65536)
            time.sleep(600)
        text = b'{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}'
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    do_POST = do_PATCH = do_PUT = do_GET
class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1000
    def handle_error(self, *args): pass # who hangs up
server = Server(('127.0.0.1', 0), Answer)
open(work + '/stalling.new', 'w').write(str(server.server_port))
os.rename(work + '/stalling.new', work + '/stalling.port')
server.serve_forever()
PYTHON
    servers+=($!)
    disown $!
    rm -f "$work/stalling.port"
    eventually 10 test -e "$work/stalling.port"
}

# application NAMESPACE FLEET NAME: on the members of that fleet
application() {
    kubectl -n "$1" apply -f - >/dev/null <<YAML
apiVersion: apps.kurator.dev/v1alpha1
kind: Application
metadata: {name: $3}
spec:
  destination: {fleet: $2}
  syncPolicies:
  - rollout: {trafficRoutingProvider: nginx, workload: {name: $3, namespace: $1}, serviceName: $3, port: 80, rolloutPolicy: {trafficRouting: {host: a.example, analysisTimes: 1},
      trafficAnalysis: {metrics: [{name: $3, thresholdRange: {max: 1}, customMetric: {provider: {type: prometheus, address: "http://127.0.0.1:1"}, query: up}}]}}}
YAML
}
# modest_applies NAME: sets took, the tenths of a second until an Application of modest has come to its member, or 999
modest_applies() {
    local began=${EPOCHREALTIME/./}
    application modest modest "$1"
    came() { kubectl --kubeconfig "$work/member" -n modest get metrictemplates -o name 2>/dev/null | grep -q .; }
    took=999
    eventually 60 came && took=$(((${EPOCHREALTIME/./} - began) / 100000)) || true
    kubectl -n modest delete application "$1" --wait=false >/dev/null
    left() { ! came; }
    eventually 60 left || true
}

# try_member NAME LISTS-OR-WATCHES: 40 kubeconfigs of greedy lead to a server that stalls; modest's Application comes to its member as before
try_member() {
    local good=/nothing i
    stalling_member "$2"
    kubectl create namespace "greedy-$2" >/dev/null
    kubeconfig "$(cat "$work/stalling.port")" >"$work/stalling"
    for i in $(seq 40); do
        gojq -cn --arg name "member$i" --rawfile value "$work/stalling" '{apiVersion: "v1", kind: "Secret", metadata: {name: $name, labels: {"flagger.app/cluster": $name, "flagger.app/fleet": "greedy"}}, stringData: {value: $value}}'
    done | kubectl -n "greedy-$2" apply -f - >/dev/null
    application "greedy-$2" greedy app
    sleep 5
    for i in 1 2 3; do
        health_watch
        modest_applies "$2$i"
        health_watched
        [ "$took" -gt $((2 * usual + 120)) ] || ! stays_awake || { good=ok && break; }
    done
    [ "$(peak)" -lt $((CHART_MEMORY * 1024)) ] || good=/nothing
    report "one takes all of: members ($2)" "another's Application came to its member after $took tenths of a second (before: $usual), $(awake_text)" "$good"
    measured "one takes all of: members ($2)" controller "$slowest" "$(peak)" "$worked"
    kubectl -n "greedy-$2" delete applications,secrets --all --wait=false >/dev/null
}

try_fleet() {
    wanted members || return 0
    on_finish=end_fleet
    CHART_MEMORY=$(chart_memory flagger)
    mkdir "$work/fleet-crds"
    cp deploy/fleet/{applications,releaseplans}.yaml "$work/fleet-crds"
    "$build/flagger-sandbox" --no-gateway --no-services --kubeconfig "$work/management" --crds "$work/fleet-crds" >"$work/management.out" 2>/dev/null </dev/null &
    sandboxes+=($!)
    "$build/flagger-sandbox" --no-gateway --no-services --kubeconfig "$work/member" --crds proto/crd >"$work/member.out" 2>/dev/null </dev/null &
    sandboxes+=($!)
    disown "${sandboxes[@]}"
    eventually 60 grep -qs '^ready' "$work/management.out"
    eventually 60 grep -qs '^ready' "$work/member.out"
    export KUBECONFIG=$work/management
    kubectl --kubeconfig "$work/member" create namespace modest >/dev/null
    kubectl create namespace modest >/dev/null
    kubectl -n modest create secret generic member --from-file="value=$work/member" >/dev/null
    kubectl -n modest label secret member flagger.app/cluster=member flagger.app/fleet=modest >/dev/null
    daemon_start "$CONTROLLER" fleet
    modest_applies before
    usual=$took
    try_member members lists
    try_member members watches
    daemon_stop
    end_fleet
    on_finish=:
}
end_fleet() {
    kill -KILL "${servers[@]}" "${sandboxes[@]}" 2>/dev/null || true
}

if ! command -v python3 >/dev/null || ! command -v kubectl >/dev/null || [ ! -x "$build/flagger-sandbox" ]; then
    skip 'shares of the fleet' 'it needs python3, kubectl and flagger-sandbox'
else
    export HOME=$work # kubectl keeps its discovery there
    try_fleet
fi
