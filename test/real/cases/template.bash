# A metric of the user's own, by template.
deployment
k apply -f - >/dev/null <<END
apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: orders}
spec:
  provider: {type: prometheus, address: "http://127.0.0.1:$answers"}
  query: 'orders{namespace="{{ namespace }}", target="{{ target }}"}'
END
answer orders "{\"match\": [\"orders{\", \"$case\"], \"value\": \"7\"}"
canary app gatewayapi:v1 "$STEPS, metrics: [{name: orders, templateRef: {name: orders}, thresholdRange: {min: 5}, interval: 1m}]"
comes Initialized
release 2.0.0
comes Succeeded
answer orders "{\"match\": [\"orders{\", \"$case\"], \"value\": \"3\"}"
release 3.0.0
comes Failed
[ "$(asked orders)" -ge 3 ]
eventually told 'orders 3.00 < 5'
runs app-primary 2.0.0
