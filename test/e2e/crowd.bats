# Thirty releases at once, each with a test that takes a minute, on one load tester: nobody waits for anybody else.

CROWD=30

setup_file() {
    load ../lib/stage
    stage_begin
    stage_enter
    gate open
    api_merge test canaries podinfo '{"spec":{"analysis":{"interval":"2s","stepWeight":10,"metrics":[],"webhooks":[
        {"name":"back","type":"rollback","url":"http://flagger-gate.flagger/rollback/check"}]}}}'
}

teardown_file() {
    load ../lib/stage
    stage_end
}

setup() {
    load ../lib/stage
    stage_enter
}

# crowd VERSION: the Deployments app-1, app-2, ... with a Canary each
crowd() {
    api_look test deployments podinfo | gojq -c --argjson count "$CROWD" --arg image "demo-app:$1" \
        --arg cmd "sleep ${E2E_HOOK_SECONDS:-60}" '
        .spec as $spec | range($count) | "app-\(. + 1)" as $name |
        {apiVersion: "apps/v1", kind: "Deployment", metadata: {name: $name, namespace: "test", labels: {app: $name}},
         spec: ($spec | .replicas = 1 | .selector.matchLabels.app = $name | .template.metadata.labels.app = $name |
             .template.spec.containers[0].image = $image)},
        {apiVersion: "flagger.app/v1beta1", kind: "Canary", metadata: {name: $name, namespace: "test"},
         spec: {provider: "kubernetes", targetRef: {apiVersion: "apps/v1", kind: "Deployment", name: $name},
             service: {port: 80, targetPort: 9898},
             analysis: {interval: "5s", threshold: 1, iterations: 1, webhooks: [{
                 name: "long-test", type: "rollout", url: "http://flagger-loadtester.flagger/", timeout: "90s",
                 metadata: {type: "bash", cmd: $cmd}}]}}}' | gojq -cs '{apiVersion: "v1", kind: "List", items: .}'
}

crowd_phases() {
    api_look test canaries |
        gojq -c '[.items[] | select(.metadata.name | startswith("app-")).status.phase] | group_by(.) | map({(.[0]): length}) | add'
}
crowd_is() { [ "$(crowd_phases)" = "{\"$1\":$CROWD}" ]; }
tests_running() { curl -sS "$DEMO_LOADTESTER/tasks" | gojq '[.[] | select(.state == "running")] | length'; }
all_tests_run() { [ "$(tests_running)" -eq "$CROWD" ]; }
told() {
    api_look test events | gojq -r '.items[].message' >"$BATS_TEST_TMPDIR/told"
    grep -Ec -- "$1" "$BATS_TEST_TMPDIR/told" || true
}

@test "thirty long tests run at once, and a rollback beside them starts within its interval" {
    crowd 1.0.0 | kubectl apply -f - >/dev/null
    eventually 120 crowd_is Initialized
    crowd 2.0.0 | gojq -c '.items |= map(select(.kind == "Deployment") | del(.spec.replicas))' | kubectl apply -f - >/dev/null
    eventually 60 all_tests_run
    release 2.0.0
    eventually 30 weight_above 0

    begin=$(date +%s%3N)
    curl -sS --fail -d '{"name":"podinfo","namespace":"test"}' "$DEMO_GATE/rollback/open" >/dev/null
    eventually 30 phase_is Failed
    ended=$(date +%s%3N)
    running=$(tests_running)
    began=$(date +%s%3N -d "$(gojq -rs 'map(select(.canary == "podinfo.test" and
        (.msg | startswith("Rolling back podinfo.test")))) | first.ts' "$DEMO_LOG/controller.log")")
    echo "# $CROWD tests run; a rollback beside them began $((began - begin)) ms after its cause and ended" \
        "$((ended - begin)) ms after it; the interval is 2000 ms" >&3
    # an interval, and as much again for a machine that is busy with sixty pods
    [ "$((began - begin))" -lt 4000 ]
    [ "$running" -eq "$CROWD" ]
}

@test "no check fails because of another release, and all thirty are promoted" {
    eventually 400 crowd_is Succeeded || { crowd_phases && return 1; }
    [ "$(told 'Halt app-|Rolling back app-')" -eq 0 ]
    api_look test deployments | gojq -e --argjson count "$CROWD" '
        [.items[] | select(.metadata.name | test("^app-.*-primary$")).spec.template.spec.containers[0].image] |
        length == $count and all(. == "demo-app:2.0.0")'
    echo "# $CROWD of $CROWD promoted, checks failed 0" >&3
}
