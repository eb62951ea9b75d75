# The release page of the controller, in a real browser.

load_all() {
    load ../lib/daemon
    load ../lib/browser
    load ../lib/ui
}
setup_file() { load_all && ui_file_begin; }
teardown_file() { load_all && ui_file_end; }
setup() { load_all && ui_begin; }
teardown() { ui_end; }

# restart OPTION...: the controller with other options, at another port
restart() {
    browser_open about:blank
    daemon_stop
    ui_start "$@"
    browser_requests >/dev/null
}

@test "it is off unless an option opens it, and says how" {
    restart
    for path in /ui /ui/ /ui/main.js /ui/api/canaries; do
        answers 404 GET "$path"
        grep -q -- '--ui-token-file' "$BATS_TEST_TMPDIR/body"
    done
    for wrong in prometheus.example 'javascript:alert(1)' https:// 'https://user@host' 'https://host/?a=b'; do
        run "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --observe --port 0 --ui --ui-grafana-url "$wrong"
        [ "$status" -eq 1 ]
        [[ $output == *'--ui-grafana-url: expected an address as https://'* ]]
    done
    run "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --observe --port 0 --ui-token-file "$BATS_TEST_TMPDIR/none"
    [ "$status" -eq 1 ]
    [[ $output == *ui-token-file*"$BATS_TEST_TMPDIR/none"* ]]
}

@test "its files hold no data and have strict headers, and nothing can be changed" {
    for path in /ui/ /ui/main.js /ui/page.css /ui/icon.svg /ui/dom.js; do
        curl -s -D - -o "$BATS_TEST_TMPDIR/body" "$DAEMON_URL$path" | tr -d '\r' >"$BATS_TEST_TMPDIR/headers"
        grep -q '^HTTP/1.1 200' "$BATS_TEST_TMPDIR/headers"
        grep -qi "^content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'" "$BATS_TEST_TMPDIR/headers"
        for header in 'x-content-type-options: nosniff' 'x-frame-options: DENY' 'referrer-policy: no-referrer' 'cross-origin-opener-policy: same-origin'; do
            grep -qix "$header" "$BATS_TEST_TMPDIR/headers"
        done
    done
    answers 404 GET /ui/nothing.js
    answers 308 GET /ui
    for method in POST PUT DELETE; do
        answers 405 "$method" /ui/api/canaries
    done
    [ "$(curl -s -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' -H 'Sec-Fetch-Site: cross-site' "$DAEMON_URL/ui/api/canaries")" = 403 ]
    for name in localhost:1 flagger.flagger-system.svc 10.0.0.1:8080 '[::1]:8080'; do
        [ "$(curl -s -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' -H "Host: $name" "$DAEMON_URL/ui/api/canaries")" = 200 ]
    done
    for name in strange.example svc.example 10.0.0.1.example:80; do
        [ "$(curl -s -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' -H "Host: $name" "$DAEMON_URL/ui/api/canaries")" = 421 ]
    done
    answers 404 GET /ui/api/canaries/test/nobody
    answers 400 GET '/ui/api/canaries?limit=many'
}

