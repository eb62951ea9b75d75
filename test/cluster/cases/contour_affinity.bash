# Session affinity through Contour's Gateway with Envoy: of those that have no cookie each version gets its share, and the one that has seen the new
# version asks five times a second until the release has ended and never sees the old one again.
if [ ! -x "$CLUSTER_CACHE/contour" ] || [ ! -x "$CLUSTER_CACHE/envoy" ]; then skipped "there is no Contour or no Envoy; test/setup --cluster gets them"; fi
needs contour controller
podinfo 6.0.0
canary 'interval: 10s, stepWeight: 20, maxWeight: 60, threshold: 3, sessionAffinity: {cookieName: seen}' 'provider: gatewayapi:v1' \
    "hosts: [$case.example.com], gatewayRefs: [{name: contour, namespace: projectcontour}]"
comes Initialized
address=$(kubectl -n projectcontour get service envoy -o jsonpath='{.spec.clusterIP}')
jar=$state/jar.$case
asked() { curl -sf -m 5 -H "Host: $case.example.com" "$@" "http://$address/version" | gojq -r .version; }
serves() { asked >"$state/never-kept"; }
eventually serves
client new http://envoy.projectcontour/ "$case.example.com"
client kept http://envoy.projectcontour/ "$case.example.com" keep
podinfo 6.0.1
comes Progressing
sees_new() { rm -f "$jar" && [ "$(asked -c "$jar")" = 6.0.1 ]; }
eventually sees_new
grep -q seen "$jar" || fail 'an answer of the new version sets no cookie'
stayed=0
until phase_is Succeeded; do
    answer=$(asked -b "$jar")
    [ "$answer" = 6.0.1 ] || fail "with the cookie of the new version $answer answered, after $stayed answers of the new one"
    stayed=$((stayed + 1))
    [ "$stayed" -lt 3000 ] || fail "the Canary is $(phase)"
    sleep 0.1
done
primary_runs 6.0.1
[ "$stayed" -ge 20 ] || fail "only $stayed requests had the cookie"
without=$(kubectl -n clients logs "$case-new" | awk '/6\.0\.0=/ && /6\.0\.1=/ {n++} END {print n + 0}')
[ "$without" -gt 5 ] || fail 'those without a cookie were not divided'
[ -n "$(k get canary podinfo -o jsonpath='{.status.previousSessionAffinityCookie}')" ] || fail 'the status does not name the cookie of this release'
echo "measured $stayed requests with the cookie, all answered by the new version"
