# By a header and by a cookie: who has one gets the new version, all others the old one.
stage "interval: 2s, iterations: 2, threshold: 3, webhooks: [$(hook hold confirm-promotion)],
    match: [{headers: {x-user: {exact: insider}}}, {headers: {cookie: {regex: '^(.*?;)?(canary=always)(;.*)?\$'}}}]"
refuses hold
release 2.0.0 "$case"
eventually answers_with 2.0.0 -H 'x-user: insider'
answers_with 2.0.0 -H 'Cookie: a=b;canary=always' || fail "a cookie does not lead to the canary"
answers_with 1.0.0 -H 'Cookie: canary=never' -H 'x-user: insiders' || fail "others are led to the canary"
answers_with 1.0.0 || fail "everybody is led to the canary"
allows hold
promoted
