# alone: page
# deploy/MIGRATION.md: an observer beside what is installed, the switch with the same values file in the middle of a release. What is installed
# first is this chart under its name, since no registry here has Flagger's image; test/real/run flagger has the program.
cat >"$(tree)/values.yaml" <<YAML
meshProvider: kubernetes
logLevel: info
YAML
helm install flagger deploy/charts/flagger --namespace flagger-system --create-namespace --wait -f "$(tree)/values.yaml" --set image.repository=registry.example.com/flagger-controller
podinfo 6.0.0
canary "interval: 10s, iterations: 3, threshold: 2"
comes Initialized
clients_at_service
typed deploy/MIGRATION.md 1
kubectl -n flagger-system rollout status deployment/flagger-observer --timeout 60s
podinfo 6.0.1
comes Progressing
typed deploy/MIGRATION.md 2
comes Succeeded
primary_runs 6.0.1
k delete canary podinfo --timeout 60s
clients_end
