# A Service and a route that are in use come under the care of a Canary, and nobody notices.
GRACE=6 deployment "$case"
k apply -f - >/dev/null <<END
apiVersion: v1
kind: Service
metadata: {name: $case}
spec: {selector: {app: $case}, ports: [{name: http, port: 80, targetPort: 9898}]}
END
before
eventually answers_with 1.0.0
client_begin
care 'interval: 2s, stepWeight: 50, maxWeight: 50, threshold: 3'
comes Initialized '*' "$case"
soon deployment "$case" '.spec.replicas == 0'
answers_with 1.0.0 || fail "the primary does not serve"
release 2.0.0 "$case"
comes Progressing 50 "$case"
promoted
