# The status that Flagger left, with a hash of another version of it: no release is started, and the next one goes on from there.
deployment
canary app gatewayapi:v1 "$STEPS, $RATE"
comes Initialized
release 2.0.0
comes Succeeded
change canary app '{"spec": {"suspend": true}, "metadata": {"finalizers": null}}'
# As Flagger writes it: none of our own fields. The controller may write in between.
left_by_flagger() {
    k get canary app -o json | gojq '.status |= (with_entries(select(.key | IN("phase", "canaryWeight", "failedChecks", "iterations",
        "lastTransitionTime", "trackedConfigs", "conditions"))) + {lastAppliedSpec: "5978589476", lastPromotedSpec: "5978589476"})' |
        kubectl replace --raw "/apis/flagger.app/v1beta1/namespaces/$case/canaries/app/status" -f - >/dev/null
}
eventually left_by_flagger
change canary app '{"spec": {"suspend": false}}'
soon canary app '.metadata.finalizers != null and (.status.lastAppliedSpec != "5978589476")'
[ "$(events | grep -c 'New revision detected')" -eq 1 ]
release 3.0.0
comes Progressing
comes Succeeded
[ "$(events | awk '/New revision detected/ {n += $1} END {print n}')" -eq 2 ]
runs app-primary 3.0.0
