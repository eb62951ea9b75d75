# The daemons as deploy/ installs them: pods of its manifests in the root folders of their images, with their users, capabilities,
# volumes and limits, the controller with the rights of its Role alone. Releases go through, whatever is replaced meanwhile.

bats_require_minimum_version 1.5.0

runnable() { [ "$(id -u)" -eq 0 ] && unshare --mount --pid --fork true; }

# FIRST: a free port from there on
free_port() {
    local port
    for port in $(seq "$1" "$(($1 + 400))"); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port" && return; }
    done
    return 1
}

setup_file() {
    runnable || return 0
    load ../lib/stage
    load ../lib/postgres
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    local first=$((20000 + RANDOM % 9000)) runs='' daemon
    DIR=$(mktemp -d /tmp/flagger-installed.XXXXXX)
    chmod 755 "$DIR"
    export DIR KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home OPERATOR=operator-0123456789abcdef
    mkdir -p "$HOME" "$DIR/roots" "$DIR/log"
    for daemon in controller gate loadtester; do
        deploy/image "$daemon" --root "$DIR/roots/flagger-$daemon" --build "$FLAGGER_BUILD" >"$DIR/log/image-$daemon"
        runs+=flagger-$daemon=$DIR/run,
    done
    printf '#!/usr/bin/env bash\nexport POD_HOME=%q ASAN_OPTIONS=%q\nexec %q "$@"\n' "$DIR" "${ASAN_OPTIONS:-}" "$PWD/test/lib/pod" >"$DIR/run"
    chmod 755 "$DIR/run"
    with_hey "$DIR/roots/flagger-loadtester"
    GATEWAY=$(free_port "$first")
    PROMETHEUS=$(free_port $((GATEWAY + 1)))
    export DEMO_GATEWAY=http://127.0.0.1:$GATEWAY
    "$FLAGGER_BUILD/flagger-sandbox" --kubeconfig "$KUBECONFIG" --data "$DIR/data" --hosts "$DIR/hosts" --nodes 2 --run "$runs" \
        --crds proto/crd --gateway-port "$GATEWAY" --prometheus "$PROMETHEUS" \
        --register "flagger-prometheus.flagger-system:9090=127.0.0.1:$PROMETHEUS" >"$DIR/out" 2>"$DIR/log/sandbox" </dev/null 3>&- &
    echo $! >"$DIR/pid"
    eventually 60 grep -q '^ready' "$DIR/out"
    cp "$DIR/data/ca.crt" "$DIR/ca.crt"
    kubectl config view --raw -o jsonpath='{.clusters[0].cluster.server}' | sed 's/.*://' >"$DIR/api"
    pg_begin
    pg_stop
    DATABASE=$(free_port $((PROMETHEUS + 1)))
    pg_start -c listen_addresses=127.0.0.1 -c "port=$DATABASE"
    export PG_DIR
    install_all "postgresql://postgres@127.0.0.1:$DATABASE/postgres" >"$DIR/log/install" 
    kubectl apply -f test/screen/app.yaml >>"$DIR/log/install"
    kubectl -n test rollout status deployment/podinfo --timeout 60s >>"$DIR/log/install"
    canary | kubectl apply -f - >>"$DIR/log/install"
    eventually 120 phase_is Initialized
}

# What the image of the load tester has besides: hey with its libraries, the policies, the user of tasks, and its environment.
with_hey() { # ROOT
    local file
    install -Dm 755 "$(readlink -f "$(command -v hey)")" "$1/usr/bin/hey"
    for file in $(ldd "$(command -v hey)" | awk '$3 ~ /^\// {print $3}'); do
        [ -e "$1$file" ] || install -Dm 755 "$(readlink -f "$file")" "$1/usr${file#/usr}"
    done
    mkdir -p "$1/etc/flagger" "$1/home/app"
    cp -r deploy/loadtester/policies "$1/etc/flagger/policies"
    sed -n 's/^ENV //p' deploy/Dockerfile | tail -n 1 | tr ' ' '\n' >"$1/etc/environment"
}

