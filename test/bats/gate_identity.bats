# Whom the gate lets in, with a real PostgreSQL, curl and openssl.

load ../lib/postgres_file

setup() {
    load ../lib/daemon
    cd "$BATS_TEST_TMPDIR" || return 1
    PODINFO='{"name":"podinfo","namespace":"test"}'
    POD=/v1/gates/test/podinfo
    CHECK=check-0123456789abcdef OPERATE=operate-0123456789abcdef ADMIN=admin-0123456789abcdef
    cat >tokens <<ROWS
# token                    role    name
$CHECK check carl
$OPERATE operate olga
$ADMIN admin adam
cert:pipeline operate build
ROWS
    unset CURL_CA_BUNDLE
}

teardown() {
    [ -z "${DAEMON_PID:-}" ] || daemon_gone || kill -KILL "$DAEMON_PID"
    pg_empty || true
}

gate_start() {
    gate_start_any "$PG_DSN" "$@"
    [ -z "${CURL_CA_BUNDLE:-}" ] || DAEMON_URL=${DAEMON_URL/http:/https:}
    eventually 10 answers 200 GET /readyz
}

# asks TOKEN METHOD PATH [BODY [CURL ARGUMENT...]]: the status code; TOKEN '' sends none; the body is in the file body
asks() {
    local token=$1 method=$2 path=$3 body=${4-}
    shift $(($# < 4 ? $# : 4))
    curl -s -m 10 -X "$method" ${token:+-H "Authorization: Bearer $token"} ${body:+--data-binary "$body"} \
        -H "Content-Type: ${TYPE-application/json}" "$@" -o body -D headers -w '%{http_code}' "$DAEMON_URL$path" || true
}

# gets CODE TOKEN METHOD PATH...
gets() {
    local wanted=$1 got
    shift
    got=$(asks "$@")
    [ "$got" = "$wanted" ] || { echo "$* answered $got, not $wanted: $(cat body)" && return 1; }
}

# Everything that is asked with a token, by the role it takes.
ROUTES="
check   POST   /gate/check       PODINFO
check   POST   /rollback/check   PODINFO
check   GET    /v1/whoami
check   GET    /debug/process
check   GET    /v1/gates
check   GET    /v1/gates/test/podinfo
check   GET    /v1/history
check   GET    /v1/freezes
operate POST   /gate/open        PODINFO
operate POST   /gate/close       PODINFO
operate POST   /rollback/open    PODINFO
operate POST   /rollback/close   PODINFO
operate POST   /v1/gates/test/podinfo/open     {}
operate POST   /v1/gates/test/podinfo/approve  {\"revision\":\"aaa\"}
operate POST   /v1/gates/test/podinfo/close    {}
admin   PUT    /v1/gates/test/podinfo/policy   {\"quorum\":1}
admin   DELETE /v1/gates/test/podinfo/policy
admin   POST   /v1/freezes       {\"reason\":\"x\",\"namespace\":\"other\"}
admin   DELETE /v1/freezes/1
"

# admitted TOKEN METHOD PATH [BODY]: prints yes, 401 or 403 (a closed gate answers 403 as well, as text)
admitted() {
    local got
    got=$(asks "$@")
    case $got in
    401) echo 401 ;;
    403) if grep -q 'this takes the role' body; then echo 403; else echo yes; fi ;;
    2*) echo yes ;;
    *) echo "$got" ;;
    esac
}

@test "every role against every route" {
    gate_start --token-file tokens
    local failed=0 role method path body who got wanted
    declare -A rank=([check]=1 [operate]=2 [admin]=3)
    while read -r role method path body; do
        [ -n "$role" ] || continue
        body=${body/PODINFO/$PODINFO}
        for who in nobody wrong check operate admin; do
            case $who in
            nobody) got=$(admitted '' "$method" "$path" "$body") wanted=401 ;;
            wrong) got=$(admitted "${OPERATE}x" "$method" "$path" "$body") wanted=401 ;;
            *)
                got=$(admitted "$who-0123456789abcdef" "$method" "$path" "$body")
                wanted=$([ "${rank[$who]}" -ge "${rank[$role]}" ] && echo yes || echo 403)
                ;;
            esac
            [ "$got" = "$wanted" ] || { echo "$who: $method $path: $got, expected $wanted: $(cat body)" && failed=1; }
        done
    done <<<"$ROUTES"
    [ "$failed" -eq 0 ]
    for path in /healthz /readyz /metrics /gate/approve; do
        gets 200 '' GET $path
    done
    gets 403 '' GET /gate/halt
    curl -s "$DAEMON_URL/metrics" | grep -q 'flagger_gate_denied_total{reason="role"} [1-9]'
    daemon_stop
}

