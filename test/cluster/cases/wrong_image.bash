# An image that does not exist: the primary serves on, the release fails within its deadline, and the next one goes through.
needs controller
podinfo 6.0.0
DEADLINE=30 canary "$CHECKED"
comes Initialized
clients_at_service
podinfo 9.9.9
comes Progressing
comes Failed
primary_runs 6.0.0
podinfo 6.0.1
comes Progressing
comes Succeeded
primary_runs 6.0.1
