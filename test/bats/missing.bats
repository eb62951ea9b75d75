# A Canary whose provider has no CRD yet.

bats_require_minimum_version 1.5.0

setup() {
    load ../lib/daemon
    DIR=$BATS_TEST_TMPDIR
    export KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home
    mkdir "$HOME"
    "$FLAGGER_BUILD/flagger-sandbox" --kubeconfig "$KUBECONFIG" --crds "$BATS_TEST_DIRNAME/../../proto/crd" \
        --no-gateway --no-services >"$DIR/out" 2>"$DIR/log" </dev/null 3>&- &
    SANDBOX=$!
    eventually 60 grep -q '^ready' "$DIR/out" || { cat "$DIR/log" && return 1; }
}

teardown() {
    daemon_stop
    kill -TERM "$SANDBOX" && wait "$SANDBOX" || true
}

canary() {
    cat <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: podinfo, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: podinfo}}
  template:
    metadata: {labels: {app: podinfo}}
    spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 9898}]}]}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: podinfo, namespace: default}
spec:
  provider: istio
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: podinfo}
  service: {port: 9898, hosts: [app.test]}
  analysis: {interval: 1s, threshold: 3, stepWeight: 50}
YAML
}

crd() { # KIND PLURAL [VERSION]
    cat <<YAML
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: $2.networking.istio.io}
spec:
  group: networking.istio.io
  scope: Namespaced
  names: {kind: $1, listKind: $1List, plural: $2, singular: ${2%s}}
  versions:
  - name: ${3:-v1beta1}
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
YAML
}

condition() { kubectl get canary podinfo -o "jsonpath={.status.conditions[?(@.type==\"ResourcesServed\")].$1}"; }
names() { [[ $(condition message) == *"does not serve $1 of"* ]]; }
holds() { [ "$(condition reason)" = NotServed ]; }
phase_is() { [ "$(of_canary default podinfo .status.phase)" = "$1" ]; }
hosts_are() { [ "$(kubectl get virtualservice podinfo -o jsonpath='{.spec.hosts[*]}')" = "$1" ]; }
warnings() { kubectl get events -o jsonpath='{range .items[*]}{.count} {.message}{"\n"}{end}' | grep 'does not serve'; }

@test "what is missing is told once, and the Canary initialises by itself when the CRD is there" {
    canary | kubectl apply -f - >/dev/null
    daemon_start "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --min-analysis-interval 1s
    eventually 20 holds
    [[ $(condition message) == "the API server does not serve destinationrules of networking.istio.io/v1: install the CRDs of the provider istio"* ]]
    phase_is Initializing
    run kubectl get --raw /apis/networking.istio.io/v1beta1/namespaces/default/virtualservices/podinfo
    [[ $output == *"could not find the requested resource"* ]]
    eventually 20 warnings
    [[ $(warnings) == "1 the API server does not serve"* ]]
    refute grep -q '"event":"\(conflict\|tick_failed\)"' "$DAEMON_LOG"

    # one of the two is not enough, and is told of as such
    crd DestinationRule destinationrules | kubectl apply -f - >/dev/null
    eventually 60 names virtualservices
    phase_is Initializing
    crd VirtualService virtualservices | kubectl apply -f - >/dev/null
    eventually 60 phase_is Initialized
    [ -z "$(condition reason)" ]
    kubectl get virtualservices.networking.istio.io podinfo
    [ "$(warnings | wc -l)" -eq 2 ]
    refute grep -q '^[^1]' <(warnings)
}

@test "where only another version of the routes is served, that one is used" {
    { crd VirtualService virtualservices v1; crd DestinationRule destinationrules v1alpha3; echo ---; canary; } | kubectl apply -f - >/dev/null
    daemon_start "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --min-analysis-interval 1s
    eventually 60 phase_is Initialized
    [ "$(kubectl get virtualservice podinfo -o jsonpath='{.apiVersion}')" = networking.istio.io/v1 ]
    [ "$(kubectl get destinationrule podinfo-canary -o jsonpath='{.apiVersion}')" = networking.istio.io/v1alpha3 ]

    # an edit is seen by the watch of that version, and mended
    kubectl patch virtualservice podinfo --type merge -p '{"spec":{"hosts":["other.test"]}}'
    eventually 30 hosts_are "app.test podinfo"
}
