# kubectl canary on a sandbox: what people type, and what a script gets.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/daemon
    DIR=$(mktemp -d /tmp/flagger-ctl.XXXXXX)
    export DIR KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home
    mkdir "$HOME"
    "$FLAGGER_BUILD/flagger-sandbox" --no-gateway --kubeconfig "$KUBECONFIG" --crds "$BATS_TEST_DIRNAME/../../proto/crd" \
        >"$DIR/out" 2>"$DIR/log" </dev/null 3>&- &
    echo $! >"$DIR/sandbox"
    eventually 60 grep -q '^ready' "$DIR/out" || { cat "$DIR/log" && return 1; }
    kubectl create namespace shop
}

teardown_file() {
    load ../lib/daemon
    DAEMON_PID=$(cat "$DIR/sandbox")
    kill -TERM "$DAEMON_PID" || true
    eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    rm -rf "$DIR"
}

setup() { load ../lib/daemon; }

ctl() { "$FLAGGER_BUILD/kubectl-canary" "$@"; }

@test "each command teaches how it is used, by both names" {
    local name
    ctl --help >"$BATS_TEST_TMPDIR/help"
    ctl >"$BATS_TEST_TMPDIR/bare"
    ctl help | diff "$BATS_TEST_TMPDIR/help" -
    diff "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/bare"
    "$FLAGGER_BUILD/flagger-controller" ctl --help | sed 's/flagger-controller ctl/kubectl canary/' | head -n 4 | diff <(head -n 4 "$BATS_TEST_TMPDIR/help") -
    sed -n '/^Commands/,/^$/s/^  \([a-z-]*\) .*/\1/p' "$BATS_TEST_TMPDIR/help" >"$BATS_TEST_TMPDIR/names"
    grep -qx get "$BATS_TEST_TMPDIR/names"
    while read -r name; do
        ctl "$name" --help >"$BATS_TEST_TMPDIR/one"
        grep -q "^  kubectl canary $name" "$BATS_TEST_TMPDIR/one"
        ctl help "$name" | diff "$BATS_TEST_TMPDIR/one" -
        grep -q '^  --help' "$BATS_TEST_TMPDIR/one"
        refute grep -q '{ctl}' "$BATS_TEST_TMPDIR/one"
    done <"$BATS_TEST_TMPDIR/names"
    # kubectl finds it by its name.
    PATH=$FLAGGER_BUILD:$PATH kubectl canary --version | grep -qx 'kubectl-canary [0-9.]*'
}

@test "a wrong command line is one sentence, and exit code 2" {
    local arguments
    for arguments in 'gte' 'get --nmespace x' 'get a b' 'get -o xml' 'get -n' 'get -A x' 'help gte'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr ctl $arguments
        [ -z "$output" ] && [ "${#stderr_lines[@]}" -eq 1 ] && [[ $stderr == 'kubectl canary: '* ]]
    done
}

@test "no server, no right and no such object are told apart" {
    run -1 --separate-stderr ctl get -s http://127.0.0.1:9 --request-timeout 1s
    [ "${#stderr_lines[@]}" -eq 1 ] && [[ $stderr == *'connection refused'*'is http://127.0.0.1:9 the right server'* ]]
    run -1 --separate-stderr ctl get -n shop none
    [ "$stderr" = 'kubectl canary: there is no Canary "none" in namespace "shop"; kubectl canary get -A lists all' ]
    run -1 --separate-stderr ctl get --kubeconfig /none
    [[ $stderr == *'/none'* ]]
}

@test "where there is no Canary it says so, and a script gets an empty list" {
    run -0 --separate-stderr ctl get -n shop
    [ -z "$output" ] && [[ $stderr == 'There are no Canaries in namespace "shop"'* ]]
    [ "$(ctl get -n shop -o json | gojq -c '[.kind, .items]')" = '["List",[]]' ]
    [ "$(ctl get -n shop -o yaml | gojq --yaml-input -c '[.kind, .items]')" = '["List",[]]' ]
    [ -z "$(ctl get -A -o name)" ]
}
