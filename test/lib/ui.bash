# The release page in a browser, for its tests: a sandbox's API with Canaries whose statuses the test writes, and a
# controller that only observes, so that nobody else does. A test file loads this with daemon and browser.

ui_file_begin() {
    UI_DIR=$(mktemp -d /tmp/flagger-ui.XXXXXX)
    export UI_DIR KUBECONFIG=$UI_DIR/kubeconfig UI_TOKEN=secret-of-the-sandbox
    "$FLAGGER_BUILD/flagger-sandbox" --no-gateway --token "$UI_TOKEN" --kubeconfig "$KUBECONFIG" \
        --crds "$BATS_TEST_DIRNAME/../../proto/crd" >"$UI_DIR/out" 2>"$UI_DIR/log" </dev/null 3>&- &
    echo $! >"$UI_DIR/pid"
    eventually 60 grep -q '^ready' "$UI_DIR/out" || { cat "$UI_DIR/log" && return 1; }
    UI_API=$(sed -n 's/.*api-http=\(\S*\).*/\1/p' "$UI_DIR/out")
    export UI_API
    api POST /api/v1/namespaces '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"test"}}' >"$UI_DIR/answer"
    browser_begin
    export BROWSER_DIR BROWSER_SESSION BROWSER_PID BROWSER_DRIVER
}

ui_file_end() {
    browser_end
    DAEMON_PID=$(cat "$UI_DIR/pid")
    kill -TERM "$DAEMON_PID"
    eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    if grep -qE 'ERROR: (Address|Leak)Sanitizer|runtime error' "$UI_DIR/log"; then cat "$UI_DIR/log" && return 1; fi
    rm -rf "$UI_DIR"
}

ui_begin() {
    ui_start --ui
    browser_theme light
    browser_size 1280 900
    browser_log >/dev/null
    browser_requests >/dev/null
}

# Whatever a test did: no script failed, nothing was refused by the content security policy, nothing was asked from
# elsewhere, and no cookie was set.
ui_end() {
    local bad=0
    browser_log | gojq -e 'map(select((.level == "SEVERE" or .level == "WARNING")
        and (.source != "network" or (.message | test("status of ") and (test("status of (401|404|410|503)") | not))))) | length == 0 or (tostring | error)' || bad=1
    browser_requests | grep -Ev "^(${DAEMON_URL//./\\.}/|data:|chrome:|about:)" && bad=1
    [ "$(browser_ask GET cookie)" = '[]' ] || bad=1
    browser_open about:blank # or it goes on asking
    daemon_stop || bad=1
    api DELETE /apis/flagger.app/v1beta1/namespaces/test/canaries >"$UI_DIR/answer"
    return "$bad"
}

ui_start() {
    daemon_start "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --observe --mesh-provider gatewayapi:v1 \
        --metrics-server http://prometheus.example:9090 "$@"
    eventually 30 answers 200 GET /readyz
}

# api METHOD PATH [BODY]
api() {
    curl -sS --fail-with-body -m 30 -H "Authorization: Bearer $UI_TOKEN" -X "$1" \
        ${3+-H "Content-Type: ${4:-application/json}" --data-binary "$3"} "$UI_API$2"
}

ago() { date -u -d "$1 seconds ago" +%Y-%m-%dT%H:%M:%SZ; }

# canary NAME [ANALYSIS]: a Canary without a status
canary() {
    local none='{}'
    api POST /apis/flagger.app/v1beta1/namespaces/test/canaries "$(gojq -nc --arg name "$1" --argjson analysis "${2:-$none}" '{
        apiVersion: "flagger.app/v1beta1", kind: "Canary", metadata: {name: $name}, spec: {
            targetRef: {apiVersion: "apps/v1", kind: "Deployment", name: $name}, service: {port: 80},
            analysis: ({interval: "30s", threshold: 3, maxWeight: 50, stepWeight: 10,
                metrics: [{name: "request-success-rate", thresholdRange: {min: 99}, interval: "1m"},
                    {name: "request-duration", thresholdRange: {max: 500}, interval: "1m"}],
                webhooks: [{name: "approval", type: "confirm-promotion", url: "http://flagger-gate.test/gate/check"},
                    {name: "load", url: "http://loadtester.test/"}]} + $analysis)}}')" >"$UI_DIR/answer"
}

# status NAME JSON: as the controller writes it
status() {
    api PATCH "/apis/flagger.app/v1beta1/namespaces/test/canaries/$1/status" "{\"status\":$2}" application/merge-patch+json >"$UI_DIR/answer"
}

# steps LAST [SECONDS]: of a release, up to this weight, the last one some seconds ago
steps() {
    gojq -nc --argjson last "$1" --argjson now "$(($(date +%s) - ${2:-40}))" '[range(10; $last + 1; 10) as $weight
        | {at: ($now - ($last - $weight) * 6 | todate), weight: $weight}
            + if $weight == 10 then {} else {checks: [
                {name: "request-success-rate", value: (100 - $weight / 80), min: 99},
                {name: "request-duration", value: (0.1 + $weight / 300), max: 0.5}]} end]'
}

