# Tools that write the files of a repository again and again, beside a controller that releases what they write, and the page
# deploy/manual/gitops.md, whose blocks are taken as they are printed.

bats_require_minimum_version 1.5.0

PAGE=deploy/manual/gitops.md

setup_file() {
    load ../lib/sandbox
    sandbox_begin "$(mktemp -d /tmp/flagger-gitops.XXXXXX)" --no-services
    kubectl create namespace shop >/dev/null
}
teardown_file() {
    load ../lib/sandbox
    sandbox_end
    rm -rf "$DIR"
}
setup() {
    load ../lib/sandbox
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    GIT=$BATS_TEST_TMPDIR
}
teardown() {
    touch "$GIT/stop"
    [ -z "${APPLYING:-}" ] || wait "$APPLYING"
    [ -z "${DAEMON_PID:-}" ] || daemon_stop
}

controller() {
    daemon_start "$FLAGGER_BUILD/flagger-controller" --kubeconfig "$KUBECONFIG" --mesh-provider kubernetes --min-analysis-interval 1s "$@"
    eventually 20 curl -sf -o /dev/null "$DAEMON_URL/readyz"
}

# repository NAME [REPLICAS]: the files of an app as they stand in Git
repository() {
    local replicas=${2:+replicas: $2}
    cat >"$GIT/deployment.yaml" <<YAML
apiVersion: apps/v1
kind: Deployment
metadata:
  name: $1
  namespace: shop
  labels: {app.kubernetes.io/instance: shop, team: red}
  annotations: {argocd.argoproj.io/tracking-id: "shop:apps/Deployment:shop/$1", argocd.argoproj.io/sync-wave: "1", meta.helm.sh/release-name: shop}
spec:
  $replicas
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}, annotations: {argocd.argoproj.io/hook: Sync}}
    spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 9898}], envFrom: [{configMapRef: {name: $1}}]}]}
YAML
    cat >"$GIT/rest.yaml" <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: $1, namespace: shop, labels: {app.kubernetes.io/instance: shop}, annotations: {argocd.argoproj.io/tracking-id: "shop:/ConfigMap:shop/$1"}}
data: {a: "1"}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: $1, namespace: shop, labels: {app.kubernetes.io/instance: shop}}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}, minReplicas: 2, maxReplicas: 4}
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: shop, labels: {app.kubernetes.io/instance: shop}}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: $1}
  autoscalerRef: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: $1}
  progressDeadlineSeconds: 60
  service:
    port: 9898
    apex: {annotations: {argocd.argoproj.io/tracking-id: mine, meta.helm.sh/release-name: shop, kept: "1"}}
  analysis: {interval: 1s, threshold: 1, iterations: 3}
YAML
}
apply() { kubectl apply -f "$GIT/deployment.yaml" -f "$GIT/rest.yaml"; }
# keep_applying: writes the files once a second until $GIT/stop is there; what kubectl says stands in $GIT/applied
keep_applying() {
    while [ ! -e "$GIT/stop" ]; do
        apply >>"$GIT/applied" 2>&1 || echo "failed" >>"$GIT/applied"
        sleep 1
    done 3>&- &
    APPLYING=$!
}
phase() { [ "$(kubectl -n shop get canary "$1" -o jsonpath='{.status.phase}')" = "$2" ]; }
begun() { kubectl -n shop get events -o json | gojq --arg name "$1" '[.items[] | select(.involvedObject.name == $name and (.message | startswith("New revision")))] | length'; }
# block N LANGUAGE: the Nth block of the page in that language
block() { awk -v n="$1" -v fence="\`\`\`$2" '$0 == fence { i++; on = i == n; next } /^```/ { on = 0 } on' "$PAGE"; }

@test "files that are applied once a second change nothing of a release, and are never different" {
    controller
    repository steady
    apply >"$GIT/first"
    eventually 60 phase steady Initialized
    keep_applying
    sed -i 's/app:1/app:2/' "$GIT/deployment.yaml"
    eventually 90 phase steady Succeeded
    [ "$(begun steady)" -eq 1 ]
    # the new image is what changed, once
    [ "$(grep -cv ' unchanged$' "$GIT/applied")" -eq 1 ]
    grep -qx 'deployment.apps/steady configured' "$GIT/applied"
    [ "$(grep -c '^deployment.apps/steady unchanged$' "$GIT/applied")" -ge 3 ]
}

@test "what was rolled back stays so although Git still has it, and a commit that is reverted releases nothing" {
    controller
    repository broken
    apply >"$GIT/first"
    eventually 60 phase broken Initialized
    keep_applying
    kubectl -n shop patch canary broken --type merge -p '{"spec":{"analysis":{"webhooks":[{"name":"no","type":"rollout","url":"http://127.0.0.1:1/","timeout":"1s"}]}}}' >/dev/null
    sed -i 's/app:1/app:2/' "$GIT/deployment.yaml"
    eventually 90 phase broken Failed
    was=$(wc -l <"$GIT/applied")
    more() { [ "$(wc -l <"$GIT/applied")" -ge $((was + 12)) ]; }
    eventually 60 more
    phase broken Failed
    [ "$(begun broken)" -eq 1 ]
    sed -i 's/app:2/app:1/' "$GIT/deployment.yaml"
    reverted() { grep -c '^deployment.apps/broken configured$' "$GIT/applied" | grep -qx 2; }
    eventually 30 reverted
    was=$(wc -l <"$GIT/applied")
    eventually 60 more
    [ "$(begun broken)" -eq 1 ]
    kubectl -n shop get deployment broken -o json | gojq -e '.spec.replicas == 0'
}

