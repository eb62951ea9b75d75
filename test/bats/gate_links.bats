# Signed links: made by POST /v1/links, followed by people and by programs that look ahead, used once.

load ../lib/postgres_file

setup() {
    load ../lib/daemon
    POD=/v1/gates/test/podinfo
    PIDS=()
    cat >"$BATS_TEST_TMPDIR/tokens" <<'EOF'
the-token-of-root-0 admin root
the-token-of-alice-0 operate alice
the-token-of-bob-0 operate bob
the-token-of-the-ci-0 check ci
EOF
    echo 'the first key of the links, of 40 letters' >"$BATS_TEST_TMPDIR/keys"
}

teardown() {
    [ -z "${BROWSER_DIR:-}" ] || browser_end
    for pid in "${PIDS[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
    rm -f "${DAEMON_LOG:-}"
    pg_empty
}

# gate_start [OPTION...]: another gate, with tokens and keys; it is the one that is asked from here on
gate_start() {
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --token-file "$BATS_TEST_TMPDIR/tokens" \
        --link-key-file "$BATS_TEST_TMPDIR/keys" "$@"
    PIDS+=("$DAEMON_PID")
    eventually 10 answers 200 GET /readyz
}

# asks WHO METHOD PATH-OR-URL [BODY]: sets $status and $output; WHO nobody brings no token
asks() {
    local url=$3 who=()
    [[ $url == http* ]] || url=$DAEMON_URL$url
    [ "$1" = nobody ] || who=(-H "Authorization: Bearer the-token-of-$1-0")
    status=$(curl -s -m 10 -X "$2" "${who[@]}" ${4+-H 'Content-Type: application/json' --data-binary "$4"} \
        -D "$BATS_TEST_TMPDIR/head" -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' "$url")
    output=$(cat "$BATS_TEST_TMPDIR/body")
}

# says CODE WHO METHOD PATH-OR-URL [BODY]
says() {
    local wanted=$1
    shift
    asks "$@"
    [ "$status" = "$wanted" ] || { echo "$* answered $status: $output" && return 1; }
}

# link WHO FIELDS: makes a link for podinfo and sets $url; FIELDS: the rest of the JSON body
link() {
    says 200 "$1" POST /v1/links "{\"namespace\":\"test\",\"name\":\"podinfo\",$2}"
    url=$(gojq -r .url <<<"$output")
    id=$(gojq -r .id <<<"$output")
}

# check [CHECKSUM]: the code that a webhook gets
check() {
    says "$1" the-ci POST /gate/check "{\"name\":\"podinfo\",\"namespace\":\"test\",\"checksum\":\"${2-}\"}"
}

# holds: somebody has the lock of a gate and takes a nap with it
holds() { [ "$(pg_sql "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")" = 1 ]; }

# history FILTER: what gojq makes of all entries
history() {
    asks root GET '/v1/history?limit=1000'
    gojq -e ".history | $1" <<<"$output"
}

@test "a link opens its gate once, and only to look at it changes nothing" {
    gate_start
    link alice '"action":"open","for":"30m","reason":"the dashboards look well","valid":"2h"'
    [[ $url == "$DAEMON_URL/links/"* ]]
    gojq -e '(.expires | fromdate) - now | . > 7100 and . <= 7200' <<<"$output"
    for _ in 1 2 3; do
        says 200 nobody GET "$url"
        [ "$(curl -s -m 10 -I -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' "$url")" = 200 ]
    done
    [[ $output == *"Open the gate?"* && $output == *"the dashboards look well"* && $output == *"30m"* ]]
    check 403
    says 200 nobody POST "$url"
    [[ $output == *"The gate is open."* ]]
    check 200
    says 403 nobody POST "$url"
    [[ $output == *"This link has been used already."* ]]
    says 403 nobody GET "$url"
    history '[.[] | .action] == ["link", "open"]'
    history ".[0] | .link == \"$id\" and .does == \"open\" and .who == \"alice\" and .as == \"alice\""
    history ".[1] | .via == \"link $id\" and .who == \"alice\" and .verified and .expires"
    # Closed again, the link does not revive what it did.
    says 200 root POST $POD/close '{}'
    says 403 nobody POST "$url"
    check 403
}

@test "links approve one revision, close, and roll back" {
    gate_start
    link alice '"action":"approve","revision":"aaa"'
    says 200 nobody GET "$url"
    [[ $output == *"Approve this revision?"* && $output == *aaa* ]]
    says 200 nobody POST "$url"
    check 200 aaa
    check 403 bbb
    link alice '"action":"close"'
    says 200 nobody POST "$url"
    [[ $output == *"The gate is closed."* ]]
    check 403 aaa
    link alice '"action":"open","kind":"rollback"'
    says 200 nobody GET "$url"
    [[ $output == *"Roll back?"* ]]
    says 200 nobody POST "$url"
    says 200 the-ci POST /rollback/check '{"name":"podinfo","namespace":"test"}'
    check 403 aaa
}

@test "whoever asks for JSON gets it" {
    gate_start
    link alice '"action":"approve","revision":"aaa","for":"1h","hook":"promote"'
    curl -s -H 'Accept: application/json' "$url" | gojq -e ".id == \"$id\" and .action == \"approve\" and
        .revision == \"aaa\" and .hook == \"promote\" and .forMs == 3600000 and .who == \"alice\""
    curl -s -X POST -H 'Accept: application/json' "$url" | gojq -e '.changed and .open and .seq == 2'
    curl -s -X POST -H 'Accept: application/json' "$url" | gojq -e '.error == "this link has been used already"'
    curl -s -H 'Accept: application/json' "${url}A" | gojq -e '.error | test("not a whole link")'
}

@test "fifty at once over two gates make one change" {
    gate_start
    link alice '"action":"open"'
    first=$url
    gate_start
    second=$DAEMON_URL/links/${first##*/}
    # They are held until every connection of both gates waits, so that they are at it together.
    pg_sql "DO \$\$ BEGIN
        PERFORM flagger_gate_lock('gate', 'test', 'podinfo');
        FOR i IN 1..60 LOOP
            PERFORM pg_stat_clear_snapshot();
            EXIT WHEN (SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock') >= 4;
            PERFORM pg_sleep(0.05);
        END LOOP;
    END \$\$" 3>&- &
    holder=$!
    eventually 5 holds
    for _ in {1..25}; do printf '%s\n%s\n' "$first" "$second"; done |
        xargs -P 50 -n 1 curl -s -m 20 -X POST -o /dev/null -w '%{http_code}\n' >"$BATS_TEST_TMPDIR/codes"
    wait "$holder"
    [ "$(grep -c . "$BATS_TEST_TMPDIR/codes")" = 50 ]
    [ "$(grep -c '^200$' "$BATS_TEST_TMPDIR/codes")" = 1 ]
    [ "$(grep -c '^403$' "$BATS_TEST_TMPDIR/codes")" = 49 ]
    history '[.[] | select(.action == "open")] | length == 1'
    check 200
}

@test "a forged, cut, foreign or expired link is refused with one sentence" {
    gate_start
    link alice '"action":"open"'
    token=${url##*/}
    for forged in "${token}A" "${token%?}" "A$token" "${token%.*}" "${token#*.}" "${token%.*}." ".${token#*.}" \
        "${token/./..}" "$token=" "%00$token" "$(tr 'A-Za-z' 'B-ZAb-za' <<<"$token")" \
        "$(head -c 5000 /dev/zero | tr '\0' A)"; do
        says "$([[ $forged == %00* ]] && echo 400 || echo 403)" nobody POST "/links/$forged"
        [ "$(grep -o '<p>' <<<"$output" | wc -l)" -le 1 ]
    done
    # Whole, with the signature of another one.
    forged=$(tr '_-' '/+' <<<"${token%.*}" | base64 -di 2>/dev/null | sed s/podinfo/payment/ | base64 -w 0 | tr '/+' '_-' | tr -d =)
    says 403 nobody POST "/links/$forged.${token#*.}"
    [[ $output == *"was not signed by this gate"* ]]
    says 403 nobody GET /links/
    says 404 nobody GET "/links/$token/more"
    # A page of another site cannot send the form, the gate's own can.
    [ "$(curl -s -X POST -H 'Origin: https://evil.example' -o /dev/null -w '%{http_code}' "$url")" = 403 ]
    [ "$(curl -s -X POST -H 'Sec-Fetch-Site: cross-site' -o /dev/null -w '%{http_code}' "$url")" = 403 ]
    check 403
    [ "$(curl -s -X POST -H "Origin: $DAEMON_URL" -H 'Sec-Fetch-Site: same-origin' -o /dev/null -w '%{http_code}' \
        "$url")" = 200 ]
    check 200
    says 200 root POST $POD/close '{}'

    link alice '"action":"open","valid":"1s"'
    eventually 10 says 403 nobody GET "$url"
    [[ $output == *"This link has expired"* ]]
    says 403 nobody POST "$url"
    [[ $output == *"This link has expired"* ]]
    check 403
    curl -s "$DAEMON_URL/metrics" | grep -q 'flagger_gate_links_total{outcome="expired"}'
}

@test "the database's clock ends a link as well, and forgets a used one only after that" {
    gate_start
    use() { # ID VALIDITY
        pg_sql "SELECT changed FROM flagger_gate_link('$1', now() + '$2'::interval, 'open', 'gate', 'test',
            'podinfo', '', '', NULL, 'alice', true, 'link', '')" 2>&1
    }
    [[ $(use a '-1 s') == *"this link has expired at"* ]]
    check 403
    [ "$(use b '1 h')" = t ]
    [[ $(use b '1 h') == *"this link has been used already"* ]]
    pg_sql "INSERT INTO flagger_gate_links VALUES ('old', now() - interval '25 hours'), ('late', now() - interval '23 hours')"
    use c '1 h'
    [ "$(pg_sql "SELECT string_agg(id, ' ' ORDER BY id) FROM flagger_gate_links")" = 'b c late' ]
}

@test "without the database a link answers 503 and is not used up" {
    gate_start
    link alice '"action":"open"'
    pg_kill
    says 503 nobody POST "$url"
    [[ $output == *"try the link again"* ]]
    says 503 nobody GET "$url"
    says 503 alice POST /v1/links '{"namespace":"test","name":"podinfo","action":"open"}'
    refute grep -q '"url"' <<<"$output"
    pg_start
    eventually 15 answers 200 GET /readyz
    check 403
    says 200 nobody POST "$url"
    check 200
    says 403 nobody POST "$url"
}

@test "a killed gate revives no link and loses none" {
    gate_start
    link alice '"action":"open"'
    used=$url
    says 200 nobody POST "$used"
    says 200 root POST $POD/close '{}'
    link bob '"action":"open"'
    fresh=$url
    # Killed while it works on it: afterwards it was used once or not at all.
    for _ in {1..20}; do curl -s -m 5 -X POST -o /dev/null "$fresh" & done
    kill -KILL "$DAEMON_PID"
    wait
    gate_start
    says 403 nobody POST "/links/${used##*/}"
    asks nobody POST "/links/${fresh##*/}"
    [ "$status" = 200 ] || [ "$status" = 403 ]
    says 403 nobody POST "/links/${fresh##*/}"
    check 200
    history '[.[] | select(.action == "open")] | length == 2'
}

@test "keys are rotated: a new one signs, the old ones verify until they are taken away" {
    gate_start
    link alice '"action":"open"'
    old=$url
    link alice '"action":"close"'
    older=$url
    echo 'the second key of the links, of 41 letters' | cat - "$BATS_TEST_TMPDIR/keys" >"$BATS_TEST_TMPDIR/new"
    mv "$BATS_TEST_TMPDIR/new" "$BATS_TEST_TMPDIR/keys"
    eventually 20 grep -q link_keys_read "$DAEMON_LOG"
    says 200 nobody POST "$old"
    check 200
    link alice '"action":"close"'
    new=$url
    sed -i 1q "$BATS_TEST_TMPDIR/keys"
    kill -TERM "$DAEMON_PID"
    wait "$DAEMON_PID"
    gate_start
    says 403 nobody POST "/links/${older##*/}"
    [[ $output == *"its key has been replaced"* ]]
    check 200
    says 200 nobody POST "/links/${new##*/}"
    check 403
}

@test "two people are two votes, one with two links is one, and only an admin speaks for others" {
    gate_start
    says 200 root PUT $POD/policy '{"quorum":2,"approvers":["alice","bob"]}'
    says 403 bob POST /v1/links '{"namespace":"test","name":"podinfo","action":"approve","revision":"aaa","as":"alice"}'
    [[ $output == *"only an admin"* ]]
    says 403 the-ci POST /v1/links '{"namespace":"test","name":"podinfo","action":"open"}'
    says 401 nobody POST /v1/links '{"namespace":"test","name":"podinfo","action":"open"}'
    link root '"action":"approve","revision":"aaa","as":"alice"'
    alice=$url
    says 200 nobody GET "$alice"
    [[ $output == *"In the name of"*alice*"Link made by"*root* ]]
    link root '"action":"approve","revision":"aaa","as":"alice"'
    again=$url
    link root '"action":"approve","revision":"aaa","as":"bob"'
    bob=$url
    link root '"action":"approve","revision":"aaa","as":"mallory"'
    mallory=$url
    says 200 nobody POST "$alice"
    [[ $output == *"1 of 2 approvals."* ]]
    says 200 nobody POST "$again"
    [[ $output == *"1 of 2 approvals."* ]]
    says 403 nobody POST "$mallory"
    [[ $output == *"not among the approvers"* ]]
    check 403 aaa
    says 200 nobody POST "$bob"
    [[ $output == *"This revision is approved."* ]]
    check 200 aaa
    history '.[-1] | .action == "open" and .approvers == ["alice", "bob"]'
    # What was refused is still good, once the rule has changed.
    says 200 root PUT $POD/policy '{"quorum":2,"approvers":["alice","mallory"]}'
    says 200 root POST $POD/close '{}'
    says 200 nobody POST "$mallory"
    [[ $output == *"1 of 2 approvals."* ]]
}

@test "hostile words stay words" {
    gate_start
    link alice '"action":"approve","revision":"<img src=x onerror=alert(1)>","hook":"\"><script>1</script>",
        "reason":"</bdi><script>alert(document.cookie)</script>&amp;"'
    for method in GET POST; do
        says 200 nobody $method "$url"
        [[ $output == *"&lt;/bdi&gt;&lt;script&gt;alert(document.cookie)&lt;/script&gt;&amp;amp;"* ]]
        [[ $output == *"&lt;img src=x onerror=alert(1)&gt;"* ]]
        [[ $output != *"<script"* && $output != *"<img"* ]]
        grep -qi '^content-type: text/html; charset=utf-8' "$BATS_TEST_TMPDIR/head"
        grep -qi "^content-security-policy: default-src 'none'; style-src 'self'; .*form-action 'self'" "$BATS_TEST_TMPDIR/head"
        grep -qi '^cache-control: no-store' "$BATS_TEST_TMPDIR/head"
        grep -qi '^x-frame-options: DENY' "$BATS_TEST_TMPDIR/head"
        grep -qi '^referrer-policy: same-origin' "$BATS_TEST_TMPDIR/head"
    done
    page=$output
    for file in page.css link.css icon.svg; do
        grep -q "\"../page/$file\"" <<<"$page"
        says 200 nobody GET "/page/$file"
    done
}

@test "a browser shows the page as it is meant, and its button sends the form" {
    load ../lib/browser
    gate_start
    link alice '"action":"open","reason":"<b>now</b>"'
    browser_begin
    browser_open "$url"
    browser_wait 10 h1 "Open the gate?"
    browser_wait 10 dl "<b>now</b>"
    [ "$(browser_js 'return getComputedStyle(document.querySelector("button")).width === getComputedStyle(document.querySelector("dl")).width')" = true ]
    browser_click button
    browser_wait 10 h1 "The gate is open."
    log=$(browser_log)
    [ "$log" = '[]' ] || { echo "$log" && return 1; }
    check 200
    browser_open "$url"
    browser_wait 10 p "This link has been used already."
}

@test "a request for a link that makes no sense gets one sentence" {
    gate_start
    while IFS='|' read -r wanted body; do
        says 400 alice POST /v1/links "$body"
        gojq -e --arg wanted "$wanted" '.error | contains($wanted)' <<<"$output"
    done <<'EOF'
namespace|{"action":"open"}
action|{"namespace":"test","name":"podinfo","action":"explode"}
revision|{"namespace":"test","name":"podinfo","action":"approve"}
valid|{"namespace":"test","name":"podinfo","action":"open","valid":"31d"}
at most 30 days|{"namespace":"test","name":"podinfo","action":"open","valid":"721h"}
expires|{"namespace":"test","name":"podinfo","action":"open","expires":"2020-01-01T00:00:00Z"}
vaild|{"namespace":"test","name":"podinfo","action":"open","vaild":"1h"}
JSON|[]
EOF
    [ "$(curl -s -X POST -H 'Authorization: Bearer the-token-of-alice-0' -d '{}' -o /dev/null -w '%{http_code}' \
        "$DAEMON_URL/v1/links")" = 415 ]
    [ "$(curl -s -X POST -H 'Authorization: Bearer the-token-of-alice-0' -H 'Host: a/b"<' \
        -H 'Content-Type: application/json' -d '{"namespace":"test","name":"podinfo","action":"open"}' \
        -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' "$DAEMON_URL/v1/links")" = 400 ]
    grep -q -- --public-url "$BATS_TEST_TMPDIR/body"
    says 405 alice GET /v1/links
    history '. == []'
}

@test "without keys there are no links, and where the gate is can be told" {
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --anybody
    PIDS+=("$DAEMON_PID")
    eventually 10 answers 200 GET /readyz
    says 409 nobody POST /v1/links '{"namespace":"test","name":"podinfo","action":"open"}'
    [[ $output == *--link-key-file* ]]
    says 404 nobody GET /links/a.b
    says 404 nobody POST /links/a.b
    gate_start --public-url https://gates.example.com/flagger/
    asks the-ci POST /gate/check '{"name":"shut","namespace":"test"}'
    [ "$output" = "Forbidden until somebody approves at https://gates.example.com/flagger/" ]
    asks the-ci POST /rollback/check '{"name":"shut","namespace":"test"}'
    [ "$output" = Forbidden ]
    link alice '"action":"open"'
    [[ $url == https://gates.example.com/flagger/links/* ]]
    says 200 nobody POST "/links/${url##*/}"
    check 200
    for bad in gates.example.com ftp://x https:// 'https://x/?q' 'https://x y'; do
        run "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --anybody --public-url "$bad"
        [ "$status" -eq 2 ]
        [[ $output == *--public-url* ]]
    done
    echo short >"$BATS_TEST_TMPDIR/keys"
    run "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --anybody --link-key-file "$BATS_TEST_TMPDIR/keys"
    [ "$status" -eq 2 ]
    [[ $output == *"a key has 5 characters, expected at least 32"* && $output != *short* ]]
}

@test "where nobody has a name a link proves none" {
    daemon_start "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --anybody --link-key-file "$BATS_TEST_TMPDIR/keys"
    PIDS+=("$DAEMON_PID")
    eventually 10 answers 200 GET /readyz
    link nobody '"action":"open","as":"alice"'
    says 200 nobody POST "$url"
    history '.[1] | .who == "alice" and .verified == false'
    says 200 nobody PUT $POD/policy '{"quorum":2}'
    link nobody '"action":"approve","revision":"aaa","as":"alice"'
    says 403 nobody POST "$url"
    [[ $output == *"people it knows by name"* ]]
}
