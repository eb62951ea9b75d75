# Runs the cases of test/real/run: each is a file of cases/, in a namespace of its own; several run at once.
#
# A case is a few lines of the words below. Every word waits for what it says, with a deadline, and fails the case when
# that does not come. When a case has ended its history is checked, whatever it was about (see check_case).

# Where nothing ever comes: to wait a little without a process.
mkfifo "$state/never"
readonly LIMIT=${REAL_SECONDS:-90} AT_ONCE=${REAL_JOBS:-6}

k() { kubectl -n "$case" "$@"; }
fail() {
    echo "$*" >&2
    return 1
}

# --- what a user does

# Fields of an analysis: the steps of most cases, and the metric that success_rate sets.
readonly STEPS='interval: 1s, stepWeight: 50, maxWeight: 50, threshold: 3'
readonly RATE='metrics: [{name: request-success-rate, thresholdRange: {min: 99}, interval: 1m}]'
# hook NAME TYPE: a webhook, which answers 200 until `refuses NAME`, and again after `allows NAME`
hook() { echo "{name: $1, type: $2, url: \"http://127.0.0.1:$answers/hooks/$case/$1/\"}"; }

template() { # NAME IMAGE
    cat <<END
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec:
      terminationGracePeriodSeconds: ${GRACE:-1}
      containers:
        - {name: app, image: "$2", ports: [{name: http, containerPort: 9898}]${CONTAINER:-}}
END
}

# deployment [NAME [IMAGE [REPLICAS]]]: the workload that is released
deployment() {
    { printf 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\nspec:\n  replicas: %s\n' "${1:-app}" "${3:-2}" &&
        template "${1:-app}" "${2:-demo-app:1.0.0}"; } | k apply -f - >/dev/null
}
daemonset() { # [NAME [IMAGE]]
    { printf 'apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: %s}\nspec:\n' "${1:-app}" &&
        template "${1:-app}" "${2:-demo-app:1.0.0}"; } | k apply -f - >/dev/null
}

# canary NAME PROVIDER ANALYSIS [SERVICE [FIELD]]: flow YAML; FIELD is a line of spec
canary() {
    k apply -f - >/dev/null <<END
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1}
spec:
  provider: $2
  targetRef: {apiVersion: ${API:-apps/v1}, kind: ${KIND:-Deployment}, name: $1}
  service: {port: 80, targetPort: ${TARGET_PORT:-9898}, hosts: [$1.example.com], gatewayRefs: [{name: ${GATEWAY:-gateway}, namespace: infra}]${4:+, $4}}
  progressDeadlineSeconds: ${DEADLINE:-60}
  analysis: {$3}
${5:+  $5}
END
}

# change RESOURCE NAME PATCH: a merge patch by the user; what comes from then on is waited for
change() { since=$(k patch "$1" "$2" --type merge -p "$3" -o jsonpath='{.metadata.resourceVersion}'); }
# release VERSION [NAME]: another image
release() {
    change "${KIND:-Deployment}" "${2:-app}" \
        "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"demo-app:$1\"}]}}}}"
}

# answer RULE JSON: how the metric server or a hook answers from now on (see answers.h)
answer() { curl -sSf -X PUT -d "$2" "http://127.0.0.1:$answers/rules/$case-$1"; }
asked() { curl -sSf "http://127.0.0.1:$answers/rules/$case-$1" | gojq .count; } # how often the rule was used
success_rate() { answer success-rate "{\"match\": [\"$case\", \"status\"], \"value\": \"$1\"}"; }
refuses() { answer "$1" "{\"match\": [\"/hooks/$case/$1/\"], \"status\": 403}"; }
allows() { answer "$1" "{\"match\": [\"/hooks/$case/$1/\"], \"status\": 200}"; }

# may_break RULE...: of the history, or "rights": the case does it on purpose
may_break() { printf '%s\n' "$@" >>"$state/may_break.$case"; }

# --- what is waited for

# eventually COMMAND...: succeeds within the limit
eventually() {
    local patience=${PATIENCE:-$LIMIT} deadline
    deadline=$((SECONDS + patience))
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || fail "did not come within $patience s: $*"
        read -r -t 0.2 <>"$state/never" || true
    done
}

# A version of the Canary after the last change: its name, phase and weight; "*" is any.
seen() {
    local revision name phase weight rest
    while read -r revision name phase weight rest; do
        # shellcheck disable=SC2053
        [ "$revision" -gt "${since:-0}" ] && [ "$name" = "$1" ] && [[ $phase == $2 ]] && [[ $weight == ${3:-*} ]] && return 0
    done <"$state/history/$case.canaries"
    return 1
} 2>/dev/null
# comes PHASE [WEIGHT] [NAME]: the Canary is in that phase, after what the user did last
comes() { eventually seen "${3:-app}" "$1" "${2:-*}"; }

