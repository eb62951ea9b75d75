# Messages that are small as text and large as a tree, and whose tasks run on: the tree must go.

try_message_trees() {
    local good=/nothing before i statuses= most=16384
    ! grep -q __asan_init "$LOADTESTER" || most=65536 # a sanitizer gives memory back late
    daemon_start "$LOADTESTER" "${user[@]}"
    before=$(rss)
    for i in 1 2 3 4; do
        brace_message "65.43$i" >"$work/post"
        statuses+=" $(curl -s -m 20 -o "$work/body" -w '%{http_code}' --data-binary "@$work/post" "$DAEMON_URL/" || true)"
    done
    [ "$(rss)" -lt $((before + most)) ] && [ "$(peak)" -lt 131072 ] && curl -sf -m 5 -o /dev/null "$DAEMON_URL/healthz" && good=ok
    report 'four messages of 1 MiB that are all braces' "answered$statuses; $before -> $(rss) KiB, $(peak) at most" "$good"
    daemon_stop
}

try_message_trees
