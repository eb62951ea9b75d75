# A release that waits at the gate goes on when somebody approves it on the gate's page, in a browser.

setup_file() {
    load ../lib/stage
    load ../lib/browser
    stage_begin
    stage_enter
    browser_begin
    export BROWSER_DIR BROWSER_SESSION BROWSER_PID BROWSER_DRIVER
}

teardown_file() {
    load ../lib/stage
    load ../lib/browser
    browser_end
    stage_end
}

setup() {
    load ../lib/stage
    load ../lib/browser
    stage_enter
}

went_on() { [[ $(phase) =~ ^(Progressing|Promoting|Finalising|Succeeded)$ ]]; }

@test "what waits is on the page by itself, and goes on when it is approved there" {
    browser_open "$DEMO_GATE/"
    browser_wait 20 '#link-text' Live
    release 2.0.0
    browser_wait 60 '#waiting-list .name' podinfo
    browser_wait 5 '#waiting-list .facts' 'before the release begins'
    eventually 20 phase_is Waiting
    revision=$(curl -sS --fail "$DEMO_GATE/v1/gates/test/podinfo" | gojq -er '.gates[0].waits[0].revision')
    browser_wait 5 '#waiting-list .revision' "$revision"
    browser_click '#waiting-list .approve'
    browser_wait 5 '#act-title' 'Approve revision'
    browser_type '#act-reason' 'seen on the page'
    browser_keys Enter
    browser_gone 10 '#act'
    eventually 60 went_on
    browser_wait 20 '#rest-list' 'seen on the page'
    browser_gone 30 '#waiting-list .wait'
    curl -sS --fail "$DEMO_GATE/v1/gates/test/podinfo" |
        gojq -e --arg revision "$revision" '.history[0] | .revision == $revision and .reason == "seen on the page"'
}
