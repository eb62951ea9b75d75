# A primary that is deleted while no controller runs is made again from what the cluster keeps of the target's revisions.
may_break pods endpoints # while the primary starts again
CONTAINER=', envFrom: [{configMapRef: {name: settings}}]'
k create configmap settings --from-literal=colour=blue >/dev/null
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, $RATE, webhooks: [$(hook hold rollout)]"
comes Initialized
selector=$(k get deployment app-primary -o json | gojq -c .spec.selector)
refuses hold
release 2.0.0
comes Progressing 50
# The process that would see it go is held, and killed then.
kill -STOP "$(cat "$state/controller.pid")"
k delete deployment app-primary >/dev/null
controller_kill
soon deployment app-primary '.status.availableReplicas == 2'
runs app-primary 1.0.0
[ "$(k get deployment app-primary -o json | gojq -c .spec.selector)" = "$selector" ]
is deployment app-primary '.spec.template.spec.containers[0].envFrom[0].configMapRef.name == "settings-primary"'
told 'is missing, it is made again from revision'
allows hold
comes Succeeded
runs app-primary 2.0.0
