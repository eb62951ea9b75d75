# The README's way from an empty cluster to a released revision: its commands as they are printed there, with helm. Where a kubelet
# would start the controller, this does, with the arguments and the service account of the Deployment that helm has made.
source test/lib/helm.bash
: >>"$state/history/$case.history" # it all happens in the namespaces that the README names
if ! helm=$(find_helm); then
    echo "skipped: no helm; test/setup --helm builds it"
    return 0
fi
[ -z "$(kubectl get crd -o name)" ]

started() { kubectl -n flagger-system get deployment flagger -o json >"$state/$case.deployment" 2>>"$state/log/$case.log"; }
# pod: what a kubelet does of the Deployment's pod; the address is one that no other test uses
pod() {
    until started; do read -r -t 0.2 <>"$state/never" || true; done
    kubectl create --raw /api/v1/namespaces/flagger-system/serviceaccounts/flagger/token -f - <<<'{"spec": {}}' >"$state/$case.token"
    kubeconfig "$(gojq -r .status.token "$state/$case.token")" >"$state/kubeconfig-$case"
    mapfile -t args < <(gojq -r '.spec.template.spec.containers[0].args[]' "$state/$case.deployment")
    exec "$build/flagger-controller" "${args[@]}" --kubeconfig "$state/kubeconfig-$case" --address 127.0.0.1 --port "$metrics" >>"$state/log/$case.log" 2>&1
}
helm() { "$helm" "$@"; }
# `kubectl get --watch` shows what comes, until a person has seen enough
kubectl() {
    local watcher
    if [[ " $* " != *" --watch "* ]]; then
        command kubectl "$@"
        return
    fi
    command kubectl "$@" >"$state/$case.watch" &
    watcher=$!
    eventually grep -q ' Succeeded ' "$state/$case.watch"
    kill "$watcher"
    cat "$state/$case.watch"
}

pod &
pid=$!
began=$SECONDS
awk '/^```/ { shown = $0 == "```sh" && !shown; next } shown' README.md >"$state/$case.commands"
[ "$(grep -c '^helm\|^kubectl' "$state/$case.commands")" -ge 7 ]
# shellcheck disable=SC1090,SC1091
source "$state/$case.commands" | tee "$state/$case.printed"
echo "from helm install to the first revision that was promoted: $((SECONDS - began)) s"
# In the order in which the README names them.
phases=$(awk '$2 != last && NR > 1 { print $2; last = $2 }' "$state/$case.watch" | xargs)
[[ $phases == *'Progressing Promoting Finalising Succeeded' ]] || fail "it went $phases"
grep 'Promotion completed! Scaling down podinfo.test' "$state/$case.printed"
[ "$(kubectl -n test get deployment podinfo-primary -o jsonpath='{.spec.template.spec.containers[0].image}')" = ghcr.io/stefanprodan/podinfo:6.7.1 ]
"$build/flagger-testhistory" "$state/history/test.history"
kill -TERM "$pid"
wait "$pid"
if grep '"level":"error"' "$state/log/$case.log"; then fail "the controller logs errors"; fi
