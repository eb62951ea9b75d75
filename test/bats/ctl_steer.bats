# kubectl canary promote, abort, pause, resume, restart, skip-analysis: a real controller on a sandbox does what people ask, once, and tells them.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/sandbox
    export USER=alice SANDBOX_TOKEN=secret-of-the-sandbox
    sandbox_begin "$(mktemp -d /tmp/flagger-steer.XXXXXX)" --no-services
    kubectl create namespace test
    # Without it each name is shown as not proven; the sandbox holds it without asking it.
    kubectl apply -k "$BATS_TEST_DIRNAME/../../deploy/people"
    daemon_start "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --mesh-provider kubernetes --min-analysis-interval 1s
    echo "$DAEMON_PID" >"$DIR/controller"
}

teardown_file() {
    load ../lib/sandbox
    DAEMON_PID=$(cat "$DIR/controller")
    kill -TERM "$DAEMON_PID" || true
    eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    sandbox_end
    rm -rf "$DIR"
}

setup() { load ../lib/sandbox; }

ctl() { "$FLAGGER_BUILD/kubectl-canary" "$@"; }

# release NAME: a Canary that is analysed for an hour, in the middle of a release
release() {
    kubectl apply -f - <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, namespace: test}
spec:
  replicas: 1
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec: {containers: [{name: app, image: 'demo-app:1.0.0', ports: [{name: http, containerPort: 9898}]}]}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: test}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}
  service: {port: 9898}
  analysis: {interval: 1s, threshold: 5, iterations: 3600}
YAML
    eventually 120 in_phase "$1" Initialized
    push "$1" 2.0.0
    eventually 120 in_phase "$1" Progressing
}

push() { kubectl -n test set image "deploy/$1" "app=demo-app:$2"; }
in_phase() { [ "$(of_canary test "$1" .status.phase)" = "$2" ]; }
requests() { api_look test canaries "$1" | gojq -c '[.status.requests[] | [.action, .outcome, .by, .why // ""]]'; }
no_request() { [ -z "$(kubectl -n test get releaserequests -o name)" ]; }
events() { api_look test events | gojq -r --arg name "$1" '.items[] | select(.involvedObject.name == $name).message'; }
told() { events "$1" | grep -qF "$2"; }

@test "promote ends the analysis, and the event and the status say who asked" {
    release shop
    run -0 ctl promote shop -n test --why 'checked by hand' --wait --timeout 120s
    [[ ${lines[0]} == 'shop: the analysis of revision '*' ends, it is promoted if its gate agrees' ]]
    [ "${lines[1]}" = 'shop: Succeeded' ]
    [ "$(requests shop)" = '[["promote","done","alice","checked by hand"]]' ]
    [ "$(kubectl -n test get deploy shop-primary -o 'jsonpath={.spec.template.spec.containers[0].image}')" = demo-app:2.0.0 ]
    eventually 60 told shop 'Request promote (alice: checked by hand): the analysis of revision'
    eventually 60 no_request
}

@test "abort rolls back; restart analyses the same revision again, and skip-analysis promotes it" {
    release cart
    run -0 ctl abort cart -n test --why 'customers complain' --wait --timeout 120s
    [ "${lines[1]}" = 'cart: Failed' ]
    eventually 60 told cart 'Rolling back cart.test, asked by alice: customers complain'
    run -0 ctl restart cart -n test
    [[ $output == 'cart: revision '*' is analysed again' ]]
    eventually 120 in_phase cart Progressing
    run -0 ctl skip-analysis cart -n test --wait --timeout 120s
    [ "${lines[1]}" = 'cart: Succeeded' ]
    [ "$(requests cart)" = '[["skip-analysis","done","alice",""],["restart","done","alice",""],["abort","done","alice","customers complain"]]' ]
}

