# alone: last
# The only node is NotReady in the middle of a release, then it is drained: clients fail only then, and the release ends.
needs controller
podinfo 6.0.0
canary "interval: 5s, iterations: 4, threshold: 3"
comes Initialized
clients_at_service
podinfo 6.0.1
comes Progressing
fault 'the kubelet is ended'
part_hold kubelet
node_lost() { ! node_ready; }
within 90 node_lost
sleep 10
part_go kubelet
within 90 node_ready
comes Succeeded
fault_over 10
primary_runs 6.0.1
podinfo 6.0.2
comes Progressing
fault 'the node is drained'
kubectl drain "$NODE" --ignore-daemonsets --delete-emptydir-data --force --timeout 60s --pod-selector="app in (podinfo, podinfo-primary)" || true
sleep 5
kubectl uncordon "$NODE"
comes Succeeded
k rollout status deployment/podinfo-primary --timeout 120s
fault_over 15
primary_runs 6.0.2
