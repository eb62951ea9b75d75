# What each kind of author can name, and what of it reaches a server of his own: the matrix of the manual and of COMPATIBILITY.md, and nothing
# beside it. Each row is a Canary (or an Application, a ReleaseRequest, a request of a pod) of its own; whatever is secret has a mark.

# The author's server keeps what it is sent in $work/got/ROW, the first part of the path; `away` redirects.
serve() {
    mkdir -p "$work/got"
    python3 - "$work" <<'PYTHON' &
import http.server, os, sys
work = sys.argv[1]
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *args): pass
    def handle(self):
        try: super().handle()
        except OSError: pass
    def do_GET(self):
        row = self.path.split('/')[1].split('?')[0]
        with open(work + '/got/' + row, 'a') as out:
            out.write(self.requestline + '\n' + str(self.headers) + '\n')
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        with open(work + '/got/' + row, 'ab') as out:
            out.write(body + b'\n')
        self.send_response(302 if row == 'away' else 200)
        if row == 'away':
            self.send_header('Location', 'http://127.0.0.1:%d/led-away' % self.server.server_port)
        text = b'{"status":"success","data":{"resultType":"vector","result":[]}}'
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    do_POST = do_GET
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Answer)
open(work + '/port.new', 'w').write(str(server.server_port))
os.rename(work + '/port.new', work + '/port')
server.serve_forever()
PYTHON
    SERVER_PID=$!
    disown
    eventually 10 test -s "$work/port"
    OWN=http://127.0.0.1:$(cat "$work/port")
}

sandbox() { # NAME CRDS
    "$build/flagger-sandbox" --no-gateway --no-services --kubeconfig "$work/$1" --crds "$2" >"$work/$1.out" 2>"$work/$1.log" </dev/null &
    sandboxes+=($!)
    eventually 60 grep -qs "^ready" "$work/$1.out"
}
end_stage() {
    local pid
    for pid in ${SERVER_PID:-} ${FLEET_PID:-}; do kill -KILL "$pid" 2>/dev/null || true; done
    for pid in "${sandboxes[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
}

# row AUTHOR WHAT NAME MARKS: what arrived under NAME, against the marks that may, "" for nothing at all
row() {
    local good=/nothing got='' raw=$work/got/$3
    if [ -e "$raw" ]; then
        got=$({ cat "$raw" && grep -oE 'Basic [A-Za-z0-9+/=]+' "$raw" | cut -d ' ' -f 2 | base64 -d; } 2>/dev/null | grep -aoE 'mark-[a-z]+' | sort -u | xargs) || true
        got=${got:-no secret}
    fi
    [ "${got}" = "$4" ] && good=ok
    local name="$1: $2" length
    length=$((${#name} < 44 ? 44 : ${#name}))
    report "$name" "$(printf '%*s' $((length < 82 ? 82 - length : 1)) '')-> ${got:-nothing}" "$good"
}

# probe NAME ANALYSIS: a Canary, its workload, and a release of it; the analysis is JSON without interval and threshold
probe() {
    kubectl -n "$tenant" apply -f - >/dev/null <<YAML
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: $1}, spec: {selector: {matchLabels: {app: $1}}, template: {metadata: {labels: {app: $1}}, spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 9898}]}]}}}}
---
{apiVersion: flagger.app/v1beta1, kind: Canary, metadata: {name: $1}, spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}, service: {port: 9898}, analysis: $(gojq -cn "{interval: \"1s\", threshold: 50, iterations: 3600} + $2")}}
YAML
    probes+=("$1")
}
secret() { # NAMESPACE NAME TYPE KEY VALUE [LABEL]
    kubectl -n "$1" apply -f - >/dev/null <<YAML
---
{apiVersion: v1, kind: Secret, metadata: {name: $2, labels: {${6:-}}}, type: $3, stringData: {$4: '$5'}}
YAML
}
template() { # NAMESPACE NAME PROVIDER
    kubectl -n "$1" apply -f - >/dev/null <<YAML
---
{apiVersion: flagger.app/v1beta1, kind: MetricTemplate, metadata: {name: $2}, spec: {provider: {$3}, query: '${4:-up}'}}
YAML
}
hook() { echo "{webhooks: [{name: \"a\", type: \"rollout\", url: \"$2\", headersFrom: [{secretRef: {name: \"$1\"}}]}]}"; }
metric() { echo "{metrics: [{name: \"a\", templateRef: {name: \"$1\"${2:+, namespace: \"$2\"}}, interval: \"1m\", thresholdRange: {max: 1}}]}"; }

