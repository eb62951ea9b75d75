# A Canary that goes leaves the app serving by itself, whatever it was doing.
deployment idle && deployment busy && deployment plain
canary idle gatewayapi:v1 "$STEPS" "" "revertOnDeletion: true"
canary busy gatewayapi:v1 "$STEPS, threshold: 100, webhooks: [$(hook hold rollout)]" "" "revertOnDeletion: true"
canary plain kubernetes "interval: 1s, threshold: 2, iterations: 2" "" "revertOnDeletion: true"
for name in idle busy plain; do comes Initialized '*' "$name"; done
refuses hold
release 2.0.0 busy
comes Progressing 50 busy
k delete canary --all --timeout="${LIMIT}s" >/dev/null
for name in idle busy plain; do
    is deployment "$name" '.spec.replicas >= 1 and .status.readyReplicas >= 1'
    is service "$name" ".spec.selector.app == \"$name\" and .metadata.ownerReferences == null"
done
primaries_gone() { [[ $(k get deployments,services -o name) != *-primary* ]]; }
eventually primaries_gone
eventually told "Terminated canary idle"
