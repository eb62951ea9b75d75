# kubectl canary fleet and why of a plan: a cluster with Applications, two members of its fleet, one that is known by a Secret alone, and some that
# nobody reaches.

bats_require_minimum_version 1.5.0

# sandbox NAME CRDS: starts one with the objects of $DIR/NAME.objects, whose kubeconfig is $DIR/NAME
sandbox() {
    touch "$DIR/$1.objects"
    "$FLAGGER_BUILD/flagger-sandbox" --no-gateway --no-services --kubeconfig "$DIR/$1" --crds "$2" --load "$DIR/$1.objects" \
        >"$DIR/$1.out" 2>"$DIR/$1.log" </dev/null 3>&- &
    echo $! >>"$DIR/pids"
}

# canary NAME STATUS: an object for a sandbox
canary() {
    gojq -nc --arg name "$1" --argjson status "$2" '{apiVersion: "flagger.app/v1beta1", kind: "Canary", metadata: {name: $name, namespace: "test", uid: $name},
        spec: {targetRef: {apiVersion: "apps/v1", kind: "Deployment", name: $name}, service: {port: 80}, analysis: {interval: "1m", threshold: 1, stepWeight: 10}}, status: $status}'
}

# crd GROUP KIND PLURAL: a definition that takes everything
crd() {
    gojq -nc --arg group "$1" --arg kind "$2" --arg plural "$3" '{apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: {name: "\($plural).\($group)"},
        spec: {group: $group, scope: "Namespaced", names: {kind: $kind, listKind: "\($kind)List", plural: $plural, singular: ($kind | ascii_downcase)},
        versions: [{name: "v1alpha1", served: true, storage: true, schema: {openAPIV3Schema: {type: "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}'
}

setup_file() {
    load ../lib/daemon
    local root=$BATS_TEST_DIRNAME/../.. name
    DIR=$(mktemp -d /tmp/flagger-fleet.XXXXXX)
    export DIR KUBECONFIG=$DIR/host HOME=$DIR/home
    mkdir "$HOME" "$DIR/crds"
    cp "$root/deploy/fleet/applications.yaml" "$DIR/crds"
    crd fleet.kurator.dev Fleet fleets >"$DIR/crds/fleets.yaml"
    crd cluster.kurator.dev AttachedCluster attachedclusters >"$DIR/crds/attached.yaml"
    canary podinfo '{"phase": "Progressing", "canaryWeight": 20, "failedChecks": 0, "iterations": 0, "lastAppliedSpec": "5d4f8b", "lastPromotedSpec": "77c1aa"}' >"$DIR/one.objects"
    canary podinfo '{"phase": "Succeeded", "canaryWeight": 0, "failedChecks": 0, "iterations": 0, "lastAppliedSpec": "5d4f8b", "lastPromotedSpec": "5d4f8b"}' >"$DIR/two.objects"
    sandbox host "$DIR/crds"
    for name in one two three; do sandbox "$name" "$root/proto/crd"; done
    sandbox bare "$root/deploy/fleet"
    for name in host one two three bare; do
        eventually 60 grep -q '^ready' "$DIR/$name.out" || { cat "$DIR/$name.log" && return 1; }
        [ "$name" = host ] || kubectl create secret generic "$name" --from-file="value=$DIR/$name"
    done
    gojq --yaml-input '.clusters[0].cluster.server = "https://127.0.0.1:1"' "$DIR/one" >"$DIR/away"
    kubectl create secret generic away --from-file="value=$DIR/away"
    gojq --yaml-input '.users[0].user = {tokenFile: "/etc/passwd"}' "$DIR/one" >"$DIR/file"
    kubectl create secret generic file --from-file="kubeconfig=$DIR/file"
    kubectl label secret three flagger.app/cluster=three env=test
    kubectl label secret bare flagger.app/cluster=bare flagger.app/fleet=others
    kubectl label secret file flagger.app/cluster=file flagger.app/fleet=others
    {
        application shop quickstart
        application other others
        application lost nowhere
        for name in one two away; do
            printf -- '---\n{apiVersion: cluster.kurator.dev/v1alpha1, kind: AttachedCluster, metadata: {name: %s, namespace: default, labels: {env: prod}}, spec: {kubeconfig: {name: %s, key: value}}}\n' "$name" "$name"
        done
        echo '---'
        echo '{apiVersion: fleet.kurator.dev/v1alpha1, kind: Fleet, metadata: {name: quickstart, namespace: default}, spec: {clusters: [{name: one, kind: AttachedCluster}, {name: two, kind: AttachedCluster}, {name: away, kind: AttachedCluster}]}}'
    } | kubectl apply -f -
}

# application NAME FLEET
application() {
    cat <<YAML
---
apiVersion: apps.kurator.dev/v1alpha1
kind: Application
metadata: {name: $1, namespace: default, labels: {app: $1}}
spec:
  destination: {fleet: $2}
  syncPolicies:
  - rollout:
      workload: {name: podinfo, namespace: test}
      serviceName: podinfo
      port: 80
      rolloutPolicy: {trafficRouting: {canaryStrategy: {stepWeight: 10}}}
YAML
}

teardown_file() {
    load ../lib/daemon
    for DAEMON_PID in $(cat "$DIR/pids"); do
        kill -TERM "$DAEMON_PID" || true
        eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
    done
    rm -rf "$DIR"
}

setup() { load ../lib/daemon; }

fleet() { "$FLAGGER_BUILD/kubectl-canary" fleet "$@"; }
why() { "$FLAGGER_BUILD/kubectl-canary" why "$@"; }

@test "an Application is shown with what its Canary does on each cluster, and one that is away holds up no other" {
    run -1 --separate-stderr fleet shop
    [ "${lines[0]}" = 'Application default/shop' ]
    [[ ${lines[1]} == *'Deployment test/podinfo, fleet quickstart: 1 Progressing, 1 Succeeded, 1 Unknown, 1 Missing' ]]
    [[ ${lines[2]} =~ one\ +Progressing\ 20%,\ revision\ 5d4f8b$ ]]
    [[ ${lines[3]} =~ two\ +Succeeded\ 0%,\ revision\ 5d4f8b$ ]]
    [[ ${lines[4]} =~ away\ +GET\ canaries\ test/podinfo ]]
    [[ ${lines[5]} =~ three\ +there\ is\ no\ such\ Canary$ ]]
    [ "${#lines[@]}" -eq 6 ]
}

@test "labels choose, and when all is known the exit code says so" {
    kubectl patch application shop --type merge -p '{"spec": {"destination": {"clusterSelector": {"matchLabels": {"env": "test"}}}}}'
    run -0 --separate-stderr fleet shop -o json
    gojq -e '.applications[0] | .name == "shop" and (.rollouts[0] | .policy == "shop-0" and .fleet == "quickstart" and (.clusters | map(.cluster + " " + .state) == ["three Missing"]))' <<<"$output"
    kubectl patch application shop --type merge -p '{"spec": {"destination": {"clusterSelector": {"matchLabels": {"env": "prod"}}}}}'
    run -1 --separate-stderr fleet -l app=shop -o json
    gojq -e '.applications[0].rollouts[0].clusters | map(.cluster) == ["one", "two", "away"] and .[0].promoted == "77c1aa" and .[0].weight == 20 and .[2].state == "Unknown"' <<<"$output"
    kubectl patch application shop --type merge -p '{"spec": {"destination": {"clusterSelector": null}}}'
}

@test "what cannot be known is told where it belongs" {
    # A Secret that names no fleet is of each.
    run -1 --separate-stderr fleet -A
    [[ $output == *'Application default/lost'*'fleet nowhere: 1 Missing'* ]]
    kubectl label secret three flagger.app/fleet=quickstart
    run -1 --separate-stderr fleet lost
    [[ $output == *'fleet nowhere: on no cluster'*'there is neither a Fleet nowhere nor a Secret with the label flagger.app/cluster for it' ]]
    run -1 --separate-stderr fleet other
    [[ $output == *'bare '*'serves no Canaries: their CRD is not installed'* ]]
    # A kubeconfig may not choose a file to be read here and sent elsewhere.
    [[ $output == *'file '*'Secret default/file: tokenFile: expected certificates and a token in the kubeconfig itself'* ]]
    run -1 --separate-stderr fleet nobody
    [[ $stderr == *'there is neither an Application nor a ReleasePlan "nobody" in namespace "default"; kubectl canary fleet -A lists all' ]]
    run -1 --separate-stderr fleet shop --kubeconfig "$DIR/three"
    [[ $stderr == *'the cluster has neither Applications of Kurator nor ReleasePlans: their CRDs are not installed' ]]
    run -2 --separate-stderr fleet shop -A
    # An Application that nobody can read; Kurator's own definition takes it.
    kubectl patch application lost --type merge -p '{"spec": {"syncPolicies": [{"rollout": {"workload": {"name": "a"}, "serviceName": "a", "port": 80, "rolloutPolicy": {}}}]}}'
    run -1 --separate-stderr fleet lost
    [[ ${lines[1]} == *'spec.syncPolicies[0].rollout.rolloutPolicy.trafficRouting: expected canaryStrategy or analysisTimes, found neither' ]]
}

@test "a ReleasePlan is shown by waves with their clusters, and why says what would let it go on" {
    kubectl apply -f "$BATS_TEST_DIRNAME/../../deploy/fleet/releaseplans.yaml"
    eventually 20 kubectl get releaseplans
    kubectl apply -f - <<'YAML'
apiVersion: flagger.app/v1alpha1
kind: ReleasePlan
metadata: {name: waves, namespace: default, labels: {app: shop}}
spec: {application: shop, waves: [{name: first, clusterSelector: {matchLabels: {wave: "1"}}}, {name: rest}]}
YAML
    run -1 --separate-stderr fleet waves
    [[ $output == *'ReleasePlan default/waves'*'no controller has looked at it yet: flagger-controller fleet does' ]]
    run -0 --separate-stderr why plan/waves
    [[ $output == 'No controller has looked at the ReleasePlan waves'* ]]
    kubectl patch releaseplan waves --subresource=status --type merge -p '{"status": {"observedGeneration": 1, "phase": "Stopped", "message": "wave rest has failed", "revision": "r2",
        "conditions": [{"type": "Ready", "status": "False"}, {"type": "Stopped", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}, {"type": "Late", "status": "True"}],
        "waves": [{"name": "first", "canaries": 1, "promoted": 1, "failed": 0, "underWay": 0, "held": 0, "completed": "2026-01-01T00:00:00Z", "passed": true},
                  {"name": "rest", "canaries": 2, "promoted": 0, "failed": 1, "underWay": 0, "held": 2, "began": "2026-01-01T00:00:00Z"}],
        "clusters": [{"name": "one", "wave": "first", "state": "Promoted", "says": "has promoted revision r2", "phase": "Succeeded", "revision": "r2"},
                     {"name": "two", "wave": "rest", "state": "Failed", "says": "test/podinfo revision r2 has failed", "phase": "Failed", "revision": "r2"},
                     {"name": "three", "wave": "rest", "state": "Unreachable", "says": "test/podinfo cannot be reached: refused", "phase": "Succeeded", "weight": 5, "revision": "r1", "lastContact": "2026-01-01T00:00:00Z"},
                     {"name": "four", "state": "Empty", "says": "has no Canary of this plan"}]}}'
    run -1 --separate-stderr fleet shop # its clusters, of which one is away, then the plan
    [[ ${lines[0]} == 'Application default/shop' ]]
    run -0 --separate-stderr fleet waves
    [ "${lines[0]}" = 'ReleasePlan default/waves' ]
    [[ ${lines[1]} == *'Stopped, revision r2: 3 Canaries, 1 has the revision, 1 has failed, 2 are held' ]]
    [[ ${lines[2]} == *'wave rest has failed' ]]
    [[ ${lines[3]} == *'Late: the deadline of the wave has passed' ]]
    [[ ${lines[4]} == *'wave first is over: 1 Canary, 1 has the revision' ]]
    [[ ${lines[5]} =~ one\ +Succeeded:\ has\ promoted\ revision\ r2$ ]]
    [[ ${lines[6]} == *'wave rest is open, since '*': 2 Canaries, 1 has failed, 2 are held' ]]
    [[ ${lines[7]} =~ two\ +Failed:\ test/podinfo\ revision\ r2\ has\ failed$ ]]
    [[ ${lines[8]} =~ three\ +Succeeded\ 5%,\ revision\ r1:\ test/podinfo\ cannot\ be\ reached:\ refused,\ last\ contact\ .*\ ago$ ]]
    [[ ${lines[9]} == *'in no wave' ]]
    [[ ${lines[10]} =~ four\ +Unknown:\ has\ no\ Canary\ of\ this\ plan$ ]]
    [ "${#lines[@]}" -eq 11 ]
    run -0 --separate-stderr fleet waves -o json
    gojq -e '(.applications | length == 0) and (.plans | map(.name) == ["waves"]) and (.plans[0].status.clusters | length == 4)' <<<"$output"
    run -0 --separate-stderr why plan/waves
    [[ $output == 'The plan stands still, for '*': wave rest has failed.'*'kubectl -n default annotate releaseplan waves flagger.app/accept-failed=r2' ]]
    run -0 --separate-stderr why releaseplan/waves -o json
    gojq -e '.situation == "plan-stopped"' <<<"$output"
    run -1 --separate-stderr why plan/none
    [[ $stderr == *'there is no ReleasePlan "none" in namespace "default"; kubectl canary fleet -A lists all' ]]
    # Another spec than the one that was looked at.
    kubectl patch releaseplan waves --type merge -p '{"spec": {"waves": [{"name": "first"}]}}'
    run -1 --separate-stderr fleet -l app=shop
    [[ $output == *'Application default/shop'*'ReleasePlan default/waves'*'this is of the spec before its last change'* ]]
}
