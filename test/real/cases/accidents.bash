# What people delete and do by mistake, in the middle of a release that a hook holds at 50 percent: it is mended, and the release
# goes on; a promoted revision that is put back ends it.
may_break pods endpoints routes # the accidents themselves
ctl() { "$build/kubectl-canary" "$@" -n "$case" >>"$state/ctl.$case" 2>&1; }
CONTAINER=', envFrom: [{configMapRef: {name: settings}}]'
k create configmap settings --from-literal=colour=blue >/dev/null
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, webhooks: [$(hook hold rollout)]"
comes Initialized
held() { # VERSION: pushed, and held at 50
    refuses hold
    release "$1"
    comes Progressing 50
}
ended() { # VERSION
    allows hold
    comes Succeeded
    runs app-primary "$1"
}
mended() { soon httproute app '[.spec.rules[0].backendRefs[].weight] == [50, 50]'; }

held 2.0.0
k delete httproute app >/dev/null
mended
k delete service app app-primary app-canary >/dev/null
for name in app app-primary app-canary; do soon service "$name" '.spec.selector.app'; done
k delete configmap settings-primary >/dev/null
soon configmap settings-primary '.data.colour == "blue"'
ended 2.0.0

# A pause is the Canary's until a person ends it, and what is pushed meanwhile waits.
held 3.0.0
ctl pause app --why lunch
soon canary app '.status.paused'
release 4.0.0
comes Waiting
allows hold
runs app-primary 2.0.0
ctl resume app
comes Succeeded
runs app-primary 4.0.0

held 5.0.0
change canary app '{"spec": {"suspend": true}}'
allows hold
soon canary app '.status.conditions[] | select(.type == "Suspended").status == "True"'
runs app-primary 4.0.0
change canary app '{"spec": {"suspend": false}}'
comes Succeeded
runs app-primary 5.0.0

# Two edits in a second, and the image that was promoted.
held 6.0.0
k set image deployment/app app=demo-app:7.0.0 >/dev/null
release 5.0.0
comes Succeeded 0
runs app-primary 5.0.0
held 8.0.0
k set image deployment/app app=demo-app:9.0.0 >/dev/null
release 10.0.0
ended 10.0.0

# The target: what is promoted serves on, and one that is made again is released.
held 11.0.0
k delete deployment app >/dev/null
soon canary app '.status.conditions[] | select(.type == "TargetFound").status == "False"'
soon httproute app '.spec.rules[0].backendRefs[0].weight == 100'
runs app-primary 10.0.0
allows hold
deployment app demo-app:12.0.0
since=$(k get deployment app -o jsonpath='{.metadata.resourceVersion}')
comes Succeeded
runs app-primary 12.0.0
