# Runs the cases of test/real: each is a file of cases/, in a namespace of its own; several run at once.
#
# A case is a few lines of the words below. Every word waits for what it says, with a deadline, and fails the case when
# that does not come. When a case has ended its history is checked, whatever it was about (see check_case).

readonly LIMIT=${REAL_SECONDS:-90} AT_ONCE=${REAL_JOBS:-6}

k() { kubectl -n "$case" "$@"; }
fail() {
    echo "$*" >&2
    exit 1
}

# --- what a user does

# deployment [NAME [IMAGE]] [REPLICAS]: the workload that is released
deployment() {
    local name=${1:-app}
    k apply -f - >/dev/null <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: $name, namespace: $case, labels: {app: $name}}
spec:
  replicas: ${3:-2}
  progressDeadlineSeconds: 60
  selector: {matchLabels: {app: $name}}
  template:
    metadata: {labels: {app: $name}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {name: app, image: "${2:-demo-app:1.0.0}", ports: [{name: http, containerPort: 9898}]}
END
}

# canary NAME PROVIDER ANALYSIS [SPEC]: analysis and further fields of spec as YAML flow
canary() {
    k apply -f - >/dev/null <<END
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: $1, namespace: $case}
spec:
  provider: $2
  targetRef: {apiVersion: apps/v1, kind: ${KIND:-Deployment}, name: $1}
  service: ${SERVICE:-"{port: 80, targetPort: 9898, hosts: [$case.example.com], gatewayRefs: [{name: gateway, namespace: infra}]}"}
  progressDeadlineSeconds: 60
  analysis: $3
${4:+  $4}
END
}

# release VERSION [NAME]: another image; what comes from then on is waited for
release() {
    since=$(k patch "${KIND:-deployment}" "${2:-app}" --type merge -o jsonpath='{.metadata.resourceVersion}' \
        -p "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"demo-app:$1\"}]}}}}")
}

# change RESOURCE NAME PATCH: a merge patch by the user
change() { since=$(k patch "$1" "$2" --type merge -p "$3" -o jsonpath='{.metadata.resourceVersion}'); }

# answer RULE JSON: how the metric server or a hook answers from now on (see answers.h); answer RULE: by default again
answer() {
    local method=PUT
    [ $# -gt 1 ] || method=DELETE
    curl -sSf -X "$method" -d "${2:-}" "http://127.0.0.1:$answers/rules/$case-$1"
}
success_rate() { answer success-rate "{\"match\": [\"$case\", \"status\"], \"value\": \"$1\"}"; }

# --- what is waited for

# eventually COMMAND...: succeeds within the limit
eventually() {
    local deadline=$((SECONDS + LIMIT))
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || fail "did not come within $LIMIT s: $*; $(k get canaries 2>&1 | tail -n 2)"
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
is() { k get "$1" "$2" -o json | jq -e "$3" >/dev/null; }
# soon RESOURCE NAME JQ-EXPRESSION
soon() { eventually is "$@"; }

# --- the cases

# run_case NAME: its output is the reason of a failure
run_case() {
    local case=$1 since=0
    set -euo pipefail
    kubectl create namespace "$case" >/dev/null
    # shellcheck disable=SC1090
    source "test/apiserver/cases/$case.bash"
}

passed=0 failed=0
# case_ended NAME STATUS
case_ended() {
    local requests
    requests=$(grep -c "\"namespace\":\"$1\"" "$state/audit.log" || true)
    if [ "$2" -eq 0 ]; then
        echo "ok      $1: ${took[$1]} s, $requests requests"
        passed=$((passed + 1))
    else
        echo "FAILED  $1: $(tail -n 5 "$state/case.$1")"
        failed=$((failed + 1))
    fi
}

declare -A took=()
run_cases() { # [NAME...]
    local name pid status
    local -A pids=()
    [ $# -gt 0 ] || mapfile -t < <("$script" --list) && [ $# -gt 0 ] || set -- "${MAPFILE[@]}"
    mkfifo "$state/never"
    for name; do
        [ -e "test/apiserver/cases/$name.bash" ] || die "there is no case $name; see --list"
        while [ "${#pids[@]}" -ge "$AT_ONCE" ]; do reap; done
        (run_case "$name") >"$state/case.$name" 2>&1 </dev/null &
        pids[$!]=$name
        took[$name]=$SECONDS
    done
    while [ "${#pids[@]}" -gt 0 ]; do reap; done
}

# Waits for one of the cases in pids.
reap() {
    status=0
    wait -n -p pid "${!pids[@]}" || status=$?
    name=${pids[$pid]}
    unset "pids[$pid]"
    took[$name]=$((SECONDS - took[$name]))
    case_ended "$name" "$status"
}

summary() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
