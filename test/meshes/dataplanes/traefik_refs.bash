# Traefik with routes of the user, which name a Service without pods between releases: it is started to take those.
source test/meshes/dataplanes/traefik.bash
features=(refs)
plane_begin() { traefik_begin traefik-refs --providers.kubernetescrd.allowEmptyServices=true; }

users_kind=IngressRoute
users_route() {
    cat <<END
apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: users}
spec:
  entryPoints: [web]
  routes:
    - {kind: Rule, match: 'Host(\`$host\`) && PathPrefix(\`/old\`)', services: [{name: $case-primary, port: 80}]}
    - {kind: Rule, match: 'Host(\`$host\`)', services: [{name: $case-primary, port: 80, weight: 100}, {name: $case-canary, port: 80, weight: 0}]}
END
}