# What is added to the API later is closed as well, unless its document says `security: []`.
@test "every operation of the API's document asks for credentials" {
    gate_start --token-file tokens
    awk '/^paths:/ {on = 1} /^components:/ {on = 0}
        on && /^  \/.*:$/ {path = substr($1, 1, length($1) - 1)}
        on && /^    (get|put|post|delete|patch):$/ {method = toupper(substr($1, 1, length($1) - 1)); open[method " " path] = 0}
        on && /^      security: \[\]/ {open[method " " path] = 1}
        END {for (o in open) print o, open[o]}' "$BATS_TEST_DIRNAME/../../proto/openapi/gate.yaml" >operations
    [ "$(wc -l <operations)" -ge 20 ]
    local failed=0 method path open got
    while read -r method path open; do
        path=${path//\{namespace\}/test} path=${path//\{name\}/podinfo} path=${path//\{*\}/1}
        got=$(asks '' "$method" "$path" '{}')
        case $open$got in
        0401) ;;
        0* | 1401) echo "$method $path answers $got without credentials" && failed=1 ;;
        esac
    done <operations
    [ "$failed" -eq 0 ]
    daemon_stop
}

@test "who is refused hears why, and no token is in the log" {
    gate_start --token-file tokens
    gets 401 '' POST /gate/open "$PODINFO"
    grep -qi '^www-authenticate: Bearer' headers
    gojq -e '.error == "a bearer token is needed: Authorization: Bearer TOKEN"' body
    gets 401 not-the-right-token GET /v1/gates
    gojq -e '.error == "this bearer token is not known"' body
    gets 401 '' GET /v1/gates '' -u carl:secret-of-carl
    gets 401 cert:pipeline GET /v1/gates
    gets 401 pipeline GET /v1/gates
    gets 403 "$CHECK" POST /gate/open "$PODINFO"
    gojq -e '.error == "this takes the role operate, and carl has the role check"' body
    gets 202 "$OPERATE" POST /gate/open "$PODINFO"
    gets 200 "$CHECK" GET /v1/whoami
    gojq -e '. == {name: "carl", role: "check", anonymous: false}' body
    TYPE=text/plain gets 415 "$OPERATE" POST $POD/open '{}'
    daemon_log=$(cat "$DAEMON_LOG")
    daemon_stop
    refute grep -qE '0123456789abcdef|not-the-right|secret-of-carl|pipeline' <<<"$daemon_log"
    [[ $daemon_log == *'"who":"olga"'* ]]
}

@test "the name in the history is the token's, not what the body says" {
    gate_start --token-file tokens
    gets 403 "$OPERATE" POST $POD/open '{"who":"adam"}'
    gets 200 "$OPERATE" POST $POD/open '{"reason":"looks good"}'
    gets 200 "$CHECK" GET $POD
    gojq -e '.history | length == 1 and .[0].who == "olga" and .[0].verified' body
    daemon_stop
}

