# eventually SECONDS COMMAND...: succeeds when the command does within that time. It is asked less and less often, at last, after
# five seconds, twice a second: each kubectl costs a tenth of a second of processor time, which the other tests want. The seconds are
# those of a test that runs alone; test/run, which runs several on a processor, has FLAGGER_PATIENCE times as many (test/README.md).
eventually() {
    local deadline=$((SECONDS + $1 * ${FLAGGER_PATIENCE:-1})) begin=${EPOCHREALTIME/[^0-9]/} pause never=
    local -a pauses=(50 50 100 100 200)
    shift
    until "$@"; do
        if [ "$SECONDS" -ge "$deadline" ]; then
            [ -z "$never" ] || exec {never}>&-
            echo "not within the time: $*"
            return 1
        fi
        # A tenth of what has been waited already, within a quarter and a half of a second.
        pause=${pauses[0]:-$(((${EPOCHREALTIME/[^0-9]/} - begin) / 10000))}
        [ "${#pauses[@]}" -gt 0 ] || pause=$((pause < 250 ? 250 : pause > 500 ? 500 : pause))
        pauses=("${pauses[@]:1}")
        printf -v pause '%d.%03d' $((pause / 1000)) $((pause % 1000))
        # A socket to which nothing is sent: to wait for that takes no process, as sleep does.
        [ -n "$never" ] || exec {never}<>/dev/udp/127.0.0.1/9
        read -rt "$pause" -u "$never" || true
    done
    [ -z "$never" ] || exec {never}>&-
}
