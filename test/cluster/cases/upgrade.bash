# alone: page
# From what was released before to what is here, in the middle of a release that waits at the gate, and back by `helm rollback`. Before is the last tag of
# git, or the commit that $FLAGGER_CLUSTER_FROM names: its own charts and manifests, and the images that its own Dockerfile builds.
[ -d "$state/before" ] || skipped 'git has no tag that an upgrade could begin at; FLAGGER_CLUSTER_FROM=COMMIT test/cluster/run upgrade begins at a commit'
before=$state/before
controller() { # FOLDER TAG
    helm upgrade --install flagger "$1/deploy/charts/flagger" --namespace "$SYSTEM" --create-namespace --wait --timeout 120s \
        --set image.repository=registry.example.com/flagger-controller --set image.tag="$2" --set meshProvider=kubernetes --set 'extraArgs={--min-analysis-interval=5s}'
}
gate_of() { # FOLDER TAG
    printf 'resources: [deploy/postgres/small]\nnamespace: flagger\nimages: [{name: flagger-gate, newName: registry.example.com/flagger-gate, newTag: "%s"}]\n' "$2" >"$1/kustomization.yaml"
    kubectl apply -k "$1"
    kubectl -n flagger rollout status statefulset/flagger-gate-postgres deployment/flagger-gate --timeout 120s
}
controller "$before" before
kubectl create namespace flagger
password=$(openssl rand -hex 24) check=$(openssl rand -hex 24) alice=$(openssl rand -hex 24)
kubectl -n flagger create secret generic flagger-gate-postgres --from-literal=password="$password"
kubectl -n flagger create secret generic flagger-gate --from-literal=database="postgresql://gate:$password@flagger-gate-postgres/gates" \
    --from-literal=tokens="$(printf '%s check controller\n%s operate alice\n' "$check" "$alice")"
gate_of "$before" before
podinfo 6.0.0
k create secret generic gate-token --from-literal=Authorization="Bearer $check"
canary "$CHECKED, webhooks: [{name: approval, type: confirm-promotion, url: 'http://flagger-gate.flagger/gate/check', headersFrom: [{secretRef: {name: gate-token}}]}]"
comes Initialized
clients_at_service
address=$(kubectl -n flagger get service flagger-gate -o jsonpath='{.spec.clusterIP}')
approved() {
    local gate="http://$address/v1/gates/$case/podinfo" revision
    revision=$(curl -sS --fail-with-body -m 10 -H "Authorization: Bearer $alice" "$gate" | gojq -er '.gates[0].waits[0].revision') &&
        curl -sS --fail-with-body -m 10 -H "Authorization: Bearer $alice" -H 'Content-Type: application/json' "$gate/approve" -d "{\"revision\": \"$revision\"}" -o "$state/never-kept"
}
release() { # VERSION [COMMAND...]: the command while it waits at the gate
    podinfo "$1"
    comes WaitingPromotion
    "${@:2}"
    eventually approved
    comes Succeeded
    primary_runs "$1"
}
pods() { k get pods -l app=podinfo-primary -o jsonpath='{.items[*].metadata.name}'; }
release 6.0.1
serving=$(pods)
forward() {
    folder=$(tree)
    kubectl apply --server-side --force-conflicts -f "$folder/proto/crd"
    controller "$folder" 0.1.0
    gate_of "$folder" 0.1.0
    [ "$(pods)" = "$serving" ] || fail 'the upgrade has replaced the pods that serve'
    phase_is WaitingPromotion || fail "the upgrade has ended the wait: $(phase)"
}
release 6.0.2 forward
release 6.1.0
back() { helm rollback flagger --namespace "$SYSTEM" --wait --timeout 90s && gate_of "$before" before; }
release 6.7.0 back
release 6.7.1
clients_end
echo "measured from $(cat "$before/commit") and back"
