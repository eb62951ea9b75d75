# alone: page
# deploy/README.md: with Helm, and with kubectl and an overlay.
typed deploy/README.md 1
kubectl -n flagger-system get deployment flagger-prometheus
swept
typed deploy/README.md 2
kubectl -n flagger-system rollout status deployment/flagger-prometheus --timeout 90s
