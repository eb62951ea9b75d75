# alone: page
# deploy/MIGRATION.md: an observer beside Flagger, as its own program and chart are, the switch with the same values file in the middle of a release,
# and the way back in the middle of the next. Where that program could not be built, this chart stands for it, and there is no way back.
[ -x "$CLUSTER_CACHE/flagger" ] && original=$CLUSTER_CACHE/flagger-chart || original=''
cat >"$(tree)/values.yaml" <<YAML
meshProvider: kubernetes
logLevel: info
YAML
# The repository of Flagger's charts, as its users have added it.
helm() {
    local arguments=()
    for argument; do
        [ "$argument" != flagger/flagger ] || argument=$original
        arguments+=("$argument")
    done
    command helm "${arguments[@]}"
}
if [ -n "$original" ]; then
    helm install flagger flagger/flagger --namespace flagger-system --create-namespace --wait --timeout 90s -f "$(tree)/values.yaml"
else
    helm install flagger deploy/charts/flagger --namespace flagger-system --create-namespace --wait --timeout 90s -f "$(tree)/values.yaml" --set image.repository=registry.example.com/flagger-controller
fi
runs_image() { [[ $(kubectl -n flagger-system get deployment flagger -o jsonpath='{.spec.template.spec.containers[0].image}') == */$1:* ]]; } # NAME
podinfo 6.0.0
canary "interval: 10s, iterations: 3, threshold: 2"
comes Initialized
# Flagger says so a moment before its Service leads anywhere.
serves() { curl -sf -m 2 -o "$state/never-kept" "http://$(k get service podinfo -o jsonpath='{.spec.clusterIP}')/"; }
eventually serves
clients_at_service
typed deploy/MIGRATION.md 1
kubectl -n flagger-system rollout status deployment/flagger-observer --timeout 60s
if [ -n "$original" ]; then
    podinfo 6.7.0
    comes Progressing
    comes Succeeded
    observed() { kubectl -n flagger-system logs deployment/flagger-observer | grep -q "$1"; }
    eventually observed observed_agrees
    if observed observed_differs; then kubectl -n flagger-system logs deployment/flagger-observer | grep observed_differs | head -n 3; fi
fi
podinfo 6.0.1
comes Progressing
typed deploy/MIGRATION.md 2
runs_image flagger-controller
comes Succeeded
primary_runs 6.0.1
if [ -n "$original" ]; then
    podinfo 6.0.2
    comes Progressing
    typed deploy/MIGRATION.md 3
    runs_image flagger
    comes Succeeded
    primary_runs 6.0.2
    podinfo 6.1.0
    comes Progressing
    comes Succeeded
    primary_runs 6.1.0
    echo "measured there and back with Flagger $FLAGGER"
else
    echo 'measured the way back: skipped, there is no Flagger; test/setup --cluster builds it'
fi
clients_end # the Service goes with the Canary
k delete canary podinfo --timeout 60s
