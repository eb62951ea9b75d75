# ReleasePlans carried out by flagger-controller fleet: three members with controllers of their own, real releases in two waves.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/daemon
    load ../lib/fleet
    local name
    clusters_begin one two three
    for name in one two three; do
        on "$name" apply -f - <<'YAML'
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: podinfo, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: podinfo}}
  template:
    metadata: {labels: {app: podinfo}}
    spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 9898}]}]}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: podinfo, namespace: default, labels: {team: shop}}
spec:
  provider: kubernetes
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: podinfo}
  service: {port: 9898}
  analysis: {interval: 1s, threshold: 1, iterations: 1}
YAML
        fleet_member "$name" flagger.app/fleet=f "wave=$([ "$name" = one ] && echo first || echo rest)"
        "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$DIR/$name" --min-analysis-interval 1s --address 127.0.0.1 --port 0 \
            2>"$DIR/$name.controller.log" >/dev/null </dev/null 3>&- &
        echo $! >"$DIR/$name.controller.pid"
    done
}

teardown_file() {
    load ../lib/daemon
    load ../lib/fleet
    clusters_end
}

setup() {
    load ../lib/daemon
    load ../lib/fleet
    daemon_start "$FLAGGER_BUILD/flagger-controller" fleet
}

teardown() { daemon_stop; }

canary() { KUBECONFIG=$DIR/$1 api_get apis/flagger.app/v1beta1/namespaces/default/canaries/podinfo; }
phase() { [ "$(canary "$1" | gojq -r .status.phase)" = "$2" ]; }
held() { canary "$1" | gojq -e '.spec.suspend and .metadata.annotations["flagger.app/held-by"] == "default/shop"' >/dev/null; }
free() { canary "$1" | gojq -e '.spec.suspend != true and .metadata.annotations["flagger.app/held-by"] == null' >/dev/null; }
plan() { api_get apis/flagger.app/v1alpha1/namespaces/default/releaseplans/shop | gojq -e ".status | $1" >/dev/null; }
promoted() { [ "$(KUBECONFIG=$DIR/$1 api_get apis/apps/v1/namespaces/default/deployments/podinfo-primary | gojq -r '.spec.template.spec.containers[0].image')" = "$2" ]; }
deliver() { for name in one two three; do on "$name" set image deployment/podinfo "app=$1"; done; }

@test "a version that is delivered everywhere is released wave by wave" {
    for name in one two three; do eventually 60 phase "$name" Initialized; done
    kubectl apply -f - <<'YAML'
---
apiVersion: flagger.app/v1alpha1
kind: ReleasePlan
metadata: {name: shop, namespace: default}
spec:
  canaries: {namespace: default, selector: {matchLabels: {team: shop}}}
  destination: {fleet: f}
  waves:
  - {name: first, clusterSelector: {matchLabels: {wave: first}}}
  - {name: rest, maxConcurrent: 1}
YAML
    eventually 30 held two
    eventually 30 held three
    free one
    kubectl get releaseplan shop -o json | gojq -e '.metadata.finalizers == ["flagger.app/fleet"]'
    deliver app:2
    eventually 60 promoted one app:2
    promoted two app:1
    eventually 90 promoted two app:2
    eventually 90 promoted three app:2
    eventually 60 plan '.phase == "Completed" and (.waves | map(.promoted) == [1, 2])'
    eventually 30 held two
    eventually 30 held three
}

@test "one that fails in the first wave is seen by no other, and the daemon may be killed meanwhile" {
    on one patch canary podinfo --type merge -p '{"spec": {"analysis": {"webhooks": [{"name": "no", "type": "rollout", "url": "http://127.0.0.1:1/"}]}}}'
    deliver app:3
    kill -KILL "$DAEMON_PID"
    eventually 10 daemon_gone
    eventually 60 phase one Failed
    daemon_start "$FLAGGER_BUILD/flagger-controller" fleet
    eventually 30 plan '.phase == "Stopped" and (.conditions | map(select(.type == "Stopped"))[0].status == "True")'
    phase two Succeeded
    held two && held three
    kubectl get events -o json | gojq -e '.items | map(select(.involvedObject.kind == "ReleasePlan" and .reason == "Stopped" and .type == "Warning")) | length == 1'
    # The next one is good.
    on one patch canary podinfo --type merge -p '{"spec": {"analysis": {"webhooks": null}}}'
    deliver app:4
    for name in one two three; do eventually 90 promoted "$name" app:4; done
    eventually 60 plan '.phase == "Completed"'
}

@test "a gate between the waves is asked, and a plan that is deleted gives back what it holds" {
    python3 - "$DIR" >"$DIR/gate.out" 2>&1 </dev/null 3>&- <<'PY' &
import http.server, json, os, sys
folder = sys.argv[1]
class Gate(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        open(folder + '/asked', 'wb').write(body)
        is_open = os.path.exists(folder + '/open')
        self.send_response(200 if is_open else 403)
        self.end_headers()
        self.wfile.write(b'fine' if is_open else b'not on a Friday')
    def log_message(self, *args): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Gate)
print(server.server_port, flush=True)
server.serve_forever()
PY
    local gate=$! port
    eventually 10 test -s "$DIR/gate.out"
    port=$(cat "$DIR/gate.out")
    kubectl patch releaseplan shop --type json -p "[{\"op\": \"add\", \"path\": \"/spec/waves/0/gate\", \"value\": {\"url\": \"http://127.0.0.1:$port/\"}}]"
    deliver app:5
    eventually 60 promoted one app:5
    eventually 30 plan '.phase == "AtGate" and (.message | contains("not on a Friday"))'
    gojq -e '.name == "shop" and .namespace == "default" and .phase == "WaitingPromotion" and .metadata.wave == "first"' "$DIR/asked"
    [ "$(gojq -r .checksum "$DIR/asked")" = "$(on one get canary podinfo -o jsonpath='{.status.lastPromotedSpec}')" ]
    promoted two app:4
    touch "$DIR/open"
    for name in two three; do eventually 90 promoted "$name" app:5; done
    eventually 60 plan '.phase == "Completed"'
    kill "$gate"
    eventually 30 held two
    kubectl delete releaseplan shop --timeout=30s
    for name in two three; do eventually 20 free "$name"; done
}