install_all() { # DATABASE
    kubectl create namespace flagger
    kubectl apply -f deploy/controller/namespace.yaml
    kubectl -n flagger create secret generic flagger-gate --from-literal=database="$1" \
        --from-literal=tokens="$(printf 'controller-0123456789abcdef check controller\n%s operate alice\n' "$OPERATOR")"
    kubectl -n flagger create secret generic flagger-loadtester-tokens --from-literal=tokens=tester-0123456789abcdef
    kubectl -n flagger apply -k deploy/gate
    kubectl -n flagger apply -k deploy/loadtester
    # Prometheus is the sandbox's.
    kubectl kustomize deploy/kustomize/gatewayapi | gojq --yaml-input -c 'select(.metadata.name != "flagger-prometheus")' | kubectl apply -f -
    kubectl -n flagger rollout status deployment/flagger-gate deployment/flagger-loadtester --timeout 120s
    kubectl -n flagger-system rollout status deployment/flagger --timeout 120s
}

# The demo's Canary, as a controller with its default options takes it, with the tokens that gate and load tester want. The load lasts
# nearly until it begins again: a check looks at the five seconds before it, and of a single request may say that all is well.
canary() {
    local of
    for of in controller tester; do
        kubectl -n test create secret generic "token-of-$of" --from-literal=Authorization="Bearer $of-0123456789abcdef" >>"$DIR/log/install"
    done
    gojq --yaml-input '.spec.analysis.interval = "10s" | .spec.analysis.stepWeight = 30 | .spec.analysis.webhooks[2].metadata.cmd |= sub("6s"; "9s")
        | .spec.analysis.webhooks |= map(select(.name != "smoke-test")
        | .headersFrom = [{secretRef: {name: (if .name == "approval" then "token-of-controller" else "token-of-tester" end)}}])
        | .spec.analysis.webhooks[0].url += "?hook=begin"
        | .spec.analysis.webhooks += [.spec.analysis.webhooks[0] | .name = "promotion" | .type = "confirm-promotion" | .url |= sub("begin"; "promote")]' test/screen/canary.yaml
}

teardown_file() {
    [ -n "${DIR:-}" ] || return 0
    load ../lib/daemon
    load ../lib/postgres
    DAEMON_PID=$(cat "$DIR/pid")
    kill -TERM "$DAEMON_PID" || true
    eventually 60 daemon_gone || kill -KILL "$DAEMON_PID"
    pg_end
    rm -rf "$DIR"
}

setup() {
    runnable || skip "only root may make namespaces and change the root folder"
    load ../lib/daemon
    load ../lib/stage
    cd "$BATS_TEST_DIRNAME/../.." || return 1
}

# Clients of a test that failed end as well.
teardown() {
    explain_failure
    client_end 2>/dev/null
    gate_end 2>/dev/null
}

# process NAMESPACE POD: that of its container
process() {
    local pid
    for pid in $(pgrep -x flagger-.\*); do
        [[ $(readlink "/proc/$pid/root") == "$DIR/pods/$2."*/root ]] && echo "$pid" && return
    done
    return 1
}
# With the arguments of the manifest, and where it listens; one that is started again has others for a moment.
started_as_told() { # NAMESPACE POD: sets pid
    pid=$(process "$1" "$2") || return 1
    tr '\0' '\n' <"/proc/$pid/cmdline" | sed '/^--address$/,$d' | gojq -Rs 'rtrimstr("\n") | split("\n")' >"$BATS_TEST_TMPDIR/argv"
    gojq -e --slurpfile argv "$BATS_TEST_TMPDIR/argv" '.spec.containers[0] | .command + .args == $argv[0]' "$BATS_TEST_TMPDIR/pod" ||
        { echo "$1/$2 runs as $(<"$BATS_TEST_TMPDIR/argv")" && return 1; }
}
pods() { api_look '' pods | gojq -r '.items[] | select(.spec.containers[0].image | test("^flagger-")) | .metadata.namespace + " " + .metadata.name'; }

