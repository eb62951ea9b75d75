# Alerts reach chat services: each once and in order, also through a controller that is killed, and a service that fails.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/daemon
    load ../lib/manifest
    DIR=$(mktemp -d /tmp/flagger-alerts.XXXXXX)
    export DIR KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home
    mkdir "$HOME"
    "$FLAGGER_BUILD/flagger-sandbox" --kubeconfig "$KUBECONFIG" --crds "$BATS_TEST_DIRNAME/../../proto/crd" \
        --no-gateway --no-services >"$DIR/out" 2>"$DIR/log" </dev/null 3>&- &
    echo $! >"$DIR/sandbox"
    eventually 60 grep -q '^ready' "$DIR/out" || { cat "$DIR/log" && return 1; }
}

teardown_file() {
    load ../lib/daemon
    load ../lib/manifest
    DAEMON_PID=$(cat "$DIR/sandbox")
    kill -TERM "$DAEMON_PID" || true
    eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    rm -rf "$DIR"
}

setup() {
    load ../lib/daemon
    load ../lib/manifest
}

teardown() {
    daemon_stop
    # A test may have started several.
    [ ! -e "$DIR/chat.pids" ] || { xargs -n 1 kill <"$DIR/chat.pids" 2>/dev/null || true; rm -f "$DIR/chat.pids"; }
}

# chat [STATUS...]: a service that answers with these one after the other, and then with 200. `chat half SEED` answers half of the
# requests badly, chosen by the seed; 0 is no answer, although it has taken the alert. At /calm all is well. One line of JSON for
# each request is in $DIR/told.
chat() {
    : >"$DIR/told"
    rm -f "$DIR/port"
    python3 - "$DIR" "$@" 3>&- <<'PY' &
import http.server, json, random, sys
directory, chance, answers = sys.argv[1], None, []
if sys.argv[2:3] == ['half']:
    chance = random.Random(int(sys.argv[3]))
else:
    answers = [int(status) for status in sys.argv[2:]]
def answer(path):
    if path == '/calm':
        return 200
    if chance:
        return chance.choice([200, 200, 200, 500, 429, 0])
    return answers.pop(0) if answers else 200
class Chat(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        status = answer(self.path)
        with open(directory + '/told', 'a') as out:
            out.write(json.dumps({'path': self.path, 'key': self.headers['Idempotency-Key'], 'token': self.headers['Authorization'],
                                  'type': self.headers['Content-Type'], 'status': status, 'body': body}) + '\n')
        if not status:
            self.close_connection = True
            return
        self.send_response(status); self.send_header('Content-Length', '0'); self.end_headers()
    def log_message(self, *a): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Chat)
open(directory + '/port', 'w').write(str(server.server_port))
server.serve_forever()
PY
    echo $! >>"$DIR/chat.pids"
    eventually 10 test -s "$DIR/port"
    CHAT=http://127.0.0.1:$(cat "$DIR/port")
}

controller() {
    daemon_start "$FLAGGER_BUILD/flagger-controller" --mesh-provider kubernetes --min-analysis-interval 1s "$@"
}

app() { # NAME: a Deployment and its Canary, whose alerts are in $alerts
    one_pod "$1" "$namespace"
    cat <<YAML
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: $namespace}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}
  service: {port: 9898}
  progressDeadlineSeconds: 60
  analysis: {interval: 1s, threshold: 3, iterations: 2, alerts: $alerts}
YAML
}

stage() { # NAMESPACE [ALERTS]
    namespace=$1
    kubectl create namespace "$namespace" >/dev/null
    alerts=${2:-[]} app app | kubectl apply -f - >/dev/null
}

phase_is() { [ "$(of_canary "$namespace" app .status.phase)" = "$1" ]; }
told() { gojq -r "$1" "$DIR/told"; }
release() { # VERSION
    set_image "$namespace" app app "app:$1"
    eventually 60 phase_is Progressing
    eventually 60 phase_is Succeeded
}
is_settled() { [ -z "$(of_canary "$namespace" app .status.pendingAlerts)" ]; }

