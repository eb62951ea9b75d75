# A user's route of five rules, of which two lead to the app: releases write the weights of these and nothing else, while one tool
# applies its file again every second and another one writes other fields of it.

setup_file() {
    load ../lib/stage
    stage_begin
    stage_enter
    gate open
    route "$BATS_FILE_TMPDIR/route.yaml"
    kubectl apply -f "$BATS_FILE_TMPDIR/route.yaml"
    api_merge test canaries podinfo '{"spec":{"analysis":{"interval":"2s","stepWeight":30},
        "service":{"gatewayRefs":null,"hosts":null,"routeRefs":[{"kind":"HTTPRoute","name":"web","rules":[1,"all"]}]}}}'
    # The route of before is the older one, and takes the requests until the controller deletes it.
    eventually 60 own_route_is_gone
}

teardown_file() {
    load ../lib/stage
    stage_end
}

setup() {
    load ../lib/stage
    stage_enter
}

teardown() {
    touch "$BATS_TEST_TMPDIR/stop"
    [ -z "${APPLYING:-}" ] || wait "$APPLYING" || true
    [ -z "${NOTING:-}" ] || wait "$NOTING" || true
}

# route FILE: of the user, as it stands in Git. Parent and host are those of the stage's Canary.
route() {
    api_look test httproutes podinfo | gojq '
        def match($path): [{path: {type: "PathPrefix", value: $path}}];
        def both: [{group: "", kind: "Service", name: "podinfo-primary", port: .port, weight: 100},
                   {group: "", kind: "Service", name: "podinfo-canary", port: .port, weight: 0}];
        .spec.rules[0].backendRefs[0] as $backend | {apiVersion, kind, metadata: {name: "web", namespace: "test", labels: {team: "web"}, annotations: {note: "kept"}},
            spec: {parentRefs: .spec.parentRefs, hostnames: .spec.hostnames, rules: [
                {matches: match("/old"), filters: [{type: "ResponseHeaderModifier", responseHeaderModifier: {set: [{name: "x-old", value: "1"}]}}],
                 backendRefs: [{group: "", kind: "Service", name: "podinfo", port: $backend.port, weight: 1}]},
                {matches: match("/api"), backendRefs: ($backend | both)},
                {matches: match("/apex"), backendRefs: [{group: "", kind: "Service", name: "podinfo", port: $backend.port, weight: 7}]},
                {matches: match("/gone"), backendRefs: [{group: "", kind: "Service", name: "nobody", port: 80, weight: 1}]},
                {name: "all", matches: match("/"), filters: [{type: "ResponseHeaderModifier", responseHeaderModifier: {add: [{name: "x-of", value: "user"}]}}],
                 backendRefs: ($backend | both)}]}}' >"$1"
}

# The route without what the API server writes, and without the weights of ours.
rest_of_route() {
    api_look test httproutes web | gojq 'del(.status, .metadata.managedFields, .metadata.resourceVersion, .metadata.generation, .metadata.annotations.noted)
        | del(.spec.rules[1, 4].backendRefs[].weight)'
}
own_route_is_gone() { ! kubectl -n test get httproute podinfo >/dev/null 2>&1; }
weights() { api_look test httproutes web | gojq -c '[.spec.rules[1, 4].backendRefs[].weight]'; }
weights_are() { [ "$(weights)" = "$1" ]; }

keep_applying() {
    while [ ! -e "$BATS_TEST_TMPDIR/stop" ]; do
        kubectl apply -f "$BATS_FILE_TMPDIR/route.yaml" >>"$BATS_TEST_TMPDIR/applied" 2>&1 || echo failed >>"$BATS_TEST_TMPDIR/applied"
        sleep 1
    done
}
# Another owner of other fields: what a server-side apply without rules leaves. (This API server has no such apply.)
keep_noting() {
    while [ ! -e "$BATS_TEST_TMPDIR/stop" ]; do
        kubectl -n test patch httproute web --type merge --field-manager other -p "{\"metadata\":{\"annotations\":{\"noted\":\"$(date +%s)\"}}}" \
            >>"$BATS_TEST_TMPDIR/noted" 2>&1
        sleep 1
    done
}

@test "three releases, one of them rolled back, leave a user's route as it is, whoever writes it" {
    eventually 30 serves 1.0.0
    own_route_is_gone
    [[ $(api_look test events) == *'HTTPRoute podinfo.test, which was made for podinfo.test, is deleted'* ]]
    rest_of_route >"$BATS_TEST_TMPDIR/before"
    keep_applying 3>&- &
    APPLYING=$!
    keep_noting 3>&- &
    NOTING=$!
    for version in 2.1.0 3.1.0-errors50 2.2.0; do
        client_begin
        release "$version"
        eventually 120 weight_above 20
        case $version in
        3*) eventually 120 phase_is Failed ;;
        *) eventually 120 phase_is Succeeded ;;
        esac
        failed=$(client_failed)
        [ "$failed" = 0 ] || [[ $version == 3* ]] || { echo "failed requests of $version: $failed" && return 1; }
        eventually 10 weights_are '[100,0,100,0]'
        rest_of_route | diff "$BATS_TEST_TMPDIR/before" -
    done
    serves 2.2.0
    touch "$BATS_TEST_TMPDIR/stop"
    wait "$APPLYING" "$NOTING"
    grep -q configured "$BATS_TEST_TMPDIR/applied" # it has put back weights
    ! grep -hvE ' (configured|unchanged|patched)$' "$BATS_TEST_TMPDIR/applied" "$BATS_TEST_TMPDIR/noted"
}
