# eventually SECONDS COMMAND...: succeeds when the command does within that time. It is asked less and less often, at last, after
# five seconds, twice a second: each kubectl costs a tenth of a second of processor time, which the other tests want. The seconds are
# those of a test that runs alone; test/run, which runs several on a processor, has FLAGGER_PATIENCE times as many (test/README.md).
eventually() {
    local deadline=$((SECONDS + $1 * ${FLAGGER_PATIENCE:-1})) begin=${EPOCHREALTIME/[^0-9]/} pause
    local -a pauses=(50 50 100 100 200)
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || { echo "not within the time: $*" && return 1; }
        # A tenth of what has been waited already, within a quarter and a half of a second.
        pause=${pauses[0]:-$(((${EPOCHREALTIME/[^0-9]/} - begin) / 10000))}
        [ "${#pauses[@]}" -gt 0 ] || pause=$((pause < 250 ? 250 : pause > 500 ? 500 : pause))
        pauses=("${pauses[@]:1}")
        printf -v pause '%d.%03d' $((pause / 1000)) $((pause % 1000))
        sleep "$pause"
    done
}
