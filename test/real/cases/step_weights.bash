# Steps of different sizes; the way back of a promotion in steps as well.
deployment
canary app gatewayapi:v1 "interval: 1s, stepWeights: [5, 30, 80], stepWeightPromotion: 50, threshold: 3, $RATE"
comes Initialized
release 2.0.0
comes Progressing 5
comes Progressing 30
comes Progressing 80
comes Promoting 30
comes Succeeded 0
runs app-primary 2.0.0
