# The Canary goes in the middle of a release: its target serves by itself, and nobody notices.
field+="${field:+
  }revertOnDeletion: true"
stage "interval: 2s, stepWeight: 50, maxWeight: 50, threshold: 3, webhooks: [$(hook hold confirm-promotion)]"
refuses hold
release 2.0.0 "$case"
comes Progressing 50 "$case"
k delete canary "$case" --timeout="${LIMIT}s" >/dev/null
eventually answers_with 2.0.0
primaries_gone() { [[ $(k get deployments -o name) != *-primary* ]]; }
eventually primaries_gone
answers_with 2.0.0 || fail "the target does not serve by itself"
client_end
