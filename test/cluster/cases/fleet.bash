# alone: last
# The daemon of a fleet from its image and manifests, with this cluster as its member by a kubeconfig in a Secret: an Application makes the Canary,
# and a new version goes through. No ingress controller runs here, so that clients ask at the Service. Waves and a member that is lost
# are in test/bats and test/crash.
needs controller
fleet_install
member() { kubectl -n "$SYSTEM" get secret flagger-fleet-member -o jsonpath="{.data.$1}" | base64 -d; }
token_there() { [ -n "$(member token)" ]; }
within 30 token_there
member 'ca\.crt' >"$state/member.crt"
paris=$state/paris.kubeconfig
kubectl config --kubeconfig "$paris" set-cluster paris --server="https://$NODE_IP:6443" --certificate-authority="$state/member.crt" --embed-certs
kubectl config --kubeconfig "$paris" set-credentials fleet --token="$(member token)"
kubectl config --kubeconfig "$paris" set-context paris --cluster=paris --user=fleet
kubectl config --kubeconfig "$paris" use-context paris
podinfo 6.0.0
k expose deployment podinfo --port 9898
k apply -f deploy/fleet/member/releases.yaml
k create secret generic paris --from-file=value="$paris"
k label secret paris flagger.app/cluster=paris flagger.app/fleet=europe env=prod
k apply -f - <<YAML
apiVersion: apps.kurator.dev/v1alpha1
kind: Application
metadata: {name: shop}
spec:
  destination: {fleet: europe, clusterSelector: {matchLabels: {env: prod}}}
  syncPolicies:
  - rollout:
      trafficRoutingProvider: nginx
      workload: {apiVersion: apps/v1, kind: Deployment, name: podinfo, namespace: $case}
      serviceName: podinfo
      port: 9898
      rolloutPolicy:
        trafficRouting: {host: $case.example.com, canaryStrategy: {maxWeight: 50, stepWeight: 50}}
        trafficAnalysis: {checkIntervalSeconds: 5, checkFailedTimes: 3}
YAML
comes Initialized
client new "http://podinfo.$case:9898/"
podinfo 6.0.1
comes Succeeded
primary_runs 6.0.1
ready() { [ "$(k get application shop -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = True ]; }
eventually ready
clients_end
k delete application shop --timeout 60s
kubectl -n "$SYSTEM" delete deployment flagger-fleet
