# The primary has copies of the budgets that the Canary names: they follow, come and go without a release, and go with the Canary.
budget() { # NAME SPEC
    k apply -f - >/dev/null <<<$'apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: '"$1"$', labels: {team: a}}\nspec: {'"$2}"
}
deployment
budget web "minAvailable: 1, selector: {matchLabels: {app: app}}"
budget api "maxUnavailable: 50%, selector: {matchExpressions: [{key: app, operator: In, values: [app, other]}]}"
canary app gatewayapi:v1 "$STEPS" "" $'revertOnDeletion: true\n  companions: [{kind: PodDisruptionBudget, name: web}]'
comes Initialized
soon pdb web-primary '.spec == {minAvailable: 1, selector: {matchLabels: {app: "app-primary"}}} and .metadata.ownerReferences[0].name == "app" and .metadata.labels.team == "a"'
soon canary app '[.status.conditions[] | select(.type == "CompanionsFit")][0].message | contains("api")'
change canary app '{"spec": {"companions": [{"kind": "PodDisruptionBudget", "name": "web"}, {"kind": "PodDisruptionBudget", "name": "api"}]}}'
soon pdb api-primary '.spec.selector == {matchExpressions: [{key: "app", operator: "In", values: ["app-primary"]}]}'
soon canary app '[.status.conditions[] | select(.type == "CompanionsFit")] == []'
change pdb web '{"spec": {"minAvailable": null, "maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}}'
soon pdb web-primary '.spec == {maxUnavailable: 1, selector: {matchLabels: {app: "app-primary"}}, unhealthyPodEvictionPolicy: "AlwaysAllow"}'
# A NetworkPolicy likewise; what it says of peers stays.
k apply -f - >/dev/null <<END
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: wall}
spec: {podSelector: {matchLabels: {app: app}}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}
END
change canary app '{"spec": {"companions": [{"kind": "NetworkPolicy", "name": "wall"}]}}'
soon networkpolicy wall-primary '.spec == {podSelector: {matchLabels: {app: "app-primary"}}, policyTypes: ["Ingress"], ingress: [{from: [{podSelector: {matchLabels: {app: "web"}}}]}]} and .metadata.ownerReferences[0].name == "app"'
change networkpolicy wall '{"spec": {"ingress": []}}'
soon networkpolicy wall-primary '.spec | has("ingress") | not'
# The API server finds one budget of a pod that serves, and keeps to it.
evict() {
    k create --raw "/api/v1/namespaces/$case/pods/$1/eviction" -f - 2>&1 <<<"{\"apiVersion\": \"policy/v1\", \"kind\": \"Eviction\", \"metadata\": {\"name\": \"$1\"}}"
}
change canary app '{"spec": {"companions": [{"kind": "PodDisruptionBudget", "name": "web"}]}}'
change pdb web '{"spec": {"maxUnavailable": null, "minAvailable": "100%"}}'
soon pdb web-primary '.spec.minAvailable == "100%" and .status.disruptionsAllowed == 0 and .status.expectedPods > 0 and .status.observedGeneration == .metadata.generation'
kept() {
    local said
    said=$(evict "$(k get pods -l app=app-primary -o jsonpath='{.items[0].metadata.name}')") || true
    [[ $said == *"would violate the pod's disruption budget"* ]]
}
eventually kept
change pdb web '{"spec": {"minAvailable": null, "maxUnavailable": 1}}'
k delete pdb web >/dev/null
soon canary app '.status.conditions[] | select(.type == "CompanionsCopied") | .reason == "SourceMissing"'
copies() { [[ $(k get pdb -o name | grep -c -- -primary) -eq $1 ]]; }
eventually copies 0
release 2.0.0
comes Succeeded
runs app-primary 2.0.0
budget web "minAvailable: 1, selector: {matchLabels: {app: app}}"
soon pdb web-primary '.spec.minAvailable == 1'
refuse() { ! k patch canary app --type merge -p '{"spec": {"companions": [{"kind": "Secret", "name": "web"}]}}' 2>/dev/null; }
refuse
k delete canary app --timeout="${LIMIT}s" >/dev/null
eventually copies 0
[[ $(k get pdb -o name | wc -l) -eq 2 ]]
[[ $(k get networkpolicies -o name | wc -l) -eq 1 ]]
