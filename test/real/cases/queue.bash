# Each revision that is pushed meanwhile is released in its turn. Pods are made of none before its turn.
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, onNewRevision: queue, webhooks: [$(hook hold rollout)]"
comes Initialized
refuses hold
release 2.0.0
comes Progressing 50
soon deployment app '.spec.paused'
k set image deployment/app app=demo-app:3.0.0 >/dev/null
soon deployment app '.metadata.annotations["flagger.app/queued-templates"] | contains("demo-app:3.0.0")'
k set image deployment/app app=demo-app:4.0.0 >/dev/null
soon deployment app '.metadata.annotations["flagger.app/queued-templates"] | contains("demo-app:4.0.0")'
soon canary app '.status.conditions[] | select(.type == "Superseded") | .status == "True" and (.message | startswith("2 revisions of app."))'
soon deployment app '.status.availableReplicas == .spec.replicas'
[ -z "$(k get pods -l app=app -o json | gojq -r '.items[] | select(.metadata.deletionTimestamp | not) | .spec.containers[0].image' | grep -v ':2.0.0$')" ]
told 'waits for its release, behind 2 others'
allows hold
soon deployment app-primary '.spec.template.spec.containers[0].image == "demo-app:2.0.0"'
soon deployment app '.metadata.annotations["flagger.app/pinned-template"] // "" | contains("demo-app:3.0.0")'
soon deployment app-primary '.spec.template.spec.containers[0].image == "demo-app:3.0.0"'
soon deployment app '.metadata.annotations["flagger.app/pinned-template"] // "" | contains("demo-app:4.0.0")'
soon deployment app-primary '.spec.template.spec.containers[0].image == "demo-app:4.0.0"'
soon deployment app '.spec.replicas == 0 and (.spec.paused | not) and ((.metadata.annotations // {})["flagger.app/queued-templates"] | not)'
soon canary app '.status.phase == "Succeeded" and ([.status.history[].outcome] == ["promoted", "promoted", "promoted"])'
