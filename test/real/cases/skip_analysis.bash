# No analysis: the new version is promoted as soon as it is ready.
deployment
canary app gatewayapi:v1 "$STEPS" "" "skipAnalysis: true"
comes Initialized
release 2.0.0
comes Succeeded
runs app-primary 2.0.0
