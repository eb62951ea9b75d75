# A namespace with a Canary in the middle of a release can be deleted.
kubectl create namespace "$case-gone" >/dev/null
outer=$case
case=$case-gone
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, webhooks: [$(hook hold rollout)]" "" "revertOnDeletion: true"
comes Initialized
refuses hold
release 2.0.0
comes Progressing 50
# The namespace's own controller looks again after longer and longer pauses.
kubectl delete namespace "$case" --timeout=150s >/dev/null
case=$outer
touch "$state/history/$case.history"
