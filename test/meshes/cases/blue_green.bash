# Everybody changes at once, when the new version is checked, and back when it is promoted.
stage "interval: 2s, iterations: 2, threshold: 3, webhooks: [$(hook hold confirm-promotion)]"
refuses hold
release 2.0.0 "$case"
comes WaitingPromotion '*' "$case"
answers_with 1.0.0 || fail "clients reach the canary before it is checked"
allows hold
promoted
