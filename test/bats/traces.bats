# The trace of a release at a collector of OpenTelemetry: one that checks what it gets strictly, and the makers' own; also through a
# controller that is killed.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/sandbox
    # The makers' collector, which is optional; a sandbox has a HOME of its own.
    export FLAGGER_COLLECTOR=${FLAGGER_COLLECTOR:-${XDG_CACHE_HOME:-$HOME/.cache}/flagger-c/collector}
    sandbox_begin "$(mktemp -d /tmp/flagger-traces.XXXXXX)" --no-services
}

teardown_file() {
    load ../lib/sandbox
    sandbox_end
    rm -rf "$DIR"
}

setup() {
    load ../lib/daemon
    load ../lib/manifest
}

teardown() {
    [ -z "${DAEMON_PID:-}" ] || daemon_stop
    local file
    for file in "$DIR"/{collector,real}.pid; do
        [ ! -e "$file" ] || kill "$(cat "$file")" || true
        rm -f "$file"
    done
}

# A collector: a line of JSON for each span in $DIR/spans, one for each mistake in $DIR/wrong, and how many spans each request had in
# $DIR/requests. It is the service of hooks and metrics too: /gate is closed until $DIR/open is there, /number is 1.
collector() {
    rm -f "$DIR/port" "$DIR/open"
    : >"$DIR/spans"
    : >"$DIR/wrong"
    : >"$DIR/requests"
    python3 - "$DIR" 3>&- <<'PY' &
import http.server, json, os, re, sys
directory = sys.argv[1]
def note(name, what):
    with open(directory + '/' + name, 'a') as out:
        out.write(json.dumps(what) + '\n')
def expect(good, what):
    if not good:
        note('wrong', what)
def keys(what, required, optional=()):
    expect(set(required) <= set(what) <= set(required) | set(optional), what)
def attributes(list):
    kinds = {'stringValue': str, 'intValue': str, 'doubleValue': (int, float), 'boolValue': bool}
    names = [one['key'] for one in list]
    expect(len(names) == len(set(names)), names)
    for one in list:
        keys(one, ['key', 'value'])
        (kind, value), = one['value'].items()
        expect(isinstance(value, kinds[kind]), one)
        expect(kind != 'intValue' or re.fullmatch('-?[0-9]+', value), one)
def span(one):
    keys(one, ['traceId', 'spanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano'], ['parentSpanId', 'attributes', 'status'])
    expect(re.fullmatch('[0-9a-f]{32}', one['traceId']) and int(one['traceId'], 16), one)
    for id in ['spanId', 'parentSpanId']:
        expect(id not in one or re.fullmatch('[0-9a-f]{16}', one[id]) and int(one[id], 16), one)
    begin, end = one['startTimeUnixNano'], one['endTimeUnixNano']
    expect(isinstance(begin, str) and isinstance(end, str) and re.fullmatch('[1-9][0-9]{18}', begin) and re.fullmatch('[1-9][0-9]{18}', end), one)
    expect(int(begin) <= int(end), one)
    expect(one['kind'] in (1, 3) and isinstance(one['name'], str) and one['name'], one)
    attributes(one.get('attributes', []))
    if 'status' in one:
        keys(one['status'], ['code', 'message'])
        expect(one['status']['code'] == 2, one)
    note('spans', one)
class Collector(http.server.BaseHTTPRequestHandler):
    def answer(self, status, text):
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        if self.path != '/v1/traces':
            closed = self.path == '/gate' and not os.path.exists(directory + '/open')
            return self.answer(403 if closed or self.path == '/no' else 200, b'{}')
        expect(self.headers['Content-Type'] == 'application/json', dict(self.headers))
        keys(body, ['resourceSpans'])
        resource, = body['resourceSpans']
        keys(resource, ['resource', 'scopeSpans'])
        keys(resource['resource'], ['attributes'])
        attributes(resource['resource']['attributes'])
        expect({'key': 'service.name', 'value': {'stringValue': 'flagger-controller'}} in resource['resource']['attributes'], resource['resource'])
        expect({'key': 'k8s.cluster.name', 'value': {'stringValue': 'north'}} in resource['resource']['attributes'], resource['resource'])
        scope, = resource['scopeSpans']
        keys(scope, ['scope', 'spans'])
        keys(scope['scope'], ['name', 'version'])
        for one in scope['spans']:
            span(one)
        note('requests', len(scope['spans']))
        self.answer(200, b'{}')
    def do_GET(self): self.answer(200, b'{"value": 1}')
    def log_message(self, *a): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Collector)
