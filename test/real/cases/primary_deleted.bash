# A primary that is deleted in mid-release is made again as it was, and the release goes on; at rest as well.
may_break pods endpoints # while the primary starts again
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, $RATE, webhooks: [$(hook hold rollout)]"
comes Initialized
selector=$(k get deployment app-primary -o json | gojq -c .spec.selector)
refuses hold
release 2.0.0
comes Progressing 50
k delete deployment app-primary >/dev/null
soon deployment app-primary '.status.availableReplicas == 2'
runs app-primary 1.0.0
[ "$(k get deployment app-primary -o json | gojq -c .spec.selector)" = "$selector" ]
told 'was deleted, it is made again as it was'
allows hold
comes Succeeded
runs app-primary 2.0.0
k delete deployment app-primary >/dev/null
soon deployment app-primary '.status.availableReplicas == 2'
runs app-primary 2.0.0
