# kubectl canary backtest: past releases under other policies, of Canaries and of files.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/sandbox
    sandbox_begin "$(mktemp -d /tmp/flagger-backtest.XXXXXX)"
    kubectl create namespace shop
    canary checkout
    canary idle
    # One release that was bad in the middle and promoted nevertheless, whose primary was looked at before it began, one that thresholds ended, and one that runs.
    kubectl patch canary checkout -n shop --subresource status --type merge -p '{"status": {"phase": "Progressing",
        "release": {"revision": "aaa111", "began": "2026-01-02T10:00:00Z"},
        "history": [
            {"revision": "bbb222", "began": "2026-01-01T11:00:00Z", "ended": "2026-01-01T11:03:20Z", "outcome": "promoted",
             "looks": [{"name": "request-success-rate", "bad": "failed", "since": "2026-01-01T10:59:20Z",
                        "counts": [[30, 0, 0, 0, 1000, 10], [60, 20, 100, 1, 1000, 10], [70, 20, 100, 9, 1000, 9], [80, 20, 100, 8, 1000, 10], [90, 40, 100, 9, 900, 9], [100, 40, 100, 9, 900, 9]]}]},
            {"revision": "ccc333", "began": "2026-01-01T10:00:00Z", "ended": "2026-01-01T10:01:00Z", "outcome": "failed",
             "looks": [{"name": "request-success-rate", "bad": "failed", "since": "2026-01-01T10:00:10Z", "counts": [[10, 20, 100, 1, 1000, 10]]}],
             "steps": [{"at": "2026-01-01T10:00:20Z", "weight": 20, "checks": [{"name": "request-duration", "value": 0.7, "max": 0.5}]}]}]}}'
    cat >"$DIR/judge.yaml" <<END
judge: {type: sequential, minRequests: 100}
metrics: [{name: request-success-rate, thresholdRange: {min: 0}}]
END
    cat >"$DIR/slow.yaml" <<END
kind: Canary
apiVersion: flagger.app/v1beta1
metadata: {name: any}
spec:
  analysis: {interval: 10s, threshold: 1, stepWeight: 10, metrics: [{name: request-duration, thresholdRange: {max: 600}}]}
END
}

canary() {
    kubectl apply -f - <<END
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: shop, labels: {app: $1}}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}
  service: {port: 80}
  analysis: {interval: 10s, threshold: 5, maxWeight: 50, stepWeight: 10}
END
}

teardown_file() {
    load ../lib/sandbox
    sandbox_end
    rm -rf "$DIR"
}

setup() { load ../lib/sandbox; }

ctl() { "$FLAGGER_BUILD/kubectl-canary" "$@"; }

@test "a row a release and a column a policy, with what would have come of it" {
    ctl backtest checkout -n shop --judge "$DIR/judge.yaml" --judge "$DIR/slow.yaml" >"$BATS_TEST_TMPDIR/table"
    cat "$BATS_TEST_TMPDIR/table"
    [ "$(head -n 1 "$BATS_TEST_TMPDIR/table" | tr -s ' ' | sed 's/ $//')" = 'CANARY REVISION ENDED AFTER REQUESTS judge slow' ]
    sed -n 2p "$BATS_TEST_TMPDIR/table" | tr -s ' ' | grep -Ex 'shop/checkout bbb222 promoted 3m20s 500 rolled back after [3-6]0s, [1-3]00 requests earlier unknown: no values of request-duration were kept *'
    sed -n 3p "$BATS_TEST_TMPDIR/table" | tr -s ' ' | grep -Ex 'shop/checkout ccc333 rolled back 1m 100 would still be under way rolled back after 30s *'
    grep -E '^judge: 2 of 2 releases would have ended otherwise: 1 rolled back \(0 that had failed, 1 that had been promoted\), 0 promoted, 1 still under way, 0 unknown; until a rollback .* fewer than there were$' "$BATS_TEST_TMPDIR/table"
    grep -E '^slow: 0 of 2 releases .* 1 unknown' "$BATS_TEST_TMPDIR/table"
    grep -q '^Note: what would still be under way has no end here' "$BATS_TEST_TMPDIR/table"
    grep -qx 'Note: left out, for still under way: 1' "$BATS_TEST_TMPDIR/table"
    ctl backtest checkout -n shop --judge "$DIR/judge.yaml" -o wide | grep -E 'request-success-rate: canary [0-9]+ of [0-9]+ requests failed'
}