@test "each pod is what its manifest says, and no more" {
    local ns name pid found=0
    while read -r ns name; do
        api_look "$ns" pods "$name" >"$BATS_TEST_TMPDIR/pod"
        eventually 10 started_as_told "$ns" "$name"
        # 40: SETGID, 80: SETUID, 20: KILL
        gojq -r '(.spec.securityContext // {}) + .spec.containers[0].securityContext | "\(.runAsUser) \(.runAsGroup // .runAsUser) " +
            (if .capabilities.add then "00000000000000e0 00000000000000e0" else "0000000000000000 0000000000000000" end)' "$BATS_TEST_TMPDIR/pod" >"$BATS_TEST_TMPDIR/wanted"
        awk '/^(Uid|Gid|CapEff|CapBnd|NoNewPrivs):/ {printf "%s ", $2}' "/proc/$pid/status" >"$BATS_TEST_TMPDIR/status"
        [ "$(cat "$BATS_TEST_TMPDIR/wanted") 1 " = "$(awk '{print $1, $2, $3, $4, $5 " "}' "$BATS_TEST_TMPDIR/status")" ]
        awk '$5 == "/" {print $6}' "/proc/$pid/mountinfo" | tail -n 1 | grep -qw ro
        awk '{print $5}' "/proc/$pid/mountinfo" >"$BATS_TEST_TMPDIR/mounts"
        while read -r path; do grep -qx "$path" "$BATS_TEST_TMPDIR/mounts"; done < <(gojq -r '.spec.containers[0].volumeMounts[]?.mountPath' "$BATS_TEST_TMPDIR/pod")
        # A token of the API for the controller alone.
        if gojq -e '.spec.automountServiceAccountToken == false' "$BATS_TEST_TMPDIR/pod"; then
            [ ! -e "/proc/$pid/root/var/run/secrets" ]
        else
            [ "$ns" = flagger-system ]
        fi
        found=$((found + 1))
    done < <(pods)
    [ "$found" -eq 4 ]
}

@test "the controller's account may do what its Role says, and nothing else" {
    local token
    token=$(kubectl create --raw /api/v1/namespaces/flagger-system/serviceaccounts/flagger/token -f - <<<'{"spec": {}}' | gojq -r .status.token)
    as_controller() { kubectl --token "$token" --server "$(kubectl config view -o jsonpath='{.clusters[0].cluster.server}')" "$@"; }
    [ -n "$(as_controller -n test get canaries -o name)" ]
    run ! as_controller -n test get pods podinfo
    [[ $output == *'User "system:serviceaccount:flagger-system:flagger" cannot get resource "pods"'* ]]
    run ! as_controller -n test delete canary podinfo
    [[ $output == *forbidden* ]]
}

# at_gate WHAT [JSON [NAME]]: what an operator does with a gate
at_gate() {
    curl -sSf -m 10 -H "Authorization: Bearer $OPERATOR" -H 'Content-Type: application/json' -d "${2:-{\}}" \
        "http://$(api_look flagger services flagger-gate | gojq -r '.spec.clusterIP // ""')/v1/gates/test/${3:-podinfo}/$1"
}
lets() { at_gate open "{\"hook\": \"$1\"}"; }
waits() { api_look test canaries podinfo | gojq -e '.status.phase == "Waiting"' >/dev/null; }
waits_to_promote() { phase_is WaitingPromotion; }
promoted() { phase_is Succeeded && serves "$1"; }
# No request of the controller was refused, and no daemon had an error.
no_complaint() {
    local ns name
    while read -r ns name; do
        refute grep -E '"level":"error"|forbidden' <(kubectl -n "$ns" logs "$name")
    done < <(pods)
}