@test "a check may be anonymous, and nothing else" {
    gate_start --token-file tokens --anonymous-check
    gets 202 "$OPERATE" POST /gate/open "$PODINFO"
    gets 200 '' POST /gate/check "$PODINFO"
    gets 403 '' POST /rollback/check "$PODINFO"
    grep -qx Forbidden body
    gets 401 wrong-0123456789abcdef POST /gate/check "$PODINFO"
    gets 401 '' POST /gate/close "$PODINFO"
    gets 401 '' GET /v1/gates
    gets 401 '' GET /v1/whoami
    daemon_stop
}

@test "without tokens everybody is an admin, and the log warns" {
    gate_start
    grep -q '"event":"anybody"' "$DAEMON_LOG"
    gets 200 '' PUT $POD/policy '{"quorum":1}'
    gets 200 any-token-at-all-will-do GET /v1/whoami
    gojq -e '. == {name: "", role: "admin", anonymous: true}' body
    daemon_stop
}

@test "a page of another site changes nothing, whatever the browser may" {
    local name
    gate_start
    for name in 'https://evil.example' null "http://localhost:${DAEMON_URL##*:}" "$DAEMON_URL.evil.example"; do
        gets 403 '' POST /gate/open "$PODINFO" -H "Origin: $name"
        gojq -e '.error | test("another site")' body
        gets 403 '' POST $POD/open '{}' -H "Origin: $name"
        gets 403 '' PUT $POD/policy '{"quorum":1}' -H "Origin: $name"
        gets 403 '' DELETE $POD/policy '' -H "Origin: $name"
    done
    gets 403 '' POST /gate/open "$PODINFO" -H 'Sec-Fetch-Site: cross-site'
    gets 403 '' POST /gate/open "$PODINFO" -H 'Sec-Fetch-Site: same-site'
    gets 403 '' POST /gate/check "$PODINFO" -H 'Origin: https://evil.example' # closed, as text
    grep -qx Forbidden body
    # through the load tester no more than without it
    gate_pid=$DAEMON_PID gate_log=$DAEMON_LOG gate_url=$DAEMON_URL
    daemon_start "$FLAGGER_BUILD/flagger-loadtester" --gate-url "$gate_url"
    gets 403 '' POST /gate/open "$PODINFO" -H 'Origin: https://evil.example'
    gojq -e '.error | test("another site")' body
    gets 403 '' POST /gate/open "$PODINFO" -H "Origin: $DAEMON_URL" # a task's output is no page of the gate
    gets 403 '' POST /gate/open "$PODINFO" -H 'Sec-Fetch-Site: cross-site'
    gets 403 '' POST /gate/check "$PODINFO"
    gets 202 '' POST '/gate/open?hook=promote' "$PODINFO"
    gets 403 '' POST /gate/check "$PODINFO"
    gets 200 '' POST '/gate/check?hook=promote' "$PODINFO"
    daemon_stop
    DAEMON_PID=$gate_pid DAEMON_LOG=$gate_log DAEMON_URL=$gate_url
    gets 202 '' POST /gate/open "$PODINFO" -H "Origin: $DAEMON_URL" -H 'Sec-Fetch-Site: same-origin'
    gets 200 '' POST /gate/check "$PODINFO"
    daemon_stop
}

@test "it answers to its own names only, whoever asks" {
    local name
    gate_start --public-url https://gates.example.com/below --hosts 'approve.example.com, other.example.com'
    for name in evil.example.com evil.example.com:80 gates.example.com.evil.example 127.0.0.1.evil.example; do
        gets 421 '' POST /gate/open "$PODINFO" -H "Host: $name"
        gojq -e --arg name "$name" '.error | contains($name) and contains("--public-url and --hosts")' body
        gets 421 '' POST /gate/check "$PODINFO" -H "Host: $name" -H "Origin: http://$name"
        gets 403 '' POST /gate/check "$PODINFO" -H "Host: $name" # a controller, which sends no Origin
        for path in / /page/main.js /v1/gates /v1/events /links/x /gate/approve; do
            gets 421 '' GET "$path" '' -H "Host: $name"
        done
        for path in /healthz /readyz /metrics; do gets 200 '' GET "$path" '' -H "Host: $name"; done
    done
    for name in flagger-gate flagger-gate:80 flagger-gate.flagger.svc flagger-gate.flagger.svc.cluster.local localhost:1 \
        10.1.2.3 '[::1]:80' gates.example.com approve.example.com other.example.com:443; do
        gets 202 '' POST /gate/open "$PODINFO" -H "Host: $name"
        gets 200 '' GET /v1/gates '' -H "Host: $name"
    done
    curl -s "$DAEMON_URL/metrics" | grep -q '^flagger_gate_foreign_hosts_total [1-9]'
    daemon_stop
}

