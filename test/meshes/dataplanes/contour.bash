# Contour with Envoy: an HTTPProxy, which the user's root proxy includes.
programs=(contour envoy) provider=contour
features=(weights ab_test blue_green rolled_back adopted deleted refs fractions)
service='timeout: 15s, retries: {attempts: 3, perTryTimeout: 5s}' field=''

# contour_begin NAME ARGUMENT...: and an Envoy of its own, which listens on $web
contour_begin() {
    local name=$1 xds health metrics stats debug ports
    shift
    mapfile -t ports < <(free_ports 5)
    xds=${ports[0]} health=${ports[1]} metrics=${ports[2]} stats=${ports[3]} debug=${ports[4]}
    mkdir -p "$state/$name"
    kubectl create namespace "$name" >>"$state/log/kubectl.log"
    kubectl apply --server-side -f "$meshes/contour-crd.yaml" >>"$state/log/kubectl.log"
    kubectl wait --for=condition=established --timeout=30s crd --all >>"$state/log/kubectl.log"
    echo "$@" >"$state/$name/contour.yaml"
    CONTOUR_NAMESPACE=$name start "$name" "$meshes/contour" serve --insecure --kubeconfig "$KUBECONFIG" --config-path "$state/$name/contour.yaml" \
        --disable-leader-election --xds-address 127.0.0.1 --xds-port "$xds" --health-address 127.0.0.1 --health-port "$health" \
        --http-address 127.0.0.1 --http-port "$metrics" --debug-http-address 127.0.0.1 --debug-http-port "$debug" \
        --stats-address 127.0.0.1 --stats-port "$stats" --envoy-service-http-address 127.0.0.1 --envoy-service-http-port "$web"
    wait_for 60 "$name" curl -sf "http://127.0.0.1:$health/healthz"
    "$meshes/contour" bootstrap "$state/$name/envoy.json" --xds-address 127.0.0.1 --xds-port "$xds" --namespace "$name" \
        --admin-address "$state/$name/admin.sock" >>"$state/log/$name.log" 2>&1
    start "$name-envoy" "$meshes/envoy" -c "$state/$name/envoy.json" --service-cluster "$name" --service-node "$name" \
        --log-level warn --concurrency 1 --use-dynamic-base-id
}
plane_begin() { contour_begin contour '{}'; }
entry() {
    k apply -f - >/dev/null <<END
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: root}
spec:
  virtualhost: {fqdn: $host}
  includes: [{name: $case, namespace: $case}]
END
}
before() {
    entry
    k apply -f - >/dev/null <<END
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: $case}
spec: {routes: [{services: [{name: $case, port: 80}]}]}
END
}
users_kind=HTTPProxy
users_route() {
    cat <<END
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: users}
spec:
  virtualhost: {fqdn: $host}
  routes:
    - {conditions: [{prefix: /old}], services: [{name: $case-primary, port: 80}]}
    - {services: [{name: $case-primary, port: 80, weight: 100}, {name: $case-canary, port: 80, weight: 0}]}
END
}