@test "a release is followed live, without a reload" {
    canary checkout
    in_analysis checkout 20
    browser_open "$DAEMON_URL/ui/"
    browser_wait 20 "$(row checkout)" '20 %'
    browser_wait 20 "$(row checkout)" Progressing
    browser_js 'window.sameDocument = true' >/dev/null
    in_analysis checkout 30
    browser_wait 20 "$(row checkout)" '30 %'
    browser_click "$(row checkout)//a"
    browser_wait 20 '#split' '30 % canary'
    browser_wait 20 '#checks-list' '99.63 %'
    in_analysis checkout 50
    browser_wait 20 '#split' '50 % canary'
    browser_wait 20 '#checks-list' 'expected at least 99 %'
    [ "$(browser_js 'return document.querySelectorAll("#checks-list li:first-child .point").length')" = 4 ]
    browser_js 'return document.querySelector("#checks-list li:first-child svg").getAttribute("aria-label")' | grep -q 'request-success-rate: .*expected at least 99'
    rolled_back checkout
    browser_wait 20 '#one-state' Failed
    browser_wait 20 '#one-waits' 'Failed checks threshold reached 3'
    browser_wait 20 '#checks-list' '91.2 %, out of range'
    browser_wait 20 '#past-list' 'Rolled back'
    browser_wait 20 '#people-list' alice
    browser_wait 20 '#past-list' 'start: Approved by bob: looks good'
    browser_wait 20 '#hooks-list' 'Approved by bob: looks good'
    browser_wait 20 '#announce' 'test/checkout: Failed' || [ "$(browser_text '#announce')" = 'test/checkout: Failed' ]
    api DELETE /apis/flagger.app/v1beta1/namespaces/test/canaries/checkout >"$UI_DIR/answer"
    browser_wait 20 '#one-gone'
    [ "$(browser_js 'return window.sameDocument === true')" = true ]
}

@test "who waits for whom: the gate, whose answer is no link, a condition, a suspended Canary" {
    canary checkout
    canary search
    canary mail
    in_analysis checkout 50
    status checkout "{\"phase\":\"WaitingPromotion\",\"release\":{\"hooks\":[{\"name\":\"approval\",\"type\":\"confirm-promotion\",\"at\":\"$(ago 5)\",\"passed\":false,\"said\":\"Forbidden until somebody approves at https://gate.example/.\"}]}}"
    status search "{\"phase\":\"Initialized\",\"conditions\":[{\"type\":\"Accepted\",\"status\":\"False\",\"reason\":\"InvalidSpec\",\"message\":\"spec.analysis.stepWeight: expected a number\"}]}"
    api PATCH /apis/flagger.app/v1beta1/namespaces/test/canaries/mail '{"spec":{"suspend":true}}' application/merge-patch+json >"$UI_DIR/answer"
    browser_open "$DAEMON_URL/ui/"
    browser_wait 20 '#running-list' 'Waiting to promote'
    browser_wait 20 '#running-list' 'spec.analysis.stepWeight: expected a number'
    browser_wait 20 '#running-list' Suspended
    browser_click "$(row checkout)//a"
    browser_wait 20 '#one-waits' 'The gate approval is closed: a person has to approve'
    # An address in what the hook said leads nowhere: links are of the spec alone.
    [ "$(browser_js 'return [...document.querySelectorAll("#hooks-list a")].filter((a) => a.href.includes("gate.example")).length')" = 0 ]
    browser_click '#checks-list li:first-child summary'
    browser_wait 5 '#checks-list li:first-child .query' 'http_request_duration_seconds_count'
    browser_js 'return document.querySelector("#checks-list li:first-child a").href' | grep -q '^"http://prometheus.example:9090/graph?g0.tab=0&g0.expr='
}

# conditions: TYPE STATUS KIND WORDS of each that the rules have and that is worth a word
conditions() {
    sed -n 's/^CONDITION([A-Z_]*, "\([A-Za-z]*\)", [a-z]*, [a-z]*, \([A-Z]*\), \(PERSON\|WAITS\|NOTE\), "\(.*\)").*/\1 \2 \3 \4/p' \
        "$BATS_TEST_DIRNAME/../../controller/decide/conditions.def"
}
# waits JQ: of checkout, as the page gets it
waits() { answers 200 GET /ui/api/canaries/test/checkout && gojq -e "$1" "$BATS_TEST_TMPDIR/body" >/dev/null; }

@test "every condition of the rules is named by the page, with those that wait for a person apart" {
    local type status kind words
    canary checkout
    in_analysis checkout 20
    [ "$(conditions | wc -l)" -gt 30 ]
    while read -r type status kind words; do
        status checkout "{\"conditions\":[{\"type\":\"$type\",\"status\":\"${status:0:1}$(tr A-Z a-z <<<"${status:1}")\",\"reason\":\"Reason\",\"message\":\"of $type\"}]}"
        eventually 20 waits ".waits | .kind == \"${kind,,}\" and .text == \"$words: of $type\"" || { echo "$type" && cat "$BATS_TEST_TMPDIR/body" && return 1; }
    done < <(conditions)
    # A person is missed in the list as well, and a wait that ends by itself is none.
    browser_open "$DAEMON_URL/ui/"
    status checkout '{"conditions":[{"type":"RoutesSettled","status":"False","reason":"RoutesBlocked","message":"Ingress test/checkout is missing"}]}'
    browser_wait 20 '#running-list' 'Its routes cannot be made: Ingress test/checkout is missing'
    browser_wait 5 "$(row checkout)[@data-state='waits']"
    status checkout '{"conditions":[{"type":"RoutesSettled","status":"False","reason":"RoutesPending","message":"not yet"}]}'
    browser_wait 20 '#running-list' 'The mesh has not taken over its routes: not yet'
    browser_wait 5 "$(row checkout)[@data-state='runs']"
    # A gate of a step is nobody's pause.
    api PATCH /apis/flagger.app/v1beta1/namespaces/test/canaries/checkout '{"spec":{"analysis":{"maxWeight":null,"stepWeight":null,"steps":[{"weight":10},{"weight":20,"gate":true}]}}}' application/merge-patch+json >"$UI_DIR/answer"
    status checkout "{\"conditions\":null,\"step\":{\"revision\":\"85d557f47b\",\"weight\":20,\"since\":\"$(ago 60)\",\"paused\":true},\"paused\":{\"revision\":\"85d557f47b\",\"by\":\"spec.analysis.steps[1].gate\",\"why\":\"a person decides at weight 20\",\"since\":\"$(ago 5)\",\"gate\":true}}"
    browser_click "$(row checkout)//a"
    browser_wait 20 '#one-waits' 'Step 2, weight 20: a person decides (spec.analysis.steps[1].gate); kubectl canary resume checkout -n test lets it go on'
}

@test "queries lead to where people open Prometheus and Grafana" {
    restart --ui --ui-prometheus-url https://prometheus.shop.example/prom/ --ui-grafana-url https://grafana.shop.example
    canary checkout
    in_analysis checkout 20
    browser_open "$DAEMON_URL/ui/#/test/checkout"
    browser_wait 20 '#checks-list' request-duration
    browser_click '#checks-list li:first-child summary'
    browser_wait 5 '#checks-list li:first-child' 'Explore in Grafana'
    browser_js 'return [...document.querySelectorAll("#checks-list li:first-child a")].map((a) => a.href)' >"$BATS_TEST_TMPDIR/links"
    gojq -e '.[0] | startswith("https://prometheus.shop.example/prom/graph?g0.tab=0&g0.expr=")' "$BATS_TEST_TMPDIR/links"
    browser_js 'return JSON.parse(new URL(document.querySelectorAll("#checks-list li:first-child a")[1].href).searchParams.get("left"))' |
        gojq -e '.queries[0].refId == "A" and (.queries[0].expr | test("http_request_duration_seconds_count")) and .range.from == "now-1h"'
    gojq -e '.[1] | startswith("https://grafana.shop.example/explore?left=")' "$BATS_TEST_TMPDIR/links"
}

@test "the canary beside the primary: counts, evidence and the sentence of each metric, and of a release that has ended its counts" {
    canary checkout '{"judge":{"type":"sequential"}}'
    in_analysis checkout 20
    browser_open "$DAEMON_URL/ui/#/test/checkout"
    browser_wait 20 '#split' '20 % canary'
    [ "$(browser_js 'return document.querySelector("#judge").hidden')" = true ]
    judged checkout 'canary 14 of 708 requests failed (2.0 %) <b>&amp;</b>'
    browser_wait 20 '#judge-list' 'The canary is not known yet'
    browser_wait 5 '#judge-list' '14 of 708 (2 %)'
    browser_wait 5 '#judge-list' '31 of 6,370 (0.49 %)'
    browser_wait 5 '#judge-list' 'canary 14 of 708 requests failed (2.0 %) <b>&amp;</b>'
    browser_wait 5 '#judge-list li:last-child' 'The canary is not worse'
    [ "$(browser_js 'return document.querySelectorAll("#judge-list li:last-child .evidence .meter").length')" = 2 ]
    browser_js 'return document.querySelector("#judge-list li:last-child .evidence").innerText' | grep -q '100 %'
    answers 200 GET /ui/api/canaries/test/checkout
    gojq -e '.judged[0] | .canary == [708, 14] and .primary == [6370, 31] and .verdict == "undecided" and .worse > 0 and .worse < 1 and .notWorse == 0' "$BATS_TEST_TMPDIR/body"
    # A number that is compared has its values in place of counts.
    status checkout '{"judge":{"metrics":[{"name":"memory","says":"2,120 against 1,800 of the primary","evidence":{"lower":false,"looks":13,"comparisons":2,"beyond":2,"block":6,
        "noise":[3],"last":[2120,1800],"compared":[320,1800,180],"learned":[],"canary":[2120],"primary":[1800],"recent":[320,320],"won":[0.3,0.1,0,-2]}}]}}'
    browser_wait 20 '#judge-list' '2,120 against 1,800 of the primary'
    browser_wait 5 '#judge-list' Value
    browser_wait 5 '#judge-list' '1,800'
    [ "$(browser_js 'return document.querySelectorAll("#judge-list .evidence .meter").length')" = 1 ]
    answers 200 GET /ui/api/canaries/test/checkout
    gojq -e '.judged[0] | .numbers == [2120, 1800] and .verdict == "undecided" and .worse > 0 and .worse < 1 and (has("canary") or has("notWorse") | not)' "$BATS_TEST_TMPDIR/body"
    # One beside the last days has the least and the most of them.
    status checkout '{"judge":{"metrics":[{"name":"errors","says":"2,120 against 1,780 to 1,810 at the same time of the last 7 days","evidence":{"lower":false,"today":[16,2120,3,0,0],
        "days":[[16,1780,3,0,0],[16,1785,3,0,0],[16,1790,3,0,0],[16,1795,3,0,0],[16,1800,3,0,0],[16,1805,3,0,0],[16,1810,3,0,0]],
        "comparisons":1,"earlier":325,"counted":7,"lasts":true,"positive":false,"compared":[2120,1780,1810,1975,60,0,0]}}]}}'
    browser_wait 20 '#judge-list' '1,780 to 1,810'
    answers 200 GET /ui/api/canaries/test/checkout
    gojq -e '.judged[0] | .past == [2120, 1780, 1810] and .verdict == "undecided" and .worse > 0 and .worse < 1 and (has("canary") or has("numbers") | not)' "$BATS_TEST_TMPDIR/body"
    rolled_back checkout
    status checkout '{"judge":null}'
    browser_wait 20 '#one-state' Failed
    browser_gone 5 '//ul[@id="judge-list"]/li'
    status checkout "$(gojq -nc --arg at "$(ago 60)" '{history: [{revision: "6c7d8e9f0a", began: $at, ended: $at, outcome: "failed",
        reason: "The canary is worse than the primary: request-success-rate: canary 14 of 708 requests failed (2.0 %), rolled back after 12 s",
        steps: [{at: $at, weight: 10}, {at: $at, weight: 0, checks: [{name: "request-success-rate", counts: [708, 14, 6370, 31]}]}]}]}')"
    browser_wait 20 '#judge-list' '14 of 708 (2 %)'
    browser_wait 5 '#judge-of' 'of the last release'
    browser_wait 5 '#one-waits' 'rolled back after 12 s'
}

