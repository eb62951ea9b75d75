# eventually SECONDS COMMAND...: succeeds when the command does within that time. It is asked less and less often, at last four
# times a second: each kubectl costs a tenth of a second of processor time, which the other tests want.
eventually() {
    local deadline=$((SECONDS + $1)) pause
    local -a pauses=(0.05 0.05 0.1 0.1 0.2)
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || { echo "not within the time: $*" && return 1; }
        pause=${pauses[0]:-0.25}
        pauses=("${pauses[@]:1}")
        sleep "$pause"
    done
}
