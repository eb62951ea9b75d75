# A cluster that was released by Flagger, or by this controller before it kept all labels of a selector, changes to this
# one: at rest, with clients that send all the time, for targets of one and of three labels. No release begins, no pod is
# recreated, no request fails. Then primaries of one label are recreated on request, and no request fails either.
#
# What Flagger leaves (1.44, as its test/golden/recordings show): one label in the selectors of the primary and of the
# Services, a random flagger-id, a hash of its own and no field of ours in the status. What this one left before: the same
# selectors beside all fields of ours. $FLAGGER_BEFORE may name the flagger-controller of another version, which makes them then.

bats_require_minimum_version 1.5.0

ORIGINS='flagger before'
PROVIDERS='kubernetes gatewayapi-v1 gatewayapi-v1beta1'
LABELS='1 3'

# rows: ORIGIN PROVIDER LABELS of each app, whose name is made of them
rows() {
    local origin provider labels
    for origin in $ORIGINS; do
        for provider in $PROVIDERS; do
            for labels in $LABELS; do echo "$origin $provider $labels"; done
        done
    done
}
name_of() { echo "$1-${2/gatewayapi-/gw-}-$3"; }
names() { while read -r origin provider labels; do name_of "$origin" "$provider" "$labels"; done < <(rows); }

# labels_of NAME LABELS SUFFIX: of the pods of one side. Apps share all but the last, as those of a product do.
labels_of() {
    case $2 in
    1) echo "{app.kubernetes.io/name: $1$3}" ;;
    *) echo "{app.kubernetes.io/name: shop$3, tier: web, part: $1}" ;;
    esac
}
one_label() {
    case $2 in
    1) echo "{app.kubernetes.io/name: $1$3}" ;;
    *) echo "{app.kubernetes.io/name: shop$3}" ;;
    esac
}

# workload NAME LABELS SELECTOR REPLICAS METADATA ID: a Deployment
workload() {
    cat <<YAML
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: test, $5}
spec:
  replicas: $4
  selector: {matchLabels: $3}
  template:
    metadata: {labels: $2${6:+, annotations: {flagger-id: $6\}}}
    spec: {containers: [{name: app, image: 'demo-app:1.0.0', ports: [{name: http, containerPort: 9898}]}]}
YAML
}
canary() { # NAME PROVIDER
    local steps='stepWeight: 50, maxWeight: 50'
    [ "$2" != kubernetes ] || steps='iterations: 2'
    cat <<YAML
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: test}
spec:
  provider: ${2/-/:}
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}
  service: {port: 80, targetPort: 9898, hosts: [$1.example.com], gatewayRefs: [{name: gateway, namespace: infra}]}
  analysis: {interval: 2s, threshold: 3, $steps}
YAML
}
service() { # NAME METADATA SELECTOR
    cat <<YAML
---
apiVersion: v1
kind: Service
metadata: {name: $1, namespace: test, $2}
spec: {type: ClusterIP, selector: $3, ports: [{name: http, port: 80, protocol: TCP, targetPort: 9898}]}
YAML
}
# left_by_flagger NAME PROVIDER LABELS: all objects of a Canary that is at rest
left_by_flagger() {
    local uid owner notes full one
    uid=$(api_look test canaries "$1" | gojq -r '.metadata.uid // ""')
    owner="ownerReferences: [{apiVersion: flagger.app/v1beta1, blockOwnerDeletion: true, controller: true, kind: Canary, name: $1, uid: $uid}]"
    notes="annotations: {helm.toolkit.fluxcd.io/driftDetection: disabled, kustomize.toolkit.fluxcd.io/reconcile: disabled}"
    full=$(labels_of "$1" "$3" '') one=$(one_label "$1" "$3" '')
    workload "$1" "$full" "$full" 0 "name: $1"
    workload "$1" "$(labels_of "$1" "$3" -primary)" "$(one_label "$1" "$3" -primary)" 2 \
        "name: $1-primary, $owner, labels: {app: $1-primary}, $notes" 6a83ef1c-94c1-4f0c-9d3e-1d6f2a5b7c0d
    service "$1" "$owner, $notes, labels: {app.kubernetes.io/name: $1}" "$(one_label "$1" "$3" -primary)"
    service "$1-primary" "$owner, $notes, labels: {app.kubernetes.io/name: $1-primary}" "$(one_label "$1" "$3" -primary)"
    service "$1-canary" "$owner, $notes, labels: {app.kubernetes.io/name: $1-canary}" "$one"
    [ "$2" != kubernetes ] || return 0
    cat <<YAML
---
apiVersion: gateway.networking.k8s.io/${2#gatewayapi-}
kind: HTTPRoute
metadata: {name: $1, namespace: test, $owner, $notes}
spec:
  hostnames: [$1.example.com]
  parentRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gateway, namespace: infra}]
  rules:
    - matches: [{path: {type: PathPrefix, value: /}}]
      backendRefs:
        - {group: '', kind: Service, name: $1-primary, port: 80, weight: 100}
        - {group: '', kind: Service, name: $1-canary, port: 80, weight: 0}
