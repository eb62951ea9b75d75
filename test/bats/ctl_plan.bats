# kubectl canary plan: what people and programs get. That a release goes so: test/golden/cases/providers.yaml.

bats_require_minimum_version 1.5.0

setup() {
    load ../lib/daemon
    cd "$BATS_TEST_TMPDIR" || return
    # No cluster is asked: there is none, and no kubeconfig.
    export HOME=$BATS_TEST_TMPDIR KUBECONFIG=$BATS_TEST_TMPDIR/none
    cat >canary.yaml <<'YAML'
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: web, namespace: shop}
spec:
  provider: istio
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  service: {port: 80, hosts: [web.example]}
  analysis:
    interval: 1m
    threshold: 2
    stepWeight: 20
    maxWeight: 50
    metrics:
    - {name: request-success-rate, thresholdRange: {min: 99}}
    webhooks:
    - {name: gate, type: confirm-rollout, url: 'http://gate.shop/'}
    - {name: load, url: 'http://load.shop/'}
YAML
}

plan() { "$FLAGGER_BUILD/kubectl-canary" plan "$@"; }

@test "each step has its time, its traffic and what is asked" {
    run -0 --separate-stderr plan canary.yaml
    [ -z "$stderr" ]
    diff <(printf '%s\n' "$output") - <<'TEXT'
Canary shop/web: canary with istio, every 1m0s

AT    PHASE        PRIMARY  CANARY  WEBHOOKS  METRICS
0s    Progressing  100%     0%      gate
1m0s  Progressing  80%      20%
2m0s  Progressing  60%      40%     load      request-success-rate
3m0s  Progressing  50%      50%     load      request-success-rate
4m0s  Promoting    50%      50%     load      request-success-rate
5m0s  Finalising   100%     0%
6m0s  Succeeded    100%     0%
Promoted after 6m0s, when pods are ready at once, metrics are in their ranges and webhooks pass.

Made:    Deployment web-primary, Service web, Service web-primary, Service web-canary, DestinationRule web-canary, DestinationRule web-primary, VirtualService web
Changed: Deployment web
Assumed: Deployment shop/web
TEXT
}

@test "a release that is over before its steps are is shown so" {
    sed -i 's/interval: 1m/interval: 1m\n    maxDuration: 4m/' canary.yaml
    run -0 --separate-stderr plan canary.yaml
    [[ $output == *"3m0s  Progressing  50%      50%     load      request-success-rate"*"4m0s  Failed       100%     0%"* ]]
    [[ $output == *"Rolled back after 4m0s, even when all is well: Rolling back web.shop, the analysis has lasted longer than 4m0s (maxDuration)"* ]]
}

@test "steps with times and gates: a person resumes at once" {
    sed -i '/maxWeight/d; s/stepWeight: .*/steps: [{weight: 5, for: 3m}, {weight: 50, gate: true}]/' canary.yaml
    run -0 --separate-stderr plan canary.yaml
    [[ $output == *"1m0s  Progressing  95%      5%"*"3m0s  Progressing  95%      5%"*"4m0s  Progressing  50%      50%"*"6m0s  Promoting    50%      50%"* ]]
    [[ $output == *"Promoted after 8m0s"* ]]
    run -0 --separate-stderr plan -o json canary.yaml
    gojq -e '[.[0].steps[].events] | add | test("paused at weight 50 until it is resumed")' <<<"$output"
}

@test "a rollback in steps" {
    sed -i 's/stepWeight: .*/&\n    rollback: {steps: [{weight: 80, for: 30s}, {weight: 95}]}/' canary.yaml
    run -0 --separate-stderr plan canary.yaml
    [[ $output == *"A rollback gives the primary 80% for 30s, 95% for 1m0s, then all."* ]]
    run -0 --separate-stderr plan -o json canary.yaml
    gojq -e '.[0].rollback == [{primary: 80, for: "30s"}, {primary: 95, for: "1m0s"}]' <<<"$output"
}

