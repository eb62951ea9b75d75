# The Kubernetes API of flagger-sandbox, as kubectl and curl see it.

setup_file() {
    load ../lib/sandbox
    export TOKEN=secret
    sandbox_begin "$(mktemp -d /tmp/flagger-api.XXXXXX)" --token "$TOKEN"
    kubectl create namespace test
}

teardown_file() {
    load ../lib/sandbox
    sandbox_end
    rm -rf "$DIR"
}

setup() {
    load ../lib/sandbox
    URL=$(sandbox_url)
}

api() { curl -s -m 10 -H "Authorization: Bearer $TOKEN" -X "$1" ${3+--data "$3"} "$URL$2"; }

deployment() {
    cat <<EOF
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, namespace: test}
spec:
  replicas: 2
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec:
      containers:
      - {name: c, image: "any:$2"}
EOF
}

canary() {
    cat <<EOF
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: test}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}
  service: {port: 80}
  analysis: {interval: 10s, threshold: 5, maxWeight: 50, stepWeight: 10}
EOF
}

# With test/real/run a real API server answers; this holds the sandbox against what one has said.
@test "the sandbox answers as a real API server has done, but for the differences that are meant to be" {
    "$FLAGGER_BUILD/flagger-testcompare" --sandbox "$KUBECONFIG" --recorded "$BATS_TEST_DIRNAME/../real/answers.yaml" \
        --requests "$BATS_TEST_DIRNAME/../real/requests.yaml" --allowed "$BATS_TEST_DIRNAME/../sandbox/differences.yaml"
}

@test "kubectl finds the kinds, with their short names" {
    run kubectl api-resources
    [ "$status" -eq 0 ]
    for kind in namespaces pods services endpoints endpointslices configmaps secrets events serviceaccounts leases \
        deployments replicasets daemonsets horizontalpodautoscalers ingresses customresourcedefinitions canaries; do
        [[ $output == *"$kind "* ]] || { echo "no $kind in $output" && return 1; }
    done
    kubectl get deploy,rs,ds,hpa,ing,svc,ep,cm,po,sa -n test
}

@test "kubectl's typed create commands, which send protobuf" {
    kubectl -n test create configmap made --from-literal a=b
    kubectl -n test create secret generic made --from-literal a=b
    kubectl -n test create serviceaccount made
    [ "$(kubectl -n test get configmap made -o 'jsonpath={.data.a}')" = b ]
    [ "$(kubectl -n test get secret made -o 'jsonpath={.data.a}')" = Yg== ]
}

@test "apply creates, configures, and leaves unchanged" {
    [[ $(deployment apply 1 | kubectl apply -f -) == *created ]]
    [[ $(deployment apply 1 | kubectl apply -f -) == *unchanged ]]
    [[ $(deployment apply 2 | kubectl apply -f -) == *configured ]]
    [ "$(kubectl -n test get deploy apply -o 'jsonpath={..image}')" = any:2 ]
}

@test "a rollout: set image, status, history, undo, restart, scale" {
    deployment roll 1 | kubectl apply -f -
    kubectl -n test rollout status deploy/roll --timeout=90s
    kubectl -n test set image deploy/roll c=any:2
    kubectl -n test rollout status deploy/roll --timeout=90s
    [[ $(kubectl -n test rollout history deploy/roll) == *2* ]]
    kubectl -n test rollout undo deploy/roll
    kubectl -n test rollout status deploy/roll --timeout=90s
    [ "$(kubectl -n test get deploy roll -o 'jsonpath={.spec.template.spec.containers[0].image}')" = any:1 ]
    kubectl -n test rollout restart deploy/roll
    kubectl -n test rollout status deploy/roll --timeout=90s
    kubectl -n test scale deploy roll --replicas 3 --current-replicas 2
    kubectl -n test wait deploy/roll --for=condition=available --timeout=90s
    [[ $(kubectl -n test get deploy roll) =~ roll\ +3\ +3\ +3 ]]
    pod=$(kubectl -n test get pods -l app=roll -o name | head -n 1)
    kubectl -n test logs "$pod"
    kubectl -n test describe "$pod" | grep -q 'Controlled By:  ReplicaSet/roll-'
}

@test "label, annotate, three kinds of patch" {
    kubectl -n test create configmap patched
    kubectl -n test label configmap patched a=b
    kubectl -n test annotate configmap patched c=d
    kubectl -n test patch configmap patched -p '{"data":{"x":"1"}}'
    kubectl -n test patch configmap patched --type merge -p '{"data":{"y":"2"}}'
    kubectl -n test patch configmap patched --type json -p '[{"op":"add","path":"/data/z","value":"3"}]'
    [ "$(kubectl -n test get configmap patched -o 'jsonpath={.metadata.labels.a}{.metadata.annotations.c}{.data.x}{.data.y}{.data.z}')" = bd123 ]
}

