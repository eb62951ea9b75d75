# Load from many pods: webhooks have the load tester make an indexed Job, whose pods the real controller of Jobs makes and a node of the
# case runs as processes. One a step, also for two load testers and after a restart; judged without a metric server; ended with the release.
folder=$state/jobs
mkdir -p "$folder/templates" "$folder/logs"
python3 test/real/job_node.py "https://127.0.0.1:$api" admin-token "$state/pki/apiserver.crt" "$state/pki/apiserver.key" "$folder/logs" job-node \
    >"$state/log/job_node.log" 2>&1 &
helpers=($!)
# shellcheck disable=SC2317 # called by the trap
end_helpers() { kill -KILL "${helpers[@]}" 2>/dev/null || true; }
trap end_helpers EXIT

job() { # NAME COMMAND: a template
    cat >"$folder/templates/$1.yaml" <<END
apiVersion: batch/v1
kind: Job
metadata: {annotations: {flagger.app/results: hey-csv}}
spec: {template: {spec: {nodeName: job-node, containers: [{name: load, image: process, command: $2}]}}}
END
}
# shellcheck disable=SC2016 # variables of the pods
{
    job hey '[hey, -o, csv, -n, $(REQUESTS_PER_POD), -c, "2", $(TARGET_URL)]'
    job slow '[sh, -c, "echo response-time,status-code; exec sleep 300"]'
    job broken '[sh, -c, "exit $(CONCURRENCY)"]'
}
tester() { # PORT
    "$build/flagger-loadtester" --address 127.0.0.1 --port "$1" --job-templates "$folder/templates" --job-namespace "$case" --job-max-pods 8 \
        --kubeconfig "$state/kubeconfig-loadtester" >>"$state/log/loadtester.$1.log" 2>&1 &
    helpers+=($!)
    wait_for 20 "the load tester" curl -sf "http://127.0.0.1:$1/readyz"
}
mapfile -t ports < <(free_ports 2)
one=${ports[0]} two=${ports[1]}
tester "$one"
first=${helpers[-1]}
tester "$two"

# hook_says PORT TEMPLATE PHASE STEP [METADATA]: what a webhook is answered
hook_says() {
    curl -s -m 20 "http://127.0.0.1:$1/" -d "{\"name\": \"app\", \"namespace\": \"$case\", \"phase\": \"$3\", \"checksum\": \"c\", \"release\": \"r\",
        \"step\": \"$4\", \"metadata\": {\"type\": \"job\", \"template\": \"$2\", \"parallelism\": \"8\", \"url\": \"http://127.0.0.1:$two/healthz\", \"requests\": \"800\"${5:-}}}"
}
jobs_are() { [ "$(k get jobs -o name | wc -l)" -eq "$1" ]; }
ends_as() { hook_says "${@:2}" >"$folder/answer" && [ "$(gojq -r .state "$folder/answer")" = "$1" ]; }

# Without a right it says so; and only the Role gives it.
[[ $(hook_says "$one" hey Progressing 'weight 10') == *"was not created in namespace $case, the load tester needs a Role there: "*forbidden* ]]
jobs_are 0
k create role jobs --verb=create,get,list,delete --resource=jobs.batch >/dev/null
k patch role jobs --type json -p '[{"op": "add", "path": "/rules/-", "value": {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}},
    {"op": "add", "path": "/rules/-", "value": {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}}]' >/dev/null
k create rolebinding jobs --role jobs --serviceaccount flagger-system:loadtester >/dev/null
[ "$(kubectl --kubeconfig "$state/kubeconfig-loadtester" auth can-i create jobs -n "$case")" = yes ]
[ "$(kubectl --kubeconfig "$state/kubeconfig-loadtester" auth can-i create jobs -n default || true)" = no ]
[ "$(kubectl --kubeconfig "$state/kubeconfig-loadtester" auth can-i get secrets -n "$case" || true)" = no ]

