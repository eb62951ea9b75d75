# The controller is killed at every weight of a release, which ends as if it had not been. (All other cases see that too.)
deployment
canary app gatewayapi:v1 "interval: 1s, stepWeight: 25, maxWeight: 75, threshold: 3, $RATE"
comes Initialized
release 2.0.0
for weight in 25 50 75; do
    comes Progressing "$weight"
    controller_kill
done
comes Succeeded
runs app-primary 2.0.0
