# A revision that never gets ready and comes while the target still has the pods of the revision before, which stay
# available: it is given up at the Canary's deadline all the same.
deployment
DEADLINE=5 canary app gatewayapi:v1 "${STEPS/1s/8s}, $RATE"
comes Initialized
release 2.0.0-crash
comes Failed 0
runs app-primary 1.0.0
change canary app '{"spec": {"progressDeadlineSeconds": 60}}'
release 2.0.1
comes Succeeded
