# One release: a copy of requests, then those that match, then everybody, with a person after each, and a way to the primary in steps;
# and one that a person takes back at 40 %, in steps.
stage "interval: 3s, threshold: 100, steps: [{mirror: 50, gate: true}, {match: [{headers: {x-user: {exact: insider}}}], gate: true},
    {weight: 5, gate: true}, {weight: 40, gate: true}], promotion: {steps: [{weight: 80}]},
    rollback: {steps: [{weight: 80, for: 40s}]}"
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
waits_at 3
resume
comes Promoting 20 "$case"
promoted
release 3.0.0 "$case"
for step in 0 1 2; do
    waits_at "$step"
    resume
done
waits_at 3
share_is 40 3.0.0
"$build/kubectl-canary" abort "$case" -n "$case" >/dev/null
soon canary "$case" '.status.canaryWeight == 20'
share_is 20 3.0.0
comes Failed 0 "$case"
eventually answers_with 2.0.0
