# kubectl canary history: the releases that a Canary remembers.

bats_require_minimum_version 1.5.0

setup_file() {
    load ../lib/sandbox
    sandbox_begin "$(mktemp -d /tmp/flagger-history.XXXXXX)"
    kubectl create namespace shop
    kubectl apply -f - <<END
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: checkout, namespace: shop}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: checkout}
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

@test "one that remembers nothing says so, and a script gets an empty list" {
    run -0 --separate-stderr ctl history checkout -n shop
    [ -z "$output" ] && [[ $stderr == 'checkout remembers no release: '* ]] && [ "${#stderr_lines[@]}" -eq 1 ]
    [ "$(ctl history checkout -n shop -o json | gojq -c .releases)" = '[]' ]
    run -1 --separate-stderr ctl history none -n shop
    [[ $stderr == *'there is no Canary "none" in namespace "shop"'* ]]
    run -2 --separate-stderr ctl history
    [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "the running release comes first, then those that have ended, with outcome, duration and reason" {
    kubectl patch canary checkout -n shop --subresource status --type merge -p '{"status": {"phase": "Progressing",
        "release": {"revision": "aaa111", "image": "shop:3", "began": "2026-01-02T10:00:00Z", "steps": [{"at": "2026-01-02T10:01:00Z", "weight": 10}]},
        "history": [
            {"revision": "bbb222", "image": "shop:2", "began": "2026-01-01T10:00:00Z", "ended": "2026-01-01T10:03:20Z", "outcome": "failed",
             "reason": "Failed checks threshold reached 5: \u001b[31mred",
             "steps": [{"at": "2026-01-01T10:01:00Z", "weight": 10, "checks": [{"name": "errors", "value": 7.5, "max": 1}]}]},
            {"revision": "ccc333", "image": "shop:1", "ended": "2026-01-01T09:00:00Z", "outcome": "promoted", "reason": "Its checks passed, and it was promoted."}]}}'
    ctl history checkout -n shop >"$BATS_TEST_TMPDIR/table"
    cat "$BATS_TEST_TMPDIR/table"
    [ "$(head -n 1 "$BATS_TEST_TMPDIR/table" | tr -s ' ')" = 'REVISION OUTCOME ENDED TOOK IMAGE REASON' ] ||
        [ "$(head -n 1 "$BATS_TEST_TMPDIR/table" | tr -s ' ')" = 'REVISION OUTCOME ENDED TOOK IMAGE REASON ' ]
    sed -n 2p "$BATS_TEST_TMPDIR/table" | grep -q '^aaa111 *running *- '
    sed -n 3p "$BATS_TEST_TMPDIR/table" | grep -Eq '^bbb222 *failed .* 3m20s *shop:2 *Failed checks threshold reached 5: '
    sed -n 4p "$BATS_TEST_TMPDIR/table" | grep -Eq '^ccc333 *promoted .* - *shop:1 *Its checks passed'
    refute grep -q $'\e' "$BATS_TEST_TMPDIR/table"
    refute grep -q PEOPLE "$BATS_TEST_TMPDIR/table"
    [ "$(ctl history checkout -n shop -o json | gojq -c '[.releases[].revision], .releases[1].steps[0].checks[0].value')" = $'["aaa111","bbb222","ccc333"]\n7.5' ]
    [ "$(ctl history checkout -n shop -o yaml | gojq --yaml-input -c '[.releases[].outcome]')" = '[null,"failed","promoted"]' ]
}

@test "revisions that wait behind the release stand below it" {
    kubectl patch canary checkout -n shop --subresource status --type merge -p '{"status": {"phase": "Progressing",
        "release": {"revision": "aaa111", "image": "shop:3", "began": "2026-01-02T10:00:00Z"},
        "conditions": [{"type": "Superseded", "status": "True", "reason": "RevisionWaits", "lastTransitionTime": "2026-01-02T10:00:00Z", "lastUpdateTime": "2026-01-02T10:00:00Z",
            "message": "2 revisions of checkout.shop wait until the release of aaa111 has ended, and each for those before it: bbb222, ccc333"}]}}'
    ctl history checkout -n shop >"$BATS_TEST_TMPDIR/table"
    [ "$(tail -n 2 "$BATS_TEST_TMPDIR/table" | head -n 1)" = WAITING ]
    tail -n 1 "$BATS_TEST_TMPDIR/table" | grep -q '^2 revisions of checkout.shop wait until the release of aaa111 has ended, .*: bbb222, ccc333$'
    ctl history checkout -n shop -o json | gojq -e '.waiting | endswith("bbb222, ccc333")'
    kubectl patch canary checkout -n shop --subresource status --type merge -p '{"status": {"conditions": []}}'
    refute grep -q WAITING <(ctl history checkout -n shop)
    ctl history checkout -n shop -o json | gojq -e 'has("waiting") | not'
}
