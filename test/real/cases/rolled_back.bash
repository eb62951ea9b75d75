# A bad metric, and a version that is fixed: the next revision is another release.
deployment
canary app gatewayapi:v1 "$STEPS, $RATE"
comes Initialized
success_rate 98
release 2.0.0
comes Progressing 50
comes Failed 0
runs app-primary 1.0.0
soon deployment app '.spec.replicas == 0'
is canary app '.status.conditions[] | select(.type == "Promoted") | .status == "False" and .reason == "Failed"'
success_rate 100
release 2.0.1
comes Succeeded
runs app-primary 2.0.1
