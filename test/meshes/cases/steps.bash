# One release: a copy of requests, then those that match, then everybody, with a person after each, and a way to the primary in steps.
stage "interval: 3s, threshold: 100, steps: [{mirror: 50, gate: true}, {match: [{headers: {x-user: {exact: insider}}}], gate: true},
    {weight: 5, gate: true}, {weight: 40}], promotion: {steps: [{weight: 80}]}"
release 2.0.0 "$case"
waits_at 0
eventually seen_by_canary 200
answers_with 1.0.0 || fail "clients get the answers of the canary"
answers_with 1.0.0 -H 'x-user: insider' || fail "those that match get the answers of the canary"
resume
waits_at 1
eventually answers_with 2.0.0 -H 'x-user: insider'
answers_with 1.0.0 || fail "everybody is led to the canary"
resume
waits_at 2
part_is 5 2.0.0
resume
comes Promoting 20 "$case"
promoted
