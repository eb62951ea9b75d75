# A/B tests, mirroring, session affinity and steps with times and gates through the gateway, judged by what clients outside received.
#
# Five apps on one stage, each with a Canary of its own, are released at the same time. Each analysis is held by a gate
# of its own name until the test has seen enough: a `rollout` check that fails keeps the step that was made.

APPS="ab mirror affinity back steps"
USERS=25

# A Canary: app NAME, its analysis as JSON
app() {
    sed "s/NAME/$1/g" <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: test, labels: {app: NAME}}
spec:
  replicas: 1
  progressDeadlineSeconds: 60
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      containers:
        - name: app
          image: demo-app:1.0.0
          ports: [{name: http, containerPort: 9898}]
          readinessProbe: {httpGet: {path: /readyz, port: 9898}, periodSeconds: 1}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: NAME, namespace: test}
spec:
  provider: gatewayapi:v1
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}
  service:
    port: 80
    targetPort: 9898
    hosts: [NAME.example.com]
    gatewayRefs: [{name: gateway, namespace: test}]
  analysis: $2
END
}

HOLD='{"name": "hold", "type": "rollout", "url": "http://flagger-gate.flagger/gate/check"}'
BACK='{"name": "back", "type": "rollback", "url": "http://flagger-gate.flagger/rollback/check"}'

apps() {
    app ab '{"interval": "1s", "threshold": 1000, "iterations": 2, "webhooks": ['"$HOLD"'],
        "match": [{"headers": {"x-group": {"exact": "insider"}}},
                  {"headers": {"cookie": {"regex": "^(.*?;)?\\s*(group=insider)(;.*)?$"}}}]}'
    echo ---
    app mirror '{"interval": "1s", "threshold": 1000, "stepWeight": 50, "maxWeight": 50, "mirror": true,
        "webhooks": ['"$HOLD"']}'
    echo ---
    app affinity '{"interval": "2s", "threshold": 1000, "stepWeight": 20, "maxWeight": 60,
        "sessionAffinity": {"cookieName": "on-canary"}}'
    echo ---
    app back '{"interval": "1s", "threshold": 1000, "stepWeight": 40, "maxWeight": 40,
        "sessionAffinity": {"cookieName": "on-canary", "primaryCookieName": "on-primary"},
        "webhooks": ['"$HOLD"', '"$BACK"']}'
    echo ---
    app steps '{"interval": "1s", "threshold": 1000,
        "steps": [{"weight": 5, "for": "6s"}, {"weight": 20, "gate": true}, {"weight": 50, "for": "2s"}],
        "canaryScale": {"matchWeight": true}}'
}

setup_file() {
    load ../lib/stage
    stage_begin
    stage_enter
    apps | kubectl apply -f - >/dev/null
    for name in $APPS; do
        kubectl -n test wait "canary/$name" --for=condition=promoted --timeout=60s
    done
    for name in $APPS; do eventually 10 serves_all "$name" 1.0.0; done
    for name in ab mirror back; do push "$name"; done
}

teardown_file() {
    load ../lib/stage
    stage_end
}

setup() {
    load ../lib/stage
    stage_enter
}

phase_of() { of_canary test "$1" .status.phase; }
is_in() { [ "$(phase_of "$1")" = "$2" ]; }
status_is() { [ "$(of_canary test "$1" ".status.$2")" = "$3" ]; }
push() { set_image test "$1" app demo-app:2.0.0; }
# turn NAME gate|rollback open|close
turn() { curl -sS --fail -d "{\"name\":\"$1\",\"namespace\":\"test\"}" "$DEMO_GATE/$2/$3" >/dev/null; }
tell() { echo "# $*" >&3; }

# ask NAME COUNT [CURL ARGUMENT...]: so many requests; one line with the version for each, "failed CODE" where there was none
ask() {
    local name=$1 count=$2
    shift 2
    curl -s -m 20 -o /dev/null -w '%{http_code} %header{x-demo-version}\n' -H "Host: $name.example.com" "$@" \
        "$DEMO_GATEWAY/?[1-$count]" | sed 's/^200 \(..*\)/\1/; t; s/^/failed /'
}
# "100 2.0.0": how many answers of which version
tally() { sort | uniq -c | sed 's/^ *//' | paste -sd, ; }
count_failed() { cat "$@" | grep -c failed || true; }
# count_not VERSION FILE
count_not() { grep -vcx "$1" "$2" || true; }
serves_all() { [ "$(ask "$1" 5 | tally)" = "5 $2" ]; }
insiders_get() { [ "$(ask ab 5 -H 'x-group: insider' | tally)" = "5 $1" ]; }

# requests NAME: the requests that the canary's pod has answered
requests_of() {
    local address
    address=$(kubectl -n test get pods -l "app=$1" -o jsonpath='{.items[0].status.podIP}')
    curl -s "http://$address:9898/metrics" |
        awk '/^http_request_duration_seconds_count/ && /path="\/"/ {n += $NF} END {print n + 0}'
}
has_answered() { [ "$(requests_of "$1")" -ge "$2" ]; }

