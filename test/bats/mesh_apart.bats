# Routes in the cluster of the mesh, Canaries in another one: --kubeconfig-service-mesh.

bats_require_minimum_version 1.5.0

setup() {
    load ../lib/daemon
    export DIR=$BATS_TEST_TMPDIR HOME=$BATS_TEST_TMPDIR
    export KUBECONFIG=$DIR/own
    sandbox own
    sandbox mesh
    kubectl apply -f "$BATS_TEST_DIRNAME/mesh_apart.yaml" >"$DIR/applied"
}

teardown() {
    daemon_stop
    kill -TERM "${SANDBOXES[@]}" && wait "${SANDBOXES[@]}" || true
}

sandbox() { # NAME, which is that of its kubeconfig
    "$FLAGGER_BUILD/flagger-sandbox" --kubeconfig "$DIR/$1" --crds "$BATS_TEST_DIRNAME/../../proto/crd" \
        --no-gateway --no-services >"$DIR/$1.out" 2>"$DIR/$1.log" </dev/null 3>&- &
    SANDBOXES+=($!)
    eventually 60 grep -q '^ready' "$DIR/$1.out" || { cat "$DIR/$1.log" && return 1; }
}

mesh() { kubectl --kubeconfig "$DIR/mesh" "$@"; }
route() { mesh get httproute podinfo -o json | gojq -e "$1"; }
phase_is() { [ "$(of_canary default podinfo .status.phase)" = "$1" ]; }
shares() { route '[.spec.rules[0].backendRefs[] | .weight] | . != [100, 0]'; }
gone() { refute kubectl get canary podinfo 2>"$DIR/gone"; }

@test "a release moves the routes of the other cluster, and what the Canary made there goes or is led to the apex Service" {
    daemon_start "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --min-analysis-interval 1s \
        --kubeconfig-service-mesh "$DIR/mesh"
    eventually 60 phase_is Initialized
    route '.metadata.ownerReferences == null and .metadata.annotations["flagger.app/owner"] == "podinfo.default"'
    [ -z "$(kubectl get httproute -o name)" ]
    [ -z "$(mesh get deployments,services,canaries -o name | grep podinfo)" ]

    # each API server has its own budgets
    curl -sf "$DAEMON_URL/debug/process" | gojq -e '.requests | .otherWrites.burst == 250 and .serviceMesh.otherWrites.burst == 250'

    # an edit there is seen by a watch there
    mesh patch httproute podinfo --type merge -p '{"spec":{"hostnames":["other.test"]}}'
    eventually 30 route '.spec.hostnames == ["app.test"]'

    kubectl set image deployment/podinfo app=app:2
    eventually 60 shares
    eventually 90 phase_is Succeeded
    route '[.spec.rules[0].backendRefs[] | .weight] == [100, 0]'

    kubectl delete canary podinfo --wait=false
    eventually 60 gone
    route '[.spec.rules[0].backendRefs[] | .name] == ["podinfo"] and .metadata.annotations["flagger.app/owner"] == null'
}
