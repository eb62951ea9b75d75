# The canary gets a copy of each request; its answers reach nobody.
stage "interval: 4s, iterations: 3, mirror: true, threshold: 100, webhooks: [$(hook hold rollout)]"
refuses hold
release 2.0.0 "$case"
eventually seen_by_canary 400
answers_with 1.0.0 || fail "clients get the answers of the canary"
allows hold
promoted
