# A tenant's own metric server, which answers with what takes much memory, and a tenant's Canary that does: the release of that
# tenant fails, the others go on, and the controller stays small and awake.

stop_stage() {
    [ -z "${LIAR_PID:-}" ] || kill -KILL "$LIAR_PID" 2>/dev/null || true
    FLAGGER_DEMO_DIR=$work/stage test/demo --stop >/dev/null 2>&1
}

set_stage() {
    FLAGGER_BUILD=$build FLAGGER_DEMO_DIR=$work/stage test/demo --stage >/dev/null 2>&1
    # shellcheck disable=SC1091
    . "$work/stage/env"
    controller=$(pgrep -f "^[^ ]*flagger-controller .*--port ${DEMO_CONTROLLER##*:}" | head -1)
}

# stayed_awake ATTACK: since health_watch
stayed_awake() {
    health_watched
    measured "$1" controller "$slowest" "$(peak "$controller")" "$worked"
    [ "$(peak "$controller")" -lt "$MOST_MEMORY" ] && stays_awake
}

# try_answer PIECE BYTES VERSION: a release whose metrics are asked of the liar, until it was asked ten times
try_answer() {
    local good=/nothing awake= asked
    liar_begin "$1" "$2"
    api_merge test canaries podinfo "{\"spec\":{\"metricsServer\":\"$LIAR_URL\",\"analysis\":{\"interval\":\"2s\",\"webhooks\":[]}}}"
    health_watch "$controller" "$DEMO_CONTROLLER"
    set_image test podinfo podinfod "demo-app:$3"
    eventually 30 phase_is podinfo Progressing || true
    eventually 60 phase_is podinfo Failed || true
    stayed_awake "$2 bytes of $1 for a metric" && awake=yes
    liar_end
    asked=${LIAR_ASKED:-0}
    phase_is podinfo Failed && [ "$asked" -gt 2 ] && [ -n "$awake" ] && good=ok
    report "$2 bytes of $1 for a metric" "asked $asked times, $(awake_text "$controller"), $(of_canary test podinfo .status.phase)" "$good"
}

# try_objects: three Canaries, each of which would take 100 MiB as trees, while another one is released; under a CRD without bounds, as
# Flagger's is
try_objects() {
    local good=/nothing awake= told=0 name
    kubectl get crd canaries.flagger.app -o json | gojq 'walk(if type == "object" then del(.maxItems?) else . end)' | kubectl replace -f - >/dev/null
    health_watch "$controller" "$DEMO_CONTROLLER"
    for name in hog1 hog2 hog3; do
        gojq -cn --arg name "$name" '{apiVersion: "flagger.app/v1beta1", kind: "Canary", metadata: {name: $name, namespace: "test"},
            spec: {targetRef: {apiVersion: "apps/v1", kind: "Deployment", name: $name}, service: {port: 80},
                analysis: {interval: "1s", threshold: 5, iterations: 2, match: [range(120000) | {}]}}}' >"$work/$name.json"
        api_post apis/flagger.app/v1beta1/namespaces/test/canaries "$work/$name.json"
    done
    heard() { told=$(api_look test events | gojq -r '.items[].message' | grep -c 'the object takes more than .* MiB of memory') && [ "$told" = 3 ]; }
    eventually 30 heard || true
    set_image test podinfo podinfod demo-app:1.9.0
    served() { [[ $(of_canary test podinfo .status.phase) =~ Waiting|Progressing ]]; }
    eventually 60 served || true
    stayed_awake 'three Canaries of 120000 empty objects' && awake=yes
    heard && served && [ -n "$awake" ] && good=ok
    report 'three Canaries of 120000 empty objects' "$told told, $(awake_text "$controller"), podinfo is $(of_canary test podinfo .status.phase)" "$good"
    kubectl -n test delete canary hog1 hog2 hog3 >/dev/null
}

# try_many_objects: two hundred Canaries, each about as large as one may be, half of them by what they list and half by a long text;
# another one is released
try_many_objects() {
    local good=/nothing awake= told=0
    health_watch "$controller" "$DEMO_CONTROLLER"
    mkdir "$work/many"
    gojq -cn '{apiVersion: "v1", kind: "List", items: [range(200) | "many\(.)" as $name | {apiVersion: "flagger.app/v1beta1", kind: "Canary",
        metadata: {name: $name, namespace: "test"},
        spec: {provider: "kubernetes", targetRef: {apiVersion: "apps/v1", kind: "Deployment", name: $name}, service: {port: 80},
            analysis: {interval: "1s", threshold: 5, iterations: 2,
                match: (if . % 2 == 0 then [range(18000) | {}] else [{headers: {x: {exact: ("x" * 1000000)}}}] end)}}}]}' |
        gojq -c '.items[]' | split -l 1 -a 3 - "$work/many/"
    api_post apis/flagger.app/v1beta1/namespaces/test/canaries "$work"/many/*
    set_image test podinfo podinfod demo-app:1.9.1
    served() { [[ $(of_canary test podinfo .status.phase) =~ Waiting|Progressing ]]; }
    eventually 60 served || true
    seen() { told=$(curl -s "$DEMO_CONTROLLER/debug/process" | gojq '.memory.kept.canaries.count') && [ "$told" -gt 200 ]; }
    eventually 30 seen || true
    stayed_awake 'two hundred large Canaries' && awake=yes
    seen && served && [ -n "$awake" ] && good=ok
    report 'two hundred large Canaries' "$told under care, $(awake_text "$controller"), podinfo is $(of_canary test podinfo .status.phase); kept: $(curl -s "$DEMO_CONTROLLER/debug/process" | gojq -c .memory.kept.trees)" "$good"
    api_send DELETE 'apis/flagger.app/v1beta1/namespaces/test/canaries/many[0-199]'
}

if [ "$(id -u)" -ne 0 ] || ! command -v kubectl >/dev/null; then
    skip 'answers of a metric server' 'the stage needs root and kubectl'
else
    export HOME=$work # kubectl keeps its discovery there
    on_finish=stop_stage
    set_stage
    try_objects
    try_many_objects
    try_answer '{}' 4000000 2.0.0
    try_answer '{}' 262000 3.0.0
fi
