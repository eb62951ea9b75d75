# A revision that is pushed while another one is analysed passes the same gate; so do other configs.
push() { # VERSION: the rest of the container stays
    since=$(k set image deployment/app "app=demo-app:$1" -o jsonpath='{.metadata.resourceVersion}')
}
CONTAINER=', envFrom: [{configMapRef: {name: settings}}]'
k create configmap settings --from-literal=colour=blue >/dev/null
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, webhooks: [$(hook start confirm-rollout), $(hook more confirm-traffic-increase)]"
allows start
refuses more
comes Initialized
push 2.0.0
comes Progressing 0
refuses start
push 3.0.0
comes Waiting
soon deployment app '.spec.replicas == 0'
allows start
comes Progressing 0
refuses start
change configmap settings '{"data": {"colour": "green"}}'
comes Waiting
runs app-primary 1.0.0
allows start
comes Progressing 0
allows more
comes Succeeded
is configmap settings-primary '.data.colour == "green"'
runs app-primary 3.0.0