@test "it starts without saying who may ask only if told so, and not with both said" {
    local said
    for said in '' --anonymous-check '--token-file=' '--link-key-file=keys'; do
        # shellcheck disable=SC2086
        run timeout 10 "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" $said
        [ "$status" -eq 2 ] || { echo "$said: $status $output" && return 1; }
        [[ $output == *'nothing says who may open gates: expected --token-file or --tls-client-ca, or --anybody'* ]]
    done
    run timeout 10 "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --token-file tokens --anybody
    [ "$status" -eq 2 ]
    [[ $output == *'--anybody goes with neither --token-file nor --tls-client-ca'* ]]
    gate_start
    grep -q 'every client that reaches this port may open every gate' "$DAEMON_LOG"
    gets 202 '' POST /gate/open "$PODINFO"
    daemon_stop
}

@test "a wrong token file, or half of the options of TLS, ends it with one sentence" {
    local rows
    for rows in '0123456789abcdef' '0123456789abcdef root adam' '0123456789abcdef admin' 'short admin adam' \
        '0123456789abcdef admin adam smith' 'cert: admin adam'; do
        printf '# first line\n%s\n' "$rows" >wrong
        run "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --token-file wrong
        [ "$status" -eq 2 ] || { echo "$rows: $output" && return 1; }
        [[ $output == *'wrong:2: '* ]]
        [[ $output != *0123456789* ]]
    done
    run "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --token-file nowhere
    [ "$status" -eq 2 ]
    run "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --tls-cert x.pem
    [ "$status" -eq 2 ]
    [[ $output == *'--tls-cert and --tls-key belong together'* ]]
    run "$FLAGGER_BUILD/flagger-gate" --database "$PG_DSN" --tls-client-ca x.pem
    [ "$status" -eq 2 ]
}

# --- TLS

# authority NAME: NAME.pem, NAME.key
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.pem" -subj "/CN=$1" -days 2 2>/dev/null
}

# certificate NAME AUTHORITY
certificate() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" 2>/dev/null
    openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -out "$1.pem" -days 2 \
        -extfile <(echo subjectAltName=IP:127.0.0.1) 2>/dev/null
}

# with NAME: the arguments of curl for its certificate
with() { echo --cert "$1.pem" --key "$1.key"; }