YAML
}
status_of_flagger() {
    api_merge test canaries "$1/status" '{"status": {"phase": "Succeeded", "canaryWeight": 0,
        "failedChecks": 0, "iterations": 0, "lastAppliedSpec": "6c8d5f9b47", "lastPromotedSpec": "6c8d5f9b47", "trackedConfigs": {},
        "lastTransitionTime": "2026-01-02T03:04:05Z", "conditions": [{"type": "Promoted", "status": "True", "reason": "Succeeded",
        "message": "Canary analysis completed successfully, promotion finished.", "lastUpdateTime": "2026-01-02T03:04:05Z",
        "lastTransitionTime": "2026-01-02T03:04:05Z"}]}}'
}
# of_before NAME LABELS: what the controller has made gets the one label of before
of_before() {
    local one
    one=$(one_label "$1" "$2" -primary)
    api_look test deployments "$1-primary" |
        gojq --argjson one "$(gojq --yaml-input -c . <<<"$one")" '.spec.selector.matchLabels = $one |
            del(.status, .metadata.uid, .metadata.resourceVersion, .metadata.generation, .metadata.creationTimestamp)' >"$DIR/$1.json"
    kubectl replace --force --cascade=background -f "$DIR/$1.json" >/dev/null
    for service in "$1" "$1-primary"; do
        api_look test services "$service" |
            gojq --argjson one "$(gojq --yaml-input -c . <<<"$one")" '.spec.selector = $one' | kubectl replace -f - >/dev/null
    done
}

controller() { daemon_start "${1:-$FLAGGER_BUILD/flagger-controller}" --kubeconfig "$KUBECONFIG" --min-analysis-interval 1s; }
controller_ends() {
    kill -TERM "$DAEMON_PID"
    eventually 30 daemon_gone
}
phase_is() { [ "$(of_canary test "$1" .status.phase)" = "$2" ]; }
available() { [ "$(api_look test deployments "$1" | gojq -r '.status.availableReplicas // ""')" = "$2" ]; }
is_gone() { [ -z "$(api_look test deployments "$1" | gojq -r '.status.replicas // ""')" ]; }
selector() { api_look test "$@" | gojq -c '.spec.selector | .matchLabels // .'; }
labels_json() { gojq --yaml-input -c . <<<"$1"; }
selects_all() { [ "$(selector services "$1")" = "$(labels_json "$(labels_of "$1" "$2" -primary)")" ]; }
generations() { api_look test deployments | gojq -c '.items[] | [.metadata.name, .metadata.uid, .metadata.generation]'; }
pods() { kubectl -n test get pods -o name | sort; }
releases() { api_look test events | gojq "[.items[] | select(.involvedObject.name == \"$1\" and (.message | startswith(\"New revision\")))] | length"; }

