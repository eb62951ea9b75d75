# The controller is stopped in an orderly way in the middle of a release, and the next one goes on: it need not wait for the lease.
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, $RATE, webhooks: [$(hook hold rollout)]"
comes Initialized
refuses hold
release 2.0.0
comes Progressing 50
controller_restart
allows hold
comes Succeeded
runs app-primary 2.0.0
