# What the daemons answer to their probes and take of the machine, from before the first attack until after the last.

declare -A PIDS=() URLS=()
daemons=(controller loadtester gate)

# watch_daemon NAME URL PID: probes to $all/NAME.probes, and descriptors that were open to $all/NAME.files
watch_daemon() {
    while [ ! -e "$all/probes-stop" ]; do
        ask_probe "$2" /healthz
        ask_probe "$2" /readyz
        files "$3" >&3
        sleep 0.2
    done >"$all/$1.probes" 3>"$all/$1.files"
}

# note_usage WHEN: memory and descriptors of each to $all/NAME.WHEN
note_usage() {
    local name
    for name in "${daemons[@]}"; do
        echo "$(rss "${PIDS[$name]}") $(files "${PIDS[$name]}")" >"$all/$name.$1"
    done
}

probes_begin() {
    local name
    URLS=([controller]=$DEMO_CONTROLLER [loadtester]=$DEMO_LOADTESTER [gate]=$DEMO_GATE)
    for name in "${daemons[@]}"; do
        PIDS[$name]=$(pid_of "$name" "${URLS[$name]}")
    done
    note_usage start
    for name in "${daemons[@]}"; do
        watch_daemon "$name" "${URLS[$name]}" "${PIDS[$name]}" &
        PROBES+=" $!"
    done
}

# Of each daemon no more descriptors than at the start.
files_are_back() {
    local name memory files
    for name in "${daemons[@]}"; do
        read -r memory files <"$all/$name.start"
        [ "$(files "${PIDS[$name]}")" -le $((files + MORE_FILES)) ] || return 1
    done
}

no_tasks() {
    curl -s -m 5 -H "@$all/headers" "$DEMO_LOADTESTER/tasks" | gojq -e 'map(select(.state == "queued" or .state == "running")) == []' >/dev/null
}

probes_end() {
    eventually 60 no_tasks || true
    eventually 60 files_are_back || true
    touch "$all/probes-stop"
    # shellcheck disable=SC2086
    wait $PROBES
    note_usage end
}

probes_print() {
    local name bad=0 asked failed slowest memory files memory_end files_end most most_files verdict
    printf '\n%-11s %8s %7s %9s   %-28s %s\n' '' probes failed slowest 'MiB: start, most, end' 'descriptors: start, most, end'
    for name in "${daemons[@]}"; do
        read -r asked failed slowest < <(awk '{n++; if ($1 != 200) f++; if ($2 > s) s = $2} END {printf "%d %d %d\n", n, f, s * 1000}' "$all/$name.probes")
        read -r memory files <"$all/$name.start"
        read -r memory_end files_end <"$all/$name.end"
        most=$(peak "${PIDS[$name]}") most_files=$(sort -n "$all/$name.files" | tail -1) verdict=
        [ "$failed" -eq 0 ] || verdict+=' a probe failed'
        [ "$most" -lt "$MOST_MEMORY" ] && [ "$memory_end" -le $((memory + MORE_MEMORY)) ] || verdict+=' too much memory'
        [ "$files_end" -le $((files + MORE_FILES)) ] || verdict+=' descriptors left open'
        printf '%-11s %8d %7d %6d ms   %8.1f %8.1f %8.1f     %6d %6d %6d   %s\n' "$name" "$asked" "$failed" "$slowest" \
            "$(kib "$memory")" "$(kib "$most")" "$(kib "$memory_end")" "$files" "$most_files" "$files_end" "$verdict"
        [ -z "$verdict" ] || bad=1
    done
    return "$bad"
}

kib() { awk -v n="$1" 'BEGIN {print n / 1024}'; }
