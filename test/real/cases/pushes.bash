# A revision that comes outside of the windows waits for one; the second of a day for the next day.
deployment
release 1.0.0 # a merge patch has other containers than the manifest
k apply -f - >/dev/null <<END
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: app}
spec:
  provider: gatewayapi:v1
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: app}
  service: {port: 80, targetPort: 9898, hosts: [app.example.com], gatewayRefs: [{name: gateway, namespace: infra}]}
  pushes: {windows: [{from: "$(date -u -d '+2 hours' +%H:%M)", to: "$(date -u -d '+3 hours' +%H:%M)"}]}
  analysis: {$STEPS, threshold: 3}
END
comes Initialized
release 2.0.0
soon canary app '.status.conditions[] | select(.type == "Scheduled") | .status == "False" and .reason == "OutsideOfWindows"'
eventually told 'when a window of spec.pushes.windows opens'
runs app-primary 1.0.0
k patch canary app --type merge -p '{"spec":{"pushes":{"windows":null,"perDay":1}}}' >/dev/null
comes Succeeded
runs app-primary 2.0.0
is canary app '.status.pushes.begun == 1'
release 3.0.0
soon canary app '.status.conditions[] | select(.type == "Scheduled") | .reason == "DayIsFull"'
runs app-primary 2.0.0
# what leads back is not held
k patch canary app --type merge -p '{"spec":{"rollback":{"revisions":2}}}' >/dev/null
release 1.0.0
soon deployment app-primary '.spec.template.spec.containers[0].image == "demo-app:1.0.0"'
is canary app '.status.pushes.begun == 1'
soon canary app '.status.phase == "Succeeded"'
# the schema takes what the controller takes
for pushes in '{perDay: null}' '{perDay: 0}' '{perDay: 1, timeZone: Berlin}' '{windows: []}' '{windows: [{from: "9", to: "10:00"}]}' '{windows: [{days: [Monday], from: "09:00", to: "10:00"}]}'; do
    ! k patch canary app --type merge -p "$(gojq --yaml-input -c '{spec: {pushes: .}}' <<<"$pushes")" >/dev/null 2>&1 || fail "pushes: $pushes is taken"
done
