# The load tester as its image and chart are: each type of task and each tool that its page names, for real. Tasks of kubectl and helm
# read the token of the service account, which the chart gives them by default.
needs loadtester
REPLICAS=1 podinfo 6.0.0
k patch deployment podinfo --type json -p '[{"op": "add", "path": "/spec/template/spec/containers/0/command/-", "value": "--grpc-port=9999"}]'
k expose deployment podinfo --port 9898
k expose deployment podinfo --name grpc --port 9999
k rollout status deployment/podinfo --timeout 60s
# task TYPE COMMAND: what the controller would send; the answer is that of a webhook, and has the output
task() {
    gojq -n --arg type "$1" --arg cmd "$2" --arg namespace "$case" '{name: "podinfo", namespace: $namespace, phase: "Progressing", checksum: "1", metadata: {type: $type, cmd: $cmd, logCmdOutput: "true", returnCmdOutput: "true"}}' |
        in_pod curl -s -w '\n%{http_code}' -H 'Content-Type: application/json' -d @- http://flagger-loadtester/ >"$state/task.$case"
    done=$((done + 1))
    [[ $(tail -n 1 "$state/task.$case") == 20? ]] || { cat "$state/task.$case" && fail "$1: $2"; }
}
done=0 web=podinfo.$case:9898
task bash "hey -n 20 -c 2 http://$web/"
task bash "wrk -t 1 -c 2 -d 1s http://$web/"
task bash "wrk -t 1 -c 2 -d 1s http://podinfo.$case:9898/version"
task bash "ghz --insecure --proto /tmp/ghz/health.proto --call grpc.health.v1.Health.Check -n 10 -c 1 grpc.$case:9999"
task bash "ghz --insecure --proto /protos/health.proto --call grpc.health.v1.Health.Check -n 10 -c 1 grpc.$case:9999"
task bash "grpc_health_probe -addr grpc.$case:9999"
task bash "curl -sf http://$web/version | jq -e .version"
task bash "wget -q -O - http://$web/healthz"
task bash "git init -q /tmp/repository-$case && git -C /tmp/repository-$case status"
task bash "printf '@test \"it answers\" {\n curl -sf http://$web/healthz\n}\n' >/tmp/$case.bats && bats /tmp/$case.bats"
task kubectl "get pods --namespace $case -o name"
grep -q pod/podinfo "$state/task.$case" || fail "kubectl sees no pods: $(cat "$state/task.$case")"
task bash "kubectl auth can-i get pods --namespace $case"
task helm "list --namespace $SYSTEM"
grep -q flagger-loadtester "$state/task.$case" || fail "helm sees no releases: $(cat "$state/task.$case")"
task helmv3 "list --namespace $SYSTEM"
# In the background: answered at once, and seen later.
task cmd "hey -z 2s -c 1 http://$web/background"
seen() { in_pod curl -s http://flagger-loadtester/tasks | grep -q "$case"; }
eventually seen
# A task that fails is a check that fails.
if task bash 'exit 3' >/dev/null 2>&1; then fail 'a task that fails is taken for good'; fi
# It cannot do what its walls are for.
if task bash "kill -9 1" >/dev/null 2>&1; then fail 'a task may end the load tester'; fi
[ "$(restarts "$SYSTEM" app=loadtester)" = 0 ] || fail 'the load tester was restarted'
echo "measured $done tasks with their tools"
