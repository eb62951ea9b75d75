# The command line: what it shows of a release, whom it takes the person for, and what it says to one who has no right.
deployment
canary app gatewayapi:v1 "$STEPS, $RATE, webhooks: [$(hook promote confirm-promotion)]"
comes Initialized
ctl() { "$build/kubectl-canary" "$@" -n "$case"; }
code() { local status=0; ctl "$@" >"$state/ctl.$case" 2>&1 || status=$?; echo "$status"; }
[ "$(code status app)" = 0 ]
refuses promote
release 2.0.0
comes WaitingPromotion
[ "$(code status app)" = 5 ]
[ "$(code status app --wait --timeout 1s)" = 5 ]
[ "$(ctl why app -o json | gojq -r .situation)" = gate-closed ]
ctl get app >"$state/ctl.$case"
grep -qE '^├─ phase +WaitingPromotion' "$state/ctl.$case"
grep -qE 'request-success-rate +99\.5, good: at least 99|request-success-rate +[0-9.]+, good' "$state/ctl.$case"
grep -qE 'promote \(confirm-promotion\) +no ' "$state/ctl.$case"
# The API server says who asks; what answers at this address is no gate.
[ "$(code approve app --gate "http://127.0.0.1:$answers")" = 1 ]
grep -q "http://127.0.0.1:$answers" "$state/ctl.$case"
# A Service that is not there, through the API server's proxy.
[ "$(code approve app --gate http://gate.nowhere)" = 1 ]
# Who may not look at Canaries is told so.
token=$(k create token default)
[ "$(code get --token "$token" --user '')" = 1 ]
grep -q 'forbidden.*ask whoever gives rights' "$state/ctl.$case"
allows promote
[ "$(code status app --image demo-app:2.0.0 --wait --timeout 90s)" = 0 ]
runs app-primary 2.0.0
# Back to what was there before it: the template of a ReplicaSet, released without checks.
success_rate 50
[ "$(code undo app --wait --timeout 90s)" = 0 ]
grep -q 'Deployment app has the pod template of revision .* (demo-app:1.0.0) again' "$state/ctl.$case"
runs app-primary 1.0.0
