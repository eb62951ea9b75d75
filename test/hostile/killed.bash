# Nothing that a task has started outlives a load tester that was killed.

try_kill() {
    daemon_start "$LOADTESTER" "${user[@]}"
    curl -s -o /dev/null --data-binary "$(task cmd 'setsid sleep 64.5678 & (trap "" TERM; sleep 64.5678) & sleep 64.5678')" "$DAEMON_URL/"
    runs() { [ "$(leftovers 'sleep 64.5678')" -ge 3 ]; }
    eventually 5 runs
    kill -KILL "$DAEMON_PID"
    wait "$DAEMON_PID" 2>/dev/null || true
    DAEMON_PID=
    gone() { [ "$(leftovers 'sleep 64.5678')" = 0 ]; }
    local begin=$EPOCHREALTIME good=/nothing
    eventually 6 gone && good=ok
    local took
    took=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN {printf "%d", (b - a) * 1000}')
    [ "$took" -le 1000 ] || good=/nothing
    report 'kill -9 of the daemon' "its children were gone after $took ms" "$good"
}

try_kill
