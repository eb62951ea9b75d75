# What a stranger may ask of the load tester: keys by their paths, tasks through somebody's browser, other services' answers,
# and what lists and logs show of commands.

. test/lib/sink.bash

# A folder as a Secret's volume makes it, and what is beside it.
make_keys() {
    mkdir -p "$work/keys/..1"
    echo good-key >"$work/keys/..1/a"
    ln -s ..1 "$work/keys/..data" && ln -s ..data/a "$work/keys/a"
    ln -s /etc/passwd "$work/keys/passwd" && ln -s .. "$work/keys/up" && ln -s /proc/self "$work/keys/self"
    mkfifo "$work/keys/fifo"
    echo geheim-token >"$work/outside"
    chmod -R go= "$work/keys" "$work/outside"
}

concord() { # PATH
    gojq -cn --arg s "$SINK" --arg k "$1" '{name: "a", namespace: "b", metadata: {type: "concord", server: $s, org: "o", project: "p",
        repo: "r", entrypoint: "e", endpoint: "e", apiKeyPath: $k, pollTimeout: "3"}}'
}

post() { code=$(curl -s -m 20 -o "$work/body" -w '%{http_code}' --data-binary "$1" "${@:2}" "$DAEMON_URL/" || true); }

try_keys() {
    local path ways=0 sent=0 good=/nothing
    for path in "$work/outside" /etc/passwd /etc/shadow /proc/self/environ "$work/keys/../outside" ../outside "$work/keys/passwd" passwd \
        up/outside "$work/keys/up/outside" self/environ "$work/keys/self/environ" "$work/keys" fifo "$work/keys/..data/../../outside" "keys/a" ''; do
        ways=$((ways + 1))
        rm -f "$work/sink"
        post "$(concord "$path")"
        [ ! -e "$work/sink" ] || sent=$((sent + 1))
    done
    post "$(concord a)"
    [ "$sent" = 0 ] && grep -qs 'good-key' "$work/sink" && curl -sf -m 5 -o /dev/null "$DAEMON_URL/healthz" && good=ok
    report 'keys outside of their folder' "$ways paths, $sent sent" "$good"
}

try_pages() {
    local header ran good=/nothing tries=0
    while IFS= read -r header; do
        post "$(task bash "touch $work/ran")" -H "$header" -H 'Content-Type: text/plain'
        tries=$((tries + 1))
    done < <(page_headers)
    [ -e "$work/ran" ] && ran=yes || ran=no
    [ "$ran" = no ] && good=ok
    report 'tasks of a page in a browser' "$tries pages, run: $ran" "$good"
}

try_answers() {
    local good=/nothing id
    post "$(gojq -cn --arg s "$SINK" '{name: "a", namespace: "b", metadata: {type: "ngrinder", server: $s, clone: "1", username: "u", passwd: "eA=="}}')"
    ended() { curl -s "$DAEMON_URL/tasks" | gojq -e 'map(select(.type == "ngrinder"))[0].state == "failed"'; }
    eventually 10 ended >/dev/null
    id=$(curl -s "$DAEMON_URL/tasks" | gojq 'map(select(.type == "ngrinder"))[0].id')
    ! { curl -s "$DAEMON_URL/tasks" "$DAEMON_URL/tasks/$id" && cat "$DAEMON_LOG"; } | grep -q metadata-42 && good=ok
    report 'what another service answers nGrinder' "$(curl -s "$DAEMON_URL/tasks/$id" | gojq -c .error)" "$good"
}

try_masks() {
    local good=/nothing shown
    post "$(task bash "true -H 'Authorization: Bearer geh1' -a u:geh2 --token=geh3 --password geh4 http://u:geh5@x -H 'X-Api-Key: geh6' PGPASSWORD=geh7 -H 'Cookie: a=geh8'" |
        gojq '.metadata.logCmdOutput = "true"')"
    post "$(task bash "exit 3; curl -u u:geh9 x")"
    shown=$({ curl -s "$DAEMON_URL/tasks" && cat "$DAEMON_LOG" "$work/body"; } | { grep -o 'geh[0-9]' || true; } | sort -u | wc -l)
    [ "$shown" = 0 ] && curl -s "$DAEMON_URL/tasks" | grep -q 'Authorization: \*\*\*' && good=ok
    report 'credentials in commands' "9 given, $shown shown" "$good"
}

try_policy_of_services() {
    local good=/nothing codes=
    printf "commands: {ngrinder: {arguments: [['http://ngrinder']]}}" >"$work/policy"
    daemon_start "$LOADTESTER" --policy "$work/policy" --api-key-dir "$work/keys"
    rm -f "$work/sink"
    post "$(concord a)" && codes+=" $code"
    post "$(gojq -cn --arg s "$SINK" '{name: "a", namespace: "b", metadata: {type: "ngrinder", server: $s, clone: "1", username: "u", passwd: "eA=="}}')" && codes+=" $code"
    [ "$codes" = ' 403 403' ] && [ ! -e "$work/sink" ] && good=ok
    report 'services that the policy does not list' "answered$codes" "$good"
    daemon_stop
}

try_open_secrets() {
    local good=/nothing status=0
    echo 0123456789abcdef >"$work/tokens" && chmod 644 "$work/tokens"
    timeout 10 "$LOADTESTER" --address 127.0.0.1 --port 0 "${user[@]}" --token-file "$work/tokens" 2>"$work/said" || status=$?
    [ "$status" = 2 ] && grep -q 'tasks could read' "$work/said" && good=ok
    report 'tokens that tasks could read' "it ended with status $status" "$good"
}

if command -v python3 >/dev/null && [ "$(id -u)" -eq 0 ]; then
    sink_start 500 metadata-42
    make_keys
    daemon_start "$LOADTESTER" "${user[@]}" --api-key-dir "$work/keys"
    try_keys
    try_pages
    try_answers
    try_masks
    daemon_stop
    try_policy_of_services
else
    skip 'keys, pages, answers' 'it takes root and python3'
fi
try_open_secrets
