# kubectl canary on a sandbox: what people type, and what a script gets.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/sandbox
    sandbox_begin "$(mktemp -d /tmp/flagger-ctl.XXXXXX)"
    kubectl create namespace shop
    kubectl create namespace test
    daemon_start "$FLAGGER_BUILD/flagger-controller" --mesh-provider kubernetes --min-analysis-interval 1s
    echo "$DAEMON_PID" >"$DIR/controller"
    echo "$DAEMON_LOG" >"$DIR/controller.log"
}

teardown_file() {
    load ../lib/sandbox
    DAEMON_PID=$(cat "$DIR/controller") DAEMON_LOG=$(cat "$DIR/controller.log")
    daemon_stop || true
    sandbox_end
    rm -rf "$DIR"
}

setup() { load ../lib/sandbox; }

ctl() { "$FLAGGER_BUILD/kubectl-canary" "$@"; }

# canary NAME WEBHOOKS: a Canary of an app of that name, and its Deployment
canary() {
    kubectl apply -f - <<YAML >/dev/null
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, namespace: test}
spec:
  replicas: 1
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 9898}]}]}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: test, labels: {team: $1}}
spec:
  provider: kubernetes
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}
  service: {port: 9898}
  analysis: {interval: 1s, threshold: 2, iterations: 2, webhooks: [$2]}
YAML
    eventually 60 phase_is "$1" Initialized
}
phase_is() { [ "$(of_canary test "$1" .status.phase)" = "$2" ]; }
image() { kubectl -n test set image "deployment/$1" "app=app:$2" >/dev/null; }
# terminal COLUMNS ARGUMENTS: what a terminal of that width shows, without its colours
terminal() {
    script -qec "stty cols $1; TERM=xterm $FLAGGER_BUILD/kubectl-canary $2" /dev/null | tr -d '\r'
}

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

@test "status tells a pipeline how a release ended, by four exit codes" {
    # A hook that nobody answers fails a check, and a gate at which nobody answers holds.
    canary good '{name: fine, type: event, url: "http://127.0.0.1:9/"}'
    canary bad '{name: smoke, type: pre-rollout, url: "http://127.0.0.1:9/", timeout: 1s}'
    canary held '{name: promote, type: confirm-promotion, url: "http://127.0.0.1:9/", timeout: 1s}'
    run -0 ctl status good -n test
    [ "$output" = "revision $(kubectl -n test get canary good -o jsonpath='{.status.lastAppliedSpec}') is promoted" ]
    image good 2 && image bad 2 && image held 2
    # The new revision counts from the moment that it is there, whether the controller has seen it or not.
    [ "$(ctl status good -n test -o json | gojq -r .revision)" != "$(kubectl -n test get canary good -o jsonpath='{.status.lastPromotedSpec}')" ]
    run -0 --separate-stderr ctl status good -n test --wait --timeout 90s
    [[ $output == 'revision '*' is promoted' ]]
    run -3 --separate-stderr ctl status bad -n test --image app:2 --wait --timeout 90s
    [[ $output == 'revision '*' was rolled back: '* ]]
    run -5 --separate-stderr ctl status held -n test --wait --until-person --timeout 90s
    [[ $output == 'revision '*' waits for a person: '* ]]
    run -5 --separate-stderr ctl status held -n test --wait --timeout 1s
    run -6 --separate-stderr ctl status held -n test --image app:3
    [[ $output == *'no container of the target has the image app:3' ]]
    [ "$(ctl status held -n test -o json | gojq -c '[.outcome, .exitCode, .phase]')" = '["waiting",5,"WaitingPromotion"]' ]
    # Under way: 4.
    kubectl -n test patch canary good --type merge -p '{"spec":{"analysis":{"interval":"1h","iterations":9}}}'
    image good 3
    run -4 --separate-stderr ctl status good -n test --wait --timeout 2s
    run -1 ctl status none -n test
    run -2 ctl status good -n test --timeout 2s
}

# They wait for a person, and their status says where they are: tools that know nothing of conditions read phase and weight.
@test "one that is refused or suspended as it is found waits for a person" {
    local name
    kubectl apply -f - >/dev/null <<'YAML'
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: refused, namespace: test}
spec:
  provider: istio
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: nothing}
  service: {port: 80}
  analysis: {interval: 10s, threshold: 2, stepWeights: [50, 20]}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: suspended, namespace: test}
spec:
  suspend: true
  provider: kubernetes
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: nothing-else}
  service: {port: 80}
  analysis: {interval: 10s, threshold: 2, iterations: 2}
YAML
    for name in refused suspended; do
        eventually 30 phase_is "$name" Initializing
        [ "$(kubectl -n test get canary "$name" -o jsonpath='{.status.canaryWeight}{.status.conditions[?(@.type=="Promoted")].reason}')" = 0NotBegun ]
        run -5 --separate-stderr ctl status "$name" -n test
        run -5 --separate-stderr ctl status "$name" -n test --wait --until-person --timeout 60s
        ctl get "$name" -n test >"$BATS_TEST_TMPDIR/tree"
        refute grep 'no controller' "$BATS_TEST_TMPDIR/tree"
    done
    kubectl -n test delete canary refused suspended >/dev/null
}