open(directory + '/port', 'w').write(str(server.server_port))
server.serve_forever()
PY
    echo $! >"$DIR/collector.pid"
    eventually 60 test -s "$DIR/port"
    COLLECTOR=http://127.0.0.1:$(cat "$DIR/port")
}

# real_collector TOKEN: the makers' collector, which takes only requests with this token: $REAL is its URL. It writes what it has taken
# to $DIR/taken, a line for each request.
real_collector() {
    local port
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    : >"$DIR/taken"
    cat >"$DIR/collector.yaml" <<YAML
extensions: {bearertokenauth: {token: "$1"}}
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:$port", auth: {authenticator: bearertokenauth}}}}}
exporters: {file: {path: "$DIR/taken", append: true}}
service:
  extensions: [bearertokenauth]
  telemetry: {metrics: {level: none}, logs: {encoding: json}}
  pipelines: {traces: {receivers: [otlp], exporters: [file]}}
YAML
    "$FLAGGER_COLLECTOR" --config "$DIR/collector.yaml" >"$DIR/real.log" 2>&1 3>&- &
    echo $! >"$DIR/real.pid"
    eventually 60 grep -q 'Everything is ready' "$DIR/real.log" || { cat "$DIR/real.log" && return 1; }
    REAL=http://127.0.0.1:$port
}
# The spans that it has taken, as one list, each with the attributes of its resource.
taken() { gojq -s "[.[].resourceSpans[] | .resource.attributes as \$resource | .scopeSpans[].spans[] | .resource = \$resource] | $1" "$DIR/taken"; }
took() { taken "$1" | gojq -e . >/dev/null; }

controller() {
    daemon_start "$FLAGGER_BUILD/flagger-controller" --mesh-provider kubernetes --min-analysis-interval 1s --cluster-name north "$@"
}

# stage NAMESPACE HOOK: a Canary with a metric, a check at /hook or /no, and a gate before the promotion
stage() {
    namespace=$1
    kubectl create namespace "$1" >/dev/null
    {
        one_pod app "$1"
        cat <<YAML
---
apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: number, namespace: $1}
spec: {query: '{.value}', provider: {type: web, address: "$COLLECTOR/number"}}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: app, namespace: $1}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: app}
  service: {port: 9898}
  analysis:
    interval: 1s
    threshold: 2
    iterations: 3
    metrics: [{name: number, interval: 1m, templateRef: {name: number}, thresholdRange: {max: 1}}]
    webhooks: [{name: check, type: rollout, url: "$COLLECTOR/$2"}, {name: gate, type: confirm-promotion, url: "$COLLECTOR/gate"}]
YAML
    } | kubectl apply -f - >/dev/null
    eventually 60 phase_is Initialized
}

phase_is() { [ "$(of_canary "$namespace" app .status.phase)" = "$1" ]; }
spans() { gojq -rs "$1" "$DIR/spans"; }
holds() { gojq -es "$1" "$DIR/spans" >/dev/null; }

