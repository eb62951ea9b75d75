# All traffic is on the new version for a time, and the primary keeps the former one: its push is the way back, at once; the
# next version bakes, and replaces it.
deployment
release 1.0.0 # a merge patch has other containers than the manifest
canary app gatewayapi:v1 "$STEPS, $RATE, threshold: 1, bake: {for: 10s, metrics: [request-success-rate]}"
comes Initialized
release 2.0.0
comes Progressing 100
soon canary app '.status.conditions[] | select(.type == "Baked") | .status == "False" and .reason == "Baking"'
routes app '[.[0].backendRefs[] | {(.name): (.weight // 0)}] | add == {"app-primary": 0, "app-canary": 100}'
runs app-primary 1.0.0
release 1.0.0
comes Succeeded 0
eventually told 'cancelled, its previous spec was restored'
runs app-primary 1.0.0
routes app '[.[0].backendRefs[] | {(.name): (.weight // 0)}] | add == {"app-primary": 100, "app-canary": 0}'
release 2.0.0
comes Progressing 100
runs app-primary 1.0.0
success_rate 98
comes Failed 0
runs app-primary 1.0.0
success_rate 100
release 2.0.1
comes Progressing 100
runs app-primary 1.0.0
comes Succeeded
runs app-primary 2.0.1
is canary app '.status.history[0].bakeBegan != null and ([.status.conditions[].type] | index("Baked") | not)'
soon deployment app '.spec.replicas == 0'
# The Service of a Canary without a mesh leads to one side as a whole.
deployment plain
canary plain kubernetes "interval: 1s, threshold: 2, iterations: 1, bake: {for: 5s}"
comes Initialized 0 plain
release 2.0.0 plain
comes Progressing 100 plain
soon service plain '.spec.selector.app == "plain"'
runs plain-primary 1.0.0
comes Succeeded 0 plain
runs plain-primary 2.0.0
is service plain '.spec.selector.app == "plain-primary"'
