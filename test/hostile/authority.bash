# Where a tenant's Canary may lead the controller: to addresses that are closed to tenants, by number, and by a redirect of a
# server of the tenant's own. What answers there stands for the metadata service of a cloud; nothing of it may be in a status.

stop_stage() {
    [ -z "${TENANT_PID:-}" ] || kill -KILL "$TENANT_PID" 2>/dev/null || true
    FLAGGER_DEMO_DIR=$work/stage test/demo --stop >/dev/null 2>&1
}

# The tenant's server, and one at 127.0.0.9 that counts who asks it: their ports are in $work/ports, and each request there in $work/reached.
serve() {
    python3 - "$work" <<'PYTHON' &
import http.server, sys, threading
work = sys.argv[1]
class Answer(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_GET(self):
        self.rfile.read(int(self.headers.get('Content-Length', 0)))
        inner = self.server.server_address[0] == '127.0.0.9'
        if inner:
            open(work + '/reached', 'a').write(self.command + '\n')
        self.send_response(200 if inner else 302)
        if not inner:
            self.send_header('Location', 'http://127.0.0.9:%d/latest/meta-data/' % closed.server_port)
        self.end_headers()
        self.wfile.write(b'credentials-of-the-node')
    do_POST = do_GET
closed = http.server.ThreadingHTTPServer(('127.0.0.9', 0), Answer)
own = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Answer)
open(work + '/ports.new', 'w').write('%d %d\n' % (closed.server_port, own.server_port))
import os; os.rename(work + '/ports.new', work + '/ports')
threading.Thread(target=closed.serve_forever, daemon=True).start()
own.serve_forever()
PYTHON
    TENANT_PID=$!
    has_ports() { [ -e "$work/ports" ]; }
    eventually 10 has_ports
    read -r CLOSED OWN <"$work/ports"
}

# try_way NAME SPEC VERSION SENTENCE: a release of a Canary with this analysis; the sentence is told, and nothing arrives
try_way() {
    local good=/nothing
    rm -f "$work/reached"
    api_merge test canaries podinfo "{\"spec\":{\"analysis\":$2}}"
    set_image test podinfo podinfod "demo-app:$3"
    told() { kubectl -n test get events | grep -q "$4"; }
    heard=no
    for _ in $(seq 60); do
        ! kubectl -n test get events | grep -q "$4" || { heard=yes && break; }
        sleep 1
    done
    ! api_look test canaries podinfo | grep -q credentials-of-the-node && [ ! -e "$work/reached" ] && [ "$heard" = yes ] && good=ok
    report "$1" "told: $heard, reached $(cat "$work/reached" 2>/dev/null | wc -l) times" "$good"
}

if ! command -v python3 >/dev/null || ! command -v kubectl >/dev/null || [ "$(id -u)" -ne 0 ]; then
    skip 'addresses that tenants may not name' 'the stage needs root, kubectl and python3'
else
    export HOME=$work
    on_finish=stop_stage
    FLAGGER_DEMO_CONTROLLER='--tenant-addresses +loopback,-127.0.0.9' FLAGGER_BUILD=$build FLAGGER_DEMO_DIR=$work/stage test/demo --stage >/dev/null 2>&1
    # shellcheck disable=SC1091
    . "$work/stage/env"
    serve
    kubectl -n test apply -f - >/dev/null <<YAML
apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: closed, namespace: test}
spec: {provider: {type: prometheus, address: "http://127.0.0.9:$CLOSED"}, query: up}
YAML
    try_way 'a hook to a closed address' "{\"interval\":\"1s\",\"webhooks\":[{\"name\":\"a\",\"type\":\"pre-rollout\",\"url\":\"http://127.0.0.9:$CLOSED/\"}]}" 5.0.0 'the address 127.0.0.9 is refused: --tenant-addresses opens it'
    try_way 'a hook that redirects to a closed address' "{\"interval\":\"1s\",\"webhooks\":[{\"name\":\"b\",\"type\":\"pre-rollout\",\"url\":\"http://127.0.0.1:$OWN/\"}]}" 5.0.1 'redirects with 302 to http://127.0.0.9'
    try_way 'a metric at a closed address' "{\"interval\":\"1s\",\"webhooks\":[],\"metrics\":[{\"name\":\"c\",\"templateRef\":{\"name\":\"closed\"},\"thresholdRange\":{\"max\":1}}]}" 5.0.2 'a metric.*cannot be asked\|held until it can be asked'
fi
