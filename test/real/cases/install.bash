# What deploy/ says is taken by the API server with its schemas: each overlay, and, where helm is at hand, each chart with each of
# its value sets. Then a release of the chart is installed, upgraded and removed; its Roles are enough for the controller.
source test/lib/helm.bash
for namespace in shop bank monitoring linkerd-viz; do kubectl create namespace "$namespace"; done
known=$(kubectl api-resources --no-headers -o name)

# taken NAME: the objects on stdin, JSON, one a line, apart from those of CRDs that are not here
taken() {
    local all
    all=$(cat)
    gojq -c --arg known "$known" '. as $o | ($o.apiVersion | split("/")[:-1] | join("")) as $group
        | select($group == "" or ($known | split("\n") | any(endswith("." + $group))))' <<<"$all" >"$state/$case.objects"
    [ -s "$state/$case.objects" ]
    kubectl apply --server-side --force-conflicts --dry-run=server -f "$state/$case.objects" >"$state/$case.taken" ||
        fail "the API server does not take $1"
    [ "$(wc -l <"$state/$case.taken")" -eq "$(wc -l <"$state/$case.objects")" ]
    echo "$1: $(wc -l <"$state/$case.taken") of $(gojq -n '[inputs] | length' <<<"$all") objects"
}

for overlay in deploy/kustomize/* deploy/gate deploy/loadtester deploy/postgres/*; do
    kubectl kustomize "$overlay" | gojq --yaml-input -c --arg in "$case" \
        'select(.) | if .kind | test("^Cluster|Namespace") then . else .metadata.namespace //= $in end' | taken "$overlay"
done

if helm=$(find_helm); then
    while read -r chart values; do
        render "$chart" --include-crds -f "$values" | gojq --yaml-input -c 'select(.) |
            if .kind | test("^(Cluster|CustomResource)") then . else .metadata.namespace //= "flagger-system" end' | taken "$values"
    done < <(charts_rendered)

    own() { "$helm" --namespace "$case" "$@" 2>"$state/$case.helm" || fail "helm $1: $(cat "$state/$case.helm")"; }
    own install other deploy/charts/flagger --wait --timeout 60s --set namespace="$case" --set rbac.namespaced=true --set rbac.pspEnabled=true |
        grep 'rbac.pspEnabled has no effect'
    kubectl create --raw "/api/v1/namespaces/$case/serviceaccounts/other-flagger/token" -f - <<<'{"spec": {}}' >"$state/$case.token"
    kubeconfig "$(gojq -r .status.token "$state/$case.token")" >"$state/kubeconfig-$case"
    "$build/flagger-controller" --kubeconfig "$state/kubeconfig-$case" --address 127.0.0.1 --port 0 --namespace "$case" --watch-selector by=other \
        --enable-leader-election --leader-election-namespace "$case" >"$state/log/$case.log" 2>&1 &
    pid=$!
    leads() { k get leases -o json | gojq -e '.items | length == 1 and .[0].spec.holderIdentity != ""'; }
    eventually leads
    kill -TERM "$pid"
    wait "$pid"
    if grep -E '"level":"(warn|error)"' "$state/log/$case.log"; then fail "the controller complains of its Roles"; fi
    own upgrade other deploy/charts/flagger --wait --timeout 60s --set namespace="$case" --set leaderElection.enabled=true --set leaderElection.replicaCount=2
    soon deployment other-flagger '.status.readyReplicas == 2'
    own uninstall other --wait
    [ -z "$(kubectl get clusterroles,clusterrolebindings -o name | grep other-flagger)" ]
else
    : >>"$state/history/$case.history" # nothing has happened in the case's namespace
fi
