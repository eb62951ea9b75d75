# A copy of the requests first; the steps then. And in a blue/green release.
deployment app && deployment green
canary app gatewayapi:v1 "$STEPS, mirror: true, mirrorWeight: 50"
canary green gatewayapi:v1 "interval: 1s, threshold: 3, iterations: 2, mirror: true"
comes Initialized 0 app
comes Initialized 0 green
release 2.0.0 app
comes Progressing
eventually grep -q '"RequestMirror"' "$state/history/$case.history"
comes Succeeded 0 app
release 2.0.0 green
comes Succeeded 0 green
routes app 'tostring | contains("RequestMirror") | not'
runs app-primary 2.0.0
runs green-primary 2.0.0
