# What deploy/manual prints to be typed is typed: against a gate, a load tester and a sandbox.

bats_require_minimum_version 1.5.0

load ../lib/postgres_file

setup() {
    load ../lib/sandbox
    cd "$BATS_TEST_DIRNAME/../.." || return 1
}
teardown() {
    if [ -n "${DAEMON_PID:-}" ]; then daemon_stop; fi
    if [ -n "${gate:-}" ]; then kill "$gate"; fi
    if [ -e "$BATS_TEST_TMPDIR/sandbox.pid" ]; then sandbox_end; fi
}

# block PAGE N: the N-th block of code
block() { awk -v n="$2" '/^```/ { inside = !inside; if (inside) at++; next } inside && at == n' "deploy/manual/$1.md"; }
# typed PAGE N: runs it; what the page finds at names of a cluster is here at $DAEMON_URL
typed() {
    # shellcheck disable=SC1090
    source <(block "$@" | sed -E "s#https?://(flagger-gate.flagger|gates.example.com)#$DAEMON_URL#; s/\\| jq/| gojq/")
}
# An answer that is an error fails the test.
curl() { command curl -sS --fail-with-body -m 10 "$@"; }

@test "the commands of gate.md open and close gates, for those who may" {
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --anybody
    eventually 10 answers 200 GET /readyz
    typed gate 1
    [ "$(command curl -s "$DAEMON_URL/v1/history" | gojq '.history | length')" -eq 5 ]
    daemon_stop
    block gate 2 >"$BATS_TEST_TMPDIR/tokens"
    echo '0123456789012345678901234567890123456789' >"$BATS_TEST_TMPDIR/keys"
    openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=x -keyout "$BATS_TEST_TMPDIR/tls.key" -out "$BATS_TEST_TMPDIR/tls.crt" 2>/dev/null
    cp "$BATS_TEST_TMPDIR/tls.crt" "$BATS_TEST_TMPDIR/ca.crt"
    local arguments
    read -ra arguments < <(block gate 3 | sed -n "s|^flagger-gate ||; s|/etc/gate/|$BATS_TEST_TMPDIR/|g; 1p")
    daemon_start "$FLAGGER_BUILD/flagger-gate" "${arguments[@]}" --database "$PG_DSN" --link-key-file "$BATS_TEST_TMPDIR/keys"
    DAEMON_URL=${DAEMON_URL/http:/https:}
    export CURL_HOME=$BATS_TEST_TMPDIR
    echo insecure >"$BATS_TEST_TMPDIR/.curlrc"
    eventually 10 answers 200 GET /readyz
    TOKEN=the-token-of-alice
    [ "$(curl -H "Authorization: Bearer $TOKEN" "$DAEMON_URL/v1/whoami" | gojq -r .name)" = alice ]
    [[ $(typed gate 4) == https://*/links/* ]]
}

@test "the load tester starts as loadtester.md says, and takes the policy that it shows" {
    local arguments
    [ "$(id -u)" -eq 0 ] || skip 'only root starts tasks as another user'
    echo a-token-of-twenty-letters >"$BATS_TEST_TMPDIR/tokens"
    chmod 600 "$BATS_TEST_TMPDIR/tokens"
    block loadtester 2 >"$BATS_TEST_TMPDIR/shown.yaml"
    read -ra arguments < <(block loadtester 1 | tr -d '\\' | xargs | sed "s|^flagger-loadtester ||; s|/etc/policies/hey.yaml|$BATS_TEST_TMPDIR/shown.yaml|; s|/etc/policies/|deploy/loadtester/policies/|; s|/etc/tokens|$BATS_TEST_TMPDIR/tokens|")
    daemon_start "$FLAGGER_BUILD/flagger-loadtester" "${arguments[@]}"
    answers 401 POST / '{}'
}

@test "the Canary of canary.md is released, and operations.md shows it as it is" {
    sandbox_begin "$BATS_TEST_TMPDIR" --no-services
    daemon_start "$FLAGGER_BUILD/flagger-controller" --min-analysis-interval 1s --tenant-addresses +loopback
    # A gate that is closed, and takes its time, so that its call is often under way.
    perl -MIO::Socket::INET -e '
$| = 1;
my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 16) or die;
print $server->sockport, "\n";
while (my $client = $server->accept) {
    my $length = 0;
    while (<$client>) { $length = $1 if /^content-length: *(\d+)/i; last if /^\r?\n/ }
    read $client, my $body, $length;
    select undef, undef, undef, 0.6;
    print $client "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}' >"$BATS_TEST_TMPDIR/gate" 2>/dev/null 3>&- &
    gate=$!
    eventually 10 test -s "$BATS_TEST_TMPDIR/gate"
    kubectl create namespace test
    kubectl -n test create deployment podinfo --image=podinfo:1 --dry-run=client -o json | kubectl apply -f -
    block canary 1 | sed "s/^    interval: 1m .*/    interval: 1s/; s#http://flagger-gate.flagger#http://127.0.0.1:$(cat "$BATS_TEST_TMPDIR/gate")#; /headersFrom:/d" |
        kubectl apply -f -
    kubectl wait -n test canary/podinfo --for=condition=promoted --timeout=60s
    kubectl -n test set image deployment/podinfo podinfo=podinfo:2
    waits() { kubectl -n test get canary podinfo -o 'jsonpath={.status.phase}' | grep -qx Waiting; }
    eventually 60 waits
    # Of each key that the page shows, the answer has it at one time or another.
    block operations 1 | sed 1d | gojq -r '[paths | map(select(type == "string")) | join(".")] | unique[]' >"$BATS_TEST_TMPDIR/shown"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/shown")" -ge 20 ]
    seen() {
        command curl -s "$DAEMON_URL/debug/canaries/test/podinfo" | gojq -r '[paths | map(select(type == "string")) | join(".")] | unique[]' >>"$BATS_TEST_TMPDIR/seen"
        sort -u "$BATS_TEST_TMPDIR/seen" | comm -13 - <(sort "$BATS_TEST_TMPDIR/shown") >"$BATS_TEST_TMPDIR/unseen"
        [ ! -s "$BATS_TEST_TMPDIR/unseen" ]
    }
    eventually 60 seen || { cat "$BATS_TEST_TMPDIR/unseen" && false; }
    daemon_stop
    unset DAEMON_PID
    kubectl -n test delete canary podinfo --wait=false
    kubectl config set-context --current --namespace=test
    typed operations 2
    gone() { ! kubectl -n test get canary podinfo; }
    eventually 30 gone
}

# What Flagger's overlay of Istio leaves: a Deployment with a selector of its own, in a namespace of its own.
@test "the commands of MIGRATION.md for a Flagger without helm leave one controller, with the rights of ours" {
    [ "$(kubectl version --client -o json | gojq -r '.clientVersion.minor | sub("[^0-9].*"; "")')" -ge 21 ] || skip "kubectl is older than 1.21"
    sandbox_begin "$BATS_TEST_TMPDIR" --no-services
    subjects() { kubectl get clusterrolebinding flagger -o json | gojq -c '[.subjects[].namespace]'; }
    deployments() { kubectl get deployments --all-namespaces -o json | gojq -c '[.items[].metadata | .namespace + "/" + .name]'; }
    flagger() { # NAMESPACE
        kubectl create namespace "$1" --dry-run=client -o yaml
        cat <<YAML
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: flagger, namespace: $1}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: flagger}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: flagger}
subjects: [{kind: ServiceAccount, name: flagger, namespace: $1}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: flagger, namespace: $1}
spec:
  selector: {matchLabels: {app: flagger}}
  template: {metadata: {labels: {app: flagger}}, spec: {containers: [{name: flagger, image: 'flagger:1'}]}}
YAML
    }
    # Why it is deleted first.
    flagger flagger-system | kubectl apply -f - >/dev/null
    run ! kubectl apply -k deploy/kustomize/istio
    [[ $output == *'field is immutable'* ]]
    kubectl delete namespace flagger-system >/dev/null
    flagger istio-system | kubectl apply -f - >/dev/null
    eventually 30 kubectl -n istio-system wait --for=condition=Available deployment/flagger --timeout=1s
    # Printed line by line: after the first no pod of Flagger is left.
    block ../MIGRATION 4 >"$BATS_TEST_TMPDIR/lines"
    # shellcheck disable=SC1090
    source <(head -n 1 "$BATS_TEST_TMPDIR/lines")
    [ "$(deployments)" = '[]' ]
    [ -z "$(kubectl -n istio-system get pods -o name)" ]
    # shellcheck disable=SC1090
    source <(tail -n +2 "$BATS_TEST_TMPDIR/lines")
    [ "$(deployments)" = '["flagger-system/flagger"]' ]
    [ "$(subjects)" = '["flagger-system"]' ]
}
