# Runs the cases of test/cluster/run: each is a file of cases/, in a namespace of its own, a few lines of the words below. Every word
# waits for what it says, with a deadline, and fails the case when that does not come.
readonly LIMIT=${CLUSTER_SECONDS:-180} AT_ONCE=${CLUSTER_JOBS:-3}
readonly SYSTEM=flagger-system

fail() {
    echo "$*" >&2
    return 1
}
skipped() { # SENTENCE: ends the case
    echo "skipped: $*"
    exit 77
}
# within SECONDS COMMAND...
within() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        # Also where set -e is not heard, behind a || of who asks.
        [ "$SECONDS" -lt "$deadline" ] || { fail "did not come in time: $*" || return; }
        sleep 0.3
    done
}
eventually() { within "$LIMIT" "$@"; }
k() { kubectl -n "$case" "$@"; }

# --- what is installed for all cases, by the first that asks

controller_install() { # [HELM-ARGUMENT...]
    helm upgrade --install flagger deploy/charts/flagger --namespace "$SYSTEM" --create-namespace --wait --timeout 120s \
        --set image.repository=registry.example.com/flagger-controller --set meshProvider=kubernetes --set prometheus.install=true \
        --set 'extraArgs={--min-analysis-interval=5s}' "$@"
}
loadtester_install() { # [HELM-ARGUMENT...]: its tasks may look after what cases let them
    helm upgrade --install flagger-loadtester deploy/charts/loadtester --namespace "$SYSTEM" --create-namespace --wait --timeout 120s \
        --set image.repository=registry.example.com/flagger-loadtester --set rbac.create=true --set rbac.scope=cluster \
        --set 'rbac.rules[0].apiGroups={*},rbac.rules[0].resources={*},rbac.rules[0].verbs={*}' "$@"
}
gate_install() {
    local password
    kubectl get namespace flagger >/dev/null 2>&1 || kubectl create namespace flagger
    kubectl -n flagger get secret flagger-gate >/dev/null 2>&1 || {
        password=$(openssl rand -hex 24)
        openssl rand -hex 24 >"$state/token.check"
        openssl rand -hex 24 >"$state/token.alice"
        kubectl -n flagger create secret generic flagger-gate --from-literal=database="postgresql://gate:$password@flagger-gate-postgres/gates" \
            --from-literal=tokens="$(printf '%s check controller\n%s operate alice\n' "$(cat "$state/token.check")" "$(cat "$state/token.alice")")" \
            --from-literal=link-keys="$(openssl rand -hex 32)"
        kubectl -n flagger create secret generic flagger-gate-postgres --from-literal=password="$password"
    }
    # The image by its name in the registry, as deploy/README.md says it.
    rm -rf "$state/gate-overlay" && mkdir "$state/gate-overlay"
    cp -r deploy "$state/gate-overlay/deploy"
    printf 'resources: [deploy/postgres/small]\nnamespace: flagger\nimages: [{name: flagger-gate, newName: registry.example.com/flagger-gate}]\npatches:\n  - target: {kind: Deployment, name: flagger-gate}\n    patch: |-\n      - {op: add, path: /spec/template/spec/containers/0/args/-, value: --link-key-file=/etc/gate/link-keys}\n      - {op: add, path: /spec/template/spec/containers/0/args/-, value: "--public-url=http://flagger-gate.flagger"}\n' >"$state/gate-overlay/kustomization.yaml"
    kubectl apply -k "$state/gate-overlay"
    kubectl -n flagger rollout status statefulset/flagger-gate-postgres deployment/flagger-gate --timeout 120s
}
# fleet_install: its daemon and what a member has, by the images of the registry; for the case that asks
fleet_install() {
    local folder
    folder=$(tree)
    kubectl apply -f deploy/fleet/releaseplans.yaml -f deploy/fleet/applications.yaml -f deploy/fleet/member/rbac.yaml
    printf 'resources: [deploy/fleet/daemon]\nimages: [{name: flagger-controller, newName: registry.example.com/flagger-controller}]\n' >"$folder/kustomization.yaml"
    kubectl apply -k "$folder"
    kubectl -n "$SYSTEM" rollout status deployment/flagger-fleet --timeout 60s
}
# needs PART...: controller, loadtester, gate, gateway (Traefik), contour; once for all cases that ask
needs() {
    local part
    for part; do
        (
            flock 9
            [ ! -e "$state/there.$part" ] || exit 0
            case $part in
            gateway) gateway_begin ;;
            contour) contour_begin ;;
            controller) controller_install ;;
            loadtester) loadtester_install ;;
            gate) gate_install ;;
            esac >"$state/log/install-$part.log" 2>&1 9>&- || { tail -n 15 "$state/log/install-$part.log" >&2 && exit 1; }
            touch "$state/there.$part"
        ) 9>"$state/lock.$part"
    done
}