# client NAME PROVIDER: one at the Service and, where there is a route, one at the gateway; a line for each answer
client() {
    local address url
    address=$(api_look test services "$1" | gojq -r '.spec.clusterIP // ""')
    for url in "http://$address" "$GATEWAY"; do
        [ "$url" != "$GATEWAY" ] || [ "$2" != kubernetes ] || continue
        curl -s -m 5 --rate 10/s -o /dev/null -H "Host: $1.example.com" -H 'Connection: close' -w '%{stderr}%{http_code}\n' \
            "$url/#[1-1000000]" 2>"$DIR/answers.$1.${url//[^0-9]/}" 3>&- &
        echo $! >>"$DIR/clients"
    done
}
clients_end() {
    [ -e "$DIR/clients" ] || return 0
    # shellcheck disable=SC2046
    kill $(cat "$DIR/clients") 2>/dev/null || true
    rm "$DIR/clients"
}
answered() { cat "$DIR/answers.$1".* | grep -c . || true; }
has_answers() { [ "$(answered "$1")" -ge "$2" ]; }
failed() { cat "$DIR/answers.$1".* | grep -vc '^200$' || true; }
serves() { [ "$(curl -s -m 2 -o /dev/null -w '%{http_code}' "http://$(api_look test services "$1" | gojq -r '.spec.clusterIP // ""')/")" = 200 ]; }

setup_file() {
    load ../lib/sandbox
    DIR=$(mktemp -d /tmp/flagger-takeover.XXXXXX)
    export DIR KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home
    mkdir -p "$HOME"
    "$FLAGGER_BUILD/flagger-sandbox" --kubeconfig "$KUBECONFIG" --crds "$BATS_TEST_DIRNAME/../../proto/crd" >"$DIR/sandbox.out" \
        2>"$DIR/sandbox.log" </dev/null 3>&- &
    echo $! >"$DIR/sandbox.pid"
    eventually 60 grep -q '^ready' "$DIR/sandbox.out" || { cat "$DIR/sandbox.log" && return 1; }
    kubectl create namespace test
}

teardown_file() {
    load ../lib/sandbox
    clients_end
    if [ -e "$DIR/controller" ]; then
        DAEMON_PID=$(cat "$DIR/controller")
        kill -TERM "$DAEMON_PID" 2>/dev/null || true
    fi
    sandbox_end
    rm -rf "$DIR"
}

setup() {
    load ../lib/sandbox
    GATEWAY=$(sed -n 's/.* gateway=\(\S*\).*/\1/p' "$DIR/sandbox.out")
}

@test "the cluster of before" {
    # What this one left before: it is made by this one, with the one label of then.
    while read -r origin provider labels; do
        [ "$origin" = before ] || continue
        name=$(name_of "$origin" "$provider" "$labels") full=$(labels_of "$(name_of "$origin" "$provider" "$labels")" "$labels" '')
        workload "$name" "$full" "$full" 2 "name: $name"
        canary "$name" "$provider"
    done < <(rows) | kubectl apply -f - >/dev/null
    controller "${FLAGGER_BEFORE:-}"
    for name in $(names | grep ^before); do eventually 90 phase_is "$name" Initialized; done
    # Another version may keep pods that Services of its own lead to by the one label.
    for name in $(names | grep "^before${FLAGGER_BEFORE:+.*-1$}"); do eventually 60 is_gone "$name"; done
    controller_ends
    while read -r origin provider labels; do
        [ "$origin" = before ] && [ -z "${FLAGGER_BEFORE:-}" ] || continue
        of_before "$(name_of "$origin" "$provider" "$labels")" "$labels"
    done < <(rows)
    # What Flagger left.
    while read -r origin provider labels; do
        [ "$origin" != flagger ] || canary "$(name_of "$origin" "$provider" "$labels")" "$provider"
    done < <(rows) | kubectl apply -f - >/dev/null
    while read -r origin provider labels; do
        [ "$origin" != flagger ] || left_by_flagger "$(name_of "$origin" "$provider" "$labels")" "$provider" "$labels"
    done < <(rows) | kubectl apply -f - >/dev/null
    for name in $(names | grep ^flagger); do status_of_flagger "$name"; done
    for name in $(names); do eventually 60 available "$name-primary" 2; done
    for name in $(names); do eventually 30 serves "$name"; done
}

@test "no release, no new pod, no failed request" {
    local origin provider labels name bad=""
    generations >"$DIR/generations" && pods >"$DIR/pods"
    for name in $(names); do releases "$name"; done >"$DIR/releases"
    while read -r origin provider labels; do client "$(name_of "$origin" "$provider" "$labels")" "$provider"; done < <(rows)
    for name in $(names); do eventually 60 has_answers "$name" 10; done
    controller
    echo "$DAEMON_PID" >"$DIR/controller"
    # It has looked at each: the Services of three labels ask for them, and each status says who drives or what is followed.
    while read -r origin provider labels; do eventually 60 selects_all "$(name_of "$origin" "$provider" "$labels")" "$labels"; done < <(rows)
    for name in $(names); do
        before=$(answered "$name")
        eventually 60 has_answers "$name" $((before + 30))
    done
    clients_end
    echo '# from     provider            labels  requests  failed  releases' >&3
    while read -r origin provider labels; do
        name=$(name_of "$origin" "$provider" "$labels")
        printf '# %-8s %-19s %6s %9s %7s %9s\n' "$origin" "$provider" "$labels" "$(answered "$name")" "$(failed "$name")" "$(releases "$name")" >&3
        [ "$(failed "$name")" = 0 ] && [ "$(releases "$name")" = 0 ] || bad="$bad $name"
    done < <(rows)
    [ -z "$bad" ] || { echo "failed:$bad" && return 1; }
    # Targets whose pods another version kept may go.
    diff <(generations | grep -e "${FLAGGER_BEFORE:+-primary}") <(grep -e "${FLAGGER_BEFORE:+-primary}" "$DIR/generations")
    [ -n "${FLAGGER_BEFORE:-}" ] || diff <(pods) "$DIR/pods"
    [ -z "$(comm -23 <(pods) "$DIR/pods")" ]
}

@test "primaries of one label that share it are told, and recreated without a failed request" {
    local name bad=""
    shared() { api_look test canaries "$1" | gojq -r '[.status.conditions[] | select(.type == "PodsOwned") | .reason] | join(",")'; }
    is_told() { [ "$(shared "$1")" = PrimarySelectsOthers ]; }
    is_not_told() { [ -z "$(shared "$1")" ]; }
    for name in $(names | grep -e '-3$'); do eventually 30 is_told "$name"; done
    for name in $(names | grep -e '-1$'); do is_not_told "$name"; done
    rm -f "$DIR"/answers.*
    for name in $(names | grep -e 'kubernetes-3$' -e 'gw-v1-3$'); do
        case $name in *kubernetes*) client "$name" kubernetes ;; *) client "$name" gatewayapi ;; esac
    done
    for name in $(names | grep -e 'kubernetes-3$' -e 'gw-v1-3$'); do eventually 30 has_answers "$name" 10; done
    for name in $(names | grep -e '-3$'); do
        "$FLAGGER_BUILD/kubectl-canary" renew-primary "$name" -n test --wait --timeout 120s &
        echo $! >>"$DIR/asked"
    done
    # shellcheck disable=SC2046
    for asked in $(cat "$DIR/asked"); do wait "$asked"; done
    for name in $(names | grep -e 'kubernetes-3$' -e 'gw-v1-3$'); do
        before=$(answered "$name")
        eventually 60 has_answers "$name" $((before + 10))
    done
    clients_end
    for name in $(names | grep -e '-3$'); do
        [ "$(selector deployments "$name-primary")" = "$(labels_json "$(labels_of "$name" 3 -primary)")" ] || bad="$bad $name"
        eventually 30 is_not_told "$name" || { kubectl -n test get canary "$name" -o yaml && kubectl -n test get deployment "$name-primary" -o yaml && return 1; }
        available "$name-primary" 2
        [ "$(releases "$name")" = 0 ]
    done
    for name in $(names | grep -e 'kubernetes-3$' -e 'gw-v1-3$'); do
        echo "# $name is recreated: $(answered "$name") requests, $(failed "$name") failed" >&3
        [ "$(failed "$name")" = 0 ] || bad="$bad $name"
    done
    [ -z "$bad" ] || { echo "failed:$bad" && return 1; }
    [ "$(kubectl -n test get deployments -o name | grep -c renewal)" = 0 ]
}
