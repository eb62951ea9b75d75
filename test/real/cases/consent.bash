# A revision that is pushed while another one is analysed passes the same gate; so do other configs. What is paused stays paused.
CONTAINER=', envFrom: [{configMapRef: {name: settings}}]'
k create configmap settings --from-literal=colour=blue >/dev/null
deployment
canary app gatewayapi:v1 "$STEPS, threshold: 100, webhooks: [$(hook start confirm-rollout), $(hook more confirm-traffic-increase)]"
allows start
refuses more
comes Initialized
release 2.0.0
comes Progressing 0
refuses start
release 3.0.0
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
revision=$(k get canary app -o jsonpath='{.status.lastAppliedSpec}')
k apply -f - >/dev/null <<END
apiVersion: flagger.app/v1beta1
kind: ReleaseRequest
metadata: {name: app}
spec: {action: pause, revision: "$revision", by: alice, why: the database moves}
END
soon canary app '.status.paused.by == "alice"'
release 4.0.0
comes Waiting
soon canary app '.status.paused.by == "alice" and .status.lastAppliedSpec == ""'
eventually is canary app '.status.paused.revision != "'"$revision"'"'
k apply -f - >/dev/null <<END
apiVersion: flagger.app/v1beta1
kind: ReleaseRequest
metadata: {name: app}
spec: {action: resume, revision: "$(k get canary app -o jsonpath='{.status.paused.revision}')", by: bob}
END
allows more
comes Succeeded
runs app-primary 4.0.0
