# One release, many clusters: a management cluster, members with an app, real clients and a controller each, and the daemon of the
# fleet. test/e2e/fleet runs the whole of it, with eight members; three are enough for CI.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/members
    fleet_begin "$(mktemp -d /tmp/flagger-fleet.XXXXXX)"
    if [ -n "${FLEET_WHOLE:-}" ]; then
        FIRST='a' SECOND='b c' REST='d e f g h'
    else
        FIRST='a' SECOND='b' REST='c'
    fi
    ALL="$FIRST $SECOND $REST"
    export FIRST SECOND REST ALL MEMBER_INTERVAL=1s MEMBER_STEP=50
    # shellcheck disable=SC2046
    members_begin $(printf '%s:wave=1 ' $FIRST) $(printf '%s:wave=2 ' $SECOND) $(printf '%s:wave=3 ' $REST)
    for name in $ALL; do clients_begin "$name"; done
    kubectl apply -f - <<'YAML'
apiVersion: flagger.app/v1alpha1
kind: ReleasePlan
metadata: {name: shop, namespace: default}
spec:
  canaries: {namespace: test, selector: {matchLabels: {app: podinfo}}}
  destination: {fleet: all}
  waves:
  - {name: first, clusterSelector: {matchLabels: {wave: "1"}}, soak: 1s}
  - {name: second, clusterSelector: {matchLabels: {wave: "2"}}}
  - {name: rest, maxConcurrent: 2}
YAML
    manager_begin
}

teardown_file() {
    load ../lib/members
    fleet_end
    rm -rf "$FLEET"
}

# Whatever the test before has left: every member is reached, and the daemon runs.
setup() {
    load ../lib/members
    local name
    for name in $ALL; do
        link_back "$name"
        [ -e "$FLEET/controller.$name.pid" ] || controller_begin "$name"
    done
    [ -e "$FLEET/manager.pid" ] || manager_begin
}

manager_begin() { # [NAME OPTION...]
    fleet_run "${1:-manager}" "$FLAGGER_BUILD/flagger-controller" fleet --allow-namespaces default:test --kubeconfig "$FLEET/management" --address 127.0.0.1 --port 0 "${@:2}"
}
manager_kill() { fleet_stop manager KILL; }

plan() { api_get apis/flagger.app/v1alpha1/namespaces/default/releaseplans/shop | gojq -r "$1"; }
plan_is() { [ "$(plan .status.phase)" = "$1" ]; }
plan_says() {
    local message
    message=$(plan .status.message)
    [[ $message =~ $1 ]] || { echo "the plan says: $message" && return 1; }
}
row_says() { plan ".status.clusters[] | select(.name == \"$1\").says" | grep -q "$2"; }
deliver() { # VERSION: everywhere, at once
    local name
    for name in $ALL; do member_release "$name" "$1"; done
}
promoted_everywhere() { # VERSION
    local name
    for name in $ALL; do member_promoted "$name" "$1" || return 1; done
}
# The primary has it, and no release is under way.
member_promoted() {
    [ "$(KUBECONFIG=$FLEET/member.$1 api_get apis/apps/v1/namespaces/test/deployments/podinfo-primary | gojq -r '.spec.template.spec.containers[0].image')" = "demo-app:$2" ] &&
        [[ $(member_phase "$1") =~ ^(Succeeded|Initialized)$ ]]
}
complete() { promoted_everywhere "$1" && plan_is Completed && held_behind_the_first; }
held_behind_the_first() {
    local name
    for name in $SECOND $REST; do member_held "$name" default/shop || return 1; done
}
begun() { [ "$(member_phase "$1")" = Progressing ]; }
# No client has seen a failure, but for those of versions that were meant to fail.
no_client_failed() {
    local name failed
    for name in $ALL; do
        failed=$(grep -vE '^200 |^500 3.0.0$' "$FLEET/clients.$name.out" | sort | uniq -c)
        [ -z "$failed" ] || { echo "clients of $name: $failed" && return 1; }
    done
}

@test "at rest every Canary behind the first wave is held" {
    eventually 60 held_behind_the_first
    refute member_held a default/shop
    eventually 30 plan_is Completed
}

@test "a good version goes from wave to wave" {
    deliver 2.0.0
    eventually 30 begun a
    for name in $SECOND $REST; do [ "$(clients_count "$name" ' 2.0.0$')" -eq 0 ]; done
    eventually 240 complete 2.0.0
    no_client_failed
}

@test "a bad version stops in the first wave, and nobody else meets it" {
    local name began=$SECONDS
    deliver 3.0.0-errors100 # each request: a check may have seen one alone
    eventually 90 plan_is Stopped
    plan_says 'revision .* of test/podinfo has failed on cluster a; all later waves are held'
    echo "# stopped after $((SECONDS - began)) s: $(plan .status.message)" >&3
    sleep 3 # long enough for whoever would begin now
    for name in $ALL; do
        echo "# $name: $(clients_count "$name" ' 3.0.0$') requests met it, of $(clients_count "$name")" >&3
        [ "$name" = a ] || [ "$(clients_count "$name" ' 3.0.0$')" -eq 0 ]
        [ "$name" = a ] || member_held "$name" default/shop
    done
    [ "$(clients_count a ' 3.0.0$')" -gt 0 ]
    no_client_failed
}

