# alone: last
# A clock that steps in the middle of a release: the controller's an hour ahead, back, an hour into the past and back; then the gate's, while a release
# waits there. The machine has one clock for all its namespaces (a time namespace has the monotonic ones alone), so that the daemons' own is stepped: by
# Debian's libfaketime, preloaded into their pods as their images are, which reads the offset from a file. The first step is made in the analysis, the
# others, far beyond progressDeadlineSeconds, while pods are waited for.
[ -e "$FAKETIME_LIBRARY" ] || skipped 'there is no libfaketime; test/setup --cluster installs it'
needs controller loadtester gate
# fake NAMESPACE DEPLOYMENT NAME: its clock is that of the machine, and what $state/clock/NAME/offset says
fake() {
    local folder=$state/clock/$3
    mkdir -p "$folder"
    cp "$FAKETIME_LIBRARY" "$folder/clock.so"
    cp "$(ldconfig -p | sed -n 's/.*libm[.]so[.]6 .*=> //p' | head -n 1)" "$folder/"
    echo +0 >"$folder/offset"
    chmod -R a+rX "$state/clock"
    kubectl -n "$1" get deployment "$2" -o json | gojq --arg folder "$folder" '.spec.template.spec |= (.volumes += [{name: "clock", hostPath: {path: $folder}}]
        | .containers[0].volumeMounts += [{name: "clock", mountPath: "/clock"}]
        | .containers[0].env += [{name: "LD_PRELOAD", value: "/clock/clock.so"}, {name: "LD_LIBRARY_PATH", value: "/clock"}, {name: "FAKETIME_TIMESTAMP_FILE", value: "/clock/offset"},
            {name: "FAKETIME_CACHE_DURATION", value: "1"}, {name: "FAKETIME_DONT_FAKE_MONOTONIC", value: "1"}])' | kubectl replace -f - >"$state/never-kept"
    kubectl -n "$1" rollout status "deployment/$2" --timeout 60s
}
step() { echo "$2" >"$state/clock/$1/.offset" && mv "$state/clock/$1/.offset" "$state/clock/$1/offset" && sleep 2; } # NAME OFFSET
# ahead NAMESPACE DEPLOYMENT: seconds that its last line of the log is ahead
ahead() { echo $(($(date -d "$(kubectl -n "$1" logs "deployment/$2" --tail 1 | gojq -r .ts)" +%s) - $(date +%s))); }
fake "$SYSTEM" flagger controller
podinfo 6.0.0
k create secret generic gate-token --from-literal=Authorization="Bearer $(cat "$state/token.check")"
canary "interval: 5s, iterations: 4, threshold: 3, webhooks: [
    {name: load, type: rollout, url: 'http://flagger-loadtester.$SYSTEM/', metadata: {cmd: 'hey -z 5s -q 5 -c 1 http://podinfo-canary.$case/'}}]"
comes Initialized
clients_at_service
analysed() { phase_is Progressing && [ "$(k get canary podinfo -o jsonpath='{.status.iterations}')" -ge 1 ]; }
waits() { phase_is Progressing && [ "$(k get deployment podinfo -o 'jsonpath={.status.replicas}:{.status.readyReplicas}')" = 2: ]; }
# stepped VERSION OFFSET CONDITION: a release, with the step when that holds
stepped() {
    local since=$SECONDS
    podinfo "$1"
    eventually "$3"
    step controller "$2"
    comes Succeeded
    primary_runs "$1"
    echo "measured controller $2: $((SECONDS - since)) s"
}
stepped 6.0.1 +3600 analysed
logged=$(ahead "$SYSTEM" flagger)
[ "$logged" -gt 3000 ] || fail "the controller's clock was not stepped: its log is $logged s ahead"
POD='initContainers: [{name: slow, image: "ghcr.io/stefanprodan/podinfo:6.0.0", command: [sleep, "15"], securityContext: {runAsNonRoot: true, runAsUser: 100}}]'
stepped 6.0.2 +0 waits
stepped 6.1.0 -3600 waits
stepped 6.7.0 +0 waits
unset POD
[ "$(restarts "$SYSTEM" app.kubernetes.io/name=flagger)" = 0 ] || fail 'the controller was restarted'
# The gate: what was not approved stays closed, and what was holds.
fake flagger flagger-gate gate
alice=$(cat "$state/token.alice")
gate() { in_pod curl -sS --fail-with-body -m 10 -H "Authorization: Bearer $alice" -H 'Content-Type: application/json' "http://flagger-gate.flagger$1" "${@:2}"; }
canary "$CHECKED, webhooks: [{name: approval, type: confirm-promotion, url: 'http://flagger-gate.flagger/gate/check?hook=promote', headersFrom: [{secretRef: {name: gate-token}}]}]"
version=(6.7.1 6.0.0)
for offset in +86400 -86400; do
    podinfo "${version[0]}"
    comes WaitingPromotion
    step gate "$offset"
    sleep 12
    phase_is WaitingPromotion || fail "a gate whose clock is $offset lets through what nobody has approved: $(phase)"
    gate "/v1/gates/$case/podinfo/approve" -d "{\"revision\": \"$(gate "/v1/gates/$case/podinfo" | gojq -er '.gates[0].waits[0].revision')\", \"reason\": \"$offset\"}"
    step gate +0
    comes Succeeded
    primary_runs "${version[0]}"
    version=("${version[@]:1}")
done
kubectl -n flagger exec deployment/flagger-gate -- flagger-gate verify --database-file /etc/gate/database
kubectl -n "$SYSTEM" rollout undo deployment/flagger
kubectl -n flagger rollout undo deployment/flagger-gate
kubectl -n "$SYSTEM" rollout status deployment/flagger --timeout 60s
kubectl -n flagger rollout status deployment/flagger-gate --timeout 90s