# Eight real heys; two load testers and one that has restarted watch one Job.
eventually ends_as running "$one" hey Progressing 'weight 10'
hook_says "$two" hey Progressing 'weight 10' | gojq -e '.state == "running" or .state == "reading" or .state == "succeeded"'
kill -KILL "$first"
tester "$one"
eventually ends_as succeeded "$one" hey Progressing 'weight 10'
jobs_are 1
is job "$(k get jobs -o jsonpath='{.items[0].metadata.name}')" '.spec.completionMode == "Indexed" and .status.succeeded == 8 and .metadata.annotations["flagger.app/step"] == "weight 10"'
[ "$(gojq -r '"\(.requests) \(.failures) \(.message)"' "$folder/answer")" = "800 0 8 of 8 pods counted" ]
python3 test/real/percentiles.py "$folder/answer" "$folder/logs/$case".load-app-*.log
eventually ends_as succeeded "$two" hey Progressing 'weight 10'
jobs_are 1

# Logs of more than a megabyte each.
long() {
    curl -s -m 20 "http://127.0.0.1:$one/" -d "{\"name\": \"app\", \"namespace\": \"$case\", \"phase\": \"Progressing\", \"checksum\": \"c\", \"release\": \"r\", \"step\": \"weight 15\",
        \"metadata\": {\"type\": \"job\", \"template\": \"hey\", \"parallelism\": \"2\", \"url\": \"http://127.0.0.1:$two/healthz\", \"requests\": \"40000\"}}" >"$folder/answer"
    [ "$(gojq -r '"\(.state) \(.requests) \(.message)"' "$folder/answer")" = "succeeded 40000 2 of 2 pods counted" ]
}
eventually long
[ "$(cat "$folder/logs/$case".load-app-*.log | wc -c)" -gt 2000000 ]

# A pod that fails is named.
eventually ends_as failed "$one" broken Progressing 'weight 10' ', "concurrency": "3"'
[[ $(gojq -r .message "$folder/answer") == "0 of 8 pods counted"*"failed: exit status 3 of container load"* ]]

# What runs ends with the next step, and with the release.
eventually ends_as running "$one" slow Progressing 'weight 20'
slow=$(k get jobs -o json | gojq -r '.items[] | select(.metadata.annotations["flagger.app/template"] == "slow") | .metadata.name')
eventually ends_as running "$one" slow Progressing 'weight 30'
gone() { ! k get job "$1" >/dev/null 2>&1; }
eventually gone "$slow"
ended() { [ -z "$(hook_says "$two" slow Failed 'weight 30')" ] && jobs_are 0; }
eventually ended
no_pods() { [ -z "$(k get pods -l app.kubernetes.io/managed-by=flagger-loadtester -o name)" ]; }
eventually no_pods