@test "what the judge finds with the traffic of the last release, in the words of plan" {
    canary checkout '{"judge":{"type":"sequential"},"metrics":[{"name":"request-success-rate","thresholdRange":{"min":90},"interval":"1m"}]}'
    status checkout "$(gojq -nc --arg at "$(ago 600)" '{phase: "Succeeded", history: [{revision: "6c7d8e9f0a", began: $at, ended: $at, outcome: "promoted",
        looks: [{name: "request-success-rate", bad: "failed", since: $at, counts: [range(1; 31) | [. * 10, 10, 100, 1, 900, 9]]}]}]}')"
    browser_open "$DAEMON_URL/ui/#/test/checkout"
    browser_wait 60 '#promises-list' 'with 100 requests a second of which 1% fail, a canary of which '
    browser_wait 5 '#promises-list' 'request-success-rate'
    answers 200 GET /ui/api/canaries/test/checkout
    gojq -r '.promises[0].text' "$BATS_TEST_TMPDIR/body" | grep -Ex 'request-success-rate: with 100 requests a second of which 1% fail, a canary of which [0-9.]+% fail is rolled back in 9 of 10 releases, in half of them within [0-9ms]+ and [0-9]+ requests to it(, in 9 of 10 within [0-9ms]+ and [0-9]+)?'
    # Another judge, another promise; and none without one.
    api PATCH /apis/flagger.app/v1beta1/namespaces/test/canaries/checkout '{"spec":{"analysis":{"judge":{"tolerate":{"errorRate":"5 %-points"}}}}}' application/merge-patch+json >"$UI_DIR/answer"
    computes() { answers 200 GET /ui/api/canaries/test/checkout && gojq -e '.promises == [{metric: "request-success-rate", computing: true}]' "$BATS_TEST_TMPDIR/body"; }
    eventually 20 computes
    browser_wait 60 '#promises-list' 'is rolled back in 9 of 10 releases'
    api PATCH /apis/flagger.app/v1beta1/namespaces/test/canaries/checkout '{"spec":{"analysis":{"judge":null}}}' application/merge-patch+json >"$UI_DIR/answer"
    browser_gone 20 '//ul[@id="promises-list"]/li'
}

