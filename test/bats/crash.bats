# The search test/crash must be able to fail: a controller that does not go on after a crash is found out.

# A controller that works until it is killed, and looks elsewhere when it is started again.
setup() {
    cat >"$BATS_TEST_TMPDIR/forgetful" <<END
#!/bin/sh
if [ -e "\$2.seen" ]; then
    exec "$FLAGGER_BUILD/flagger-controller" "\$@" --namespace elsewhere
fi
touch "\$2.seen"
exec "$FLAGGER_BUILD/flagger-controller" "\$@"
END
    chmod +x "$BATS_TEST_TMPDIR/forgetful"
    cd "$BATS_TEST_DIRNAME/../.."
    export TMPDIR=$BATS_TEST_TMPDIR
}

# Where a test fails, its output tells which write and what differs.
crash() { "$FLAGGER_BUILD/flagger-crash" --scenario "analysis skipped" --write "patch canaries" "$@"; }

@test "a controller that goes on after a crash passes" {
    run crash
    echo "$output"
    [ "$status" -eq 0 ]
    [[ ${lines[-1]} =~ ^"writes killed: "([1-9][0-9]*)", releases that ended right: "([1-9][0-9]*)$ ]]
    [ "${BASH_REMATCH[1]}" -eq "${BASH_REMATCH[2]}" ]
}

@test "a controller that does not is found out, with the write and what differs" {
    run crash --controller "$BATS_TEST_TMPDIR/forgetful"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *'killed before "patch canaries/podinfo/status" #1: its phase is '* ]]
    [[ ${lines[-1]} =~ ^"writes killed: "([1-9][0-9]*)", releases that ended right: "([0-9]+)$ ]]
    # After the very last write there is nothing left to go on with.
    [ "${BASH_REMATCH[1]}" -gt "${BASH_REMATCH[2]}" ]
}

@test "a write that arrives when the next controller is at work does no harm" {
    run crash --late 1
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "a scenario that does not exist is refused" {
    run "$FLAGGER_BUILD/flagger-crash" --scenario nonsense
    [ "$status" -eq 2 ]
    [[ $output == *'no scenario has "nonsense" in its name'* ]]
}
