# Plain Services: a version that is looked at twice takes the primary's place, and so does the next one.
needs controller
podinfo 6.0.0
canary "$CHECKED"
comes Initialized
clients_at_service
for version in 6.0.1 6.0.2; do
    podinfo "$version"
    comes Progressing
    comes Succeeded
    primary_runs "$version"
done
