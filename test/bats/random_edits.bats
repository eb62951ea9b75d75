# The random user (test/random_edits) where something is missing: one sentence, exit status 2, and no further round.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir -p there/build/fake there/proto/crd logs
    touch there/proto/crd/canaries.yaml
    printf '#!/bin/sh\necho "$@" >%s\nexit 3\n' "$BATS_TEST_TMPDIR/asked" >there/build/fake/flagger-sandbox
    cp there/build/fake/flagger-sandbox there/build/fake/flagger-controller
    chmod +x there/build/fake/*
}

edits() { timeout 60 "$FLAGGER_BUILD/flagger-random-edits" --directory "$BATS_TEST_TMPDIR/logs" "$@"; }

# one_sentence TEXT
one_sentence() {
    [ "$status" -eq 2 ] && [ "${#lines[@]}" -eq 1 ] && [[ $output == "flagger-random-edits: "*"$1"* ]] || { echo "$status: $output" && return 1; }
}

@test "a sandbox that does not start is the end of it" {
    run edits --programs there/build/fake
    one_sentence 'the sandbox ended with status'
    [ "$(ls logs | wc -l)" -eq 1 ]
}

@test "the CRDs are those beside the programs, whatever the current directory" {
    mkdir elsewhere
    cd elsewhere
    run edits --programs ../there/build/fake
    grep -q -- '--crds ../there/build/fake/../../proto/crd' ../asked
}

@test "the CRDs of the current directory serve as well" {
    mv there/build/fake programs
    mv there/proto .
    run edits --programs programs
    grep -q -- '--crds proto/crd' asked
}

@test "where the CRDs are not, it says how to name them" {
    rm -r there/proto
    run edits --programs there/build/fake
    one_sentence '--crds'
    [ "$(ls logs | wc -l)" -eq 0 ]
    run edits --programs there/build/fake --crds nowhere
    one_sentence 'in nowhere; --crds'
}

@test "where the programs are not, it says so" {
    run edits --programs nowhere
    one_sentence 'there is no program nowhere/flagger-sandbox; --programs'
}
