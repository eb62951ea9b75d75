# The annotations of the NGINX ingress controller, as Traefik serves them, which who leaves that controller goes on with: a copy of
# the user's Ingress for the canary. (Its own nginx balances in Lua, with libraries that Debian does not have.)
programs=(traefik) provider=nginx
features=(weights ab_test blue_green rolled_back adopted deleted)
service=''
field="ingressRef: {apiVersion: networking.k8s.io/v1, kind: Ingress, name: root}"
cookie='exact: canary' # by its name, whose value is `always`

plane_begin() {
    local look
    look=$(free_ports 1)
    kubectl apply -f - >>"$state/log/kubectl.log" <<END
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx}
END
    start nginx "$meshes/traefik" --providers.kubernetesingressnginx --entrypoints.web.address="127.0.0.1:$web" \
        --entrypoints.traefik.address="127.0.0.1:$look" --ping --global.checknewversion=false \
        --global.sendanonymoususage=false
    wait_for 30 nginx curl -sf "http://127.0.0.1:$look/ping"
}
entry() {
    k apply -f - >/dev/null <<END
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: root}
spec:
  ingressClassName: nginx
  rules:
    - host: $host
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: $case, port: {number: 80}}}}]}
END
}
before() { entry; }
