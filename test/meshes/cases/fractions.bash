# Steps below one per cent, each until a person has looked, and a way to the primary in steps.
stage "interval: 3s, threshold: 3, steps: [{weight: 0.5, gate: true}, {weight: 1, gate: true}, {weight: 5, gate: true}],
    promotion: {steps: [{weight: 97, for: 6s}]}"
release 2.0.0 "$case"
step=0
for weight in 0.5 1 5; do
    waits_at "$step"
    part_is "$weight" 2.0.0
    resume
    step=$((step + 1))
done
comes Promoting 3 "$case"
promoted
