# Clients that make 200 requests a second together while a case runs, and what they saw: $state/client.CASE.N has a line for each
# answer to one of them, its status and the version that gave it; 000 is no answer. $host and $web are where they ask.

# One alone would have to get each answer within 5 ms. Their rate has some to spare: curl counts it from when an answer has come.
readonly CLIENTS=8 CLIENT_RATE=30
# What a share is counted of: many planes draw lots for each request, and then two points are four times the deviation.
readonly ANSWERS=8000

# What every request has, for a case to set.
call=()
# ask N CURL-OPTION...: that many requests, in one connection, as lines of status and version
ask() {
    local n=$1
    shift
    curl -s -m 60 -o "$state/never-kept" -w '%{stderr}%{http_code} %header{x-demo-version}\n' -H "Host: $host" "${call[@]}" "$@" \
        "http://127.0.0.1:$web${path:-/version}?n=[1-$n]" 2>&1 >/dev/null </dev/null || true
}
client_begin() {
    local n
    clients=() client_since=${EPOCHREALTIME/./}
    for ((n = 0; n < CLIENTS; n++)); do
        : >"$state/client.$case.$n" # which is there before the client is
        ask 1000000 --rate "$CLIENT_RATE/s" -m 10 >>"$state/client.$case.$n" 2>/dev/null & # bash would tell of its end
        clients+=($!)
    done
    trap client_stop EXIT
}
client_stop() {
    local client
    client_ms=$(((${EPOCHREALTIME/./} - client_since) / 1000))
    for client in "${clients[@]}"; do pkill -TERM -P "$client" curl || true; done
    wait "${clients[@]}" || true
    trap - EXIT
}

# answers_with VERSION CURL-OPTION...: twenty requests of such a client in a row
answers_with() {
    local version=$1
    shift
    [ "$(ask 20 "$@" | sort | uniq -c | tr -s ' ')" = " 20 200 $version" ]
}

# share_near PERCENT VERSION N POINTS: of so many answers; tells the share, and those that were no answers
share_near() {
    ask "$3" >"$state/share.$case"
    grep -v '^200 ' "$state/share.$case" >>"$state/client.$case.0"
    share=$(awk -v version="$2" '$2 == version { n++ } END { printf "%.1f", NR ? 100 * n / NR : -100 }' "$state/share.$case")
    awk -v share="$share" -v wanted="$1" -v points="$4" 'BEGIN { exit !(share >= wanted - points && share <= wanted + points) }'
}
# share_is PERCENT VERSION: within two points, once the plane has heard of it
share_is() {
    local share=0 status=0
    eventually share_near "$1" "$2" 400 12
    share_near "$1" "$2" "$ANSWERS" 2 || status=$?
    echo "measured $case: $2 has $share % of $ANSWERS answers, $1 % are wanted"
    [ "$status" -eq 0 ] || fail "version $2 has $share % of the answers, not $1 %"
}

# seen_by_canary N: its pods have counted more requests than that
seen_by_canary() {
    local address count=0
    for address in $(k get pods -l "app=$case" -o jsonpath='{.items[*].status.podIP}'); do
        count=$((count + $(curl -s -m 5 "http://$address:9898/metrics" |
            awk '/^http_request_duration_seconds_count.*path="\/version"/ { n += $NF } END { print n + 0 }')))
    done
    [ "$count" -gt "$1" ]
}

# waits_at STEP: for a person, at the gate of spec.analysis.steps[STEP]; resume lets it go on
waits_at() { soon canary "$case" ".status.paused.by == \"spec.analysis.steps[$1].gate\""; }
resume() { "$build/kubectl-canary" resume "$case" -n "$case" >/dev/null; }

# part_is PERCENT VERSION: within half a point of 20,000 answers, and not nothing
part_is() {
    local share=0 status=0
    share_near "$1" "$2" 20000 0.5 || status=$?
    echo "measured $case: $2 has $share % of 20000 answers, $1 % are wanted"
    [ "$status" -eq 0 ] && [ "$share" != 0.0 ] || fail "version $2 has $share % of the answers, not $1 %"
}

# client_end: every request was answered, with 200; tells how many a second they were
client_end() {
    local failed all
    client_stop
    all=$(cat "$state/client.$case".* | wc -l)
    failed=$(cat "$state/client.$case".* | grep -vc '^200 ' || true)
    echo "measured $case: $all requests, $((1000 * all / client_ms)) a second, $failed failed"
    [ "$failed" -eq 0 ] || fail "$(cat "$state/client.$case".* | grep -v '^200 ' | sort | uniq -c)"
}

care() { canary "$case" "$provider" "$1" "$service" "$field"; } # ANALYSIS
# stage ANALYSIS: version 1.0.0 under the Canary's care, reached through the plane, with a client from now on
stage() {
    GRACE=6 deployment "$case"
    care "$1"
    entry
    comes Initialized '*' "$case"
    eventually answers_with 1.0.0
    client_begin
    runs "$case-primary" 1.0.0
}
# promoted: and everybody has the new version
promoted() {
    comes Succeeded 0 "$case"
    eventually answers_with 2.0.0
    runs "$case-primary" 2.0.0
    soon deployment "$case" '.spec.replicas == 0'
    client_end
}
