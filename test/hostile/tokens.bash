# A token file that is emptied, broken or gone shuts everybody out, and what is open ends with its token.

with_token() { curl -s -m 5 -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer open-sesame-0123456789' "$DAEMON_URL/tasks"; }
token_answers() { [ "$(with_token)" = "$1" ]; }
stream_ended() { ! kill -0 "$stream" 2>/dev/null; }
said_again() { [ "$(grep -c "$said" "$DAEMON_LOG")" -gt "$before" ]; }

# try_file NAME COMMAND...: the command spoils the file
try_file() {
    local name=$1 good=/nothing stream id before said='"event":"tokens_unread".*nobody is let in'
    shift
    echo open-sesame-0123456789 >"$work/tokens"
    eventually 15 token_answers 200
    curl -s -o /dev/null -H 'Authorization: Bearer open-sesame-0123456789' --data-binary "$(task cmd "sleep 60 # $name")" "$DAEMON_URL/"
    id=$(curl -s -H 'Authorization: Bearer open-sesame-0123456789' "$DAEMON_URL/tasks" | gojq 'map(.id) | max')
    curl -sN -o "$work/stream" -H 'Authorization: Bearer open-sesame-0123456789' "$DAEMON_URL/tasks/$id/stream" &
    stream=$!
    eventually 5 grep -qs running "$work/stream"
    before=$(grep -c "$said" "$DAEMON_LOG" || true)
    "$@"
    eventually 15 token_answers 401 && eventually 5 stream_ended &&
        eventually 5 said_again && [ "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "$DAEMON_URL/healthz")" = 200 ] && good=ok
    kill "$stream" 2>/dev/null || true
    report "a token file that $name" "the token is answered $(with_token), its stream has $(stream_ended && echo ended || echo 'not ended')" "$good"
}

echo open-sesame-0123456789 >"$work/tokens"
chmod 600 "$work/tokens"
daemon_start "$LOADTESTER" "${user[@]}" --token-file "$work/tokens"
try_stranger /
try_file 'was emptied' truncate -s 0 "$work/tokens"
try_file 'is a comment now' sh -c "echo '# nobody' >'$work/tokens'"
try_file 'is gone' rm "$work/tokens"
DAEMON_STOP_SECONDS=40 daemon_stop
