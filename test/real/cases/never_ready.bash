# A version whose pods never get ready gets no traffic, and is given up at the deadline.
deployment
DEADLINE=5 canary app gatewayapi:v1 "$STEPS, $RATE"
comes Initialized
release 2.0.0-crash
comes Failed 0
refute_weight() { ! grep -E '^[0-9]+ app [A-Za-z]+ [1-9]' "$state/history/$case.canaries"; }
refute_weight
runs app-primary 1.0.0
release 2.0.1
comes Succeeded