cloudwatch='[{"Id":"m1","MetricStat":{"Metric":{"Namespace":"K","MetricName":"Errors"},"Period":60,"Stat":"Sum"}}]'
tenant_asks() {
    secret test token Opaque Authorization 'Bearer mark-token'
    secret test labelled Opaque password mark-labelled 'flagger.app/headers: "true"'
    secret test opaque Opaque password mark-opaque
    secret test registry kubernetes.io/dockerconfigjson .dockerconfigjson '{"auths":{"mark-registry":{}}}' 'flagger.app/headers: "true"'
    secret test account kubernetes.io/service-account-token token mark-account 'flagger.app/headers: "true"'
    secret test framing Opaque Content-Length '0' 'flagger.app/headers: "true"'
    secret test metrics Opaque token mark-metrics
    secret other theirs Opaque token mark-theirs
    template test own "type: prometheus, address: '$OWN/metric', secretRef: {name: metrics}"
    template test foreign "type: prometheus, address: '$OWN/foreign', secretRef: {name: theirs}"
    template other theirs "type: prometheus, address: '$OWN/their-own-server', secretRef: {name: theirs}"
    template test ambient "type: cloudwatch, region: eu-west-1, address: '$OWN/ambient'" "$cloudwatch"
    template test weblabelled "type: web, address: '$OWN/web-labelled', secretRef: {name: labelled}" '{.value}'
    template test webopaque "type: web, address: '$OWN/web-opaque', method: POST, secretRef: {name: opaque}" '{.value}'
    template test webregistry "type: web, address: '$OWN/web-registry', secretRef: {name: registry}" '{.value}'
    template test webframing "type: web, address: '$OWN/web-framing', secretRef: {name: framing}" '{.value}'
    template test webforeign "type: web, address: '$OWN/web-foreign', method: PUT, secretRef: {name: theirs}" '{.value}'
    template test framed "type: prometheus, address: '$OWN/framed', headers: {Content-Length: ['5'], Transfer-Encoding: [chunked], Host: [evil.example], Connection: [upgrade]}"
    probe token "$(hook token "$OWN/token")"
    probe labelled "$(hook labelled "$OWN/labelled")"
    probe opaque "$(hook opaque "$OWN/opaque")"
    probe registry "$(hook registry "$OWN/registry")"
    probe account "$(hook account "$OWN/account")"
    probe framing "$(hook framing "$OWN/framing")"
    probe away "$(hook token "$OWN/away")"
    probe metric "$(metric own)"
    probe foreign "$(metric foreign)"
    probe borrowed "$(metric theirs other)"
    probe ambient "$(metric ambient)"
    probe framed "$(metric framed)"
    probe weblabelled "$(metric weblabelled)"
    probe webopaque "$(metric webopaque)"
    probe webregistry "$(metric webregistry)"
    probe webframing "$(metric webframing)"
    probe webforeign "$(metric webforeign)"
}

# Secrets that would have the controller ask elsewhere for credentials: it has none of its own, so that it would have to.
bare_asks() {
    tenant=bare probes=()
    kubectl create namespace bare >/dev/null
    secret bare led Opaque aws_container_credentials_uri "$OWN/led"
    template bare led "type: cloudwatch, region: eu-west-1, secretRef: {name: led}" "$cloudwatch"
    template bare there "type: cloudwatch, region: eu-west-1, secretRef: {name: there}" "$cloudwatch"
    template bare missing "type: cloudwatch, region: eu-west-1, secretRef: {name: missing}" "$cloudwatch"
    secret bare there Opaque aws_container_credentials_uri /api/v1/namespaces/other/secrets/theirs
    secret bare missing Opaque aws_container_credentials_uri /api/v1/namespaces/other/secrets/none
    probe led "$(metric led)"
    probe there "$(metric there)"
    probe missing "$(metric missing)"
}