@test "A/B: the header decides, always, until the promotion" {
    eventually 30 status_is ab iterations 1
    eventually 10 insiders_get 2.0.0
    insiders=$(ask ab 250 -H 'x-group: insider' | tally)
    others=$(ask ab 125 | tally)
    outsiders=$(ask ab 125 -H 'x-group: outsider' | tally)
    tell "A/B by header: insiders got $insiders; without the header $others; with another value $outsiders"
    [ "$insiders" = "250 2.0.0" ]
    [ "$others" = "125 1.0.0" ]
    [ "$outsiders" = "125 1.0.0" ]
}

@test "A/B: the cookie decides, always; the promotion fails nobody" {
    insiders=$(ask ab 250 -H 'cookie: theme=dark; group=insider' | tally)
    others=$(ask ab 250 -H 'cookie: theme=dark; group=insiders' | tally)
    tell "A/B by cookie: insiders got $insiders; with another cookie $others"
    [ "$insiders" = "250 2.0.0" ]
    [ "$others" = "250 1.0.0" ]
    turn ab gate open
    : >"$BATS_TEST_TMPDIR/insiders" && : >"$BATS_TEST_TMPDIR/others"
    until is_in ab Succeeded; do
        ask ab 10 -H 'cookie: group=insider' >>"$BATS_TEST_TMPDIR/insiders"
        ask ab 10 >>"$BATS_TEST_TMPDIR/others"
    done
    tell "A/B through the promotion: insiders got $(tally <"$BATS_TEST_TMPDIR/insiders"); others $(tally <"$BATS_TEST_TMPDIR/others")"
    [ "$(count_not 2.0.0 "$BATS_TEST_TMPDIR/insiders")" -eq 0 ]
    [ "$(count_failed "$BATS_TEST_TMPDIR/others")" -eq 0 ]
    [ "$(ask ab 50 | tally)" = "50 2.0.0" ]
}

@test "mirroring: the canary gets a copy of each request, no client gets its answer" {
    eventually 30 is_in mirror Progressing
    mirrors() { before=$(requests_of mirror) && ask mirror 1 >/dev/null && eventually 2 has_answered mirror $((before + 1)); }
    eventually 20 mirrors
    before=$(requests_of mirror)
    got=$(ask mirror 500 | tally)
    eventually 10 has_answered mirror $((before + 500)) || true
    copies=$(($(requests_of mirror) - before))
    tell "mirroring: 500 requests, clients got $got, the canary got $copies copies"
    [ "$got" = "500 1.0.0" ]
    [ "$copies" -eq 500 ]
    turn mirror gate open
    : >"$BATS_TEST_TMPDIR/all"
    until is_in mirror Succeeded; do ask mirror 20 >>"$BATS_TEST_TMPDIR/all"; done
    tell "mirroring, then 50 % and the promotion: $(tally <"$BATS_TEST_TMPDIR/all")"
    [ "$(count_failed "$BATS_TEST_TMPDIR/all")" -eq 0 ]
    [ "$(ask mirror 50 | tally)" = "50 2.0.0" ]
}

# user NUMBER NAME: five requests of one user, who keeps cookies
user() { ask "$2" 5 -b "$BATS_FILE_TMPDIR/$2-jar-$1" -c "$BATS_FILE_TMPDIR/$2-jar-$1" >>"$BATS_FILE_TMPDIR/$2-user-$1"; }
# users NAME: all of them
users() { for i in $(seq $USERS); do user "$i" "$1"; done; }
# Users that got version 1 after version 2; and who has got version 2 at all
went_back() { awk 'FNR == 1 {two = 0} /^2/ {two = 1} /^1/ && two {print FILENAME; nextfile}' "$BATS_FILE_TMPDIR/$1-user-"* | wc -l; }
on_canary() { grep -l '^2' "$BATS_FILE_TMPDIR/$1-user-"* | wc -l; }
changed_sides() { for f in "$BATS_FILE_TMPDIR/$1-user-"*; do uniq "$f" | sed 1d; done | wc -l; }
# Users whose jar holds a cookie of the canary
bound() { grep -l on-canary "$BATS_FILE_TMPDIR/$1-jar-"* | wc -l; }
interval() { api_merge test canaries "$1" "{\"spec\":{\"analysis\":{\"interval\":\"$2\"}}}"; }
gives_primary_cookie_for() {
    curl -s -o /dev/null -D - -H 'Host: back.example.com' "$DEMO_GATEWAY/" | grep -qi "^set-cookie: on-primary=.*Max-Age=$1\>"
}
answers() { cat "$BATS_FILE_TMPDIR/$1-user-"* | tally; }

