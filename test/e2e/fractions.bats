# Steps below one per cent through a real gateway, as its clients see them: one release promoted, one rolled back from 0.5 %.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/stage
    stage_begin
    stage_enter
    gate open
    api_merge test canaries podinfo '{"spec":{"analysis":{"interval":"2s","stepWeight":null,"maxWeight":null,"metrics":[],
        "steps":[{"weight":0.5,"gate":true},{"weight":1,"gate":true},{"weight":12.5,"gate":true}]}}}'
}

teardown_file() {
    load ../lib/stage
    stage_end
}

setup() {
    load ../lib/stage
    stage_enter
}

teardown() {
    explain_failure
    [ -z "${CLIENT:-}" ] || kill "$CLIENT" 2>/dev/null || true
}

status_is() { [ "$(of_canary test podinfo ".status.$1")" = "$2" ]; }
resume() { "$FLAGGER_BUILD/kubectl-canary" resume podinfo -n test >/dev/null; }
weights() { api_look test httproutes podinfo | gojq -c '[.spec.rules[0].backendRefs[].weight]'; }

# share VERSION: of 4,000 requests those that it has answered, in hundredths of a per cent; a failed one is no answer
share() {
    curl -s -m 300 -o /dev/null -H 'Host: app.example.com' -w '%{http_code} %header{x-demo-version}\n' "$DEMO_GATEWAY/?[1-4000]" >"$BATS_TEST_TMPDIR/asked"
    [ "$(grep -c '^200 ' "$BATS_TEST_TMPDIR/asked")" = 4000 ]
    echo $(($(grep -c "^200 $1" "$BATS_TEST_TMPDIR/asked" || true) * 10000 / 4000))
}
# sees VERSION HUNDREDTHS: that share within half a point, and not none
sees() {
    local got
    got=$(share "$1")
    echo "# a step of $2 hundredths of a per cent: clients see $got" >&3
    [ "$got" -gt 0 ] && [ "$got" -ge $(($2 - 50)) ] && [ "$got" -le $(($2 + 50)) ]
}

@test "clients see steps of 0.5, 1 and 12.5 %, and none of their requests fails" {
    client_begin
    release 2.1.0
    eventually 120 status_is paused.by 'spec.analysis.steps[0].gate'
    status_is canaryShare 0.5
    status_is canaryWeight 1
    [ "$(weights)" = '[995,5]' ]
    sees 2.1.0 50
    run -0 "$FLAGGER_BUILD/kubectl-canary" get -n test
    [[ $output == *' 0.5%'* ]]
    resume
    eventually 120 status_is paused.by 'spec.analysis.steps[1].gate'
    status_is canaryShare ''
    [ "$(weights)" = '[99,1]' ]
    sees 2.1.0 100
    resume
    eventually 120 status_is paused.by 'spec.analysis.steps[2].gate'
    status_is canaryWeight 13
    [ "$(weights)" = '[875,125]' ]
    sees 2.1.0 1250
    resume
    eventually 120 phase_is Succeeded
    serves 2.1.0
    [ "$(client_failed)" = 0 ]
}

@test "half a per cent is taken back" {
    client_begin
    release 2.2.0
    eventually 120 status_is paused.by 'spec.analysis.steps[0].gate'
    [ "$(share 2.2.0)" -gt 0 ]
    "$FLAGGER_BUILD/kubectl-canary" abort podinfo -n test >/dev/null
    eventually 120 phase_is Failed
    [ "$(weights)" = '[100,0]' ]
    status_is canaryWeight 0
    [ "$(share 2.2.0)" = 0 ]
    [ "$(client_failed)" = 0 ]
}