# --- what a user does

# podinfo [VERSION [NAME]]: the workload that is released; WRONG=true answers every third request with an error
podinfo() {
    local name=${2:-podinfo}
    k apply -f - >/dev/null <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: $name, labels: {app: $name}}
spec:
  replicas: ${REPLICAS:-2}
  selector: {matchLabels: {app: $name}}
  template:
    metadata:
      labels: {app: $name}
      annotations: {prometheus.io/scrape: "true", prometheus.io/port: "9797"}
    spec:
      ${POD:-terminationGracePeriodSeconds: 30}
      containers:
        - name: podinfod
          image: ${REPOSITORY:-ghcr.io/stefanprodan/podinfo}:${1:-6.0.0}
          command: [./podinfo, --port=9898, --port-metrics=9797, --level=info, --random-error=${WRONG:-false}]
          ports: [{name: http, containerPort: 9898}, {name: http-metrics, containerPort: 9797}]
          readinessProbe: {httpGet: {port: 9898, path: /readyz}, periodSeconds: 2}
          lifecycle: {preStop: {sleep: {seconds: 3}}}
          resources: {requests: {cpu: 1m, memory: 16Mi}, limits: {memory: 64Mi}}
          securityContext: {allowPrivilegeEscalation: false, runAsNonRoot: true, runAsUser: 100, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}
YAML
}
# canary ANALYSIS [FIELDS-OF-SPEC [SERVICE]]: flow YAML
canary() {
    k apply -f - >/dev/null <<YAML
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: podinfo}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: podinfo}
  progressDeadlineSeconds: ${DEADLINE:-120}
  service: {port: 80, targetPort: 9898${3:+, $3}}
  analysis: {$1}
${2:+  $2}
YAML
}
readonly CHECKED='interval: 5s, iterations: 2, threshold: 2'
through_gateway() { # ANALYSIS: through Traefik, under the host of the case
    canary "$1" 'provider: gatewayapi:v1' "hosts: [$case.example.com], gatewayRefs: [{name: gateway, namespace: traefik}]"
}

phase() { k get canary podinfo -o jsonpath='{.status.phase}' 2>/dev/null; }
phase_is() { [[ $(phase) == $1 ]]; }
comes() { eventually phase_is "$1" || fail "the Canary is $(phase), not $1; $(k get canary podinfo -o jsonpath='{.status.conditions[*].message}')"; }
primary_runs() { # VERSION
    local image
    image=$(k get deployment podinfo-primary -o jsonpath='{.spec.template.spec.containers[0].image}')
    [ "${image##*:}" = "$1" ] || fail "the primary runs $image, not $1"
}
events() { k get events -o jsonpath='{range .items[*]}{.type} {.reason} {.message}{"\n"}{end}'; }
told() { [[ $(events) == *"$1"* ]]; } # TEXT
# in_pod COMMAND...: in the load tester's image, as somebody has a pod for curl
in_pod() { kubectl -n "$SYSTEM" exec -i deployment/flagger-loadtester -- "$@"; }
restarts() { kubectl -n "$1" get pods -l "$2" -o jsonpath='{range .items[*]}{.status.containerStatuses[0].restartCount}{"\n"}{end}' | awk '{n += $1} END {print n + 0}'; } # NAMESPACE LABELS

# good_then_wrong: a good version is promoted, one that answers with errors is rolled back
good_then_wrong() {
    podinfo 6.0.1
    comes Progressing
    comes Succeeded
    primary_runs 6.0.1
    fault 'a version that answers with errors has a share'
    WRONG=true podinfo 6.0.2
    comes Progressing
    comes Failed
    fault_over 5
    primary_runs 6.0.1
    told 'Halt'
}

# --- clients