# in_analysis NAME WEIGHT: as it stands in the middle of a release
in_analysis() {
    status "$1" "$(gojq -nc --argjson weight "$2" --argjson steps "$(steps "$2")" --arg began "$(ago 400)" --arg at "$(ago 40)" '{
        phase: "Progressing", canaryWeight: $weight, failedChecks: 0, lastAppliedSpec: "85d557f47b", lastTransitionTime: $at,
        conditions: [{type: "Promoted", status: "Unknown", reason: "Progressing", message: "New revision detected.", lastTransitionTime: $began}],
        release: {revision: "85d557f47b", image: "ghcr.io/shop/checkout:2.4.1", began: $began, steps: $steps,
            hooks: [{name: "load", type: "rollout", at: $at, passed: true, said: "OK"}]}}')"
}

# judged NAME SAYS: what the judge has seen of it, of two metrics: one on its way to an alarm, one with enough to go on
judged() {
    status "$1" "$(gojq -nc --arg at "$(ago 8)" --arg says "$2" '{judge: {pods: [2, 1], since: $at, step: "20/0", metrics: [
        {name: "request-success-rate", lastLook: $at, says: $says, from: 0, tolerate: {points: 0, ratio: 0}, evidence: {looks: 6,
            canary: [708, 14], primary: [6370, 31], recentCanary: [500, 10], recentPrimary: [4000, 20], lastCanary: [120, 3],
            lastPrimary: [1000, 5], scatter: [9, 10, 20], worse: [5, 5, 5, 5, 5, 5, 5, 5, 5, 5], notWorse: [-4, -4, -4, -4]}},
        {name: "request-duration", lastLook: $at, says: "canary 1 of 708 requests took longer than 500 ms (0.14 %)", from: 0,
            tolerate: {points: 0, ratio: 0.05}, evidence: {looks: 6, canary: [708, 1], primary: [6370, 120], recentCanary: [500, 1],
            recentPrimary: [4000, 80], lastCanary: [120, 0], lastPrimary: [1000, 20], scatter: [9, 10, 20],
            worse: [-6, -6, -6, -6, -6, -6, -6, -6, -6, -6], notWorse: [400, 400, 400, 400]}}]}}')"
}

# rolled_back NAME: its last release was
rolled_back() {
    status "$1" "$(gojq -nc --argjson steps "$(steps 30 360)" --arg began "$(ago 900)" --arg ended "$(ago 300)" --arg at "$(ago 330)" '{
        phase: "Failed", canaryWeight: 0, failedChecks: 0, lastAppliedSpec: "6c7d8e9f0a", lastTransitionTime: $ended, release: null,
        conditions: [{type: "Promoted", status: "False", reason: "Failed", message: "Deployment does not pass analysis.", lastTransitionTime: $ended},
            {type: "ChecksPassed", status: "False", reason: "OutOfRange", message: "Halt checkout.test advancement success rate 91.20% < 99%", lastTransitionTime: $at}],
        history: [{revision: "6c7d8e9f0a", image: "ghcr.io/shop/checkout:2.5.0", began: $began, ended: $ended, outcome: "failed",
            reason: "Failed checks threshold reached 3: Halt checkout.test advancement success rate 91.20% < 99% (request-success-rate over 1m, expected at least 99%)",
            steps: ($steps + [{at: $at, weight: 30, failed: true, checks: [{name: "request-success-rate", value: 91.2, min: 99}]}, {at: $ended, weight: 0}]),
            hooks: [{name: "load", type: "rollout", at: $at, passed: true, said: "OK"},
                {name: "start", type: "confirm-rollout", at: $began, passed: true, said: "Approved by bob: looks good"}],
            requests: [{action: "resume", by: "alice", why: "the database is back", at: $at, outcome: "done"}]},
          {revision: "85d557f47b", image: "ghcr.io/shop/checkout:2.4.1", began: "2026-11-02T10:00:00Z", ended: "2026-11-02T10:07:10Z", outcome: "promoted",
            reason: "Its checks passed, and it was promoted."}]}')"
}

row() { printf '//li[contains(@class, "canary")][.//bdi[@class="name"][text()="%s"]]' "$1"; }
focused() { browser_js 'const e = document.activeElement; return e.id || e.hash || e.className || e.tagName' | gojq -r .; }

# Presses Tab until the focus is at ID or #ADDRESS; a person would give up after 40.
tab_to() {
    for _ in $(seq 40); do
        browser_keys Tab
        [ "$(focused)" != "$1" ] || return 0
    done
    echo "Tab does not lead to $1" && return 1
}

fits_the_width() { browser_js 'return document.documentElement.scrollWidth <= document.documentElement.clientWidth' | grep -qx true; }
