# The canary beside the primary, counted by Prometheus itself: a version that is worse is rolled back between two steps.

setup_file() {
    load ../lib/stage
    stage_begin
    stage_enter
    gate open
    # No threshold would find it, and without a verdict no step is made.
    api_merge test canaries podinfo '{"spec":{"analysis":{"interval":"2s","stepWeight":50,"maxWeight":50,"threshold":1000,
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
    CROWD=()
    client_begin
}

teardown() {
    explain_failure
    client_end
    [ "${#CROWD[@]}" -eq 0 ] || kill "${CROWD[@]}"
    wait "${CROWD[@]}" || true
}

judged() { of_canary test podinfo "$1"; }
analysis() { api_merge test canaries podinfo "{\"spec\":{\"analysis\":$1}}"; }
# The counts that the first metric has: canary and primary have had requests.
both_counted() { [ "$(judged '.status.judge.metrics[0].evidence.looks // 0')" -gt 0 ]; }
# The primary's pods have shown Prometheus so many requests by native histograms.
counted_natively() {
    curl -sS -m 5 --data-urlencode 'query=sum(histogram_count(http_request_duration_seconds{kubernetes_pod_name=~"podinfo-primary-.*"})) > '"$1" \
        "$DEMO_PROMETHEUS/api/v1/query" | gojq -e '.data.result | length == 1' >/dev/null
}
says() { judged '.status.judge.metrics[0].says' | grep -q "$1"; }
# Five more clients at the same time.
crowd() {
    hey -z 20m -c 5 -q 10 -host app.example.com "$DEMO_GATEWAY/" >/dev/null 2>&1 3>&- &
    CROWD+=($!)
}
rolled_back_by() {
    eventually 180 phase_is Failed
    judged '.status.history[0].reason'
    judged '.status.conditions[] | select(.type == "ChecksPassed") | .reason' | grep -x Worse
    judged '.status.history[0].reason' | grep -E "^The canary is worse than the primary: $1; odds that chance alone does this(, at [0-9] bounds)?: below 1 in [0-9,]+; rolled back after [0-9]+ s\$"
    [ "$(judged .status.canaryWeight)" = 0 ]
}

@test "a version that fails every tenth request is rolled back, without a failed check" {
    eventually 120 serves 1.0.0
    release 2.0.0-errors10
    rolled_back_by 'request-success-rate: canary [1-9][0-9,]* of [1-9][0-9,]* requests failed \([0-9.]+ %\), primary 0 of [1-9][0-9,]* \(0 %\)'
    judged '[.status.history[0].steps[].checks[]? | select(.name == "request-success-rate").counts // empty] | last | .[0] >= .[1] and .[1] > 0 and .[2] > 0 and .[3] == 0' | grep -x true
    serves 1.0.0
}

@test "a version that is as good waits for its requests, and is promoted" {
    release 2.0.0
    eventually 120 phase_is Progressing
    eventually 120 both_counted
    judged '.status.judge.metrics[0].says'
    api_look test canaries podinfo | gojq -e '.status.judge.metrics | length == 2'
    analysis '{"judge":{"minRequests":20}}'
    eventually 180 phase_is Succeeded
    judged '.status.history[0].reason' | grep '^Its checks passed, and it was promoted: request-success-rate: canary 0 of '
    serves 2.0.0
    analysis '{"judge":{"minRequests":1000000}}'
}

@test "a version that is slower by a bucket is rolled back" {
    analysis '{"metrics":[{"name":"request-duration","interval":"1m","noData":"pass","thresholdRange":{"max":250}}]}'
    crowd
    release 3.0.0-slow400ms
    rolled_back_by 'request-duration: canary [1-9][0-9,]* of [1-9][0-9,]* requests took longer than 250 ms \([0-9.]+ %\), primary [0-9,]+ of [1-9][0-9,]* \([0-9.]+ %\)'
    analysis '{"metrics":[{"name":"request-success-rate","interval":"1m","noData":"pass","thresholdRange":{"min":50}}]}'
}

@test "a version that is slower at any bound is rolled back, without a threshold" {
    analysis '{"metrics":[{"name":"request-duration","interval":"1m","noData":"pass","compare":"primary"}]}'
    crowd
    release 3.1.0-slow200ms
    rolled_back_by 'request-duration: canary [1-9][0-9,]* of [1-9][0-9,]* requests took longer than [0-9.]+ ms \([0-9.]+ %\), primary [0-9,]+ of [1-9][0-9,]* \([0-9.]+ %\)'
}

