# A Service is released when it is pointed to other pods.
deployment blue && deployment green demo-app:2.0.0
k apply -f - >/dev/null <<END
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: blue}, ports: [{name: http, port: 80, targetPort: 9898}]}
END
soon deployment green '.status.readyReplicas == 2'
API=core/v1 KIND=Service canary shop gatewayapi:v1 "$STEPS, $RATE"
comes Initialized 0 shop
is service shop-primary '.spec.selector.app == "blue"'
change service shop '{"spec": {"selector": {"app": "green"}}}'
comes Progressing 50 shop
is service shop-canary '.spec.selector.app == "green"'
comes Succeeded 0 shop
is service shop-primary '.spec.selector.app == "green"'
success_rate 50
change service shop '{"spec": {"selector": {"app": "blue"}}}'
comes Failed 0 shop
is service shop-primary '.spec.selector.app == "green"'
