# What people do on the gate's web page, in a real browser, with a real PostgreSQL.

load_all() {
    load ../lib/daemon
    load ../lib/postgres
    load ../lib/browser
    load ../lib/page
}
setup_file() { load_all && page_file_begin; }
teardown_file() { load_all && page_file_end; }
setup() { load_all && page_begin; }
teardown() { page_end; }

@test "the files need no token, and their headers are strict" {
    for path in / /page/main.js /page/page.css /page/icon.svg; do
        answers 200 GET "$path"
        curl -s -D - -o "$BATS_TEST_TMPDIR/body" "$DAEMON_URL$path" | tr -d '\r' >"$BATS_TEST_TMPDIR/headers"
        grep -qi "^content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'" "$BATS_TEST_TMPDIR/headers"
        for header in 'x-content-type-options: nosniff' 'x-frame-options: DENY' 'referrer-policy: no-referrer' \
            'cross-origin-opener-policy: same-origin' 'cache-control: no-cache'; do
            grep -qix "$header" "$BATS_TEST_TMPDIR/headers"
        done
        refute grep -qi '^set-cookie' "$BATS_TEST_TMPDIR/headers"
        etag=$(sed -n 's/^etag: //Ip' "$BATS_TEST_TMPDIR/headers")
        [ "$(curl -s -o "$BATS_TEST_TMPDIR/body" -w '%{http_code} %{size_download}' -H "If-None-Match: $etag" "$DAEMON_URL$path")" = '304 0' ]
    done
    answers 404 GET /page/nothing.js
    answers 404 GET /page/../main.c
    answers 405 POST /
}

@test "who waits appears without a reload, and is let through by keyboard alone" {
    sign_in alice
    browser_wait 5 '#empty' "$DAEMON_URL/gate/check"
    browser_js 'window.sameDocument = true' >/dev/null
    checks_give 403 podinfo 85d557f47b
    browser_wait 10 '#waiting-list .wait .revision' 85d557f47b
    browser_wait 5 '#waiting-list .wait .facts' 'before the release begins'
    tab_to approve
    browser_keys Enter
    browser_wait 5 '#act-title' 'Approve revision 85d557f47b'
    browser_keys Escape
    browser_gone 5 '#act'
    [[ $(focused) == *approve* ]]
    checks_give 403 podinfo 85d557f47b
    browser_keys Enter
    browser_wait 5 '#act'
    browser_keys 'the graphs look good' Enter
    browser_gone 5 '#act'
    browser_wait 5 "$(card podinfo)" 'Approved revision 85d557f47b'
    browser_wait 5 "$(card podinfo)//li[contains(@class, 'pass')]" 'the graphs look good'
    browser_wait 5 '#rest-list .state' 'Open for some'
    [ "$(focused)" != BODY ]
    checks_give 200 podinfo 85d557f47b
    checks_give 403 podinfo 6c7d8e9f0a
    [ "$(browser_js 'return window.sameDocument === true')" = true ]
    asks eve GET /v1/gates/test/podinfo | gojq -e '.history[0] | .who == "alice" and .verified and .reason == "the graphs look good"'
}

@test "it is opened for a time with a reason, and closed, and the history says who" {
    checks_give 403 podinfo aaa
    sign_in alice
    browser_wait 5 "$(card podinfo)"
    browser_click "$(button podinfo open)"
    browser_wait 5 '#act-title' 'Open the gate'
    browser_click '//label[contains(., "2 hours")]'
    browser_type '#act-reason' 'ranking "v2" & more'
    browser_click '#act-go'
    browser_gone 5 '#act'
    browser_wait 5 "$(card podinfo)//p[@class='state']" Open
    browser_wait 5 "$(card podinfo)//li[contains(@class, 'pass')]" 'ranking "v2" & more'
    browser_wait 5 "$(card podinfo)//li[contains(@class, 'pass')]" '1 h 59 min left'
    checks_give 200 podinfo bbb
    asks eve GET /v1/gates/test/podinfo |
        gojq -e '.gates[0].passes[0] | (.expires | sub("\\..*"; "Z") | fromdate) - now | . > 7100 and . <= 7200'
    browser_click "$(button podinfo close)"
    browser_wait 5 '#act-title' 'Close the gate'
    browser_click '#act-go'
    browser_gone 5 '#act'
    browser_wait 5 "$(card podinfo)" 'Closed.'
    checks_give 403 podinfo bbb
    browser_click "$(button podinfo past)"
    browser_wait 5 "$(card podinfo)//ol" 'alice closed the gate'
    browser_wait 5 "$(card podinfo)//ol" 'alice opened the gate until'
}

