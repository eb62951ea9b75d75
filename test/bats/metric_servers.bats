# Real metric servers: Debian's Graphite (carbon and its web application) and InfluxDB, fed with numbers, and asked by a release.
# Debian has no Keptn; a loop plays it.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/daemon
    DIR=$(mktemp -d /tmp/flagger-servers.XXXXXX)
    export DIR KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home
    mkdir "$HOME"
    cat >"$DIR/keptn.yaml" <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: analyses.metrics.keptn.sh}
spec:
  group: metrics.keptn.sh
  scope: Namespaced
  names: {kind: Analysis, plural: analyses}
  versions: [{name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
YAML
    "$FLAGGER_BUILD/flagger-sandbox" --kubeconfig "$KUBECONFIG" --crds "$BATS_TEST_DIRNAME/../../proto/crd,$DIR/keptn.yaml" \
        --no-gateway --no-services >"$DIR/out" 2>"$DIR/log" </dev/null 3>&- &
    echo $! >"$DIR/sandbox"
    eventually 60 grep -q '^ready' "$DIR/out" || { cat "$DIR/log" && return 1; }
}

teardown_file() {
    load ../lib/daemon
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
    [ -z "${DAEMON_PID:-}" ] || daemon_stop
    [ ! -e "$DIR/servers" ] || { xargs -n 1 kill <"$DIR/servers" 2>/dev/null || true; rm -f "$DIR/servers"; }
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# --- Graphite

# Carbon cannot take a free port by itself: where another program was faster, it is started again with others.
start_carbon() {
    LINES_PORT=$(free_port) CACHE_PORT=$(free_port)
    cat >"$DIR/graphite/carbon.conf" <<CONF
[cache]
STORAGE_DIR = $DIR/graphite
LOCAL_DATA_DIR = $DIR/graphite/whisper
CONF_DIR = $DIR/graphite
LOG_DIR = $DIR/graphite
PID_DIR = $DIR/graphite
USER =
LINE_RECEIVER_INTERFACE = 127.0.0.1
LINE_RECEIVER_PORT = $LINES_PORT
PICKLE_RECEIVER_PORT = 0
CACHE_QUERY_INTERFACE = 127.0.0.1
CACHE_QUERY_PORT = $CACHE_PORT
MAX_CREATES_PER_MINUTE = inf
ENABLE_TAGS = False
CONF
    /usr/bin/carbon-cache --config="$DIR/graphite/carbon.conf" --nodaemon --debug start >"$DIR/graphite/carbon.log" 2>&1 </dev/null 3>&- &
    CARBON=$!
    is_up_or_gone() { grep -qs "CarbonReceiverFactory starting on $LINES_PORT" "$DIR/graphite/carbon.log" || ! kill -0 "$CARBON" 2>/dev/null; }
    eventually 60 is_up_or_gone
    kill -0 "$CARBON" 2>/dev/null || return 1
    echo "$CARBON" >>"$DIR/servers"
}

# feed_carbon: in its plain text protocol, until it has written all
feed_carbon() {
    local now
    now=$(date +%s)
    printf 'shop.errors 1.5 %s\nshop.latency 7 %s\nshop.latency 9 %s\n' "$now" "$((now - 1))" "$now" >"/dev/tcp/127.0.0.1/$LINES_PORT"
    is_written() { [ "$(grep -o 'wrote [12] datapoints for shop' "$DIR/graphite/carbon.log" | grep -oc .)" -eq 2 ]; }
    eventually 30 is_written
}

# What the web application has not found once it does not look for again for minutes, so there is something before it starts.
graphite() {
    mkdir -p "$DIR/graphite"
    printf '[all]\npattern = .*\nretentions = 1s:1h\n' >"$DIR/graphite/storage-schemas.conf"
    start_carbon || start_carbon || start_carbon || { cat "$DIR/graphite/carbon.log" && return 1; }
    feed_carbon
    cat >"$DIR/graphite/flagger_settings.py" <<PYTHON
LOG_DIR = STORAGE_DIR = '$DIR/graphite'
WHISPER_DIR = '$DIR/graphite/whisper'
INDEX_FILE = '$DIR/graphite/index'
LOG_ROTATION = False
SECRET_KEY = 'of a test'
CARBONLINK_HOSTS = ['127.0.0.1:$CACHE_PORT:a']
DATABASES = {'default': {'NAME': '$DIR/graphite/db', 'ENGINE': 'django.db.backends.sqlite3'}}
PYTHON
    PYTHONPATH=$DIR/graphite GRAPHITE_SETTINGS_MODULE=flagger_settings DJANGO_SETTINGS_MODULE=graphite.settings \
        /usr/bin/python3 - "$DIR/graphite/port" >"$DIR/graphite/web.log" 2>&1 3>&- <<'PYTHON' &
import sys
from wsgiref import simple_server
from graphite.wsgi import application
server = simple_server.make_server('127.0.0.1', 0, application)
open(sys.argv[1], 'w').write(str(server.server_port))
server.serve_forever()
PYTHON
    echo $! >>"$DIR/servers"
    eventually 60 test -s "$DIR/graphite/port" || { cat "$DIR/graphite/web.log" && return 1; }
    SERVER=http://127.0.0.1:$(cat "$DIR/graphite/port")
}

# --- InfluxDB

influxdb() {
    mkdir -p "$DIR/influxdb"
    cat >"$DIR/influxdb/conf" <<CONF
reporting-disabled = true
bind-address = "127.0.0.1:0"
[meta]
dir = "$DIR/influxdb/meta"
[data]
dir = "$DIR/influxdb/data"
wal-dir = "$DIR/influxdb/wal"
[monitor]
store-enabled = false
[http]
bind-address = "127.0.0.1:0"
log-enabled = false
auth-enabled = true
CONF
    /usr/bin/influxd run -config "$DIR/influxdb/conf" >"$DIR/influxdb/log" 2>&1 </dev/null 3>&- &
    echo $! >>"$DIR/servers"
    eventually 60 grep -q 'msg="Listening on HTTP"' "$DIR/influxdb/log" || { cat "$DIR/influxdb/log" && return 1; }
    SERVER=http://$(grep -o 'addr=127.0.0.1:[0-9]*' "$DIR/influxdb/log" | cut -d = -f 2)
}

feed_influxdb() {
    curl -sf -o /dev/null "$SERVER/query" --data-urlencode "q=CREATE USER flagger WITH PASSWORD 'sesame' WITH ALL PRIVILEGES"
    curl -sf -o /dev/null -u flagger:sesame "$SERVER/query" --data-urlencode 'q=CREATE DATABASE shop'
    curl -sf -u flagger:sesame "$SERVER/write?db=shop" --data-binary 'errors,app=podinfo value=1.5
errors,app=another value=7'
}

# --- releases

# asked NAME TYPE SECRET QUERY [VALUE]: a Canary that is released when the query has the value
asked() {
    cat <<YAML
---
apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: $1, namespace: $namespace}
spec:
  provider: {type: $2, address: "$SERVER"${3:+, secretRef: {name: $3\}}}
  query: |
    $4
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: $namespace}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}
  service: {port: 9898}
  analysis:
    interval: 1s
    threshold: 1
    iterations: 1
    metrics: [{name: asked, interval: 1m, templateRef: {name: $1}, thresholdRange: {min: ${5:-0}, max: ${5:-0}}}]
