# Traefik itself, to which the user's IngressRoute leads; it takes the weights of the TraefikService.
mapfile -t ports < <(free_ports 2)
web=${ports[0]} look=${ports[1]}
kubectl apply --server-side -f "$meshes/traefik-crd.yaml" >/dev/null
kubectl wait --for=condition=established --timeout=30s crd --all >/dev/null
start traefik "$meshes/traefik" --providers.kubernetescrd --entrypoints.web.address="127.0.0.1:$web" \
    --entrypoints.traefik.address="127.0.0.1:$look" --api.insecure --ping --global.checknewversion=false \
    --global.sendanonymoususage=false
trap 'end traefik' EXIT
wait_for 30 traefik curl -sf "http://127.0.0.1:$look/ping"

# Whether Traefik has these shares for the primary and the canary; a service that it leaves out has none.
splits() { # PRIMARY CANARY
    curl -sf "http://127.0.0.1:$look/api/http/services" | gojq -e --arg ns "$case" --argjson want "[$1, $2]" '
        any(.[] | .weighted.services // empty;
            def share($end): ([.[] | select(.name | test($end)) | .weight] | add) // 0;
            any(.[]; .name | startswith($ns + "-app-primary-")) and [share("app-primary-"), share("app-canary-")] == $want)'
} >/dev/null
answers_with() { [ "$(curl -s -m 5 -o /dev/null -w '%header{x-demo-version}' -H 'Host: app.example.com' "http://127.0.0.1:$web/version")" = "$1" ]; }

GRACE=6
deployment
k apply -f - >/dev/null <<END
apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: app}
spec:
  entryPoints: [web]
  routes:
    - {kind: Rule, match: Host(\`app.example.com\`), services: [{kind: TraefikService, name: app}]}
END
canary app traefik 'interval: 8s, stepWeight: 20, maxWeight: 60, threshold: 3'
comes Initialized
eventually answers_with 1.0.0
client_begin app.example.com "$web"
share_is 0 2.0.0
release 2.0.0
for weight in 20 40 60; do
    comes Progressing "$weight"
    eventually splits $((100 - weight)) "$weight"
    share_is "$weight" 2.0.0
done
comes Succeeded 0
eventually splits 100 0
share_is 100 2.0.0
runs app-primary 2.0.0
soon deployment app '.spec.replicas == 0'
client_end