@test "what others do is seen at once, and the history goes back to its beginning" {
    sign_in eve
    for i in $(seq 33); do
        asks bob POST /v1/gates/test/podinfo/open "{\"reason\":\"number $i\"}" >/dev/null
        asks bob POST /v1/gates/test/podinfo/close '{}' >/dev/null
    done
    asks bob POST /v1/gates/test/podinfo/open '{"for":"30m","reason":"number 34"}' >/dev/null
    browser_wait 10 "$(card podinfo)//li[contains(@class, 'pass')]" 'number 34'
    browser_click "$(button podinfo past)"
    browser_wait 5 "$(card podinfo)//ol" 'number 34'
    for _ in 1 2 3; do
        browser_click "$(button podinfo older)"
    done
    browser_wait 10 "$(card podinfo)//ol/li[67]" 'number 1'
    browser_gone 5 "$(button podinfo older)"
}

@test "a roll back asks for confirmation, is for that revision, and can be withdrawn" {
    checks_give 403 podinfo aaa
    checks_give 403 podinfo aaa rollback
    sign_in alice
    browser_wait 5 "$(card podinfo)"
    browser_click "$(button podinfo rollback)"
    browser_wait 5 '#act-title' 'Roll back revision aaa?'
    browser_keys Escape
    browser_gone 5 '#act'
    checks_give 403 podinfo aaa rollback
    browser_click "$(button podinfo rollback)"
    browser_wait 5 '#act'
    browser_type '#act-reason' 'it answers slowly'
    browser_click '#act-go'
    browser_gone 5 '#act'
    browser_wait 5 "$(card podinfo)//li[contains(@class, 'pass')]" 'it answers slowly'
    checks_give 200 podinfo aaa rollback
    checks_give 403 podinfo bbb rollback
    browser_click "$(button podinfo withdraw)"
    browser_wait 5 '#act'
    browser_keys Enter
    browser_gone 5 '#act'
    checks_give 403 podinfo aaa rollback
}

@test "a quorum shows who has approved, and what the gate refuses is said where it was asked" {
    asks root-of-all PUT /v1/gates/test/podinfo/policy '{"quorum":2,"approvers":["alice","bob"],"deadline":"1h","onDeadline":"rollback"}'
    checks_give 403 podinfo aaa
    sign_in carol
    browser_wait 5 "$(card podinfo)" '0 of 2 approvals (not yet: alice, bob)'
    browser_wait 5 "$(card podinfo)" 'Without a decision it is rolled back at'
    browser_click "$(button podinfo approve)"
    browser_wait 5 '#act'
    browser_keys Enter
    browser_wait 5 '#act-error' 'carol is not among the approvers of this gate: alice, bob'
    sign_in alice
    browser_click "$(button podinfo approve)"
    browser_wait 5 '#act'
    browser_keys Enter
    browser_gone 5 '#act'
    browser_wait 5 "$(card podinfo)" 'Counted: 1 of 2 approvals.'
    browser_wait 5 "$(card podinfo)" '1 of 2 approvals: alice (not yet: bob). Yours is counted.'
    browser_gone 5 "$(button podinfo approve)"
    checks_give 403 podinfo aaa
    asks bob POST /v1/gates/test/podinfo/approve '{"revision":"aaa"}'
    browser_wait 5 "$(card podinfo)//li[contains(@class, 'pass')]" 'Lets through revision aaa'
    checks_give 200 podinfo aaa
}

