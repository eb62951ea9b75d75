# Routes of the user, of each mesh: a tool owns them by server-side apply and writes its file again every second, as Flux and
# Argo CD do, while three versions are released, one of which fails. Nothing but two weights ever differs from the file.
kubectl apply --server-side -f test/data/crds/traefik.yaml -f test/data/crds/contour.yaml -f test/data/crds/istio.yaml >>"$state/log/kubectl.log" 2>&1
kubectl wait --for=condition=established --timeout=30s crd --all >>"$state/log/kubectl.log"
declare -A provider=([web]=gatewayapi:v1 [mesh]=istio [edge]=traefik [part]=traefik [root]=contour)
declare -A kind=([web]=HTTPRoute [mesh]=VirtualService [edge]=IngressRoute [part]=TraefikService [root]=HTTPProxy)
declare -A rules=([web]='[1, all]' [mesh]='[all]' [edge]='[0, 2]' [part]=null [root]='[1]')

both() { echo "{name: $1-primary, port: 80, weight: 100}, {name: $1-canary, port: 80, weight: 0}"; }
hosts() { echo "{destination: {host: $1-primary}, weight: 100}, {destination: {host: $1-canary}, weight: 0}"; }
file() { # APP: as it stands in Git
    local metadata="{name: users-$1, labels: {team: web}, annotations: {note: kept}}"
    case $1 in
    web)
        cat <<END
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: $metadata
spec:
  parentRefs: [{name: gateway, namespace: infra}]
  hostnames: [shop.example.com]
  rules:
    - {matches: [{path: {type: PathPrefix, value: /old}}], backendRefs: [{name: web, port: 80, weight: 7}]}
    - {matches: [{path: {type: PathPrefix, value: /api}}], backendRefs: [$(both web)]}
    - {name: other, matches: [{path: {type: PathPrefix, value: /x}}], backendRefs: [$(both web)]}
    - {name: all, filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: x-of, value: user}]}}], backendRefs: [$(both web)]}
END
        ;;
    mesh)
        cat <<END
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: $metadata
spec:
  hosts: [shop.example.com]
  http:
    - {name: old, match: [{uri: {prefix: /old}}], route: [{destination: {host: mesh}}]}
    - {name: all, timeout: 3s, route: [$(hosts mesh)]}
END
        ;;
    edge)
        cat <<END
apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: $metadata
spec:
  entryPoints: [web]
  routes:
    - {kind: Rule, match: 'Host(\`a.example.com\`)', services: [$(both edge)]}
    - {kind: Rule, match: 'Host(\`b.example.com\`)', services: [{name: other, port: 80}]}
    - {kind: Rule, match: 'Host(\`c.example.com\`)', middlewares: [{name: limit}], services: [$(both edge)]}
END
        ;;
    part)
        cat <<END
apiVersion: traefik.io/v1alpha1
kind: TraefikService
metadata: $metadata
spec: {weighted: {sticky: {cookie: {name: c}}, services: [$(both part)]}}
END
        ;;
    root)
        cat <<END
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: $metadata
spec:
  virtualhost: {fqdn: shop.example.com}
  routes:
    - {conditions: [{prefix: /old}], services: [{name: other, port: 80, weight: 3}]}
    - {timeoutPolicy: {response: 5s}, services: [$(both root)]}
END
        ;;
    esac
}
# The object without what the API server keeps, and without the two weights.
rest() { # APP
    k get "${kind[$1]}" "users-$1" -o json | gojq 'del(.status, .metadata.managedFields, .metadata.resourceVersion, .metadata.generation)
        | walk(if type == "object" and ((.name // .destination.host // "") | type == "string" and test("-(primary|canary)$")) then del(.weight) else . end)'
}
canaries_share() { k get "${kind[$1]}" "users-$1" -o json | gojq -c '[.. | objects | select((.name // .destination.host // "") | type == "string" and endswith("-canary")) | .weight]'; }
shares_are() { [ "$(canaries_share "$1")" = "$2" ]; }
apply_all() { for app in "${!kind[@]}"; do file "$app" && echo ---; done | k apply --server-side --force-conflicts --field-manager=flux -f -; }
keep_applying() {
    while [ ! -e "$state/stop.$case" ]; do
        apply_all >>"$state/applied.$case" 2>&1 || echo failed >>"$state/applied.$case"
        read -r -t 1 <>"$state/never" || true
    done
}

apply_all >/dev/null
for app in "${!kind[@]}"; do
    deployment "$app"
    canary "$app" "${provider[$app]}" "interval: 2s, stepWeight: 25, maxWeight: 50, threshold: 2, webhooks: [$(hook check rollout)]" \
        "routeRefs: [{kind: ${kind[$app]}, name: users-$app, rules: ${rules[$app]}}]"
done
for app in "${!kind[@]}"; do comes Initialized 0 "$app"; done
for app in "${!kind[@]}"; do rest "$app" >"$state/before.$case.$app"; done
keep_applying &
applying=$!
declare -A sinces=()
for version in 2.0.0 3.0.0 4.0.0; do
    end=Succeeded
    if [ "$version" = 3.0.0 ]; then refuses check && end=Failed; else allows check; fi
    for app in "${!kind[@]}"; do release "$version" "$app" && sinces[$app]=$since; done
    for app in "${!kind[@]}"; do
        since=${sinces[$app]}
        [ "$end" = Failed ] || comes Progressing 50 "$app"
        comes "$end" 0 "$app"
        rest "$app" | diff "$state/before.$case.$app" -
    done
done
touch "$state/stop.$case"
wait "$applying"
grep -q serverside-applied "$state/applied.$case"
if grep -vE ' serverside-applied$' "$state/applied.$case"; then fail "the tool could not apply its file"; fi
eventually shares_are web '[0,0,0]'
eventually shares_are edge '[0,0]'
for app in mesh part root; do eventually shares_are "$app" '[0]'; done
# Nobody else owns it.
k get httproute users-web -o json | gojq -e '.metadata | (.ownerReferences | not) and .labels == {team: "web"} and .annotations == {note: "kept"}' >/dev/null
