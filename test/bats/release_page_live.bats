# The release page of a controller that leads and releases, in a real browser: what it shows comes from real releases, a real
# gate and the command line.

bats_require_minimum_version 1.5.0
load ../lib/postgres_file

setup() {
    load ../lib/sandbox
    load ../lib/browser
    load ../lib/ui
    UI_DIR=$BATS_TEST_TMPDIR
    export UI_DIR USER=eve
    sandbox_begin "$UI_DIR" --no-services
    kubectl create namespace test
    printf '%s\n' 'alices-token-1234567 operate alice' 'canarys-token-123456 check:test flagger' >"$UI_DIR/tokens"
    echo alices-token-1234567 >"$UI_DIR/alice"
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --token-file "$UI_DIR/tokens"
    GATE_PID=$DAEMON_PID GATE_LOG=$DAEMON_LOG GATE=$DAEMON_URL
    eventually 20 answers 200 GET /readyz
    kubectl -n test create secret generic gate --from-literal 'Authorization=Bearer canarys-token-123456'
    browser_begin
    export BROWSER_DIR BROWSER_SESSION BROWSER_PID BROWSER_DRIVER
    daemon_start "$FLAGGER_BUILD/flagger-controller" --mesh-provider kubernetes --min-analysis-interval 1s --enable-leader-election --ui
}

teardown() {
    browser_end
    daemon_stop || true
    DAEMON_PID=$GATE_PID DAEMON_LOG=$GATE_LOG
    daemon_stop || true
    sandbox_end
}

app() {
    kubectl apply -f - <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: test}
spec:
  replicas: 1
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: app, image: "shop:1", ports: [{containerPort: 9898}]}]}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: shop, namespace: test}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  service: {port: 9898}
  analysis:
    interval: 1s
    threshold: 100
    iterations: 3
    webhooks:
    - {name: promote, type: confirm-promotion, url: "$GATE/gate/check?hook=promote", headersFrom: [{secretRef: {name: gate}}]}
YAML
}
ctl() { "$FLAGGER_BUILD/kubectl-canary" "$@" -n test; }
image() { set_image test shop app "shop:$1"; }

@test "a release is watched from its beginning to its approval, then one that is paused and aborted" {
    app
    browser_open "$DAEMON_URL/ui/"
    browser_wait 90 "$(row shop)" Initialized
    browser_click "$(row shop)//a"
    browser_js 'window.sameDocument = true' >/dev/null
    image 2
    browser_wait 90 '#one-state' 'Waiting to promote'
    browser_wait 30 '#one-facts' 'shop:2'
    browser_wait 30 '#one-waits' 'The gate promote is closed: a person has to approve'
    [ "$(browser_js 'return document.querySelector("#hooks-list a").href')" = "\"$GATE/\"" ]
    ctl approve shop --gate "$GATE" --gate-token-file "$UI_DIR/alice" --why 'looks good'
    browser_wait 90 '#one-state' Succeeded
    browser_wait 30 '#hooks-list' 'Approved by alice: looks good'
    browser_wait 30 '#past-list' 'promote: Approved by alice: looks good'
    image 3
    browser_wait 90 '#one-state' Progressing
    ctl pause shop --why lunch
    browser_wait 90 '#one-state' Paused
    browser_wait 30 '#one-waits' 'It is paused by eve (not proven): lunch'
    browser_wait 30 '#people-list' lunch
    browser_wait 30 '#people-list' 'takes no step until it is resumed'
    ctl resume shop
    ctl abort shop --why 'customers complain' --wait --timeout 60s
    browser_wait 90 '#one-state' Failed
    browser_wait 30 '#past-list' 'abort by eve (not proven): customers complain'
    browser_wait 30 '#events-list' 'Rolling back shop.test, asked by eve (not proven): customers complain'
    browser_wait 30 '#events-list' 'Request pause (eve (not proven): lunch)'
    [ "$(browser_js 'return document.querySelectorAll("#events-list li").length <= 20')" = true ]
    [ "$(browser_js 'return window.sameDocument === true')" = true ]
    mkdir -p "$FLAGGER_BUILD/pictures"
    browser_screenshot "$FLAGGER_BUILD/pictures/releases-live.png" && [ -s "$FLAGGER_BUILD/pictures/releases-live.png" ]
    browser_log | gojq -e 'map(select(.level == "SEVERE" and .source != "network")) | length == 0 or (tostring | error)'
    browser_open about:blank
}

# Pods of a Deployment are waited for without a condition.
@test "a release that waits for its pods says so, on the page and by status" {
    app
    browser_open "$DAEMON_URL/ui/#/test/shop"
    browser_wait 90 '#one-state' Initialized
    # A pod of before would be kept until the new one is ready, and be waited for instead.
    target_is_gone() { [ -z "$(kubectl -n test get pods -l app=shop -o name)" ]; }
    eventually 60 target_is_gone
    api_merge test deployments shop '{"spec":{"template":{"metadata":{"annotations":{"sandbox.flagger.app/never-ready":"true"}}}}}'
    browser_wait 90 '#one-state' Progressing
    browser_wait 60 '#one-waits' 'Canary deployment shop.test not ready: waiting for rollout to finish: 0 of 1'
    run -4 --separate-stderr ctl status shop
    [[ $output == 'revision '*' is Progressing at 0%: 0 of 1 pods of shop are ready' ]]
}