# The pods of both versions have native histograms and no others, whose bounds are 9 % apart.
@test "a version that is slower is rolled back by native histograms" {
    api_merge test canaries podinfo '{"spec":{"skipAnalysis":true}}'
    release 3.1.1-native-slow100ms
    eventually 120 serves 3.1.1
    eventually 120 phase_is Succeeded
    api_merge test canaries podinfo '{"spec":{"skipAnalysis":false}}'
    analysis '{"metrics":[{"name":"request-duration","interval":"1m","noData":"pass","compare":"primary"}]}'
    crowd
    eventually 120 counted_natively 1000 # the bounds are chosen from what was just before
    release 3.1.2-native-slow130ms
    rolled_back_by 'request-duration: canary [1-9][0-9,]* of [1-9][0-9,]* requests took longer than 1(25|[0-9][0-9]\.[0-9]+) ms \([0-9.]+ %\), primary [0-9,]+ of [1-9][0-9,]* \([0-9.]+ %\)'
    serves 3.1.1
    # from a threshold on as well, and by a check
    analysis '{"metrics":[{"name":"request-duration","interval":"1m","thresholdRange":{"max":250}}]}'
    release 3.1.3-native-slow400ms
    rolled_back_by 'request-duration: canary [1-9][0-9,]* of [1-9][0-9,]* requests took longer than 25[0-9.]* ms \([0-9.]+ %\), primary [0-9,]+ of [1-9][0-9,]* \([0-9.]+ %\)'
    api_look test events | gojq -r '.items[].message' | grep 'Halt podinfo.test advancement request duration [0-9]*ms > 250ms'
    analysis '{"metrics":[{"name":"request-duration","interval":"1m","noData":"pass","compare":"primary"}]}'
    api_merge test canaries podinfo '{"spec":{"skipAnalysis":true}}'
    release 3.1.4
    eventually 120 serves 3.1.4
    eventually 120 phase_is Succeeded
    api_merge test canaries podinfo '{"spec":{"skipAnalysis":false}}'
}

# No load changes this number. A primary without any makes a comparison of six looks, and nine of them are enough.
@test "a number that is larger than the primary's is rolled back" {
    kubectl apply -f - <<YAML
apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: failing, namespace: test}
spec:
  provider: {type: prometheus, address: "$DEMO_PROMETHEUS"}
  query: |
    (sum(rate(http_request_duration_seconds_count{kubernetes_namespace="{{ namespace }}",kubernetes_pod_name=~"{{ workload }}-[0-9a-z]+-[0-9a-z]+",status=~"5.*"}[10s])) or vector(0))
    / sum(rate(http_request_duration_seconds_count{kubernetes_namespace="{{ namespace }}",kubernetes_pod_name=~"{{ workload }}-[0-9a-z]+-[0-9a-z]+"}[10s]))
YAML
    analysis '{"metrics":[{"name":"failing","templateRef":{"name":"failing"},"noData":"pass","compare":"primary","judge":{"tolerate":"10m"}}]}'
    crowd
    release 3.2.0-errors10
    eventually 120 says ' against 0 of the primary'
    eventually 600 phase_is Failed
    judged '.status.history[0].reason' | grep -E '^The canary is worse than the primary: failing: 0[.][01][0-9]* against 0 of the primary, at most 0[.]01 is tolerated; above that in [0-9]+ of [0-9]+ comparisons; odds that chance alone does this: below 1 in '
    analysis '{"metrics":[{"name":"request-success-rate","interval":"1m","noData":"pass","thresholdRange":{"min":50}}]}'
}

@test "a version that fails only under load is rolled back when the load comes" {
    release 4.0.0-load3-slow200ms # three: two of the load test, and the client
    eventually 120 both_counted
    [ "$(judged .status.phase)" = Progressing ]
    crowd
    rolled_back_by 'request-success-rate: canary [1-9][0-9,]* of [1-9][0-9,]* requests failed \([0-9.]+ %\), primary 0 of [1-9][0-9,]* \(0 %\)'
}

@test "where the primary fails as well nobody is rolled back: without traffic the step waits, and pods that restart are left out" {
    api_merge test canaries podinfo '{"spec":{"skipAnalysis":true}}'
    release 5.0.0-errors10
    eventually 120 serves 5.0.0
    eventually 120 phase_is Succeeded
    api_merge test canaries podinfo '{"spec":{"skipAnalysis":false}}'
    client_end

    release 5.0.1-errors10
    # the load test of the analysis asks the canary alone
    eventually 120 says 'the primary had no requests to compare'
    waits() { judged '.status.conditions[] | select(.type == "Judged") | .message' | grep -q 'request-success-rate has seen [0-9]* requests of the canary since the last step, of the 1000000 that a step needs'; }
    eventually 120 waits
    [ "$(weight)" = 50 ]

    crowd
    eventually 60 both_counted
    kubectl -n test delete pod "$(api_look test pods | gojq -r '[.items[] | select(.spec.containers[0].image | endswith(":5.0.1-errors10"))][0].metadata.name')" --wait=false
    eventually 60 says 'not counted'
    eventually 60 says 'requests failed'
    analysis '{"judge":{"minRequests":50}}'
    eventually 180 phase_is Succeeded
    judged '.status.history[0].reason' | grep -E '^Its checks passed, and it was promoted: request-success-rate: canary [1-9][0-9,]* of [0-9,]+ requests failed .*, primary [1-9]'
    serves 5.0.1
}
