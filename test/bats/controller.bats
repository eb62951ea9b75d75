# The controller's command line and its start, without a cluster.

setup() {
    load ../lib/daemon
    CONTROLLER=$FLAGGER_BUILD/flagger-controller
}

teardown() {
    [ -z "${DAEMON_PID:-}" ] || daemon_gone || kill -KILL "$DAEMON_PID"
}

# A kubeconfig for a server that is not there.
nowhere() {
    cat >"$BATS_TEST_TMPDIR/kubeconfig" <<END
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: a, user: {token: x}}]
END
}

@test "--help teaches, --version tells" {
    run "$CONTROLLER" --help
    [ "$status" -eq 0 ]
    [[ $output == *--mesh-provider*--metrics-server* ]]
    run "$CONTROLLER" -version
    [ "$status" -eq 0 ]
    [[ $output == flagger-controller\ * ]]
}

@test "a wrong option is one sentence" {
    run "$CONTROLLER" --mesh-provder nginx
    [ "$status" -eq 2 ]
    [[ $output == *mesh-provider* ]]
    run "$CONTROLLER" --min-analysis-interval soon
    [ "$status" -eq 2 ]
    [[ $output == *min-analysis-interval*soon* ]]
    run "$CONTROLLER" --threadiness 0
    [ "$status" -eq 2 ]
    run "$CONTROLLER" --mesh-provider nobody
    [ "$status" -eq 1 ]
    [[ $output == *"--mesh-provider: expected one of "*istio*", found "*nobody* ]]
    local selector
    for selector in '=red' 'team=red,' ',team' 'team in (red' '!' 'team=red)' 'team=a;b' 'team=(a)=b'; do
        run "$CONTROLLER" --watch-selector "$selector"
        [ "$status" -eq 1 ]
        [[ $output == *"--watch-selector: expected labels as team=red"*"found "* ]] || { echo "$selector: $output" && return 1; }
    done
    nowhere
    for selector in team=red team==red 'team!=red' '!old' 'a.example.com/team in (red, blue),tier notin (x),owner' team= 'a,!b'; do
        daemon_start "$CONTROLLER" -kubeconfig="$BATS_TEST_TMPDIR/kubeconfig" --enable-leader-election=false --watch-selector "$selector"
        daemon_stop
    done
}

@test "Flagger's command line starts it, and what has no effect is told" {
    nowhere
    daemon_start "$CONTROLLER" -log-level=info -mesh-provider=gatewayapi:v1 \
        -kubeconfig="$BATS_TEST_TMPDIR/kubeconfig" -slack-url=http://slack.example -slack-user=flagger \
        -control-loop-interval=10s -enable-leader-election=false -zap-encoding=json
    grep -q 'zap-encoding' "$DAEMON_LOG"
    daemon_stop
}

@test "a kubeconfig of the mesh that is not there is told; both clusters are logged" {
    nowhere
    run "$CONTROLLER" -kubeconfig="$BATS_TEST_TMPDIR/kubeconfig" -kubeconfig-service-mesh="$BATS_TEST_TMPDIR/missing"
    [ "$status" -eq 1 ]
    [[ $output == *"$BATS_TEST_TMPDIR/missing"* ]]
    sed 's/127.0.0.1:1/127.0.0.1:2/' "$BATS_TEST_TMPDIR/kubeconfig" >"$BATS_TEST_TMPDIR/mesh"
    daemon_start "$CONTROLLER" -kubeconfig="$BATS_TEST_TMPDIR/kubeconfig" -kubeconfig-service-mesh="$BATS_TEST_TMPDIR/mesh"
    grep -q '"server":"http://127.0.0.1:1","mesh_server":"http://127.0.0.1:2"' "$DAEMON_LOG"
    daemon_stop
}

@test "without a cluster it says where it looked" {
    run env -u KUBECONFIG HOME="$BATS_TEST_TMPDIR" "$CONTROLLER" --port 0
    [ "$status" -eq 1 ]
    [[ $output == *kubeconfig* || $output == *.kube/config* ]]
    run "$CONTROLLER" --port 0 --namespace test,B_d
    [ "$status" -ne 0 ]
    [[ $output == *'--namespace: expected names of namespaces, found \"B_d\"'* ]]
    run "$CONTROLLER" --port 0 --kubeconfig /nothing/here
    [ "$status" -eq 1 ]
    [[ $output == */nothing/here* ]]
}

@test "while the API cannot be reached it is alive and not ready" {
    nowhere
    daemon_start "$CONTROLLER" --kubeconfig "$BATS_TEST_TMPDIR/kubeconfig"
    answers 200 GET /healthz
    answers 503 GET /readyz
    curl -s "$DAEMON_URL/metrics" | grep -q '^flagger_info{version='
    daemon_stop
}

@test "in a pod it elects a leader, unless a kubeconfig leads elsewhere" {
    run env -u KUBECONFIG KUBERNETES_SERVICE_HOST=10.0.0.1 "$CONTROLLER" --help
    [[ $output == *"default true in a pod (default: true)"* ]]
    run env KUBECONFIG=/x KUBERNETES_SERVICE_HOST=10.0.0.1 "$CONTROLLER" --help
    [[ $output == *enable-leader-election* && $output != *"default true in a pod (default: true)"* ]]
}
