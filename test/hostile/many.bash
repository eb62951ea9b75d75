# Many messages for tasks that run already.

# Ten thousand messages of a hundred tasks; a task notes when it meets itself.
try_many() {
    local good=/nothing
    daemon_start "$LOADTESTER" "${user[@]}" --max-running 64 --max-queued 1000 --max-per-canary 100
    many_messages 10000 100 "mkdir $work/lock# || echo met >>$work/met; echo ran >>$work/ran; sleep 1; rmdir $work/lock#" >"$work/curl"
    split -l 25000 "$work/curl" "$work/curl-part."
    local before_rss before_files part
    for part in "$work"/curl-part.*; do
        sed -i -e '1{/^next$/d}' -e '${/^next$/d}' "$part"
        curl -s --parallel --parallel-max 32 -K "$part" >/dev/null 2>&1 || true
        [ -n "${before_rss:-}" ] || { before_rss=$(rss) && before_files=$(files); }
    done
    settled() { [ "$(curl -s "$DAEMON_URL/tasks" | gojq 'map(select(.state == "queued" or .state == "running")) | length')" = 0 ]; }
    eventually 60 settled
    local after_rss after_files
    after_rss=$(rss)
    after_files=$(files)
    [ ! -e "$work/met" ] && [ -s "$work/ran" ] && [ "$after_rss" -lt $((before_rss + MOST_MEMORY / 32)) ] && [ "$after_files" -le $((before_files + 2)) ] && good=ok
    report '10000 messages of 100 tasks' "$(wc -l <"$work/ran") runs, $(cat "$work/met" 2>/dev/null | wc -l) met themselves; ${before_rss} -> ${after_rss} KiB, ${before_files} -> ${after_files} files" "$good"
    daemon_stop
}

try_many
