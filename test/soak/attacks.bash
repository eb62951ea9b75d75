# The attacks of test/lib/attacks.bash, each in a loop of its own until the soak ends. A function is one round.

attacks=(crowds requests trees braces hogs many pages lists checks rebinding leaving liar)

through() { echo "$attack: $*" >>"$all/through"; }

# at NAME: whom what follows is asked of
at() { DAEMON_URL=${URLS[$1]}; }

as_tenant() { curl -s -m 60 -o "$work/body" -w '%{http_code}' -H "Authorization: Bearer $TENANT" "$@"; }

round_crowds() {
    local kind name
    for kind in $(crowd_kinds); do
        for name in "${daemons[@]}"; do
            going || return 0
            at "$name"
            "$build/flagger-crowd" "${DAEMON_URL#http://}" "$kind" 2000 3 >/dev/null
        done
    done
}

# Where a crowd wants the same places a connection may be ended without an answer.
round_requests() {
    local name text got daemon
    for daemon in loadtester gate; do
        at "$daemon"
        while IFS='|' read -r name text; do
            got=$(smuggle "$text" 2>/dev/null)
            [ -z "$got" ] || [ "$got" = 400 ] || through "$daemon, $name: answered $got"
        done < <(raw_ways)
    done
}

round_trees() {
    local piece
    at loadtester
    while IFS= read -r piece; do
        tree_body "$piece" >"$work/tree"
        send_many "$work/tree" / 16 "$TENANT" >/dev/null
    done < <(tree_pieces)
}

round_braces() {
    at loadtester
    brace_message 5 >"$work/braces"
    as_tenant --data-binary "@$work/braces" "$DAEMON_URL/" >/dev/null
}

round_hogs() {
    local name mark error command
    at loadtester
    gone() { ! pgrep -f -- "$mark" >/dev/null; }
    while IFS=@ read -r name mark error command; do
        going || return 0
        printf '%s' "$(task bash "$command" tenant)" >"$work/post"
        as_tenant --data-binary "@$work/post" "$DAEMON_URL/" >/dev/null
        eventually 15 gone || through "$name: processes are left"
    done < <(hog_ways)
}

round_many() {
    at loadtester
    many_messages 500 20 'sleep 1.#' "$TENANT" | sed '$d' >"$work/curl"
    curl -s --parallel --parallel-max 8 -K "$work/curl" >/dev/null 2>&1
}

round_pages() {
    local header
    at loadtester
    while IFS= read -r header; do
        [ "$(as_tenant -H "$header" --data-binary "$(task cmd true)" "$DAEMON_URL/")" = 403 ] || through "$header"
    done < <(page_headers)
}

round_lists() {
    at gate
    list_gates "$TENANT" 20 3 >/dev/null 2>&1
}

round_checks() {
    at gate
    for _ in 1 2 3 4 5 6 7 8 9 10; do check_other_revision "$TENANT"; done
    invent_names "$TENANT" 100
}

round_rebinding() {
    local codes
    at gate
    codes=$(rebind "$OWNER")
    [ "$codes" = '421 421' ] || through "a page whose name leads to the gate: $codes"
}

# Somebody's row comes and goes: without it the token opens nothing, and what is open ends.
round_leaving() {
    local stream name
    answered() {
        [ "$(curl -s -m 5 -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $LEAVING" "${URLS[loadtester]}/tasks")" = "$1" ] &&
            [ "$(curl -s -m 5 -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $LEAVING" "${URLS[gate]}/v1/gates/test/podinfo")" = "$1" ]
    }
    ended() { ! kill -0 "$stream" 2>/dev/null; }
    tokens_write "$LEAVING check leaving"
    eventually 20 answered 200 || through 'a new token is not let in'
    curl -sN -o /dev/null -H "Authorization: Bearer $LEAVING" "${URLS[gate]}/v1/events" &
    stream=$!
    tokens_write
    eventually 20 answered 401 || through 'a token is let in that is gone'
    eventually 20 ended || through 'a stream whose token is gone'
    kill "$stream" 2>/dev/null
}

# Releases of a tenant whose metric server answers with what takes much memory: each is rolled back.
round_liar() {
    local version=$((${rounds:-0} + 2)).0.0 phase
    kubectl -n test set image deployment/tenant "tenantd=demo-app:$version" >/dev/null
    eventually 60 phase_is tenant Progressing
    eventually 90 phase_is tenant Failed
    phase=$(kubectl -n test get canary tenant -o jsonpath='{.status.phase}')
    echo "tenant $version $phase Failed" >>"$all/releases"
}

going() { [ ! -e "$all/stop" ]; }

# attack NAME: rounds until the end, a second apart
attack() {
    local attack=$1 rounds=0
    work=$all/attack.$attack
    mkdir "$work"
    set +e
    renice -n 10 -p "$BASHPID" >/dev/null
    while going; do
        "round_$attack"
        rounds=$((rounds + 1))
        echo "$rounds" >"$all/$attack.rounds"
        sleep 1
    done
}

attacks_begin() {
    local name
    for name in "${attacks[@]}"; do
        attack "$name" 2>"$all/$name.log" &
        ATTACKS+=" $!"
    done
}

attacks_end() {
    touch "$all/stop"
    # shellcheck disable=SC2086
    wait $ATTACKS
}

attacks_print() {
    local name
    printf '\nattacks    rounds of'
    for name in "${attacks[@]}"; do printf ' %s %s' "$name" "$(cat "$all/$name.rounds")"; done
    printf '\n           %d got through\n' "$(wc -l <"$all/through")"
    sort "$all/through" | uniq -c
    [ ! -s "$all/through" ]
}
