# The page of the daemon of the fleet, in a real browser: a plan as columns of clusters by wave. The members are sandboxes whose
# Canaries nobody releases but this test, which writes their statuses.

bats_require_minimum_version 1.5.0

load_all() {
    load ../lib/daemon
    load ../lib/fleet
    load ../lib/browser
}

setup_file() {
    load_all
    local name
    clusters_begin one two
    gojq --yaml-input '.clusters[0].cluster.server = "https://127.0.0.1:1"' "$DIR/one" >"$DIR/away"
    for name in one two away; do
        fleet_member "$name" "wave=$([ "$name" = one ] && echo 1 || echo 2)"
    done
    for name in one two; do
        on "$name" create namespace test
        on "$name" apply -f - <<'YAML'
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: app, namespace: test}
spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: app}, service: {port: 80}, analysis: {interval: 1m, threshold: 1, stepWeight: 10}}
YAML
        stands "$name" Succeeded 77c1aa 77c1aa
    done
    kubectl apply -f - <<'YAML'
apiVersion: flagger.app/v1alpha1
kind: ReleasePlan
metadata: {name: shop, namespace: default}
spec: {canaries: {namespace: test}, destination: {fleet: all}, waves: [{name: first, clusterSelector: {matchLabels: {wave: "1"}}}, {name: rest}]}
---
apiVersion: flagger.app/v1alpha1
kind: ReleasePlan
metadata: {name: "other", namespace: default}
spec: {canaries: {namespace: nobody}, destination: {fleet: all}, waves: [{name: "only"}]}
YAML
    browser_begin
    export BROWSER_DIR BROWSER_SESSION BROWSER_PID BROWSER_DRIVER
}

teardown_file() {
    load_all
    browser_end
    clusters_end
}

setup() {
    load_all
    daemon_start "$FLAGGER_BUILD/flagger-controller" fleet --allow-namespaces "default:*" --ui
    eventually 30 answers 200 GET /readyz
    browser_theme light
    browser_size 1280 900
    browser_log >/dev/null
    browser_requests >/dev/null
}

# Whatever a test did: no script failed, nothing was refused by the content security policy, nothing was asked from elsewhere.
teardown() {
    local bad=0
    browser_log | gojq -e 'map(select((.level == "SEVERE" or .level == "WARNING")
        and (.source != "network" or (.message | test("status of ") and (test("status of (401|404|503)") | not))))) | length == 0 or (tostring | error)' || bad=1
    browser_requests | grep -Ev "^(${DAEMON_URL//./\\.}/|data:|chrome:|about:)" && bad=1
    browser_open about:blank # or it goes on asking
    daemon_stop || bad=1
    return "$bad"
}

# stands CLUSTER PHASE APPLIED PROMOTED [WEIGHT]: as its controller writes it
stands() {
    on "$1" -n test patch canary app --subresource=status --type merge \
        -p "{\"status\": {\"phase\": \"$2\", \"canaryWeight\": ${5:-0}, \"failedChecks\": 0, \"iterations\": 0, \"lastAppliedSpec\": \"$3\", \"lastPromotedSpec\": \"$4\"}}"
}
row() { printf '//li[contains(@class, "canary")][.//bdi[@class="name"][text()="%s"]]' "$1"; }
wave() { printf '//li[contains(@class, "wave")][.//h4/bdi[text()="%s"]]' "$1"; }
cluster() { printf '//li[contains(@class, "cluster")][./bdi[text()="%s"]]' "$1"; }
fits_the_width() { browser_js 'return document.documentElement.scrollWidth <= document.documentElement.clientWidth' | grep -qx true; }

