# Who has seen the new version stays there, by a cookie.
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, sessionAffinity: {cookieName: seen}, webhooks: [$(hook hold rollout)]"
comes Initialized
refuses hold
release 2.0.0
comes Progressing 50
routes app 'tostring | contains("seen=")'
allows hold
comes Succeeded 0
routes app 'tostring | contains("Max-Age=-1")' # and it is taken from them again
runs app-primary 2.0.0
