# The Gateway API, as Envoy Gateway with Envoy implements it: it starts the Envoy of its version itself, which lies there already.
source test/meshes/dataplanes/gatewayapi.bash
programs=(envoy-gateway envoy)
GATEWAY=envoygateway
# No affinity: where backends of a rule get filters of their own, or lose them, it renames the rule's clusters, and Envoy drops the old
# ones before it has the new route. Requests of those 20 ms get a 503 (4 of 12,782, all in one moment).
features=(weights ab_test mirror blue_green rolled_back fields calls fractions steps)

plane_begin() {
    local home=$state/envoygateway
    mkdir -p "$home/data/envoy-versions/1.39.0/bin"
    ln -s "$meshes/envoy" "$home/data/envoy-versions/1.39.0/bin/envoy"
    kubectl apply --server-side -f "$meshes/contour-crd.yaml" -f "$meshes/envoy-gateway-crd.yaml" >>"$state/log/kubectl.log"
    kubectl wait --for=condition=established --timeout=30s crd --all >>"$state/log/kubectl.log"
    cat >"$home/config.yaml" <<END
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyGateway
gateway: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
provider:
  type: Custom
  custom:
    resource: {type: Kubernetes, kubernetes: {leaderElection: {disable: true}}}
    infrastructure:
      type: Host
      host: {configHome: $home/config, dataHome: $home/data, stateHome: $home/state, runtimeDir: $home/run}
logging: {level: {default: warn}}
END
    kubectl create namespace envoy-gateway-system >>"$state/log/kubectl.log"
    "$meshes/envoy-gateway" certgen --disable-topology-injector >>"$state/log/envoygateway.log" 2>&1
    certificates envoy-gateway "$home/certs"
    certificates envoy "$home/config/certs/envoy"
    # It looks for its own in /certs, which is not to be made on this machine: it has a root of its own, whose mounts no other
    # process sees, above all none that removes $state.
    mkdir "$home/over" "$home/root"
    # shellcheck disable=SC2016
    start envoygateway unshare --mount bash -euc 'mount -t tmpfs none "$1/over"
        mkdir "$1/over/upper" "$1/over/work"
        mount -t overlay none -o "lowerdir=/,upperdir=$1/over/upper,workdir=$1/over/work" "$1/root"
        cp -r "$1/certs" "$1/root/certs"
        for dir in /dev /proc /tmp; do mount --rbind "$dir" "$1/root$dir"; done
        exec chroot "$1/root" "${@:2}"' - "$home" "$meshes/envoy-gateway" server --config-path "$home/config.yaml"
    gateway_apply envoygateway gateway.envoyproxy.io/gatewayclass-controller "$web"
    calls_begin
}

certificates() { # SECRET FOLDER
    local file
    mkdir -p "$2"
    for file in ca.crt tls.crt tls.key; do
        kubectl get secret "$1" -n envoy-gateway-system -o json | gojq -r --arg file "$file" '.data[$file] | @base64d' >"$2/$file"
    done
}
