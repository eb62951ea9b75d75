# kubectl canary lint: what people and pipelines get. What it finds is rows of controller/ctl/lint/cases.yaml.

bats_require_minimum_version 1.5.0

setup() {
    load ../lib/daemon
    cd "$BATS_TEST_TMPDIR" || return
    # No cluster is asked: there is none, and no kubeconfig.
    export HOME=$BATS_TEST_TMPDIR KUBECONFIG=$BATS_TEST_TMPDIR/none
    cat >good.yaml <<'YAML'
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: web}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  service: {port: 80}
  analysis:
    interval: 1m
    threshold: 2
    stepWeight: 50
    metrics:
    - {name: request-success-rate, thresholdRange: {min: 99}}
YAML
    sed 's/stepWeight: 50/stepWieght: 50/; s/threshold: 2/threshold: 0/; s/port: 80/port: 80000/; s/metadata: {name: web}/metadata: {name: web, namespace: test}/' good.yaml >bad.yaml
}

lint() { "$FLAGGER_BUILD/kubectl-canary" lint "$@"; }

@test "each mistake stands on a line with file, line and column, and the exit code tells" {
    run -0 --separate-stderr lint good.yaml
    [ -z "$output" ] && [ "$stderr" = '0 errors and 0 warnings in 1 object' ]
    run -1 --separate-stderr lint good.yaml bad.yaml
    diff <(printf '%s\n' "$output") - <<'TEXT'
bad.yaml:6:13: error: spec.service.port: expected a whole number from 0 to 65535, found 80000
bad.yaml:9:5: warning: spec.analysis.threshold: 0 counts as 1: the first failed check rolls the release back
bad.yaml:10:5: error: spec.analysis.stepWieght: unknown field; did you mean stepWeight?
TEXT
    [ "$stderr" = '2 errors and 1 warning in 2 objects' ]
    # A warning is no error.
    sed 's/threshold: 2/threshold: 0/' good.yaml >warned.yaml
    run -0 --separate-stderr lint warned.yaml
    [ "${#lines[@]}" -eq 1 ]
    "$FLAGGER_BUILD/flagger-controller" ctl lint good.yaml
}

@test "a pipe and the standard input are files as well" {
    run -1 --separate-stderr lint - <bad.yaml
    [[ ${lines[0]} == '<stdin>:6:13: error: '* ]]
    run -1 --separate-stderr lint <(cat bad.yaml)
    [ "${#lines[@]}" -eq 3 ]
    # As kubectl get -o yaml gives them.
    gojq --yaml-input '{apiVersion: "v1", kind: "List", items: [.]}' bad.yaml >list.json
    run -1 --separate-stderr lint list.json
    [ "${#lines[@]}" -eq 3 ]
}

@test "programs get JSON or YAML" {
    run -1 --separate-stderr lint -o json bad.yaml
    gojq -e '.errors == 2 and .warnings == 1 and .objects == 1 and (.mistakes | length) == 3' <<<"$output"
    gojq -e '.mistakes[0] == {level: "error", file: "bad.yaml", line: 6, column: 13, object: "Canary test/web", path: "spec.service.port",
        message: "expected a whole number from 0 to 65535, found 80000"}' <<<"$output"
    json=$output
    run -1 --separate-stderr lint -o yaml bad.yaml
    diff <(gojq -S . <<<"$json") <(gojq --yaml-input -S . <<<"$output")
    run -0 --separate-stderr lint -o json good.yaml
    gojq -e '.mistakes == []' <<<"$output"
}

@test "the options of the controller count" {
    run -1 --separate-stderr lint --mesh-provider nginx good.yaml
    [ "$output" = 'good.yaml:4:1: error: spec.ingressRef: must name the Ingress of the application' ]
    run -0 --separate-stderr lint --min-analysis-interval 2m good.yaml
    [[ $output == *'1m0s is shorter than the controller'* ]]
    sed -i 's/metrics:/metrics:\n    - {name: m, templateRef: {name: m, namespace: other}, thresholdRange: {max: 1}}/' good.yaml
    run -0 --separate-stderr lint good.yaml
    run -1 --separate-stderr lint --no-cross-namespace-refs good.yaml
    [[ $output == *'cross-namespace references are blocked' ]]
}

@test "what cannot be read is one sentence, and exit code 2" {
    for arguments in '' 'none.yaml' '.' '--mesh-provider wind good.yaml' '-o name good.yaml' '--files good.yaml'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr lint $arguments
        [ -z "$output" ] && [ "${#stderr_lines[@]}" -eq 1 ]
    done
    # What is no YAML is a mistake of the file, and what it names cannot move a terminal.
    printf 'a: [\n' >broken.yaml
    run -1 --separate-stderr lint broken.yaml
    [[ $output == 'broken.yaml:2:1: error: '* ]]
    sed 's/name: web}/name: web, "\\e[2J": 1}/; s/port: 80/"\\e[31m": 1/' good.yaml >evil.yaml
    run -1 --separate-stderr lint evil.yaml
    refute grep -q $'\e' <<<"$output"
}