@test "what is different beside Git is what the page has Argo CD ignore" {
    local pointers
    controller
    repository drift 2
    apply >"$GIT/first"
    eventually 60 phase drift Initialized
    at_rest() { [ "$(kubectl -n shop get deployment drift -o jsonpath='{.spec.replicas}')" = 0 ]; }
    eventually 30 at_rest
    pointers=$(block 1 yaml | gojq --yaml-input -c '[.spec.ignoreDifferences[] | {kind, pointer: .jsonPointers[]}]')
    gojq --yaml-input -s . "$GIT/deployment.yaml" "$GIT/rest.yaml" >"$GIT/wanted"
    # differences: of each object in Git the fields that are not live as they stand there, KIND POINTER a line
    differences() {
        kubectl get -f "$GIT/deployment.yaml" -f "$GIT/rest.yaml" -o json |
            gojq -r --slurpfile wanted "$GIT/wanted" '.items as $live | $wanted[0][] as $w | ($live[] | select(.kind == $w.kind)) as $l |
                $w | paths(type != "object" and type != "array") as $p | select(($l | getpath($p)) != ($w | getpath($p))) |
                "\($w.kind) /\($p | map(tostring | gsub("/"; "~1")) | join("/"))"' >>"$GIT/different"
    }
    differences
    kubectl -n shop set image deployment/drift app=app:2 >/dev/null
    sed -i 's/app:1/app:2/' "$GIT/deployment.yaml"
    gojq --yaml-input -s . "$GIT/deployment.yaml" "$GIT/rest.yaml" >"$GIT/wanted"
    watched() { differences && phase drift Succeeded; }
    eventually 90 watched
    grep -qx 'Deployment /spec/replicas' "$GIT/different"
    sort -u "$GIT/different" | while read -r kind pointer; do
        gojq -e --arg kind "$kind" --arg pointer "$pointer" 'any(.kind == $kind and .pointer == $pointer)' <<<"$pointers" >/dev/null ||
            { echo "$kind $pointer differs from Git, and $PAGE does not say so" && false; }
    done
}

@test "nothing that the controller makes looks like a part of an application or a release" {
    controller --include-label-prefix '*'
    repository owned
    apply >"$GIT/first"
    eventually 60 phase owned Initialized
    kubectl -n shop get deployments,services,configmaps,horizontalpodautoscalers -o json >"$GIT/live"
    gojq -e '[.items[] | select(.metadata.ownerReferences[0].kind == "Canary" and .metadata.ownerReferences[0].name == "owned")] | length == 6' "$GIT/live"
    gojq -e '[.items[] | select(.metadata.ownerReferences[0].kind == "Canary") | .kind as $kind | .metadata.name as $name |
        (.metadata.labels, .metadata.annotations, .spec.template.metadata.annotations? // {}) // {} | keys[] |
        select(test("argocd.argoproj.io/|meta.helm.sh/") or . == "app.kubernetes.io/instance") | "\($kind) \($name): \(.)"] | if . == [] then true else error(tostring) end' "$GIT/live"
    # others are copied
    gojq -e '.items[] | select(.kind == "Deployment" and .metadata.name == "owned-primary").metadata.labels.team == "red"' "$GIT/live"
    gojq -e '.items[] | select(.kind == "Service" and .metadata.name == "owned").metadata.annotations.kept == "1"' "$GIT/live"
}

@test "kustomize follows the names that a Canary holds" {
    repository web
    mkdir "$GIT/app"
    cp "$GIT/deployment.yaml" "$GIT/app/deployment.yaml"
    gojq --yaml-input --yaml-output 'select(.kind == "Canary")' "$GIT/rest.yaml" >"$GIT/app/canary.yaml"
    gojq --yaml-input --yaml-output 'select(.kind == "HorizontalPodAutoscaler")' "$GIT/rest.yaml" >"$GIT/app/autoscaler.yaml"
    block 3 yaml >"$GIT/app/kustomization.yaml"
    block 4 yaml >"$GIT/app/canary-names.yaml"
    kubectl kustomize "$GIT/app" >"$GIT/built"
    gojq --yaml-input -e 'select(.kind == "Canary") | .metadata.name == "blue-web" and .spec.targetRef.name == "blue-web" and .spec.autoscalerRef.name == "blue-web"' "$GIT/built"
    # every reference that a Canary may hold to an object of its repository has a row; a mirror's is a Service that another one makes
    block 4 yaml | gojq --yaml-input -r '.nameReference[].fieldSpecs[].path' | sort -u >"$GIT/printed"
    gojq --yaml-input -r '.spec.versions[0].schema.openAPIV3Schema | paths(type == "object" and .properties?.name? != null) |
        map(select(. != "properties" and . != "items")) | select(.[0] == "spec" and .[1] != "canaryAnalysis") | select(.[-1] | test("Refs?$|^companions$")) |
        join("/") + "/name"' proto/crd/canaries.yaml | grep -v mirror/backendRef | sort -u >"$GIT/fields"
    diff "$GIT/fields" "$GIT/printed"
}
