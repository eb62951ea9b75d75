# A route of the user: each version has its share by the rule that is named, also when a tool has put the weights of its file back.
service="routeRefs: [{kind: $users_kind, name: users, rules: [1]}]"
entry() { users_route | k apply --server-side --force-conflicts --field-manager=tool -f - >/dev/null; }
spec() { k get "$users_kind" users -o json | gojq .spec; }
stage "interval: 3s, stepWeight: 20, maxWeight: 40, threshold: 3, webhooks: [$(hook hold confirm-traffic-increase)]"
spec >"$state/before.$case"
release 2.0.0 "$case"
for weight in 20 40; do
    comes Progressing "$weight" "$case"
    refuses hold
    share_is "$weight" 2.0.0
    entry
    share_is "$weight" 2.0.0
    allows hold
done
promoted
spec | diff "$state/before.$case" -
