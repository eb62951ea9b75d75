# Who has seen the new version stays with it.
stage "interval: 3s, stepWeight: 30, maxWeight: 60, threshold: 3, sessionAffinity: {cookieName: seen},
    webhooks: [$(hook hold confirm-traffic-increase)]"
release 2.0.0 "$case"
comes Progressing 30 "$case"
refuses hold
share_is 30 2.0.0
jar=$state/jar.$case
got_canary() { rm -f "$jar" && ask 1 -c "$jar" | grep -q ' 2.0.0$'; }
eventually got_canary
grep -q seen "$jar" || fail "the canary's answer sets no cookie"
answers_with 2.0.0 -b "$jar" || fail "the cookie does not lead back to the canary"
allows hold
promoted
