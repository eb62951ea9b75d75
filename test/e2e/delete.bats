# Canaries that are deleted in each phase, all on one stage and side by side, each with a client at the gateway and one
# at its Service: no request may fail, neither then nor when the primary has gone.

load ../lib/stage
load ../lib/apps

export APPS_IN=leave

# NAME PHASE: which Canary is deleted in which phase; those that begin with k- use plain Services, d- is a DaemonSet, b-
# the older HTTPRoute.
APPS="initializing Initializing
initialized Initialized
waiting Waiting
progressing Progressing
promotion WaitingPromotion
promoting Promoting
finalising Finalising
succeeded Succeeded
failed Failed
k-initialized Initialized
k-progressing Progressing
k-failed Failed
d-progressing Progressing
d-initialized Initialized
b-promotion WaitingPromotion"
# One more, control, leaves nothing behind that serves (revertOnDeletion: false): the same clients must notice.

names() { awk '{print $1}' <<<"$APPS"; }
phase_of() { awk -v name="$1" '$1 == name {print $2}' <<<"$APPS"; }

canary() { # NAME ANALYSIS
    local provider=gatewayapi:v1
    [[ $1 != k-* ]] || provider=kubernetes
    [[ $1 != b-* ]] || provider=gatewayapi:v1beta1
    cat <<END
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: leave}
spec:
  provider: $provider
  targetRef: {apiVersion: apps/v1, kind: $(kind_of "$1"), name: $1}
  service:
    port: 80
    targetPort: 9898
    hosts: [$1.example.com]
    gatewayRefs: [{name: gateway, namespace: test}]
  revertOnDeletion: $([ "$1" = control ] && echo false || echo true)
  analysis: $2
END
}

# A gate that nobody has opened.
hook() { echo "webhooks: [{name: gate, type: $1, url: \"http://flagger-gate.flagger/gate/check\"}]"; }

analysis_of() { # NAME
    local steps="interval: 1s, stepWeight: 50, maxWeight: 50, threshold: 1000"
    case $1 in
    waiting) echo "{$steps, $(hook confirm-rollout)}" ;;
    progressing | d-progressing) echo "{$steps, $(hook rollout)}" ;;
    promotion | b-promotion) echo "{$steps, $(hook confirm-promotion)}" ;;
    promoting) echo "{$steps, stepWeightPromotion: 1}" ;;
    # The phase lasts an interval: longer than a busy machine takes to find and delete it.
    finalising) echo "{interval: 8s, stepWeight: 50, maxWeight: 50, threshold: 1}" ;;
    failed) echo "{interval: 1s, stepWeight: 50, maxWeight: 50, threshold: 1, $(hook rollout)}" ;;
    k-failed) echo "{interval: 1s, iterations: 2, threshold: 1, $(hook rollout)}" ;;
    k-*) echo "{interval: 1s, iterations: 1000, threshold: 1000}" ;;
    *) echo "{$steps}" ;;
    esac
}

# The Canaries and where they are: NAME PHASE WEIGHT, one a line.
canaries() {
    kubectl -n leave get canaries -o \
        jsonpath='{range .items[*]}{.metadata.name} {.status.phase} {.status.canaryWeight}{"\n"}{end}'
}
all_in() { # PHASE NAME...
    local now phase=$1
    now=$(canaries)
    shift
    for name in "$@"; do grep -q "^$name $phase " <<<"$now" || return 1; done
}

setup_file() {
    stage_begin
    stage_enter
    clients_enter
    kubectl create namespace leave >/dev/null
    {
        for name in $(names) control; do
            case $name in
            # What its owner had before: it is taken over, and given back.
            initializing) workload "$name" 8 && own_service "$name" && own_route "$name" ;;
            k-*) workload "$name" 0 && own_route "$name" ;;
            *) workload "$name" 0 ;;
            esac
        done
    } | kubectl apply -f - >/dev/null
    for name in $(names) control; do [ "$name" = initializing ] || canary "$name" "$(analysis_of "$name")"; done |
        kubectl apply -f - >/dev/null
    # shellcheck disable=SC2046
    eventually 40 all_in Initialized control $(names | grep -v '^initializing$')
    kubectl -n leave rollout status deployment/initializing --timeout=90s >/dev/null
    for name in $(names) control; do eventually 20 answers "$name"; done
    for name in $(names) control; do client "$name" 1 10; done
}

teardown_file() {
    clients_enter
    clients_end || true
    stage_end
}

setup() {
    stage_enter
    clients_enter
}

# Deletes every Canary that has come to its phase; true when all are gone.
delete_those_there() {
    local name phase weight now
    now=$(canaries)
    while read -r name phase weight; do
        [ "$phase" = "$(phase_of "$name")" ] && [ ! -e "$CLIENTS/$name.deleted" ] || continue
        # With traffic on the canary, where it gets any.
        case $name in b-promotion | d-progressing | progressing | promotion | promoting) [ "$weight" -gt 0 ] || continue ;; esac
        kubectl -n leave delete canary "$name" --wait=false >/dev/null
        touch "$CLIENTS/$name.deleted"
    done <<<"$now"
    [ -z "$now" ]
}

@test "every Canary is deleted in its phase, and goes" {
    canary initializing "$(analysis_of initializing)" | kubectl apply -f - >/dev/null
    # Its phase lasts until its pods are ready, which may be less than all that follows takes.
    initializing_deleted() {
        delete_those_there || true
        [ -e "$CLIENTS/initializing.deleted" ]
    }
    eventually 30 initializing_deleted
    kubectl -n leave delete canary control >/dev/null
    for name in $(names | grep -v 'initiali[sz]'); do
        kubectl -n leave set image "$(kind_of "$name")/$name" app=demo-app:2.0.0 >/dev/null
    done
    eventually 120 delete_those_there || { canaries && return 1; }
}