# Every probe has been asked about: its hook or its metric has an outcome, or its spec is refused.
settled() {
    api_look "$tenant" canaries | gojq -e '[.items[] | select((.status.failedChecks // 0) > 0 or (.status.iterations // 0) > 0
        or ([.status.conditions[]? | select((.type | IN("Accepted", "ChecksPassed", "MetricsAsked")) and .status == "False")] | length) > 0)] | length == '"${#probes[@]}" >/dev/null
}
initialised() { api_look "$tenant" canaries | gojq -e '[.items[] | select(.status.phase != "Initialized" and ([.status.conditions[]? | select(.type == "Accepted" and .status == "False")] | length) == 0)] == []' >/dev/null; }
tenant_waits() {
    local name
    eventually 90 initialised || true
    for name in "${probes[@]}"; do set_image "$tenant" "$name" app app:2; done
    for _ in $(seq 25); do ! settled || break; sleep 1; done
    sleep 3
}

tenant_rows() {
    row tenant 'a hook and a Secret of Authorization' token mark-token
    row tenant 'a hook and a Secret that says it is for headers' labelled mark-labelled
    row tenant 'a hook and any other Secret' opaque ''
    row tenant 'a hook and a password of a registry, labelled' registry ''
    row tenant 'a hook and the token of an account, labelled' account ''
    row tenant 'a hook and a header of the request itself' framing ''
    row tenant 'a hook that is led elsewhere' led-away ''
    row tenant 'a metric and a Secret of its namespace' metric mark-metrics
    row tenant 'a metric and a Secret of another namespace' foreign ''
    row tenant "a metric by another namespace's template: to that one's server" their-own-server mark-theirs
    row tenant 'a metric with the credentials of the process' ambient ''
    row tenant 'a metric and headers of the request itself' framed ''
    row tenant 'a metric of type web and a Secret that says it is for headers' web-labelled mark-labelled
    row tenant 'a metric of type web and any other Secret' web-opaque ''
    row tenant 'a metric of type web and a password of a registry' web-registry ''
    row tenant 'a metric of type web and a Secret of the request itself' web-framing ''
    row tenant 'a metric of type web and a Secret of another namespace' web-foreign ''
}

bare_rows() {
    row tenant 'a metric whose Secret leads to credentials elsewhere' led ''
    local there='' missing='' good=/nothing
    # told_of NAME SECRET: what is said of that metric, without the two names
    told_of() {
        api_look bare events | gojq -r --arg name "$1" --arg secret "$2" '.items[] | select(.involvedObject.name == $name) | .message
            | select(test("Metric query failed|Error checking metric")) | gsub($name; "X") | gsub($secret; "X")' | sort -u
    }
    for _ in $(seq 40); do
        there=$(told_of there theirs) missing=$(told_of missing none)
        [ "$(wc -l <<<"$there")" -lt 2 ] || [ "$(wc -l <<<"$missing")" -lt 2 ] || break
        sleep 1
    done
    [ -n "$there" ] && [ "$there" = "$missing" ] && good=ok
    report 'tenant: which Secrets of others there are' "$([ "$good" = ok ] && echo 'a metric is told the same of both' || echo "told: $there / $missing")" "$good"
}

# Whoever may ask for something of a release writes any name.
request_rows() {
    local good=/nothing by=
    kubectl -n test apply -f - >/dev/null <<YAML
---
{apiVersion: flagger.app/v1alpha1, kind: ReleaseRequest, metadata: {name: token}, spec: {action: pause, by: the-director, why: x, revision: "$(kubectl -n test get canary token -o 'jsonpath={.status.lastAppliedSpec}')"}}
YAML
    for _ in $(seq 20); do
        by=$(kubectl -n test get canary token -o 'jsonpath={.status.requests[0].by}')
        [ -z "$by" ] || break
        sleep 1
    done
    [ "$by" = 'the-director (not proven)' ] && ! kubectl -n test get events | grep -q 'the-director[^ ]' && good=ok
    report "author of ReleaseRequests: another one's name" "shown as: $by" "$good"
}