@test "a number that is compared with the primary's" {
    sed -i 's/{name: request-success-rate.*/{name: memory, templateRef: {name: memory}, compare: primary, judge: {worse: lower, tolerate: 5Mi}}/; s/^    threshold: 2/    threshold: 2\n    judge: {type: sequential, every: 20s}/' canary.yaml
    cat >template.yaml <<'YAML'
apiVersion: flagger.app/v1beta1
kind: MetricTemplate
metadata: {name: memory, namespace: shop}
spec: {query: 'memory{app="{{ workload }}"}', provider: {type: prometheus, address: 'http://p'}}
YAML
    run -0 --separate-stderr plan canary.yaml template.yaml
    grep -Fx "memory is compared with the primary's every 20s: rolled back when lower by more than 5242880, and than it varies by itself." <<<"$output"
    sed -i 's/workload/service/' template.yaml
    run -1 plan canary.yaml template.yaml
    [[ $output == *'spec.analysis.metrics[0].compare: '*'MetricTemplate memory.shop asks the same for canary and primary'* ]]
    sed -i 's/compare: primary/compare: past/' canary.yaml
    run -0 --separate-stderr plan canary.yaml template.yaml
    grep -Fx "memory is compared with the primary's at the same time of the last 7 days every 20s: rolled back when lower by more than 5242880, and than days differ by." <<<"$output"
    sed -i 's/{name: memory.*/{name: request-duration, compare: primary}/' canary.yaml
    run -0 --separate-stderr plan canary.yaml
    grep -Fx "request-duration is compared with the primary's every 20s, at all bounds of the histogram: rolled back when longer by more than 0 %." <<<"$output"
}

@test "the objects are YAML that can be applied, and JSON has everything" {
    run -0 --separate-stderr plan canary.yaml -o yaml
    gojq --yaml-input -e '.kind == "List" and ([.items[] | "\(.kind) \(.metadata.name)"] | index("VirtualService web", "Deployment web-primary") != null)' <<<"$output"
    gojq --yaml-input -e 'all(.items[]; .apiVersion and .metadata.namespace == "shop" and (.metadata | has("uid") or has("resourceVersion") | not) and (has("status") | not))' <<<"$output"
    run -0 --separate-stderr plan -o json - <canary.yaml
    gojq -e '.[0] | .name == "web" and .namespace == "shop" and .strategy == "canary" and .interval == "1m0s" and (.made | length) == 7' <<<"$output"
    gojq -e '.[0].steps[2] | .at == "2m0s" and .phase == "Progressing" and .primary == 60 and .canary == 40 and .webhooks == "load"
        and (.events | test("Advance web.shop canary weight 40"))' <<<"$output"
}

@test "what is in the files is there before" {
    cat >target.yaml <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {team: blue}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'web:7'}]}
