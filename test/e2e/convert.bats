# From Argo Rollouts, live: the commands that `kubectl canary convert --live` prints, run as they are printed, with clients that
# send all the time, for Services whose selector Argo's controller looks after, and for one that has the labels alone. No request
# may fail. Then a release of the new Canary.
#
# Argo's controller is played, by its rules for Services: as long as it runs and the Rollout is there, the hash of the stable
# ReplicaSet is in the selector; without the Rollout it is taken out. The Rollouts are objects of a CRD, with a ReplicaSet each.

bats_require_minimum_version 1.5.0

load ../lib/stage
load ../lib/apps

export APPS_IN=argo
HASH=6f7d8c
# green: blue/green; stable: a canary with stableService; plain: a Service that the Rollout does not name
APPS="green stable plain"
# One more, control, is switched while Argo's controller runs: the same clients must notice.
ALL="$APPS control"

strategy_of() {
    case $1 in
    green) echo '{blueGreen: {activeService: green, previewService: green-preview}}' ;;
    control) echo '{blueGreen: {activeService: control}}' ;;
    stable) echo '{canary: {stableService: stable, canaryService: stable-canary, steps: [{setWeight: 50}, {pause: {duration: 2}}]}}' ;;
    plain) echo '{canary: {steps: [{setWeight: 50}, {pause: {duration: 2}}]}}' ;;
    esac
}
# The Services that Argo looks after
managed_of() {
    case $1 in
    green) echo green green-preview ;;
    stable) echo stable stable-canary ;;
    control) echo control ;;
    esac
}
services_of() { case $1 in plain) echo plain ;; *) managed_of "$1" ;; esac }

pods() { # NAME LABELS: a template
    cat <<END
    metadata: {labels: {app: $1$2}}
    spec:
      containers:
        - name: app
          image: demo-app:1.0.0
          ports: [{name: http, containerPort: 9898}]
          readinessProbe: {httpGet: {path: /readyz, port: 9898}, initialDelaySeconds: 1, periodSeconds: 1}
END
}

rollout() { # NAME: as its owner has it
    cat <<END
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: $1, namespace: argo}
spec:
  replicas: 2
  selector: {matchLabels: {app: $1}}
  strategy: $(strategy_of "$1")
  template:
$(pods "$1" '' | sed 's/^/  /')
END
    for service in $(services_of "$1"); do
        cat <<END
---
apiVersion: v1
kind: Service
metadata: {name: $service, namespace: argo}
spec: {selector: {app: $1}, ports: [{name: http, port: 80, targetPort: http}]}
END
    done
}

replicaset() { # NAME: what Argo's controller has made of it
    cat <<END
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: $1-$HASH
  namespace: argo
  labels: {app: $1, rollouts-pod-template-hash: $HASH}
  ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: $1, uid: $(kubectl -n argo get rollout "$1" -o jsonpath='{.metadata.uid}'), controller: true}]
spec:
  replicas: 2
  selector: {matchLabels: {app: $1, rollouts-pod-template-hash: $HASH}}
  template:
$(pods "$1" ", rollouts-pod-template-hash: $HASH" | sed 's/^/  /')
END
}

crd() {
    cat <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rollouts.argoproj.io}
spec:
  group: argoproj.io
  scope: Namespaced
  names: {kind: Rollout, listKind: RolloutList, plural: rollouts, singular: rollout}
  versions:
  - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: argo-rollouts}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: argo-rollouts, namespace: argo-rollouts}
spec:
  replicas: 1
  selector: {matchLabels: {app.kubernetes.io/name: argo-rollouts}}
  template:
    metadata: {labels: {app.kubernetes.io/name: argo-rollouts}}
    spec: {containers: [{name: argo, image: argo}]}
END
}

