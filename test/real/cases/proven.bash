# With the chart's own policy a name is what the API server knows: who writes another's name into a ReleaseRequest is refused, by each way
# in which it may be written; who writes the own name is shown as proven. Without the policy every name gets in, and is shown as not proven.
policy() { kubectl "$1" -f deploy/charts/flagger/steering.yaml >/dev/null; }
as() { kubectl -n "$case" --as "$1" --as-group shop-on-call --as-group system:authenticated "${@:2}"; }
request() { # NAME ACTION BY
    printf 'apiVersion: flagger.app/v1alpha1\nkind: ReleaseRequest\nmetadata: {name: %s}\nspec: {action: %s, by: %s, revision: "%s"}\n' \
        "$1" "$2" "$3" "$(k get canary app -o 'jsonpath={.status.lastAppliedSpec}')"
}
# is_refused COMMAND...: with the policy's sentence
is_refused() {
    local said
    ! said=$("$@" 2>&1) && [[ $said == *'spec.by: expected eve, who asks'* ]]
}
forges() { is_refused as eve create --dry-run=server -f <(request app pause alice); }

policy apply
k create rolebinding steerers --clusterrole flagger-release-steerer --group shop-on-call >/dev/null
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, $RATE, webhooks: [$(hook hold rollout)]"
comes Initialized
refuses hold
release 2.0.0
comes Progressing 50
eventually forges # a policy is in force a moment after it was made
is_refused as eve create -f <(request app pause alice) || fail "eve could ask as alice"
is_refused as eve create -f <(request app pause system:serviceaccount:flagger-system:flagger) || fail "eve could ask as the controller"
is_refused as eve create -f <(request app pause Eve) || fail "eve could ask as Eve"
[ -z "$(k get releaserequests -o name)" ] || fail "a request is there that was refused"
as eve create -f <(request app pause eve) >/dev/null
soon canary app '.status.requests[0].by == "eve" and .status.paused.by == "eve"'
# What was asked is not changed either, not even where it stays for a moment: one of a Canary that there is not.
as eve create -f <(request none pause eve) >/dev/null
! k patch releaserequest none --type merge -p '{"spec":{"by":"alice"}}' >/dev/null 2>&1 || fail "a request was given to another"
k delete releaserequest none --ignore-not-found >/dev/null
as alice create -f <(request app resume alice) >/dev/null
soon canary app '.status.requests[0].by == "alice" and .status.paused == null'
policy delete
gone() { ! forges; }
eventually gone
k create -f <(request app pause the-director) >/dev/null
soon canary app '.status.requests[0].by == "the-director (not proven)"'
k create -f <(request app resume the-director) >/dev/null
soon canary app '.status.paused == null'
allows hold
comes Succeeded
