# Two builds of the controller over the same releases: one after the other both ways, to and fro at every step, and as two replicas
# with one lease. FLAGGER_OLD=FILE is the other build, an older one; without it there is nothing to compare. The Canaries say what
# both understand: of what it does not know the older one tells in the condition Accepted, and does not release.

bats_require_minimum_version 1.5.0

APPS='steps ab blue promoted bad'

setup_file() {
    [ -n "${FLAGGER_OLD:-}" ] || return 0
    load ../lib/daemon
    load ../lib/manifest
    load ../lib/sink
    DIR=$(mktemp -d /tmp/flagger-versions.XXXXXX)
    export DIR KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home
    mkdir -p "$HOME" "$DIR/good" "$DIR/refusing"
    "$FLAGGER_BUILD/flagger-sandbox" --kubeconfig "$KUBECONFIG" --crds "$BATS_TEST_DIRNAME/../../proto/crd" \
        --no-gateway --no-services >"$DIR/out" 2>"$DIR/log" </dev/null 3>&- &
    echo $! >"$DIR/sandbox"
    eventually 60 grep -q '^ready' "$DIR/out" || { cat "$DIR/log" && return 1; }
    work=$DIR/good sink_start 200 OK 3>&-
    echo "$SINK_PID" >"$DIR/sinks"
    GOOD=$SINK
    work=$DIR/refusing sink_start 500 no 3>&-
    echo "$SINK_PID" >>"$DIR/sinks"
    kubectl create namespace test
    {
        app steps gatewayapi:v1 'stepWeight: 10, maxWeight: 50' "$GOOD" rollout
        app ab gatewayapi:v1 'iterations: 5, match: [{headers: {x-canary: {exact: insider}}}]' "$GOOD" rollout
        app blue kubernetes 'iterations: 5' "$GOOD" rollout
        app promoted gatewayapi:v1 'stepWeight: 25, maxWeight: 50, stepWeightPromotion: 20' "$GOOD" confirm-promotion
        app bad gatewayapi:v1 'stepWeight: 10, maxWeight: 50' "$SINK" rollout
    } >"$DIR/apps"
    kubectl apply -f "$DIR/apps"
}

teardown_file() {
    [ -n "${DIR:-}" ] || return 0
    load ../lib/daemon
    DAEMON_PID=$(cat "$DIR/sandbox")
    kill -TERM "$DAEMON_PID" || true
    eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    xargs kill <"$DIR/sinks"
    rm -rf "$DIR"
}

setup() {
    [ -n "${FLAGGER_OLD:-}" ] || skip "FLAGGER_OLD names no other build of flagger-controller"
    load ../lib/daemon
    load ../lib/manifest
    PIDS=() LOGS=()
}
teardown() {
    for DAEMON_PID in "${PIDS[@]}"; do
        kill -TERM "$DAEMON_PID" 2>/dev/null || continue
        eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    done
}

app() { # NAME PROVIDER STEPS SINK HOOK
    one_pod "$1" test
    cat <<YAML
---
apiVersion: v1
kind: ConfigMap
metadata: {name: $1, namespace: test}
data: {color: blue}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: test}
spec:
  provider: $2
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}
  service: {port: 9898, gatewayRefs: [{name: gateway, namespace: infra}]}
  analysis:
    {interval: 4s, threshold: 3, $3, webhooks: [{name: hook, type: $5, url: "$4/hook"}]}
YAML
}

# start old|new [OPTION...]
start() {
    local program=$FLAGGER_BUILD/flagger-controller
    [ "$1" = new ] || program=$FLAGGER_OLD
    daemon_start "$program" --kubeconfig "$KUBECONFIG" --min-analysis-interval 1s "${@:2}"
    PIDS+=("$DAEMON_PID")
    LOGS+=("$DAEMON_LOG")
    RUNS=$1
}
# The one that runs ends in order, and the other one takes over.
change() {
    local status=0
    kill -TERM "$DAEMON_PID"
    wait "$DAEMON_PID" || status=$?
    [ "$status" -eq 0 ]
    if [ "$RUNS" = old ]; then start new "$@"; else start old "$@"; fi
}

