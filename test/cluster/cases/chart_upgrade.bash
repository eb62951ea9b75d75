# alone: last
# The chart's own upgrade, an upgrade that fails, and a rollback, each in the middle of a release.
needs controller
podinfo 6.0.0
canary "interval: 5s, iterations: 4, threshold: 3"
comes Initialized
clients_at_service
podinfo 6.0.1
comes Progressing
controller_install --set logLevel=debug
comes Succeeded
podinfo 6.0.2
comes Progressing
if controller_install --set image.tag=none --timeout 15s; then fail 'an image that does not exist was installed'; fi
# Deployments with one replica are replaced by Recreate: until the rollback nobody looks after the release, and nobody notices.
helm rollback flagger --namespace "$SYSTEM" --wait --timeout 60s
comes Succeeded
primary_runs 6.0.2
# What the page says for later: the values file again, never --reuse-values behind a failed upgrade.
kubectl -n "$SYSTEM" get deployment flagger-prometheus -o name
