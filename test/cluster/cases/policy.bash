# A ValidatingAdmissionPolicy that refuses the controller's writes of Services in the middle of a release: the reason is told, traffic stays where it
# is, and the release ends when the policy goes.
needs controller
podinfo 6.0.0
canary "interval: 5s, iterations: 3, threshold: 10"
comes Initialized
clients_at_service
kubectl apply -f - <<YAML
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: $case}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $case}}
    resourceRules: [{apiGroups: ["", apps], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [services, deployments, deployments/scale]}]
  validations:
    - expression: "request.userInfo.username != 'system:serviceaccount:$SYSTEM:flagger'"
      message: no automatic changes today
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: $case}
spec: {policyName: $case, validationActions: [Deny]}
YAML
sleep 3
podinfo 6.0.1
refused() { told 'no automatic changes today' || [[ $(k get canary podinfo -o json) == *'no automatic changes today'* ]]; }
eventually refused
kubectl delete validatingadmissionpolicybinding "$case"
kubectl delete validatingadmissionpolicy "$case"
comes Succeeded
primary_runs 6.0.1
