# Connections that say nothing, little by little, or half of what they announce, and some that ask much and take no answer: a
# probe is answered all the same, memory and descriptors are bounded, and whoever asks properly is served while it goes on.
beside_own=1

# Of a connection that is answered before all of it was read there are two descriptors until the loop turns (1024 places).
MOST_FILES=2200

# run_crowd KIND PATH: $crowd_size connections of a kind; sets slowest, worked, served, most_files. The crowd's own
# words: $work/crowd
run_crowd() {
    local crowd now
    health_watch
    "$build/flagger-crowd" "${DAEMON_URL#http://}" "$1" "$crowd_size" 3 >"$work/crowd" &
    crowd=$!
    served=0
    most_files=0
    while kill -0 "$crowd" 2>/dev/null; do
        [ "$(curl -s -m 5 --interface 127.0.0.3 -o /dev/null -w '%{http_code}' "$DAEMON_URL$2" || true)" = 200 ] && served=$((served + 1)) || served=-1000
        now=$(files)
        [ "$now" -le "$most_files" ] || most_files=$now
        sleep 0.05
    done
    wait "$crowd" || served=-1000
    health_watched
}

# try_crowd NAME KIND PATH
try_crowd() {
    local good=/nothing slowest worked served most_files
    run_crowd "$2" "$3"
    stays_awake && [ "$served" -gt 0 ] && [ "$(peak)" -lt "$MOST_MEMORY" ] && [ "$most_files" -lt "$MOST_FILES" ] && good=ok
    report "$1, $crowd_size connections: $2" "$(awake_text), $served served, $most_files files; $(cat "$work/crowd")" "$good"
    measured "$1, $crowd_size connections: $2" "${1// /}" "$slowest" "$(peak)" "$worked"
}

crowd_size=10000
for kind in $(crowd_kinds); do
    daemon_start "$LOADTESTER" "${user[@]}"
    try_crowd 'load tester' "$kind" /tasks
    daemon_stop
done
kubeconfig >"$work/kubeconfig"
for kind in silent half-header; do
    daemon_start "$GATE" --database 'host=/nonexistent' --anybody
    try_crowd gate "$kind" /healthz
    daemon_stop
    daemon_start "$CONTROLLER" --kubeconfig "$work/kubeconfig"
    try_crowd controller "$kind" /metrics
    daemon_stop
done

# Each asks eleven times and reads nothing. Lists are long to make: of hundreds of tasks, or of metrics with many paths.
crowd_size=1000
fill_tasks() {
    many_messages 300 300 "true # # $(printf '%0200d' 0)" >"$work/curl"
    sed -i '$d' "$work/curl"
    curl -s --parallel --parallel-max 8 -K "$work/curl" >/dev/null 2>&1 || true
    [ "$(curl -s "$DAEMON_URL/tasks" | gojq length)" -gt 200 ]
}
daemon_start "$LOADTESTER" "${user[@]}" --max-per-canary 1000 --max-queued 1000
fill_tasks
try_crowd 'load tester' deaf-tasks /tasks
try_crowd 'load tester' deaf-metrics /metrics
daemon_stop
daemon_start "$GATE" --database 'host=/nonexistent' --anybody
try_crowd gate deaf-metrics /metrics
daemon_stop
daemon_start "$CONTROLLER" --kubeconfig "$work/kubeconfig"
try_crowd controller deaf-metrics /metrics
try_crowd controller deaf-debug /debug/process
daemon_stop

# Messages of a MiB that are long to read, 32 at a time.
try_large() {
    local good=/nothing slowest worked
    health_watch
    send_many "$work/body" / 96 >"$work/codes"
    health_watched
    stays_awake && [ "$(peak)" -lt "$MOST_MEMORY" ] && [ "$(wc -l <"$work/codes")" = 96 ] && good=ok
    report "load tester, 96 times a MiB of $1" "$(awake_text)" "$good"
    measured "96 times a MiB of $1" loadtester "$slowest" "$(peak)" "$worked"
}
daemon_start "$LOADTESTER" "${user[@]}"
while IFS= read -r piece; do
    tree_body "$piece" >"$work/body"
    try_large "$piece"
done < <(tree_pieces)
daemon_stop
