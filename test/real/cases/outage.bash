# The API server dies in the middle of a release, and comes back: the release goes on, and no step was lost.
may_break rights # an API server that has just started does not know the roles yet
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, $RATE, webhooks: [$(hook hold rollout)]"
comes Initialized
refuses hold
release 2.0.0
comes Progressing 50
touch "$state/controller.may_end" # when it could not renew its lease in time; a cluster starts it again
apiserver_kill
apiserver_begin "$assets"
routes app '[.[0].backendRefs[].weight] == [50, 50]'
allows hold
comes Succeeded
runs app-primary 2.0.0
rm "$state/controller.may_end"
