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

@test "files are named as kubectl names them" {
    mkdir -p apps/web/deep
    cp good.yaml apps/web/web.yml
    sed 's/name: web/name: deep/' good.yaml >apps/web/deep/deep.json.yaml
    gojq --yaml-input . bad.yaml >apps/web/deep/bad.json
    echo 'kind: {{ .Values.x }}' >apps/notes.txt
    run -0 --separate-stderr lint apps/web
    [ "$stderr" = '0 errors and 0 warnings in 1 object' ]
    run -1 --separate-stderr lint -R -f apps/
    [ "$stderr" = '2 errors and 1 warning in 3 objects' ]
    [[ ${lines[0]} == 'apps/web/deep/bad.json:'* ]]
    run -1 --separate-stderr lint -f good.yaml --filename=apps/web -f bad.yaml
    [[ $stderr == '2 errors and '*' in 3 objects' ]]
    run -2 --separate-stderr lint apps
    [[ $stderr == *'there is no file .yaml, .yml or .json in apps; -R reads the folders in it too' ]]
    # An editor's mark of the byte order.
    { printf '\xef\xbb\xbf' && cat bad.yaml; } >mark.yaml
    diff <(lint mark.yaml | sed s/mark/bad/) <(lint bad.yaml)
    cat >apps/kustomization.yaml <<'YAML'
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: shop
resources: [web/web.yml]
YAML
    run -0 --separate-stderr lint -k apps
    [ "$stderr" = '0 errors and 0 warnings in 1 object' ]
    run -0 "$FLAGGER_BUILD/kubectl-canary" plan -k apps
    [[ ${lines[0]} == 'Canary shop/web: '* ]]
    run -2 --separate-stderr lint -k apps/web
    [[ $stderr == *'lint: kubectl kustomize apps/web has failed' ]]
}

@test "what is no object is left out, and counted" {
    mkdir -p base overlay templates
    cp good.yaml base/web.yaml
    printf -- '- op: replace\n  path: /spec/service/port\n  value: 81\n' >overlay/port.yaml
    printf 'replicas: 2\n' >overlay/values.yaml
    cat >overlay/patch.yaml <<'YAML'
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: web}
spec: {analysis: {threshold: 9}}
YAML
    cat >overlay/kustomization.yaml <<'YAML'
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../base/web.yaml]
patches: [{path: ./patch.yaml}, {path: port.yaml, target: {kind: Canary}}]
YAML
    sed 's/name: web/name: {{ .Values.name }}/' good.yaml >templates/canary.yaml
    # An overlay of the same Canary.
    mkdir -p other && cp good.yaml other/web.yaml
    run -0 --separate-stderr lint -v base overlay other templates
    [[ $stderr == *'overlay/patch.yaml: left out: a patch of a kustomization is a part of an object'* ]]
    [[ $stderr == *'overlay/port.yaml: left out: a document without apiVersion and kind is no object'* ]]
    [[ $stderr == *'templates/canary.yaml: left out: is a template that is not rendered'* ]]
    [ "${stderr_lines[-1]}" = '0 errors and 0 warnings in 2 objects; 4 documents left out' ]
    run -0 lint -o json base overlay
    gojq -e '.leftOut | length == 3' <<<"$output"
    # A template that was named itself is not passed over.
    run -1 --separate-stderr lint templates/canary.yaml
    [ "$output" = 'templates/canary.yaml:3:1: error: it is a template that is not rendered; lint what `helm template` prints' ]
}

@test "what cannot be read is one sentence, and exit code 2" {
    for arguments in '' 'none.yaml' '--mesh-provider wind good.yaml' '-o name good.yaml' '--files good.yaml'; do
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
