# What somebody else does to the primary, the Services and the route in mid-release is put right, and the release goes on.
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, $RATE, webhooks: [$(hook hold rollout)]"
comes Initialized
refuses hold
release 2.0.0
comes Progressing 50
change service app-canary '{"spec": {"selector": {"app": "app-primary"}}}'
soon service app-canary '.spec.selector.app == "app"'
change httproute app '{"spec": {"hostnames": ["wrong.example.com"]}}'
soon httproute app '.spec.hostnames == ["app.example.com"]'
k delete httproute app >/dev/null
eventually routes app '[.[0].backendRefs[].weight] | add == 100' 2>/dev/null
allows hold
comes Succeeded
runs app-primary 2.0.0
