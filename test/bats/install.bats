# deploy/: what is installed says the same everywhere, and names what there is. Charts are rendered by helm where it is at hand.

bats_require_minimum_version 1.5.0

setup() {
    load ../lib/daemon
    load ../lib/helm
    load ../lib/metrics
    cd "$BATS_TEST_DIRNAME/../.." || return 1
}
needs_helm() { find_helm >/dev/null || skip "no helm; test/setup --helm builds it"; }

# objects [FILE]: as JSON with sorted keys, one a line
objects() { gojq --yaml-input -c 'select(.)' "$@"; }

@test "there is one version" {
    local version
    version=$(sed -n 's/^project(.* VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
    [ -n "$version" ]
    [ "$(grep -hE '^(version|appVersion):' deploy/charts/*/Chart.yaml | sort | uniq -c | xargs)" = "3 appVersion: $version 3 version: $version" ]
    refute grep -rhoE 'flagger-(controller|gate|loadtester):[0-9][0-9.]*' deploy --include=*.yaml --include=Dockerfile --include=*.md |
        grep -v ":$version\$"
}

@test "alerts and dashboards are what Prometheus understands" {
    local expr
    if command -v promtool; then promtool check rules deploy/controller/alerts.yaml; fi
    gojq -r '.panels[].targets[].expr' deploy/controller/dashboard.json >"$BATS_TEST_TMPDIR/exprs"
    sed -n 's/^ *expr: //p' deploy/controller/alerts.yaml >>"$BATS_TEST_TMPDIR/exprs"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/exprs")" -ge 15 ]
    # Grafana evaluates what Prometheus understands.
    if command -v promtool; then
        while read -r expr; do
            expr=${expr//\$__rate_interval/5m}
            printf 'groups: [{name: x, rules: [{record: x, expr: %s}]}]\n' "$(gojq -Rn --arg e "${expr//\$namespace/.*}" '$e')" >"$BATS_TEST_TMPDIR/rule.yaml"
            promtool check rules "$BATS_TEST_TMPDIR/rule.yaml"
        done < <(gojq -r '.panels[].targets[].expr' deploy/controller/dashboard.json)
    fi
}

@test "each overlay starts the controller with a provider that it knows" {
    local overlay args
    [ "$(kubectl version --client -o json | gojq -r '.clientVersion.minor | sub("[^0-9].*"; "")')" -ge 21 ] || skip "kubectl is older than 1.21"
    for overlay in deploy/kustomize/*/; do
        kubectl kustomize "$overlay" >"$BATS_TEST_TMPDIR/out"
        mapfile -t args < <(objects "$BATS_TEST_TMPDIR/out" | gojq -r 'select(.kind == "Deployment" and .metadata.name == "flagger").spec.template.spec.containers[0].args[]')
        [[ " ${args[*]} " == *" --mesh-provider="* ]]
        "$FLAGGER_BUILD/flagger-controller" "${args[@]}" --version
        # A Prometheus that it asks in its own namespace is one that comes with it.
        if [ "$(printf '%s\n' "${args[@]}" | grep metrics-server | tail -n 1)" = --metrics-server=http://flagger-prometheus:9090 ]; then
            objects "$BATS_TEST_TMPDIR/out" | gojq -se 'any(.kind == "Service" and .metadata.name == "flagger-prometheus")'
        fi
    done
    for overlay in deploy/gate deploy/loadtester deploy/postgres/*/; do
        kubectl kustomize "$overlay" >"$BATS_TEST_TMPDIR/out"
        # Each volume that is mounted is there.
        objects "$BATS_TEST_TMPDIR/out" | gojq -se 'map(select(.spec.template)) | all(.spec as $s | $s.template.spec |
            ([.volumes[].name] + [$s.volumeClaimTemplates // [] | .[].metadata.name]) as $there | [.containers[].volumeMounts[].name] - $there == [])'
    done
}

@test "alerts and dashboards ask for metrics that the daemons have, with these labels" {
    local expr name label labels
    # a line for each expression, with what is written about its labels
    gojq -r '.panels[].targets[] | .expr + " " + (.legendFormat // "" | gsub("[{]{2}(?<l>[a-z_]+)[}]{2}"; "by (\(.l))"))' deploy/controller/dashboard.json >"$BATS_TEST_TMPDIR/exprs"
    objects deploy/controller/alerts.yaml | gojq -r '.groups[].rules[] | .expr + " " + ([.annotations[] | scan("labels[.]([a-z_]+)")[] | "by (\(.))"] | join(" "))' >>"$BATS_TEST_TMPDIR/exprs"
    metrics >"$BATS_TEST_TMPDIR/metrics"
    while read -r expr; do
        labels='le job instance'
        for name in $(grep -oE '\b(flagger|process)_[a-z_]+' <<<"$expr"); do
            grep -qE "^${name%_bucket}( |\$)" "$BATS_TEST_TMPDIR/metrics" || { echo "no program has the metric $name" && false; }
            labels+=" $(sed -n "s/^${name%_bucket} //p" "$BATS_TEST_TMPDIR/metrics")"
        done
        for label in $(grep -oE '\b[a-z_]+ *(=~|!~|!=|=)"' <<<"$expr" | sed 's/ *[=!].*//') $(grep -oE 'by \([^)]*\)' <<<"$expr" | sed 's/by (\(.*\))/\1/; s/,/ /g'); do
            [[ " $labels " == *" $label "* ]] || { echo "$expr: there is no label $label, only $labels" && false; }
        done
    done <"$BATS_TEST_TMPDIR/exprs"
}

@test "the plain manifests are those of the chart" {
    needs_helm
    local name
    HELM=$(find_helm) deploy/charts/render "$BATS_TEST_TMPDIR"
    (cd "$BATS_TEST_TMPDIR" && find . -name '*.yaml') >"$BATS_TEST_TMPDIR/made"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/made")" -eq 4 ]
    while read -r name; do diff "deploy/$name" "$BATS_TEST_TMPDIR/$name"; done <"$BATS_TEST_TMPDIR/made"
}

@test "each chart renders each of its value sets, with arguments that the program takes" {
    needs_helm
    local chart values args count=0
    while read -r chart values; do
        render "$chart" --include-crds -f "$values" >"$BATS_TEST_TMPDIR/out"
        mapfile -t args < <(objects "$BATS_TEST_TMPDIR/out" | gojq -r 'select(.kind == "Deployment").spec.template.spec.containers[0] | select(.command) | .command[0], .args[]')
        "$FLAGGER_BUILD/${args[0]}" "${args[@]:1}" --version
        objects "$BATS_TEST_TMPDIR/out" | gojq -se 'map(select(.kind == "Deployment")) |
            all(.spec.template.spec.containers[0] | [.ports[].name] as $ports | [.livenessProbe.httpGet.port, .readinessProbe.httpGet.port] - $ports == [])'
        # Who scrapes, and whom a policy lets in, comes by a port that there is.
        objects "$BATS_TEST_TMPDIR/out" | gojq -se '(map(select(.kind == "Deployment") | .spec.template.spec.containers[].ports[].name) | unique) as $ports |
            [.[] | (select(.kind == "PodMonitor").spec.podMetricsEndpoints[].port), (select(.kind == "NetworkPolicy").spec.ingress[].ports[].port)] - $ports == []'
        objects "$BATS_TEST_TMPDIR/out" | gojq -se 'map(select(.kind == "Deployment")) |
            all(.spec.selector.matchLabels as $l | .spec.template.metadata.labels as $p | $l | to_entries | all($p[.key] == .value))'
        count=$((count + 1))
    done < <(charts_rendered)
    [ "$count" -ge 8 ]
}

# copied: a chart as somebody has it who took its folder out of the tree
copied() { cp -r "deploy/charts/$1" "$BATS_TEST_TMPDIR/$1" && echo "$BATS_TEST_TMPDIR/$1"; }

@test "a chart has files and no links, and they are those of the tree: deploy/charts/copy brings them" {
    local original copy
    [ -z "$(find deploy/charts -type l)" ]
    [ "$(deploy/charts/copy --list | wc -l)" -ge 12 ]
    deploy/charts/copy --list | while read -r original copy; do cmp "$original" "$copy" || { echo "run deploy/charts/copy" && exit 1; }; done
    # Every CRD of the controller is among them; those of the fleet are not of the chart.
    [ "$(ls deploy/charts/flagger/crds)" = "$(ls proto/crd)" ]
}

@test "the tables of the charts' values are current, and have every value" {
    local chart
    deploy/charts/values "$BATS_TEST_TMPDIR"
    for chart in flagger gate loadtester; do
        diff "deploy/charts/$chart/README.md" "$BATS_TEST_TMPDIR/$chart/README.md" || { echo "run deploy/charts/values deploy/charts" && false; }
        # Each leaf of values.yaml, but for those below a list, and those without a word that a row above it says.
        gojq --yaml-input -r '[paths(type != "object" or . == {}) | select(all(type == "string"))] | unique | .[] | join(".")' "deploy/charts/$chart/values.yaml" >"$BATS_TEST_TMPDIR/leaves"
        [ "$(wc -l <"$BATS_TEST_TMPDIR/leaves")" -ge 30 ]
        while read -r path; do
            grep -qF "\`$path\`" "deploy/charts/$chart/README.md" || grep -qF "\`${path%.*}\`" "deploy/charts/$chart/README.md" || [[ $path == affinity.* ]] ||
                { echo "$chart: $path is in no row" && false; }
        done <"$BATS_TEST_TMPDIR/leaves"
    done
}

@test "a chart that is packaged renders from its archive what its folder renders" {
    needs_helm
    local helm chart folder
    helm=$(find_helm)
    for chart in flagger gate loadtester; do
        folder=$(copied "$chart")
        "$helm" package "$folder" --destination "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/out" 2>&1
        refute grep -q link "$BATS_TEST_TMPDIR/out"
        "$helm" template x "$BATS_TEST_TMPDIR/$chart-"*.tgz --include-crds >"$BATS_TEST_TMPDIR/packaged"
        "$helm" template x "deploy/charts/$chart" --include-crds | diff - "$BATS_TEST_TMPDIR/packaged"
        # Its test asks a Service that there is, in an image that is the load tester's.
        objects "$BATS_TEST_TMPDIR/packaged" | gojq -se '(map(select(.kind == "Service").metadata.name)) as $services |
            [.[] | select(.metadata.annotations["helm.sh/hook"] == "test" and .kind == "Pod").spec.containers[0]] | length == 1 and all(
            (.image | test("^flagger-loadtester:[0-9.]+$")) and (.command[-1] | capture("^https?://(?<name>[^.]+)[.]").name | IN($services[])))'
    done
    "$helm" template x "$BATS_TEST_TMPDIR"/flagger-*.tgz --include-crds | objects | gojq -se 'map(select(.kind == "CustomResourceDefinition")) | length == 4'
}

@test "images are named by tag or by digest, and those of the values for air-gapped clusters are of one registry" {
    needs_helm
    local chart digest
    digest=sha256:$(printf '%064d' 7)
    for chart in flagger gate loadtester; do
        render "$chart" --set image.repository=registry.example.com/a/b --set "image.digest=$digest" --set image.tag=1 | objects |
            gojq -se --arg image "registry.example.com/a/b@$digest" '[.[] | select(.kind == "Deployment").spec.template.spec.containers[0].image] == [$image]'
        run ! render "$chart" --set image.digest=latest
        render "$chart" --set image.tag=7 | objects | gojq -se 'any(.kind == "Deployment" and (.spec.template.spec.containers[0].image | endswith(":7")))'
        "$(find_helm)" template x "deploy/charts/$chart" -f "deploy/charts/$chart/values-airgapped.yaml" $([ "$chart" != flagger ] || echo --set prometheus.install=true) | objects |
            gojq -se '[.[] | .. | objects | select(.image | type == "string").image] | length > 1 and all(startswith("registry.example.com/"))'
    done
}

@test "each option of a daemon has a value of its chart, or is named where further ones go" {
    local chart program
    for chart in flagger gate loadtester; do
        program=flagger-${chart/flagger/controller}
        # Not for a pod: where it listens, how it finds the API server and its database, what is of no effect; and tokens, by Secret.
        printf -- '--%s\n' address database help kubeconfig master port slack-token version zap-encoding zap-replace-globals >"$BATS_TEST_TMPDIR/set"
        # As the template says it, so that this needs no helm.
        sed -n 's/^ *(list "\([a-z-]*\)".*/--\1/p' "deploy/charts/$chart/templates/deployment.yaml" >>"$BATS_TEST_TMPDIR/set"
        sed -n '/^extraArgs:/,/^[a-z]*:/p' "deploy/charts/$chart/values.yaml" | grep -oE -- '--[a-z-]+' >"$BATS_TEST_TMPDIR/further"
        "$FLAGGER_BUILD/$program" --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p' | sort >"$BATS_TEST_TMPDIR/options"
        # Of those under extraArgs, none is unknown.
        [ -z "$(sort -u "$BATS_TEST_TMPDIR/further" | comm -23 - "$BATS_TEST_TMPDIR/options")" ]
        sort -u "$BATS_TEST_TMPDIR/set" "$BATS_TEST_TMPDIR/further" | comm -13 - "$BATS_TEST_TMPDIR/options" >"$BATS_TEST_TMPDIR/missing"
        [ ! -s "$BATS_TEST_TMPDIR/missing" ] || { echo "$chart/values.yaml has neither a key for these, nor their names at extraArgs:" && cat "$BATS_TEST_TMPDIR/missing" && false; }
    done
}

# The kubelet writes the token of a service account for the pod's user and its fsGroup: without one, what runs as another user, the
# tasks of the load tester above all, cannot read it.
readable() { # objects as JSON, one a line
    gojq -se '[.[] | .. | objects | select(.template.spec.containers).template.spec] | all(.automountServiceAccountToken == false
        or (.securityContext.fsGroup | type == "number"))'
}
@test "each pod that has a token of its account has a group that may read it, and the load tester's is that of tasks" {
    local file overlay chart values count=0 tasks
    tasks=$(sed -n 's/^ENV LOADTESTER_TASK_USER=[0-9-]*:\([0-9]*\).*/\1/p' deploy/Dockerfile)
    while read -r file; do
        objects "$file" | readable >/dev/null || { echo "$file" && false; }
        count=$((count + 1))
    done < <(grep -rlE '^kind: (Deployment|StatefulSet|DaemonSet|Job|CronJob)$' deploy --include=*.yaml --exclude-dir=templates)
    [ "$count" -ge 5 ]
    if [ "$(kubectl version --client -o json | gojq -r '.clientVersion.minor | sub("[^0-9].*"; "")')" -ge 21 ]; then
        for overlay in $(find deploy -name kustomization.yaml -printf '%h\n'); do
            kubectl kustomize "$overlay" | objects | readable >/dev/null || { echo "$overlay" && false; }
        done
    fi
    needs_helm
    while read -r chart values; do
        render "$chart" -f "$values" | objects | readable >/dev/null || { echo "$chart $values" && false; }
    done < <(charts_rendered)
    # As root, which is the image's own user; as the user of Flagger's chart; with a pod's context that says nothing of groups.
    render loadtester | objects | gojq -e --argjson group "$tasks" 'select(.kind == "Deployment").spec.template.spec.securityContext.fsGroup == $group'
    render loadtester --set securityContext.enabled=true | objects | gojq -e 'select(.kind == "Deployment").spec.template.spec.securityContext.fsGroup == 101'
    render loadtester --set podSecurityContext.enabled=true --set podSecurityContext.context.fsGroup=null | objects |
        gojq -e --argjson group "$tasks" 'select(.kind == "Deployment").spec.template.spec.securityContext.fsGroup == $group'
}

# As with Flagger's load tester; who names some with --pass-env means no others.
@test "tasks see the variables that the chart's env gives" {
    needs_helm
    arguments() { render loadtester "$@" | objects | gojq -c 'select(.kind == "Deployment").spec.template.spec.containers[0].args'; }
    arguments --set 'env[0].name=API,env[0].value=x,env[1].name=TIER,env[1].value=y' | gojq -e 'index("--pass-env=API,TIER") != null'
    arguments --set 'env[0].name=API,env[0].value=x' --set 'extraArgs[0]=--pass-env=TIER' | gojq -e 'map(select(test("pass-env"))) == ["--pass-env=TIER"]'
    arguments | gojq -e 'all(.[]; test("pass-env") | not)'
}

# That group reads Secrets as well: those of the load tester itself are behind a folder which the image closes.
@test "tasks that read the token of their account do not read the load tester's own Secrets" {
    needs_helm
    local values mounted
    for values in tokenSecret=a,tlsSecret=b tokenSecret=a,automountServiceAccountToken=false; do
        render loadtester --set "$values" | objects | gojq -c 'select(.kind == "Deployment").spec.template.spec' >"$BATS_TEST_TMPDIR/pod"
        mounted=$(gojq -r '[.volumes[] | select(.secret).name] as $secret | .containers[0].volumeMounts[] | select(.name | IN($secret[])).mountPath' "$BATS_TEST_TMPDIR/pod")
        [ -n "$mounted" ]
        refute grep -v '^/etc/flagger/private/' <<<"$mounted"
        gojq -e '[.containers[0].args[] | select(startswith("--token-file=") or startswith("--tls-")) | test("=/etc/flagger/private/")] | length > 0 and all' "$BATS_TEST_TMPDIR/pod"
    done
    grep -q 'install -d -m 700 /etc/flagger/private' deploy/Dockerfile
    # One that runs as another user could not enter it: there it is its own tasks' user, and says so.
    render loadtester --set securityContext.enabled=true --set tokenSecret=a | refute grep -q /etc/flagger/private
}

# What specs name by its path is there, whatever is mounted around it.
@test "health.proto of the load tester's image is at one path, with a volume at /tmp as well" {
    local path
    path=$(sed -n 's/^COPY .*health.proto \(\/tmp\/.*\)/\1/p' deploy/Dockerfile)
    grep -qF "\`$path\`" deploy/loadtester/README.md
    kept() { # a pod: nothing is mounted over the file, or what is has it
        gojq -se --arg path "$path" --rawfile proto deploy/loadtester/health.proto '(map(select(.kind == "ConfigMap")) | map({(.metadata.name): .data}) | add) as $maps
            | .[] | select(.kind == "Deployment").spec.template.spec | .volumes as $volumes
            | [.containers[0].volumeMounts[]? | select(.mountPath as $m | $path | startswith(($m | rtrimstr("/")) + "/"))] | sort_by(.mountPath | length) | last
            | . == null or (.name as $n | $volumes[] | select(.name == $n).configMap.name | [$maps[.]["health.proto"], $proto] | map(split("\n") - [""]) | .[0] == .[1])'
    }
    objects deploy/loadtester/deployment.yaml | kept
    needs_helm
    render loadtester | objects | kept
    render loadtester --set 'volumes[0].name=t,volumes[0].emptyDir.medium=Memory,volumeMounts[0].name=t,volumeMounts[0].mountPath=/tmp/' | objects | kept
}

# What a page prints is enough: test/cluster/run types it in a cluster; here is what needs none.
@test "the overlays that pages print name each image with a registry, and the pages make each Secret that is mounted" {
    [ "$(kubectl version --client -o json | gojq -r '.clientVersion.minor | sub("[^0-9].*"; "")')" -ge 21 ] || skip "kubectl is older than 1.21"
    local page name
    for page in deploy/README.md deploy/gate/README.md deploy/loadtester/README.md; do
        rm -rf "$BATS_TEST_TMPDIR/tree" && mkdir "$BATS_TEST_TMPDIR/tree" && cp -r deploy "$BATS_TEST_TMPDIR/tree/deploy"
        awk '/^cat >kustomization.yaml <<END/ { inside = 1; next } /^END/ { inside = 0 } inside' "$page" >"$BATS_TEST_TMPDIR/tree/kustomization.yaml"
        [ -s "$BATS_TEST_TMPDIR/tree/kustomization.yaml" ]
        kubectl kustomize "$BATS_TEST_TMPDIR/tree" | objects >"$BATS_TEST_TMPDIR/out"
        gojq -se '[.[] | .. | objects | .image? | select(type == "string")] | length > 0 and all(test("^[a-z.]+[.][a-z]+/"))' "$BATS_TEST_TMPDIR/out" || { echo "$page: an image without a registry" && false; }
        for name in $(gojq -r '.. | objects | .secret?.secretName? // empty' "$BATS_TEST_TMPDIR/out" | sort -u); do
            grep -q "create secret generic $name" "$page" || { echo "$page does not say where the Secret $name comes from" && false; }
        done
        # A claim without a class needs a default one.
        ! grep -q volumeClaimTemplates "$BATS_TEST_TMPDIR/out" || grep -q StorageClass "$page"
    done
}

@test "the controller's chart gives it the rights of rbac.yaml, cluster-wide or in its namespaces alone" {
    needs_helm
    objects deploy/controller/rbac.yaml | gojq -c 'select(.kind == "ClusterRole").rules' >"$BATS_TEST_TMPDIR/rules"
    objects deploy/controller/rbac.yaml | gojq -c 'select(.kind == "Role").rules' >"$BATS_TEST_TMPDIR/leader"
    wide='.apiGroups == ["admissionregistration.k8s.io"]'
    roles() { gojq -r 'select(.kind == "Role") | .metadata.namespace + "/" + .metadata.name' "$BATS_TEST_TMPDIR/out" | sort | xargs; }
    of_role() { gojq -c --arg role "$1" 'select(.kind == "Role" and .metadata.namespace + "/" + .metadata.name == $role).rules' "$BATS_TEST_TMPDIR/out"; }
    render flagger | objects >"$BATS_TEST_TMPDIR/out"
    gojq -c 'select(.kind == "ClusterRole" and .metadata.name == "flagger").rules' "$BATS_TEST_TMPDIR/out" | diff - "$BATS_TEST_TMPDIR/rules"
    of_role flagger-system/flagger-leader | diff - "$BATS_TEST_TMPDIR/leader"
    # By namespace what is of the whole cluster is the look at one policy, and without that policy nothing.
    render flagger -f deploy/charts/flagger/ci/new-values.yaml --set steering.create=false | objects >"$BATS_TEST_TMPDIR/out"
    refute grep -q '"kind":"ClusterRole' "$BATS_TEST_TMPDIR/out"
    render flagger -f deploy/charts/flagger/ci/new-values.yaml | objects >"$BATS_TEST_TMPDIR/out"
    gojq -c 'select(.kind == "ClusterRole" and .metadata.name != "flagger-release-steerer") | [.metadata.name, .rules]' "$BATS_TEST_TMPDIR/out" |
        diff - <(gojq -c "[\"flagger-policy\", map(select($wide))]" "$BATS_TEST_TMPDIR/rules")
    # A controller of a part of the cluster has a lease with a hash in its name.
    [ "$(roles)" = 'bank/flagger flagger-system/flagger-leader shop/flagger' ]
    local unnamed='map(if .resources == ["leases"] then del(.resourceNames) else . end)'
    of_role shop/flagger | diff - <(gojq -c "map(select($wide | not)) | $unnamed" "$BATS_TEST_TMPDIR/rules")
    of_role flagger-system/flagger-leader | diff - <(gojq -c "$unnamed" "$BATS_TEST_TMPDIR/leader")
    # That of one namespace has it there.
    render flagger --set rbac.namespaced=true --set namespace=shop | objects >"$BATS_TEST_TMPDIR/out"
    [ "$(roles)" = 'shop/flagger shop/flagger-leader' ]
    of_role shop/flagger | diff - <(gojq -c "map(select($wide | not))" "$BATS_TEST_TMPDIR/rules")
    render flagger --set observe=true | objects >"$BATS_TEST_TMPDIR/out"
    gojq -se '[.[] | select(.kind == "ClusterRole" and .metadata.name == "flagger").rules[]] | length > 20 and all(.verbs - ["get", "list", "watch"] == [])' "$BATS_TEST_TMPDIR/out"
    grep -q -- --observe "$BATS_TEST_TMPDIR/out"
    run ! render flagger --set rbac.namespaced=true
    [[ $output == *"namespace is empty"* ]]
}

@test "no chart has a right to what is behind a node, and Prometheus none but to find pods" {
    needs_helm
    local chart values
    while read -r chart values; do
        render "$chart" -f "$values" --set-json "$([ "$chart" = flagger ] && echo 'prometheus.install=true' || echo 'nameOverride=""')" | objects >"$BATS_TEST_TMPDIR/out"
        gojq -se '[.[] | select(.rules).rules[].resources[]] | all(startswith("nodes") | not)' "$BATS_TEST_TMPDIR/out"
        [ "$chart" != flagger ] || gojq -e 'select(.kind == "ClusterRole" and .metadata.name == "flagger-prometheus").rules == [{apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"]}]' "$BATS_TEST_TMPDIR/out"
    done < <(charts_rendered)
    objects deploy/prometheus/prometheus.yaml | gojq -se '[.[] | select(.rules).rules[].resources[]] == ["pods"]'
}

@test "who may steer a release, and the policy that proves who asked, come with chart and overlays" {
    needs_helm
    local overlay
    objects deploy/people/steering.yaml | gojq -c '[.kind, .metadata.name, .spec // .rules]' | sort >"$BATS_TEST_TMPDIR/steering"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/steering")" -eq 3 ]
    of() { gojq -c 'select(.metadata.name | test("^flagger-release-")) | [.kind, .metadata.name, .spec // .rules]' | sort; }
    render flagger --kube-version 1.30 | objects | of | diff - "$BATS_TEST_TMPDIR/steering"
    render flagger --set rbac.namespaced=true --set namespace=shop --kube-version 1.33 | objects | of | diff - "$BATS_TEST_TMPDIR/steering"
    # Earlier ones do not serve the policy.
    render flagger --kube-version 1.29.9 | objects | of | diff - <(grep '^\["ClusterRole"' "$BATS_TEST_TMPDIR/steering")
    [ -z "$(render flagger --set steering.create=false --kube-version 1.33 | objects | of)" ]
    for overlay in deploy/kustomize/*/; do kubectl kustomize "$overlay" | objects | of | diff - "$BATS_TEST_TMPDIR/steering" || { echo "$overlay" && false; }; done
}

@test "its CRDs are those of proto/crd, and stay when the release goes" {
    needs_helm
    local name
    render flagger --set crd.create=true | objects >"$BATS_TEST_TMPDIR/out"
    for name in proto/crd/*.yaml; do
        objects "$name" | gojq -c .spec >"$BATS_TEST_TMPDIR/crd"
        gojq -c --slurpfile crd "$BATS_TEST_TMPDIR/crd" 'select(.kind == "CustomResourceDefinition" and .spec == $crd[0]) |
            .metadata.annotations["helm.sh/resource-policy"]' "$BATS_TEST_TMPDIR/out" | grep -qx '"keep"'
    done
}

@test "a values file that cannot mean what it says is refused" {
    needs_helm
    run ! render flagger --set metricServer=x
    [[ $output == *metricServer* ]]
    run ! render flagger --set leaderElection.enabled=maybe
    [[ $output == *leaderElection* ]]
    run ! render flagger --set image.repository=ghcr.io/fluxcd/flagger
    [[ $output == *"the image of Flagger"* ]]
    run ! render loadtester --set image.repository=mirror.example.com/fluxcd/flagger-loadtester
    [[ $output == *"the image of Flagger"* ]]
    run ! render gate --set ingress.enabled=true
    [[ $output == *"ingress.host"* ]]
    run ! render gate --set tokens=false
    [[ $output == *"anybody: true"* ]]
    run ! render gate --set anybody=true
    [[ $output == *"tokens: false only"* ]]
    render gate --set anybody=true,tokens=false | grep -q -- --anybody
    render gate --set tokens=false,extraArgs[0]=--tls-client-ca=/etc/ca | grep -q -- --tls-client-ca
}

# FLAGGER_CNPG_CRD=FILE: config/crd/bases/postgresql.cnpg.io_clusters.yaml of CloudNativePG
@test "the Cluster of CloudNativePG is what its operator's schema takes" {
    [ -s "${FLAGGER_CNPG_CRD:-}" ] || skip "FLAGGER_CNPG_CRD names no CRD of CloudNativePG"
    local sandbox status=0
    export KUBECONFIG=$BATS_TEST_TMPDIR/kubeconfig HOME=$BATS_TEST_TMPDIR
    "$FLAGGER_BUILD/flagger-sandbox" --no-gateway --no-services --kubeconfig "$KUBECONFIG" --crds "$FLAGGER_CNPG_CRD" \
        >"$BATS_TEST_TMPDIR/out" 2>&1 </dev/null 3>&- &
    sandbox=$!
    eventually 60 grep -q '^ready' "$BATS_TEST_TMPDIR/out"
    {
        kubectl create --validate=strict -f deploy/postgres/cloudnativepg/cluster.yaml &&
            # A field that it does not know, and a value that it does not take, are refused.
            refute kubectl create --validate=strict -f <(sed 's/flagger-gate-db/other/; s/instances:/instancen:/' deploy/postgres/cloudnativepg/cluster.yaml) &&
            refute kubectl create --validate=strict -f <(sed 's/flagger-gate-db/other/; s/method: any/method: some/' deploy/postgres/cloudnativepg/cluster.yaml)
    } || status=$?
    kill -TERM "$sandbox"
    return "$status"
}