@test "by keyboard alone: to a Canary, and back to where one was" {
    for name in a b c; do canary "$name"; done
    in_analysis b 20
    browser_open "$DAEMON_URL/ui/"
    browser_wait 20 "$(row c)"
    tab_to filter
    browser_keys 'b'
    browser_wait 5 '#filter-count' '1 of 3'
    browser_gone 5 "$(row c)"
    tab_to '#/test/b'
    browser_keys Enter
    browser_wait 20 '#split' '20 % canary'
    browser_keys Escape
    browser_wait 20 "$(row b)"
    [ "$(focused)" = '#/test/b' ]
    browser_keys /
    [ "$(focused)" = filter ]
}

@test "names and answers of others stay text" {
    evil='<img src=x onerror=window.hacked=1>"'"'"'><script>window.hacked=1<!--&lt;b&gt; '$'\u202e''evil'
    canary checkout
    in_analysis checkout 20
    status checkout "$(gojq -nc --arg evil "$evil" --arg at "$(ago 5)" '{phase: "Waiting",
        conditions: [{type: "Approved", status: "False", reason: $evil, message: $evil, lastTransitionTime: $at}],
        requests: [{action: $evil, by: $evil, message: $evil, at: $evil, outcome: "refused"}],
        release: {revision: $evil, image: $evil, began: $at, reason: $evil,
            steps: [{at: $at, weight: 10, checks: [{name: $evil, value: 1, min: 2}]}, {at: $at, weight: 20}],
            hooks: [{name: $evil, type: "confirm-rollout", at: $at, passed: false, said: ("javascript:window.hacked=1 " + $evil)}]},
        history: [{revision: $evil, image: $evil, outcome: $evil, reason: $evil, ended: $at, began: $at,
            requests: [{action: $evil, by: $evil, why: $evil}],
            hooks: [{name: $evil, type: "confirm-rollout", at: $at, passed: true, said: ("Approved by " + $evil)}]}]}')"
    browser_open "$DAEMON_URL/ui/"
    browser_wait 20 "$(row checkout)" '<img src=x'
    browser_open "$DAEMON_URL/ui/#/test/checkout"
    for place in one-waits one-facts checks-list hooks-list conditions-list past-list; do
        browser_wait 20 "#$place" '<img src=x onerror=window.hacked=1>"'"'"'><script>window.hacked=1<!--&lt;b&gt; \u202eevil'
    done
    [ "$(browser_js 'return window.hacked === undefined && document.querySelectorAll("main img, main script").length === 0')" = true ]
    [ "$(browser_js 'return [...document.querySelectorAll("a")].every((a) => /^https?:/.test(a.href))')" = true ]
    browser_size 320 900
    fits_the_width
}

