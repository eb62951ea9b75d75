# What a tenant writes into a ReleaseRequest, and what strangers ask of the release page.

# Characters that a terminal, a page or a log would obey.
evil() { printf '\033[2J\033]0;x\007<script>window.x=1</script>\342\200\256"'"'"'\\${jndi:ldap://x}\r\nWarning: forged'; }
api() { # METHOD PATH [BODY-FILE]: the status; the body is in $work/answer
    curl -s -m 20 -o "$work/answer" -w '%{http_code}' -X "$1" -H 'Authorization: Bearer secret-of-the-sandbox' \
        ${3+-H 'Content-Type: application/json' --data-binary "@$3"} "$API$2"
}
requests_path=/apis/flagger.app/v1alpha1/namespaces/test/releaserequests
# request ACTION REVISION BY WHY [NAME]: the body, in $work/request
request() {
    gojq -n --arg action "$1" --arg revision "$2" --arg by "$3" --arg why "$4" --arg name "${5:-app}" '{apiVersion: "flagger.app/v1alpha1", kind: "ReleaseRequest",
        metadata: {name: $name, namespace: "test"}, spec: {action: $action, revision: $revision, by: $by, why: $why}}' >"$work/request"
}
canary() { api GET /apis/flagger.app/v1beta1/namespaces/test/canaries/app >/dev/null && cat "$work/answer"; }
phase_is() { [ "$(canary | gojq -r .status.phase)" = "$1" ]; }
refused() { [ "$(canary | gojq '[.status.requests[]? | select(.outcome == "refused")] | length')" -ge "$1" ]; }
alive() { [ "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "$DAEMON_URL/healthz")" = 200 ]; }
# Characters below a blank in what is printed for people, but for line ends.
obeyed() { LC_ALL=C tr -d '\n' | LC_ALL=C grep -cP '[\x00-\x1f\x7f]|\xe2\x80\xae' || true; }

start_cluster() {
    "$build/flagger-sandbox" --no-gateway --no-services --token secret-of-the-sandbox --kubeconfig "$work/kubeconfig" --crds proto/crd >"$work/out" 2>"$work/log" </dev/null &
    sandbox=$!
    on_finish=end_cluster
    eventually 60 grep -q '^ready' "$work/out"
    API=$(sed -n 's/.*api-http=\(\S*\).*/\1/p' "$work/out")
    export KUBECONFIG=$work/kubeconfig HOME=$work
    kubectl create namespace test >/dev/null
    printf '%s\n' 'a-token-of-people-123' >"$work/page-tokens"
    daemon_start "$CONTROLLER" --mesh-provider kubernetes --min-analysis-interval 1s --ui-token-file "$work/page-tokens"
    kubectl apply -f - >/dev/null <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: test}
spec:
  selector: {matchLabels: {app: app}}
  template: {metadata: {labels: {app: app}}, spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 9898}]}]}}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: app, namespace: test}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: app}
  service: {port: 9898}
  analysis: {interval: 1s, threshold: 5, iterations: 3600}
YAML
    eventually 120 phase_is Initialized
    set_image test app app app:2
    eventually 120 phase_is Progressing
}
end_cluster() { kill -TERM "$sandbox" && wait "$sandbox"; }

# Texts that the schema lets through are told as text, everywhere.
try_texts() {
    local good=/nothing revision shown
    revision=$(canary | gojq -r .status.lastAppliedSpec)
    request pause "$revision" "$(evil | head -c 250)" "$(evil)$(evil)$(evil)"
    [ "$(api POST "$requests_path" "$work/request")" = 201 ]
    paused() { [ "$(canary | gojq '.status.paused != null')" = true ]; }
    eventually 60 paused
    shown=$({ "$build/kubectl-canary" get app -n test && "$build/kubectl-canary" why app -n test && "$build/kubectl-canary" history app -n test; } | obeyed)
    [ "$shown" = 0 ] && [ "$(canary | gojq '.status.requests | length')" -ge 1 ] && ! grep -qaP '[\x00-\x09\x0b-\x1f]' "$DAEMON_LOG" && alive && good=ok
    report 'a request with terminal codes and scripts' "$shown lines that a terminal would obey" "$good"
}

# What is no request at all is refused by the schema, and nothing grows.
try_nonsense() {
    local good=/nothing codes='' big
    big=$(head -c 200000 /dev/zero | tr '\0' a)
    request 'delete-everything' x eve '' && codes+="$(api POST "$requests_path" "$work/request") "
    request abort '' eve '' && codes+="$(api POST "$requests_path" "$work/request") "
    gojq -n --rawfile big <(printf %s "$big") '{apiVersion: "flagger.app/v1alpha1", kind: "ReleaseRequest", metadata: {name: "app", namespace: "test"},
        spec: {action: "abort", revision: "x", by: "eve", why: $big}}' >"$work/request"
    codes+="$(api POST "$requests_path" "$work/request") "
    [ "$codes" = '422 422 422 ' ] && alive && good=ok
    report 'requests that are none' "answered $codes" "$good"
}

# Somebody who may ask asks without end: each is refused and deleted, and the status stays small.
try_flood() {
    local good=/nothing i before size
    before=$(rss)
    for i in $(seq 200); do
        request abort "not-this-$i" "$(evil | head -c 250)" "$(evil)$(evil)$(evil)" "$([ $((i % 2)) = 0 ] && echo app || echo "nobody-$i")"
        api POST "$requests_path" "$work/request" >/dev/null
    done
    eventually 60 refused 1
    done_with() { api GET "$requests_path" >/dev/null && [ "$(gojq '[.items[] | select(.metadata.name == "app")] | length' "$work/answer")" = 0 ]; }
    eventually 60 done_with
    size=$(canary | gojq -c .status | wc -c)
    phase_is Progressing && [ "$(canary | gojq '.status.requests | length')" -le 5 ] && [ "$size" -lt 65536 ] && [ "$(peak)" -lt "$MOST_MEMORY" ] && alive && good=ok
    report '200 requests about other revisions and Canaries' "a status of $size bytes, $before -> $(rss) KiB" "$good"
}

