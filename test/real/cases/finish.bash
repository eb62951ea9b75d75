# A revision that is pushed meanwhile waits until the release has ended; its pods are made then, and not before.
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, onNewRevision: finish, webhooks: [$(hook hold rollout)]"
comes Initialized
refuses hold
release 2.0.0
comes Progressing 50
k set image deployment/app app=demo-app:3.0.0 >/dev/null
soon deployment app '.status.observedGeneration == .metadata.generation and .spec.paused'
k set image deployment/app app=demo-app:4.0.0 >/dev/null
# a pod that goes is replaced by one of the revision that is analysed, and so is one that is added
k delete "$(k get pods -l app=app -o name | head -n 1)" --wait=false >/dev/null
soon deployment app '.status.availableReplicas == .spec.replicas'
[ -z "$(k get pods -l app=app -o json | gojq -r '.items[] | select(.metadata.deletionTimestamp | not) | .spec.containers[0].image' | grep -v ':2.0.0$')" ]
told 'waits until the release of'
allows hold
soon deployment app-primary '.spec.template.spec.containers[0].image == "demo-app:2.0.0"'
soon deployment app-primary '.spec.template.spec.containers[0].image == "demo-app:4.0.0"'
soon deployment app '.spec.replicas == 0 and (.spec.paused | not) and (.metadata.annotations["flagger.app/pinned-template"] | not)'
soon canary app '.status.phase == "Succeeded" and ([.status.history[].outcome] == ["promoted", "promoted"])'
