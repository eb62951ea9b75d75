# The demo's stage for a cluster that is shared: tokens for everybody, tasks of another user with limits, and a tenant whose
# metric server lies.

OWNER=owner-0123456789abcdef     # the Canaries' webhooks, and who opens the gate
TENANT=tenant-0123456789abcdef   # may run tasks, and check
LEAVING=leaving-0123456789abcdef # comes and goes
TASK_SECONDS=8

# tokens_write [LEAVING-ROW]: of both services; who knows the load tester's tokens may run any task
tokens_write() {
    printf '%s operate owner\n%s check tenant\n%s\n' "$OWNER" "$TENANT" "${1-}" >"$all/tokens.new"
    chmod 600 "$all/tokens.new"
    mv "$all/tokens.new" "$all/tokens"
}

# pid_of NAME URL: of a daemon on the stage, which is not ours to wait for
pid_of() { pgrep -f "^[^ ]*flagger-$1 .*--port ${2##*:}" | head -1; }

# The app and its Canary again, under another name, for which the liar is asked.
tenant_begin() {
    liar_begin '{}' 4000000
    sed 's/podinfo/tenant/g' test/screen/app.yaml | kubectl apply -f - >/dev/null
    kubectl -n test rollout status deployment/tenant --timeout=60s >/dev/null
    sed 's/podinfo/tenant/g; s/app\.example\.com/tenant.example.com/' test/screen/canary.yaml | kubectl apply -f - >/dev/null
    kubectl -n test patch canary tenant --type merge -p "{\"spec\":{\"metricsServer\":\"$LIAR_URL\",\"analysis\":{\"webhooks\":[]}}}" >/dev/null
    eventually 60 phase_is tenant Initialized
}

# The webhooks of the demo's Canary bring a token, as they must here.
canary_with_token() {
    kubectl -n test create secret generic soak-token --from-literal="Authorization=Bearer $OWNER" >/dev/null
    kubectl -n test get canary podinfo -o json | gojq '.spec.analysis.webhooks[].headersFrom = [{secretRef: {name: "soak-token"}}]' |
        kubectl apply -f - >/dev/null 2>&1
}

stage_begin() {
    export FLAGGER_DEMO_DIR=$all/stage
    export FLAGGER_DEMO_GATE="--token-file $all/tokens"
    export FLAGGER_DEMO_LOADTESTER="--token-file $all/tokens --task-user 65534 --task-processes 200 --task-memory 256Mi --timeout ${TASK_SECONDS}s --max-queued 1000"
    chmod 755 "$all"
    tokens_write
    test/demo --preset "$preset" --stage >"$all/stage.log" 2>&1 || { tail -n 20 "$all/stage.log" >&2 && return 1; }
    # shellcheck disable=SC1091
    . "$all/stage/env"
    echo "Authorization: Bearer $OWNER" >"$all/headers"
    canary_with_token
    PG_DIR=$all/stage/postgres
    gates_fill
    tenant_begin
}

stage_end() {
    [ -z "${LIAR_PID:-}" ] || kill -KILL "$LIAR_PID" 2>/dev/null || true
    test/demo --stop >/dev/null 2>&1 || true
}

# story_tell N: the demo's four releases, and the gate closed again
story_tell() {
    local outcome=good
    "$build/flagger-screen" --kubeconfig "$KUBECONFIG" --url "$DEMO_GATEWAY/" --gate "$DEMO_GATE" --gate-headers "$all/headers" --idle 0s --epilogue \
        --report "$all/report" >"$all/story" 2>&1 || outcome=bad
    [ "$outcome" = good ] || { cat "$all/story" >&2 && cp "$all/story" "$all/story.bad"; }
    gojq -r --arg story "$outcome" '.releases[] | "demo \(.version) \(.outcome) \(.expected) \($story)"' "$all/report" >>"$all/releases"
    gojq -r '"\(.client.requests) \(.client.failed)"' "$all/report" >>"$all/clients"
    curl -sf -o /dev/null -H "@$all/headers" -d '{"name":"podinfo","namespace":"test"}' "$DEMO_GATE/gate/close"
}

# releases_print: fails when one did not end as it should, or a story found something else, such as a request without answer
releases_print() {
    local bad=0
    echo
    awk '{n++; if ($3 == $4) good++; if ($5 == "bad") bad++} END {
        printf "releases   %d of %d ended as they should\n", good, n; if (bad) printf "           %d of them in a story that found something else\n", bad
        exit good != n || bad > 0 || n == 0}' "$all/releases" || bad=1
    awk '{n += $1; f += $2} END {printf "users      %d requests, %d failed\n", n, f; exit f > 0}' "$all/clients" || bad=1
    [ ! -s "$all/stage/crashes" ] || { cat "$all/stage/crashes" && bad=1; }
    return "$bad"
}
