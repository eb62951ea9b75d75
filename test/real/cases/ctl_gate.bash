# The command line at a gate and in the middle of a release: a person finds out why it stands, pauses and resumes it, and
# approves through the API server's proxy of the gate's Service, without a port-forward.
if ! address=$(hostname -I | awk '{ print $1; exit !$1 }'); then
    echo "not tried: a Service cannot lead to 127.0.0.1, and this machine has no other address" && return
fi
[ "$(id -u)" -eq 0 ] || { echo "not tried: the gate's name must lead to this machine, which takes root" && return; }
# shellcheck source=test/lib/postgres.bash
source test/lib/postgres.bash
ctl() { "$build/kubectl-canary" "$@" -n "$case"; }
# ends CODE ARGUMENT...: the command ends so; what it says is in $state/ctl.$case
ends() {
    local wanted=$1 status=0
    shift
    ctl "$@" >"$state/ctl.$case" 2>&1 || status=$?
    [ "$status" = "$wanted" ] || fail "$* ends with $status: $(cat "$state/ctl.$case")"
}
situation() { [ "$(ctl why app -o json | gojq -r .situation)" = "$1" ]; }
port=$(free_ports 1)
pg_begin
"$build/flagger-gate" --database "$PG_DSN" --anybody --address "$address" --port "$port" --hosts "gate.$case" >"$state/log/gate.log" 2>&1 </dev/null &
gate=$!
trap '{ kill "$gate"; wait "$gate"; pg_end; } || true' EXIT
eventually curl -sf -o /dev/null "http://$address:$port/readyz"
# In this namespace of mounts the controller finds the Service by its name, as a cluster's DNS would say it.
{ cat /etc/hosts && echo "$address gate.$case"; } >"$state/hosts"
mount --bind "$state/hosts" /etc/hosts
# The API server's proxy sends to addresses of pods only: this one is on no node, and has the gate's.
k apply -f - >/dev/null 2>&1 <<END
apiVersion: v1
kind: Pod
metadata: {name: gate}
spec: {schedulingGates: [{name: test/no-node}], containers: [{name: gate, image: "gate:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: gate}
spec: {ports: [{port: $port}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: gate, labels: {endpointslice.kubernetes.io/skip-mirror: "true"}}
subsets: [{addresses: [{ip: $address, targetRef: {kind: Pod, name: gate, namespace: $case}}], ports: [{port: $port}]}]
END
curl -sSf --cacert "$state/pki/apiserver.crt" -H 'Authorization: Bearer admin-token' -H 'Content-Type: application/merge-patch+json' -X PATCH -o "$state/answer.$case" \
    -d "{\"status\": {\"podIP\": \"$address\", \"podIPs\": [{\"ip\": \"$address\"}]}}" "https://127.0.0.1:$api/api/v1/namespaces/$case/pods/gate/status"
deployment
canary app gatewayapi:v1 "$STEPS, webhooks: [{name: promote, type: confirm-promotion, url: \"http://gate.$case:$port/gate/check?hook=promote\"}]"
comes Initialized
eventually ends 3 approve app 2>"$state/answer.$case" # nothing waits
grep -q 'nothing of app waits at the gate' "$state/ctl.$case"
release 2.0.0
comes WaitingPromotion
eventually situation gate-closed
ends 0 pause app --why 'the database moves'
situation paused
ctl why app | tr -s ' \n' ' ' | grep -qF 'admin has paused the release of app'
ends 3 pause app
ends 0 resume app
ends 0 approve app --why 'looks good'
grep -qE '^Approved revision [0-9a-f]+ of app at promote as admin\.$' "$state/ctl.$case"
ends 0 status app --wait --timeout 90s
runs app-primary 2.0.0
ctl history app >"$state/ctl.$case"
grep -qE '^[0-9a-f]+ +promoted ' "$state/ctl.$case"
grep -qE '^[0-9a-f]+  promote: Approved by admin \(name not proven\): looks good$' "$state/ctl.$case"
grep -qE '^[0-9a-f]+  pause by admin \(done\): the database moves$' "$state/ctl.$case"
# Who reaches the API server by a name of its own is not sent on under that name: no page may come by it.
gate_by() { curl -s -o /dev/null -w '%{http_code}' --cacert "$state/pki/apiserver.crt" -H 'Authorization: Bearer admin-token' -H "Host: $1" \
    "https://127.0.0.1:$api/api/v1/namespaces/$case/services/gate:$port/proxy/v1/gates/$case/app"; }
[ "$(gate_by 127.0.0.1)" = 200 ]
[ "$(gate_by k8s.example.com)" = 421 ]
ends 3 abort app # nothing is released
[ "$(k get releaserequests -o name)" = '' ]