# client NAME URL [HOST [keep]]: asks 20 times a second from now on
client() {
    kubectl -n clients run "$case-$1" --image=docker.io/library/client:1 --restart=Never -- "$2" "${3:--}" 20 ${4:+"$4"} >/dev/null
    kubectl -n clients wait pod "$case-$1" --for=condition=Ready --timeout=60s >/dev/null
    clients+=("$1")
}
# clients_at_service: from the first answer on. The Service may have been made a moment ago, and kube-proxy hears of it within a second.
clients_at_service() { within 10 service_answers && client new "http://podinfo.$case/" && client kept "http://podinfo.$case/" - keep; }
service_answers() { curl -fsS --max-time 2 -o /dev/null "http://$(k get service podinfo -o jsonpath='{.spec.clusterIP}')/"; }
clients_at_gateway() { client new http://traefik.traefik/ "$case.example.com" && client kept http://traefik.traefik/ "$case.example.com" keep; }
# fault WORDS, until fault_over: what fails meanwhile is its doing
fault() { echo "$(date +%s) $*" >>"$state/faults.$case"; }
fault_over() { echo "$(($(date +%s) + ${1:-2})) over" >>"$state/faults.$case"; }
# clients_end: counts, and fails when a request failed outside of the faults
clients_end() {
    local name log sent failed within bad=0
    sleep 2
    touch "$state/faults.$case"
    for name in "${clients[@]}"; do
        log=$state/client.$case.$name
        kubectl -n clients logs "$case-$name" >"$log"
        kubectl -n clients delete pod "$case-$name" --now --wait=false >/dev/null
        read -r sent failed < <(awk '$2 == "total" {sent = $3; failed = $5} END {print sent + 0, failed + 0}' "$log")
        within=$(awk 'NR == FNR { if ($2 == "over") to[n] = $1 + 1; else { n++; from[n] = $1 - 1; to[n] = 9e12 } next }
            / FAILED / { for (i = 1; i <= n; i++) if ($1 >= from[i] && $1 <= to[i]) { count++; break } } END {print count + 0}' "$state/faults.$case" "$log")
        echo "$case|$name|$sent|$failed|$within" >>"$state/requests"
        [ "$sent" -gt 0 ] || fail "client $name has sent nothing"
        if [ "$failed" -gt "$within" ]; then
            grep ' FAILED ' "$log" | tail -n 5
            bad=$((bad + failed - within))
        fi
    done
    clients=()
    [ "$bad" -eq 0 ] || fail "$bad requests failed for no fault that was made"
}

# --- the cases

# where LINE: the line of the case that failed
where() {
    local i line=$1
    for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
        [ "$i" -eq 1 ] || line=${BASH_LINENO[i - 1]}
        [[ ${BASH_SOURCE[i]} != */cases/* ]] || { echo "failed: $(sed -n "${line}p" "${BASH_SOURCE[i]}")" >&2 && return; }
    done
}
run_case() { # NAME
    local case=${1//_/-} clients=()
    set -Eeuo pipefail
    trap 'where "$LINENO"' ERR
    if alone "$1" page; then swept; fi
    kubectl create namespace "$case" >/dev/null
    # shellcheck disable=SC1090
    source "test/cluster/cases/$1.bash"
    [ ${#clients[@]} -eq 0 ] || clients_end
    kubectl delete namespace "$case" --wait=false >/dev/null
}
# look CASE: how it stands, for a case that failed
look() {
    kubectl -n "$1" get canaries,deployments,pods -o wide
    kubectl -n "$1" describe canary
    kubectl -n "$1" get events --sort-by=.lastTimestamp
    kubectl -n "$SYSTEM" logs deployment/flagger --tail 200
} >>"$state/log/look-$1.log" 2>&1
case_ended() { # NAME STATUS SECONDS
    local word
    case $2 in
    0) word=passed ;;
    77) word=skipped ;;
    *) word=failed ;;
    esac
    printf '%-8s %-16s %4d s  %s\n' "$word" "$1" "$3" "$(grep -h '^measured\|^skipped' "$state/case.$1" | sed 's/^measured //' | paste -sd ';' || true)"
    echo "$1 $3 $word" >>"$state/results"
    [ "$word" != failed ] || { tail -n 12 "$state/case.$1" | sed 's/^/        /' && look "${1//_/-}" || true; }
}
# Cases whose file says "# alone" change what all others stand on.
run_cases() { # NAME...
    local name at=0 running=()
    kubectl create namespace clients >/dev/null
    # Not before a && either: there set -e holds in none of the subshells.
    for name; do if alone "$name" page; then run_one "$name"; at=1; fi; done
    if [ "$at" -gt 0 ]; then (case=swept && swept) >>"$state/log/swept.log" 2>&1 || true; fi
    at=0
    for name; do
        alone "$name" && continue
        while [ "$at" -ge "$AT_ONCE" ]; do wait -n && at=$((at - 1)) || at=$((at - 1)); done
        run_one "$name" &
        at=$((at + 1)) running+=($!)
    done
    [ ${#running[@]} -eq 0 ] || wait "${running[@]}" || true
    for name; do if alone "$name" last; then run_one "$name"; fi; done
}
# alone NAME [WORD]: its first line says "# alone: WORD"
alone() { head -n 1 "test/cluster/cases/$1.bash" | grep -q "^# alone: ${2:-}"; }
run_one() {
    local since=$SECONDS status=0
    # Not behind a || itself, where a command that fails ends nothing.
    (run_case "$1") >"$state/case.$1" 2>&1 </dev/null &
    wait $! || status=$?
    case_ended "$1" "$status" $((SECONDS - since))
}

# --- pages

# tree: the project as somebody has cloned it, once for each case; pages write files into it
tree() {
    local folder=$state/tree.$case
    [ -d "$folder" ] || {
        mkdir "$folder"
        git -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
            xargs -0 sh -c 'for file; do [ ! -e "$file" ] || printf "%s\0" "$file"; done' _ | tar --null -T - -c | tar -x -C "$folder"
    }
    echo "$folder"
}
# copied_image PATH:TAG NEW: the same image under another name of the registry, as somebody copies what a cluster may pull
copied_image() {
    local from=${1%:*} tag=${1##*:} digest type='application/vnd.oci.image.manifest.v1+json'
    curl -sSf -H "Accept: $type" "http://$REGISTRY/v2/$from/manifests/$tag" -o "$state/manifest.$case"
    gojq -r '.config.digest, .layers[].digest' "$state/manifest.$case" | while read -r digest; do
        curl -sSf -X POST -o "$state/never-kept" "http://$REGISTRY/v2/$2/blobs/uploads/?mount=$digest&from=$from"
    done
    curl -sSf -X PUT -H "Content-Type: $type" --data-binary "@$state/manifest.$case" -o "$state/never-kept" "http://$REGISTRY/v2/$2/manifests/$tag"
}
# The names of a page, adapted here and nowhere else: its images have been built by another engine, and lie in the registry that
# stands for all.
docker() {
    local name=''
    while [ $# -gt 0 ]; do
        [[ $1 != *flagger-*:* ]] || name=${1##*/}
        shift
    done
    curl -sSf -o "$state/never-kept" -H 'Accept: application/vnd.oci.image.manifest.v1+json' \
        "http://$REGISTRY/v2/${name%:*}/manifests/${name#*:}" || fail "there is no image $name"
}
# typed PAGE [N...]: the blocks of a page that are marked sh, as they are printed; all of them, or these
typed() {
    local page=$1 folder since=$SECONDS
    shift
    folder=$(tree)
    awk -v wanted=" $* " '/^```/ { shown = $0 == "```sh" && !shown; if (shown) at++; next }
        shown && (wanted == "  " || index(wanted, " " at " "))' "$folder/$page" >"$state/typed.$case"
    [ -s "$state/typed.$case" ] || fail "$page has no such block"
    cd "$folder"
    # shellcheck disable=SC1090
    source "$state/typed.$case"
    cd - >/dev/null
    echo "$page|$(grep -cE '^(docker|helm|kubectl|cat|password)' "$state/typed.$case") commands|$((SECONDS - since)) s|passed" >>"$state/pages"
}
# swept: what a page has installed goes, and the next one finds an empty cluster
swept() {
    local namespace name
    # While there is a controller that takes its finalizers away.
    kubectl delete canaries --all --all-namespaces --timeout 90s 2>/dev/null || true
    # A case that failed may have left one whose controller does not answer.
    { kubectl get canaries --all-namespaces -o 'jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name}{"\n"}{end}' 2>/dev/null || true; } | while read -r namespace name; do
        kubectl -n "$namespace" patch canary "$name" --type merge -p '{"metadata": {"finalizers": null}}' || true
    done
    kubectl delete namespace test --ignore-not-found --timeout 90s
    for namespace in flagger-system flagger; do
        kubectl get namespace "$namespace" >/dev/null 2>&1 || continue
        helm list --namespace "$namespace" --short | xargs -r -n 1 helm uninstall --namespace "$namespace" --wait
    done
    kubectl delete namespace flagger-system flagger --ignore-not-found --timeout 90s
    kubectl get clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding -o name | sed -n '/[/]flagger/p' | xargs -r kubectl delete
    kubectl get crd -o name | sed -n '/flagger[.]app/p' | xargs -r kubectl delete --timeout 60s
    kubectl get pv -o name | while read -r name; do kubectl patch "$name" --type json -p '[{"op": "remove", "path": "/spec/claimRef"}]' >/dev/null 2>&1 || true; done
    rm -rf --one-file-system "$state"/volumes/*/*
    rm -f "$state"/there.{controller,loadtester,gate}
}
