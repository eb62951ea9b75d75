# The Gateway API, as Contour with Envoy implements it: an HTTPRoute of the user's Gateway.
source test/meshes/dataplanes/contour.bash
provider=gatewayapi:v1
features=(weights ab_test mirror affinity blue_green rolled_back fields calls refs fractions steps)
service='' GATEWAY=gateway

plane_begin() {
    contour_begin gatewayapi 'gateway: {gatewayRef: {namespace: infra, name: gateway}}'
    gateway_apply gateway projectcontour.io/gateway-controller $((web - 8000)) # above which its Envoy listens
    calls_begin
}
gateway_apply() { # NAME CONTROLLER PORT
    kubectl apply -f - >>"$state/log/kubectl.log" <<END
apiVersion: v1
kind: Namespace
metadata: {name: infra}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: $1}
spec: {controllerName: $2}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: $1, namespace: infra}
spec:
  gatewayClassName: $1
  listeners: [{name: http, protocol: HTTP, port: $3, allowedRoutes: {namespaces: {from: All}}}]
END
}
entry() { :; }
users_kind=HTTPRoute
users_route() {
    cat <<END
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: users}
spec:
  parentRefs: [{name: $GATEWAY, namespace: infra}]
  hostnames: [$host]
  rules:
    - {matches: [{path: {type: PathPrefix, value: /old}}], backendRefs: [{name: $case-primary, port: 80}]}
    - {backendRefs: [{name: $case-primary, port: 80, weight: 100}, {name: $case-canary, port: 80, weight: 0}]}
END
}

# The demo app does not speak HTTP/2, as gRPC does: at each pod's address, one Envoy takes that and hands it on.
calls_port=9899
calls_begin() {
    [ ! -e "$state/calls.yaml" ] || return 0
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
