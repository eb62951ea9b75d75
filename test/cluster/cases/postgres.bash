# alone: last
# PostgreSQL killed, and deleted with its volume left: every gate is closed meanwhile, and afterwards what was approved still is.
needs controller loadtester gate
podinfo 6.0.0
k create secret generic gate-token --from-literal=Authorization="Bearer $(cat "$state/token.check")"
canary "$CHECKED, webhooks: [{name: approval, type: confirm-promotion, url: 'http://flagger-gate.flagger/gate/check?hook=promote', headersFrom: [{secretRef: {name: gate-token}}]}]"
comes Initialized
clients_at_service
alice=$(cat "$state/token.alice")
gate() { in_pod curl -sS --fail-with-body -m 10 -H "Authorization: Bearer $alice" -H 'Content-Type: application/json' "http://flagger-gate.flagger$1" "${@:2}"; }
history() { gate /v1/history | gojq '.history | length'; }
podinfo 6.0.1
comes WaitingPromotion
revision=$(gate "/v1/gates/$case/podinfo" | gojq -r '.gates[0].waits[0].revision')
pkill -KILL -f '^postgres -D' || pkill -KILL -x postgres
answers() { history >"$state/never-kept" 2>&1; }
eventually answers
phase_is WaitingPromotion || fail "without its database the gate let the release through: $(phase)"
kubectl -n flagger delete pod flagger-gate-postgres-0 --grace-period=0 --force
sleep 5
kubectl -n flagger rollout status statefulset/flagger-gate-postgres --timeout 120s
eventually answers
# No room on its volume: what would be written is refused, what was approved is not invented, and with room it goes on.
volume=$(kubectl -n flagger get pvc -o jsonpath='{.items[0].spec.volumeName}')
volume=$state/volumes/${volume#volume-}
dd if=/dev/zero of="$volume/full" bs=1M 2>/dev/null || true
for n in $(seq 40); do gate "/v1/gates/$case/podinfo/close" -d "{\"reason\": \"no room $n\"}" >"$state/never-kept" 2>&1 || break; done
sleep 6
phase_is WaitingPromotion || fail "without room on its volume the gate let the release through: $(phase)"
rm "$volume/full"
kubectl -n flagger rollout status statefulset/flagger-gate-postgres --timeout 120s
approved() { gate "/v1/gates/$case/podinfo/approve" -d "{\"revision\": \"$revision\", \"reason\": \"with room\"}"; }
eventually approved
comes Succeeded
primary_runs 6.0.1
kubectl -n flagger exec deployment/flagger-gate -- flagger-gate verify --database-file /etc/gate/database
podinfo 6.0.2
comes WaitingPromotion
revision=$(gate "/v1/gates/$case/podinfo" | gojq -r '.gates[0].waits[0].revision')
gate "/v1/gates/$case/podinfo/approve" -d "{\"revision\": \"$revision\", \"reason\": \"after the restart\"}"
comes Succeeded
primary_runs 6.0.2
[ "$(history)" -ge 1 ] || fail 'the history is gone'
kubectl -n flagger exec deployment/flagger-gate -- flagger-gate verify --database-file /etc/gate/database
