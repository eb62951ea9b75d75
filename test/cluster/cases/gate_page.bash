# A release waits at the gate and is approved by a person: on the gate's page in a real browser, which signs in with a token; by a signed link's button
# in that browser; and with `kubectl canary approve` through the API server's proxy, as an account that may do just that, at a gate of the chart.
command -v chromedriver >/dev/null || skipped 'there is no chromedriver; test/setup gets it'
# shellcheck source=test/lib/browser.bash
source test/lib/browser.bash
needs controller loadtester gate
podinfo 6.0.0
check=$(cat "$state/token.check") alice=$(cat "$state/token.alice")
k create secret generic gate-token --from-literal=Authorization="Bearer $check"
asks_at() { # HOST OF THE GATE
    canary "$CHECKED, webhooks: [{name: approval, type: confirm-promotion, url: 'http://$1/gate/check?hook=promote', headersFrom: [{secretRef: {name: gate-token}}]}]"
}
asks_at flagger-gate.flagger
comes Initialized
clients_at_service
address=$(kubectl -n flagger get service flagger-gate -o jsonpath='{.spec.clusterIP}')
gate() { curl -sS --fail-with-body -H "Authorization: Bearer $alice" -H 'Content-Type: application/json' "http://$address$1" "${@:2}"; }
waiting() { gate "/v1/gates/$case/podinfo" | gojq -er '.gates[0].waits[0].revision'; }
reason() { gate "/v1/gates/$case/podinfo" | gojq -r '.history[0].reason'; }

# browsed: in the browser, which ends however this does
browsed() {
    browser_open "http://$address/"
    browser_wait 20 '#sign-in' 'who you are'
    browser_type '#token' 'not-a-token-of-this-gate'
    browser_keys Enter
    browser_wait 10 '#sign-in-error' ' '
    browser_js 'document.querySelector("#token").value = ""' >"$state/never-kept"
    browser_type '#token' "$alice"
    browser_keys Enter
    browser_wait 30 "$waits .name" podinfo
    browser_wait 5 "$waits .revision" "$(waiting)"
    browser_click "$waits .approve"
    browser_wait 5 '#act-title' 'Approve revision'
    browser_type '#act-reason' 'seen on the page'
    browser_keys Enter
    browser_gone 20 '#act'
    comes Succeeded
    browser_gone 20 "$waits .wait"
    primary_runs 6.0.1
    [ "$(reason)" = 'seen on the page' ] || fail "the history says: $(reason)"
    # A link's preview approves nothing, its button does, once.
    podinfo 6.0.2
    comes WaitingPromotion
    link=$(gate /v1/links -d "{\"namespace\": \"$case\", \"name\": \"podinfo\", \"action\": \"approve\", \"revision\": \"$(waiting)\", \"valid\": \"1h\"}" | gojq -er .url)
    link="http://$address/${link#http://*/}"
    browser_open "$link"
    browser_wait 20 body 'Approve this revision'
    phase_is WaitingPromotion || fail 'the preview of a link has approved'
    browser_click 'form button'
    comes Succeeded
    primary_runs 6.0.2
    browser_open "$link"
    browser_wait 20 body
    ! curl -sf -X POST -o "$state/never-kept" "$link" || fail 'a link was good twice'
}
podinfo 6.0.1
comes WaitingPromotion
waits='#waiting-list'
browser_begin
trap browser_end EXIT
browsed
browser_end
trap - EXIT

# The API server passes no tokens on: a gate that lets anybody in, of the same database.
database=$(kubectl -n flagger get secret flagger-gate -o jsonpath='{.data.database}' | base64 -d)
k create secret generic flagger-gate --from-literal=database="${database/@flagger-gate-postgres/@flagger-gate-postgres.flagger}"
helm install flagger-gate deploy/charts/gate --namespace "$case" --wait --timeout 90s --set tokens=false --set anybody=true --set replicaCount=1 \
    --set image.repository=registry.example.com/flagger-gate --set test.image=registry.example.com/flagger-loadtester-slim:0.1.0
helm test flagger-gate --namespace "$case" --timeout 60s
k create serviceaccount approver
k create role approver --verb=get,list --resource=canaries.flagger.app --resource=services
k create role approver-gate --verb=get,create --resource=services/proxy
for role in approver approver-gate; do k create rolebinding "$role" --role "$role" --serviceaccount "$case:approver"; done
person=$state/person.$case
cp "$KUBECONFIG" "$person"
kubectl --kubeconfig "$person" config unset users
kubectl --kubeconfig "$person" config set-credentials u --token="$(k create token approver)"
asks_at "flagger-gate.$case"
podinfo 6.1.0
comes WaitingPromotion
KUBECONFIG=$person kubectl canary approve podinfo -n "$case" --why 'through the API server'
comes Succeeded
primary_runs 6.1.0
[ "$(reason)" = 'through the API server' ] || fail "the history says: $(reason)"
[[ $(gate "/v1/gates/$case/podinfo" | gojq -c '.history[0]') == *"system:serviceaccount:$case:approver"* ]] || fail 'the history does not name the account'
