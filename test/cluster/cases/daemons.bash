# alone: last
# Each daemon deleted and killed in the middle of a release, with one replica and with two; nobody notices, and the release ends.
needs controller loadtester gate
podinfo 6.0.0
k create secret generic gate-token --from-literal=Authorization="Bearer $(cat "$state/token.check")"
canary "interval: 5s, iterations: 3, threshold: 3, webhooks: [
    {name: load, type: rollout, url: 'http://flagger-loadtester.$SYSTEM/', metadata: {cmd: 'hey -z 20s -q 5 -c 1 http://podinfo-canary.$case/'}},
    {name: approval, type: confirm-promotion, url: 'http://flagger-gate.flagger/gate/check', headersFrom: [{secretRef: {name: gate-token}}]}]"
in_pod curl -sS --fail-with-body -H "Authorization: Bearer $(cat "$state/token.alice")" -H 'Content-Type: application/json' \
    "http://flagger-gate.flagger/v1/gates/$case/podinfo/open" -d '{"for": "2h", "reason": "daemons are ended"}'
comes Initialized
clients_at_service
versions=(6.0.1 6.0.2 6.1.0 6.7.0 6.7.1 6.0.0 6.0.1 6.0.2)
# interrupted WORDS COMMAND...: a release, and the command in its middle
interrupted() {
    local version=${versions[0]} words=$1 since=$SECONDS
    versions=("${versions[@]:1}")
    shift
    podinfo "$version"
    comes Progressing
    "$@"
    comes Succeeded
    primary_runs "$version"
    echo "$words: $((SECONDS - since)) s"
}
killed() { pkill -KILL -f "^(/usr/local/bin/)?$1( |\$)"; } # PROGRAM: in its pod, which the kubelet starts anew
delete() { kubectl -n "$1" delete pod -l "$2" --wait=false; }
interrupted 'controller deleted' delete "$SYSTEM" app.kubernetes.io/name=flagger
interrupted 'controller killed' killed flagger-controller
interrupted 'load tester deleted' delete "$SYSTEM" app=loadtester
interrupted 'load tester killed' killed flagger-loadtester
interrupted 'both gates deleted' delete flagger app.kubernetes.io/name=flagger-gate
interrupted 'both gates killed' killed flagger-gate
controller_install --set leaderElection.enabled=true --set leaderElection.replicaCount=2
leader() { kubectl -n "$SYSTEM" get lease -o jsonpath='{.items[0].spec.holderIdentity}'; }
within 60 sh -c "kubectl -n $SYSTEM get lease -o name | grep -q ."
before=$(leader)
interrupted 'leader killed, two replicas' killed flagger-controller
interrupted 'both deleted' delete "$SYSTEM" app.kubernetes.io/name=flagger
echo "measured leader ${before##*-} then $(leader | sed 's/.*-//')"
controller_install
