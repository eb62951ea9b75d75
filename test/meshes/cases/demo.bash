# What test/demo shows, through this plane: version 2 is promoted, 3 fails and 4 is slow, so both are rolled back. What the metric
# server answers is what the clients of the canary see.
service=${service%, retries:*} # they would hide from clients, and from the metrics, that every second answer is an error
say() { echo "$(date +%T)  $*"; }

# look VERSION: what clients see of it; and the metrics say so
look() {
    local share ok slowest
    ask_timed 300 >"$state/look"
    read -r share ok slowest < <(awk -v version="$1" '$2 == version { n++; ok += $1 == 200; slowest = $3 > slowest ? $3 : slowest }
        END { printf "%.0f %.0f %.0f\n", 100 * n / NR, n ? 100 * ok / n : 100, 1000 * slowest }' "$state/look")
    say "  $share % of the answers are of $1, $ok % of those are good, the slowest took $slowest ms"
    answer good "{\"match\": [\"good\"], \"value\": \"$ok\"}"
    answer slowest "{\"match\": [\"slowest\"], \"value\": \"$slowest\"}"
}
ask_timed() {
    curl -s -m 120 -o "$state/never-kept" -w '%{stderr}%{http_code} %header{x-demo-version} %{time_total}\n' -H "Host: $host" \
        "http://127.0.0.1:$web/version?n=[1-$1]" 2>&1 >/dev/null </dev/null || true
}

say "Version 1.0.0 is put under the care of a Canary; $provider carries the traffic."
answer good '{"match": ["good"], "value": "100"}'
answer slowest '{"match": ["slowest"], "value": "0"}'
stage "interval: 2s, stepWeight: 20, maxWeight: 60, threshold: 2, webhooks: [$(hook hold confirm-traffic-increase)],
    metrics: [{name: good, query: good, interval: 1m, thresholdRange: {min: 99}}, {name: slowest, query: slowest, interval: 1m, thresholdRange: {max: 250}}]"
client_stop
look 1.0.0

# try IMAGE-TAG WEIGHT...: a release as far as it comes
try() {
    local tag=$1 weight
    shift
    say "Version $tag is released."
    release "$tag" "$case"
    for weight; do
        comes Progressing "$weight" "$case"
        refuses hold
        eventually sees "${tag%%-*}"
        look "${tag%%-*}"
        allows hold
    done
}
sees() { ask 50 | grep -q " $1$"; }
try 2.0.0 20 40 60
comes Succeeded 0 "$case"
eventually answers_with 2.0.0
say "Version 2.0.0 is promoted."
for tag in 3.0.0-errors50 4.0.0-slow400ms; do
    answer good '{"match": ["good"], "value": "100"}'
    answer slowest '{"match": ["slowest"], "value": "0"}'
    try "$tag" 20
    comes Failed 0 "$case"
    eventually answers_with 2.0.0
    say "Version ${tag%%-*} is rolled back."
done
look 2.0.0