@test "get shows a table of all, and a tree of one" {
    ctl get -n test >"$BATS_TEST_TMPDIR/all"
    grep -qE '^NAME +PHASE +WEIGHT +REASON +SINCE +REVISION +FAILED$' "$BATS_TEST_TMPDIR/all"
    grep -qE '^held +WaitingPromotion +\[-{10}\] 0% +GateClosed ' "$BATS_TEST_TMPDIR/all"
    [ "$(ctl get -A | sed -n '2,$p' | cut -d' ' -f1 | sort -u)" = test ]
    [ "$(ctl get -n test -l team=bad -o name)" = canary.flagger.app/bad ]
    [ "$(ctl get -n test -o json | gojq -r '[.items[].metadata.name] | sort | join(" ")')" = 'bad good held' ]
    ctl get held -n test >"$BATS_TEST_TMPDIR/one"
    grep -qx 'held (namespace test)' "$BATS_TEST_TMPDIR/one"
    grep -qE '^├─ phase +WaitingPromotion, for ' "$BATS_TEST_TMPDIR/one"
    grep -qE '^├─ why +held waits for a person to open the gate promote' "$BATS_TEST_TMPDIR/one"
    grep -qE '^├─ target +Deployment held, 1 of 1 ready' "$BATS_TEST_TMPDIR/one"
    grep -qE 'promote \(confirm-promotion\)' "$BATS_TEST_TMPDIR/one"
    grep -qE 'ago +Halt held.test advancement waiting for promotion approval promote' "$BATS_TEST_TMPDIR/one"
    refute grep -q $'\033' "$BATS_TEST_TMPDIR/one"
    ctl get held -n test -o json | gojq -e '.name == "held" and .phase == "WaitingPromotion" and .target.state == "1 of 1 ready"'
    ctl get held -n test -o yaml | gojq --yaml-input -e '.primary.name == "held-primary"'
}

@test "a terminal of 60 columns is enough, and only a terminal gets colours" {
    command -v script || skip "no script"
    terminal 60 'get held -n test' >"$BATS_TEST_TMPDIR/narrow"
    grep -q $'\033\\[' "$BATS_TEST_TMPDIR/narrow"
    terminal 60 'get -A' >>"$BATS_TEST_TMPDIR/narrow"
    terminal 60 --help >>"$BATS_TEST_TMPDIR/narrow"
    sed 's/\x1b\[[0-9;]*m//g' "$BATS_TEST_TMPDIR/narrow" >"$BATS_TEST_TMPDIR/plain"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/plain")" -gt 40 ]
    # The lists of exit codes and examples are for reading, and not wrapped.
    sed '/^Exit codes/,$d' "$BATS_TEST_TMPDIR/plain" >"$BATS_TEST_TMPDIR/lines"
    LC_ALL=C.UTF-8 refute grep -E '^.{61,}' "$BATS_TEST_TMPDIR/lines"
    refute grep -q $'\033' <(NO_COLOR=1 terminal 60 'get -A')
}

@test "-w follows: line by line for a log" {
    timeout 60 "$FLAGGER_BUILD/kubectl-canary" get held -n test -w >"$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
    local pid=$!
    eventually 30 grep -qE '^[0-9TZ:-]+  test/held  WaitingPromotion  0%  ' "$BATS_TEST_TMPDIR/log"
    image held 9
    eventually 30 grep -qE '  test/held  Progressing  ' "$BATS_TEST_TMPDIR/log"
    kill "$pid"
}

@test "who has no right is told which, and what may be read is shown" {
    deny() { # PATH: once
        kubectl create --raw /sandbox/faults -f - <<<"{\"path\": \"$1\", \"agent\": \"kubectl-canary\", \"status\": 403}" >/dev/null
    }
    deny /namespaces/test/canaries
    run -1 --separate-stderr ctl get held -n test
    [ "${#stderr_lines[@]}" -eq 1 ] && [[ $stderr == *'ask whoever gives rights in this cluster'* ]]
    deny /namespaces/test/pods
    ctl get held -n test >"$BATS_TEST_TMPDIR/one"
    grep -qE '^└─ not read +pods$' "$BATS_TEST_TMPDIR/one"
    # Few may read leases in the namespace of the system: that is nothing to tell everybody, and why says what follows from it.
    deny /leases/
    ctl get held -n test >"$BATS_TEST_TMPDIR/one"
    refute grep '─ not read' "$BATS_TEST_TMPDIR/one"
    image good 4
    denied() { # once the controller has seen it
        deny /leases/
        ctl why good -n test >"$BATS_TEST_TMPDIR/why"
        grep -qF "(You may not read the controller's lease" "$BATS_TEST_TMPDIR/why"
    }
    eventually 60 denied
}

@test "crds are those of the tree, and applied as they are" {
    ctl crds | gojq --yaml-input -s -e 'length >= 3 and all(.kind == "CustomResourceDefinition")'
    gojq --yaml-input -c . "$BATS_TEST_DIRNAME"/../../proto/crd/*.yaml >"$BATS_TEST_TMPDIR/there"
    ctl crds | gojq --yaml-input -c . | diff - "$BATS_TEST_TMPDIR/there"
}

@test "shells complete commands, flags and names" {
    local shell
    PATH=$FLAGGER_BUILD:$PATH
    for shell in bash zsh fish; do
        ctl completion "$shell" >"$BATS_TEST_TMPDIR/$shell"
        ! command -v "$shell" || "$shell" -n "$BATS_TEST_TMPDIR/$shell"
    done
    # typed WORD...: what bash offers for the last one
    typed() {
        bash -c 'source "$1" && shift && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _kubectl_canary && printf "%s\n" "${COMPREPLY[@]}"' \
            sh "$BATS_TEST_TMPDIR/bash" kubectl-canary "$@"
    }
    [ "$(typed sta)" = status ]
    typed '' | grep -qx get
    [ "$(typed get --all)" = --all-namespaces ]
    [ "$(typed get -o na)" = name ]
    [ "$(typed get -n test ba)" = bad ]
    [ "$(typed -n test status '' | xargs)" = 'bad good held' ]
    [ -z "$(typed get -n shop '')" ]
    # kubectl asks the same way.
    [ "$("$BATS_TEST_DIRNAME/../../deploy/completion/kubectl_complete-canary" get -n test he)" = $'held\n:4' ]
}
