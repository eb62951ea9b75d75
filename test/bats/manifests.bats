# Every Canary of the field comes to Initialized, each with its provider, target, autoscaler and source, on an API server that
# holds every write against the schemas of the meshes (test/data).

bats_require_minimum_version 1.5.0

setup_file() {
    export DATA=$BATS_TEST_DIRNAME/../data
    load ../lib/daemon
    DIR=$(mktemp -d /tmp/flagger-manifests.XXXXXX)
    export DIR KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home
    mkdir "$HOME"
    crds >"$DIR/crds.yaml"
    "$FLAGGER_BUILD/flagger-sandbox" --kubeconfig "$KUBECONFIG" --crds "$BATS_TEST_DIRNAME/../../proto/crd,$DIR/crds.yaml" \
        --no-gateway --no-services >"$DIR/out" 2>"$DIR/log" </dev/null 3>&- &
    echo $! >"$DIR/sandbox"
    eventually 60 grep -q '^ready' "$DIR/out" || { cat "$DIR/log" && return 1; }
}

teardown_file() {
    if [ -n "${DIR:-}" ]; then
        load ../lib/daemon
        DAEMON_PID=$(cat "$DIR/sandbox")
        kill -TERM "$DAEMON_PID" || true
        eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
        rm -rf "$DIR"
    fi
}