@test "a client certificate counts when it has a row" {
    authority ca
    authority other-ca
    certificate server ca
    certificate pipeline ca
    certificate stranger ca
    certificate forger other-ca
    export CURL_CA_BUNDLE=$PWD/ca.pem
    gate_start --token-file tokens --tls-cert server.pem --tls-key server.key --tls-client-ca ca.pem
    gets 202 '' POST /gate/open "$PODINFO" $(with pipeline)
    gets 200 '' GET /v1/whoami '' $(with pipeline)
    gojq -e '. == {name: "build", role: "operate", anonymous: false}' body
    gets 403 '' PUT $POD/policy '{"quorum":1}' $(with pipeline)
    gets 401 '' POST /gate/check "$PODINFO" $(with stranger)
    gojq -e '.error == "the token file has no row for this client certificate"' body
    gets 401 '' POST /gate/check "$PODINFO"
    gojq -e '.error == "a bearer token or a client certificate is needed"' body
    gets 200 "$CHECK" POST /gate/check "$PODINFO"
    gets 200 "$ADMIN" PUT $POD/policy '{"quorum":1}' $(with pipeline) # the token counts
    gets 401 wrong-0123456789abcdef POST /gate/check "$PODINFO" $(with pipeline)
    gets 000 '' POST /gate/check "$PODINFO" $(with forger)
    gets 200 '' GET /healthz
    daemon_stop
    gate_start --token-file tokens --anonymous-check --tls-cert server.pem --tls-key server.key --tls-client-ca ca.pem
    gets 200 '' POST /gate/check "$PODINFO" $(with stranger)
    gets 401 '' POST /gate/open "$PODINFO" $(with stranger)
    daemon_stop
    gate_start --tls-cert server.pem --tls-key server.key --tls-client-ca ca.pem
    grep -q '"event":"any_certificate"' "$DAEMON_LOG"
    gets 200 '' GET /v1/whoami '' $(with stranger)
    gojq -e '. == {name: "stranger", role: "admin", anonymous: false}' body
    gets 401 '' GET /v1/whoami
    daemon_stop
}

@test "tokens, certificate and client CA follow their files, and wrong ones let nobody in" {
    authority ca
    authority next-ca
    certificate server ca
    certificate renewed next-ca
    certificate pipeline next-ca
    cp server.pem live.pem && cp server.key live.key && cp ca.pem live-ca.pem
    cat ca.pem next-ca.pem >both.pem
    export CURL_CA_BUNDLE=$PWD/both.pem
    gate_start --token-file tokens --tls-cert live.pem --tls-key live.key --tls-client-ca live-ca.pem
    gets 200 "$CHECK" GET /v1/whoami
    gets 000 '' GET /v1/whoami '' $(with pipeline)
    echo 'new-0123456789abcdef root rita' >tokens
    cp renewed.pem live.pem # without its key
    eventually 15 grep -q '"event":"tokens_unread".*tokens:1: expected the role' "$DAEMON_LOG"
    eventually 15 grep -q '"event":"tls_unread".*live.key: ' "$DAEMON_LOG"
    gets 401 "$CHECK" GET /v1/whoami # whoever breaks the file may have meant to shut somebody out
    gets 401 "$CHECK" GET /v1/whoami '' --cacert ca.pem
    printf 'new-0123456789abcdef operate rita\ncert:pipeline check build\n' >tokens.new
    mv tokens.new tokens
    cp renewed.key live.key && cp next-ca.pem live-ca.pem
    eventually 15 gets 200 new-0123456789abcdef GET /v1/whoami
    gets 401 "$CHECK" GET /v1/whoami
    eventually 15 gets 200 new-0123456789abcdef GET /v1/whoami '' --cacert next-ca.pem
    gets 000 new-0123456789abcdef GET /v1/whoami '' --cacert ca.pem
    gets 200 '' GET /v1/whoami '' $(with pipeline)
    gojq -e '.name == "build"' body
    grep -q '"event":"tokens_read"' "$DAEMON_LOG"
    daemon_stop
}

# --- bounds

# wait_for_tokens: until the gate has read its changed file
tokens_read() { [ "$(grep -c '"event":"tokens_read"' "$DAEMON_LOG")" -ge "$1" ]; }

