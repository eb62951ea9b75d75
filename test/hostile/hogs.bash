# Tasks that take all they can get are ended, leave nothing behind, and the daemon answers meanwhile.
beside_own=1

# try_hog NAME MARK COMMAND ERROR: the task must end with the error (a pattern of the reply)
try_hog() {
    local name=$1 mark=$2 command=$3 error=$4 good=/nothing slowest worked
    health_watch
    printf '%s' "$(task bash "$command")" >"$work/post"
    status=$(curl -s -m 60 -o "$work/body" -w '%{http_code}' --data-binary "@$work/post" "$DAEMON_URL/" || true)
    health_watched
    { [ "$status" = 500 ] || [ "$status" = 200 ]; } && grep -qa -- "$error" "$work/body" &&
        [ "$(leftovers "$mark")" = 0 ] && stays_awake && good=ok
    [ "$good" = ok ] || { echo "           answered $status: $(tail -c 200 "$work/body")" && pgrep -fa "$mark" | head -3; } || true
    measured "$name" loadtester "$slowest" "$(peak)" "$worked"
    report "$name" "$(awake_text), $(leftovers "$mark") processes left" "$good"
}

try_hogs() {
    daemon_start "$LOADTESTER" "${user[@]}" --timeout 4s --task-processes 200 --task-memory 256Mi
    while IFS=@ read -r name mark error command; do
        try_hog "$name" "$mark" "$command" "$error"
    done < <(hog_ways)
    daemon_stop || report 'a clean end after all that' '' /nothing
}

try_hogs
