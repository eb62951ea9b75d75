# flagger-sandbox answers as a real API server does, apart from what test/sandbox/differences.yaml explains.
mkdir "$state/sandbox"
"$build/flagger-sandbox" --listen-http 0 --kubeconfig "$state/kubeconfig-sandbox" --data "$state/sandbox" --no-gateway \
    --crds proto/crd >"$state/log/sandbox.log" 2>&1 &
sandbox=$!
trap 'kill "$sandbox"; wait "$sandbox" || true' EXIT
eventually grep -q '^ready' "$state/log/sandbox.log"
"$build/flagger-testcompare" --sandbox "$state/kubeconfig-sandbox" --real "$KUBECONFIG" \
    ${FLAGGER_RECORD:+--record "$FLAGGER_RECORD"} \
    --requests test/real/requests.yaml --allowed test/sandbox/differences.yaml
touch "$state/history/$case.history"