@test "a role bounded to namespaces reaches nothing of the others" {
    local path
    cat >>tokens <<'ROWS'
bea-0123456789abcdef operate:test,stage bea
cat-0123456789abcdef check:test cat
abe-0123456789abcdef admin:test abe
ROWS
    BEA=bea-0123456789abcdef CAT=cat-0123456789abcdef ABE=abe-0123456789abcdef
    local prod='{"name":"podinfo","namespace":"prod"}' PROD=/v1/gates/prod/podinfo
    printf '%064d\n' 1 >keys
    gate_start --token-file tokens --link-key-file keys
    gets 202 "$OPERATE" POST /gate/open "$prod"
    gets 200 "$ADMIN" POST /v1/freezes '{"reason":"all","from":"2990-01-01T00:00:00Z"}'
    gets 200 "$ADMIN" POST /v1/freezes '{"reason":"prod","namespace":"prod","from":"2990-01-01T00:00:00Z"}'
    # its own
    gets 202 "$BEA" POST /gate/open "$PODINFO"
    gets 200 "$CAT" POST /gate/check "$PODINFO"
    gets 200 "$BEA" POST $POD/approve '{"revision":"aaa"}'
    gets 200 "$BEA" POST /v1/gates/stage/podinfo/open '{}'
    gets 200 "$BEA" GET $POD
    gets 200 "$ABE" PUT $POD/policy '{"quorum":1}'
    gets 200 "$ABE" POST /v1/freezes '{"reason":"test","namespace":"test","from":"2990-01-01T00:00:00Z"}'
    gets 200 "$BEA" POST /v1/links '{"namespace":"test","name":"podinfo","action":"open"}'
    gets 200 "$BEA" GET /v1/whoami
    gojq -e '. == {name: "bea", role: "operate", anonymous: false, namespaces: ["test", "stage"]}' body
    # those of others
    gets 403 "$CAT" POST /gate/check "$prod"
    gojq -e '.error == "cat has the role check in the namespaces test only, not in prod"' body
    gets 403 "$CAT" POST /rollback/check "$prod"
    gets 403 "$BEA" POST /gate/close "$prod"
    gets 403 "$BEA" POST /rollback/open "$prod"
    for path in open approve close; do gets 403 "$BEA" POST $PROD/$path '{"revision":"aaa"}'; done
    gets 403 "$BEA" GET $PROD
    gets 403 "$ABE" PUT $PROD/policy '{"quorum":1}'
    gets 403 "$ABE" DELETE $PROD/policy
    gets 403 "$ABE" PUT /v1/gates/stage/podinfo/policy '{"quorum":1}'
    gets 403 "$ABE" POST /v1/freezes '{"reason":"x","namespace":"prod"}'
    gets 403 "$ABE" POST /v1/freezes '{"reason":"x"}'
    gets 403 "$ABE" DELETE /v1/freezes/1
    gets 403 "$ABE" DELETE /v1/freezes/2
    gets 403 "$BEA" POST /v1/links '{"namespace":"prod","name":"podinfo","action":"open"}'
    for path in gates history; do gets 403 "$BEA" GET "/v1/$path?namespace=prod"; done
    # lists leave them out
    gets 200 "$BEA" GET /v1/gates
    gojq -e '[.gates[].namespace] | unique == ["stage", "test"]' body
    gets 200 "$CAT" GET '/v1/gates?namespace=test'
    gojq -e '[.gates[].namespace] | unique == ["test"]' body
    gets 200 "$CAT" GET /v1/history
    gojq -e '[.history[].namespace] | unique == ["", "test"]' body
    gets 200 "$CAT" GET /v1/freezes
    gojq -e '[.freezes[].reason] == ["all", "test"]' body
    gets 200 "$CHECK" GET /v1/freezes
    gojq -e '[.freezes[].reason] == ["all", "prod", "test"]' body
    gets 200 "$ABE" DELETE /v1/freezes/3
    # and so does the stream
    gets 200 "$CHECK" GET /v1/history
    gojq '.history[-1].seq' body >last
    curl -s -N -m 30 -H "Authorization: Bearer $CAT" "$DAEMON_URL/v1/events?after=0" >cat.events 3>&- &
    curl -s -N -m 30 -H "Authorization: Bearer $CHECK" "$DAEMON_URL/v1/events" >carl.events 3>&- &
    eventually 5 grep -q '"namespace": "test"' cat.events
    eventually 5 grep -q 'event: database' carl.events
    gets 202 "$OPERATE" POST /gate/close "$prod"
    gets 403 "$CHECK" POST /gate/check "$prod"
    gets 202 "$OPERATE" POST /gate/close "$PODINFO"
    gets 403 "$CHECK" POST /gate/check "$PODINFO"
    for name in cat carl; do
        eventually 5 grep -q '"action": "close".*"namespace": "test"' $name.events
        eventually 5 grep -q '^data: {"namespace":"test","name":"podinfo"}$' $name.events
    done
    grep -q '"action": "close".*"namespace": "prod"' carl.events
    grep -q '^data: {"namespace":"prod","name":"podinfo"}$' carl.events
    refute grep -q prod cat.events
    grep -q '"reason": "all"' cat.events
    daemon_stop
}

