# Step by step each version has its share; no step is made while it is measured.
stage "interval: 3s, stepWeight: 20, maxWeight: 60, threshold: 3, webhooks: [$(hook hold confirm-traffic-increase)]"
release 2.0.0 "$case"
for weight in 20 40 60; do
    comes Progressing "$weight" "$case"
    refuses hold
    share_is "$weight" 2.0.0
    allows hold
done
promoted
