# flagger-controller fleet: a management cluster and three members. The rollout of Kurator's design on each, one status, and what
# becomes of it when clusters leave, are away, come back, change their kubeconfig, or belong to somebody else.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/daemon
    load ../lib/fleet
    local name
    clusters_begin one two three
    for name in one two three; do
        on "$name" create namespace test
        on "$name" annotate namespace test flagger.app/applications=default
        on "$name" apply -f - <<'YAML'
---
{apiVersion: v1, kind: Service, metadata: {name: podinfo, namespace: test}, spec: {selector: {app: podinfo}, ports: [{port: 9898, targetPort: 9898}]}}
YAML
        # With the rights that deploy/ gives, and no others, here and there.
        on "$name" create namespace flagger-system
        on "$name" apply -f "$BATS_TEST_DIRNAME/../../deploy/fleet/member/rbac.yaml"
        on "$name" apply -n test -f "$BATS_TEST_DIRNAME/../../deploy/fleet/member/releases.yaml"
        as_account "$name" flagger-system flagger-fleet-member "$DIR/$name.account"
        fleet_attach "$name" "$DIR/$name.account"
    done
    kubectl create namespace flagger-system
    kubectl apply -f "$BATS_TEST_DIRNAME/../../deploy/fleet/daemon/rbac.yaml"
    as_account host flagger-system flagger-fleet "$DIR/host.account"
    fleet_of one two three
}

daemon() { daemon_start "$FLAGGER_BUILD/flagger-controller" fleet --kubeconfig "$DIR/host.account" "$@"; }

teardown_file() {
    load ../lib/daemon
    load ../lib/fleet
    clusters_end
}

setup() {
    load ../lib/daemon
    load ../lib/fleet
    daemon --abandon-after 2s
}

teardown() {
    # What one test leaves half done is no other's failure.
    kill -CONT "$(cat "$DIR/two.pid")"
    fleet_of one two three
    [ -n "${BATS_TEST_COMPLETED-}" ] || { kubectl get application shop -o json | gojq -c .status || true; tail -n 60 "$DAEMON_LOG"; }
    curl -s "$DAEMON_URL/metrics" | sed -n 's/^flagger_kubernetes_requests_total{\(.*\)} .*/\1/p' >>"$DIR/taken" || true
    daemon_stop
}

shop() { api_get apis/apps.kurator.dev/v1alpha1/namespaces/default/applications/shop; }
status() { shop | gojq -e ".status | $1" >/dev/null; }
notes() { shop | gojq -e ".metadata | $1" >/dev/null; }
# state CLUSTER STATE [IN THE MESSAGE]
state() { status ".clusters | map(select(.cluster == \"$1\")) | length == 1 and .[0].state == \"$2\" and ((.[0].message // \"\") | contains(\"${3-}\"))"; }
ready() { status '.conditions | map(select(.type == "Ready" and .status == "True")) | length == 1'; }
there() { look_on "$1" test canaries podinfo >/dev/null 2>&1; }
gone() { ! there "$1"; }
app() { kubectl apply -f "$BATS_TEST_DIRNAME/fleet_daemon.yaml"; }
app_gone() { [[ $(shop 2>&1) == *"returned error: 404"* ]]; }
reached() { curl -s "$DAEMON_URL/debug/process" | gojq -e ".clusters.reached == $1" >/dev/null; }
idle() { curl -s "$DAEMON_URL/debug/process" | gojq -e '.leads and .ready and .rollouts == {waiting: 0, running: 0} and .writesUnderWay == 0' >/dev/null; }
requests() { curl -s "$DAEMON_URL/metrics" | awk '/^flagger_kubernetes_requests_total/ && !/resource="clusters"/ {sum += $NF} END {print sum + 0}'; }

