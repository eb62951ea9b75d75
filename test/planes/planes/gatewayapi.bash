# The Gateway API, as Contour with Envoy implements it: an HTTPRoute of the user's Gateway.
source test/planes/planes/contour.bash
provider=gatewayapi:v1
features=(weights ab_test mirror affinity blue_green rolled_back fields calls)
service=''

plane_begin() {
    kubectl create namespace infra >>"$state/log/kubectl.log"
    contour_begin gatewayapi 'gateway: {gatewayRef: {namespace: infra, name: gateway}}'
    kubectl apply -f - >>"$state/log/kubectl.log" <<END
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gateway, namespace: infra}
spec:
  gatewayClassName: contour
  listeners: [{name: http, protocol: HTTP, port: $((web - 8000)), allowedRoutes: {namespaces: {from: All}}}]
END
    calls_begin
}
# Its Envoy listens 8000 above the port that a Gateway says.
entry() { :; }

# The demo app does not speak HTTP/2, as gRPC does: at each pod's address, one Envoy takes that and hands it on.
calls_port=9899
calls_begin() {
    cat >"$state/calls.yaml" <<END
static_resources:
  listeners:
  - address: {socket_address: {address: 0.0.0.0, port_value: $calls_port}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          codec_type: HTTP2
          stat_prefix: calls
          route_config: {virtual_hosts: [{name: pods, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: pods}}]}]}
          http_filters:
          - name: envoy.filters.http.header_mutation
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation
              mutations:
                request_mutations:
                - append:
                    header: {key: x-envoy-original-dst-host, value: "%DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT%:9898"}
                    append_action: OVERWRITE_IF_EXISTS_OR_ADD
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
  - {name: pods, type: ORIGINAL_DST, lb_policy: CLUSTER_PROVIDED, original_dst_lb_config: {use_http_header: true}}
END
    start calls "$meshes/envoy" -c "$state/calls.yaml" --log-level warn --concurrency 1 --use-dynamic-base-id
}
