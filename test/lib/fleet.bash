# Clusters for tests of the fleet: sandboxes without a gateway, one of them the management cluster `host`. DIR is their folder.

# clusters_begin NAME...: `host`, which kubectl reaches, and members with these names
clusters_begin() {
    local name
    DIR=$(mktemp -d /tmp/flagger-fleet.XXXXXX)
    export DIR KUBECONFIG=$DIR/host HOME=$DIR/home
    mkdir "$HOME" "$DIR/crds"
    fleet_crds "$DIR/crds"
    cluster_begin host "$DIR/crds"
    for name in "$@"; do cluster_begin "$name" "$BATS_TEST_DIRNAME/../../proto/crd"; done
    for name in host "$@"; do
        eventually 60 grep -q '^ready' "$DIR/$name.out" || { cat "$DIR/$name.log" && return 1; }
    done
}

# cluster_begin NAME CRDS: a sandbox whose kubeconfig is $DIR/NAME, its process in $DIR/NAME.pid
cluster_begin() {
    "$FLAGGER_BUILD/flagger-sandbox" --no-gateway --no-services --kubeconfig "$DIR/$1" --crds "$2" \
        >"$DIR/$1.out" 2>"$DIR/$1.log" </dev/null 3>&- &
    echo $! >"$DIR/$1.pid"
}

# Ends them all; fails if a sanitizer has found something.
clusters_end() {
    local file DAEMON_PID
    for file in "$DIR"/*.pid; do
        DAEMON_PID=$(cat "$file")
        kill -CONT "$DAEMON_PID" 2>/dev/null || continue
        kill -TERM "$DAEMON_PID"
        eventually 30 daemon_gone || kill -KILL "$DAEMON_PID"
        ! grep -qE 'ERROR: (Address|Leak)Sanitizer|runtime error' "${file%.pid}.log" || { cat "${file%.pid}.log" && return 1; }
    done
    rm -rf "$DIR"
}

# fleet_crds FOLDER: the definitions of a management cluster: ours, and of Kurator's kinds one that takes everything
fleet_crds() {
    cp "$BATS_TEST_DIRNAME"/../../deploy/fleet/{applications,releaseplans}.yaml "$1"
    fleet_crd fleet.kurator.dev Fleet fleets >"$1/fleets.yaml"
    fleet_crd cluster.kurator.dev AttachedCluster attachedclusters >"$1/attached.yaml"
}

fleet_crd() { # GROUP KIND PLURAL
    gojq -nc --arg group "$1" --arg kind "$2" --arg plural "$3" '{apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: {name: "\($plural).\($group)"},
        spec: {group: $group, scope: "Namespaced", names: {kind: $kind, listKind: "\($kind)List", plural: $plural, singular: ($kind | ascii_downcase)},
        versions: [{name: "v1alpha1", served: true, storage: true, schema: {openAPIV3Schema: {type: "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}'
}

# as_account NAME NAMESPACE ACCOUNT FILE: a kubeconfig of that cluster with the rights of the account alone
as_account() {
    local token
    token=$(on "$1" create token "$3" -n "$2")
    gojq --yaml-input --arg token "$token" '.users[0].user = {token: $token}' "$DIR/$1" >"$4"
}

# fleet_attach NAME [FILE]: an AttachedCluster and its Secret, from FILE or $DIR/NAME
fleet_attach() {
    kubectl create secret generic "$1" --from-file="value=${2:-$DIR/$1}"
    kubectl apply -f - <<YAML
---
{apiVersion: cluster.kurator.dev/v1alpha1, kind: AttachedCluster, metadata: {name: $1, namespace: default}, spec: {kubeconfig: {name: $1, key: value}}}
YAML
}

# fleet_member NAME LABEL...: a Secret with the kubeconfig $DIR/NAME, which makes it a member of the fleet
fleet_member() {
    kubectl create secret generic "$1" --from-file="value=$DIR/$1"
    kubectl label secret "$1" "flagger.app/cluster=$1" "${@:2}"
}

# fleet_of NAME...: the Fleet quickstart has just these
fleet_of() {
    gojq -nc '{apiVersion: "fleet.kurator.dev/v1alpha1", kind: "Fleet", metadata: {name: "quickstart", namespace: "default"},
        spec: {clusters: ($ARGS.positional | map({name: ., kind: "AttachedCluster"}))}}' --args "$@" | kubectl apply -f -
}

# on NAME ARGUMENT...: kubectl on that cluster
on() {
    local name=$1
    shift
    kubectl --kubeconfig "$DIR/$name" "$@"
}

# look_on NAME NAMESPACE RESOURCE [OBJECT]: api_look on that cluster
look_on() {
    local -x KUBECONFIG=$DIR/$1
    shift
    api_look "$@"
}
