# alone: page
# The charts in a cluster that reaches one registry of its own and no other: each is packed by `helm package`, installed from the archive with its
# values-airgapped.yaml, and tested by `helm test`; a release goes through with the load tester and at the gate.
kubectl -n clients run "$case-pull" --image=docker.io/library/client:1 --restart=Never -- http://127.0.0.1/
kubectl -n clients wait pod "$case-pull" --for=condition=Ready --timeout=60s
kubectl -n clients delete pod "$case-pull" --now
for image in prom/prometheus:v2.53.5 library/postgres:15; do copied_image "$image" "$(basename "${image%:*}")"; done
for version in 6.0.0 6.0.1; do copied_image "stefanprodan/podinfo:$version" podinfo; done
# All names led to the registry; from here on that of the cluster's own does.
hosts=$state/certs.d
mkdir "$hosts/registry.example.com"
cp "$hosts/_default/hosts.toml" "$hosts/registry.example.com/"
mv "$hosts/_default" "$hosts/.default"
mkdir "$hosts/_default"
printf 'server = "http://127.0.0.1:9"\n[host."http://127.0.0.1:9"]\n  capabilities = ["pull", "resolve"]\n' >"$hosts/_default/hosts.toml"
back() { rm -rf "$hosts/_default" "$hosts/registry.example.com" && mv "$hosts/.default" "$hosts/_default"; }
trap back EXIT
folder=$(tree)
kubectl create namespace flagger
password=$(openssl rand -hex 24) check=$(openssl rand -hex 24) alice=$(openssl rand -hex 24)
kubectl -n flagger create secret generic flagger-gate-postgres --from-literal=password="$password"
kubectl -n flagger create secret generic flagger-gate --from-literal=database="postgresql://gate:$password@flagger-gate-postgres/gates" \
    --from-literal=tokens="$(printf '%s check controller\n%s operate alice\n' "$check" "$alice")"
gojq --yaml-input --yaml-output '.' "$folder/deploy/postgres/small/postgres.yaml" | sed 's#image: .*postgres:#image: registry.example.com/postgres:#' | kubectl -n flagger apply -f -
kubectl -n flagger rollout status statefulset/flagger-gate-postgres --timeout 90s
installed() { # CHART NAMESPACE [HELM-ARGUMENT...]
    local chart=$1 namespace=$2 name
    shift 2
    name=flagger-${chart#flagger}
    name=${name%-}
    helm package "$folder/deploy/charts/$chart" --destination "$state/packed.$case"
    helm install "$name" "$state/packed.$case"/"$(sed -n 's/^name: //p' "$folder/deploy/charts/$chart/Chart.yaml")"-[0-9]*.tgz --namespace "$namespace" --create-namespace \
        --wait --timeout 120s -f "$folder/deploy/charts/$chart/values-airgapped.yaml" --set image.pullPolicy=Always "$@"
    helm test "$name" --namespace "$namespace" --timeout 60s
}
installed flagger flagger-system --set meshProvider=kubernetes --set prometheus.install=true --set 'extraArgs={--min-analysis-interval=5s}'
installed gate flagger
installed loadtester flagger
export REPOSITORY=registry.example.com/podinfo
podinfo 6.0.0
k create secret generic gate-token --from-literal=Authorization="Bearer $check"
canary "$CHECKED, webhooks: [
    {name: load, type: rollout, url: 'http://flagger-loadtester.flagger/', metadata: {cmd: 'hey -z 5s -q 5 -c 1 http://podinfo-canary.$case/'}},
    {name: approval, type: confirm-promotion, url: 'http://flagger-gate.flagger/gate/check', headersFrom: [{secretRef: {name: gate-token}}]}]"
comes Initialized
clients_at_service
podinfo 6.0.1
comes WaitingPromotion
revision=$(kubectl -n flagger exec deployment/flagger-loadtester -- curl -sS -H "Authorization: Bearer $alice" "http://flagger-gate.flagger/v1/gates/$case/podinfo" | gojq -er '.gates[0].waits[0].revision')
kubectl -n flagger exec deployment/flagger-loadtester -- curl -sS --fail-with-body -H "Authorization: Bearer $alice" -H 'Content-Type: application/json' \
    "http://flagger-gate.flagger/v1/gates/$case/podinfo/approve" -d "{\"revision\": \"$revision\"}"
comes Succeeded
primary_runs 6.0.1
images=$(for namespace in flagger-system flagger; do kubectl -n "$namespace" get pods -o jsonpath='{range .items[*]}{.spec.containers[*].image}{"\n"}{end}'; done | sort -u)
! grep -v '^registry[.]example[.]com/' <<<"$images" || fail 'not all images are of the one registry'
echo "measured $(wc -l <<<"$images") images, all of the one registry"
clients_end
