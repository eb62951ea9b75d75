# Rollouts with each traffic routing of Argo, as their owners have them with Services and routes: what `kubectl canary convert` writes is
# applied over these, and a new version is released to its end. The meshes' own controllers do not run here: only the objects are there.

bats_require_minimum_version 1.5.0

# NAME, traffic routing, the owner's route
ROWS="
none {}
istio {istio: {virtualService: {name: istio-old}}} {apiVersion: networking.istio.io/v1beta1, kind: VirtualService, metadata: {name: istio-old}, spec: {hosts: [istio.example.com], gateways: [infra/gateway], http: [{name: primary, route: [{destination: {host: istio-stable}, weight: 100}, {destination: {host: istio-canary}, weight: 0}]}]}}
nginx {nginx: {stableIngress: nginx}} {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: nginx}, spec: {ingressClassName: nginx, rules: [{host: nginx.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: nginx-stable, port: {number: 80}}}}]}}]}}
apisix {apisix: {route: {name: apisix, rules: [main]}}} {apiVersion: apisix.apache.org/v2, kind: ApisixRoute, metadata: {name: apisix}, spec: {http: [{name: main, match: {paths: [/*]}, backends: [{serviceName: apisix-stable, servicePort: 80}, {serviceName: apisix-canary, servicePort: 80}]}]}}
smi {smi: {rootService: smi-root}} {apiVersion: v1, kind: Service, metadata: {name: smi-root}, spec: {selector: {app: smi}, ports: [{name: http, port: 80, targetPort: http}]}}
traefik {traefik: {weightedTraefikServiceName: traefik-old}} {apiVersion: traefik.io/v1alpha1, kind: TraefikService, metadata: {name: traefik-old}, spec: {weighted: {services: [{name: traefik-stable, port: 80}, {name: traefik-canary, port: 80}]}}}
appmesh {appMesh: {virtualService: {name: appmesh-old}}} {apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualService, metadata: {name: appmesh-old}, spec: {}}
gateway {plugins: {argoproj-labs/gatewayAPI: {httpRoute: gateway-old}}} {apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: gateway-old}, spec: {hostnames: [gateway.example.com], parentRefs: [{name: gateway, namespace: infra}], rules: [{backendRefs: [{name: gateway-stable, port: 80}, {name: gateway-canary, port: 80}]}]}}
"
names() { awk 'NF { print $1 }' <<<"$ROWS"; }
row() { grep "^$1 " <<<"$ROWS" | cut -d ' ' -f 2-; }

crd() { # GROUP KIND VERSION...: of a mesh
    local version versions=
    for version in "${@:3}"; do
        versions+="{name: $version, served: true, storage: $([ "$version" = "$3" ] && echo true || echo false), schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}, "
    done
    cat <<YAML
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${2,,}s.$1}
spec: {group: $1, scope: Namespaced, names: {kind: $2, listKind: $2List, plural: ${2,,}s, singular: ${2,,}}, versions: [$versions]}
YAML
}

# owned NAME: the files of its owner
owned() {
    local name=$1 routing route service
    routing=$(row "$name" | sed 's/ {apiVersion.*//') route=$(row "$name" | sed -n 's/.* \({apiVersion.*\)/\1/p')
    cat <<YAML
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: $name}
spec:
  replicas: 2
  selector: {matchLabels: {app: $name}}
  template:
    metadata: {labels: {app: $name}}
    spec: {containers: [{name: app, image: 'app:1', ports: [{name: http, containerPort: 8080}]}]}
  strategy: {canary: {stableService: $name-stable, canaryService: $name-canary, trafficRouting: $routing, steps: [{setWeight: 25}, {pause: {duration: 1}}, {setWeight: 50}, {pause: {duration: 1}}]}}
YAML
    for service in stable canary; do
        printf -- '---\napiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {selector: {app: %s}, ports: [{name: http, port: 80, targetPort: http}]}\n' "$name-$service" "$name"
    done
    [ -z "$route" ] || printf -- '---\n%s\n' "$route"
}

setup() {
    load ../lib/sandbox
    sandbox_begin "$(mktemp -d /tmp/flagger-convert.XXXXXX)" --no-services
    {
        crd networking.istio.io VirtualService v1beta1 v1
        crd networking.istio.io DestinationRule v1beta1 v1
        crd apisix.apache.org ApisixRoute v2
        crd split.smi-spec.io TrafficSplit v1alpha1
        crd traefik.io TraefikService v1alpha1
        for kind in VirtualNode VirtualRouter VirtualService; do crd appmesh.k8s.aws "$kind" v1beta2; done
    } | kubectl apply -f - >/dev/null
    daemon_start "$FLAGGER_BUILD/flagger-controller" --mesh-provider kubernetes --min-analysis-interval 1s
}

teardown() {
    [ ! -s "$DIR/metrics.pid" ] || kill "$(cat "$DIR/metrics.pid")"
    daemon_stop
    sandbox_end
    rm -rf "$DIR"
}

# metrics_start: answers every query of Prometheus and every page of a web metric with what stands in $DIR/value; sets METRICS
metrics_start() {
    echo 1 >"$DIR/value"
    python3 - "$DIR" 3>&- <<'PY' &
import http.server, json, os, sys
class Metrics(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        value = open(sys.argv[1] + '/value').read().strip()
        text = json.dumps({'status': 'success', 'rate': float(value), 'data': {'resultType': 'vector', 'result': [{'metric': {}, 'value': [1, value]}]}}).encode()
        with open(sys.argv[1] + '/queries', 'a') as out:
            out.write(self.path + '\n')
        self.send_response(200); self.send_header('Content-Length', str(len(text))); self.end_headers(); self.wfile.write(text)
    do_POST = do_GET
    def log_message(self, *a): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Metrics)
open(sys.argv[1] + '/port.new', 'w').write(str(server.server_port))
os.rename(sys.argv[1] + '/port.new', sys.argv[1] + '/port')
server.serve_forever()
PY
    echo $! >"$DIR/metrics.pid"
    eventually 20 test -s "$DIR/port"
    METRICS=http://127.0.0.1:$(cat "$DIR/port")
}

# NAME, kind of template, its metric, strategy: $P is a provider of Prometheus, $N the name
ANALYSED="
background AnalysisTemplate {successCondition: 'result[0] >= 0.95', provider: \$P} {canary: {analysis: {templates: [{templateName: rate}], startingStep: 1}, steps: [{setWeight: 25}, {pause: {duration: 1}}, {setWeight: 50}, {pause: {duration: 1}}]}}
insteps AnalysisTemplate {successCondition: 'result[0] >= 0.95', failureLimit: 0, provider: \$P} {canary: {stableService: \$N-stable, canaryService: \$N-canary, trafficRouting: {plugins: {argoproj-labs/gatewayAPI: {httpRoute: \$N-route}}}, steps: [{setWeight: 50}, {analysis: {templates: [{templateName: rate}]}}]}}
failing AnalysisTemplate {failureCondition: 'result[0] < 0.95', provider: \$P} {canary: {analysis: {templates: [{templateName: rate}]}, steps: [{setWeight: 20}, {pause: {duration: 1}}]}}
clustered ClusterAnalysisTemplate {successCondition: 'result[0] >= 0.95', provider: \$P} {canary: {analysis: {templates: [{templateName: rate, clusterScope: true}]}, steps: [{setWeight: 20}, {pause: {duration: 1}}]}}
web AnalysisTemplate {successCondition: 'result >= 0.95', provider: {web: {url: \$M/rate, jsonPath: '{\$.rate}'}}} {canary: {analysis: {templates: [{templateName: rate}]}, steps: [{setWeight: 20}, {pause: {duration: 1}}]}}
green AnalysisTemplate {successCondition: 'result[0] >= 0.95', provider: \$P} {blueGreen: {activeService: \$N-stable, previewService: \$N-canary, prePromotionAnalysis: {templates: [{templateName: rate}]}}}
"
analysed_names() { awk 'NF { print $1 }' <<<"$ANALYSED"; }

# analysed NAME: the files of the owner of such a Rollout
analysed() {
    local name kind metric strategy provider="{prometheus: {address: '$METRICS', query: 'sum(rate(ok{app=\"$1\"}[1m]))'}}"
    read -r name kind metric <<<"$(grep "^$1 " <<<"$ANALYSED")"
    strategy=$(sed -n 's/.* \({\(canary\|blueGreen\): .*\)/\1/p' <<<"$metric")
    metric=${metric% "$strategy"}
    strategy=${strategy//\$N/$name} metric=${metric//\$P/$provider} metric=${metric//\$M/$METRICS}
    cat <<YAML
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: $name}
spec:
  replicas: 2
  selector: {matchLabels: {app: $name}}
  template:
    metadata: {labels: {app: $name}}
    spec: {containers: [{name: app, image: 'app:1', ports: [{name: http, containerPort: 8080}]}]}
  strategy: $strategy
---
apiVersion: argoproj.io/v1alpha1
kind: $kind
metadata: {name: rate}
spec:
  metrics:
  - name: rate
    interval: 1s
    $(sed 's/^{\(.*\)}$/\1/; s/, \(failureLimit\|provider\):/\n    \1:/g' <<<"$metric")
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: $name-route}
spec: {hostnames: [$name.example.com], parentRefs: [{name: gateway, namespace: infra}], rules: [{backendRefs: [{name: $name-stable, port: 80}, {name: $name-canary, port: 80}]}]}
YAML
    local service
    for service in stable canary; do
        printf -- '---\napiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {selector: {app: %s}, ports: [{name: http, port: 80, targetPort: http}]}\n' "$name-$service" "$name"
    done
}

phase_is() { [ "$(of_canary "$1" "$1" .status.phase)" = "$2" ]; }
reaches() { # PHASE [NAME...]
    local name
    for name in ${2:-$(names)}; do
        eventually 180 phase_is "$name" "$1" || { "$FLAGGER_BUILD/kubectl-canary" why "$name" -n "$name" && return 1; }
    done
}

@test "what is written of a Rollout is initialised beside its owner's objects, and releases, with each traffic routing" {
    local name
    for name in $(names); do
        kubectl create namespace "$name" >/dev/null
        owned "$name" >"$DIR/$name.yaml"
        # As a repository has it: all but what Argo's kinds were.
        gojq --yaml-input --yaml-output 'select(.kind != "Rollout")' "$DIR/$name.yaml" >"$DIR/$name.own"
        eventually 20 kubectl -n "$name" apply -f "$DIR/$name.own" >/dev/null
        "$FLAGGER_BUILD/kubectl-canary" convert -n "$name" "$DIR/$name.yaml" 2>/dev/null >"$DIR/$name.new"
        kubectl -n "$name" apply -f "$DIR/$name.new" >/dev/null 2>&1 || { cat "$DIR/$name.new" && return 1; }
    done
    reaches Initialized
    for name in $(names); do set_image "$name" "$name" app app:2; done
    reaches Succeeded
    for name in $(names); do
        [ "$(api_look "$name" deployments "$name-primary" | gojq -r '.spec.template.spec.containers[0].image // ""')" = app:2 ]
    done
    [ "$(api_look '' canaries | gojq -r '[.items[].spec.provider] | sort | join(" ")')" = \
        'apisix appmesh:v1beta2 gatewayapi:v1 istio kubernetes nginx smi:v1alpha1 traefik' ]
}

# The first version that is converted has the numbers that the templates ask for, and the next one has not.
@test "a bad version is rolled back by what an AnalysisTemplate has become, with each place where a Rollout names one" {
    local name all
    metrics_start
    all=$(analysed_names)
    for name in $all; do
        kubectl create namespace "$name" >/dev/null
        analysed "$name" >"$DIR/$name.yaml"
        gojq --yaml-input --yaml-output 'select(.apiVersion | startswith("argoproj.io/") | not)' "$DIR/$name.yaml" >"$DIR/$name.own"
        eventually 20 kubectl -n "$name" apply -f "$DIR/$name.own" >/dev/null
        "$FLAGGER_BUILD/kubectl-canary" convert -n "$name" "$DIR/$name.yaml" >"$DIR/$name.new" 2>"$DIR/$name.err" || { cat "$DIR/$name.err" && return 1; }
        sed -i 's/^    interval: .*/    interval: 1s/' "$DIR/$name.new"
        kubectl -n "$name" apply -f "$DIR/$name.new" >/dev/null 2>&1 || { cat "$DIR/$name.new" && return 1; }
        [ "$(kubectl -n "$name" get metrictemplates -o name | wc -l)" -eq 1 ]
    done
    reaches Initialized "$all"
    for name in $all; do set_image "$name" "$name" app app:2; done
    reaches Succeeded "$all"
    for name in $all; do [ "$name" = web ] || grep -q "app%3D%22$name%22" "$DIR/queries" || { cat "$DIR/queries" && return 1; }; done
    grep -q '^/rate' "$DIR/queries"
    echo 0.5 >"$DIR/value"
    for name in $all; do set_image "$name" "$name" app app:3; done
    reaches Failed "$all"
    for name in $all; do
        [ "$(api_look "$name" deployments "$name-primary" | gojq -r '.spec.template.spec.containers[0].image // ""')" = app:2 ]
        api_look "$name" canaries "$name" |
            gojq -e '.status.canaryWeight == 0 and .status.history[0].outcome == "failed" and (.status.history[0].reason | test("rate.* 0\\.5"))' ||
            { kubectl -n "$name" get canary "$name" -o yaml && return 1; }
    done
}
