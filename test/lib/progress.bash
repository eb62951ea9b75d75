# How far a build and a run of tests are, on stderr: one line that is written over on a terminal, a line for each test elsewhere.

duration() {
    if [ "$1" -lt 60 ]; then printf '%d s' "$1"; else printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); fi
}

# progress_line TEXT: over the former one
progress_line() {
    local width
    width=$(tput cols 2>/dev/null || echo 100)
    printf '\r\033[K%s' "${1:0:$((width - 1))}" >&2
}

# progress_of_build WHAT: reads what ninja prints
progress_of_build() {
    local line
    [ -t 2 ] || echo "$1..." >&2
    while IFS= read -r line; do
        [[ -t 2 && $line =~ ^\[([0-9]+/[0-9]+)\] ]] && progress_line "$1: ${BASH_REMATCH[1]}"
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

# progress_of_tests PRESET SECONDS: reads what ctest prints. SECONDS: lines "NAME SECONDS" of what is to come, by which the rest is
# estimated. What a failed test has printed follows it, with the command that runs it alone; build/PRESET/failed.txt keeps both.
progress_of_tests() {
    local preset=$1 line name weight number of result seconds begin=$SECONDS done_weight=0 all_weight=0 failures=0 failing= left
    local -A weights=() running=()
    while read -r name weight && [ -n "$name" ]; do
        weights[$name]=$weight
        all_weight=$((all_weight + weight))
    done <<<"$2"
    progress_now() {
        left=
        [ $((done_weight * 20)) -lt "$all_weight" ] ||
            left=", $(duration $(((SECONDS - begin) * (all_weight - done_weight) / (done_weight + 1)))) left"
        progress_line "[$number/$of] $(duration $((SECONDS - begin)))$left, $failures failed: ${!running[*]}"
    }
    number=0 of=${#weights[@]}
    : >"build/$preset/failed.txt"
    while IFS= read -r line; do
        if [[ $line =~ ^\ +Start\ +[0-9]+:\ (.*)$ ]]; then
            running[${BASH_REMATCH[1]}]=1
            failing=
            [ ! -t 2 ] || progress_now
        elif [[ $line =~ ^\ *([0-9]+)/([0-9]+)\ Test\ +#[0-9]+:\ ([^ ]+)\ [.]*\ *([^0-9]*)\ +([0-9.]+)\ sec ]]; then
            number=${BASH_REMATCH[1]} of=${BASH_REMATCH[2]} name=${BASH_REMATCH[3]} result=${BASH_REMATCH[4]} seconds=${BASH_REMATCH[5]}
            unset "running[$name]"
            done_weight=$((done_weight + ${weights[$name]:-1}))
            failing=
            case $result in
            *Passed* | *Skipped* | *'Not Run'*) [ -t 2 ] || echo "[$number/$of] $name: $(sed 's/^\** *//; s/ *$//' <<<"${result,,}"), $seconds s" >&2 ;;
            *)
                failures=$((failures + 1)) failing=$name
                [ ! -t 2 ] || printf '\r\033[K' >&2
                echo "[$number/$of] $name FAILED after $seconds s; alone: ctest --preset $preset -R '^$name\$' --output-on-failure" |
                    tee -a "build/$preset/failed.txt" >&2
                ;;
            esac
            [ ! -t 2 ] || progress_now
        elif [[ $line =~ ^[0-9]+%\ tests\ passed ]]; then
            failing=
        elif [ -n "$failing" ]; then
            printf '    %s\n' "$line" | tee -a "build/$preset/failed.txt" >&2
        fi
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
}
