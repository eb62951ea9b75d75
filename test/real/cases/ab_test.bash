# Who sends the header gets the new version, the others the old one; a bad one is rolled back.
deployment
canary app gatewayapi:v1 "interval: 1s, threshold: 2, iterations: 3, $RATE,
    match: [{headers: {x-group: {exact: insider}}}, {headers: {cookie: {regex: '^group=insider$'}}}]"
comes Initialized
release 2.0.0
comes Progressing 100
# The first rule is the insiders', the last one everybody's.
eventually routes app 'length > 1 and (.[0].matches[0].headers[0] | .name == "x-group" and .value == "insider")'
comes Succeeded 0
runs app-primary 2.0.0
success_rate 50
release 3.0.0
comes Failed 0
runs app-primary 2.0.0
