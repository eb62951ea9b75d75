# What test/bench/fleet measures, on a fleet so small that it takes no time.

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
}

@test "an idle fleet is adopted from lists, and costs nothing then" {
    test/bench/fleet 20 --idle 2 >"$BATS_TEST_TMPDIR/out" 3>&-
    grep '20 idle Canaries, 142 objects' "$BATS_TEST_TMPDIR/out"
    tail -n 1 "$BATS_TEST_TMPDIR/out" >"$BATS_TEST_TMPDIR/result"
    gojq -e '.adopt | .settled and .canaries == 20 and .gets == 0' "$BATS_TEST_TMPDIR/result"
    gojq -e '.idle.requests == 0 and .memory.peakMB > 1 and .sandbox.loadedMB > 1' "$BATS_TEST_TMPDIR/result"
}

@test "releases among them are timed" {
    test/bench/fleet 20 --idle 1 --running 5 --burst 5 --interval 3 --rate 1 --seconds 8 --hpa >"$BATS_TEST_TMPDIR/out" 3>&-
    tail -n 1 "$BATS_TEST_TMPDIR/out" >"$BATS_TEST_TMPDIR/result"
    gojq -e '.release | .begun.count == 5 and .burstBegun.count == 5 and .burstBegun.lastMs > 0 and .changed.count >= 7' "$BATS_TEST_TMPDIR/result"
    gojq -e '.release | .burstStepped.count == 5 and .lagOfRunning.count >= 5 and .lag.count > .lagOfRunning.count' "$BATS_TEST_TMPDIR/result"
}

@test "after an outage the requests of releases under way come by degrees" {
    test/bench/fleet 100 --idle 1 --running 100 --outage 15 --interval 5 >"$BATS_TEST_TMPDIR/out" 3>&-
    tail -n 1 "$BATS_TEST_TMPDIR/out" >"$BATS_TEST_TMPDIR/result"
    # The budgets would allow 3,250 at once; a sixteenth of what they allow in a second is 81, and watches and leases have none.
    gojq -e '.outage | .back[0] <= 120' "$BATS_TEST_TMPDIR/result"
    gojq -e '.outage.rows | map(select(.resource == "canaries.flagger.app/status").count) | add >= 100' "$BATS_TEST_TMPDIR/result"
}

@test "a controller that does not start is told" {
    run test/bench/fleet 10 --controller false 3>&-
    [ "$status" -eq 1 ]
    [[ $output == *"the controller ended"* ]]
}

@test "a daemon of the fleet beside many clusters: nothing is asked while nothing changes" {
    test/bench/fleet-clusters 10 10 --idle 2 >"$BATS_TEST_TMPDIR/out" 3>&-
    tail -n 1 "$BATS_TEST_TMPDIR/out" | gojq -e '.clusters == 10 and .canaries == 10 and .idle.requests == 0 and .memory.peakMB > 1 and .settled.of."list canaries" == 10'
    # All but those of the first wave are held.
    test/bench/fleet-clusters 10 10 --plan --idle 2 >"$BATS_TEST_TMPDIR/out" 3>&-
    tail -n 1 "$BATS_TEST_TMPDIR/out" | gojq -e '.idle.requests == 0 and .heldSeconds > 0 and .settled.of."PATCH canaries" == 50'
}