@test "delete: background, foreground, orphans, a namespace with all in it" {
    for how in background foreground; do
        deployment gone 1 | kubectl apply -f -
        kubectl -n test rollout status deploy/gone --timeout=90s
        kubectl -n test delete deploy gone --cascade=$how --timeout=90s
        eventually 20 bash -c '[ -z "$(kubectl -n test get rs,pods -l app=gone -o name)" ]'
    done
    deployment gone 1 | kubectl apply -f -
    kubectl -n test rollout status deploy/gone --timeout=90s
    kubectl -n test delete deploy gone --cascade=orphan
    [ -n "$(kubectl -n test get rs -l app=gone -o name)" ]
    kubectl create namespace short
    kubectl -n short create configmap x
    kubectl delete namespace short --timeout=90s
    run kubectl get namespace short
    [[ $output == *'namespaces "short" not found'* ]]
}

@test "canaries: schema, columns, events in describe, wait on a condition, a watch" {
    kubectl wait crd/canaries.flagger.app --for=condition=established --timeout=90s
    canary shown | kubectl apply -f -
    run kubectl apply -f <(canary wrong | sed 's/maxWeight: 50/maxWeight: lots/')
    [ "$status" -eq 1 ]
    [[ $output == *'The Canary "wrong" is invalid: spec.analysis.maxWeight'* ]]
    run kubectl get canaries -A
    [[ ${lines[0]} =~ ^NAMESPACE\ +NAME\ +STATUS\ +WEIGHT\ +LASTTRANSITIONTIME ]]
    uid=$(kubectl -n test get canary shown -o 'jsonpath={.metadata.uid}')
    kubectl create -f - <<EOF
apiVersion: v1
kind: Event
metadata: {name: shown.1, namespace: test}
involvedObject: {apiVersion: flagger.app/v1beta1, kind: Canary, name: shown, namespace: test, uid: $uid}
reason: Synced
message: a step was made
type: Normal
count: 1
EOF
    kubectl -n test describe canary shown | grep -q 'Synced.*a step was made'
    kubectl -n test get canary -w --output-watch-events >"$DIR/watch" &
    eventually 10 grep -q ADDED "$DIR/watch"
    kubectl -n test wait canary/shown --for=condition=promoted --timeout=90s >"$DIR/waited" &
    waiter=$!
    # Not with kubectl patch --subresource, which Debian's kubectl does not have.
    curl -sS -f -o /dev/null -X PATCH -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/merge-patch+json' \
        "$URL/apis/flagger.app/v1beta1/namespaces/test/canaries/shown/status" \
        -d '{"status":{"phase":"Succeeded","canaryWeight":0,"failedChecks":0,"iterations":0,"conditions":[{"type":"Promoted","status":"True","reason":"Succeeded","message":"done","lastTransitionTime":"2026-01-01T00:00:00Z","lastUpdateTime":"2026-01-01T00:00:00Z"}]}}'
    wait $waiter
    eventually 10 grep -q 'MODIFIED *shown *Succeeded' "$DIR/watch"
    kill %1
    [[ $(kubectl get canaries -A) == *Succeeded* ]]
}

@test "who may ask" {
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$URL/api")" = 401 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$URL/healthz")" = 200 ]
    TOKEN=$TOKEN-readonly
    [ "$(api GET /api/v1/namespaces | gojq -r .kind)" = NamespaceList ]
    [ "$(api POST /api/v1/namespaces '{"metadata":{"name":"x"}}' | gojq -r .reason)" = Forbidden ]
}

@test "faults, compaction and counts" {
    api POST /sandbox/faults '{"verb":"list","path":"/configmaps","status":429,"retryAfter":1}' | gojq -e '.faults | length == 1'
    [ "$(api GET /api/v1/configmaps | gojq -r .details.retryAfterSeconds)" = 1 ]
    [ "$(api GET /api/v1/configmaps | gojq -r .kind)" = ConfigMapList ]
    api POST /sandbox/compact '{}'
    [ "$(api GET '/api/v1/configmaps?watch=1&resourceVersion=1' | gojq -r .object.reason)" = Expired ]
    api GET /sandbox/stats | gojq -e '.busy > 0 and (.agents | length > 0)'
}

@test "a sandbox whose objects cannot be loaded says so, and has failed" {
    run "$FLAGGER_BUILD/flagger-sandbox" --no-gateway --load /nothing/here 3>&-
    [ "$status" -eq 1 ]
    [[ $output == *'/nothing/here: No such file'* ]]
}