YAML
    one_pod "$1" "$namespace"
}

all_are() { # PHASE...: none is in another one
    local phases
    phases=$(kubectl -n "$namespace" get canaries -o 'jsonpath={range .items[*]}{.status.phase}{"\n"}{end}')
    ! grep -qvE "^($1)$" <<<"$phases"
}

# released: what is on standard input, all of it; what each has said of its check is in $DIR/said. Not in a pipeline: the
# controller is the test's to end.
released() {
    kubectl apply -f - >/dev/null
    daemon_start "$FLAGGER_BUILD/flagger-controller" --mesh-provider kubernetes --min-analysis-interval 1s
    eventually 120 all_are Initialized
    # A busy machine may be too slow for a probe, which is asked again then.
    gojq -r 'select(.msg | startswith("Error checking metric providers")? and (test("no complete answer within") | not)).canary' \
        "$DAEMON_LOG" | sort -u >"$DIR/unavailable"
    kubectl -n "$namespace" get deployments -o name | grep -v -- -primary | xargs -I{} kubectl -n "$namespace" set image {} app=app:2 >/dev/null
    eventually 120 all_are 'Succeeded|Failed'
    api_look "$namespace" canaries | gojq -r '.items[] | "\(.metadata.name) \(.status.phase): \(
        [.status.conditions[]? | select(.type == "ChecksPassed" and .status == "False").message] | join("; "))"' >"$DIR/said"
    sed 's/^/# /' "$DIR/said" >&3
}
says() { grep -qE "$1" "$DIR/said" || { echo "nobody says: $1" && return 1; }; }