# What is made on a member for an Application is what its author can name there.
application() { # NAME NAMESPACE-OF-THE-WORKLOAD DESTINATION
    kubectl -n apps apply -f - >/dev/null <<YAML
apiVersion: apps.kurator.dev/v1alpha1
kind: Application
metadata: {name: $1}
spec:
  $3
  syncPolicies:
  - rollout: {trafficRoutingProvider: nginx, workload: {name: $1, namespace: $2}, serviceName: $1, port: 80, rolloutPolicy: {trafficRouting: {host: a.example, analysisTimes: 1},
      trafficAnalysis: {metrics: [{name: $1, thresholdRange: {max: 1}, customMetric: {provider: {type: prometheus, address: "$OWN/$1", secretRef: {name: flagger-fleet-member}}, query: up}}]}}}
YAML
}
application_rows() {
    local name in made want
    export KUBECONFIG=$work/management
    kubectl create namespace apps >/dev/null
    kubectl -n apps create secret generic member --from-file="value=$work/member" >/dev/null
    kubectl -n apps label secret member flagger.app/cluster=member flagger.app/fleet=f >/dev/null
    for in in apps shop granted flagger-system; do kubectl --kubeconfig "$work/member" create namespace "$in" >/dev/null; done
    kubectl --kubeconfig "$work/member" annotate namespace granted flagger.app/applications=apps >/dev/null
    kubectl --kubeconfig "$work/member" annotate namespace kube-system flagger.app/applications=apps >/dev/null
    "$CONTROLLER" fleet --kubeconfig "$work/management" --address 127.0.0.1 --port 0 >"$work/fleet.log" 2>&1 </dev/null &
    FLEET_PID=$!
    disown
    for in in apps granted shop flagger-system kube-system; do application "in-$in" "$in" 'destination: {fleet: f}'; done
    application in-host apps 'source: {}'
    told() { kubectl -n apps get applications -o json | gojq -e '[.items[] | select((.status.clusters[0].state // "") | test("Refused|Waiting|Ready"))] | length == 6' >/dev/null; }
    for _ in $(seq 40); do ! told || break; sleep 1; done
    for name in apps:1 granted:1 shop:0 flagger-system:0 kube-system:0; do
        in=${name%:*} want=${name#*:} good=/nothing
        made=$(kubectl --kubeconfig "$work/member" -n "$in" get metrictemplates,canaries,deployments -o name | wc -l)
        [ "$made" = "$want" ] && good=ok
        report "author of Applications: a Secret of namespace $in" "$([ "$made" -gt 0 ] && echo 'a metric that sends it is made' || echo 'nothing is made there')" "$good"
    done
    good=/nothing
    kubectl -n apps get application in-host -o json | gojq -e '.status.clusters[0].state == "Refused"' >/dev/null &&
        [ "$(kubectl get deployments,ingresses -A -o name | wc -l)" = 0 ] && good=ok
    report 'author of Applications: the cluster of the fleet itself' 'nothing is made there' "$good"
    export KUBECONFIG=$work/cluster
}

# A pod that reaches the ports and has no token.
pod_rows() {
    local path good=/nothing codes=''
    for path in /metrics /debug/process /debug/canaries /debug/canaries/test/token /ui/ /ui/api/canaries /ui/api/canaries/test/token; do
        codes+="$(curl -s -m 5 -o "$work/page" -w '%{http_code}' "$DAEMON_URL$path") "
        ! grep -qa 'mark-' "$work/page" || codes+='mark '
    done
    ! grep -q mark <<<"$codes" && [[ $codes == *'401 401 ' ]] && ! grep -qa 'mark-' "$DAEMON_LOG" && good=ok
    report 'pod without rights: a Secret by the ports of the controller' "answered $codes" "$good"
}

if ! command -v python3 >/dev/null || ! command -v kubectl >/dev/null || [ ! -x "$build/flagger-sandbox" ]; then
    skip 'what authors can name' 'it takes python3, kubectl and flagger-sandbox'
else
    export HOME=$work KUBECONFIG=$work/cluster AWS_ACCESS_KEY_ID=AKIDMARK AWS_SECRET_ACCESS_KEY=mark-key AWS_SESSION_TOKEN=mark-session
    sandboxes=() probes=() tenant=test
    on_finish=end_stage
    serve
    mkdir "$work/crds"
    cp deploy/fleet/{applications,releaseplans}.yaml "$work/crds"
    sandbox cluster proto/crd
    sandbox member proto/crd
    sandbox management "$work/crds"
    kubectl create namespace test >/dev/null
    kubectl create namespace other >/dev/null
    printf '%s\n' 'a-token-of-people-123' >"$work/page-tokens"
    reach=()
    ! "$CONTROLLER" --help | grep -q -- --tenant-addresses || reach=(--tenant-addresses +loopback)
    controller() { daemon_start "$CONTROLLER" --mesh-provider kubernetes --min-analysis-interval 1s --ui-token-file "$work/page-tokens" "${reach[@]}"; }
    controller
    tenant_asks
    tenant_waits
    tenant_rows
    request_rows
    pod_rows
    daemon_stop
    unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
    controller
    bare_asks
    tenant_waits
    bare_rows
    daemon_stop
    application_rows
fi
