# Targets other than Deployments, with a client at the gateway: a DaemonSet, a Service that is pointed to other pods,
# and a Knative Service whose controller this test plays.

load ../lib/stage

# NAME: a client of its host, until client_end prints what was not answered well.
client() {
    hey -z 300s -c 1 -q 20 -t 5 -host "$1.example.com" "$DEMO_GATEWAY/" >"$BATS_TEST_TMPDIR/$1" 2>&1 3>&- &
    CLIENT=$!
}
client_end() { # NAME
    kill -INT "$CLIENT"
    wait "$CLIENT" || true
    hey_failures "$BATS_TEST_TMPDIR/$1"
}

version_is() { # NAME VERSION
    curl -s -m 5 -H "Host: $1.example.com" "$DEMO_GATEWAY/" -o /dev/null -D - | grep -qi "x-demo-version: $2"
}
is_in() { [ "$(of_canary targets "$1" .status.phase)" = "$2" ]; } # NAME PHASE
carries() { [ "$(of_canary targets "$1" .status.canaryWeight)" -gt 0 ]; }
one() { kubectl -n targets get "$1" "$2" -o jsonpath="$3"; } # KIND NAME JSONPATH
# NAME PRIMARY CANARY: it carries something while its Services lead to these, all at one moment
shares() {
    [[ $(kubectl -n targets get "canary/$1" "service/$1-primary" "service/$1-canary" -o \
        jsonpath='{range .items[*]}{.status.canaryWeight}{.spec.selector.app} {end}') =~ ^[1-9][0-9]*\ $2\ $3\ $ ]]
}

template() { # NAME VERSION
    cat <<END
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}, annotations: {prometheus.io/scrape: "true", prometheus.io/port: "9898"}}
    spec:
      containers:
        - name: app
          image: demo-app:$2
          ports: [{name: http, containerPort: 9898}]
          readinessProbe: {httpGet: {path: /readyz, port: 9898}, periodSeconds: 1}
END
}
workload() { # KIND NAME VERSION
    printf -- '---\napiVersion: apps/v1\nkind: %s\nmetadata: {name: %s, namespace: targets}\nspec:\n' "$1" "$2"
    template "$2" "$3"
}

canary() { # NAME API-VERSION KIND ANALYSIS
    cat <<END
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: targets}
spec:
  provider: ${5:-gatewayapi:v1}
  targetRef: {apiVersion: $2, kind: $3, name: $1}
  progressDeadlineSeconds: 30
  service:
    port: 80
    targetPort: 9898
    hosts: [$1.example.com]
    gatewayRefs: [{name: gateway, namespace: test}]
  analysis: $4
END
}

STEPS="interval: 2s, stepWeight: 40, maxWeight: 40, threshold: 2"
RATE="metrics: [{name: request-success-rate, thresholdRange: {min: 99}, interval: 3s}]"

setup_file() {
    stage_begin
    stage_enter
    kubectl create namespace targets >/dev/null
}

teardown_file() { stage_end; }

setup() { stage_enter; }

# --- DaemonSet

@test "a DaemonSet has a primary and no pods" {
    workload DaemonSet agent 1.0.0 | kubectl apply -f - >/dev/null
    # several checks: the first may still see the pods of the release before, or none
    canary agent apps/v1 DaemonSet "{interval: 2s, stepWeight: 20, maxWeight: 60, threshold: 4, $RATE}" |
        kubectl apply -f - >/dev/null
    eventually 30 is_in agent Initialized
    at_zero() { [ "$(one daemonset agent '{.spec.template.spec.nodeSelector}')" = '{"flagger.app/scale-to-zero":"true"}' ]; }
    eventually 30 at_zero # after the pause
    [ -z "$(one daemonset agent-primary '{.spec.template.spec.nodeSelector}')" ]
    stopped() { [ "$(one daemonset agent '{.status.currentNumberScheduled}')" -eq 0 ]; }
    eventually 10 stopped
    [ "$(one daemonset agent-primary '{.status.numberAvailable}')" -ge 1 ]
    eventually 10 version_is agent 1.0.0
}

@test "a good version of a DaemonSet is promoted, and nobody notices" {
    client agent
    kubectl -n targets set image daemonset/agent app=demo-app:2.0.0 >/dev/null
    eventually 60 is_in agent Succeeded
    failed=$(client_end agent)
    [ -z "$failed" ] || { echo "$failed" && return 1; }
    version_is agent 2.0.0
    [ "$(one daemonset agent '{.spec.template.spec.nodeSelector}')" = '{"flagger.app/scale-to-zero":"true"}' ]
}

# Its own pods are measured, not the primary's, which are good.
@test "a bad version of a DaemonSet is rolled back" {
    client agent
    kubectl -n targets set image daemonset/agent app=demo-app:3.0.0-errors50 >/dev/null
    eventually 60 is_in agent Failed
    client_end agent >/dev/null
    version_is agent 2.0.0
    [ "$(one daemonset agent-primary '{.spec.template.spec.containers[0].image}')" = demo-app:2.0.0 ]
    run kubectl -n targets get events -o jsonpath='{range .items[*]}{.message}{"\n"}{end}'
    [[ $output == *"Halt agent.targets advancement success rate"* ]]
}

# --- Service