@test "a link is worth what its issuer may do now" {
    local url bad
    printf '%064d\n' 1 >keys
    gate_start --token-file tokens --link-key-file keys
    # link TOKEN [MORE]: sets $url
    link() { gets 200 "$1" POST /v1/links "{\"namespace\":\"test\",\"name\":\"podinfo\",\"action\":\"open\"${2:-}}" && gojq -r .url body; }
    link "$OPERATE" >olga
    link "$ADMIN" ',"as":"olga"' >adam
    link "$ADMIN" >own
    gets 200 '' GET "/links/$(sed 's|.*/||' olga)"
    # olga's row is bounded to another namespace, adam is no admin any more
    printf '%s operate:stage olga\n%s operate adam\n' "$OPERATE" "$ADMIN" >tokens.new
    mv tokens.new tokens
    eventually 15 tokens_read 1
    for bad in olga adam; do
        gets 403 '' GET "/links/$(sed 's|.*/||' $bad)"
        gets 403 '' POST "/links/$(sed 's|.*/||' $bad)" '' -H 'Accept: application/json'
        gojq -e '.error == "whoever made this link may not do what it does any more"' body
    done
    gets 200 "$ADMIN" GET $POD
    gojq -e '.gates[0].open == false' body
    gets 200 '' POST "/links/$(sed 's|.*/||' own)"
    # olga's row is gone, then there again
    printf '%s admin adam\n' "$ADMIN" >tokens.new
    mv tokens.new tokens
    eventually 15 tokens_read 2
    gets 403 '' POST "/links/$(sed 's|.*/||' olga)"
    gets 200 '' POST "/links/$(sed 's|.*/||' adam)"
    printf '%s admin adam\n%s operate olga\n' "$ADMIN" "$OPERATE" >tokens.new
    mv tokens.new tokens
    eventually 15 tokens_read 3
    gets 200 '' POST "/links/$(sed 's|.*/||' olga)"
    curl -s "$DAEMON_URL/metrics" | grep -q 'flagger_gate_links_total{outcome="revoked"} 5'
    daemon_stop
    # what somebody without a name made opens nothing once the gate asks for names
    gate_start --link-key-file keys
    link '' >nobody
    daemon_stop
    gate_start --link-key-file keys --token-file tokens
    gets 403 '' POST "/links/$(sed 's|.*/||' nobody)"
    daemon_stop
}

@test "a stream of events ends with its token" {
    gate_start --token-file tokens
    for name in "$CHECK" "$OPERATE"; do
        curl -s -N -m 60 -H "Authorization: Bearer $name" "$DAEMON_URL/v1/events" >"$name.events" 3>&- &
        eventually 5 grep -q 'event: database' "$name.events"
    done
    sed -i "/^$CHECK /d" tokens
    eventually 15 tokens_read 1
    gets 202 "$OPERATE" POST /gate/open "$PODINFO"
    eventually 5 grep -q 'event: change' "$OPERATE.events"
    refute grep -q 'event: change' "$CHECK.events"
    one_left() { curl -s "$DAEMON_URL/metrics" | grep -q '^flagger_gate_event_clients 1$'; }
    eventually 5 one_left
    daemon_stop
}