@test "it asks for a token, says what is wrong with it, and forgets it" {
    browser_open "$DAEMON_URL/"
    browser_wait 10 '#sign-in'
    [ "$(focused)" = token ]
    [ -z "$(browser_text '#sign-in-error')" ]
    browser_keys nobody-has-this-one Enter
    browser_wait 5 '#sign-in-error' token
    browser_wait 5 '#token'
    browser_keys alice-token-0001 Enter
    browser_wait 5 '#who-name' alice
    browser_wait 5 '#who-role' operate
    browser_open "$DAEMON_URL/"
    browser_wait 5 '#who-name' alice
    [ "$(browser_js 'return localStorage.length + document.cookie.length')" = 0 ]
    browser_click '#sign-out'
    browser_wait 5 '#sign-in'
    browser_gone 5 '#session'
    [ "$(browser_js 'return sessionStorage.length')" = 0 ]
    # A token that is taken away ends the session.
    sign_in alice
    sed -i /alice/d "$TOKENS"
    refused() { [ "$(curl -s -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' -H 'Authorization: Bearer alice-token-0001' "$DAEMON_URL/v1/whoami")" = 401 ]; }
    eventually 25 refused # the gate looks at its files every ten seconds
    checks_give 403 podinfo aaa
    browser_wait 10 '#sign-in'
}

@test "who may only look is offered nothing" {
    checks_give 403 podinfo aaa
    asks alice POST /v1/gates/test/other/open '{}'
    sign_in eve
    browser_wait 5 '#who-role' 'check: you may look'
    browser_wait 5 "$(card podinfo)" aaa
    browser_wait 5 "$(card other)" alice
    [ "$(browser_js 'return [...document.querySelectorAll("#gates button")].filter((b) => b.checkVisibility()).map((b) => b.textContent)')" = '["History","History"]' ]
}

@test "a freeze is announced and lifted, at the top and at the gate" {
    checks_give 403 podinfo aaa
    asks alice POST /v1/gates/test/podinfo/open '{}'
    sign_in alice
    browser_wait 5 "$(card podinfo)//p[@class='state']" Open
    id=$(asks root-of-all POST /v1/freezes '{"namespace":"test","reason":"end of the quarter"}' | gojq .id)
    browser_wait 10 '#freezes' 'everything in test until somebody lifts it'
    browser_wait 5 '#freezes' 'end of the quarter'
    browser_wait 5 "$(card podinfo)//p[@class='frozen']" 'end of the quarter'
    checks_give 403 podinfo aaa
    browser_wait 10 "$(card podinfo)//p[@class='state']" Waiting
    browser_click "$(button podinfo open)"
    browser_wait 5 '#act-warning' 'A freeze is on'
    browser_keys Escape
    asks root-of-all DELETE "/v1/freezes/$id"
    browser_gone 10 '#freezes'
    browser_wait 5 "$(card podinfo)//p[@class='state']" Open
}

@test "it says that it is not connected, and recovers by itself" {
    checks_give 403 podinfo aaa
    sign_in alice
    browser_wait 5 "$(card podinfo)"
    browser_js 'window.sameDocument = true' >/dev/null
    kill -KILL "$DAEMON_PID"
    wait "$DAEMON_PID" || true
    browser_wait 10 '#stale' 'Not connected since'
    browser_wait 5 '#link-text' 'Not connected'
    browser_click "$(button podinfo open)"
    browser_wait 5 '#act'
    browser_keys Enter
    browser_wait 5 '#act-error' 'The gate did not answer; whether it was done is not known.'
    browser_keys Escape
    DAEMON_PORT=${DAEMON_URL##*:} gate_start --token-file "$TOKENS"
    asks bob POST /v1/gates/test/podinfo/open '{"reason":"while you were away"}'
    browser_wait 40 '#link-text' Live
    browser_gone 5 '#stale'
    browser_wait 5 "$(card podinfo)" 'while you were away'
    [ "$(browser_js 'return window.sameDocument === true')" = true ]
}

@test "it says that the gate has no database" {
    checks_give 403 podinfo aaa
    sign_in alice
    browser_wait 5 "$(card podinfo)"
    pg_kill
    browser_wait 20 '#database' 'The gate has no database'
    browser_wait 5 "$(card podinfo)"
    pg_start
    browser_gone 30 '#database'
    browser_wait 40 '#link-text' Live
}

@test "without tokens everybody may, and is asked for a name" {
    daemon_stop
    gate_start
    curl -sf -d '{"name":"podinfo","namespace":"test","checksum":"aaa"}' "$DAEMON_URL/gate/check" || true
    browser_open "$DAEMON_URL/"
    browser_wait 10 '#who-name' Everybody
    browser_gone 5 '#sign-out'
    browser_click "$(button podinfo approve)"
    browser_wait 5 '#act-who'
    browser_type '#act-who' dora
    browser_keys Enter
    browser_gone 5 '#act'
    browser_wait 5 "$(card podinfo)//li[contains(@class, 'pass')]" dora
}