@test "the primaries, their Services and routes went with them" {
    gone() { [ -z "$(kubectl -n leave get deployments,daemonsets,services,replicasets,pods -o name | grep -E -- '-(primary|canary)')" ]; }
    eventually 30 gone
}

@test "the clients had no failed request" {
    clients_end
    clients_judge
}

@test "what the apps have is theirs, and nothing keeps GitOps tools away" {
    kubectl -n leave get services,httproutes -o json |
        gojq -e '[.items[] | select(.metadata.ownerReferences or (.metadata.annotations // {} | keys | any(test("toolkit.fluxcd.io"))))] == []'
    for name in $(names); do
        [ "$(api_look leave services "$name" | gojq -r '.spec.selector.app // ""')" = "$name" ]
    done
    api_look leave httproutes | gojq -e '.items | length == 15'
    api_look leave httproutes | gojq -e 'all(.items[]; .spec.rules == [.spec.rules[0]] and
        [.spec.rules[0].backendRefs[].name] == [.metadata.name])'
    [ "$(api_look leave deployments | gojq '[.items[] | select(.spec.replicas >= 1)] | length')" -eq 13 ]
    api_look leave daemonsets | gojq -e '[.items[].status.numberAvailable] == [1, 1]'
}

@test "kubectl delete waits until the app serves by itself, and the events say so" {
    kubectl -n test delete canary podinfo --timeout=90s
    [ "$(api_look test services podinfo | gojq -r '.spec.selector.app // ""')" = podinfo ]
    serves 1.0.0
    run kubectl -n test get events -o jsonpath='{range .items[*]}{.message}{"\n"}{end}'
    [[ $output == *"Terminating canary podinfo.test"* ]]
    [[ $output == *"Without canary podinfo.test stay Service podinfo, HTTPRoute podinfo; "* ]]
    [[ $output == *"Terminated canary podinfo.test"* ]]
}

@test "in the foreground, Service and route are recreated" {
    workload foreground 0 | kubectl apply -f - >/dev/null
    canary foreground "$(analysis_of initialized)" | kubectl apply -f - >/dev/null
    eventually 20 all_in Initialized foreground
    kubectl -n leave delete canary foreground --cascade=foreground --timeout=90s
    eventually 20 answers foreground
    api_look leave services foreground | gojq -e '.metadata.ownerReferences == null'
}

@test "with the whole app, nothing is left and nothing waits" {
    { canary bundle "$(analysis_of initialized)" && workload bundle 0; } >"$BATS_TEST_TMPDIR/bundle.yaml"
    kubectl apply -f "$BATS_TEST_TMPDIR/bundle.yaml" >/dev/null
    eventually 20 all_in Initialized bundle
    kubectl delete -f "$BATS_TEST_TMPDIR/bundle.yaml" --timeout=90s
    none() { [ -z "$(kubectl -n leave get canaries,deployments,services,httproutes,pods -o name | grep bundle)" ]; }
    eventually 20 none
}

# The same Canary under another name, as when a GitOps tool renames it.
renamed() { # NAME ANALYSIS
    canary "$1" "$2" | sed "s/^metadata: {name: $1,/metadata: {name: $1-new,/"
}
refused() { # NAME
    [ "$(api_look leave canaries "$1-new" |
        gojq -r '.status.conditions[]? | select(.type == "Accepted" and .status == "False").message')" = \
        "spec.targetRef.name: Deployment/$1 is looked after by Canary $1.leave; choose another, or delete one of the two Canaries" ]
}

@test "a Canary that is renamed, at rest and in mid-release, costs no request" {
    clients_enter renamed
    { workload quiet 0 && workload lively 0; } | kubectl apply -f - >/dev/null
    { canary quiet "$(analysis_of initialized)" && canary lively "$(analysis_of progressing)"; } | kubectl apply -f - >/dev/null
    eventually 20 all_in Initialized quiet lively
    for name in quiet lively; do eventually 20 answers "$name"; done
    set_image leave lively app demo-app:2.0.0
    shares() { [[ $(canaries) == *"lively Progressing 50"* ]]; }
    eventually 20 shares
    was=$(kubectl -n leave get deployments quiet-primary lively-primary -o jsonpath='{.items[*].metadata.uid}')
    for name in quiet lively; do client "$name" 1 10; done
    for name in quiet lively; do renamed "$name" "$(analysis_of initialized)" | kubectl apply -f - >/dev/null; done
    for name in quiet lively; do eventually 10 refused "$name"; done
    kubectl -n leave delete canary quiet lively --timeout=90s
    eventually 20 all_in Initialized quiet-new
    eventually 40 all_in Succeeded lively-new
    [ "$(kubectl -n leave get deployments quiet-primary lively-primary -o jsonpath='{.items[*].metadata.uid}')" = "$was" ]
    kubectl -n leave get deployments,services,httproutes -o json | gojq -e '[.items[].metadata |
        select(.name | test("^(quiet|lively)")) | select(.ownerReferences).ownerReferences[].name] | unique == ["lively-new", "quiet-new"]'
    [ "$(api_look leave deployments lively-primary | gojq -r '.spec.template.spec.containers[0].image // ""')" = demo-app:2.0.0 ]
    clients_end
    clients_judge
    kubectl -n leave delete canary quiet-new lively-new --timeout=90s
    for name in quiet lively; do answers "$name"; done
}

@test "with its namespace" {
    workload last 0 | kubectl apply -f - >/dev/null
    canary last "$(analysis_of initialized)" | kubectl apply -f - >/dev/null
    eventually 20 all_in Initialized last
    kubectl delete namespace leave --timeout=90s
}