ARGO_PODS='api/v1/namespaces/argo-rollouts/pods?labelSelector=app.kubernetes.io/name=argo-rollouts'
argo_runs() { api_get "$ARGO_PODS" | gojq -e '.items != []'; }
# A controller ends with its pod: what it has read before is not written after, however slow this one is.
# Fails without a pod.
argo_look() { # MANAGED: an object, the Rollout of each Service
    local service version wanted found
    found=$(api_get "$ARGO_PODS" api/v1/namespaces/argo/services apis/argoproj.io/v1alpha1/namespaces/argo/rollouts |
        gojq -rs --arg hash "$HASH" --argjson managed "$1" 'if .[0].items == [] then error("no pod") else . end
            | (.[2].items | map({(.metadata.name): $hash}) | add) as $hashes | .[1].items[] | $managed[.metadata.name] as $rollout | select($rollout)
            | $hashes[$rollout] as $wanted | select(.spec.selector["rollouts-pod-template-hash"] != $wanted)
            | "\(.metadata.name) \(.metadata.resourceVersion) \($wanted | tojson)"') || return
    [ -n "$found" ] || return 0
    while read -r service version wanted; do
        argo_runs || return 0
        api_merge argo services "$service" '{"metadata":{"resourceVersion":"'"$version"'"},"spec":{"selector":{"rollouts-pod-template-hash":'"$wanted"'}}}' || true
    done <<<"$found"
}
# The controller: looks at all Services as long as it has a pod. The file counts its rounds.
argo() {
    local name service managed
    managed=$(for name in $ALL; do for service in $(managed_of "$name"); do echo "{\"$service\": \"$name\"}"; done; done | gojq -cs add)
    until [ -e "$BATS_FILE_TMPDIR/argo-end" ]; do
        sleep 0.2
        argo_look "$managed" || continue
        echo round >>"$BATS_FILE_TMPDIR/argo"
    done >/dev/null 2>&1
}

setup_file() {
    stage_begin
    stage_enter
    clients_enter
    export PATH=$FLAGGER_BUILD:$PATH
    kubectl create namespace argo >/dev/null
    crd | kubectl apply -f - >/dev/null
    kubectl wait --for=condition=Established crd/rollouts.argoproj.io --timeout=30s >/dev/null
    for name in $ALL; do
        rollout "$name" >"$BATS_FILE_TMPDIR/$name.yaml"
        eventually 20 kubectl apply -f "$BATS_FILE_TMPDIR/$name.yaml" >/dev/null
        { replicaset "$name" && own_route "$name"; } | kubectl apply -f - >/dev/null
    done
    argo 3>&- &
    for name in $ALL; do eventually 30 answers "$name"; done
    eventually 30 test -s "$BATS_FILE_TMPDIR/argo"
    for name in $ALL; do client "$name" 2 20; done
}

teardown_file() {
    clients_enter
    touch "$BATS_FILE_TMPDIR/argo-end"
    clients_end || true
    stage_end
}

setup() {
    stage_enter
    clients_enter
    export PATH=$FLAGGER_BUILD:$PATH
    cd "$BATS_FILE_TMPDIR" || return
}

versions_of() { # NAME: of the pods that have its label
    kubectl -n argo get pods -l "app=$1" -o jsonpath='{.items[*].spec.containers[0].image}' | tr ' ' '\n' | sort -u
}
serves_version() { curl -s -m 5 -H "Host: $1.example.com" "$DEMO_GATEWAY/" -o /dev/null -D - | grep -qi "x-demo-version: $2"; }

@test "Argo's controller holds the selector as long as it runs" {
    api_merge argo services green '{"metadata":{"labels":{"seen":"yes"}}}'
    [ "$(kubectl -n argo get service green -o jsonpath='{.spec.selector.rollouts-pod-template-hash}')" = "$HASH" ]
    [ -z "$(kubectl -n argo get service plain -o jsonpath='{.spec.selector.rollouts-pod-template-hash}')" ]
}

@test "the printed commands switch each Rollout" {
    for name in $APPS; do
        kubectl canary convert --live "$name.yaml" | sed -n 's/^#   //p' >"$name.sh"
        [ "$(grep -c kubectl "$name.sh")" -ge 5 ]
        bash -eux "$name.sh"
    done
    kubectl canary convert --live control.yaml | sed -n 's/^#   //p' | grep -v argo-rollouts >control.sh
    bash -eux control.sh
    for name in $APPS; do
        [ "$(of_canary argo "$name" .status.phase)" = Initialized ]
        ! kubectl -n argo get rollout "$name" || return
        diff <(api_look argo services "$name" | gojq -c .spec.selector) - <<<"{\"app\":\"$name-primary\"}"
    done
    [ -z "$(kubectl -n argo get replicasets -l rollouts-pod-template-hash -o name)" ]
    argo_runs
    ! kubectl -n argo get service green-preview || return
}

@test "a release of the Canary serves all, and no request has failed" {
    for name in $APPS; do set_image argo "$name" app demo-app:2.0.0; done
    for name in $APPS; do eventually 120 serves_version "$name" 2.0.0; done
    for name in $APPS; do kubectl -n argo wait "canary/$name" --for=condition=promoted --timeout=60s; done
    # Argo's controller, had it still run, would have put its hash back beside the Canary's label.
    for _ in {1..50}; do
        api_merge argo services control '{"spec":{"selector":{"rollouts-pod-template-hash":"'"$HASH"'"}}}'
        sleep 0.1
    done
    clients_end
    clients_judge
}
