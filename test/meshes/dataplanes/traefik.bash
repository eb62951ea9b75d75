# Traefik: a TraefikService, to which the user's IngressRoute leads.
programs=(traefik) provider=traefik
features=(weights blue_green rolled_back deleted fractions)
service='' field=''

# traefik_begin NAME ARGUMENT...
traefik_begin() {
    local name=$1 look
    shift
    look=$(free_ports 1)
    kubectl apply --server-side -f "$meshes/traefik-crd.yaml" >>"$state/log/kubectl.log"
    kubectl wait --for=condition=established --timeout=30s crd --all >>"$state/log/kubectl.log"
    start "$name" "$meshes/traefik" --providers.kubernetescrd --entrypoints.web.address="127.0.0.1:$web" \
        --entrypoints.traefik.address="127.0.0.1:$look" --ping --global.checknewversion=false \
        --global.sendanonymoususage=false "$@"
    wait_for 30 "$name" curl -sf "http://127.0.0.1:$look/ping"
}
plane_begin() { traefik_begin traefik; }
entry() {
    k apply -f - >/dev/null <<END
apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: root}
spec:
  entryPoints: [web]
  routes:
    - {kind: Rule, match: Host(\`$host\`), services: [{kind: TraefikService, name: $case}]}
END
}
