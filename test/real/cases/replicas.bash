# Two replicas, of which the leader is asked to end, or killed, again and again while releases run: only the holder of the
# lease writes, no release is lost, and a leader that was asked to end has handed over within two seconds. A killed one
# keeps its lease for half a minute. REAL_ENDS and REAL_KILLS say how often.
ends=${REAL_ENDS:-8} kills=${REAL_KILLS:-1} apps='one two three'
mapfile -t ports < <(free_ports 2)
declare -A pids=()
replica() { # 0 or 1
    "$build/flagger-controller" --kubeconfig "$state/kubeconfig-replica-$1" --address 127.0.0.1 --port "${ports[$1]}" \
        --mesh-provider gatewayapi:v1 --metrics-server "http://127.0.0.1:$answers" --min-analysis-interval 1s \
        --enable-leader-election --leader-election-namespace flagger-system >>"$state/log/controller.log" 2>&1 &
    pids[$1]=$!
}
leads() { curl -sf "http://127.0.0.1:${ports[$1]}/debug/process" | gojq -e '.leader.identity == .leader.holder' >/dev/null; }
leader() { if leads 0; then echo 0; elif leads 1; then echo 1; else return 1; fi; }
has_leader() { leader >/dev/null; }
stands_by() { curl -sf "http://127.0.0.1:${ports[$1]}/readyz" >/dev/null; }

# One release after the other, until it is told to stop; each must arrive. The status of the one before may still be
# written when the next one is asked for.
promoted() { [ "$(image "$1-primary")" = "demo-app:$2" ]; }
releases() { # NAME
    local version=2 PATIENCE=$((LIMIT + kills * 60)) # a killed leader's lease lasts half a minute
    until [ -e "$state/replicas.stop" ]; do
        release "$version.0.0" "$1"
        eventually promoted "$1" "$version.0.0"
        soon canary "$1" '.status.phase == "Succeeded"'
        version=$((version + 1))
    done
    echo $((version - 2)) >"$state/replicas.$1"
}

begin=$(($(wc -l <"$state/audit.log") + 1))
replica 0
trap 'kill -KILL "${pids[@]}" 2>/dev/null || true' EXIT
eventually has_leader
replica 1
for app in $apps; do
    deployment "$app"
    canary "$app" gatewayapi:v1 "interval: 1s, stepWeight: 20, maxWeight: 60, threshold: 30, $RATE"
done
for app in $apps; do comes Initialized '*' "$app"; done
declare -A releasing=()
for app in $apps; do
    releases "$app" &
    releasing[$app]=$!
done
for ((i = 0; i < ends + kills; i++)); do
    old=$(leader)
    eventually stands_by $((1 - old))
    signal=TERM
    ((i % (ends + kills) >= kills)) || signal=KILL
    echo "$signal $(date -u +%FT%T.%6NZ) replica-$old" >>"$state/replicas.signals"
    kill "-$signal" "${pids[$old]}"
    wait "${pids[$old]}" 2>/dev/null || [ "$signal" = KILL ] || fail "the replica ended with status $?"
    eventually leads $((1 - old))
    replica "$old"
    # at another moment of the releases each time
    read -r -t "$((RANDOM % 3)).$((RANDOM % 10))" <>"$state/never" || true
done
touch "$state/replicas.stop"
for app in $apps; do wait "${releasing[$app]}"; done
for replica in 0 1; do kill -TERM "${pids[$replica]}" && wait "${pids[$replica]}"; done

# The writes of both in the order in which they were received: one that holds the lease wrote it before.
writes=$state/replicas.writes
tail -n "+$begin" "$state/audit.log" |
    gojq -c 'select(.verb | IN("create", "update", "patch", "delete", "deletecollection")) |
        {at: .requestReceivedTimestamp, who: .user.uid, what: (.verb + " " + .requestURI),
         holder: (if .objectRef.resource == "leases" then
                      if .responseStatus.code < 300 then (if .requestObject.spec.holderIdentity == "" then "" else .user.uid end) else "refused" end
                  else null end)}' | gojq -sc 'sort_by(.at)' >"$writes"
others=$(gojq -r 'reduce .[] as $w ({holder: "", others: []};
    if $w.holder == "refused" then . elif $w.holder != null then .holder = $w.holder
    elif $w.who == .holder then . else .others += [$w.at + " " + $w.who + " " + $w.what + ", and " + .holder + " holds the lease"] end) | .others[]' "$writes")
[ -z "$others" ] || fail "without the lease: $others"
count=$(gojq '[.[] | select(.holder == null)] | length' "$writes")
[ "$count" -gt 50 ] || fail "only $count writes were seen"

# From the signal to the other's lease.
gojq -Rsr --slurpfile writes "$writes" 'def ms: (.[0:19] + "Z" | fromdate) * 1000 + (.[20:23] | tonumber);
    [split("\n")[] | select(. != "") | split(" ") | . as [$signal, $at, $old] |
        {signal: $signal, ms: (first($writes[0][] | select(.holder != null and .holder != "" and .holder != "refused" and .who != $old and .at > $at) | .at | ms) - ($at | ms))}]
    | group_by(.signal)[] | (map(.ms) | sort) as $ms | "\(.[0].signal) \($ms | length) \($ms[0]) \($ms[($ms | length) / 2 | floor]) \($ms[-1])"' \
    "$state/replicas.signals" >"$state/replicas.table"
while read -r signal times least median most; do
    echo "handed over after $signal: $times times, $least to $most ms, median $median ms"
    [ "$signal" = KILL ] || [ "$most" -le 2000 ] || fail "a leader that was asked to end handed over after $most ms"
done <"$state/replicas.table"
total=0
for app in $apps; do total=$((total + $(cat "$state/replicas.$app"))); done
echo "handed over during $total releases, $count writes, all by the holder of the lease"
