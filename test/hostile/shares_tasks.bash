# One tenant asks the load tester for all the tasks that it takes; a task of another one is run at once.
beside_own=1

# try_tasks BUDGET COUNT PAD: greedy asks the load tester for so many tasks that do not end, each of a Canary of its own, with so
# many bytes; modest has a task run at once
try_tasks() {
    local good=/nothing name="one takes all of: $1" began status
    wanted "$1" || return 0
    daemon_start "$LOADTESTER" "${user[@]}" --timeout 60s
    gojq -nr --arg url "$DAEMON_URL/" --argjson count "$2" --argjson pad "$3" 'range($count) | {name: "c\(.)", namespace: "greedy", metadata: {type: "cmd", cmd: ("sleep 5\(.) " + ("#" * $pad))}}
        | "url = \"\($url)\"\ndata-binary = \(tojson | tojson)\noutput = \"/dev/null\"\nwrite-out = \"%{http_code}\\n\"\nnext"' | sed '$d' >"$work/tasks"
    curl -s --parallel --parallel-max 8 -K "$work/tasks" >"$work/codes" 2>/dev/null || true
    health_watch
    began=${EPOCHREALTIME/./}
    printf '%s' '{"name": "app", "namespace": "modest", "metadata": {"type": "bash", "cmd": "echo modest"}}' >"$work/post"
    status=$(curl -s -m 30 -o "$work/body" -w '%{http_code}' --data-binary "@$work/post" "$DAEMON_URL/" || true)
    took=$(((${EPOCHREALTIME/./} - began) / 1000000))
    health_watched
    [ "$status" = 200 ] && [ "$took" -le 10 ] && { [ "$1" = tasks-running ] || grep -q '^429$' "$work/codes"; } && [ "$(peak)" -lt "$MOST_MEMORY" ] && stays_awake && good=ok
    report "$name" "$(grep -c '^202$' "$work/codes" || true) tasks taken, $(grep -c '^429$' "$work/codes" || true) refused; another's was answered $status after $took s, $(awake_text)" "$good"
    measured "$name" loadtester "$slowest" "$(peak)" "$worked"
    kill -KILL "$DAEMON_PID" && wait "$DAEMON_PID" 2>/dev/null || true # hundreds of tasks end with it
    rm -f "$DAEMON_LOG"
    DAEMON_PID=
}

try_tasks tasks-running 250 0
try_tasks tasks-waiting 600 0
try_tasks tasks-bytes 250 100000
