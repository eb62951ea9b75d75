# A client at some 200 requests a second while a case runs, and what it saw: $state/client.CASE has a line for each answer, its
# status and the version that gave it; 000 is no answer.

# At least this many answers are counted for a share.
readonly ANSWERS=600

client_begin() { # HOST PORT
    : >"$state/client.$case" # which is there before the client is
    curl -s -m 10 --rate 200/s -o "$state/never-kept" -w '%{stderr}%{http_code} %header{x-demo-version}\n' -H "Host: $1" \
        "http://127.0.0.1:$2/version?n=[1-1000000]" 2>>"$state/client.$case" </dev/null &
    client=$!
}
answers_seen() { wc -l <"$state/client.$case"; }
has_answers() { [ "$(answers_seen)" -ge "$1" ]; }

# share_is PERCENT VERSION: of the next answers, within two points
share_is() {
    local from share
    from=$(answers_seen)
    eventually has_answers $((from + ANSWERS))
    share=$(tail -n +$((from + 1)) "$state/client.$case" | head -n "$ANSWERS" |
        awk -v version="$2" '$2 == version { n++ } END { printf "%.1f", 100 * n / NR }')
    echo "measured $case: $2 has $share % of $ANSWERS answers, $1 % are wanted"
    awk -v share="$share" -v wanted="$1" 'BEGIN { exit !(share >= wanted - 2 && share <= wanted + 2) }' ||
        fail "version $2 has $share % of the answers, not $1 %"
}

# client_end: every request was answered, with 200
client_end() {
    local failed
    kill "$client" && wait "$client" || true
    failed=$(grep -vc '^200 ' "$state/client.$case" || true)
    echo "measured $case: $(answers_seen) requests, $failed failed"
    [ "$failed" -eq 0 ] || fail "$(grep -v '^200 ' "$state/client.$case" | sort | uniq -c)"
}
