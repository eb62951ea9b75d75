# A cluster for a test: the sandbox's Kubernetes API, without its gateway.

# shellcheck source=test/lib/daemon.bash
source "${BASH_SOURCE[0]%/*}/daemon.bash"

# sandbox_begin DIR [OPTION...]: starts one whose files are in the folder DIR, with our CRDs; kubectl and our programs reach it
sandbox_begin() {
    DIR=$1
    shift
    export DIR KUBECONFIG=$DIR/kubeconfig HOME=$DIR/home
    mkdir -p "$HOME"
    "$FLAGGER_BUILD/flagger-sandbox" --no-gateway --kubeconfig "$KUBECONFIG" --crds "$BATS_TEST_DIRNAME/../../proto/crd" "$@" \
        >"$DIR/sandbox.out" 2>"$DIR/sandbox.log" </dev/null 3>&- &
    echo $! >"$DIR/sandbox.pid" # who ends it may be another shell
    eventually 60 grep -q '^ready' "$DIR/sandbox.out" || { cat "$DIR/sandbox.log" && return 1; }
}

# sandbox_url: its API over HTTP
sandbox_url() { sed -n 's/.*api-http=\(\S*\).*/\1/p' "$DIR/sandbox.out"; }

# sandbox_end: fails if a sanitizer has found something; the folder stays
sandbox_end() {
    DAEMON_PID=$(cat "$DIR/sandbox.pid")
    kill -TERM "$DAEMON_PID" || true
    eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    ! grep -qE 'ERROR: (Address|Leak)Sanitizer|runtime error' "$DIR/sandbox.log" || { cat "$DIR/sandbox.log" && return 1; }
}