@test "every text has a contrast of at least 4.5 in both themes" {
    canary checkout '{"judge":{"type":"sequential"}}'
    canary search
    canary mail
    in_analysis checkout 40
    judged checkout 'canary 14 of 708 requests failed (2.0 %)'
    rolled_back search
    status mail "{\"phase\":\"WaitingPromotion\"}"
    enough() {
        local found
        found=$(browser_js "$(<"$BATS_TEST_DIRNAME/../lib/contrast.js")")
        gojq -e 'length == 1 and .[0] > 3' <<<"$found" >/dev/null || { echo "$1: $found" && return 1; }
    }
    for theme in light dark; do
        browser_theme "$theme"
        browser_open "$DAEMON_URL/ui/#/"
        browser_wait 20 "$(row checkout)" '40 %'
        browser_wait 20 "$(row mail)" Waiting
        browser_js 'document.querySelector("#stale").hidden = false' >/dev/null
        enough "$theme, all"
        for name in checkout search; do
            browser_open "$DAEMON_URL/ui/#/test/$name"
            browser_wait 20 '#checks-list' request-success-rate
            browser_wait 20 '#one-name' "$name"
            browser_js 'for (const e of document.querySelectorAll("details")) e.open = true' >/dev/null
            enough "$theme, $name"
        done
    done
}

