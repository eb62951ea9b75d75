# The benchmarks of gate and load tester in a short form: every figure is there. How good they are is not judged: the machine is busy.

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    preset=(--preset "${FLAGGER_PRESET:-asan}")
}

@test "the gate beside PostgreSQL with the same statements" {
    test/bench/gate "${preset[@]}" --seconds 1 >"$BATS_TEST_TMPDIR/out" 3>&-
    [ "$(grep -cE '^  (checks|changes), [0-9]+ clients +[1-9][0-9]*/s' "$BATS_TEST_TMPDIR/out")" -eq 7 ]
    grep -E '^  check +[0-9]+ % of pgbench with the same SELECT' "$BATS_TEST_TMPDIR/out"
    grep -E '^  change +[0-9]+ % of pgbench with the same functions' "$BATS_TEST_TMPDIR/out"
}

@test "the load tester: webhooks, commands and many tasks" {
    test/bench/loadtester "${preset[@]}" --rounds 1 --seconds 1 >"$BATS_TEST_TMPDIR/out" 3>&-
    grep -E '^  webhooks of a task that runs already, 16 clients +[1-9][0-9]*/s' "$BATS_TEST_TMPDIR/out"
    grep -E '^  a command from request to reply.* p50 [0-9.]+, p90 [0-9.]+' "$BATS_TEST_TMPDIR/out"
    grep -E '^  100 tasks that run: the daemon and its supervisors +100 supervisors' "$BATS_TEST_TMPDIR/out"
}