@test "the document's example stands on each cluster, and its status in one place" {
    app
    eventually 30 ready
    for name in one two three; do
        on "$name" get namespace test -o json | gojq -e '.metadata.labels["istio-injection"] == "enabled"'
        on "$name" get deployment,service podinfo-testloader -n test
        look_on "$name" test canaries podinfo | gojq -e '.metadata.annotations["flagger.app/application"] == "default/shop/shop-0"
            and .metadata.labels["flagger.app/managed-by"] == "fleet" and .spec.provider == "istio" and .spec.service.port == 9898
            and .spec.analysis.stepWeightPromotion == 20 and .spec.analysis.webhooks[0].url == "http://podinfo-testloader.test/"'
    done
    # What was made is written down, and each cluster says whose it is.
    notes '.finalizers == ["flagger.app/fleet"] and (.annotations["flagger.app/inventory"] | fromjson | .policies["shop-0"] | length == 1 and (.[0].clusters | sort) == ["one", "three", "two"])'
    local uid
    uid=$(kubectl get namespace kube-system -o jsonpath='{.metadata.uid}')
    [ "$(on two get lease flagger-fleet -n kube-system -o jsonpath='{.spec.holderIdentity}')" = "$uid" ]
    # What a Canary does is told, also as Kurator tells it.
    on two patch canary podinfo -n test --subresource status --type merge -p '{"status": {"phase": "Progressing", "canaryWeight": 20, "failedChecks": 1, "iterations": 0, "lastAppliedSpec": "5d4f8b", "lastPromotedSpec": "77c1aa"}}'
    eventually 20 status '.summary.releasesUnderWay == 1 and (.syncStatus | map(select(.rolloutStatus.clusterName == "two"))[0].rolloutStatus
        | .rolloutNameInCluster == "podinfo" and .rolloutStatusInCluster.phase == "Progressing" and .rolloutStatusInCluster.canaryWeight == 20)'
    # Then it is quiet: nothing is asked.
    eventually 20 idle
    sleep 3
    local before
    before=$(requests)
    sleep 4
    [ "$before" -gt 30 ]
    [ "$(requests)" -eq "$before" ]
}

@test "what somebody changes is put right, and what others wrote stays" {
    app
    eventually 30 ready
    on one patch canary podinfo -n test --type merge -p '{"spec": {"analysis": {"threshold": 7}, "progressDeadlineSeconds": 300}, "metadata": {"labels": {"mine": "1"}}}'
    on one delete service podinfo-testloader -n test
    eventually 20 eval "look_on one test canaries podinfo | gojq -e '.spec.analysis.threshold == 2 and .metadata.labels.mine == \"1\"' >/dev/null"
    eventually 20 eval "look_on one test services podinfo-testloader >/dev/null 2>&1"
    # An edit of the Application reaches every cluster.
    api_merge default apps.kurator.dev/v1alpha1/applications shop '[{"op": "replace", "path": "/spec/syncPolicies/0/rollout/rolloutPolicy/trafficAnalysis/checkFailedTimes", "value": 5}]' json-patch
    for name in one two three; do eventually 20 eval "look_on $name test canaries podinfo | gojq -e '.spec.analysis.threshold == 5' >/dev/null"; done
    # One that cannot be read changes nothing.
    api_merge default apps.kurator.dev/v1alpha1/applications shop '[{"op": "remove", "path": "/spec/syncPolicies/0/rollout/rolloutPolicy/trafficRouting/canaryStrategy"}]' json-patch
    eventually 20 status '.conditions | map(select(.type == "Accepted"))[0] | .status == "False" and (.message | contains("expected canaryStrategy or analysisTimes"))'
    there one
    app
    eventually 20 ready
}

@test "a cluster that leaves the fleet is cleared, and no other" {
    app
    eventually 30 ready
    fleet_of one two
    eventually 30 gone three
    eventually 20 eval "! look_on three test deployments podinfo-testloader >/dev/null 2>&1"
    eventually 20 status '.summary.clusters == 2 and .summary.ready == 2'
    there one
    on three get service podinfo -n test
    on three get namespace test -o json | gojq -e '.metadata.labels["istio-injection"] == "enabled"'
    # A fleet that is not there says nothing about who has left it.
    kubectl delete fleet quickstart
    eventually 20 status '.conditions | map(select(.type == "Ready"))[0] | .status == "False" and (.message | contains("there is neither a Fleet quickstart"))'
    there one
    fleet_of one two three
    eventually 30 ready
    there three
}