@test "a token is asked for, and forgotten when it is not right any more" {
    printf 'token-of-the-team-1\n' >"$BATS_TEST_TMPDIR/tokens"
    restart --ui-token-file "$BATS_TEST_TMPDIR/tokens"
    canary checkout
    answers 200 GET /ui/
    answers 401 GET /ui/api/canaries
    browser_open "$DAEMON_URL/ui/#/test/checkout"
    browser_wait 20 '#sign-in'
    [ "$(focused)" = token ]
    browser_keys nobody-has-this-one Enter
    browser_wait 10 '#sign-in-error' 'a token of the file of --ui-token-file is wanted'
    browser_keys token-of-the-team-1 Enter
    browser_wait 20 '#one-name' checkout
    [ "$(browser_js 'return localStorage.length + document.cookie.length')" = 0 ]
    browser_click '#sign-out'
    browser_wait 5 '#sign-in'
    browser_gone 5 '#one'
    browser_type '#token' token-of-the-team-1
    browser_keys Enter
    browser_wait 20 '#one-name' checkout
    printf 'token-of-the-team-2\n' >"$BATS_TEST_TMPDIR/tokens"
    browser_wait 60 '#sign-in' # the controller looks at its files every ten seconds
}

@test "it says that it is not connected, and recovers by itself" {
    canary checkout
    in_analysis checkout 20
    browser_open "$DAEMON_URL/ui/"
    browser_wait 20 "$(row checkout)" '20 %'
    browser_js 'window.sameDocument = true' >/dev/null
    kill -KILL "$DAEMON_PID"
    wait "$DAEMON_PID" || true
    browser_wait 30 '#stale' 'Not connected since'
    browser_wait 5 "$(row checkout)" '20 %'
    in_analysis checkout 30
    DAEMON_PORT=${DAEMON_URL##*:} ui_start --ui
    browser_wait 60 "$(row checkout)" '30 %'
    browser_gone 20 '#stale'
    [ "$(browser_js 'return window.sameDocument === true')" = true ]
}

@test "a thousand Canaries come in pages of bounded size, and the list can be used" {
    gojq -nr --arg url "$UI_API/apis/flagger.app/v1beta1/namespaces/test/canaries" 'range(1000) | "next
url = \"\($url)\"
data = \({apiVersion: "flagger.app/v1beta1", kind: "Canary", metadata: {name: "shop-\(.)"}, spec: {targetRef: {apiVersion: "apps/v1",
        kind: "Deployment", name: "shop-\(.)"}, service: {port: 80}, analysis: {interval: "1h", threshold: 1, maxWeight: 50, stepWeight: 10}}} | tojson | tojson)
header = \"Content-Type: application/json\"
header = \"Authorization: Bearer secret-of-the-sandbox\"
output = \"/dev/null\"
fail"' | sed 1d >"$BATS_TEST_TMPDIR/made"
    curl -sS -m 120 -K "$BATS_TEST_TMPDIR/made"
    rolled_back shop-77
    all() { [ "$(curl -s -m 10 "$DAEMON_URL/debug/process" | gojq .memory.kept.canaries.count)" = 1000 ]; }
    eventually 60 all
    next= count=0
    while :; do
        answers 200 GET "/ui/api/canaries?limit=500${next:+&continue=$next}"
        [ "$(wc -c <"$BATS_TEST_TMPDIR/body")" -lt 102400 ]
        part=$(gojq '.canaries | length' "$BATS_TEST_TMPDIR/body")
        [ "$part" -le 100 ]
        count=$((count + part))
        next=$(gojq -r '.continue // empty | @uri' "$BATS_TEST_TMPDIR/body")
        [ -n "$next" ] || break
    done
    [ "$count" = 1000 ]
    browser_open "$DAEMON_URL/ui/"
    browser_wait 60 '#rest-count' 1000
    browser_type '#filter' shop-77
    browser_wait 20 '#filter-count' '11 of 1000'
    browser_click "$(row shop-77)//a"
    browser_wait 20 '#past-list' 'Rolled back'
    rolled_back shop-78
    browser_keys Escape
    browser_wait 60 "$(row shop-77)" Failed
}

# The pictures are in the build's folder, for people to look at; what they show is held by the tests above.
@test "pictures of the list, a release in analysis, one rolled back, in dark and at 320 pixels" {
    mkdir -p "$FLAGGER_BUILD/pictures"
    picture() { browser_screenshot "$FLAGGER_BUILD/pictures/releases-$1.png" && [ -s "$FLAGGER_BUILD/pictures/releases-$1.png" ]; }
    for name in checkout search payment mail; do canary "$name"; done
    canary frontend '{"iterations":10,"maxWeight":null,"stepWeight":null}'
    in_analysis checkout 40
    rolled_back search
    in_analysis payment 50
    status payment "{\"phase\":\"WaitingPromotion\",\"release\":{\"hooks\":[{\"name\":\"approval\",\"type\":\"confirm-promotion\",\"at\":\"$(ago 30)\",\"passed\":false,\"said\":\"Forbidden until somebody approves at https://gate.example/\"}]}}"
    status mail "{\"phase\":\"Succeeded\",\"lastTransitionTime\":\"$(ago 90000)\"}"
    browser_open "$DAEMON_URL/ui/"
    browser_wait 20 "$(row checkout)" '40 %'
    browser_wait 20 "$(row mail)" Succeeded
    picture list
    browser_open "$DAEMON_URL/ui/#/test/checkout"
    browser_wait 20 '#checks-list' request-duration
    picture analysis
    browser_open "$DAEMON_URL/ui/#/test/search"
    browser_wait 20 '#one-waits' 'Failed checks'
    picture rolled-back
    canary judged '{"judge":{"type":"sequential"}}'
    in_analysis judged 20
    judged judged 'canary 14 of 708 requests failed (2.0 %), primary 31 of 6,370 (0.5 %); that is too little to tell whether the canary is worse'
    browser_open "$DAEMON_URL/ui/#/test/judged"
    browser_wait 20 '#judge-list' 'not known yet'
    browser_js 'document.querySelector("#judge").scrollIntoView()' >/dev/null
    picture judged
    browser_theme dark
    browser_open "$DAEMON_URL/ui/#/test/checkout"
    browser_wait 20 '#split' '40 % canary'
    picture dark
    browser_theme light
    browser_size 320 900
    browser_open "$DAEMON_URL/ui/#/test/payment"
    browser_wait 20 '#one-waits' approve
    fits_the_width
    picture 320
    browser_open "$DAEMON_URL/ui/#/test/judged"
    browser_wait 20 '#judge-list' 'not known yet'
    fits_the_width
    browser_js 'document.querySelector("#judge").scrollIntoView()' >/dev/null
    picture 320-judged
    browser_open "$DAEMON_URL/ui/#/"
    browser_wait 20 "$(row payment)"
    fits_the_width
    picture 320-list
}