@test "a Service is released when it is pointed to other pods" {
    {
        workload Deployment shop-blue 1.0.0
        workload Deployment shop-green 2.0.0
        cat <<END
---
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: targets}
spec:
  type: NodePort
  selector: {app: shop-blue}
  ports: [{name: http, port: 80, targetPort: 9898}]
END
    } | kubectl apply -f - >/dev/null
    kubectl -n targets rollout status deployment/shop-green --timeout=90s >/dev/null
    canary shop core/v1 Service "{$STEPS}" | kubectl apply -f - >/dev/null
    eventually 30 is_in shop Initialized
    eventually 10 version_is shop 1.0.0
    client shop
    api_merge targets services shop '{"spec":{"selector":{"app":"shop-green"}}}'
    eventually 20 shares shop shop-blue shop-green
    eventually 60 is_in shop Succeeded
    failed=$(client_end shop)
    [ -z "$failed" ] || { echo "$failed" && return 1; }
    [ "$(one service shop-primary '{.spec.selector.app}')" = shop-green ]
    version_is shop 2.0.0
}

@test "the copies of a Service have addresses of their own, and an owner" {
    [ "$(kubectl -n targets get service shop shop-primary shop-canary -o json | gojq '[.items[].spec.clusterIP] | unique | length')" -eq 3 ]
    [ "$(one service shop-primary '{.metadata.ownerReferences[0].kind}')" = Canary ]
    [ -z "$(one service shop '{.metadata.ownerReferences}')" ]
}

@test "an ExternalName is released as well" {
    kubectl -n targets patch service shop --type merge \
        -p '{"spec":{"type":"ExternalName","externalName":"shop.example.org","selector":null,"clusterIP":null,"clusterIPs":null}}' >/dev/null
    there() { [ "$(one service shop-primary '{.spec.externalName}')" = shop.example.org ]; }
    eventually 60 there
    [ -z "$(one service shop-primary '{.spec.clusterIP}')" ]
    eventually 10 is_in shop Succeeded
}

@test "what goes with the Canary of a Service is what came with it" {
    kubectl -n targets delete canary shop --timeout=40s >/dev/null
    gone() { [ "$(kubectl -n targets get services -o name | grep -c shop)" -eq 1 ]; }
    eventually 20 gone
}

# --- Knative: the API is there, and this test does what its controllers do

revision() { # NAME READY
    kubectl -n targets apply -f - >/dev/null <<END
apiVersion: serving.knative.dev/v1
kind: Revision
metadata: {name: $1, namespace: targets}
status: {conditions: [{type: Ready, status: "$2", lastTransitionTime: "$(date -u +%FT%TZ)"}]}
END
    kubectl -n targets patch revision.serving.knative.dev "$1" --subresource status --type merge >/dev/null \
        -p "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"$2\",\"lastTransitionTime\":\"$(date -u +%FT%TZ)\"}]}}"
}
KSVC=services.serving.knative.dev
# The status says what the spec does, and which revision was made last.
knative_catches_up() { # REVISION
    kubectl -n targets get $KSVC fn -o json |
        gojq -c --arg r "$1" '{status: {observedGeneration: .metadata.generation, latestCreatedRevisionName: $r,
            traffic: (.spec.traffic // [{latestRevision: true, percent: 100}])}}' >"$BATS_TEST_TMPDIR/status"
    kubectl -n targets patch $KSVC fn --subresource status --type merge --patch-file "$BATS_TEST_TMPDIR/status" >/dev/null
}
caught_up_in() { # REVISION PHASE
    knative_catches_up "$1"
    is_in fn "$2"
}

@test "a Knative Service is routed from revision to revision" {
    kubectl apply -f "$BATS_TEST_DIRNAME/../data/crds/knative.yaml" >/dev/null
    kubectl apply -f - >/dev/null <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: revisions.serving.knative.dev}
spec:
  group: serving.knative.dev
  names: {kind: Revision, plural: revisions, singular: revision}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
END
    kubectl wait --for=condition=established --timeout=90s crd/$KSVC crd/revisions.serving.knative.dev >/dev/null
    kubectl apply -f - >/dev/null <<END
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: fn, namespace: targets}
spec: {template: {spec: {containers: [{image: fn:1}]}}}
END
    revision fn-00001 True
    knative_catches_up fn-00001
    canary fn serving.knative.dev/v1 Service "{interval: 1s, stepWeight: 40, maxWeight: 40, threshold: 2}" knative |
        kubectl apply -f - >/dev/null
    eventually 20 caught_up_in fn-00001 Initialized
    kubectl -n targets get $KSVC fn -o json | gojq -e '.metadata.annotations["flagger.app/primary-revision"] == "fn-00001" and
        .spec.traffic == [{latestRevision: true, percent: 0}, {revisionName: "fn-00001", percent: 100}]'
    sleep 2 # idle: only the name of a new revision in the status may wake the Canary
    revision fn-00002 True
    knative_catches_up fn-00002
    eventually 20 caught_up_in fn-00002 Succeeded
    kubectl -n targets get $KSVC fn -o json | gojq -e '.metadata.annotations["flagger.app/primary-revision"] == "fn-00002" and
        .spec.traffic == [{latestRevision: true, percent: 0}, {revisionName: "fn-00002", percent: 100}]'
}

@test "a Knative Service that loses its Canary follows its latest revision" {
    kubectl get crd $KSVC >/dev/null 2>&1 || skip "the collection of CRDs is not here"
    kubectl -n targets delete canary fn --wait=false >/dev/null
    released() {
        knative_catches_up fn-00002
        ! kubectl -n targets get canary fn >/dev/null 2>&1
    }
    eventually 40 released
    kubectl -n targets get $KSVC fn -o json | gojq -e '.metadata.annotations["flagger.app/primary-revision"] == null and
        .spec.traffic == [{latestRevision: true, percent: 100}]'
}

# --- StatefulSet

@test "a StatefulSet is refused when it is applied" {
    run kubectl apply -f <(canary db apps/v1 StatefulSet "{$STEPS}")
    [ "$status" -ne 0 ]
    [[ $output == *spec.targetRef.kind* ]]
}
