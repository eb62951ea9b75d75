# A release waits for the gate three times, and is approved by curl from a pod, by kubectl canary approve, and by a link.
needs controller loadtester gate
podinfo 6.0.0
check=$(cat "$state/token.check") alice=$(cat "$state/token.alice")
k create secret generic gate-token --from-literal=Authorization="Bearer $check"
canary "$CHECKED, webhooks: [{name: approval, type: confirm-promotion, url: 'http://flagger-gate.flagger/gate/check?hook=promote', headersFrom: [{secretRef: {name: gate-token}}]}]"
comes Initialized
clients_at_service
gate() { # PATH [CURL-ARGUMENT...]
    in_pod curl -sS --fail-with-body -H "Authorization: Bearer $alice" -H 'Content-Type: application/json' "http://flagger-gate.flagger$1" "${@:2}"
}
revision() { gate "/v1/gates/$case/podinfo" | gojq -r '.gates[0].waits[0].revision'; }
# Closed until somebody says so.
podinfo 6.0.1
comes WaitingPromotion
gate "/v1/gates/$case/podinfo/approve" -d "{\"revision\": \"$(revision)\", \"reason\": \"looks good\"}"
comes Succeeded
primary_runs 6.0.1
podinfo 6.0.2
comes WaitingPromotion
echo "$alice" >"$state/alice.$case"
kubectl -n flagger port-forward service/flagger-gate 18080:80 >"$state/log/forward.log" 2>&1 &
forward=$!
within 20 curl -s -o "$state/never-kept" http://127.0.0.1:18080/healthz
kubectl canary approve podinfo -n "$case" --why 'seen the dashboard' --gate http://127.0.0.1:18080 --gate-token-file "$state/alice.$case"
comes Succeeded
primary_runs 6.0.2
podinfo 6.1.0
comes WaitingPromotion
link=$(gate /v1/links -d "{\"namespace\": \"$case\", \"name\": \"podinfo\", \"action\": \"approve\", \"revision\": \"$(revision)\", \"valid\": \"1h\"}" | gojq -r .url)
[[ $(in_pod curl -sS --fail-with-body "$link") == *"<form"* ]] || fail "the link shows no button: $link"
in_pod curl -sS --fail-with-body -X POST "$link" >"$state/never-kept"
comes Succeeded
primary_runs 6.1.0
kill "$forward"