@test "scripts get names, and counts that can be replayed without a cluster" {
    [ "$(ctl backtest -A --judge "$DIR/judge.yaml" -o name)" = canary.flagger.app/checkout ]
    [ -z "$(ctl backtest -n shop -l app=idle --judge "$DIR/judge.yaml" -o name)" ]
    ctl backtest -n shop --judge "$DIR/judge.yaml" -o json >"$DIR/backtest.json"
    [ "$(gojq -c '[.releases[].replays[0].outcome], .policies[0].rolledBackOfPromoted' "$DIR/backtest.json")" = $'["rolled back","under way"]\n1' ]
    ctl history checkout -n shop -o yaml >"$DIR/history.yaml"
    kubectl get canaries -n shop -o json >"$DIR/canaries.json"
    unset KUBECONFIG
    local file
    for file in backtest.json history.yaml canaries.json; do
        ctl backtest --counts "$DIR/$file" --judge "$DIR/judge.yaml" -o json >"$BATS_TEST_TMPDIR/again"
        diff <(gojq '[.releases[] | .canary, .revision, .replays]' "$DIR/backtest.json") <(gojq '[.releases[] | .canary, .revision, .replays]' "$BATS_TEST_TMPDIR/again")
    done
    [ "$(ctl backtest --counts "$DIR/history.yaml" "$DIR/canaries.json" --judge="$DIR/judge.yaml" -o yaml | gojq --yaml-input '.releases | length')" -eq 4 ]
}

@test "a bad file or command line is one sentence" {
    echo 'judge: {type: sequental}' >"$BATS_TEST_TMPDIR/bad.yaml"
    run -2 --separate-stderr ctl backtest --counts "$DIR/history.yaml" --judge "$BATS_TEST_TMPDIR/bad.yaml"
    [[ $stderr == *"/bad.yaml:1:9: judge.type: expected "* ]] && [ "${#stderr_lines[@]}" -eq 1 ]
    printf 'releases:\n- outcome: failed\n- outcome: failed\n  looks: [{name: a, counts: [1]}]\n' >"$BATS_TEST_TMPDIR/counts.yaml"
    run -2 --separate-stderr ctl backtest --counts "$BATS_TEST_TMPDIR/counts.yaml" --judge "$DIR/judge.yaml"
    [[ $stderr == *"/counts.yaml:3:3: releases[1]: looks[0].counts: expected "* ]] && [ "${#stderr_lines[@]}" -eq 1 ]
    printf 'releases:\n- outcome: failed\n  looks: 7\n' >"$BATS_TEST_TMPDIR/counts.yaml"
    run -2 --separate-stderr ctl backtest --counts "$BATS_TEST_TMPDIR/counts.yaml" --judge "$DIR/judge.yaml"
    [[ $stderr == *"/counts.yaml:2:3: releases[0]: looks: expected a list" ]]
    printf 'releases:\n- outcome: failed\n  steps: [{checks: x}]\n' >"$BATS_TEST_TMPDIR/counts.yaml"
    run -2 --separate-stderr ctl backtest --counts "$BATS_TEST_TMPDIR/counts.yaml" --judge "$DIR/judge.yaml"
    [[ $stderr == *"/counts.yaml:2:3: releases[0]: steps[0].checks: expected a list" ]]
    # Also where no cluster is: the command line comes first.
    KUBECONFIG=/nothing run -2 --separate-stderr ctl backtest checkout -n shop
    [[ $stderr == *'expected --judge FILE'* ]]
    run -2 --separate-stderr ctl backtest --counts none.json --judge "$DIR/judge.yaml"
    [ "${#stderr_lines[@]}" -eq 1 ]
    run -1 --separate-stderr ctl backtest none -n shop --judge "$DIR/judge.yaml"
    [[ $stderr == *'there is no Canary "none" in namespace "shop"'* ]]
    run -2 --separate-stderr ctl backtest checkout -A --judge "$DIR/judge.yaml"
    run -0 --separate-stderr ctl backtest idle -n shop --judge "$DIR/judge.yaml"
    [ -z "$output" ] && [[ $stderr == 'There is no release that has ended'* ]]
}

