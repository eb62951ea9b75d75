# kubectl canary convert: what people get. What becomes of each field: rows of controller/ctl/convert/cases.yaml; the switch that
# --live prints: test/e2e/convert.bats.

bats_require_minimum_version 1.5.0

setup() {
    load ../lib/daemon
    cd "$BATS_TEST_TMPDIR" || return
    # No cluster is asked: there is none, and no kubeconfig.
    export HOME=$BATS_TEST_TMPDIR KUBECONFIG=$BATS_TEST_TMPDIR/none
    cat >rollout.yaml <<'YAML'
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'web:1', ports: [{name: http, containerPort: 8080}]}]}
  strategy:
    canary:
      stableService: web
      canaryService: web-canary
      trafficRouting: {istio: {virtualService: {name: web}}}
      analysis: {templates: [{templateName: errors}]}
      steps: [{setWeight: 20}, {pause: {duration: 2m}}, {setWeight: 40}, {pause: {}}, {experiment: {}}]
YAML
    cat >others.yaml <<'YAML'
apiVersion: v1
kind: List
items:
- apiVersion: argoproj.io/v1alpha1
  kind: AnalysisTemplate
  metadata: {name: errors}
  spec: {metrics: [{name: errors, failureLimit: 3, successCondition: 'result[0] < 1', provider: {prometheus: {address: 'http://prometheus:9090', query: errors}}}]}
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
- apiVersion: networking.istio.io/v1beta1
  kind: VirtualService
  metadata: {name: web}
  spec: {hosts: [web.example.com], gateways: [infra/gateway], http: [{route: []}]}
YAML
}

convert() { "$FLAGGER_BUILD/kubectl-canary" convert "$@"; }

@test "a Rollout becomes objects that lint and plan take" {
    run -0 --separate-stderr convert -n shop rollout.yaml others.yaml
    [ "$stderr" = '1 field without a counterpart: see the list at the end' ]
    diff <(gojq --yaml-input -s -c 'map([.kind, .metadata.namespace, .metadata.name])' <<<"$output") - <<<'[["Deployment","shop","web"],["MetricTemplate","shop","errors"],["Canary","shop","web"]]'
    gojq --yaml-input -s -e '.[2].spec | .provider == "istio" and .service.port == 80 and .service.hosts == ["web.example.com"]
        and .analysis.steps == [{weight: 20, for: "2m"}, {weight: 40, gate: true}] and .analysis.interval == "1m" and .analysis.threshold == 4
        and (.analysis | has("webhooks") | not) and .analysis.metrics[0].templateRef.name == "errors"' <<<"$output"
    [[ $output == *'# - spec.strategy.canary.steps[4].experiment: there is no third version'* ]]
    printf '%s\n' "$output" >canary.yaml
    run -0 "$FLAGGER_BUILD/kubectl-canary" lint canary.yaml
    [[ $output == *'0 errors and 0 warnings in 2 objects'* ]]
    run -0 "$FLAGGER_BUILD/kubectl-canary" plan canary.yaml
    [[ $output == *'Canary shop/web: canary with istio, every 1m0s'*'40%'*'Promoted after'* ]]
}

@test "files may come by a pipe, and parts of the result by --only" {
    run -0 --separate-stderr convert --only Deployment,Canary --gate https://gate.example/gate/check - < <(sed 's/steps: \[/&{pause: {}}, /' rollout.yaml && echo --- && cat others.yaml)
    [ -z "$stderr" ]
    diff <(gojq --yaml-input -s -c 'map(.kind)' <<<"$output") - <<<'["Deployment","Canary"]'
    [[ $output == *'url: "https://gate.example/gate/check?hook=approval-begin"'* ]]
    run -0 --separate-stderr convert --live rollout.yaml others.yaml
    [[ $output == *'#   '*' convert rollout.yaml others.yaml --only Deployment | kubectl apply -f -'* ]]
    cp rollout.yaml "it's one.yaml"
    run -0 --separate-stderr convert --live "it's one.yaml" others.yaml
    [[ $output == *" convert 'it'\\''s one.yaml' others.yaml --only Deployment |"* ]]
}

@test "a Rollout that cannot be converted is told, and the others are converted" {
    cat >two.yaml <<'YAML'
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: bare}
spec: {strategy: {canary: {}}}
---
YAML
    cat rollout.yaml >>two.yaml
    run -1 --separate-stderr convert two.yaml
    [[ $output == *'kind: Canary'* ]]
    [[ $stderr == *'convert: Rollout bare: spec.template: expected pods with containers, or a spec.workloadRef'* ]]
    run -0 --separate-stderr convert --rollout web --live two.yaml
    [[ $output == *' convert two.yaml --only Deployment |'* ]]
    run -1 --separate-stderr convert --rollout till two.yaml
    [[ -z $output && $stderr == *'convert: there is no Rollout of argoproj.io with the name till in these files' ]]
    sed 's/name: bare/name: till/; s/^spec: {strategy.*/spec: {template: {spec: {containers: [{name: till, image: till}]}}, strategy: {canary: {}}}/' two.yaml >both.yaml
    run -0 --separate-stderr convert --live both.yaml
    [[ $output == *' convert both.yaml --rollout till --only Deployment |'*' convert both.yaml --rollout web --only Deployment |'* ]]
    run -1 --separate-stderr convert others.yaml
    [[ -z $output && $stderr == *'convert: there is no Rollout of argoproj.io in these files' ]]
    for arguments in '' 'none.yaml' '--gate gate rollout.yaml' '-o json rollout.yaml' 'rollout.yaml --wrong'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr convert $arguments
        [ -z "$output" ] && [ "${#stderr_lines[@]}" -eq 1 ]
    done
}

@test "a chart's template is refused as one, by every command that reads files" {
    sed '/^metadata/s/web/{{ include "web.fullname" . }}/' rollout.yaml >template.yaml
    for command in convert plan 'lint'; do
        run ! --separate-stderr "$FLAGGER_BUILD/kubectl-canary" "$command" template.yaml
        [[ "$output$stderr" == *'template.yaml:3:1: '*'it is a template that is not rendered; '*'`helm template` prints'* ]] || { echo "$output$stderr" && return 1; }
    done
    # Argo's own arguments without quotes are no YAML either; kubectl says so in its own words.
    sed '/^metadata/s/web/{{args.name}}/' rollout.yaml >template.yaml
    run -2 --separate-stderr convert template.yaml
    [[ $stderr == *'template.yaml:3:19: a key must be a string, number or boolean, not a map; text that begins with {{ must be in quotes' ]]
}
