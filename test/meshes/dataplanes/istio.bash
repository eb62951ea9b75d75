# Istio's control plane with Envoy as its ingress gateway: a VirtualService at the user's Gateway. What only Istio's own build of Envoy
# has is left out: its filters for telemetry and for the protocol between sidecars.
programs=(istiod envoy) provider=istio
features=(weights ab_test mirror affinity blue_green rolled_back fields adopted deleted fractions steps)
service='gateways: [istio-system/gateway], timeout: 15s, retries: {attempts: 3, perTryTimeout: 5s}' field=''

plane_begin() {
    local xds http look ports
    mapfile -t ports < <(free_ports 3)
    xds=${ports[0]} http=${ports[1]} look=${ports[2]}
    kubectl apply --server-side -f "$meshes/istiod-crd.yaml" >>"$state/log/kubectl.log"
    kubectl wait --for=condition=established --timeout=30s crd --all >>"$state/log/kubectl.log"
    kubectl create namespace istio-system >>"$state/log/kubectl.log"
    echo 'enableAutoMtls: false' >"$state/istio-mesh.yaml"
    POD_NAMESPACE=istio-system PILOT_ENABLE_METADATA_EXCHANGE=false PILOT_ENABLE_ALPN_FILTER=false ENABLE_CA_SERVER=false INJECT_ENABLED=false \
        start istiod "$meshes/istiod" discovery --kubeconfig "$KUBECONFIG" --meshConfig "$state/istio-mesh.yaml" --ctrlz_port 0 \
        --grpcAddr "127.0.0.1:$xds" --httpAddr "127.0.0.1:$http" --monitoringAddr "127.0.0.1:$look" --httpsAddr '' --secureGRPCAddr ''
    wait_for 60 istiod curl -sf "http://127.0.0.1:$http/ready"
    kubectl apply -f - >>"$state/log/kubectl.log" <<END
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: gateway, namespace: istio-system}
spec:
  selector: {istio: ingress}
  servers: [{port: {number: $web, name: http, protocol: HTTP}, hosts: ["*"]}]
END
    envoy_bootstrap "$xds" >"$state/istio-envoy.yaml"
    start istio-envoy "$meshes/envoy" -c "$state/istio-envoy.yaml" --log-level warn --concurrency 1 --use-dynamic-base-id
}
envoy_bootstrap() { # XDS-PORT
    cat <<END
node:
  id: router~127.0.0.1~ingress.istio-system~istio-system.svc.cluster.local
  cluster: ingress.istio-system
  metadata: {CLUSTER_ID: Kubernetes, NAMESPACE: istio-system, LABELS: {istio: ingress}}
dynamic_resources:
  lds_config: {ads: {}, resource_api_version: V3}
  cds_config: {ads: {}, resource_api_version: V3}
  ads_config: {api_type: GRPC, transport_api_version: V3, grpc_services: [{envoy_grpc: {cluster_name: istiod}}]}
static_resources:
  clusters:
  - name: istiod
    type: STATIC
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment:
      cluster_name: istiod
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: $1}}}}]}]
END
}
entry() { :; }
before() {
    k apply -f - >/dev/null <<END
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: $case}
spec:
  hosts: [$host]
  gateways: [istio-system/gateway]
  http: [{route: [{destination: {host: $case, port: {number: 80}}}]}]
END
}