@test "a cluster that is away holds up no other, and is brought to where it should be when it comes back" {
    app
    eventually 30 ready
    eventually 30 reached 3
    eventually 30 idle
    kill -STOP "$(cat "$DIR/two.pid")"
    api_merge default apps.kurator.dev/v1alpha1/applications shop '[{"op": "replace", "path": "/spec/syncPolicies/0/rollout/rolloutPolicy/trafficAnalysis/checkFailedTimes", "value": 4}]' json-patch
    eventually 20 eval "look_on one test canaries podinfo | gojq -e '.spec.analysis.threshold == 4' >/dev/null"
    eventually 40 state two Unreachable
    status '.clusters | map(select(.cluster == "two"))[0].lastContact != null'
    state one Ready
    # A daemon that starts meanwhile says so as soon.
    kill -KILL "$DAEMON_PID"
    eventually 10 daemon_gone
    daemon --abandon-after 2s
    eventually 20 state two Unreachable /version
    kill -CONT "$(cat "$DIR/two.pid")"
    eventually 60 ready
    look_on two test canaries podinfo | gojq -e '.spec.analysis.threshold == 4'
}

@test "a kubeconfig that changes is followed, and one that cannot be used is told" {
    app
    eventually 30 ready
    gojq --yaml-input '.clusters[0].cluster.server = "https://127.0.0.1:1"' "$DIR/three.account" >"$DIR/away"
    kubectl create secret generic three --from-file="value=$DIR/away" --dry-run=client -o yaml | kubectl apply -f -
    eventually 30 state three Unreachable
    kubectl create secret generic three --from-literal=value=nonsense --dry-run=client -o yaml | kubectl apply -f -
    eventually 30 state three Refused 'Secret default/three'
    there one
    kubectl create secret generic three --from-file="value=$DIR/three.account" --dry-run=client -o yaml | kubectl apply -f -
    eventually 30 ready
}

@test "a cluster that belongs to another fleet is left alone, until somebody hands it over" {
    app
    eventually 30 ready
    fleet_of one two
    eventually 30 gone three
    on three patch lease flagger-fleet -n kube-system --type merge -p '{"metadata": {"annotations": {"flagger.app/claimed-by": "paris"}}, "spec": {"holderIdentity": "another"}}'
    sleep 11 # as long as a look at the claim counts
    fleet_of one two three
    eventually 30 state three Refused 'belongs to another fleet, of the management cluster paris (another)'
    gone three
    on three delete lease flagger-fleet -n kube-system
    eventually 80 ready
}

@test "the daemon is killed in the middle and begins again" {
    app
    eventually 30 ready
    kubectl delete application shop --wait=false
    kill -KILL "$DAEMON_PID"
    eventually 10 daemon_gone
    daemon
    eventually 60 app_gone
    for name in one two three; do gone "$name"; done
    app
    for name in one two three; do eventually 30 there "$name"; done
    kill -KILL "$DAEMON_PID"
    eventually 10 daemon_gone
    daemon --abandon-after 2s
    eventually 30 ready
    # Somebody removes what it remembers by: the marks on the clusters say the same.
    kill -KILL "$DAEMON_PID"
    eventually 10 daemon_gone
    kubectl annotate application shop flagger.app/inventory-
    daemon --abandon-after 2s
    eventually 30 notes '.annotations["flagger.app/inventory"] | fromjson | .policies["shop-0"][0].clusters | length == 3'
    api_merge default apps.kurator.dev/v1alpha1/applications shop '[{"op": "remove", "path": "/spec/syncPolicies/0/rollout"}]' json-patch
    for name in one two three; do
        eventually 30 gone "$name"
        eventually 20 eval "! look_on $name test deployments podinfo-testloader >/dev/null 2>&1"
    done
    eventually 20 notes '.finalizers == null and .annotations["flagger.app/inventory"] == null'
    kubectl delete application shop
}

@test "a deletion that has waited long for the daemon is not taken for one that has waited for its clusters" {
    app
    eventually 30 ready
    kill -KILL "$DAEMON_PID"
    eventually 10 daemon_gone
    kubectl delete application shop --wait=false
    sleep 9 # longer than it waits for clusters that are away
    daemon --abandon-after 8s
    eventually 60 app_gone
    for name in one two three; do gone "$name"; done
    kill -KILL "$DAEMON_PID"
    eventually 10 daemon_gone
    daemon --abandon-after 2s
}

