# Two Canaries of one target, and two of one Service: the younger is refused and says by whom; it takes over when the elder goes.
deployment app && deployment other
canary app gatewayapi:v1 "$STEPS, $RATE"
comes Initialized
k get canary app -o json | gojq 'del(.status, .metadata.uid, .metadata.resourceVersion, .metadata.finalizers) | .metadata.name = "younger"' | k create -f - >/dev/null
canary other gatewayapi:v1 "$STEPS" "name: app"
refused() { is canary "$1" '.status.conditions[]? | select(.type == "Accepted") | .status == "False" and (.message | contains("app"))'; }
eventually refused younger
eventually refused other
release 2.0.0
comes Succeeded 0 app
runs app-primary 2.0.0
is service app '.spec.selector.app == "app-primary"'
k delete canary younger other --timeout="${LIMIT}s" >/dev/null
is service app '.spec.selector.app == "app-primary"'
release 3.0.0
comes Succeeded 0 app
runs app-primary 3.0.0