@test "a plan is followed live, by waves and clusters, without a reload" {
    browser_open "$DAEMON_URL/ui/"
    browser_wait 30 "$(row shop)" Releasing
    browser_wait 20 "$(row other)" '0 of 0'
    browser_js 'window.sameDocument = true' >/dev/null
    browser_click "$(row shop)//a"
    browser_wait 20 "$(wave first)" over
    browser_wait 20 "$(cluster one)" 'has promoted revision 77c1aa'
    browser_wait 20 "$(cluster away)" 'cannot be reached'
    browser_wait 20 "$(cluster away)" 'Not reached'
    browser_wait 20 '#conditions-list' Ready
    # The next one is released in the first wave, and shown by its weight.
    stands one Progressing 5d4f8b 77c1aa 30
    browser_wait 20 "$(cluster one)" '30 %'
    browser_wait 20 "$(cluster one)" 'releases revision 5d4f8b'
    stands one Failed 5d4f8b 77c1aa
    browser_wait 20 '#one-state' Stopped
    browser_wait 20 '#one-waits' 'revision 5d4f8b of test/app has failed on cluster one'
    browser_wait 20 "$(wave rest)" 'stands still'
    browser_wait 20 '#conditions-list .bad' 'True, Stopped'
    browser_wait 20 "$(wave rest)" '1 held'
    browser_js 'return window.sameDocument' | grep -qx true
    stands one Succeeded 9e0f11 9e0f11
    browser_wait 20 "$(wave rest)" open
    stands two Succeeded 9e0f11 9e0f11
    browser_wait 20 "$(cluster two)" 'has promoted revision 9e0f11'
    curl -s "$DAEMON_URL/ui/api/plans/default/shop" | gojq -e '.waves | map(.name) == ["first", "rest"] and (.[1].clusters | map(.name) | sort == ["away", "two"])'
}

@test "every text has a contrast of at least 4.5 in both themes, and all fits 320 pixels" {
    stands one Failed 123456 9e0f11
    mkdir -p "$FLAGGER_BUILD/pictures"
    for theme in light dark; do
        browser_theme "$theme"
        for at in '' default/shop; do
            browser_size 1280 900
            browser_open "$DAEMON_URL/ui/#/$at"
            browser_wait 20 "$([ -n "$at" ] && echo '#one-state' || row shop)" Stopped
            found=$(browser_js "$(<"$BATS_TEST_DIRNAME/../lib/contrast.js")")
            gojq -e 'length == 1 and .[0] > 3' <<<"$found" >/dev/null || { echo "$theme $at: $found" && return 1; }
            browser_screenshot "$FLAGGER_BUILD/pictures/plans-$theme$([ -z "$at" ] || echo -one).png"
            browser_size 320 900
            fits_the_width
        done
    done
    browser_screenshot "$FLAGGER_BUILD/pictures/plans-320.png"
    [ -s "$FLAGGER_BUILD/pictures/plans-320.png" ]
}

@test "by keyboard to a plan and back, a plan that goes is told, and what is not there is no page" {
    kubectl apply -f - <<'YAML'
apiVersion: flagger.app/v1alpha1
kind: ReleasePlan
metadata: {name: brief, namespace: default}
spec: {canaries: {namespace: nobody}, destination: {fleet: all}, waves: [{name: "only"}]}
YAML
    browser_open "$DAEMON_URL/ui/#/default/brief"
    browser_wait 30 '#one-name' brief
    browser_wait 30 "$(wave only)" 0
    kubectl delete releaseplan brief --timeout=30s
    browser_wait 20 '#one-gone' 'not there any more'
    browser_keys Escape
    browser_wait 20 "$(row shop)"
    browser_gone 20 "$(row brief)"
    answers 404 GET /ui/api/plans/default/brief
    answers 405 POST /ui/api/plans
    answers 404 GET /ui/api/canaries
    curl -s "$DAEMON_URL/ui/api/plans?limit=1" | gojq -e '(.plans | map(.name) == ["other"]) and .continue == "default/other"'
    curl -s "$DAEMON_URL/ui/api/plans?continue=default/other" | gojq -e '(.plans | map(.name) == ["shop"]) and .continue == null'
}

@test "it is off unless an option opens it, and a token is asked for" {
    browser_open about:blank
    daemon_stop
    daemon_start "$FLAGGER_BUILD/flagger-controller" fleet --allow-namespaces "default:*"
    answers 404 GET /ui/
    grep -q -- '--ui-token-file' "$BATS_TEST_TMPDIR/body"
    daemon_stop
    echo 'a-token-of-16-characters' >"$DIR/tokens"
    daemon_start "$FLAGGER_BUILD/flagger-controller" fleet --allow-namespaces "default:*" --ui-token-file "$DIR/tokens"
    eventually 30 answers 200 GET /readyz
    answers 401 GET /ui/api/plans
    browser_open "$DAEMON_URL/ui/"
    browser_wait 20 '#sign-in'
    browser_type '#token' a-token-of-16-characters
    browser_keys Enter
    browser_wait 20 "$(row shop)"
}
