# The gate's page in a browser, for its tests: a gate with tokens and its own PostgreSQL, people who sign in, and Canaries
# that ask. A test file loads this with postgres, daemon and browser.

page_file_begin() {
    pg_begin
    browser_begin
    export PG_DIR PG_DSN BROWSER_DIR BROWSER_SESSION BROWSER_PID BROWSER_DRIVER
}

page_file_end() {
    browser_end
    pg_end
}

page_begin() {
    TOKENS=$BATS_TEST_TMPDIR/tokens
    printf '%s\n' 'alice-token-0001 operate alice' 'bob-token-000001 operate bob' 'carol-token-0001 operate carol' \
        'admin-token-0001 admin root-of-all' 'eve-token-000001 check eve' 'hook-token-00001 check controller' >"$TOKENS"
    gate_start --token-file "$TOKENS"
    browser_theme light
    browser_size 1280 900
    browser_log >/dev/null
    browser_requests >/dev/null
}

# Whatever a test did: no script failed, nothing was refused by the content security policy, nothing was asked from
# elsewhere, and no cookie was set.
page_end() {
    local bad=0
    browser_log | gojq -e 'map(select((.level == "SEVERE" or .level == "WARNING")
        and (.source != "network" or (.message | test("status of ") and (test("status of (401|403|503)") | not))))) | length == 0 or (tostring | error)' || bad=1
    browser_requests | grep -Ev "^(${DAEMON_URL//./\\.}/|data:|chrome:|about:)" && bad=1
    [ "$(browser_ask GET cookie)" = '[]' ] || bad=1
    browser_open about:blank # or it goes on trying
    daemon_stop || bad=1
    pg_sql 'DROP SCHEMA public CASCADE; CREATE SCHEMA public' >/dev/null 2>&1
    return "$bad"
}

gate_start() {
    gate_start_any "$PG_DSN" "$@"
    eventually 10 answers 200 GET /readyz
}

# asks WHO METHOD PATH [BODY]: as a person or pipeline does with curl; fails unless it is done
asks() {
    local token
    token=$(grep " $1\$" "$TOKENS" | cut -d ' ' -f 1)
    curl -sS --fail-with-body -m 10 -X "$2" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
        ${4+--data-binary "$4"} "$DAEMON_URL$3"
}

# checks NAME REVISION [KIND [QUERY]]: what a Canary's webhook is told
checks() {
    curl -s -m 10 -o "$BATS_TEST_TMPDIR/checked" -w '%{http_code}' -H 'Authorization: Bearer hook-token-00001' \
        -d "$(gojq -nc --arg name "$1" --arg revision "$2" '{name: $name, namespace: "test", phase: "Waiting", checksum: $revision}')" \
        "$DAEMON_URL/${3:-gate}/check${4:-}"
}
checks_give() { [ "$(checks "${@:2}")" = "$1" ]; }

# A new session, signed in as WHO by the form.
sign_in() {
    browser_open "$DAEMON_URL/"
    browser_js 'sessionStorage.clear()' >/dev/null
    browser_open "$DAEMON_URL/"
    browser_wait 10 '#sign-in'
    browser_type '#token' "$(grep " $1\$" "$TOKENS" | cut -d ' ' -f 1)"
    browser_keys Enter
    browser_wait 10 '#who-name' "$1"
    browser_wait 10 '#link-text' Live
}

card() { printf '//li[contains(@class, "canary")][.//bdi[@class="name"][text()="%s"]]' "$1"; }
button() { printf '%s//button[contains(concat(" ", @class, " "), " %s ")]' "$(card "$1")" "$2"; }
focused() { browser_js 'const e = document.activeElement; return e.id || e.className || e.tagName' | gojq -r .; }

# Presses Tab until the focus is at CLASS_OR_ID; a person would give up after 40.
tab_to() {
    for _ in $(seq 40); do
        browser_keys Tab
        [[ " $(focused) " != *" $1 "* ]] || return 0
    done
    echo "Tab does not lead to $1" && return 1
}

fits_the_width() { browser_js 'return document.documentElement.scrollWidth <= document.documentElement.clientWidth' | grep -qx true; }