YAML
    run -0 --separate-stderr plan canary.yaml target.yaml -o yaml
    gojq --yaml-input -e '.items[] | select(.kind == "Deployment" and .metadata.name == "web-primary") | .spec.replicas == 3
        and .spec.template.spec.containers[0].image == "web:7"' <<<"$output"
    # One that cannot be released says so.
    sed -i 's/app: web/tier: web/g' target.yaml
    run -1 --separate-stderr plan canary.yaml target.yaml
    [[ $stderr == *'plan: Canary shop/web: '* ]] && [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "a Canary that is refused has no plan" {
    sed -i 's/provider: istio/provider: traefik/; s/stepWeight: 20/mirror: true\n    stepWeight: 20/' canary.yaml
    run -1 --separate-stderr plan canary.yaml
    [ -z "$output" ] && [[ $stderr == *'Canary shop/web: spec.analysis.mirror: mirroring is not possible with provider traefik'* ]]
    sed -i 's/interval: 1m/interval: soon/' canary.yaml
    run -1 --separate-stderr plan canary.yaml
    [[ $stderr == *'spec.analysis.interval: '*'lint tells all mistakes' ]]
    for arguments in '' 'none.yaml' '--mesh-provider wind canary.yaml' '-o name canary.yaml'; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr plan $arguments
        [ -z "$output" ] && [ "${#stderr_lines[@]}" -eq 1 ]
    done
    printf 'kind: Secret\n' >other.yaml
    run -1 --separate-stderr plan other.yaml
    [[ $stderr == *'there is no Canary in these files' ]]
}

@test "a plan that does not begin says which rule waits for what" {
    sed -i 's/name: web, namespace: shop}/name: web}/' canary.yaml
    cat >target.yaml <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {k8s-app: web}}
  template:
    metadata: {labels: {k8s-app: web}}
    spec: {containers: [{name: web, image: 'web:3'}]}
YAML
    run -1 --separate-stderr plan canary.yaml target.yaml
    [[ $stderr == *'plan: Canary default/web: the Canary stays Initializing: its target cannot be released: deployment web.default spec.selector.matchLabels must contain one of '* ]]
    run -0 plan --selector-labels k8s-app canary.yaml target.yaml
    # The version of a reference is not looked at, by no rule.
    sed -i 's,apiVersion: apps/v1,apiVersion: extensions/v1beta1,' canary.yaml
    run -0 plan canary.yaml
    # An Ingress of before, as an API server that serves both returns it.
    sed -i 's/provider: istio/provider: nginx\n  ingressRef: {apiVersion: extensions\/v1beta1, kind: Ingress, name: web}/' canary.yaml
    run -0 plan canary.yaml
    cat >ingress.yaml <<'YAML'
apiVersion: extensions/v1beta1
kind: Ingress
metadata: {name: web}
spec: {rules: [{host: web.example, http: {paths: [{path: /, backend: {serviceName: web, servicePort: http}}]}}]}
YAML
    run -0 plan canary.yaml ingress.yaml -o yaml
    gojq --yaml-input -e '.items[] | select(.kind == "Ingress") | .spec.rules[0].http.paths[0].backend.service == {name: "web-canary", port: {name: "http"}}' <<<"$output"
}

@test "what the API server refuses, or another Canary claims, has no plan" {
    sed 's/threshold: 2/treshold: 2/' canary.yaml >mistyped.yaml
    run -1 --separate-stderr plan mistyped.yaml
    [[ $stderr == *'plan: Canary shop/web: spec.analysis.treshold: unknown field; did you mean threshold?; kubectl canary lint tells all mistakes' ]]
    sed 's/metadata: {name: web,/metadata: {name: rival,/' canary.yaml >rival.yaml
    run -1 --separate-stderr plan canary.yaml rival.yaml
    [[ $stderr == *'plan: Canary shop/rival: spec.targetRef.name: Deployment/web is looked after by Canary web.shop'* ]]
}

# As most files have it: kubectl gives it one, and so do we, or -n.
@test "a workload without a namespace is in that of its Canary, or of -n" {
    cat >files.yaml <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: till}
spec:
  selector: {matchLabels: {app: till}}
  template:
    metadata: {labels: {app: till}}
    spec: {containers: [{name: till, image: 'till:3', envFrom: [{configMapRef: {name: till}}]}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: till}
data: {mode: fast}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: till}
spec:
  provider: kubernetes
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: till}
  service: {port: 80}
  analysis: {interval: 30s, threshold: 2, iterations: 1}
YAML
    run -0 plan files.yaml -o json
    gojq -e '.[0] | .namespace == "default" and (.assumed | length) == 0 and ([.made[], .changed[] | .metadata.namespace] | unique) == ["default"]' <<<"$output"
    run -0 plan -n shop files.yaml -o json
    gojq -e '.[0] | .namespace == "shop" and (.assumed | length) == 0 and ([.made[], .changed[] | .metadata.namespace] | unique) == ["shop"]
        and any(.made[]; .kind == "ConfigMap" and .metadata.name == "till-primary")' <<<"$output"
    # One that names another is another.
    sed '0,/name: till/s//name: till, namespace: other/' files.yaml >other.yaml
    run -0 plan -n shop other.yaml -o json
    gojq -e '.[0].assumed == ["Deployment shop/till"]' <<<"$output"
    run -0 "$FLAGGER_BUILD/kubectl-canary" lint -n other other.yaml
    # Without -n the Canary is where its workload is.
    run -0 plan other.yaml -o json
    gojq -e '.[0] | .namespace == "other" and (.assumed | length) == 0' <<<"$output"
}

