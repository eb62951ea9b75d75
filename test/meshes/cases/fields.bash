# Requests are matched, rewritten and given headers as spec.service says, whichever version answers.
path=/api/version
service+="${service:+, }match: [{uri: {prefix: /api/}}], rewrite: {uri: /, type: ReplacePrefixMatch}"
service+=", headers: {request: {set: {x-user: flagger}, add: {x-more: flagger}, remove: [x-canary]}, response: {add: {x-tier: web}}}"
stage "interval: 3s, stepWeight: 50, maxWeight: 50, threshold: 3, webhooks: [$(hook hold confirm-promotion)]"
refuses hold
release 2.0.0 "$case"
comes Progressing 50 "$case"
share_is 50 2.0.0
seen=$state/seen.$case
curl -s -m 60 -H "Host: $host" -H 'x-canary: no' "http://127.0.0.1:$web/api/headers?n=[1-40]&name=x-more" -w '%header{x-tier}\n' >"$seen"
all_have() { [ "$(grep -c "$1" "$seen")" -eq 40 ] || fail "of 40 answers, $(grep -c "$1" "$seen") have $1: $(tail -n 4 "$seen")"; }
all_have '"x-user":"flagger"' # set
all_have '"x-more":"flagger"' # added
all_have '"path":"/headers"'  # rewritten
all_have '^web$'              # added to the answer
! grep 'x-canary' "$seen" || fail "the header x-canary is not removed"
[ "$(curl -s -o /dev/null -w '%{http_code}' -H "Host: $host" "http://127.0.0.1:$web/other")" = 404 ] || fail "another path is routed too"
allows hold
promoted