@test "a release with a gate, a load test and a metric is promoted, and a bad one is rolled back" {
    client_begin
    release 2.0.0
    eventually 120 waits
    lets begin
    eventually 120 waits_to_promote
    lets promote
    eventually 240 promoted 2.0.0
    kubectl -n flagger logs deployment/flagger-loadtester | gojq -se 'any(.[]; .event == "task_finished")'
    [ "$(client_failed)" = 0 ]
    release 3.0.0-errors50
    eventually 240 phase_is Failed
    serves 2.0.0
    no_complaint
}

# A client of another gate, which is open, with a new connection fifteen times a second: gate_client, then gate_failed prints how often
# it did not say so.
gate_client() {
    local at
    at=http://$(api_look flagger services flagger-gate | gojq -r '.spec.clusterIP // ""')/gate/check
    curl -s -m 5 --rate 15/s -o /dev/null -w '%{stderr}%{http_code}\n' -H 'Authorization: Bearer controller-0123456789abcdef' \
        -H 'Connection: close' -d '{"name":"other","namespace":"test"}' "$at#[1-1000000]" 2>"$BATS_TEST_TMPDIR/gate" 3>&- &
    GATE_CLIENT=$!
}
gate_end() {
    kill "$GATE_CLIENT" && wait "$GATE_CLIENT" || true
}
gate_failed() {
    gate_end
    [ "$(wc -l <"$BATS_TEST_TMPDIR/gate")" -gt 20 ] || echo "too few requests"
    grep -vc '^200$' "$BATS_TEST_TMPDIR/gate" || true
}
told() { api_look test events | gojq --arg text "$1" '[.items[] | select(.message | contains($text)) | .count // 1] | add // 0'; }
# arrives VERSION: it has waited for what was replaced; begun once, and promoted; no client saw anything of what happened
arrives() {
    eventually 240 waits_to_promote
    lets promote
    eventually 240 promoted "$1"
    [ "$(told 'New revision detected')" = $((begun + 1)) ]
    [ "$(told 'Promotion completed')" = $((completed + 1)) ]
    [ "$(client_failed)" = 0 ]
    [ "$(gate_failed)" = 0 ]
    no_complaint
}
under_way() { # VERSION
    begun=$(told 'New revision detected') completed=$(told 'Promotion completed')
    at_gate close '{}'
    at_gate open '{}' other
    lets begin
    client_begin
    gate_client
    release "$1"
    eventually 120 weight_above 0
}
replaced() { kubectl -n "$1" rollout restart "deployment/$2" && kubectl -n "$1" rollout status "deployment/$2" --timeout 120s; }

@test "each daemon and the CRDs are replaced in the middle of a release" {
    local file
    under_way 4.0.0
    for file in proto/crd/*.yaml; do
        gojq --yaml-input '.spec.versions[].schema.openAPIV3Schema.properties.spec.properties.ofTheNextVersion = {type: "string"}' "$file" |
            kubectl replace -f -
    done
    replaced flagger flagger-gate
    replaced flagger flagger-loadtester
    replaced flagger-system flagger
    arrives 4.0.0
    [ -z "$(api_look test canaries podinfo | gojq -r '.spec.ofTheNextVersion // ""')" ]
}

@test "a node is drained in the middle of a release" {
    local node app
    # As whoever drains nodes has them: without a budget all pods of a workload may be on one node, and go at once.
    for app in podinfo podinfo-primary; do
        printf -- '---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: %s, namespace: test}\nspec: {minAvailable: 1, selector: {matchLabels: {app: %s}}}\n' "$app" "$app"
    done | kubectl apply -f -
    under_way 5.0.0
    node=$(kubectl -n flagger-system get pods -o jsonpath='{.items[0].spec.nodeName}')
    [ "$(kubectl -n flagger get pods -o jsonpath='{.items[*].spec.nodeName}' | tr ' ' '\n' | sort -u | wc -l)" -eq 2 ]
    kubectl drain "$node" --delete-emptydir-data --ignore-daemonsets --timeout 120s
    refute grep -F "$node" <(kubectl get pods -A -o jsonpath='{.items[*].spec.nodeName}')
    arrives 5.0.0
    kubectl uncordon "$node"
}
