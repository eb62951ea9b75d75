# The programs themselves: how they are linked, and what others of their own user see of them while they run.

# headers PROGRAM: position-independent, all of the tables of functions bound at the start and read-only, no stack to execute
headers() {
    local text
    text=$(readelf -Wlhd "$1")
    grep -q 'Type: *DYN' <<<"$text" && grep -q 'FLAGS_1.* PIE' <<<"$text" && grep -q 'FLAGS_1.* NOW' <<<"$text" &&
        grep -q 'GNU_RELRO' <<<"$text" && grep -q 'GNU_STACK .* RW ' <<<"$text" && refute grep -q 'TEXTREL\|RUNPATH\|RPATH' <<<"$text"
}

for program in "$LOADTESTER" "$GATE" "$CONTROLLER"; do
    good=/nothing
    headers "$program" >/dev/null && good=ok
    report "$(basename "$program"): how it is linked" 'position-independent, full RELRO, no executable stack' "$good"
done

# As its own user, to whom a process that can be dumped shows its environment and its memory.
run_as=()
[ "$(id -u)" -ne 0 ] || run_as=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# try_secrets NAME PROGRAM OPTION...
try_secrets() {
    local name=$1 good=/nothing seen
    shift
    DAEMON_SECRET=open-sesame-0123456789 daemon_start "${run_as[@]}" "$@"
    seen=$("${run_as[@]}" cat "/proc/$DAEMON_PID/environ" "/proc/$DAEMON_PID/maps" 2>/dev/null | tr '\0' '\n' | grep -c . || true)
    [ "$seen" = 0 ] && good=ok
    report "$name: its environment and memory" "$seen lines seen by another process of its user" "$good"
    daemon_stop
}

cp "$LOADTESTER" "$GATE" "$CONTROLLER" "$work/" # the build folder may be closed to that user
kubeconfig >"$work/kubeconfig"
chmod 644 "$work/kubeconfig"
try_secrets 'load tester' "$work/flagger-loadtester"
try_secrets gate "$work/flagger-gate" --database 'host=/nonexistent' --anybody
try_secrets controller "$work/flagger-controller" --kubeconfig "$work/kubeconfig"
