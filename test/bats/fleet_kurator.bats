# The daemon of the fleet beside Kurator's own definitions: its Applications as they are written today, its Fleets
# and AttachedClusters, and the part of the status that those know.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/daemon
    load ../lib/fleet
    local name
    export KURATOR=$BATS_TEST_DIRNAME/../../test/data/crds/kurator.yaml
    [ -e "$KURATOR" ] || return 0
    fleet_crds() { cp "$KURATOR" "$1"; }
    clusters_begin one two
    for name in one two; do
        on "$name" create namespace test
        on "$name" apply -f - <<'YAML'
---
{apiVersion: v1, kind: Service, metadata: {name: podinfo, namespace: test}, spec: {selector: {app: podinfo}, ports: [{port: 9898, targetPort: 9898}]}}
YAML
        fleet_attach "$name"
    done
    fleet_of one two
}

teardown_file() {
    load ../lib/daemon
    load ../lib/fleet
    clusters_end
}

setup() {
    load ../lib/daemon
    load ../lib/fleet
    daemon_start "$FLAGGER_BUILD/flagger-controller" fleet --allow-namespaces "default:*"
}

teardown() { daemon_stop; }

status() { kubectl get application shop -o json | gojq -e ".status | $1" >/dev/null; }

@test "an Application of today's Kurator is carried out, and its status has what Kurator's has" {
    kubectl apply -f - <<'YAML'
apiVersion: apps.kurator.dev/v1alpha1
kind: Application
metadata: {name: shop, namespace: default}
spec:
  source: {gitRepository: {interval: 3m0s, timeout: 1m0s, url: https://example.com/x, ref: {branch: main}}}
  destination: {fleet: quickstart}
  syncPolicies:
  - rollout:
      testLoader: true
      trafficRoutingProvider: istio
      workload: {apiVersion: apps/v1, kind: Deployment, name: podinfo, namespace: test}
      serviceName: podinfo
      port: 9898
      rolloutPolicy:
        trafficRouting: {hosts: [app.example.com], gateways: [istio-system/public-gateway], canaryStrategy: {maxWeight: 50, stepWeight: 10}}
        trafficAnalysis:
          checkIntervalSeconds: 60
          checkFailedTimes: 2
          metrics: [{name: request-success-rate, intervalSeconds: 90, thresholdRange: {min: 99}}]
          webhooks: {timeoutSeconds: 60, command: ["hey -z 1m -q 10 -c 2 http://podinfo-canary.test:9898/"]}
YAML
    eventually 30 status '.syncStatus | map(.rolloutStatus.clusterName) | sort == ["one", "two"]'
    # the status names a cluster before its objects are there
    eventually 20 eval 'look_on two test canaries podinfo >/dev/null 2>&1'
    look_on two test canaries podinfo | gojq -e '.spec | .provider == "istio" and .service.gateways == ["istio-system/public-gateway"]
        and .analysis.interval == "60s" and .analysis.webhooks[0].metadata.cmd == "hey -z 1m -q 10 -c 2 http://podinfo-canary.test:9898/"'
    on two patch canary podinfo -n test --subresource status --type merge -p '{"status": {"phase": "Progressing", "canaryWeight": 20, "failedChecks": 1, "iterations": 0, "lastAppliedSpec": "5d4f8b"}}'
    eventually 20 status '.syncStatus | map(select(.rolloutStatus.clusterName == "two"))[0].rolloutStatus.rolloutStatusInCluster | .phase == "Progressing" and .canaryWeight == 20'
    kubectl delete application shop --timeout=30s
    refute on two get canary podinfo -n test
}
