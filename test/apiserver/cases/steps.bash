# More traffic at each step, then the promotion.
deployment
canary app gatewayapi:v1 "{interval: 1s, stepWeight: 20, maxWeight: 60, threshold: 3, metrics: [{name: request-success-rate, thresholdRange: {min: 99}, interval: 1m}]}"
comes Initialized
release 2.0.0
comes Progressing 20
comes Progressing 40
comes Progressing 60
comes Succeeded
is deployment app-primary '.spec.template.spec.containers[0].image == "demo-app:2.0.0"'
