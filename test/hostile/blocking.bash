# Nothing outside makes a daemon wait: a reader of its log that has stalled, pipes where files are expected.

# started: reads the log's pipe up to the line with the port
started() {
    local line
    while read -r -t 20 -u 7 line; do
        case $line in *'"event":"started"'*) DAEMON_URL=http://127.0.0.1:$(gojq -r .port <<<"$line") && return ;; esac
    done
    return 1
}

try_log() {
    local good=/nothing text dropped slowest worked awake
    mkfifo "$work/log"
    exec 7<>"$work/log" # never read again after the start
    "$LOADTESTER" "${user[@]}" --address 127.0.0.1 --port 0 2>"$work/log" >/dev/null 7>&- &
    DAEMON_PID=$!
    started
    text=$(head -c 4000 /dev/zero | tr '\0' 'x')
    health_watch
    for i in $(seq 400); do
        printf 'url = "%s/"\ndata-binary = "@%s/task.%s"\noutput = "/dev/null"\nmax-time = 5\nnext\n' "$DAEMON_URL" "$work" "$i"
        task cmd "true $i $text" >"$work/task.$i"
    done | sed '$d' >"$work/curl"
    for _ in 1 2 3 4 5; do
        curl -s --parallel --parallel-max 8 -K "$work/curl" || true
        dropped=$(curl -s -m 5 "$DAEMON_URL/metrics" | sed -n 's/^process_log_dropped_lines_total //p')
        [ "${dropped:-0}" = 0 ] || break
    done
    health_watched
    awake=$(awake_text)
    kill -TERM "$DAEMON_PID"
    eventually 20 daemon_gone && stays_awake && [ "${dropped:-0}" -gt 0 ] && good=ok
    report 'a log that nobody reads' "$awake, ${dropped:-no} lines dropped and counted, ended when told to" "$good"
    wait "$DAEMON_PID" || true
    DAEMON_PID=
    exec 7>&-
}

# try_pipe NAME SENTENCE PROGRAM OPTION...: a start that ends at once, with a sentence
try_pipe() {
    local name=$1 sentence=$2 good=/nothing status=0
    shift 2
    timeout 10 "$@" --address 127.0.0.1 --port 0 >"$work/out" 2>&1 || status=$?
    [ "$status" -ne 124 ] && [ "$status" -ne 0 ] && grep -q "$sentence" "$work/out" && good=ok
    report "a pipe as $name" "exit status $status, $(gojq -r 'select(.level == "error").msg' "$work/out" 2>/dev/null | sed "s|$work/||" | head -1)" "$good"
}

try_log
mkfifo "$work/pipe"
try_pipe '--token-file of the load tester' 'no regular file' "$LOADTESTER" --token-file "$work/pipe"
try_pipe '--tls-cert of the load tester' 'no regular file' "$LOADTESTER" --tls-cert "$work/pipe" --tls-key "$work/pipe"
try_pipe '--token-file of the gate' 'no regular file' "$GATE" --database host=/nonexistent --token-file "$work/pipe"
try_pipe '--kubeconfig of the controller' 'no regular file' "$CONTROLLER" --kubeconfig "$work/pipe"