# judged TRAFFIC BAD: the canary's share of bad requests that is promised, of each judged metric
judged() { plan -o json canary.yaml --traffic "$1" --bad "$2" | gojq -r '.[0].promises[] | "\(.metric) \(.canaryBad * 10 | round)"'; }

@test "a judge: how small a regression is found, and how soon" {
    sed -i 's/maxWeight: 50/&\n    judge: {type: sequential}/; s/thresholdRange: {min: 99}}/&\n    - {name: request-duration, thresholdRange: {max: 500}}\n    - {name: other, templateRef: {name: other}, thresholdRange: {max: 1}}/' canary.yaml
    run -0 --separate-stderr plan canary.yaml --traffic 50 --bad 0.5
    text=$(tr -s ' \n' ' ' <<<"$output")
    [[ $text =~ 'Found: request-success-rate: with 50 requests a second of which 0.5% fail, a canary of which 1.'[0-9]'% fail is rolled back in 9 of 10 releases, in half of them within '[12]m[0-9]*s' and '[0-9]+' requests to it' ]]
    [[ $text =~ 'Found: request-duration: with 50 requests a second of which 0.5% take longer than 500 ms, a canary of which 1.'[0-9]'% take longer than 500 ms' ]]
    [ "$(grep -c Found: <<<"$output")" = 2 ]
    # more traffic finds less, and of more that is bad a smaller part
    judged 5 0.5 | head -n 1 >five
    judged 500 0.5 | head -n 1 >many
    [ "$(cut -d ' ' -f 2 <five)" -gt 30 ]
    [ "$(cut -d ' ' -f 2 <many)" -lt 12 ]
    # too few for any promise; and none without a judge, or where the canary is not beside the primary
    run -0 --separate-stderr plan canary.yaml --traffic 0.01
    [[ $(tr -s ' \n' ' ' <<<"$output") == *"request-success-rate: with 0.01 requests a second of which 1% fail, even a canary of which all fail is rolled back in only "* ]]
    run -0 --separate-stderr plan canary.yaml
    [[ $(tr -s ' \n' ' ' <<<"$output") == *"request-success-rate: nothing is known of the traffic; --traffic says how many requests a second there are"* ]]
    sed -i '/judge:/d' canary.yaml
    run -0 --separate-stderr plan canary.yaml --traffic 50
    [[ $output != *Found:* ]]
}

@test "a judge: the traffic is that of the last release in the history" {
    sed -i 's/maxWeight: 50/&\n    judge: {type: sequential}/' canary.yaml
    cat >>canary.yaml <<'YAML'
status:
  history:
  - revision: a
    outcome: promoted
    began: "2026-01-01T00:00:00Z"
    looks: [{name: request-success-rate, bad: failed, since: "2026-01-01T00:00:00Z", counts: [[60, 10, 100, 5, 1100, 50]]}]
  - revision: b
    outcome: promoted
    began: "2026-01-02T00:00:00Z"
    looks: [{name: request-success-rate, bad: failed, since: "2026-01-02T00:00:00Z", counts: [[60, 10, 300, 3, 2700, 27], [120, 20, 600, 0, 2400, 24]]}]
YAML
    run -0 --separate-stderr plan canary.yaml
    [[ $(tr -s ' \n' ' ' <<<"$output") == *"Found: request-success-rate: with 50 requests a second of which 1% fail, a canary of which "* ]]
    run -0 --separate-stderr plan canary.yaml --traffic 7
    [[ $(tr -s ' \n' ' ' <<<"$output") == *"with 7 requests a second of which 1% fail"* ]]
}

@test "a traffic that cannot be is a sentence" {
    for row in "--traffic -1" "--traffic 1e12" "--bad 100" "--bad -1"; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr plan canary.yaml $row
        [[ $stderr == "kubectl canary: plan: ${row% *}: expected "*", found "* ]] || { echo "$row: $stderr" && return 1; }
    done
    run -2 --separate-stderr plan canary.yaml --traffic many
    [[ $stderr == *"--traffic"*"many"* ]]
}
