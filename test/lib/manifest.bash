# Objects that a test applies, as YAML.

# one_pod NAME NAMESPACE: a Deployment of one pod, whose image is app:1
one_pod() {
    cat <<YAML
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1, namespace: $2}
spec:
  replicas: 1
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 9898}]}]}
YAML
}
