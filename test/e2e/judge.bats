# The canary beside the primary, counted by Prometheus itself: a version that is worse is rolled back between two steps.

setup_file() {
    load ../lib/stage
    stage_begin
    stage_enter
    gate open
    # No threshold would find it, and without a verdict no step is made.
    kubectl -n test patch canary podinfo --type merge -p '{"spec":{"analysis":{"interval":"2s","stepWeight":50,"maxWeight":50,
        "judge":{"type":"sequential","every":"5s","warmUp":"2s","minRequests":1000000,"maxWait":"30m"},
        "metrics":[{"name":"request-success-rate","interval":"1m","noData":"pass","thresholdRange":{"min":50}},
                   {"name":"request-duration","interval":"1m","noData":"pass","thresholdRange":{"max":5000}}]}}}'
}

teardown_file() {
    load ../lib/stage
    stage_end
}

setup() {
    load ../lib/stage
    stage_enter
    client_begin
}

teardown() {
    touch "$BATS_TEST_TMPDIR/client-stop"
    wait "$CLIENT"
}

judged() { kubectl -n test get canary podinfo -o json | gojq -r "$1"; }
# The counts that the first metric has: canary and primary have had requests.
both_counted() { [ "$(judged '.status.judge.metrics[0].evidence.looks // 0')" -gt 0 ]; }

@test "a version that fails every tenth request is rolled back, without a failed check" {
    eventually 120 serves 1.0.0
    release 2.0.0-errors10
    eventually 180 phase_is Failed
    judged '.status.history[0].reason'
    judged '.status.conditions[] | select(.type == "ChecksPassed") | .reason' | grep -x Worse
    judged '.status.history[0].reason' | grep -E 'The canary is worse than the primary: request-success-rate: canary [1-9][0-9,]* of [1-9][0-9,]* requests failed'
    judged '[.status.history[0].steps[].checks[]? | select(.name == "request-success-rate").counts // empty] | last | .[0] >= .[1] and .[1] > 0 and .[2] > 0 and .[3] == 0' | grep -x true
    [ "$(judged .status.canaryWeight)" = 0 ]
    serves 1.0.0
}

@test "a version that is as good waits for its requests, and is promoted" {
    release 2.0.0
    eventually 120 phase_is Progressing
    eventually 120 both_counted
    judged '.status.judge.metrics[0].says'
    kubectl -n test get canary podinfo -o json | gojq -e '.status.judge.metrics | length == 2'
    kubectl -n test patch canary podinfo --type merge -p '{"spec":{"analysis":{"judge":{"minRequests":20}}}}'
    eventually 180 phase_is Succeeded
    serves 2.0.0
}
