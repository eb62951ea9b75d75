# The primary gets a copy of the autoscaler, which follows every edit; the target's is held while the target rests.
deployment
k autoscale deployment app --min 2 --max 4 --cpu-percent 90 >/dev/null
canary app gatewayapi:v1 "$STEPS, $RATE" "" "autoscalerRef: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: app}"
comes Initialized
is hpa app-primary '.spec.scaleTargetRef.name == "app-primary" and .spec.minReplicas == 2'
change hpa app '{"spec": {"minReplicas": 3, "maxReplicas": 5}}'
soon hpa app-primary '.spec.minReplicas == 3 and .spec.maxReplicas == 5'
soon deployment app-primary '.status.readyReplicas == 3'
release 2.0.0
comes Succeeded
runs app-primary 2.0.0
success_rate 0
release 3.0.0
comes Failed
runs app-primary 2.0.0
# The primary has the pods for all traffic, and keeps them for a while.
is hpa app-primary ".spec.minReplicas >= 3"
is deployment app-primary ".status.readyReplicas >= 3"
