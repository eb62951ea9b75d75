# A role that lacks the right to the routes of a provider: one condition and one event say so in the API server's words, the release
# stays where it is, and goes on by itself when the right is given. A controller of its own, with a role of its own.
port=$(free_ports 1)
granted() { # RIGHTS: a filter of the rules of the role
    kubectl get clusterrole flagger -o json | gojq "{apiVersion, kind, metadata: {name: \"narrow\"}, rules: [.rules[] | $1]}" | kubectl apply -f - >/dev/null
}
without_routes='select(.apiGroups | contains(["gateway.networking.k8s.io"]) | not)'
reads_routes='if .apiGroups | contains(["gateway.networking.k8s.io"]) then .verbs = ["get", "list", "watch"] else . end'
granted "$without_routes"
kubectl create clusterrolebinding narrow --clusterrole narrow --user system:serviceaccount:flagger-system:narrow >/dev/null
"$build/flagger-controller" --kubeconfig "$state/kubeconfig-narrow" --address 127.0.0.1 --port "$port" --mesh-provider gatewayapi:v1 \
    --metrics-server "http://127.0.0.1:$answers" --min-analysis-interval 1s --namespace "$case" >"$state/log/denied.log" 2>&1 &
controller=$!
trap 'kill -KILL "$controller" 2>/dev/null || true' EXIT

condition() { k get canary app -o json | gojq -r ".status.conditions[]? | select(.type == \"ResourcesAllowed\") | $1"; }
denied() { [ "$(condition .status)" = False ]; }
allowed() { [ "$(condition .status)" != False ]; }
tellings() { events | grep -c 'httproutes.gateway.networking.k8s.io' || true; }
says() { # VERB: what the server refused, of which resource, where, and to whom
    local message
    message=$(condition .message)
    [ "$(condition .reason)" = Forbidden ] || fail "the reason is $(condition .reason)"
    for word in "\"system:serviceaccount:flagger-system:narrow\" cannot $1 resource \"httproutes\"" 'API group "gateway.networking.k8s.io"'; do
        [[ $message == *"$word"* ]] || fail "the condition does not say $word: $message"
    done
    echo "ResourcesAllowed: $message"
}

# Nothing may be read: the target serves, and no copy of it is made that routes could not lead to.
deployment
canary app gatewayapi:v1 "$STEPS"
eventually denied
says get
is deployment app '.spec.replicas == 2' || fail "the target was scaled before routes lead to the primary"
eventually told 'httproutes.gateway.networking.k8s.io'
[ "$(tellings)" -eq 1 ] || fail "it is told $(tellings) times"

granted .
comes Initialized
eventually allowed

# Nothing may be written, in the middle of a release.
release 2.0.0
comes Progressing 50
granted "$reads_routes"
eventually denied
says patch
routes app '[.[].backendRefs[] | .weight] == [50, 50]' || fail "the weights are not those of the step"
is canary app '.status.phase == "Progressing" or .status.phase == "Promoting"' || fail "the release did not stay where it was"
k delete httproute app >/dev/null # by somebody; it may not be made again either
granted .
comes Succeeded 0
eventually allowed
runs app-primary 2.0.0
kill -TERM "$controller" && wait "$controller"