@test "an Application acts in its own namespace, and in one that grants it" {
    app
    eventually 30 ready
    # Taken away: what was made stays and guards the workload, but is not changed any more.
    on two annotate namespace test flagger.app/applications=shop,defaults --overwrite
    eventually 30 state two Refused 'policy shop-0: rollout.workload.namespace: expected default, the namespace that it lies in itself, or one that grants it, found test'
    eventually 20 eval "kubectl get events -o json | gojq -e '[.items[] | select(.reason == \"NamespaceNotGranted\" and .type == \"Warning\" and (.message | startswith(\"cluster two: policy shop-0\")))] | length == 1' >/dev/null"
    there two
    api_merge default apps.kurator.dev/v1alpha1/applications shop '[{"op": "replace", "path": "/spec/syncPolicies/0/rollout/rolloutPolicy/trafficAnalysis/checkFailedTimes", "value": 6}]' json-patch
    eventually 20 eval "look_on one test canaries podinfo | gojq -e '.spec.analysis.threshold == 6' >/dev/null"
    look_on two test canaries podinfo | gojq -e '.spec.analysis.threshold == 2'
    # Given again, also to several, it goes on by itself.
    on two annotate namespace test 'flagger.app/applications=shop, default' --overwrite
    eventually 30 ready
    look_on two test canaries podinfo | gojq -e '.spec.analysis.threshold == 6'
    # Without a grant, and in those of the system: nothing is made there, of a workload, a load tester or a metric's Secret.
    local in
    for name in one two three; do on "$name" create namespace prod; done
    on one annotate namespace kube-system flagger.app/applications=default
    for in in prod kube-system flagger-system kube-public; do
        gojq --yaml-input --arg in "$in" '.metadata.name = "probe" | .spec.syncPolicies[0].rollout |= (.workload.namespace = $in
            | .rolloutPolicy.trafficAnalysis.metrics = [{name: "token", thresholdRange: {max: 1}, customMetric: {provider: {type: "prometheus", address: "http://192.0.2.1:9090", secretRef: {name: "flagger-fleet-member"}}, query: "up"}}])' \
            "$BATS_TEST_DIRNAME/fleet_daemon.yaml" | kubectl apply -f -
        probe_refused() { kubectl get application probe -o json | gojq -e --arg in "$in" '[.status.clusters[]? | select(.state == "Refused" and (.message | contains("found " + $in)))] | length == 3' >/dev/null; }
        eventually 30 probe_refused
        for name in one two three; do [ -z "$(on "$name" get metrictemplates,canaries,deployments -n "$in" -o name)" ]; done
        kubectl delete application probe --timeout=30s
    done
    on one annotate namespace kube-system flagger.app/applications-
    for name in one two three; do on "$name" delete namespace prod; done
}

@test "this cluster itself is a member only where an option says so" {
    kubectl apply -f "$BATS_TEST_DIRNAME/../../proto/crd/canaries.yaml"
    gojq --yaml-input '.metadata.name = "own" | del(.spec.destination) | .spec.syncPolicies[0].rollout.workload.namespace = "default"' "$BATS_TEST_DIRNAME/fleet_daemon.yaml" | kubectl apply -f -
    own() { kubectl get application own -o json | gojq -e ".status.clusters[0] | $1" >/dev/null; }
    eventually 30 own '.cluster == "this cluster" and .state == "Refused" and .message == "spec.destination: expected a fleet, found none: this cluster itself is a member only with --own-cluster of the fleet"'
    [ -z "$(kubectl get canaries,deployments -n default -o name)" ]
    daemon_stop
    kubectl apply -f "$BATS_TEST_DIRNAME/../../deploy/fleet/member/rbac.yaml"
    kubectl apply -f - <<'YAML'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: own-cluster}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: flagger-fleet-member}