@test "session affinity: who has got version 2 never goes back" {
    users affinity
    push affinity
    until is_in affinity Succeeded; do
        users affinity
        reached="$reached $(api_look test canaries affinity | gojq -r '.status.canaryWeight // ""'):$(on_canary affinity)"
    done
    users affinity
    all=$(cat "$BATS_FILE_TMPDIR/affinity-user-"* | wc -l)
    tell "session affinity: $all requests of $USERS users ($(answers affinity)); weight:users on version 2$reached; went back: $(went_back affinity)"
    [ "$all" -ge 500 ]
    [ "$(went_back affinity)" -eq 0 ]
    [ "$(on_canary affinity)" -eq "$USERS" ]
    [ "$(count_failed "$BATS_FILE_TMPDIR/affinity-user-"*)" -eq 0 ]
}

@test "session affinity: both sides keep their users; a rollback gives all version 1 and takes the cookie back" {
    eventually 30 status_is back canaryWeight 40
    # The primary's cookie lasts one interval.
    interval back 60s
    eventually 10 gives_primary_cookie_for 60
    for _ in 1 2 3 4; do users back; done
    moved=$(on_canary back)
    tell "session affinity on both sides, at 40 %: $((USERS * 20)) requests ($(answers back)), $moved of $USERS users on version 2, changed sides: $(changed_sides back)"
    [ "$(changed_sides back)" -eq 0 ]
    [ "$moved" -gt 0 ]
    [ "$moved" -lt "$USERS" ]
    [ "$(bound back)" -eq "$moved" ]
    interval back 1s
    turn back rollback open
    eventually 20 is_in back Failed
    eventually 5 serves_all back 1.0.0
    rm "$BATS_FILE_TMPDIR/back-user-"*
    users back
    tell "session affinity, rolled back: $(answers back), cookies left: $(bound back)"
    [ "$(answers back)" = "$((USERS * 5)) 1.0.0" ]
    [ "$(bound back)" -eq 0 ]
}

# while_weight WEIGHT FILE: requests until the canary has another one
while_weight() {
    while status_is steps canaryWeight "$1"; do ask steps 100 >>"$2"; done
}

primary_has() { [ "$(api_look test deployments steps-primary | gojq -r '.status.readyReplicas // ""')" = "$1" ]; }
# note_pods FILE: a line when the canary's pods or share have changed, until the release has ended
note_pods() {
    local line last=
    until is_in steps Succeeded; do
        line="$(api_look test deployments steps | gojq -r '.status.readyReplicas // ""') pods at $(of_canary test steps .status.canaryWeight) %"
        [ "$line" = "$last" ] || echo "$line" >>"$1"
        last=$line
    done
}

@test "steps: each has its share for its time with the pods for it, and a gate holds until a person resumes" {
    kubectl -n test scale deployment steps-primary --replicas 4 >/dev/null
    eventually 20 primary_has 4
    push steps
    note_pods "$BATS_TEST_TMPDIR/pods" &
    local noting=$!
    eventually 30 status_is steps canaryWeight 5
    began=$SECONDS
    while_weight 5 "$BATS_TEST_TMPDIR/five"
    lasted=$((SECONDS - began))
    eventually 20 status_is steps paused.by 'spec.analysis.steps[1].gate'
    eventually 5 status_is steps canaryWeight 20
    ask steps 1000 >"$BATS_TEST_TMPDIR/twenty"
    sleep 3
    status_is steps canaryWeight 20
    run -0 "$FLAGGER_BUILD/kubectl-canary" why steps -n test
    [[ $output == *'steps has come to spec.analysis.steps[1].gate'* ]]
    "$FLAGGER_BUILD/kubectl-canary" resume steps -n test >/dev/null
    : >"$BATS_TEST_TMPDIR/rest"
    until is_in steps Succeeded; do ask steps 20 >>"$BATS_TEST_TMPDIR/rest"; done
    tell "steps: 5 % for $lasted s ($(tally <"$BATS_TEST_TMPDIR/five")), 20 % ($(tally <"$BATS_TEST_TMPDIR/twenty")), then $(tally <"$BATS_TEST_TMPDIR/rest")"
    [ "$lasted" -ge 5 ]
    [ "$(count_failed "$BATS_TEST_TMPDIR/"{five,twenty,rest})" -eq 0 ]
    two=$(grep -cx 2.0.0 "$BATS_TEST_TMPDIR/twenty")
    [ "$two" -ge 150 ] && [ "$two" -le 250 ]
    [ "$(ask steps 50 | tally)" = "50 2.0.0" ]
    wait "$noting"
    tell "steps, the canary's pods: $(paste -sd, "$BATS_TEST_TMPDIR/pods")"
    grep -qx '1 pods at 5 %' "$BATS_TEST_TMPDIR/pods"
    grep -qx '1 pods at 20 %' "$BATS_TEST_TMPDIR/pods"
    grep -qx '2 pods at 50 %' "$BATS_TEST_TMPDIR/pods"
    ! grep -E '^[34] pods|^1 pods at 50' "$BATS_TEST_TMPDIR/pods"
    [ "$(api_look test deployments steps-primary | gojq -r '.spec.replicas // ""')" = 4 ]
    [ -z "$(of_canary test steps .status.paused)$(of_canary test steps .status.step)" ]
}
