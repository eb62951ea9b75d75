# A DaemonSet is at rest with a node selector that fits no node.
KIND=DaemonSet
daemonset
canary app gatewayapi:v1 "$STEPS, $RATE"
comes Initialized
soon daemonset app '.status.currentNumberScheduled == 0'
release 2.0.0
comes Succeeded
runs app-primary 2.0.0
# Back to the template of a ControllerRevision, which was there with the selector of rest as well.
"$build/kubectl-canary" undo app -n "$case" --wait --timeout 90s
runs app-primary 1.0.0
soon daemonset app '.status.currentNumberScheduled == 0'
success_rate 50
release 3.0.0
comes Failed
runs app-primary 1.0.0
soon daemonset app '.status.currentNumberScheduled == 0'
