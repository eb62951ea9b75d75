# Flagger itself ($FLAGGER_GO names its program) releases, and the controller observes: it foresees every step. Then the switch in the
# middle of releases, and the way back. Flagger looks at a Canary every ten seconds at most, whatever its interval.
: >>"$state/history/$case.history"
if [ ! -x "${FLAGGER_GO:-}" ]; then
    echo "skipped: \$FLAGGER_GO names no program of Flagger"
    return 0
fi
may_break pods endpoints status weights # where Flagger does, in its own releases
apps='steps ab blue plain'
mapfile -t ports < <(free_ports 3)
declare -A pids=()
trap 'kill -KILL "${pids[@]}" 2>/dev/null || true' EXIT
flagger() {
    "$FLAGGER_GO" -kubeconfig "$state/kubeconfig" -port "${ports[0]}" -mesh-provider gatewayapi:v1 -metrics-server "http://127.0.0.1:$answers" \
        -namespace "$case" -log-level info >>"$state/log/flagger.log" 2>&1 &
    pids[flagger]=$!
}
ours() { # NAME PORT OPTION...
    "$build/flagger-controller" --kubeconfig "$state/kubeconfig-flagger" --address 127.0.0.1 --port "$2" --mesh-provider gatewayapi:v1 \
        --metrics-server "http://127.0.0.1:$answers" --namespace "$case" --debug-endpoints "${@:3}" >>"$state/log/$1.log" 2>&1 &
    pids[$1]=$!
}
stop() { # NAME
    kill -TERM "${pids[$1]}"
    wait "${pids[$1]}" || [ "$1" = flagger ]
    unset "pids[$1]"
}
all() { # WORD...: for each app
    local one
    for one in $apps; do "${@//APP/$one}"; done
}
since_release() { since=${SINCE[$1]:-0} && comes "${@:2}" '*' "$1"; }
declare -A SINCE=()
release_all() { # VERSION
    local one
    for one in $apps; do
        begun[$one]=$(detected "$one") # before: the controller acts at once
        release "$1" "$one"
        SINCE[$one]=$since
    done
}
declare -A begun=()
detected() { k get events -o json | gojq --arg n "$1" '[.items[] | select(.involvedObject.name == $n and (.message | test("New revision detected"))) | .count // 1] | add // 0'; }
looks() { curl -sf "http://127.0.0.1:${ports[1]}/debug/canaries/$case/$1" | gojq -e "$2" >/dev/null; }

deployment steps && deployment ab && deployment blue && deployment plain
analysis="interval: 10s, threshold: 2, $RATE"
canary steps gatewayapi:v1 "$analysis, stepWeight: 25, maxWeight: 50"
canary ab gatewayapi:v1 "$analysis, iterations: 2, match: [{headers: {x-group: {exact: insider}}}]"
canary blue gatewayapi:v1 "$analysis, iterations: 2"
canary plain kubernetes "$analysis, iterations: 2"
flagger
ours observer "${ports[1]}" --observe
all since_release APP Initialized
release_all 2.0.0
all since_release APP Succeeded
all runs APP-primary 2.0.0
success_rate 50
release_all 3.0.0
all since_release APP Failed
success_rate 100
# What it has seen last may be judged a little later.
# At a Canary's first step Flagger writes the status before it makes the objects; ours makes them first (deploy/MIGRATION.md).
agreed() { all looks APP '.observed.steps | .agrees >= 8 and .differs == 0 and .stays == 0 and .objects <= 1'; }
seen_all() { all looks APP '.observed.at == "Failed"'; }
eventually seen_all
for app in $apps; do
    curl -sf "http://127.0.0.1:${ports[1]}/debug/canaries/$case/$app" | gojq -c '{at: .observed.at, steps: .observed.steps, differences, last: .observed.lastDifference}' | sed "s/^/$app: /"
done
curl -sf "http://127.0.0.1:${ports[1]}/metrics" | awk '/^flagger_observed_steps_total/ {split($0, part, "\""); for (i in part) if (part[i] ~ /result=$/) n[part[i + 1]] += $NF}
    END {printf "observed beside Flagger: %d agree, %d differ, %d objects, %d stay\n", n["agrees"], n["differs"], n["objects"], n["stays"]}'
unexplained=$(gojq -c 'select(.event == "observed_differs") | select(.msg | startswith("it went from no phase to Initializing as expected, but\n") | not)
    | [.canary, .what, .msg]' "$state/log/observer.log")
[ -z "$unexplained" ] || fail "not explained: $unexplained"
agreed || fail "the observer does not agree with Flagger"
stop observer

# The switch, and the way back: each release is begun once, and goes on where the other one has stopped.
arrived() { # VERSION
    all since_release APP Succeeded
    all runs APP-primary "$1"
    for app in $apps; do [ "$(detected "$app")" -eq $((begun[$app] + 1)) ] || fail "$app was begun $(($(detected "$app") - begun[$app])) times"; done
}
release_all 4.0.0
all since_release APP Progressing
since=${SINCE[steps]} && comes Progressing 25 steps
stop flagger
ours switched "${ports[2]}"
arrived 4.0.0
echo "switched from Flagger in the middle of 4 releases"
release_all 5.0.0
all since_release APP Progressing
since=${SINCE[steps]} && comes Progressing 25 steps
stop switched
if grep '"level":"error"' "$state/log/switched.log"; then fail "the controller logs errors"; fi
flagger
arrived 5.0.0
echo "switched back to Flagger in the middle of 4 releases"
stop flagger