@test "pause holds a release, and resume lets it go on" {
    release pay
    run -0 ctl pause pay -n test --why 'the database moves'
    [[ $output == 'pay: the release of revision '*' takes no step until it is resumed' ]]
    [ "$(kubectl -n test get canary pay -o 'jsonpath={.status.paused.by}: {.status.paused.why}')" = 'alice: the database moves' ]
    run -3 --separate-stderr ctl pause pay -n test
    [[ $stderr == 'kubectl canary: pause of pay is refused: it is paused already' ]]
    run -0 ctl resume pay -n test
    [[ $output == 'pay: the release of revision '*' goes on' ]]
    [ -z "$(kubectl -n test get canary pay -o 'jsonpath={.status.paused}')" ]
    run -3 --separate-stderr ctl resume pay -n test
    [[ $stderr == *'it is not paused' ]]
}

@test "what is about another revision, or not possible, does nothing and says so" {
    release mail
    run -3 --separate-stderr ctl abort mail -n test --revision 0123456789
    [[ $stderr == 'kubectl canary: abort of mail is refused: it is about revision 0123456789, now it would be '* ]]
    in_phase mail Progressing
    run -3 --separate-stderr ctl restart mail -n test
    [[ $stderr == *'only a revision that has failed is analysed again' ]]
    run -1 --separate-stderr ctl abort none -n test
    [[ $stderr == 'kubectl canary: there is no Canary "none"'* ]]
    run -2 --separate-stderr ctl abort -n test
    eventually 60 no_request
    # It outlives a restart of the cluster's view: nothing is left to be done a second time.
    [ "$(requests mail | gojq -c 'map(.[1])')" = '["refused","refused"]' ]
}

@test "who may not ask is told, and nothing happens" {
    run -1 --separate-stderr ctl abort mail -n test --token "$SANDBOX_TOKEN-readonly"
    [ "${#stderr_lines[@]}" -eq 1 ] && [[ $stderr == *'cannot create resource "releaserequests"'* ]]
    in_phase mail Progressing
}

# Two people at once: one wins, both are told, the status has both.
@test "of two who ask at once one wins, and both are told" {
    release duel
    USER=alice ctl promote duel -n test >"$DIR/alice" 2>&1 3>&- &
    local alice=$! first=0 second=0
    USER=bob ctl abort duel -n test >"$DIR/bob" 2>&1 3>&- &
    local bob=$!
    wait "$alice" || first=$?
    wait "$bob" || second=$?
    echo "alice: $first: $(cat "$DIR/alice")"
    echo "bob: $second: $(cat "$DIR/bob")"
    # An abort that comes between alice's request and the promotion is heard, and ends the release.
    local phase=Failed said='["done","refused"]'
    case "$first $second" in
    '0 3') phase=Succeeded ;;
    '3 0') ;;
    '0 0') said='["done","done"]' ;;
    *) return 1 ;;
    esac
    requests duel
    [ "$(requests duel | gojq -c 'map(.[1]) | sort')" = "$said" ]
    [ "$(requests duel | gojq -c 'map(.[2]) | sort')" = '["alice","bob"]' ]
    # Who came second as well, although the release may have ended before.
    ctl history duel -n test >"$DIR/history"
    cat "$DIR/history"
    grep -Eq '^[0-9a-f]+  promote by alice \((done|refused)\)' "$DIR/history"
    grep -Eq '^[0-9a-f]+  abort by bob \((done|refused)\)' "$DIR/history"
    eventually 120 in_phase duel "$phase"
}

@test "a name that nothing proves is shown so" {
    kubectl delete -k "$BATS_TEST_DIRNAME/../../deploy/people"
    release forged
    kubectl -n test apply -f - <<YAML
apiVersion: flagger.app/v1alpha1
kind: ReleaseRequest
metadata: {name: forged}
spec: {action: pause, revision: "$(kubectl -n test get canary forged -o 'jsonpath={.status.lastAppliedSpec}')", by: director, why: lunch}
YAML
    paused() { [ "$(kubectl -n test get canary forged -o 'jsonpath={.status.paused.by}')" = 'director (not proven)' ]; }
    eventually 60 paused
    [ "$(requests forged)" = '[["pause","done","director (not proven)","lunch"]]' ]
    eventually 60 told forged 'Request pause (director (not proven): lunch)'
    run ctl why forged -n test
    [[ $output == *'director (not proven) has paused the release of forged'* ]]
    kubectl apply -k "$BATS_TEST_DIRNAME/../../deploy/people"
}

