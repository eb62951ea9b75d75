# alone: page
# deploy/gate/README.md with its small PostgreSQL, and deploy/loadtester/README.md in the same namespace; each answers, and only those who may.
typed deploy/gate/README.md
kubectl -n clients run "$case-curl" --image=registry.example.com/flagger-loadtester-slim:0.1.0 --restart=Never --command -- \
    curl -sS --retry 5 --retry-connrefused -H "Authorization: Bearer $alice" http://flagger-gate.flagger/v1/whoami
# Its log, since who attaches to it may come when it has ended.
kubectl -n clients wait pod "$case-curl" --for=jsonpath='{.status.phase}'=Succeeded --timeout=60s
answer=$(kubectl -n clients logs "$case-curl")
kubectl -n clients delete pod "$case-curl" --now
[[ $answer == *alice* ]] || fail "the gate does not know alice: $answer"
[ "$(kubectl -n test get secret gate-token -o jsonpath='{.data.Authorization}' | base64 -d)" = "Bearer $check" ]
kubectl delete namespace flagger --timeout 90s
typed deploy/loadtester/README.md