field() { kubectl -n test get canary "$1" -o jsonpath="{.status.$2}"; }
is_in() { [ "$(field "$1" phase)" = "$2" ]; }
weight_from() { is_in "$1" Progressing && [ "$(field "$1" canaryWeight)" -ge "$2" ]; }
told() { api_look test events | gojq --arg name "$1" --arg text "$2" '[.items[] | select(.involvedObject.name == $name and (.message | contains($text))) | .count // 1] | add // 0'; }
image() { api_look test deployments "$1-primary" | gojq -r '.spec.template.spec.containers[0].image // ""'; }

initialised() {
    local one
    for one in $APPS; do eventually 90 at_rest "$one" || { kubectl -n test get canary "$one" -o yaml && return 1; }; done
}
at_rest() { [[ $(field "$1" phase) =~ ^(Initialized|Succeeded|Failed)$ ]]; }
release() { # VERSION
    local one
    declare -gA DETECTED
    for one in $APPS; do
        DETECTED[$one]=$(told "$one" 'New revision detected')
        set_image test "$one" app "app:$1"
    done
}
has_begun() { [ "$(told "$1" 'New revision detected')" -gt "${DETECTED[$1]}" ]; }
# Each release was begun once and ended as it must.
arrived() { # VERSION
    local one
    for one in $APPS; do
        eventually 60 has_begun "$one" # until then its phase is that of the last release
        if [ "$one" = bad ]; then
            eventually 180 is_in bad Failed
            [ "$(image bad)" = app:1 ]
        else
            eventually 180 is_in "$one" Succeeded || { kubectl -n test get canary "$one" -o yaml && return 1; }
            [ "$(image "$one")" = "app:$1" ]
        fi
        [ "$(told "$one" 'New revision detected')" = $((DETECTED[$one] + 1)) ] || { echo "$one was begun more than once" && return 1; }
    done
    api_look test httproutes | gojq -e 'all(.items[]; [.spec.rules[-1].backendRefs[] | {(.name | sub(".*-"; "")): .weight}] | add | .primary == 100 and (.canary // 0) == 0)'
    refute grep -h '"level":"error"' "${LOGS[@]}"
}

@test "an upgrade in the middle of releases" {
    start old
    initialised
    release 2
    eventually 60 weight_from steps 20
    change
    arrived 2
}

@test "a downgrade in the middle of releases" {
    start new
    release 3
    eventually 60 weight_from steps 20
    change
    arrived 3
}

state() { api_look test canaries | gojq -c '[.items[].status | [.phase, .canaryWeight, .iterations]]'; }
has_moved() { [ "$(state)" != "$before" ]; }
all_rest() {
    local one
    for one in $APPS; do at_rest "$one" || return 1; done
}

@test "to and fro, at every step" {
    local changes=0
    start new
    release 4
    eventually 60 is_in steps Progressing
    until all_rest; do
        before=$(state)
        eventually 60 has_moved
        change
        changes=$((changes + 1))
    done
    arrived 4
    echo "# $changes changes" >&3
    [ "$changes" -ge 6 ]
}

@test "two replicas with one lease" {
    local election=(--enable-leader-election --leader-election-namespace kube-system) first
    start old "${election[@]}"
    first=$DAEMON_PID
    eventually 60 curl -sf -o /dev/null "$DAEMON_URL/readyz"
    start new "${election[@]}"
    release 5
    eventually 60 weight_from steps 20
    kill -TERM "$first"
    wait "$first"
    eventually 60 weight_from steps 40
    first=$DAEMON_PID
    start old "${election[@]}"
    kill -TERM "$first"
    wait "$first"
    arrived 5
}

# What one has written the other one leaves alone, once each has seen it.
versions() { kubectl -n test get canaries,deployments,services,httproutes -o json | gojq -c '[.items[] | [.kind, .metadata.name, .metadata.resourceVersion]]'; }
idle() { curl -s "$DAEMON_URL/debug/canaries" | gojq -e '[.canaries[] | select(.state == "idle")] | length == 5' >/dev/null; }
@test "nothing is written when nothing is new" {
    start new --debug-endpoints
    eventually 60 idle
    change --debug-endpoints
    eventually 60 idle
    before=$(versions)
    for _ in 1 2 3 4; do
        change --debug-endpoints
        eventually 60 idle
        [ "$(versions)" = "$before" ] || { diff <(gojq -c '.[]' <<<"$before") <(versions | gojq -c '.[]') && false; }
    done
}
