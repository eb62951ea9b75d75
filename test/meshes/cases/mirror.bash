# The canary gets a copy of each request; its answers reach nobody.
seen_by_canary() { # SINCE: how many requests the canary's pods have counted, more than that
    local address
    count=0
    for address in $(k get pods -l "app=$case" -o jsonpath='{.items[*].status.podIP}'); do
        count=$((count + $(curl -s -m 5 "http://$address:9898/metrics" |
            awk '/^http_request_duration_seconds_count.*path="\/version"/ { n += $NF } END { print n + 0 }')))
    done
    [ "$count" -gt "$1" ]
}
stage "interval: 4s, iterations: 3, mirror: true, threshold: 100, webhooks: [$(hook hold rollout)]"
refuses hold
release 2.0.0 "$case"
eventually seen_by_canary 400
answers_with 1.0.0 || fail "clients get the answers of the canary"
allows hold
promoted
