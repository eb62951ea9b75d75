# alone: last
# deploy/postgres/cloudnativepg with that operator: the gate over three instances; its primary is killed while a release waits, nothing is let through
# meanwhile, and what is approved afterwards goes on. The operator is its makers' program with their manifest, the instances Debian's PostgreSQL 15.
[ -x "$CLUSTER_CACHE/cloudnative-pg" ] || skipped 'there is no operator of CloudNativePG; test/setup --cluster builds it'
needs controller loadtester
# Volumes of its own: the gate of the other cases has some of those that are there.
for n in 5 6 7; do volume "$n"; done
sed 's#^\( *\)- name: MONITORING_QUERIES_CONFIGMAP#\1- {name: POSTGRES_IMAGE_NAME, value: "ghcr.io/cloudnative-pg/postgresql:15"}\n&#; s/imagePullPolicy: Always/imagePullPolicy: IfNotPresent/' \
    "$CLUSTER_CACHE/cloudnative-pg.yaml" | kubectl apply --server-side -f - >"$state/never-kept"
kubectl -n cnpg-system rollout status deployment/cnpg-controller-manager --timeout 90s
alice=$(openssl rand -hex 24) check=$(openssl rand -hex 24)
k create secret generic flagger-gate --from-literal=tokens="$(printf '%s check controller\n%s operate alice\n' "$check" "$alice")"
folder=$(tree)
printf 'resources: [deploy/postgres/cloudnativepg]\nnamespace: %s\nimages: [{name: flagger-gate, newName: registry.example.com/flagger-gate}]\n' "$case" >"$folder/kustomization.yaml"
placed() { kubectl apply -k "$folder"; }
within 60 placed # once the webhooks of the operator answer
database() { k get cluster flagger-gate-db -o jsonpath="{.status.$1}"; }
three() { [ "$(database readyInstances)" = 3 ]; }
within 240 three
k rollout status deployment/flagger-gate --timeout 90s
podinfo 6.0.0
k create secret generic gate-token --from-literal=Authorization="Bearer $check"
canary "$CHECKED, webhooks: [{name: approval, type: confirm-promotion, url: 'http://flagger-gate.$case/gate/check', headersFrom: [{secretRef: {name: gate-token}}]}]"
comes Initialized
clients_at_service
gate() { in_pod curl -sS --fail-with-body -m 10 -H "Authorization: Bearer $alice" -H 'Content-Type: application/json' "http://flagger-gate.$case$1" "${@:2}"; }
approved() { gate "/v1/gates/$case/podinfo/approve" -d "{\"revision\": \"$(gate "/v1/gates/$case/podinfo" | gojq -er '.gates[0].waits[0].revision')\"}"; }
podinfo 6.0.1
comes WaitingPromotion
before=$(database currentPrimary)
k delete pod "$before" --grace-period=0 --force
moved() { [ "$(database currentPrimary)" != "$before" ] && three; }
within 240 moved
phase_is WaitingPromotion || fail "while its database failed over the gate let the release through: $(phase)"
eventually approved
comes Succeeded
primary_runs 6.0.1
k exec deployment/flagger-gate -- flagger-gate verify --database-file /etc/gate/database
echo "measured primary $before, then $(database currentPrimary)"
clients_end
kubectl delete -k "$folder" --timeout 90s
kubectl delete namespace cnpg-system --wait=false
