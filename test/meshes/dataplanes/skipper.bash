# Skipper: a copy of the user's Ingress, with weights.
programs=(skipper) provider=skipper
features=(weights blue_green rolled_back adopted deleted)
service=''
field="ingressRef: {apiVersion: networking.k8s.io/v1, kind: Ingress, name: root}"

plane_begin() {
    local look
    look=$(free_ports 1)
    echo admin-token >"$state/skipper.token"
    SSL_CERT_FILE=$state/pki/apiserver.crt start skipper "$meshes/skipper" -kubernetes -kubernetes-url "https://127.0.0.1:$api" \
        -kubernetes-token-file "$state/skipper.token" -kubernetes-https-redirect=false -kubernetes-path-mode path-prefix \
        -enable-kubernetes-endpointslices -source-poll-timeout 250 -address "127.0.0.1:$web" -support-listener "127.0.0.1:$look" \
        -wait-first-route-load -access-log-disabled
    wait_for 30 skipper curl -sf "http://127.0.0.1:$look/metrics"
}
entry() {
    k apply -f - >/dev/null <<END
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: root}
spec:
  rules:
    - host: $host
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: $case, port: {number: 80}}}}]}
END
}
before() { entry; }
