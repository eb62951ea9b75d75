# alone: page
# README.md from an empty cluster to a released revision, as it is printed, with a client behind the Service.
# `kubectl get --watch` shows what comes, until a person has seen enough.
kubectl() {
    local watcher
    if [[ " $* " != *" --watch "* ]]; then
        command kubectl "$@"
        return
    fi
    command kubectl "$@" >"$state/watch.$case" &
    watcher=$!
    eventually grep -q ' Succeeded ' "$state/watch.$case"
    kill "$watcher"
}
docker build --target controller -t registry.example.com/flagger-controller:0.1.0 .
typed README.md 1
client new http://podinfo.test:9898/
# The app of the page has neither a readiness probe nor a preStop hook: a pod that is replaced refuses what still comes.
fault 'pods without a readiness probe and a preStop hook are replaced'
typed README.md 2
fault_over
clients_end
image=$(command kubectl -n test get deployment podinfo-primary -o jsonpath='{.spec.template.spec.containers[0].image}')
[ "$image" = ghcr.io/stefanprodan/podinfo:6.7.1 ] || fail "the primary runs $image"
