# alone: page
# deploy/gate/README.md with its small PostgreSQL, and deploy/loadtester/README.md in the same namespace; each answers, and only those who may.
typed deploy/gate/README.md
answer=$(kubectl -n clients run "$case-curl" --image=registry.example.com/flagger-loadtester-slim:0.1.0 --restart=Never --rm -i --quiet --command -- \
    curl -s -H "Authorization: Bearer $alice" http://flagger-gate.flagger/v1/whoami)
[[ $answer == *alice* ]] || fail "the gate does not know alice: $answer"
[ "$(kubectl -n test get secret gate-token -o jsonpath='{.data.Authorization}' | base64 -d)" = "Bearer $check" ]
kubectl delete namespace flagger --timeout 90s
typed deploy/loadtester/README.md
