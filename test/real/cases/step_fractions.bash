# Steps below one per cent: the API server keeps them as they were written, in the spec, the routes and the status; what is finer
# is refused by the schema, or by the controller with a sentence.
deployment
canary app gatewayapi:v1 "interval: 2s, steps: [{weight: 0.05}, {weight: 0.57, gate: true}, {weight: 12.5}], threshold: 3, $RATE"
comes Initialized
is canary app '[.spec.analysis.steps[].weight] == [0.05, 0.57, 12.5]'
release 2.0.0
soon canary app '.status.canaryShare == "0.05" and .status.canaryWeight == 1 and .status.step.weight == 0.05'
soon canary app '.status.paused.gate == true'
is canary app '.status.canaryShare == "0.57" and .status.canaryWeight == 1'
routes app '[.[0].backendRefs[] | {(.name): .weight}] | add == {"app-primary": 9943, "app-canary": 57}'
[[ $(k get canary app -o wide) == *' 0.57 '* ]]
"$build/kubectl-canary" resume app -n "$case" >/dev/null
comes Progressing 13
comes Succeeded 0
runs app-primary 2.0.0
is canary app '.status.canaryShare == null and ([.status.history[0].steps[].weight] | contains([0.05, 0.57, 12.5]))'
! k patch canary app --type merge -p '{"spec":{"analysis":{"steps":[{"weight":0.001}]}}}' 2>"$state/refused.$case"
grep -q 'spec.analysis.steps\[0\].weight.*greater than or equal to 0.01' "$state/refused.$case"
k patch canary app --type merge -p '{"spec":{"analysis":{"steps":[{"weight":0.125}]}}}'
soon canary app '.status.conditions[] | select(.type == "Accepted") | .status == "False" and (.message | contains("at most two decimals, found 0.125"))'