page() { curl -s -m 10 -o "$work/body" -w '%{http_code}' "$@" || true; }
try_page() {
    local good=/nothing got='' path
    for path in /ui/api/canaries /ui/api/canaries/test/app; do
        got+="$(page "$DAEMON_URL$path") $(page -H 'Authorization: Bearer wrong-token-123456789' "$DAEMON_URL$path") "
        got+="$(page -H 'Authorization: Bearer a-token-of-people-123' -H 'Sec-Fetch-Site: cross-site' "$DAEMON_URL$path") "
    done
    [ "$got" = '401 401 403 401 401 403 ' ] && good=ok
    report "the release page to a stranger, and to another site's page" "answered $got" "$good"
    good=/nothing got=''
    for path in '/ui/../../etc/passwd' '/ui/%2e%2e/%2e%2e/etc/passwd' '/ui/page.css%00.js' '/ui/api/canaries/test/..' "/ui/api/canaries/$(head -c 6000 /dev/zero | tr '\0' a)/b" '/ui/api/canaries?limit=-1' '/ui/api/canaries?continue=%00'; do
        got+="$(page --path-as-is -H 'Authorization: Bearer a-token-of-people-123' "$DAEMON_URL$path") "
        ! grep -q root: "$work/body" || got+='passwd '
    done
    [[ $got =~ ^(4[0-9][0-9]\ )+$ ]] && alive && good=ok
    report 'paths of the release page that lead elsewhere' "answered $got" "$good"
    good=/nothing
    page -H 'Authorization: Bearer a-token-of-people-123' "$DAEMON_URL/ui/api/canaries/test/app" >"$work/code"
    gojq -e .release "$work/body" >/dev/null && ! grep -q '<script>' <(curl -s "$DAEMON_URL/ui/") && curl -s -o /dev/null -D - "$DAEMON_URL/ui/" | grep -qi "^content-security-policy: default-src 'none'" && good=ok
    report 'scripts in what the page shows' "the page's own policy lets none run" "$good"
}

# What a webhook answers is shown as text: no address in it, of whatever kind, is a link of the page, nor are those of a request.
evil_answer() {
    python3 - "$work" <<'PYTHON' &
import http.server, os, sys
work = sys.argv[1]
class Answer(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        self.rfile.read(int(self.headers.get('Content-Length') or 0))
        text = b'approve at https://evil.example/approve or http://evil.example:8/x, javascript:alert(1), <a href="https://evil.example/">here</a> //evil.example/y'
        self.send_response(403)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Answer)
open(work + '/evil.new', 'w').write(str(server.server_port))
os.rename(work + '/evil.new', work + '/evil')
server.serve_forever()
PYTHON
    evil_pid=$!
    disown
    eventually 10 test -s "$work/evil"
}
try_links() {
    local good=/nothing said led='no browser'
    evil_answer
    kubectl -n test delete releaserequests --all >/dev/null
    request resume "$(canary | gojq -r .status.lastAppliedSpec)" eve 'see https://evil.example/why'
    api POST "$requests_path" "$work/request" >/dev/null
    kubectl -n test patch canary app --type merge -p "{\"spec\":{\"analysis\":{\"threshold\":1000,\"webhooks\":[{\"name\":\"gate\",\"type\":\"rollout\",\"url\":\"http://127.0.0.1:$(cat "$work/evil")/\"}]}}}" >/dev/null
    shown() { page -H 'Authorization: Bearer a-token-of-people-123' "$DAEMON_URL/ui/api/canaries/test/app" >/dev/null && grep -q evil.example/approve "$work/body"; }
    eventually 30 shown || true
    # In the page's own data an address stands in texts only, never in what the page makes links of.
    said=$(gojq '[paths(type == "string" and test("evil.example")) as $p | $p[-1] | strings | select(test("url|href|link|address"; "i"))] | length' "$work/body")
    if command -v chromedriver >/dev/null; then
        . test/lib/browser.bash
        browser_begin
        daemon_stop
        daemon_start "$CONTROLLER" --mesh-provider kubernetes --min-analysis-interval 1s --ui
        browser_open "$DAEMON_URL/ui/#/test/app"
        led='it does not show them'
        ! browser_wait 30 body 'evil.example/approve' || led=$(browser_js 'return [...document.querySelectorAll("a, form, img, iframe, script")].filter((a) => /evil|javascript:/.test((a.href || "") + (a.src || "") + (a.action || ""))).length')
        browser_end 2>/dev/null
    fi
    kill -KILL "$evil_pid"
    shown_text=$(grep -c evil.example/approve "$work/body" || true)
    [ "$said" = 0 ] && [ "$shown_text" -gt 0 ] && [[ $led = 0 || $led = 'no browser' ]] && good=ok
    report "addresses in a webhook's answer, on the release page" "shown as text, $said as addresses in its data, links that lead there: $led" "$good"
}

if [ -x "$build/flagger-sandbox" ] && [ -x "$build/kubectl-canary" ]; then
    start_cluster
    try_texts
    try_nonsense
    try_flood
    try_page
    try_links
    daemon_stop
    end_cluster && on_finish=:
else
    skip 'release requests and the release page' 'flagger-sandbox or kubectl-canary is not built'
fi