# Those of the meshes, but for what the sandbox brings. The SMI has no schema of v1alpha1 any more: any object will do there,
# and for Keptn.
crds() {
    for file in "$DATA"/crds/*.yaml; do
        gojq --yaml-input -c 'select(.kind == "CustomResourceDefinition") | select(.metadata.name | test("^(httproutes|gateways)\\.") | not)
            | if .metadata.name == "trafficsplits.split.smi-spec.io" then .spec.versions += [{name: "v1alpha1", served: true, storage: false,
                schema: {openAPIV3Schema: {type: "object", "x-kubernetes-preserve-unknown-fields": true}}}] else . end' "$file" | sed 's/^/---\n/'
    done
    cat <<'YAML'
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: keptnmetrics.metrics.keptn.sh}
spec:
  group: metrics.keptn.sh
  scope: Namespaced
  names: {kind: KeptnMetric, plural: keptnmetrics}
  versions: [{name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
YAML
}

# One line of JSON for each Canary of the field: where it is from, and itself with its provider there, in a namespace of its own.
# What a part of a document leaves out is made up. A number among the metadata of a webhook (nGrinder's) is refused: as with
# Flagger, all of these are texts.
canaries() {
    local file n=0 object
    for file in "$DATA"/manifests/*.yaml "$DATA"/parts/*.yaml; do
        gojq --yaml-input -c 'select(.kind == "Canary" or (.kind | not))' "$file" | gojq -c --arg at "$(basename "$file")" '{at: $at, canary: .}'
    done | gojq -c -n '[inputs] | to_entries[] | .key as $n | .value
        | .canary |= ({apiVersion: "flagger.app/v1beta1", kind: "Canary"} * .) | .canary.metadata.name //= "podinfo"
        | .canary.metadata.namespace = "from-\($n)" | .canary.spec.service.port //= 9898
        | .canary.spec.targetRef //= {apiVersion: "apps/v1", kind: "Deployment", name: .canary.metadata.name}
        | (if .canary.spec.canaryAnalysis then "canaryAnalysis" else "analysis" end) as $analysis | .canary.spec[$analysis] |=
            {interval: "1m", threshold: 5} + (if .stepWeight or .stepWeights or .iterations then . else . + {stepWeight: 10} end)
        | (.canary.spec[$analysis].webhooks[]?.metadata.clone | numbers) |= tostring
        | .at as $at | .canary.spec.provider //= if .canary.spec.service.gatewayRefs then "gatewayapi:v1"
            else (["contour", "gloo", "kuma", "linkerd", "nginx"] | map(select(. as $p | $at | test("-\($p)-"))) | first) // "istio" end'
}

# What there is before a Canary: its namespace, its target, its autoscaler, and the object of which its provider makes a copy.
before() {
    gojq -c '.canary as $c | $c.spec as $s | ($s.service.name // $s.targetRef.name) as $apex | {namespace: $c.metadata.namespace} as $in
        | {apiVersion: "v1", kind: "Namespace", metadata: {name: $in.namespace}},
        ($s.targetRef | {apiVersion: "apps/v1", kind, metadata: ($in + {name})} + if .kind == "Service"
            then {apiVersion: "v1", spec: {selector: {app: .name}, ports: [{port: $s.service.port}]}}
            else {spec: {selector: {matchLabels: {app: .name}}, template: {metadata: {labels: {app: .name}},
                spec: {containers: [{name: "app", image: "app:1", ports: [{name: "http", containerPort: 9898}]}]}}}} end),
        ($s.autoscalerRef | select(.) | {apiVersion, kind, metadata: ($in + {name})} + if .kind == "ScaledObject"
            then {spec: {scaleTargetRef: {name: $s.targetRef.name}, triggers: [{type: "prometheus", metadata:
                ({serverAddress: "http://prometheus", query: "x", threshold: "100"} )}]}}
            else {apiVersion: "autoscaling/v2", spec: {maxReplicas: 2, scaleTargetRef: $s.targetRef}} end),
        ($s.ingressRef | select(.) | {apiVersion: "networking.k8s.io/v1", kind, metadata: ($in + {name}), spec: {rules: [{host: "app.test", http: {
            paths: [{path: "/", pathType: "Prefix", backend: {service: {name: $apex, port: {number: $s.service.port}}}}]}}]}}),
        ($s.routeRef | select(.) | {apiVersion, kind, metadata: ($in + {name}), spec: {http: [{name: "root", match: {paths: ["/*"]},
            backends: [{serviceName: $apex, servicePort: $s.service.port}]}]}}),
        ($s.upstreamRef | select(.) | {apiVersion, kind, metadata: {name, namespace: (.namespace // $in.namespace)},
            spec: {connectionConfig: {maxRequestsPerConnection: 51}}})'
}

setup() {
    load ../lib/daemon
}
teardown() { [ -z "${DAEMON_PID:-}" ] || daemon_stop; }

controller() { daemon_start "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --min-analysis-interval 1s; }
all_in() { # PHASE
    api_get apis/flagger.app/v1beta1/canaries | gojq -e --arg phase "$1" '.items | all(.status.phase == $phase)' >/dev/null
}
# all_come PHASE: all Canaries, and none complains
all_come() {
    eventually 180 all_in "$1" || { refused && return 1; }
    refute gojq -e 'select(.level == "error")' "$DAEMON_LOG"
}
# Where one is from, its phase, and what it says of its spec.
refused() {
    api_look '' canaries | gojq -r '.items[] | select(.status.phase != "Initialized" and .status.phase != "Succeeded") |
        "\(.metadata.labels.at) \(.metadata.namespace)/\(.metadata.name) \(.status.phase): \([.status.conditions[]? | select(.status == "False").message] | join("; "))"'
    api_look '' events | gojq -r '.items[] | select(.type == "Warning").message'
}
apply() { kubectl apply -f "$1" >"$DIR/applied" 2>&1 || { grep -vE '(created|configured|unchanged)$' "$DIR/applied" && return 1; }; }

@test "every Canary of the field is initialised" {
    canaries >"$DIR/canaries"
    [ "$(wc -l <"$DIR/canaries")" -gt 80 ]
    {
        before <"$DIR/canaries" | gojq -c 'select(.kind == "Namespace")'
        gojq -c '.. | .namespace? // empty | strings | {apiVersion: "v1", kind: "Namespace", metadata: {name: .}}' "$DIR/canaries" | sort -u
        before <"$DIR/canaries" | gojq -c 'select(.kind != "Namespace")'
        gojq -c '.at as $at | .canary | .metadata.labels.at = $at' "$DIR/canaries"
    } >"$DIR/objects"
    apply "$DIR/objects"
    controller
    all_come Initialized
}

# With its own steps, but at once and without what only its own cluster answers.
@test "every Canary of the field is released, step by step" {
    gojq -c '.at as $at | .canary | .metadata.labels.at = $at
        | .spec |= ((.analysis, .canaryAnalysis | objects) |= (.interval = "1s" | del(.metrics, .webhooks, .alerts)))' "$DIR/canaries" >"$DIR/quick"
    apply "$DIR/quick"
    gojq -c 'select(.kind == "Deployment" or .kind == "DaemonSet") | .spec.template.spec.containers[0].image = "app:2"' "$DIR/objects" >"$DIR/releases"
    controller
    apply "$DIR/releases"
    all_come Succeeded
}

# A server that answers 100 in the form of each backend, by the path that it is asked for; and a chat service that is content.
backends() {
    python3 - "$DIR/backends" "$DIR/asked" 3>&- <<'PY' &
import http.server, json, sys
form = json.dumps({'status': 'success', 'data': {'resultType': 'vector', 'result': [{'metric': {}, 'value': [0, '100']}]},
    'series': [{'pointlist': [[1, 100]]}], 'results': [{'result': 100}], 'result': [{'data': [{'values': [100]}]}], 'items': [{'value': '100'}], 'ok': True})
others = {'/render': '[{"target": "a", "datapoints": [[100, 1]]}]', '/api/v2/query': ',result,table,_value\n,,0,100\n',
    '/v2/signalflow': 'event: data\ndata: {"data": [{"tsId": "A", "value": 100}]}\n\n'}
class Backend(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get('Content-Length') or 0))
        with open(sys.argv[2], 'a') as out:
            out.write(self.command + ' ' + self.path.split('?')[0] + '\n')
        text = next((others[path] for path in others if self.path.startswith(path)), form).encode()
        self.send_response(200); self.send_header('Content-Length', str(len(text))); self.end_headers(); self.wfile.write(text)
    do_GET = do_POST = answer
    def log_message(self, *a): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Backend)
open(sys.argv[1], 'w').write(str(server.server_port))
server.serve_forever()
PY
    BACKENDS=$!
    eventually 10 test -s "$DIR/backends"
}

# Each MetricTemplate (but for Stackdriver's, which has its token from Google over https) at that server, with a Secret that has the keys of all, and a Canary that asks it; and each AlertProvider.
asking() { # ADDRESS
    gojq --yaml-input -c 'select(.kind == "MetricTemplate" or .kind == "AlertProvider")' "$DATA"/manifests/*.yaml |
        gojq -c -n --arg address "$1" '
            def of($kind; $name; $spec): {apiVersion: "flagger.app/v1beta1", kind: $kind, metadata: {name: $name, namespace: "templates"}, spec: $spec};
            {apiVersion: "v1", kind: "Namespace", metadata: {name: ("templates", "my-namespace")}},
            {apiVersion: "metrics.keptn.sh/v1beta1", kind: "KeptnMetric", metadata: {name: "response-time", namespace: "my-namespace"}, status: {value: "100"}},
            {apiVersion: "v1", kind: "Secret", metadata: {name: "all", namespace: "templates"}, stringData: (([
                "username", "password", "token", "org", "datadog_api_key", "datadog_application_key", "newrelic_account_id", "newrelic_query_key",
                "dynatrace_token", "sf_token_key"] | map({(.): "1"}) | add) + {address: $address})},
            (inputs | select(.kind == "AlertProvider") | of(.kind; "alert"; .spec | .address = "\($address)/hook" | del(.secretRef, .proxy)))' &&
        gojq --yaml-input -c 'select(.kind == "MetricTemplate").spec | select(.provider.type != "stackdriver")' "$DATA"/manifests/*.yaml | gojq -c -n --arg address "$1" '
            def of($kind; $name; $spec): {apiVersion: "flagger.app/v1beta1", kind: $kind, metadata: {name: $name, namespace: "templates"}, spec: $spec};
            [inputs] | to_entries[] | "t\(.key)" as $name | .value
            | of("MetricTemplate"; $name; .provider += {address: $address} | if .provider.secretRef then .provider.secretRef.name = "all" else . end),
            ({app: $name} as $labels | {apiVersion: "apps/v1", kind: "Deployment", metadata: {name: $name, namespace: "templates"}, spec: {
                selector: {matchLabels: $labels}, template: {metadata: {labels: $labels}, spec: {containers: [{name: "app", image: "app:1"}]}}}}),
            of("Canary"; $name; {provider: "kubernetes", targetRef: {apiVersion: "apps/v1", kind: "Deployment", name: $name}, service: {port: 80},
                analysis: {interval: "1s", threshold: 1, iterations: 1, alerts: [{name: "alert", severity: "info", providerRef: {name: "alert"}}],
                    metrics: [{name: "asked", interval: "1m", templateRef: {name: $name}, templateVariables: {direction: "inbound", reporter: "destination", path: "/"},
                        thresholdRange: {min: 99, max: 101}}]}})'
}

@test "every MetricTemplate of the field is asked, every AlertProvider told" {
    backends
    kubectl delete canaries -A --all --wait=false >/dev/null
    asking "http://127.0.0.1:$(cat "$DIR/backends")" >"$DIR/asking"
    controller
    none() { api_look '' canaries | gojq -e '.items == []' >/dev/null; }
    eventually 300 none
    apply "$DIR/asking"
    all_come Initialized
    gojq -c 'select(.kind == "Deployment") | .spec.template.spec.containers[0].image = "app:2"' "$DIR/asking" >"$DIR/releases"
    apply "$DIR/releases"
    all_come Succeeded
    for path in /api/v1/query /v1/accounts/1/query /render /api/v2/query /api/v2/metrics/query /v2/signalflow/execute /hook; do
        grep -q " $path" "$DIR/asked" || { echo "nobody has asked $path" && sort "$DIR/asked" | uniq -c && return 1; }
    done
    refute grep -q AlertsDelivered <(kubectl get canaries -A -o yaml)
    kill "$BACKENDS"
}
