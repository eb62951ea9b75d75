# More traffic at each step, then the promotion; kubectl can wait for its end.
deployment
canary app gatewayapi:v1 "interval: 1s, stepWeight: 20, maxWeight: 60, threshold: 3, $RATE"
comes Initialized
k wait canary/app --for=condition=promoted --timeout=10s
routes app '[.[0].backendRefs[] | {(.name): .weight}] | add == {"app-primary": 100, "app-canary": 0}'
release 2.0.0
comes Progressing 20
comes Progressing 40
comes Progressing 60
comes Promoting
comes Finalising
comes Succeeded 0
k wait canary/app --for=condition=promoted --timeout=10s
runs app-primary 2.0.0
is canary app '.status.conditions[] | select(.type == "Promoted") | .status == "True" and .reason == "Succeeded"'
soon deployment app '.spec.replicas == 0'
[[ $(k get canaries) == *Succeeded* ]]
