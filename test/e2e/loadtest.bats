# What a load test finds decides about the release: the real controller, load tester and hey.

setup_file() {
    load ../lib/stage
    stage_begin
    stage_enter
    gate open
}

teardown_file() {
    load ../lib/stage
    stage_end
}

setup() {
    load ../lib/stage
    stage_enter
}

# load_test KEY VALUE: the analysis has no metric; its only check is a run of hey with this bound
load_test() {
    kubectl -n test patch canary podinfo --type merge -p "$(gojq -cn --arg key "$1" --arg value "$2" '
        {spec: {analysis: {interval: "2s", stepWeight: 20, threshold: 1, metrics: [], webhooks: [{
            name: "load-test", type: "rollout", url: "http://flagger-loadtester.flagger/", timeout: "5s",
            metadata: {cmd: "hey -z 1s -q 100 -c 2 http://podinfo-canary.test/", ($key): $value}}]}}}')"
}

# told PATTERN: the message of an event of the Canary matches (an extended regular expression)
told() {
    api_look test events | gojq -r '.items[] | select(.involvedObject.name == "podinfo").message' >"$BATS_TEST_TMPDIR/told"
    grep -Eq -- "$1" "$BATS_TEST_TMPDIR/told" || { echo "no event matches: $1" && cat "$BATS_TEST_TMPDIR/told" && return 1; }
}

primary_image() { api_look test deployments podinfo-primary | gojq -r '.spec.template.spec.containers[0].image // ""'; }
all_to_primary() {
    api_look test httproutes podinfo |
        gojq -e '[.spec.rules[0].backendRefs[] | {(.name): .weight}] | add == {"podinfo-primary": 100, "podinfo-canary": 0}'
}

@test "a load test that finds 5 % errors rolls the release back, and an event says so" {
    load_test maxErrorRate 1
    release 2.0.0-errors5
    eventually 40 phase_is Failed
    told 'load test "hey -z 1s -q 100 -c 2 http://podinfo-canary.test/" failed: [0-9.]+% of the requests failed [(][0-9]+ of [0-9]+[)], maxErrorRate is 1%'
    told 'Rolling back podinfo.test failed checks threshold reached 1'
    [ "$(primary_image)" = demo-app:1.0.0 ]
    all_to_primary
    serves 1.0.0
}

@test "the same load test lets a version without errors through" {
    load_test maxErrorRate 1
    release 2.0.1
    eventually 40 phase_is Succeeded
    serves 2.0.1
    curl -sS "$DEMO_LOADTESTER/tasks" |
        gojq -e 'map(select(.summary))[0].summary | .tool == "hey" and .errors == 0 and .requests > 0' # two hundred, on an idle machine
}

@test "a load test that finds slow answers rolls the release back" {
    load_test maxP99 200ms
    release 2.0.2-slow400ms
    eventually 40 phase_is Failed
    told 'failed: 99% of the requests took up to [4-9][0-9]{2}[0-9.]*ms, maxP99 is 200ms'
    all_to_primary
}

# task_metric BODY-CMD QUERY MAX: the only check is the number of a task
task_metric() {
    gojq -cn --arg cmd "$1" --arg query "$2" '{apiVersion: "flagger.app/v1beta1", kind: "MetricTemplate", metadata: {name: "task", namespace: "test"}, spec: {
        query: $query, provider: {type: "web", address: "http://flagger-loadtester.flagger", method: "POST", timeout: "20s",
        body: ({name: "{{ name }}", namespace: "{{ namespace }}", metadata: {type: "cmd", cmd: $cmd, returnValue: "true"}} | tojson)}}}' | kubectl apply -f -
    kubectl -n test patch canary podinfo --type merge -p "$(gojq -cn --argjson max "$3" '
        {spec: {analysis: {interval: "2s", stepWeight: 20, threshold: 1, webhooks: [], metrics: [
            {name: "task", templateRef: {name: "task"}, interval: "1m", thresholdRange: {max: $max}}]}}}')"
}

@test "what a task has counted is a metric: too much of it rolls the release back, and no more than allowed lets it through" {
    task_metric 'hey -n 60 -c 2 http://{{ target }}-canary.test/' '{.summary.errorRate}' 10
    release 2.0.3-errors60
    eventually 60 told 'Halt podinfo.test advancement task [0-9.]+ > 10 [(]task over 1m, expected at most 10, from web at http://flagger-loadtester.flagger[)]'
    eventually 40 phase_is Failed
    all_to_primary
    task_metric 'echo counting; echo 12.5' '{.value}' 12.5
    release 2.0.4
    eventually 40 phase_is Succeeded
}

# answer TYPE COMMAND: what the load tester replies to a task whose output is asked for
answer() {
    curl -sS --fail-with-body -m 60 "$DEMO_LOADTESTER/" -d "$(gojq -cn --arg type "$1" --arg cmd "$2" \
        '{name: "podinfo", namespace: "test", metadata: {type: $type, cmd: $cmd, returnCmdOutput: "true"}}')"
}

@test "kubectl asks the cluster that the load tester's KUBECONFIG leads to" {
    [ "$(answer kubectl "-n test get canary podinfo -o jsonpath='{.spec.targetRef.name}'")" = podinfo ]
    [[ "$(answer kubectl 'get namespaces -o name')" == *namespace/test* ]]
    run answer kubectl 'get canary no-such-canary -n test'
    [ "$status" -ne 0 ]
    [[ "$output" == *'"no-such-canary" not found'*'exit status 1'* ]]
}

@test "helm installs, tests and lists a release in the cluster" {
    command -v helm || skip 'there is no helm'
    chart=$BATS_TEST_TMPDIR/chart
    mkdir -p "$chart/templates"
    printf 'apiVersion: v2\nname: probe\nversion: 1.2.3\n' >"$chart/Chart.yaml"
    printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: probe}\ndata: {a: b}\n' >"$chart/templates/probe.yaml"
    printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: probe-test, annotations: {"helm.sh/hook": test}}\n' >"$chart/templates/test.yaml"
    chmod -R a+rX "$BATS_TEST_TMPDIR"
    answer helm "install probe $chart --namespace test"
    [ "$(api_look test configmaps probe | gojq -r '.data.a // ""')" = b ]
    [[ "$(answer helm 'test probe --namespace test')" == *'Phase:'*Succeeded* ]]
    [[ "$(answer helmv3 'list --namespace test')" == *probe-1.2.3* ]]
    answer helm 'uninstall probe --namespace test'
    run answer helm 'test probe --namespace test'
    [ "$status" -ne 0 ]
    [[ "$output" == *'not found'* ]]
}
