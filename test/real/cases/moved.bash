# Another target for a Canary that rests, under a Service name of its own: the new workload's primary is made and ready before
# anybody is sent to it. A target that is not there is refused, and so is a move in the middle of a release.
deployment app && deployment other demo-app:7.0.0
canary app gatewayapi:v1 "$STEPS, threshold: 100, webhooks: [$(hook hold rollout)]" "name: shop"
comes Initialized
refused() { is canary app '.status.conditions[] | select(.type == "Accepted") | .status == "False" and (.message | length > 20)'; }
accepted() { is canary app '[.status.conditions[] | select(.type == "Accepted" and .status == "False")] == []'; }
change canary app '{"spec": {"targetRef": {"name": "nowhere"}}}'
eventually refused
is service shop '.spec.selector.app == "app-primary"'
change canary app '{"spec": {"targetRef": {"name": "app"}}}'
eventually accepted
refuses hold
release 2.0.0
comes Progressing 50
change canary app '{"spec": {"targetRef": {"name": "other"}}}'
eventually refused
change canary app '{"spec": {"targetRef": {"name": "app"}}}'
allows hold
comes Succeeded
runs app-primary 2.0.0
change canary app '{"spec": {"targetRef": {"name": "other"}}}'
soon service shop '.spec.selector.app == "other-primary"'
runs other-primary 7.0.0
release 8.0.0 other
comes Succeeded
runs other-primary 8.0.0
