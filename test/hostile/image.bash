# The load tester as its image and deploy/loadtester/deployment.yaml run it: the first process of a namespace, root with the
# capabilities of the manifest and no others, tasks as the image has it. What
# they try on it, and on tasks of other namespaces.

# try NAME COMMAND STATUS PATTERN: the task is answered so, its output has the pattern, and the load tester goes on
try() {
    local good=/nothing status
    status=$(curl -s -m 30 -H "Authorization: Bearer $token" -o "$work/body" -w '%{http_code}' --data-binary "$(task bash "$2" | gojq --arg in "${namespace:-test}" '.namespace = $in | .metadata.returnCmdOutput = "true"')" "$DAEMON_URL/" || true)
    [ "$status" = "$3" ] && grep -qa -- "$4" "$work/body" && ! grep -qa "$token" "$work/body" &&
        curl -sf -m 5 -o /dev/null "$DAEMON_URL/healthz" && good=ok
    [ "$good" = ok ] || echo "           answered $status: $(tail -c 300 "$work/body")"
    report "image: $1" "answered $status" "$good"
}

first_process() { pgrep -P "$DAEMON_PID"; }

try_image() {
    local added token=0123456789abcdef0123 good=/nothing effective users
    users=$(sed -n 's/^ENV LOADTESTER_TASK_USER=\([0-9:-]*\).*/\1/p' deploy/Dockerfile | sort -u)
    added=$(gojq --yaml-input -r 'select(.kind == "Deployment").spec.template.spec.containers[0].securityContext.capabilities.add |
        map("+" + ascii_downcase) | join(",")' deploy/loadtester/deployment.yaml)
    echo "$token" >"$work/tokens" && chmod 400 "$work/tokens"
    chmod 755 "$work"
    daemon_start unshare --pid --fork --mount-proc --kill-child \
        setpriv --bounding-set "-all,$added" --inh-caps -all --no-new-privs \
        env SECRET=geheim LOADTESTER_TASK_USER="$users" "$LOADTESTER" --seccomp --timeout 3s --task-processes 200 --token-file "$work/tokens"
    effective=$(awk '/^CapEff/ {print $2}' "/proc/$(first_process)/status")
    [ "$effective" = 00000000000000e0 ] && good=ok
    report 'image: SETUID, SETGID, KILL and no others' "capabilities $effective" "$good"
    try 'tasks are of another user, without rights' 'id -u; id -G; grep -E "^(CapEff|CapPrm|NoNewPrivs)" /proc/self/status | tr -d "\n\t"' 200 'CapPrm:0000000000000000CapEff:0000000000000000NoNewPrivs:1'
    try 'the daemon is signalled' 'kill -KILL 1; kill -TERM 1' 500 'not permitted'
    try 'its supervisor is signalled' 'kill -KILL $PPID' 500 'not permitted'
    try 'all that may be are signalled' 'kill -KILL -1; echo alone' 200 alone
    try 'the tokens are read' "cat $work/tokens" 500 'Permission denied'
    try 'its environment is read' 'cat /proc/1/environ' 500 'Permission denied'
    try 'its memory is read' 'cat /proc/1/mem' 500 'Permission denied'
    try 'its files are opened' 'ls -l /proc/1/fd /proc/1/cwd/' 500 'Permission denied'
    try 'it is traced' 'exec 3<>/proc/1/mem' 500 'Permission denied'
    try 'has files of its own' 'echo geheim >"$HOME/file" && mktemp' 200 "flagger-tasks"
    curl -s -m 30 -H "Authorization: Bearer $token" -o /dev/null --data-binary \
        "$(task bash 'exec env MINE=geheim sleep 2.77' | gojq '.namespace = "prod"')" "$DAEMON_URL/" &
    eventually 5 pgrep -f '^sleep 2.77' >/dev/null
    try 'a task of another namespace is signalled' 'kill -KILL $(pgrep -f "^sleep 2.77")' 500 'not permitted'
    try 'its environment is read, of another namespace' 'cat /proc/$(pgrep -f "^sleep 2.77")/environ' 500 'Permission denied'
    wait $!
    namespace=prod try 'its files are read, of another namespace' 'cat /tmp/flagger-tasks.*/*/file "$(dirname "$HOME")"/*/file' 500 'Permission denied\|No such file'
    try 'becomes root again' 'setpriv --reuid 0 id 2>&1' 500 'not permitted\|failed'
    try 'a namespace of its own' 'unshare -Ur id 2>&1' 500 'not permitted\|failed'
    try 'works on and on' 'trap "" TERM; while :; do sleep 1; done' 500 'timed out after 3s'
    try 'hides in a session' '(setsid sleep 66.778 &) ; exit 7' 500 'exit status 7'
    try 'a fork bomb' 'b() { b | b & }; b; sleep 60' 500 'more processes than a task may'
    good=/nothing
    no_leftovers() { [ "$(leftovers 'sleep 66.778')" = 0 ]; }
    no_zombies() { [ "$(nsenter --target "$(first_process)" --pid --mount ps -eo stat= | grep -c Z)" = 0 ]; }
    eventually 5 no_leftovers && eventually 5 no_zombies && good=ok
    report 'image: what is left' "$(leftovers 'sleep 66.778') processes, $(nsenter --target "$(first_process)" --pid --mount ps -eo stat= | grep -c Z || true) zombies" "$good"
    kill -TERM "$(first_process)"
    wait "$DAEMON_PID" || true
    DAEMON_PID=
}

if [ "$(id -u)" -ne 0 ] || ! unshare --pid --fork --mount-proc true 2>/dev/null; then
    skip 'image' 'only root can make what a container engine makes'
else
    try_image
fi
