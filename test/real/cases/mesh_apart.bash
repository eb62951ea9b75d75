# Routes in the cluster of the mesh, Canaries in this one (--kubeconfig-service-mesh): two real API servers, each with its garbage
# collector. What is made there has no owner, is mended there, and is deleted or given back by us.
port=$(free_ports 1)
apart=$state/apart
mesh() { kubectl --kubeconfig "$apart/kubeconfig" -n "$case" "$@"; }
(
    state=$apart running=()
    cluster_begin "$assets"
    printf '%s\n' "${running[@]}" "$(cat "$state/kube-apiserver.pid")" >"$state/pids"
)
mapfile -t programs <"$apart/pids"
trap 'kill -KILL "${programs[@]}" 2>/dev/null || true' EXIT
{
    mesh apply --server-side -f test/data/crds/gateway-api.yaml
    mesh wait --for=condition=established --timeout=30s crd --all
    mesh create namespace flagger-system
    mesh create namespace "$case"
    mesh -n flagger-system apply -f deploy/mesh/rbac.yaml
} >>"$state/log/kubectl.log"
"$build/flagger-controller" --kubeconfig "$state/kubeconfig-flagger" --kubeconfig-service-mesh "$apart/kubeconfig-mesh" \
    --address 127.0.0.1 --port "$port" --mesh-provider gatewayapi:v1 --metrics-server "http://127.0.0.1:$answers" \
    --min-analysis-interval 1s --namespace "$case" >"$state/log/mesh_apart.log" 2>&1 &
programs+=($!)

route() { mesh get httproute "$1" -o json | gojq -e "$2" >/dev/null; } # NAME JQ-EXPRESSION
stays() { [ "$(mesh get httproutes -o name | sort | tr '\n' ' ')" = "$1" ]; }
for app in app kept left; do
    deployment "$app"
    field=''
    [ "$app" != kept ] || field='revertOnDeletion: true'
    [ "$app" != left ] || field='revertOnDeletion: false'
    canary "$app" gatewayapi:v1 "$STEPS" '' "$field"
done
for app in app kept left; do
    comes Initialized '*' "$app"
    route "$app" ".metadata.ownerReferences == null and .metadata.annotations[\"flagger.app/owner\"] == \"$app.$case\"" ||
        fail "the route of $app does not say whose it is"
done
[ -z "$(k get httproutes -o name)" ] || fail "there are routes beside the Canaries"
[ -z "$(mesh get deployments,services -o name)" ] || fail "there are workloads in the cluster of the mesh"

# A watch there sees what others do there, in the middle of a release as well.
release 2.0.0 app
comes Progressing 50 app
mesh patch httproute app --type merge -p '{"metadata": {"labels": {"mine": "1"}}, "spec": {"hostnames": ["other.test"]}}' >/dev/null
eventually route app '.spec.hostnames == ["app.example.com"] and .metadata.labels.mine == "1"'
comes Succeeded 0 app
route app '[.spec.rules[].backendRefs[] | .weight] == [100, 0]' || fail "the primary has not everything"
mesh delete httproute app >/dev/null
eventually route app '[.spec.rules[].backendRefs[] | .weight] == [100, 0]'

# The garbage collector there knows no Canary: it takes nothing. What is given back leads to the apex Service, and is nobody's.
for app in app kept left; do k delete canary "$app" --timeout="${LIMIT}s" >/dev/null; done
for app in app kept; do
    route "$app" "[.spec.rules[].backendRefs[] | .name] == [\"$app\"] and (.metadata.annotations // {} | has(\"flagger.app/owner\") | not)" ||
        fail "the route of $app is not given back: $(mesh get httproute "$app" -o yaml)"
done
eventually stays 'httproute.gateway.networking.k8s.io/app httproute.gateway.networking.k8s.io/kept '
kill -TERM "${programs[-1]}" && wait "${programs[-1]}"
