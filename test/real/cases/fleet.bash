# A plan over two clusters: the first is a sandbox, with our controller and the daemon of the fleet; the second is this one, where
# Flagger itself releases ($FLAGGER_GO names its program; without it, ours does). A controller that knows nothing of fleets is held by
# spec.suspend, and both call a revision the same.
: >>"$state/history/$case.history"
[ ! -x "${FLAGGER_GO:-}" ] || may_break pods endpoints status # where Flagger does, in its own releases
first=$state/fleet-first programs=()
trap 'kill -KILL "${programs[@]}" 2>/dev/null || true' EXIT
# Everything goes to the cluster $on.
on=$KUBECONFIG
k() { kubectl --kubeconfig "$on" -n "$case" "$@"; }
run() { # LOG PROGRAM ARGUMENT...
    "${@:2}" >>"$state/log/$1.log" 2>&1 &
    programs+=($!)
}
run fleet-sandbox "$build/flagger-sandbox" --no-gateway --no-services --kubeconfig "$first" --crds proto/crd,deploy/fleet
eventually grep -q '^ready' "$state/log/fleet-sandbox.log"
kubectl --kubeconfig "$first" create namespace "$case" >>"$state/log/kubectl.log"
run fleet-first "$build/flagger-controller" --kubeconfig "$first" --address 127.0.0.1 --port 0
if [ -x "${FLAGGER_GO:-}" ]; then
    run fleet-second "$FLAGGER_GO" -kubeconfig "$state/kubeconfig" -port "$(free_ports 1)" -mesh-provider kubernetes -namespace "$case" -log-level info
else
    run fleet-second "$build/flagger-controller" --kubeconfig "$state/kubeconfig-flagger" --address 127.0.0.1 --port 0 --namespace "$case"
fi
for on in "$first" "$KUBECONFIG"; do
    deployment
    canary app kubernetes "interval: 10s, threshold: 2, iterations: 1, webhooks: [$(hook check rollout)]"
    soon canary app '.status.phase == "Initialized"'
done
for name in first second; do
    on=$KUBECONFIG
    [ "$name" != first ] || on=$first
    kubectl --kubeconfig "$on" config view --raw --flatten >"$state/fleet-kubeconfig"
    kubectl --kubeconfig "$first" create secret generic "$name" --from-file="value=$state/fleet-kubeconfig"
    kubectl --kubeconfig "$first" label secret "$name" "flagger.app/cluster=$name"
done >>"$state/log/kubectl.log"
kubectl --kubeconfig "$first" apply -f - >/dev/null <<END
apiVersion: flagger.app/v1alpha1
kind: ReleasePlan
metadata: {name: shop, namespace: default}
spec:
  canaries: {namespace: $case}
  destination: {fleet: all}
  waves: [{name: first, clusterSelector: {matchLabels: {flagger.app/cluster: first}}}, {name: second}]
END
run fleet "$build/flagger-controller" fleet --allow-namespaces "default:$case" --kubeconfig "$first" --address 127.0.0.1 --port 0
plan() { kubectl --kubeconfig "$first" -n default get releaseplan shop -o json | gojq -e ".status | $1" >/dev/null; } # JQ-EXPRESSION
deliver() { for on in "$first" "$KUBECONFIG"; do release "$1"; done; } # VERSION
on=$KUBECONFIG
soon canary app '.spec.suspend and .metadata.annotations["flagger.app/held-by"] == "default/shop"'

# Each in its turn, by whoever is there.
deliver 2.0.0
on=$first
soon canary app '.status.phase == "Succeeded"'
runs app-primary 2.0.0
on=$KUBECONFIG
soon canary app '.status.phase == "Succeeded" and .spec.suspend'
runs app-primary 2.0.0
eventually plan '.phase == "Completed" and (.clusters | map(.state) == ["Promoted", "Promoted"])'
revision=$(k get canary app -o jsonpath='{.status.lastPromotedSpec}')
plan ".revision == \"$revision\"" || fail "the plan has another revision than $revision"

# What fails on the first is never begun on the second.
refuses check
deliver 3.0.0
eventually plan '.phase == "Stopped" and (.clusters | map(.state) == ["Failed", "Promoted"])'
is canary app ".spec.suspend and .status.lastAppliedSpec == \"$revision\"" || fail "the second cluster has begun 3.0.0"
echo "$([ -x "${FLAGGER_GO:-}" ] && echo Flagger || echo ours), revision $revision: $(kubectl --kubeconfig "$first" -n default get releaseplan shop -o jsonpath='{.status.message}')"
for program in "${programs[@]:1}"; do kill -TERM "$program" && { wait "$program" || [ -x "${FLAGGER_GO:-}" ]; }; done
