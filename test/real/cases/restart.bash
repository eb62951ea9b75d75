# A newer revision in the middle of a release: the analysis starts over, without traffic on the canary.
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, $RATE, webhooks: [$(hook hold rollout)]"
comes Initialized
refuses hold
release 2.0.0
comes Progressing 50
release 3.0.0
comes Progressing 0
allows hold
comes Succeeded
runs app-primary 3.0.0
# And back to what serves: that is no release.
refuses hold
release 4.0.0
comes Progressing 50
release 3.0.0
comes Succeeded 0
runs app-primary 3.0.0