@test "a release is one trace: a span for each step, metric and webhook, also when the controller is killed in the middle" {
    collector
    controller --otlp-endpoint "$COLLECTOR/"
    stage one hook
    [ ! -s "$DIR/spans" ]
    set_image one app app app:2
    eventually 60 phase_is WaitingPromotion
    eventually 60 holds 'map(select(.name == "webhook gate")) != []'
    kill -KILL "$DAEMON_PID"
    wait "$DAEMON_PID" || true
    controller --otlp-endpoint "$COLLECTOR"
    touch "$DIR/open"
    eventually 60 phase_is Succeeded
    eventually 60 holds 'map(select(.parentSpanId == null)) != []'
    cat "$DIR/wrong"
    [ ! -s "$DIR/wrong" ]
    # One trace and one root; each other span hangs below one that is there; no span twice.
    holds '(map(.traceId) | unique | length) == 1 and (map(select(.parentSpanId == null)) | length) == 1
        and ([.[].spanId] | length == (unique | length)) and ([.[].parentSpanId // empty] | unique) - [.[].spanId] == []'
    # The root is the whole release; the steps are below it and follow one another; what was asked is below a step.
    holds '(map(select(.parentSpanId == null))[0]) as $root | map(select(.parentSpanId == $root.spanId)) as $steps
        | $root.name == "release app.one" and ($root.status == null)
        and any($root.attributes[]; .key == "flagger.outcome" and .value.stringValue == "promoted")
        and any($root.attributes[]; .key == "flagger.image" and .value.stringValue == "app:2")
        and ($steps | map(.name) | unique) == ["begin", "iteration"] and ($steps | length) >= 4
        and ($steps | map(.startTimeUnixNano) | min) == $root.startTimeUnixNano and ($steps | map(.endTimeUnixNano) | max) == $root.endTimeUnixNano
        and ($steps | sort_by(.endTimeUnixNano, .startTimeUnixNano) | . as $all | [range(1; length) | $all[.].startTimeUnixNano == $all[. - 1].endTimeUnixNano] | all)
        and (map(select(.kind == 3)) | map(.name) | unique) == ["metric metrics[0].templateRef", "webhook check", "webhook gate"]
        and (map(select(.kind == 3).parentSpanId) - ($steps | map(.spanId))) == []'
    holds 'map(select(.name == "webhook gate" and .status.code == 2)) != [] and map(select(.name == "webhook gate" and .status == null)) != []'
    holds 'all(.[] | select(.name | startswith("metric")); any(.attributes[]; .key == "flagger.metric.value" and .value.doubleValue == 1))'
    # Many spans, few requests.
    [ "$(wc -l <"$DIR/requests")" -lt "$(wc -l <"$DIR/spans")" ]
    # The next release is another trace, and its root says that it has failed.
    kubectl -n one patch canary app --type json -p "[{\"op\": \"replace\", \"path\": \"/spec/analysis/webhooks/0/url\", \"value\": \"$COLLECTOR/no\"}]" >/dev/null
    set_image one app app app:3
    eventually 60 phase_is Failed
    eventually 60 holds 'map(select(.parentSpanId == null)) | length == 2'
    holds '(map(.traceId) | unique | length) == 2 and (map(select(.parentSpanId == null))[1] | .status.code == 2 and (.status.message | contains("Failed checks threshold reached 2")))'
    [ ! -s "$DIR/wrong" ]
    curl -s "$DAEMON_URL/metrics" | grep -q '^flagger_trace_spans_sent_total [1-9]'
}

@test "the standard variable of the environment names the collector, and without either nothing is sent" {
    collector
    OTEL_EXPORTER_OTLP_ENDPOINT=$COLLECTOR controller
    touch "$DIR/open"
    stage two hook
    set_image two app app app:2
    eventually 60 phase_is Succeeded
    eventually 60 holds 'map(select(.parentSpanId == null)) != []'
    daemon_stop
    : >"$DIR/spans"
    controller
    set_image two app app app:3
    eventually 60 phase_is Progressing
    eventually 60 phase_is Succeeded
    [ ! -s "$DIR/spans" ]
}

@test "a collector that is away holds no release up, and what is not sent is counted" {
    collector
    controller --otlp-endpoint http://127.0.0.1:1
    touch "$DIR/open"
    stage three hook
    set_image three app app app:2
    eventually 60 phase_is Succeeded
    grep -q '"event":"traces_not_taken"' "$DAEMON_LOG"
    dropped() { curl -s "$DAEMON_URL/metrics" | grep -q '^flagger_trace_spans_dropped_total{reason="not taken"} [1-9]'; }
    eventually 60 dropped
}

@test "an endpoint that is no URL is refused at the start" {
    run ! "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --otlp-endpoint collector:4318
    [[ "$output" == *'--otlp-endpoint: expected a URL such as http://collector:4318, found \"collector:4318\"'* ]]
    run ! "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --otlp-endpoint http://
    [[ "$output" == *'--otlp-endpoint: expected a URL such as http://collector:4318, found \"http://\"'* ]]
}

# What the receiver cannot read it refuses, and the controller counts: nothing may be dropped. Repeats after a kill are the same span.
@test "the makers' collector takes the trace of a release, with a token from a file, also when the controller is killed in the middle" {
    [ -x "$FLAGGER_COLLECTOR" ] || skip "no collector; test/setup --collector builds it"
    collector
    real_collector 'first%of=two'
    echo 'Authorization=Bearer%20first%25of=two' >"$DIR/headers"
    controller --otlp-endpoint "$REAL" --otlp-headers-file "$DIR/headers"
    stage real hook
    set_image real app app app:2
    eventually 60 phase_is WaitingPromotion
    eventually 60 took 'any(.name == "webhook gate")'
    curl -s "$DAEMON_URL/metrics" | refute grep '^flagger_trace_spans_dropped_total{.*} [1-9]'
    kill -KILL "$DAEMON_PID"
    wait "$DAEMON_PID" || true
    OTEL_EXPORTER_OTLP_HEADERS=$(cat "$DIR/headers") controller --otlp-endpoint "$REAL"
    touch "$DIR/open"
    eventually 60 phase_is Succeeded
    eventually 60 took 'any((.parentSpanId // "") == "")'
    curl -s "$DAEMON_URL/metrics" | refute grep '^flagger_trace_spans_dropped_total{.*} [1-9]'
    curl -s "$DAEMON_URL/metrics" | grep -q '^flagger_trace_spans_sent_total [1-9]'
    refute grep -q '"event":"traces_not_taken"' "$DAEMON_LOG"
    refute grep -qE '"level":"(warn|error)"' "$DIR/real.log"
    took '(map(.traceId) | unique | length) == 1 and (map(select((.parentSpanId // "") == "")) | length) == 1
        and ([.[].spanId] | length == (unique | length)) and ([.[].parentSpanId // "" | select(. != "")] | unique) - [.[].spanId] == []'
    took '(map(select((.parentSpanId // "") == ""))[0]) as $root | map(select(.parentSpanId == $root.spanId)) as $steps
        | $root.name == "release app.real" and ($root.status.code // 0) == 0
        and ($steps | map(.name) | unique) == ["begin", "iteration"] and ($steps | length) >= 4
        and (map(select(.kind == 3)) | map(.name) | unique) == ["metric metrics[0].templateRef", "webhook check", "webhook gate"]
        and (map(select(.kind == 3).parentSpanId) - ($steps | map(.spanId))) == []'
    took 'all(.[].resource; any(.[]; .key == "service.name" and .value.stringValue == "flagger-controller") and any(.[]; .key == "k8s.cluster.name"))'
    echo "# $(taken length) spans in $(wc -l <"$DIR/taken") requests" >&3
}

@test "the headers' file is followed, and a collector that refuses them holds nothing up and learns of no secret in the log" {
    [ -x "$FLAGGER_COLLECTOR" ] || skip "no collector; test/setup --collector builds it"
    collector
    real_collector right
    echo 'authorization=Bearer wrong-token' >"$DIR/headers"
    controller --otlp-endpoint "$REAL" --otlp-headers-file "$DIR/headers"
    touch "$DIR/open"
    stage four hook
    set_image four app app app:2
    eventually 60 phase_is Succeeded
    eventually 60 grep -q '"event":"traces_not_taken".*the collector answers 401' "$DAEMON_LOG"
    [ ! -s "$DIR/taken" ]
    echo 'authorization' >"$DIR/headers"
    kill -HUP "$DAEMON_PID"
    eventually 60 grep -q '"event":"trace_headers_unread".*header 1: expected NAME=VALUE' "$DAEMON_LOG"
    echo 'authorization=Bearer right' >"$DIR/headers"
    kill -HUP "$DAEMON_PID"
    eventually 60 grep -q '"event":"trace_headers_read"' "$DAEMON_LOG"
    set_image four app app app:3
    eventually 60 phase_is Progressing
    eventually 60 phase_is Succeeded
    eventually 60 took 'any((.parentSpanId // "") == "")'
    refute grep -q 'wrong-token' "$DAEMON_LOG"
}

@test "headers that are none are refused at the start, without their text" {
    refused() { # SENTENCE OPTION...
        run ! "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" "${@:2}"
        [[ "$output" == *"$1"* && "$output" != *hidden* ]] || { echo "$output" && return 1; }
    }
    echo 'hidden' >"$DIR/headers"
    refused "--otlp-headers-file: $DIR/headers: header 1: expected NAME=VALUE" --otlp-endpoint http://c:4318 --otlp-headers-file "$DIR/headers"
    refused "--otlp-headers-file: expected --otlp-endpoint beside it" --otlp-headers-file "$DIR/headers"
    refused "--otlp-headers-file: cannot open $DIR/none" --otlp-endpoint http://c:4318 --otlp-headers-file "$DIR/none"
    OTEL_EXPORTER_OTLP_HEADERS=a=b,Host=hidden refused "OTEL_EXPORTER_OTLP_HEADERS: header 2: Host is a header that cannot be set" --otlp-endpoint http://c:4318
}
