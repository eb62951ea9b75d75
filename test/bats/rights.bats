# The controller by namespace, with the rights that the chart gives it then and no others: a release goes through, and nothing of
# another namespace may be read. That rights and needs are the same, both ways: test/golden/rights. Cluster-wide: test/e2e/installed.bats.

bats_require_minimum_version 1.5.0

setup() {
    load ../lib/sandbox
    load ../lib/helm
    HELM=$(find_helm) || skip "no helm; test/setup --helm builds it"
    export HELM
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    sandbox_begin "$(mktemp -d /tmp/flagger-rights.XXXXXX)" --no-services
}

teardown() {
    [ -n "${DIR:-}" ] || return 0
    [ -z "${DAEMON_PID:-}" ] || daemon_stop
    sandbox_end
    rm -rf "$DIR"
}

phase_is() { [ "$(kubectl -n shop get canary app -o jsonpath='{.status.phase}')" = "$1" ]; }
as_controller() { kubectl --kubeconfig "$DIR/account" "$@"; }

@test "by namespace a release goes through with the rights of the chart, and no Secret of another namespace is read" {
    local token name
    for name in flagger-system shop other; do kubectl create namespace "$name"; done
    render flagger --set rbac.namespaced=true --set namespace=shop --kube-version 1.33 |
        gojq --yaml-input -c 'select(.kind | IN("ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"))' >"$DIR/roles"
    kubectl apply -f "$DIR/roles"
    token=$(kubectl create token flagger -n flagger-system)
    gojq --yaml-input --arg token "$token" '.users[0].user = {token: $token}' "$KUBECONFIG" >"$DIR/account"
    daemon_start "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$DIR/account" --mesh-provider kubernetes --min-analysis-interval 1s --namespace shop \
        --enable-leader-election --leader-election-namespace flagger-system
    kubectl apply -f - <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec: {containers: [{name: app, image: 'demo-app:1.0.0', ports: [{containerPort: 9898}]}]}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: app, namespace: shop}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: app}
  service: {port: 9898}
  analysis: {interval: 1s, threshold: 5, iterations: 2}
YAML
    eventually 60 phase_is Initialized
    kubectl -n shop set image deployment/app app=demo-app:2.0.0
    eventually 90 phase_is Succeeded
    # Who asked is proven: the policy is there, and may be read.
    kubectl -n shop set image deployment/app app=demo-app:3.0.0
    eventually 60 phase_is Progressing
    kubectl -n shop create -f - <<YAML
apiVersion: flagger.app/v1alpha1
kind: ReleaseRequest
metadata: {name: app}
spec: {action: pause, by: alice, revision: "$(kubectl -n shop get canary app -o 'jsonpath={.status.lastAppliedSpec}')"}
YAML
    asked() { kubectl -n shop get canary app -o json | gojq -e '.status.requests[0].by == "alice"' >/dev/null; }
    eventually 30 asked
    as_controller -n shop get secrets
    for name in other kube-system flagger-system; do
        run ! as_controller -n "$name" get secrets
        [[ $output == *forbidden* ]]
        run ! as_controller -n "$name" create configmap x --from-literal=a=b
    done
    run ! as_controller get leases -n kube-system
    run ! as_controller get nodes
    # Nothing that it tried was refused.
    refute grep -E '"level":"error"|forbidden' "$DAEMON_LOG"
}
