# A quota that leaves no room for the new version: it is said, nobody notices, and with room the release goes on or the next one does.
needs controller
podinfo 6.0.0
DEADLINE=45 canary "$CHECKED"
comes Initialized
clients_at_service
k create quota pods --hard=pods=2
podinfo 6.0.1
comes Progressing
comes Failed
primary_runs 6.0.0
k delete quota pods
podinfo 6.0.2
comes Progressing
comes Succeeded
primary_runs 6.0.2