@test "a real Graphite is asked" {
    [ -x /usr/bin/carbon-cache ] && /usr/bin/python3 -c 'import importlib.util as i; exit(not i.find_spec("graphite"))' ||
        skip 'graphite-carbon and graphite-web are not installed (test/setup --servers)'
    graphite
    namespace=graphite
    kubectl create namespace graphite >/dev/null
    {
        asked value graphite '' 'target=shop.errors&from=-1h' 1.5
        asked function graphite '' 'target=alias(scale(shop.errors, 2), "both")&from=-1h' 3
        asked last graphite '' 'target=shop.{errors,latency}&from=-1h' 9
        asked high graphite '' 'target=shop.*&from=-1h' 8
        asked none graphite '' 'target=shop.nothing&from=-1h'
        asked mistake graphite '' 'target=noSuchFunction(shop.errors)&from=-1h'
    } >"$DIR/manifests"
    released <"$DIR/manifests"
    for good in value function last; do
        says "^$good Succeeded: $"
    done
    [ ! -s "$DIR/unavailable" ]
    says '^high Failed: Halt high.graphite advancement asked 9.00 > 8 \(the last of 2 series; '
    says '^none Failed: Halt advancement no values found for custom metric: asked: no values found \('
    says '^mistake Failed: '
}

@test "a real InfluxDB is asked in InfluxQL; of the first version, it does not know Flux" {
    [ -x /usr/bin/influxd ] || skip 'influxdb is not installed (test/setup --servers)'
    influxdb
    feed_influxdb
    namespace=influxdb
    kubectl create namespace influxdb >/dev/null
    kubectl -n influxdb create secret generic shop --from-literal=username=flagger --from-literal=password=sesame --from-literal=database=shop >/dev/null
    kubectl -n influxdb create secret generic wrong --from-literal=username=flagger --from-literal=password=x --from-literal=database=shop >/dev/null
    kubectl -n influxdb create secret generic nodb --from-literal=username=flagger --from-literal=password=sesame --from-literal=database=none >/dev/null
    kubectl -n influxdb create secret generic flux --from-literal=token=flagger:sesame --from-literal=org=o >/dev/null
    {
        asked value influxdb shop "SELECT mean(value) FROM errors WHERE app = 'podinfo' AND time > now() - 1h" 1.5
        asked first influxdb shop 'SELECT mean(value) FROM errors WHERE time > now() - 1h GROUP BY app' 7
        asked high influxdb shop 'SELECT mean(value) FROM errors WHERE time > now() - 1h GROUP BY app' 5
        asked none influxdb shop 'SELECT mean(value) FROM nothing'
        asked mistake influxdb shop 'SELECT mean( FROM errors'
        asked wrong influxdb wrong 'SELECT mean(value) FROM errors'
        asked nodb influxdb nodb 'SELECT mean(value) FROM errors'
        asked flux influxdb flux 'from(bucket: "shop") |> range(start: -1h)'
    } >"$DIR/manifests"
    released <"$DIR/manifests"
    for good in value first; do
        says "^$good Succeeded: $"
    done
    [ "$(cat "$DIR/unavailable")" = wrong.influxdb ] || { cat "$DIR/unavailable" && grep "Error checking" "$DAEMON_LOG" && return 1; }
    says '^high Failed: Halt high.influxdb advancement asked 7.00 > 5 \(the first of 2 series; '
    says '^none Failed: Halt advancement no values found for custom metric: asked: no values found \('
    says '^mistake Failed: Metric query failed for asked: error response: .*error parsing query.* \(status 400;'
    says '^wrong Failed: Metric query failed for asked: error response: .*authorization failed.* \(status 401;'
    says '^nodb Failed: Metric query failed for asked: error response: database not found: none'
    says '^flux Failed: Metric query failed for asked: error response: 404 page not found.* \(status 404;'
}

# keptn: completes each Analysis, those of the definition "good" with success
keptn() {
    while :; do
        kubectl -n keptn get analyses -o json | gojq -r '.items[] | select(.status.state != "Completed")
            | "\(.metadata.name) \(.spec.analysisDefinition.name == "good" and .spec.timeframe.recent == "2m" and .spec.args.app == "podinfo")"' |
            while read -r name pass; do
                echo "$name" >>"$DIR/analysed"
                kubectl -n keptn patch analysis "$name" --type merge -p "{\"status\":{\"state\":\"Completed\",\"pass\":$pass}}"
            done
        sleep 0.05
    done
}

@test "Keptn is asked for an analysis, which is deleted then" {
    namespace=keptn SERVER=
    kubectl create namespace keptn >/dev/null
    keptn >/dev/null 2>&1 3>&- &
    echo $! >>"$DIR/servers"
    {
        asked good keptn '' 'analysis/keptn/good/2m/app=podinfo' 1
        asked bad keptn '' 'analysis/keptn/bad/2m/app=podinfo' 1
    } >"$DIR/manifests"
    released <"$DIR/manifests"
    says '^good Succeeded: $'
    says '^bad Failed: Halt bad.keptn advancement asked 0.00 < 1 '
    grep -qE '^good-[0-9a-f]{8}$' "$DIR/analysed"
    none_is_left() { [ -z "$(kubectl -n keptn get analyses -o name)" ]; }
    eventually 30 none_is_left
}
