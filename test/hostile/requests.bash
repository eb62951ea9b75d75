# Requests that are made to be misread, or to take much memory.

# try_raw NAME TEXT: answered 400 once, and what stands behind it is no request
try_raw() {
    local good=/nothing got
    got=$(smuggle "$2")
    [ "$got" = 400 ] && good=ok
    report "two readings: $1" "answered ${got:-nothing}" "$good"
}

# try_tree NAME BODY-FILE PATH: many at once; each is answered, and memory stays bounded
try_tree() {
    local good=/nothing codes
    codes=$(send_many "$2" "$3" 64 | sort | uniq -c | awk '{printf "%s times %s ", $1, $2}')
    [ "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "$DAEMON_URL/healthz")" = 200 ] && [ "$(peak)" -lt "$MOST_MEMORY" ] && [[ $codes != *' 000 '* ]] && good=ok
    report "$1" "at most $(($(peak) / 1024)) MiB; ${codes}" "$good"
}

# try_back BEFORE: of what the trees took nothing is kept
try_back() {
    local good=/nothing most=$(($1 + 4096))
    ! grep -q __asan_init "$LOADTESTER" || most=$MOST_MEMORY # a sanitizer keeps it
    back() { [ "$(rss)" -lt "$most" ]; }
    eventually 15 back && good=ok
    report 'memory when that is over' "$1 -> $(rss) KiB, at most $(peak)" "$good"
}

daemon_start "$LOADTESTER" "${user[@]}"
before=$(rss)
while IFS='|' read -r name text; do
    try_raw "$name" "$text"
done < <(raw_ways)
while IFS= read -r piece; do
    tree_body "$piece" >"$work/body"
    try_tree "64 times a MiB of $piece" "$work/body" /
done < <(tree_pieces)
try_back "$before"
daemon_stop
