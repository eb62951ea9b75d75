# The README's first command: its summary and its report, and that it leaves nothing behind.

setup_file() {
    export FLAGGER_DEMO_DIR=/tmp/flagger-e2e-demo.$$
    unset FLAGGER_BUILD # as in the README it builds what it runs
}

@test "the demo ends well, and its report says so" {
    run "$BATS_TEST_DIRNAME/../demo" --preset "${FLAGGER_PRESET:-release}" --report "$BATS_TEST_TMPDIR/report.json" 3>&-
    [ "$status" -eq 0 ] || { echo "$output" && return 1; }
    [[ $output == *"All as it should be."* ]]
    gojq -e '[.releases[] | {(.version): .outcome}] | add
        == {"2.0.0": "Succeeded", "3.0.0": "Failed", "4.0.0": "Failed"}' "$BATS_TEST_TMPDIR/report.json"
    gojq -e '[.weights[] | .asked - .measured | fabs] | max <= 5' "$BATS_TEST_TMPDIR/report.json"
    gojq -e '[.weights[].asked] | unique == [20, 40, 60]' "$BATS_TEST_TMPDIR/report.json"
    gojq -e '.client.requests > 1000 and .client.failed == 0 and .idle_api_requests == 0' "$BATS_TEST_TMPDIR/report.json"
}

@test "it leaves nothing behind" {
    [ ! -e "$FLAGGER_DEMO_DIR" ]
    ! pgrep -f "$FLAGGER_DEMO_DIR"
}

@test "a wrong argument is one sentence" {
    run "$BATS_TEST_DIRNAME/../demo" --repotr x
    [ "$status" -ne 0 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ $output == *--repotr*--help* ]]
}

# Three are lists: of the routes before it, which may be older than its own, and of pods and monitors behind it, which tell what its
# labels select.
@test "a release of five steps costs no more requests than it did, and reads nothing" {
    run "$BATS_TEST_DIRNAME/../bench/requests" --most 38 --preset "${FLAGGER_PRESET:-release}" 3>&-
    [ "$status" -eq 0 ] || { echo "$output" && return 1; }
    [[ $output == *"idle, 30 s: 0 requests"* ]]
}