@test "another version lets it go on, also when a cluster is cut off in mid-wave" {
    local away=${SECOND##* } began
    sleep 10 # what a check counts: the failures of 3.0.0 are none of 4.0.0's
    deliver 4.0.0
    eventually 60 begun a
    link_cut "$away"
    eventually 120 row_says "$away" 'cannot be reached'
    for name in $REST; do [ "$(clients_count "$name" ' 4.0.0$')" -eq 0 ]; done
    eventually 30 plan_is Releasing
    link_back "$away"
    began=$SECONDS
    eventually 240 complete 4.0.0
    echo "# complete $((SECONDS - began)) s after it was back" >&3
    no_client_failed
}

# --- the whole

# fault WHAT HURT HEAL: in the middle of the second wave of another version; prints a row
fault() {
    local what=$1 hurt=$2 heal=$3 began says
    version=$((version + 1))
    deliver "$version.0.0"
    eventually 120 begun b
    $hurt
    sleep 8
    says=$(plan '.status.phase + ": " + .status.message' | cut -c 1-200)
    $heal
    began=$SECONDS
    eventually 300 complete "$version.0.0"
    echo "# | $what | $says | $((SECONDS - began)) s |" >&3
    no_client_failed
}

# sandbox NAME METHOD PATH [BODY]: below /sandbox of a member's API, or of the management cluster's
sandbox() {
    local kubeconfig=$FLEET/member.$1
    [ "$1" != management ] || kubeconfig=$FLEET/management
    curl -sS --fail-with-body -X "$2" -H "Authorization: Bearer $(gojq --yaml-input -r '.users[0].user.token' "$kubeconfig")" \
        ${4+-d "$4"} "$(member_api "$1")/sandbox/$3"
}
nothing() { :; }
api_away() { sandbox b POST faults '{"faults":[{"drop":true,"count":1000000}]}' >/dev/null && sandbox b POST cut '{}' >/dev/null; }
api_back() { sandbox b DELETE faults >/dev/null; }
replicas=(--enable-leader-election --leader-election-namespace default)
leader_dies() { # of two, of which the other one stands by
    fleet_stop manager
    manager_begin manager "${replicas[@]}"
    eventually 30 kubectl get lease flagger-fleet-leader
    manager_begin standby "${replicas[@]}"
    eventually 10 grep -q '"event":"started"' "$FLEET/standby.log"
    manager_kill
}
standby_ends() { fleet_stop standby && manager_begin; }
rotate() { # another address of b, and the old one is gone
    link_cut b
    kubectl delete secret b >/dev/null
    member_secret b wave=2
}

@test "each fault in the middle of a wave is waited for, and the plan goes on by itself" {
    [ -n "${FLEET_WHOLE:-}" ] || skip 'a part of test/e2e/fleet'
    version=10
    echo '# | fault | what the plan said after 8 s | complete after |' >&3
    fault 'none' nothing nothing
    fault 'a member cut off: connections are refused' 'link_cut b' 'link_back b'
    fault 'a member hangs: connections are silent' 'link_hang b' 'link_back b'
    fault "a member's API server is away, for its controller as well" api_away api_back
    fault "the member's controller is killed" 'controller_kill b' 'controller_begin b'
    fault 'the daemon is killed for 10 s' manager_kill manager_begin
    fault 'two daemons, and the one that leads is killed' leader_dies nothing
    standby_ends
    fault 'the kubeconfig is rotated, and the old address is gone' rotate nothing
}

# writes: how many the daemon has made everywhere, but for the Leases and events with which it begins; one curl asks all
writes() {
    local name
    [ -e "$FLEET/ask" ] || for name in management $ALL; do
        [ "$name" = management ] || echo next
        gojq --yaml-input -r --arg url "$(member_api "$name")/sandbox/stats" '"url = \($url)", "silent", "header = \"Authorization: Bearer \(.users[0].user.token)\""' \
            "$FLEET/$([ "$name" = management ] || echo member.)$name"
    done >"$FLEET/ask"
    curl -K "$FLEET/ask" | gojq -n '[inputs.counts[] | select(.agent == "flagger-fleet" and (.resource | test("^(leases|events)") | not) and (.verb | IN("patch", "update", "create"))).count] | add // 0'
}
more_writes() { [ "$(writes)" -gt "$1" ]; }

@test "the daemon is killed whenever it has written, and the release ends as if nobody had" {
    [ -n "${FLEET_WHOLE:-}" ] || skip 'a part of test/e2e/fleet'
    local kills=0 version=29 before deadline=$((SECONDS + 600))
    # A quick machine has written more than one thing until it is seen; each single write is for flagger-crash-fleet.
    while [ "$kills" -le 20 ]; do
        version=$((version + 1))
        deliver "$version.0.0"
        until complete "$version.0.0"; do
            [ "$SECONDS" -lt "$deadline" ] || { plan .status && return 1; }
            before=$(writes)
            [ -e "$FLEET/manager.pid" ] || manager_begin
            # When it has nothing to write for a while, members are at work.
            eventually 5 more_writes "$before" >/dev/null || continue
            manager_kill
            kills=$((kills + 1))
        done
    done
    [ -e "$FLEET/manager.pid" ] || manager_begin
    echo "# killed $kills times in $((version - 29)) releases" >&3
    no_client_failed
}
