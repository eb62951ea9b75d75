# A ConfigMap or Secret that the target uses is part of the revision; the primary has copies.
CONTAINER=', envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: keys}}]'
k create configmap settings --from-literal=colour=blue >/dev/null
k create secret generic keys --from-literal=key=one >/dev/null
deployment
canary app gatewayapi:v1 "$STEPS, $RATE"
comes Initialized
is configmap settings-primary '.data.colour == "blue"'
change configmap settings '{"data": {"colour": "green"}}'
comes Succeeded
is configmap settings-primary '.data.colour == "green"'
success_rate 50
change secret keys '{"stringData": {"key": "two"}}'
comes Failed
is secret keys-primary '.data.key | @base64d == "one"'
