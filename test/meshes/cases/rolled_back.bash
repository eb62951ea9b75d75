# A version that fails its checks loses its share.
stage "interval: 2s, stepWeight: 50, maxWeight: 50, threshold: 2, webhooks: [$(hook checks rollout)]"
release 2.0.0 "$case"
comes Progressing 50 "$case"
refuses checks
comes Failed 0 "$case"
eventually answers_with 1.0.0
runs "$case-primary" 1.0.0
soon deployment "$case" '.spec.replicas == 0'
client_end
