# Somebody scales the primary to zero in mid-release, and the checks fail: it is brought up before it gets all traffic.
may_break pods endpoints
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 2, $RATE, webhooks: [$(hook hold rollout)]"
comes Initialized
refuses hold
release 2.0.0
comes Progressing 50
k scale deployment app-primary --replicas 0 >/dev/null
comes Failed 0
soon deployment app-primary '.status.readyReplicas >= 1'
runs app-primary 1.0.0
