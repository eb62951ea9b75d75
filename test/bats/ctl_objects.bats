# kubectl canary objects: what people get. What is derived is rows of controller/fleet/rules/cases.yaml.

bats_require_minimum_version 1.5.0

setup() {
    load ../lib/daemon
    cd "$BATS_TEST_TMPDIR" || return
    export HOME=$BATS_TEST_TMPDIR KUBECONFIG=$BATS_TEST_TMPDIR/none
    cat >app.yaml <<'YAML'
apiVersion: apps.kurator.dev/v1alpha1
kind: Application
metadata: {name: shop, namespace: default}
spec:
  destination: {fleet: quickstart}
  syncPolicies:
  - rollout:
      testLoader: true
      trafficRoutingProvider: istio
      workload: {apiVersion: apps/v1, kind: Deployment, name: podinfo, namespace: test}
      serviceName: podinfo
      port: 9898
      rolloutPolicy:
        trafficRouting: {canaryStrategy: {maxWeight: 50, stepWeight: 10}}
        trafficAnalysis:
          checkIntervalSeconds: 90
          checkFailedTimes: 2
          metrics:
          - {name: request-success-rate, thresholdRange: {min: 99}}
          - {name: errors, thresholdRange: {max: 1}, customMetric: {provider: {type: prometheus, address: "http://prometheus:9090"}, query: sum(errors)}}
          webhooks: {timeoutSeconds: 15, command: ["hey -z 1m http://podinfo-canary.test:9898/"]}
YAML
    cat >service.yaml <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: podinfo, namespace: test}
spec: {selector: {app: podinfo}, ports: [{name: http, port: 9898, targetPort: http}]}
YAML
}

objects() { "$FLAGGER_BUILD/kubectl-canary" objects "$@"; }

@test "the objects of an Application, in their order, and nothing is wrong with them" {
    run -0 --separate-stderr objects app.yaml service.yaml
    [ -z "$stderr" ]
    [ "$(gojq --yaml-input -r '"\(.kind) \(.metadata.namespace // "-")/\(.metadata.name)"' <<<"$output")" = 'Namespace -/test
Deployment test/podinfo-testloader
Service test/podinfo-testloader
MetricTemplate test/errors
Canary test/podinfo' ]
    gojq --yaml-input -s -e '.[4] | .metadata.annotations["flagger.app/application"] == "default/shop/shop-0" and .spec.service.targetPort == "http" and
        .spec.analysis.webhooks[0].url == "http://podinfo-testloader.test/" and .spec.revertOnDeletion' <<<"$output"
    "$FLAGGER_BUILD/kubectl-canary" lint - <<<"$output"
    objects --loader-image mine:1 - <app.yaml >out || true
    gojq --yaml-input -s -e '.[1].spec.template.spec.containers[0].image == "mine:1"' out
}

@test "what is on the cluster counts, and what is as it should be is left out" {
    objects app.yaml service.yaml >made.yaml
    run -0 objects app.yaml service.yaml made.yaml
    [ -z "$output" ]
    sed 's/interval: 90s/interval: 60s/' made.yaml >changed.yaml
    objects app.yaml service.yaml changed.yaml >out
    diff <(gojq --yaml-input -s -c 'map(.kind)' out) - <<<'["Canary"]'
    gojq --yaml-input -e '.spec.analysis.interval == "90s"' out
}

@test "what is missing or wrong is one sentence, and exit code 1" {
    run -1 --separate-stderr objects app.yaml
    [ "$stderr" = 'Application default/shop: policy shop-0: waits for Service test/podinfo, which is not there' ]
    [[ $output == *'kind: MetricTemplate'* && $output != *'kind: Canary'* ]]
    sed 's/port: 9898/port: 0/' app.yaml >bad.yaml
    run -1 --separate-stderr objects bad.yaml service.yaml
    [[ $stderr == *'objects: Application shop: spec.syncPolicies[0].rollout.port: expected a whole number from 1 to 65535, found 0' ]]
    sed 's/Service/Canary/; s|v1|flagger.app/v1beta1|' service.yaml >theirs.yaml
    run -1 --separate-stderr objects app.yaml service.yaml theirs.yaml
    [[ -z $output && $stderr == *'Canary test/podinfo is there, and is not of Application default/shop/shop-0: '* ]]
    run -2 --separate-stderr objects app.yaml service.yaml --loader-image ''
    [[ $stderr == *'objects: --loader-image: expected the name of an image, found none' ]]
    run -2 --separate-stderr objects service.yaml
    [[ $stderr == *'expected an Application of apps.kurator.dev in the files, found none' ]]
}
