# A cluster on this machine, real traffic, and everything that can be killed is.

setup_file() {
    load ../lib/stage
    stage_begin
    stage_enter
    gate open
    api_merge test canaries podinfo '{"spec":{"analysis":{"interval":"2s","stepWeight":30}}}'
}

teardown_file() {
    load ../lib/stage
    stage_end
}

setup() {
    load ../lib/stage
    stage_enter
}

@test "kubectl shows canaries as the CRD's columns say" {
    run kubectl get canaries -A
    [ "$status" -eq 0 ]
    [[ ${lines[0]} =~ ^NAMESPACE\ +NAME\ +STATUS\ +WEIGHT\ +LASTTRANSITIONTIME ]]
    [[ ${lines[1]} =~ ^test\ +podinfo\ +Initialized\ +0\ +20 ]]
    run kubectl get canaries -A -o wide
    [[ ${lines[0]} == *FAILEDCHECKS*INTERVAL*STEPWEIGHT*MAXWEIGHT* ]]
}

@test "kubectl wait returns on the condition promoted" {
    kubectl -n test wait canary/podinfo --for=condition=promoted --timeout=90s
}

@test "kubectl describe shows the events" {
    run kubectl -n test describe canary podinfo
    [[ $output == *"Initialization done! podinfo.test"* ]]
}

# The target has gone to zero, after its pause.
is_drained() {
    ! api_look test canaries podinfo | gojq -e '.status.conditions[] | select(.type == "Drained")' >/dev/null &&
        [ "$(api_look test deployments podinfo | gojq -r '.spec.replicas // ""')" = 0 ]
}

@test "the objects of contract are there: primary, services, route" {
    eventually 30 is_drained
    [ "$(api_look test deployments podinfo-primary | gojq -r '.status.readyReplicas // ""')" -ge 1 ]
    [ "$(api_look test services podinfo | gojq -r '.spec.selector.app // ""')" = podinfo-primary ]
    [ "$(api_look test services podinfo-primary | gojq -r '.spec.selector.app // ""')" = podinfo-primary ]
    [ "$(api_look test services podinfo-canary | gojq -r '.spec.selector.app // ""')" = podinfo ]
    api_look test httproutes podinfo |
        gojq -e '[.spec.rules[0].backendRefs[] | {(.name): .weight}] | add == {"podinfo-primary": 100, "podinfo-canary": 0}'
    serves 1.0.0
}

@test "every Canary, MetricTemplate and AlertProvider of the field is accepted" {
    manifests=$BATS_TEST_DIRNAME/../data/manifests
    sed -n 's/^  namespace: *//p' "$manifests"/*.yaml | tr -d \" | sort -u | while read -r namespace; do
        kubectl create namespace "$namespace" >/dev/null 2>&1 || true
    done
    for file in "$manifests"/*.yaml; do
        run kubectl apply --dry-run=server -f "$file"
        # The one AlertProvider with both address and secretRef is refused by its own schema.
        if [ "$(basename "$file")" = usage-alerting.yaml ]; then
            [[ $output == *on-call* ]]
            continue
        fi
        [ "$status" -eq 0 ] || { echo "$file: $output" && return 1; }
    done
}

@test "an idle canary makes no request" {
    phase_is Initialized
    eventually 30 is_drained
    sleep 1
    before=$(busy flagger-controller)
    sleep "${E2E_IDLE_SECONDS:-20}"
    [ "$(busy flagger-controller)" -eq "$before" ]
}

# kill_during PATTERN VERSION: a good release that loses a process on its way
kill_during() {
    client_begin
    release "$2"
    eventually 30 weight_above 20
    pid=$(stage_pid "$1")
    [ -n "$pid" ]
    as_root kill -KILL "$pid"
    eventually 60 phase_is Succeeded
    serves "$2"
    failed=$(client_failed)
    [ "$failed" = 0 ] || { echo "failed requests: $failed" && return 1; }
    ! serves 1.0.0
}

@test "kill -9 of the controller: the release goes on" { kill_during flagger-controller 2.0.1; }
@test "kill -9 of the load tester: the release goes on" { kill_during flagger-loadtester 2.0.2; }
@test "kill -9 of the gate: the release goes on" { kill_during flagger-gate 2.0.3; }
@test "kill -9 of PostgreSQL: the release goes on" { kill_during postgres 2.0.4; }

@test "kill -9 of the proxy: the release goes on" {
    release 2.0.5
    eventually 30 weight_above 20
    as_root kill -KILL "$(stage_pid haproxy)"
    eventually 60 phase_is Succeeded
    eventually 5 serves 2.0.5
}

@test "kill -9 of the controller while a bad version is out: it is rolled back" {
    before=$(api_look test deployments podinfo-primary | gojq -r '.spec.template.spec.containers[0].image // ""')
    release 3.0.0-errors50
    eventually 30 weight_above 20
    as_root kill -KILL "$(stage_pid flagger-controller)"
    eventually 60 phase_is Failed
    after=$(api_look test deployments podinfo-primary | gojq -r '.spec.template.spec.containers[0].image // ""')
    [ "$before" = "$after" ]
    api_look test httproutes podinfo |
        gojq -e '[.spec.rules[0].backendRefs[] | {(.name): .weight}] | add == {"podinfo-primary": 100, "podinfo-canary": 0}'
}
