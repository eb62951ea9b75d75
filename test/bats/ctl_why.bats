# kubectl canary why: causes are made for real, by chance beside each other, and the sentence names each (test/why); a mesh that refuses.

bats_require_minimum_version 1.5.0

setup() {
    load ../lib/sandbox
    WHY=$FLAGGER_BUILD/kubectl-canary
}

@test "each cause that is made is named" {
    "$BATS_TEST_DIRNAME/../why/run" >"$BATS_TEST_TMPDIR/said" || { grep -v '^ok' "$BATS_TEST_TMPDIR/said" && return 1; }
    sed 's/^/# /' "$BATS_TEST_TMPDIR/said" >&3
}

says() { # NAME SITUATION TEXT NEXT
    "$WHY" why "$1" -n test >"$BATS_TEST_TMPDIR/why" && grep -qE -- "$3" "$BATS_TEST_TMPDIR/why" && grep -qE -- "^  $4" "$BATS_TEST_TMPDIR/why" &&
        [ "$("$WHY" why "$1" -n test -o json | gojq -r .situation)" = "$2" ]
}
phase_is() { [ "$(of_canary test "$1" .status.phase)" = "$2" ]; }

teardown() {
    [ -n "${DIR:-}" ] || return 0
    daemon_stop
    sandbox_end
    rm -rf "$DIR"
}

@test "the mesh has not accepted its routes" {
    sandbox_begin "$(mktemp -d /tmp/flagger-why.XXXXXX)" --no-services
    kubectl create namespace test
    kubectl apply -f "$BATS_TEST_DIRNAME/../sandbox/crd" >/dev/null
    daemon_start "$FLAGGER_BUILD/flagger-controller" --mesh-provider kubernetes --min-analysis-interval 1s
    kubectl apply -f - <<'YAML' >/dev/null
apiVersion: apps/v1
kind: Deployment
metadata: {name: meshed, namespace: test}
spec:
  replicas: 1
  selector: {matchLabels: {app: meshed}}
  template:
    metadata: {labels: {app: meshed}}
    spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 9898}]}]}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: meshed, namespace: test}
spec:
  provider: gatewayapi:v1
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: meshed}
  service: {port: 9898, hosts: [meshed.example.com], gatewayRefs: [{name: gw, namespace: test}]}
  analysis: {interval: 5s, threshold: 100, stepWeight: 2, maxWeight: 50}
YAML
    # Nobody serves routes here: the test is the mesh, and says no.
    eventually 60 kubectl -n test get httproute meshed
    set_image test meshed app app:2
    eventually 60 phase_is meshed Progressing
    refuse() {
        api_look test httproutes meshed | gojq '{apiVersion, kind, metadata, status: {parents: [{parentRef: .spec.parentRefs[0], controllerName: "test/mesh",
            conditions: [{type: "Accepted", status: "False", observedGeneration: .metadata.generation, reason: "NotAllowedByListeners", message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}]}}' >"$BATS_TEST_TMPDIR/route"
        kubectl replace --raw /apis/gateway.networking.k8s.io/v1/namespaces/test/httproutes/meshed/status -f "$BATS_TEST_TMPDIR/route" >/dev/null
        says "$@"
    }
    # The controller writes the route at each step: a refusal that comes too late is sent again, before the next one.
    eventually 90 refuse meshed routes-pending 'The mesh has not accepted the routes of meshed, for [0-9a-z]+: HTTPRoute meshed.test parent gw is not ready' 'kubectl -n test describe canary meshed'
}

# Of Canaries, and of ReleasePlans.
situations_of_code() {
    local why=$BATS_TEST_DIRNAME/../../controller/ctl/why
    find "$why" -name '*.c' ! -name '*_test.c' -exec grep -ohE '^ *(const struct why_situation why_[a-z]+\[\] = )?\{"[a-z-]+",|\{"[a-z-]+", [a-z_]+\}' {} + |
        grep -oE '"[a-z-]+"'
    grep -ohE '"plan-[a-z-]+"' "$why/release_plan.c"
}

# What needs a mesh, other pods of its labels, traffic that is judged, or a fault of the controller itself; rows of
# controller/ctl/why/situations.yaml say their sentences.
not_played='back-in-steps judge-undecided judged-worse labels-shared no-requests not-begun primary-unserved primary-waits right-missing
    route-contested route-replaced route-unfit routes-pending share-waits side-waits stalled too-long unschedulable'

@test "each situation of a Canary is played, or listed here" {
    local played
    played=$(gojq --yaml-input -r '.[].is' "$BATS_TEST_DIRNAME/../why/situations.yaml" | sort -u)
    # shellcheck disable=SC2086
    diff <(situations_of_code | tr -d '"' | grep -v '^plan-' | sort -u) <(printf '%s\n' $played $not_played | sort -u)
}

@test "the tables of situations are in the manual" {
    skip_unless() { [ -e "$1" ] || skip "no $1"; }
    skip_unless "$BATS_TEST_DIRNAME/../../deploy/manual/ctl.md"
    [ "$(sed -n '/^| situation/,/^$/s/^| `\([a-z-]*\)` .*/\1/p' "$BATS_TEST_DIRNAME/../../deploy/manual/ctl.md" | sort)" = \
        "$(situations_of_code | tr -d '"' | sort -u)" ]
}