@test "an AlertProvider is told each step of a release, in order, with its token" {
    chat
    kubectl create namespace chat >/dev/null
    kubectl -n chat create secret generic chat --from-literal=address="$CHAT/hook" --from-literal=token=secret >/dev/null
    kubectl apply -f - >/dev/null <<YAML
apiVersion: flagger.app/v1beta1
kind: AlertProvider
metadata: {name: chat, namespace: chat}
spec: {type: slack, channel: releases, secretRef: {name: chat}}
YAML
    controller --cluster-name north
    stage one '[{name: on call, severity: info, providerRef: {name: chat, namespace: chat}}]'
    eventually 60 phase_is Initialized
    release 2
    eventually 30 is_settled
    [ "$(told '.body.attachments[0].text')" = "New Deployment detected, initialization completed.
New revision detected, progressing canary analysis.
Canary analysis completed successfully, promotion finished." ]
    run -0 told 'select(.path != "/hook" or .token != "Bearer secret" or .type != "application/json" or .body.channel != "releases")'
    [ -z "$output" ]
    run -0 gojq -rs '.[0].body.attachments[0].fields | map(.title + "=" + .value) | join(", ")' "$DIR/told"
    [ "$output" = "Cluster=north, Target=Deployment/app.one, Failed checks threshold=3, Progress deadline=60s, Traffic routing=Blue/Green" ]
    run -0 kubectl -n one get canary app -o 'jsonpath={.status.conditions[?(@.type=="AlertsDelivered")]}'
    [ -z "$output" ]
}

@test "a receiver of CloudEvents is told what was deployed, upgraded and rolled back, with the image that serves" {
    chat
    kubectl create namespace receivers >/dev/null
    kubectl apply -f - >/dev/null <<YAML
apiVersion: flagger.app/v1beta1
kind: AlertProvider
metadata: {name: events, namespace: receivers}
spec: {type: cloudevents, address: "$CHAT/events"}
YAML
    controller --cluster-name north
    stage events '[{name: events, severity: info, providerRef: {name: events, namespace: receivers}}]'
    eventually 60 phase_is Initialized
    release 2
    # A check that cannot pass: three of them end the next release.
    api_merge events canaries app '{"spec": {"analysis": {"webhooks": [{"name": "no", "type": "rollout", "url": "http://127.0.0.1:1/"}]}}}'
    set_image events app app app:3
    eventually 60 phase_is Failed
    eventually 30 is_settled
    run -0 told 'select(.type != "application/cloudevents+json; charset=utf-8" or .body.specversion != "1.0" or .body.id != .key
        or .body.source != "/clusters/north/apis/flagger.app/v1beta1/namespaces/events/canaries/app" or .body.subject != "deployment/app")'
    [ -z "$output" ]
    [ "$(told '.body | [.type, .data.subject.content.artifactId // .data.text] | join(" ")')" = "dev.cdevents.service.deployed.0.2.0 pkg:oci/app?repository_url=docker.io/library/app&tag=1
app.flagger.alert New revision detected, progressing canary analysis.
dev.cdevents.service.upgraded.0.2.0 pkg:oci/app?repository_url=docker.io/library/app&tag=2
app.flagger.alert New revision detected, progressing canary analysis.
dev.cdevents.service.rolledback.0.2.0 pkg:oci/app?repository_url=docker.io/library/app&tag=2" ]
    [ "$(told '.body | select(.data.context).data | .customData.text + " " + .subject.content.environment.id' | tail -n 1)" = "Failed checks threshold reached 3 clusters/north/namespaces/events" ]
    told '.body | select(.data.context) | [.time, .data.context.timestamp] | unique | length' | sort -u | grep -qx 1
}

@test "the options' service is told of Canaries without alerts of their own" {
    chat
    SLACK_TOKEN=t0ken controller --slack-url "$CHAT/global" --slack-channel ops
    stage two
    eventually 60 phase_is Initialized
    eventually 30 grep -q . "$DIR/told"
    [ "$(told '[.path, .token, .body.channel, .body.username] | join(" ")')" = "/global Bearer t0ken ops flagger" ]
}

@test "an alert links to the release page, else to /debug, and nowhere where neither is served" {
    local row n=0
    chat
    for row in "--ui http://flagger.example.com/ui/#/links-1/app" " http://flagger.example.com/debug/canaries/links-2/app" '--debug-endpoints=false '; do
        n=$((n + 1))
        : >"$DIR/told"
        # shellcheck disable=SC2086
        controller --slack-url "$CHAT/x" --external-url http://flagger.example.com/ ${row% *}
        stage "links-$n"
        eventually 60 phase_is Initialized
        eventually 30 grep -q . "$DIR/told"
        [ "$(told '.body.attachments[0].fields | map(select(.title == "Details").value) | join("")')" = "${row##* }" ]
        kubectl delete namespace "links-$n" --wait=false >/dev/null
        [ "$n" = 3 ] || daemon_stop
    done
}

@test "a service that fails is asked again, in order, and a refusal is told" {
    chat 500 429 503 200 403
    controller --slack-url "$CHAT/x"
    stage three
    eventually 60 phase_is Initialized
    release 2
    eventually 60 is_settled
    # one of the release is refused for good, the others arrive once each
    [ "$(told 'select(.status == 200) | .key' | sort | uniq -d | wc -l)" = 0 ]
    [ "$(told '.key' | sort -u | wc -l)" = 3 ]
    refusal_is_told() { kubectl -n three get events | grep -q 'alert --slack-url by slack was not delivered: bad response 403'; }
    eventually 30 refusal_is_told
}

@test "what was not delivered when the controller was killed is told by the next one" {
    chat 503 503 503 503 503 503 503 503 503 503 503
    controller --slack-url "$CHAT/x"
    stage four
    eventually 60 phase_is Initialized
    eventually 30 grep -q . "$DIR/told"
    local first
    first=$(told .key | head -1)
    kill -KILL "$DAEMON_PID"
    eventually 10 daemon_gone
    chat
    controller --slack-url "$CHAT/x"
    eventually 30 grep -q . "$DIR/told"
    [ "$(told .key)" = "$first" ]
    eventually 30 is_settled
}

# two_receivers NAMESPACE: an app whose alerts go to /storm and to /calm
two_receivers() {
    local name
    kubectl create namespace "$1" >/dev/null
    namespace=$1
    for name in storm calm; do
        kubectl -n "$1" apply -f - >/dev/null <<YAML
apiVersion: flagger.app/v1beta1
kind: AlertProvider
metadata: {name: $name}
spec: {type: webhook, address: "$CHAT/$name"}
YAML
    done
    alerts='[{name: storm, severity: info, providerRef: {name: storm}}, {name: calm, severity: info, providerRef: {name: calm}}]' \
        app app | kubectl apply -f - >/dev/null
    controller
    eventually 60 phase_is Initialized
}

# What a receiver at PATH has acted on that acts on each key once: a text in each line.
acted() { gojq -rn --arg path "$1" 'reduce (inputs | select(.path == $path and (.status == 200 or .status == 0))) as $told ([];
    if any(.[]; .key == $told.key) then . else . + [{key: $told.key, text: $told.body.text}] end) | .[].text' "$DIR/told"; }

@test "who was told before a crash is not told again, when the status has been written since" {
    chat 503 503 503 503 503 503
    two_receivers crash
    release 2
    noted() { [ "$(kubectl -n crash get canary app -o 'jsonpath={.status.pendingAlerts[0].delivered[0]}')" = calm ]; }
    eventually 30 noted
    kill -KILL "$DAEMON_PID"
    eventually 10 daemon_gone
    told .path >"$BATS_TEST_TMPDIR/before"
    controller
    asked_again() { [ "$(told .path | grep -c /storm)" -gt "$(grep -c /storm "$BATS_TEST_TMPDIR/before")" ]; }
    eventually 60 asked_again
    eventually 120 is_settled
    run -0 gojq -rs 'map(select(.path == "/calm")) | group_by(.key) | map(length) | .[0]' "$DIR/told"
    [ "$output" = 1 ]
}

@test "ten releases, a service that fails half of its calls, a controller that is killed every few seconds: each step arrives, once and in order" {
    chat half 7
    two_receivers storm
    local version kills=0 want="New Deployment detected, initialization completed."
    for version in {2..11}; do
        set_image storm app app "app:$version"
        eventually 60 phase_is Progressing
        until eventually 2 phase_is Succeeded; do
            kill -KILL "$DAEMON_PID"
            eventually 10 daemon_gone
            rm -f "$DAEMON_LOG"
            controller
            kills=$((kills + 1))
            [ "$kills" -lt 200 ]
        done
        want+="
New revision detected, progressing canary analysis.
Canary analysis completed successfully, promotion finished."
    done
    eventually 120 is_settled
    [ "$(acted /storm)" = "$want" ]
    [ "$(acted /calm)" = "$want" ]
    echo "# $kills times killed; $(grep -c '"/storm"' "$DIR/told") requests for 21 alerts, and where nothing failed $(grep -c '"/calm"' "$DIR/told")" >&3
}

@test "a real Alertmanager holds an alert once, however often it is told" {
    command -v prometheus-alertmanager >/dev/null || skip 'prometheus-alertmanager is not installed'
    namespace=six
    kubectl create namespace six >/dev/null
    echo 'route: {receiver: nobody}
receivers: [{name: nobody}]' >"$DIR/alertmanager.yml"
    local port
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    prometheus-alertmanager --config.file "$DIR/alertmanager.yml" --storage.path "$DIR/alertmanager" --cluster.listen-address= \
        --web.listen-address "127.0.0.1:$port" >"$DIR/alertmanager.log" 2>&1 3>&- &
    echo $! >>"$DIR/chat.pids"
    eventually 30 curl -sf -o /dev/null "http://127.0.0.1:$port/-/ready"
    kubectl -n six apply -f - >/dev/null <<YAML
apiVersion: flagger.app/v1beta1
kind: AlertProvider
metadata: {name: ops}
spec: {type: alertmanager, address: "http://127.0.0.1:$port"}
YAML
    controller --cluster-name north
    alerts='[{name: ops, severity: info, providerRef: {name: ops}}]' app app | kubectl apply -f - >/dev/null
    eventually 60 phase_is Initialized
    eventually 30 is_settled
    run -0 gojq -r '.[] | [.labels.alertname, .labels.canary, .labels.namespace, .labels.severity, .annotations.summary] | join(" ")' \
        <(curl -sf "http://127.0.0.1:$port/api/v2/alerts")
    [ "$output" = "FlaggerCanary app six info New Deployment detected, initialization completed." ]
}