subjects: [{kind: ServiceAccount, name: flagger-fleet, namespace: flagger-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: own-cluster, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: flagger-fleet-releases}
subjects: [{kind: ServiceAccount, name: flagger-fleet, namespace: flagger-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: own-cluster, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: flagger-fleet-member}
subjects: [{kind: ServiceAccount, name: flagger-fleet, namespace: flagger-system}]
YAML
    daemon --own-cluster --abandon-after 2s
    eventually 30 own '.state == "Waiting" or .state == "Ready"'
    kubectl get deployment podinfo-testloader -n default
    # Where the option goes, what was made stays, and goes with its Application.
    daemon_stop
    daemon --abandon-after 1h
    eventually 30 own '.state == "Refused"'
    kubectl get deployment podinfo-testloader -n default
    kubectl delete application own --timeout=30s
    [ -z "$(kubectl get canaries,deployments -n default -o name)" ]
}

@test "a plan holds no Canary of a namespace that does not grant it" {
    app
    eventually 30 ready
    for name in one two three; do on "$name" create namespace prod; done
    for name in one two three; do look_on "$name" test canaries podinfo | gojq '.metadata = {name: "other", namespace: "prod"} | del(.status)' | on "$name" apply -f -; done
    kubectl apply -f - <<'YAML'
apiVersion: flagger.app/v1alpha1
kind: ReleasePlan
metadata: {name: foreign, namespace: default}
spec: {canaries: {namespace: prod}, destination: {fleet: quickstart}, waves: [{name: first}]}
YAML
    says() { kubectl get releaseplan foreign -o json | gojq -e "$1" >/dev/null; }
    eventually 30 says '[.status.clusters[]? | select((.says // "") | startswith("the namespace of its Canaries: expected default, the namespace that it lies in itself, or one that grants it, found prod"))] | length == 3'
    for name in one two three; do look_on "$name" prod canaries other | gojq -e '.spec.suspend != true and .metadata.annotations["flagger.app/held-by"] == null'; done
    on one annotate namespace prod flagger.app/applications=default
    eventually 30 says '.status.clusters | map(select(.name == "one"))[0] | .state != "Unreachable"'
    kubectl delete releaseplan foreign --timeout=30s
    for name in one two three; do on "$name" delete canary other -n prod && on "$name" delete namespace prod; done
    kubectl delete application shop --timeout=30s
}

@test "what is Kurator's is left to Kurator, and what has no rollout is not touched" {
    gojq --yaml-input '.metadata.finalizers = ["apps.kurator.dev"]' "$BATS_TEST_DIRNAME/fleet_daemon.yaml" | kubectl apply -f -
    eventually 20 status '.conditions | map(select(.type == "Accepted"))[0] | .reason == "OtherController" and (.message | contains("--adopt-kurator"))'
    gone one
    kubectl apply -f - <<'YAML'
---
{apiVersion: apps.kurator.dev/v1alpha1, kind: Application, metadata: {name: plain, namespace: default}, spec: {destination: {fleet: quickstart}, syncPolicies: [{helm: {interval: 1m}}]}}
YAML
    eventually 20 idle
    kubectl get application plain -o json | gojq -e '.status == null and .metadata.finalizers == null'
    daemon_stop
    daemon --adopt-kurator
    eventually 30 ready
    kubectl delete application shop --timeout=30s
    eventually 30 gone one
    kubectl delete application plain
}

@test "a deletion does not wait for ever for a cluster that nobody reaches" {
    app
    eventually 30 ready
    kill -STOP "$(cat "$DIR/two.pid")"
    kubectl delete application shop --wait=false
    eventually 60 app_gone
    gone one
    eventually 20 eval "kubectl get events -o json | gojq -e '.items | map(select(.reason == \"ClusterForgotten\" and (.message | contains(\"cluster two\")))) | length >= 1' >/dev/null"
    kill -CONT "$(cat "$DIR/two.pid")"
    on two delete canary podinfo -n test --ignore-not-found
}

@test "the rights that deploy/fleet grants are those that it takes" {
    # What the tests above do not do: an Ingress and a MetricTemplate come and go.
    gojq --yaml-input '.spec.syncPolicies[0].rollout |= (.trafficRoutingProvider = "nginx"
        | .rolloutPolicy.trafficRouting = {host: "app.example.com", canaryStrategy: {stepWeight: 10}}
        | .rolloutPolicy.trafficAnalysis.metrics = [{name: "errors", thresholdRange: {max: 1}, customMetric: {provider: {type: "prometheus"}, query: "up"}}])' \
        "$BATS_TEST_DIRNAME/fleet_daemon.yaml" | kubectl apply -f -
    eventually 30 ready
    on one delete metrictemplate errors -n test
    on one patch deployment podinfo-testloader -n test --type merge -p '{"spec": {"template": {"spec": {"enableServiceLinks": true}}}}'
    on one patch service podinfo-testloader -n test --type merge -p '{"spec": {"ports": [{"name": "http", "port": 80, "targetPort": 1}]}}'
    eventually 20 eval "look_on one test metrictemplates errors >/dev/null 2>&1"
    eventually 20 eval "look_on one test services podinfo-testloader | gojq -e '.spec.ports[0].targetPort == \"http\"' >/dev/null"
    on one patch metrictemplate errors -n test --type merge -p '{"spec": {"query": "down"}}'
    eventually 20 eval "look_on one test metrictemplates errors | gojq -e '.spec.query == \"up\"' >/dev/null"
    kubectl delete application shop --timeout=30s
    curl -s "$DAEMON_URL/metrics" | sed -n 's/^flagger_kubernetes_requests_total{\(.*\)} .*/\1/p' >>"$DIR/taken"
    gojq --yaml-input -r 'select(.kind | endswith("Role")).rules[] | .resources[] as $r | .verbs[] | "\($r) \(.)"' \
        "$BATS_TEST_DIRNAME"/../../deploy/fleet/{daemon,member}/rbac.yaml | sort -u >"$DIR/granted"
    awk -F'"' '$4 != "" {
        split("POST create PATCH patch GET get DELETE delete", words, " ")
        for (i = 1; i < 8; i += 2) if ($2 == words[i]) print $4, words[i + 1]
        if ($2 == "LIST") { print $4, "list"; print $4, "watch" }
    }' "$DIR/taken" | sort -u >"$DIR/needed"
    [ -z "$(comm -13 "$DIR/granted" "$DIR/needed")" ] || { echo "not granted:" && comm -13 "$DIR/granted" "$DIR/needed" && false; }
    # Beyond that: what a conflict reads, an event that comes again, a lease that is renewed, a Namespace that is not there, and plans.
    diff <(comm -23 "$DIR/granted" "$DIR/needed" | grep -vx 'events patch\|applications get\|canaries get\|services get') - <<'END'
