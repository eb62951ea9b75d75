# From one version to the next: what was stored stays valid and whole.

setup() { cd "$BATS_TEST_DIRNAME/../.." || return 1; }

crd() { gojq --yaml-input -c . "$@"; }

@test "what a CRD of any earlier version took, today's takes, with every field" {
    git rev-parse --is-inside-work-tree >/dev/null 2>&1 || skip "no history is at hand"
    local file revision seen=0
    for file in proto/crd/*.yaml; do
        crd "$file" >"$BATS_TEST_TMPDIR/now"
        for revision in $(git log --format=%h -- "$file"); do
            { git show "$revision:$file" | crd && cat "$BATS_TEST_TMPDIR/now"; } | gojq -rs -f test/lib/stricter.jq |
                sed "s/^/$revision/" >>"$BATS_TEST_TMPDIR/stricter"
            seen=$((seen + 1))
        done
    done
    echo "$seen versions" && [ "$seen" -ge 3 ] || skip "the history is cut off"
    # A cookie that ends before it begins was refused by the rules before.
    sed -i '/sessionAffinity\.maxAge: minimum none, then 0$/d' "$BATS_TEST_TMPDIR/stricter"
    # Mail is no notifier any more: Alertmanager sends it.
    sed -i '/spec\.type: values .*"webhook","email"\], then .*"webhook","cloudevents"\]$/d' "$BATS_TEST_TMPDIR/stricter"
    # What one tenant may have others work on has bounds, far above what releases need (proto/COMPATIBILITY.md).
    sed -i -E '/analysis\.(metrics|webhooks|alerts|match): maxItems none, then [12]00$/Id
        /analysis\.(match\[\]\.headers|metrics\[\]\.templateVariables|webhooks\[\]\.metadata): maxProperties none, then [12]00$/Id
        /provider\.headers: maxProperties none, then 64$/d' "$BATS_TEST_TMPDIR/stricter"
    # The pattern has taken amounts as well since numbers are compared.
    sed -i '/metrics\[\]\.judge\.tolerate: pattern .*%(-points)?\$, then .*%(-points)?|\[numkMGTPE\]|\[KMGTPE\]i)?\$$/d' "$BATS_TEST_TMPDIR/stricter"
    [ ! -s "$BATS_TEST_TMPDIR/stricter" ] || { cat "$BATS_TEST_TMPDIR/stricter" && false; }
}

@test "a CRD that takes less is found" {
    local change
    crd proto/crd/canaries.yaml >"$BATS_TEST_TMPDIR/now"
    for change in 'del(.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.provider)' \
        '.spec.versions[0].schema.openAPIV3Schema.properties.spec.required += ["provider"]' \
        '.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.suspend.type = "string"' \
        '.spec.versions[0].schema.openAPIV3Schema.properties.status.properties.phase.enum = ["Failed"]' \
        '.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.pushes.properties.timeZone.pattern = "^(UTC|[A-Z]+)$"' \
        'del(.spec.versions[1])'; do
        { cat "$BATS_TEST_TMPDIR/now" && gojq -c "$change" "$BATS_TEST_TMPDIR/now"; } | gojq -rs -f test/lib/stricter.jq >"$BATS_TEST_TMPDIR/out"
        [ -s "$BATS_TEST_TMPDIR/out" ] || { echo "not found: $change" && false; }
    done
}
