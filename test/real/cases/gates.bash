# Gates hold a release before it starts, before its traffic grows and before its promotion; a rollback hook ends it.
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, webhooks: [$(hook start confirm-rollout), $(hook more confirm-traffic-increase),
    $(hook promote confirm-promotion), $(hook back rollback), $(hook after post-rollout)]"
refuses back
comes Initialized
refuses start
release 2.0.0
comes Waiting
refuses more
allows start
comes Progressing 0
refuses promote
allows more
comes WaitingPromotion
allows promote
comes Succeeded
runs app-primary 2.0.0
refuses more
release 3.0.0
comes Progressing 0
allows back
comes Failed
runs app-primary 2.0.0
