# The new version is checked without traffic, then takes its place; on a gateway, and on plain Services.
deployment app && deployment plain
canary app gatewayapi:v1 "interval: 1s, threshold: 2, iterations: 2, $RATE"
canary plain kubernetes "interval: 1s, threshold: 2, iterations: 2, $RATE"
comes Initialized 0 app
comes Initialized 0 plain
release 2.0.0 app
comes Succeeded 0 app
release 2.0.0 plain
comes Succeeded '*' plain
runs app-primary 2.0.0
runs plain-primary 2.0.0
is service plain '.spec.selector.app == "plain-primary"'
success_rate 10
release 3.0.0 app
comes Failed 0 app
release 3.0.0 plain
comes Failed '*' plain
runs app-primary 2.0.0
runs plain-primary 2.0.0
