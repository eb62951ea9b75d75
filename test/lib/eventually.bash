# eventually SECONDS COMMAND...: succeeds when the command does within that time. It is asked less and less often, at last four
# times a second: each kubectl costs a tenth of a second of processor time, which the other tests want. The seconds are those of a
# test that runs alone; test/run, which runs several on a processor, has FLAGGER_PATIENCE times as many (test/README.md).
eventually() {
    local deadline=$((SECONDS + $1 * ${FLAGGER_PATIENCE:-1})) pause
    local -a pauses=(0.05 0.05 0.1 0.1 0.2)
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || { echo "not within the time: $*" && return 1; }
        pause=${pauses[0]:-0.25}
        pauses=("${pauses[@]:1}")
        sleep "$pause"
    done
}
