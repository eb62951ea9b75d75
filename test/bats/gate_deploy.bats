# deploy/gate: its manifests are taken by the sandbox's API server, bound what the pods may do, and start the program.

setup_file() {
    load ../lib/sandbox
    load ../lib/postgres
    sandbox_begin "$(mktemp -d /tmp/flagger-deploy.XXXXXX)" --token secret
    kubectl create namespace flagger
    pg_begin
    export PG_DIR PG_DSN
}

teardown_file() {
    load ../lib/sandbox
    load ../lib/postgres
    sandbox_end
    pg_end
    rm -rf "$DIR"
}

setup() {
    load ../lib/sandbox
    load ../lib/postgres
    MANIFEST=$BATS_TEST_DIRNAME/../../deploy/gate/gate.yaml
}

# objects: the manifests as JSON, one a line
objects() { gojq --yaml-input -c 'select(.)' "$MANIFEST"; }

@test "the API server takes the Deployment and the Service, and they belong together" {
    objects | kubectl -n flagger apply -f -
    api_look flagger deployments flagger-gate >"$DIR/deployment"
    api_look flagger services flagger-gate >"$DIR/service"
    gojq -e --slurpfile s "$DIR/service" '.spec.template.metadata.labels as $l | $s[0].spec.selector | to_entries | all($l[.key] == .value)' "$DIR/deployment"
    gojq -e --slurpfile s "$DIR/service" '[.spec.template.spec.containers[].ports[].name] | index($s[0].spec.ports[0].targetPort)' "$DIR/deployment"
    gojq -e '.spec.selector.matchLabels == .spec.template.metadata.labels' "$DIR/deployment"
}

@test "a pod has no token, no capability, no root, and nothing secret in sight" {
    objects | gojq -se '.[] | select(.kind == "Deployment").spec.template.spec |
        .automountServiceAccountToken == false and .securityContext.runAsNonRoot and .securityContext.runAsUser > 0
        and .securityContext.seccompProfile.type == "RuntimeDefault"
        and all(.containers[]; .securityContext | .allowPrivilegeEscalation == false and .readOnlyRootFilesystem
                and .capabilities.drop == ["ALL"])
        and all(.containers[]; .env == null and .envFrom == null and .resources.limits.memory != null)
        and ([.volumes[].secret.secretName] == ["flagger-gate"]) and .volumes[0].secret.defaultMode == 288'
    [ "$(objects | gojq -r .kind | sort | xargs)" = 'Deployment PodDisruptionBudget Service' ]
}

@test "the program starts with the manifest's arguments, and its probes answer" {
    local secret=$BATS_TEST_TMPDIR/secret args=() probe
    mkdir "$secret"
    echo "$PG_DSN" >"$secret/database"
    echo 'the-token-of-alice-0 operate alice' >"$secret/tokens"
    mapfile -t args < <(objects | gojq -r --arg secret "$secret" 'select(.kind == "Deployment").spec.template.spec.containers[0].args[]
        | gsub("/etc/gate"; $secret)')
    [ "${#args[@]}" -ge 2 ]
    daemon_start "$FLAGGER_BUILD/flagger-gate" "${args[@]}"
    eventually 10 answers 200 GET /readyz
    for probe in /metrics $(objects | gojq -r 'select(.kind == "Deployment").spec.template.spec.containers[0] | .livenessProbe, .readinessProbe | .httpGet.path'); do
        answers 200 GET "$probe"
    done
    answers 401 GET /v1/gates
    daemon_stop
}