# A TestRun, by the CRD of k6's operator; the case is the operator: runner pods with its labels, and the stages.
testrun() { # STAGE: it is the operator's
    k patch testrun "$run" --subresource status --type merge -p "{\"status\": {\"stage\": \"$1\"}}" >/dev/null
}
runner() { # NUMBER MILLISECONDS
    k apply -f - >/dev/null <<END
apiVersion: v1
kind: Pod
metadata: {name: "$run-$1", labels: {k6_cr: "$run", runner: "true"}}
spec:
  nodeName: job-node
  restartPolicy: Never
  containers:
    - name: k6
      image: process
      command: [printf, '{"type":"Metric","metric":"http_reqs","data":{}}\n{"type":"Point","metric":"http_reqs","data":{"value":1}}\n{"type":"Point","metric":"http_req_duration","data":{"value":$2}}\n{"type":"Point","metric":"http_req_failed","data":{"value":0}}\n']
END
}
k6_ends_as() {
    curl -s -m 20 "http://127.0.0.1:$one/" -d "{\"name\": \"app\", \"namespace\": \"$case\", \"phase\": \"${3:-Progressing}\", \"checksum\": \"c\",
        \"metadata\": {\"type\": \"k6\", \"template\": \"smoke\", \"parallelism\": \"3\", \"url\": \"http://127.0.0.1/\"}}" >"$folder/answer"
    [[ $(gojq -r '.state + " " + .message' "$folder/answer") == "$1 "*"${2:-}"* ]]
}
if [ -e "$assets/k6-testruns.yaml" ]; then
    kubectl apply --server-side -f "$assets/k6-testruns.yaml" >/dev/null
    served() { kubectl get --raw /apis/k6.io/v1alpha1 2>/dev/null | gojq -e '.resources | any(.name == "testruns")' >/dev/null; }
    eventually served
    printf '%s\n' 'apiVersion: k6.io/v1alpha1' 'kind: TestRun' 'spec: {script: {configMap: {name: smoke, file: test.js}}, arguments: --out json=/dev/stdout}' >"$folder/templates/smoke.yaml"
    # Rights on Jobs are none on TestRuns.
    curl -s -m 20 "http://127.0.0.1:$one/" -d "{\"name\": \"app\", \"namespace\": \"$case\", \"phase\": \"Progressing\", \"checksum\": \"c\",
        \"metadata\": {\"type\": \"k6\", \"template\": \"smoke\"}}" | grep -q 'the TestRun was not created in namespace .*forbidden'
    k patch role jobs --type json -p '[{"op": "add", "path": "/rules/-", "value": {"apiGroups": ["k6.io"], "resources": ["testruns"], "verbs": ["create", "get", "list", "delete"]}}]' >/dev/null
    eventually k6_ends_as running "in the stage (none)"
    run=$(k get testruns -o jsonpath='{.items[0].metadata.name}')
    is testrun "$run" '.spec.parallelism == 3 and (.spec.runner.env | any(.name == "TARGET_URL" and .value == "http://127.0.0.1/"))'
    testrun initialization
    eventually k6_ends_as running "in the stage initialization"
    for number in 1 2 3; do runner "$number" "${number}00"; done
    testrun started
    eventually k6_ends_as running "in the stage started"
    testrun finished
    eventually k6_ends_as succeeded "3 of 3 pods counted"
    gojq -e '.requests == 3 and .failures == 0 and .max == 300 and .p50 >= 200 and .p50 <= 210' "$folder/answer" >/dev/null
    k6_ends_as '' '' Succeeded || true
    no_testruns() { [ -z "$(k get testruns -o name)" ]; }
    eventually no_testruns
    echo "a TestRun of three pods"
else
    echo "skipped: no CRD of k6's operator; test/setup --real gets it"
fi

# Releases of the real controller, judged by them.
load() { # BOUNDS [TEMPLATE]
    echo "$STEPS, webhooks: [{name: load, url: \"http://127.0.0.1:$one/\", metadata: {type: job, template: ${2:-hey}, parallelism: \"8\", requests: \"800\", url: \"http://127.0.0.1:$two/healthz\"}}],
      metrics: [{name: slowest, loadTest: {figure: p99}, thresholdRange: {$1}}, {name: enough, loadTest: {figure: requests}, thresholdRange: {min: 800}}]"
}
deployment
canary app gatewayapi:v1 "$(load 'max: 30000')"
comes Initialized
release 2.0.0
comes Succeeded
runs app-primary 2.0.0
eventually told 'its load test load runs'
# The history has the figures.
is canary app '[.status.history[0] | .. | strings | select(startswith("{\"state\":\"succeeded\",\"requests\":800,\"failures\":0,\"failureRate\":0,\"p50\":"))] | length > 0'
eventually jobs_are 0
canary app gatewayapi:v1 "$(load 'max: 0.0001')"
release 3.0.0
comes Failed
runs app-primary 2.0.0
told 'advancement slowest '
eventually jobs_are 0
# What ends a release in the middle ends its load test: a suspension, also where the controller is killed then, the spec before, and the Canary's
# deletion, also while the load tester is away.
canary app gatewayapi:v1 "$(load 'max: 30000' slow)"
release 4.0.0
eventually jobs_are 1
is canary app '.status.loadTests.revision != null and .metadata.finalizers == ["finalizer.flagger.app"]'
change canary app '{"spec": {"suspend": true}}'
controller_kill
eventually jobs_are 0
is canary app '.status.phase == "Progressing" and .status.loadTests == null'
change canary app '{"spec": {"suspend": false}}'
eventually jobs_are 1
release 2.0.0
comes Succeeded
eventually jobs_are 0
release 4.0.0
eventually jobs_are 1
kill -KILL "${helpers[-1]}"
k delete canary app --wait=false >/dev/null
eventually told 'could not be ended, trying again: load said: '
tester "$one"
k wait canary app --for=delete --timeout=120s >/dev/null
eventually jobs_are 0