image_of() { kubectl -n test get deploy "$1" -o 'jsonpath={.spec.template.spec.containers[0].image}'; }
promoted() { kubectl -n test get canary "$1" -o 'jsonpath={.status.lastPromotedSpec}'; }
# release_all NAME VERSION: a release that is promoted
release_all() {
    push "$1" "$2"
    eventually 60 in_phase "$1" Progressing
    ctl skip-analysis "$1" -n test --wait --timeout 120s
}

@test "undo releases the revision before again, without checks, and says who and why" {
    release back
    run -3 --separate-stderr ctl undo back -n test
    [[ $stderr == *': revision '*' of back is not promoted: kubectl canary abort takes it back while it is released; or name a revision with --to' ]]
    ctl skip-analysis back -n test --wait --timeout 120s
    # A label of the template that the next revision lacks comes back with it, and the number of pods stays.
    local second third
    second=$(promoted back)
    kubectl -n test patch deploy back --type json -p '[{"op": "add", "path": "/spec/template/metadata/labels/new", "value": "yes"}]'
    release_all back 3.0.0
    third=$(promoted back)
    kubectl -n test scale deploy back --replicas 0
    run -0 ctl undo back -n test --why 'customers complain' --wait --timeout 120s
    [ "${lines[0]}" = "back: Deployment back has the pod template of revision $second (demo-app:2.0.0) again" ]
    [ "${lines[1]}" = "back: no check is made of revision $second from now on, its gates are asked as ever" ]
    [ "${lines[2]}" = 'back: Succeeded' ]
    [ "$(image_of back-primary)" = demo-app:2.0.0 ]
    [ "$(kubectl -n test get deploy back-primary -o 'jsonpath={.spec.template.metadata.labels.new}')" = '' ]
    [ "$(promoted back)" = "$second" ]
    [ "$(api_look test canaries back | gojq -c '.status.requests | map([.action, .outcome, .by, .why])[0]')" = \
        '["skip-analysis","done","alice","customers complain"]' ]
    # The one with which the Canary began is in no history, and has a template.
    run -3 --separate-stderr ctl undo back -n test --to "$second"
    [[ $stderr == *": back has revision $second already" ]]
    run -3 --separate-stderr ctl undo back -n test --to 12345
    [[ $stderr == *': the cluster keeps no pod template of revision 12345; of Deployment back it keeps '*"$third"* ]]
    run -0 ctl undo back -n test --to "$third" --with-analysis
    [ "${#lines[@]}" -eq 1 ]
    eventually 20 in_phase back Progressing
    [ "$(image_of back-primary)" = demo-app:2.0.0 ]
    ctl abort back -n test --wait --timeout 120s
}

@test "undo of the first release leads to what was there before it, and never to a revision that has failed" {
    release first
    ctl abort first -n test --wait --timeout 120s
    release_all first 3.0.0
    run -0 ctl undo first -n test --wait --timeout 120s
    [[ ${lines[0]} == *'(demo-app:1.0.0) again' ]]
    [ "$(image_of first-primary)" = demo-app:1.0.0 ]
}

@test "undo says what it cannot take back" {
    kubectl apply -f - <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: outside, namespace: test}
spec: {type: ExternalName, externalName: example.com}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: outside, namespace: test}
spec:
  targetRef: {apiVersion: v1, kind: Service, name: outside}
  service: {port: 9898}
  analysis: {interval: 1s, threshold: 5, iterations: 3600}
YAML
    run -3 --separate-stderr ctl undo outside -n test
    [[ $stderr == *': the target of outside is a Service, of which the cluster keeps no earlier pod template; expected a Deployment or a DaemonSet' ]]
    kubectl -n test delete canary/outside service/outside
}