# is RESOURCE NAME JQ-EXPRESSION: of the object as it is now
is() { k get "$1" "$2" -o json | gojq -e "$3" >/dev/null; }
# soon RESOURCE NAME JQ-EXPRESSION
soon() { eventually is "$@"; }

# image NAME: of a workload's first container
image() { k get "${KIND:-Deployment}" "$1" -o jsonpath='{.spec.template.spec.containers[0].image}'; }
runs() { [ "$(image "$1")" = "demo-app:$2" ] || fail "$1 runs $(image "$1"), not $2"; } # NAME VERSION
events() { k get events -o jsonpath='{range .items[*]}{.count} {.reason} {.message}{"\n"}{end}'; }
# told TEXT: an event says so; they come after what they tell of
told() { [[ $(events) == *"$1"* ]]; }
# routes NAME JQ-EXPRESSION: of the HTTPRoute's rules
routes() { is httproute "$1" ".spec.rules | $2"; }

# --- the cases

# The line of the case that failed, and where it stood.
where() {
    local i
    for i in "${!BASH_SOURCE[@]}"; do
        [[ ${BASH_SOURCE[i]} != */cases/* ]] || { echo "failed: $(sed -n "${BASH_LINENO[i - 1]}p" "${BASH_SOURCE[i]}")" && break; }
    done
    tail -n 3 "$state/history/$case.canaries" 2>/dev/null || true
} >&2

# run_case NAME: its output is the reason of a failure
run_case() {
    local case=${1//_/-} since=0
    set -Eeuo pipefail
    trap where ERR
    kubectl create namespace "$case" >/dev/null
    # shellcheck disable=SC1090
    source "${CASES:-test/real/cases}/$1.bash"
    check_case
}

# What must hold of every case: see history.h; and the controller had no error and was denied nothing.
check_case() {
    local may_break=()
    [ ! -e "$state/may_break.$case" ] || mapfile -t may_break <"$state/may_break.$case"
    "$build/flagger-testhistory" "$state/history/$case.history" "${may_break[@]}"
    local denied
    if grep -F '"level":"error"' "$state/log/controller.log" 2>/dev/null | grep -F ".$case\""; then
        fail "the controller logs errors"
    fi
    denied=$(requests | gojq -r 'select(.responseStatus.code == 403) | .verb + " " + .requestURI')
    [ -z "$denied" ] || [[ " ${may_break[*]} " == *" rights "* ]] || fail "the controller has not the right to $denied"
}
# The controller's requests about the case, lines of the audit log.
requests() { grep -F "\"namespace\":\"$case\"" "$state/audit.log" || true; }

declare -A took=()
passed=0 failed=0
case_ended() { # NAME STATUS
    local case=${1//_/-} count
    # What it counted is worth a line of its own.
    case $1 in
    differences) grep ' requests, ' "$state/case.$1" || true ;;
    flagger) grep '^observed beside\|^switched\|^skipped' "$state/case.$1" || true ;;
    jobs) grep '^p99\|requests in\|a TestRun\|^skipped' "$state/case.$1" || true ;;
    install) grep ' objects$' "$state/case.$1" || true ;;
    newcomer) grep '^from helm\|^skipped' "$state/case.$1" || true ;;
    replicas) grep '^handed over' "$state/case.$1" || true ;;
    providers) grep '^released as recorded\|^skipped' "$state/case.$1" || true ;;
    esac
    if [ "$2" -eq 0 ]; then
        count=$(requests | grep -vcF '"verb":"watch"' || true)
        printf 'ok      %-20s %3d s, %4d requests\n' "$1" "${took[$1]}" "$count"
        passed=$((passed + 1))
    else
        printf 'FAILED  %-20s %3d s\n' "$1" "${took[$1]}"
        tail -n "${REAL_LINES:-12}" "$state/case.$1" | sed 's/^/        /'
        failed=$((failed + 1))
    fi
}

run_cases() { # NAME...
    local name
    local -A pids=()
    for name; do
        while [ "${#pids[@]}" -ge "$AT_ONCE" ]; do reap; done
        (run_case "$name") >"$state/case.$name" 2>&1 </dev/null &
        pids[$!]=$name
        took[$name]=$SECONDS
    done
    while [ "${#pids[@]}" -gt 0 ]; do reap; done
}

# Waits for one of the cases in pids.
reap() {
    local pid status=0 name
    wait -n -p pid "${!pids[@]}" || status=$?
    name=${pids[$pid]}
    unset "pids[$pid]"
    took[$name]=$((SECONDS - took[$name]))
    case_ended "$name" "$status"
}

cluster_wrong() { # SENTENCE
    echo "$1"
    failed=$((failed + 1))
}

summary() {
    controller_end || cluster_wrong "$(cat "$state/controller.ended")"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