daemonsets get
leases patch
namespaces create
releaseplans get
releaseplans patch
END
}

@test "for one namespace the daemon takes no right in another" {
    kubectl delete clusterrolebinding flagger-fleet own-cluster --ignore-not-found
    kubectl kustomize "$BATS_TEST_DIRNAME/../../deploy/fleet/namespaced" | sed 's/namespace: shop/namespace: default/' |
        gojq --yaml-input -c 'select(.kind | endswith("Role") or endswith("RoleBinding"))' >"$DIR/roles"
    kubectl apply -f "$DIR/roles"
    gojq -se 'map(select(.kind == "ClusterRoleBinding")) == []' "$DIR/roles"
    daemon_stop
    daemon --namespace default --abandon-after 2s
    app
    eventually 30 ready
    as_daemon() { kubectl --kubeconfig "$DIR/host.account" "$@"; }
    as_daemon get secret one -n default -o name
    run ! as_daemon get secrets -n kube-system
    [[ $output == *forbidden* ]]
    run ! as_daemon get secrets -A
    run ! as_daemon get namespace default
    kubectl delete application shop --timeout=30s
    # Of Shows 3: what each daemon of the fleet has, and what was taken of it above.
    echo "# the fleet, here and on members: $(wc -l <"$DIR/granted") rights granted, $(comm -12 "$DIR/granted" "$DIR/needed" | wc -l) taken, 0 missing" >&3
}

@test "an option that no cluster could take is one sentence" {
    local row
    for row in '--namespace=A_b|--namespace: expected the name of a namespace, found \"A_b\"' \
        '--claim-namespace=-x|--claim-namespace: expected the name of a namespace, found \"-x\"' \
        '--leader-election-namespace=|--leader-election-namespace: expected the name of a namespace, found \"\"' \
        '--allow-namespaces=default|--allow-namespaces: expected FROM:IN, the name of a namespace here or *, and that of one on the members or *, found \"default\"' \
        '--allow-namespaces=a:b,c:D_|found \"c:D_\"' \
        '--system-namespaces=A|--system-namespaces: expected the name of a namespace, found \"A\"' \
        '--loader-image=|--loader-image: expected the name of an image, found none'; do
        run "$FLAGGER_BUILD/flagger-controller" fleet "${row%%|*}"
        [ "$status" -eq 1 ]
        [[ $output == *"${row#*|}"* ]]
    done
}
