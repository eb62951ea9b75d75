# Two controllers whose lists of namespaces overlap, each with its lease: each Canary is driven by one of them, from the first
# object on, and the other one says so. One is killed, and the other one takes over what that one drove.
apps='one two three four'
mapfile -t ports < <(free_ports 2)
declare -A pids=()
kubectl apply -f deploy/controller/parts.yaml >>"$state/log/kubectl.log"
part() { # 0 or 1, and the NAMESPACE that only it looks after
    "$build/flagger-controller" --kubeconfig "$state/kubeconfig-replica-$1" --address 127.0.0.1 --port "${ports[$1]}" \
        --mesh-provider gatewayapi:v1 --metrics-server "http://127.0.0.1:$answers" --min-analysis-interval 1s \
        --enable-leader-election --leader-election-namespace flagger-system --namespace "$case,$2" >>"$state/log/controller.log" 2>&1 &
    pids[$1]=$!
}
leads() { curl -sf "http://127.0.0.1:${ports[$1]}/debug/process" | gojq -e '.leader.identity == .leader.holder' >/dev/null; }
left() { curl -s "http://127.0.0.1:${ports[$1]}/metrics" | sed -n 's/^flagger_canaries_of_others{.*} //p'; }
promoted() { [ "$(image "$1-primary")" = "demo-app:$2" ]; }
released() { # VERSION
    for app in $apps; do release "$1" "$app"; done
    for app in $apps; do
        eventually promoted "$app" "$1"
        soon canary "$app" '.status.phase == "Succeeded"'
    done
}
# Who wrote objects of an app since the case began, in the order of the writes: "0", or "0 1" after a hand-over. Both may try to
# write the same version of a Canary; one of them is told so.
writers() { # APP
    tail -n "+$begin" "$state/audit.log" | gojq -rs --arg app "$1" '
        [.[] | select((.verb | IN("create", "update", "patch", "delete")) and .responseStatus.code < 300 and
            .objectRef.namespace == "'"$case"'" and .objectRef.resource != "events" and
            (.objectRef.name // "" | test("^" + $app + "(-primary|-canary)?$")))]
        | sort_by(.requestReceivedTimestamp) | [.[].user.uid | ltrimstr("replica-")]
        | reduce .[] as $who ([]; if .[-1] == $who then . else . + [$who] end) | join(" ")'
}

begin=$(($(wc -l <"$state/audit.log") + 1))
part 0 default
part 1 kube-public
trap 'kill -KILL "${pids[@]}" 2>/dev/null || true' EXIT
eventually leads 0
eventually leads 1
for app in $apps; do
    deployment "$app"
    canary "$app" gatewayapi:v1 "interval: 1s, stepWeight: 20, maxWeight: 60, threshold: 30, $RATE"
done
for app in $apps; do comes Initialized '*' "$app"; done
released 2.0.0
for app in $apps; do
    eventually told "status.controller names flagger-system/$(k get canary "$app" -o jsonpath='{.status.controller}' | cut -d/ -f2)"
    who=$(writers "$app")
    [ "$who" = 0 ] || [ "$who" = 1 ] || fail "$app was written by $who"
done
all() { [ $(($(left 0 || true) + $(left 1 || true))) -eq 4 ]; }
eventually all

kill -KILL "${pids[0]}"
wait "${pids[0]}" 2>/dev/null || true
released 3.0.0
for app in $apps; do
    who=$(writers "$app")
    [ "$who" = "0 1" ] || [ "$who" = 1 ] || fail "$app was written by $who"
done
kill -TERM "${pids[1]}" && wait "${pids[1]}"