@test "shells complete its flags, files and Canaries" {
    ctl __complete backtest --ju | grep -q '^--judge'
    [ "$(ctl __complete backtest --judge '' | tail -n 1)" = :0 ]
    ctl __complete backtest -n shop che | grep -qx checkout
}

# release REVISION OUTCOME COUNTS..., each the samples of a metric
counted() {
    cat <<END
- revision: $1
  outcome: $2
  looks:
  - name: request-success-rate
    counts: $3
${4:+  - {name: request-duration, bad: took longer than 500 ms, counts: $4\}}
END
}

@test "a judge is proposed: as strict as the releases that were promoted allow" {
    cd "$BATS_TEST_TMPDIR"
    good='[[60, 10, 300, 3, 2700, 27], [120, 20, 600, 6, 2400, 24]]'
    noisy='[[60, 10, 300, 8, 2700, 20], [120, 20, 600, 20, 2400, 24], [180, 30, 900, 40, 2100, 19]]'
    bad='[[60, 10, 300, 30, 2700, 27], [120, 20, 600, 60, 2400, 24]]'
    { echo releases: && counted a promoted "$good" && counted b failed "$bad"; } >strict.yaml
    run -0 --separate-stderr ctl backtest --counts strict.yaml --propose
    [ -z "$stderr" ]
    [[ $output == "# It rolls back 0 of the 1 releases that were promoted, and 1 of the 1 that failed."*"# request-success-rate: with 50 requests a second of which 1% fail, a canary of which "*$'\njudge:\n  type: sequential' ]]
    # one that was promoted was worse than the primary, by less than a point
    { cat strict.yaml && counted c promoted "$noisy" "$good"; } >noisy.yaml
    run -0 --separate-stderr ctl backtest --counts noisy.yaml --propose
    grep -x '# It rolls back 0 of the 2 releases that were promoted, and 1 of the 1 that failed.' <<<"$output"
    grep -x '    errorRate: [012.5]* %-points' <<<"$output"
    [[ $output == *"# request-duration: with "*" take longer than 500 ms, a canary of which "* ]]
    # what is proposed is a policy
    sed '/^#/d' <<<"$output" >proposed.yaml
    { cat proposed.yaml && echo 'metrics: [{name: request-success-rate, thresholdRange: {min: 0}}, {name: request-duration, thresholdRange: {max: 500}}]'; } >policy.yaml
    ctl backtest --counts noisy.yaml --judge policy.yaml -o json | gojq -e '.releases[] | select(.revision == "c").replays[0].end != "rolled back"'
    # one that failed and was no worse is not called so
    { echo releases: && counted a promoted "$good" && counted b failed "$good"; } >equal.yaml
    run -0 --separate-stderr ctl backtest --counts equal.yaml --propose
    [[ $output == "# It rolls back 0 of the 1 releases that were promoted, and 0 of the 1 that failed."* ]]
}

@test "a judge is proposed for one Canary that was judged, and as YAML" {
    cd "$BATS_TEST_TMPDIR"
    run -1 --separate-stderr ctl backtest idle -n shop --propose
    [[ $stderr == *"backtest: --propose: no release has counts of request-success-rate or request-duration: they are kept of releases that were judged" ]]
    cat >two.yaml <<'YAML'
releases:
- {canary: shop/one, revision: a, outcome: promoted, looks: [{name: request-success-rate, counts: [[60, 10, 300, 3, 2700, 27]]}]}
- {canary: shop/two, revision: a, outcome: promoted, looks: [{name: request-success-rate, counts: [[60, 10, 300, 3, 2700, 27]]}]}
YAML
    run -1 --separate-stderr ctl backtest --counts two.yaml --propose
    [[ $stderr == *"expected the releases of one Canary, found those of shop/one and shop/two" ]]
    run -2 --separate-stderr ctl backtest --counts two.yaml --propose --judge "$DIR/judge.yaml"
    [[ $stderr == *"--propose makes a policy: expected no --judge beside it" ]]
    run -2 --separate-stderr ctl backtest --counts two.yaml --propose -o json
    [[ $stderr == *"--propose prints YAML: expected no other -o" ]]
    run -0 --separate-stderr ctl backtest checkout -n shop --propose
    [[ $output == *$'\njudge:\n  type: sequential'* ]]
}
