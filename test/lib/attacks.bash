# What strangers, tenants and tasks try on the daemons, one at a time (test/hostile/run) or all at once (test/soak/run). They use
# DAEMON_URL of the one that is attacked, the folders build and work and, where they name TOKEN, a bearer token or ''.

# task TYPE COMMAND [NAME]: a webhook payload
task() { gojq -cn --arg type "$1" --arg cmd "$2" --arg name "${3:-podinfo}" '{name: $name, namespace: "test", metadata: {type: $type, cmd: $cmd}}'; }

# ask_probe URL [PATH]: the status of /healthz (000: none within five seconds) and the seconds that it took
ask_probe() {
    local answer
    answer=$(curl -s -m 5 -o /dev/null -w '%{http_code} %{time_total}' "$1${2:-/healthz}") || answer='000 5'
    echo "$answer"
}

# What happens between health_watch and health_watched, of the daemon DAEMON_PID or PID: sets slowest, the milliseconds of the slowest
# answer of /healthz, and worked, how much of one the daemon's own loop has worked, which no other work of the machine lengthens.
# health_watch [PID URL]
health_watch() {
    rm -f "$work/asked"
    test/hostile/beside.py "${1:-$DAEMON_PID}" "${2:-$DAEMON_URL}" "$work/asked" >"$work/own" 2>/dev/null </dev/null &
    watcher=$!
}
health_watched() {
    local answers
    eventually 20 test -e "$work/asked" || true # where the attack is over at once
    kill -TERM "$watcher"
    wait "$watcher" || true
    read -r slowest worked _ answers <"$work/own" || answers=0
    [ "${answers:-0}" -gt 0 ] || slowest=99999 worked=99999
}
stays_awake() { [ "$worked" -lt "$MOST_MS" ] && [ "$slowest" -lt 5000 ]; }
awake_text() { echo "slowest /healthz $slowest ms, of which its loop worked $worked ms at most, at most $(($(peak "$@") / 1024)) MiB"; }

# Of a process, the daemon's: KiB of memory that are resident and that were at most, and open descriptors.
rss() { awk '/VmRSS/ {print $2}' "/proc/${1:-$DAEMON_PID}/status"; }
peak() { awk '/VmHWM/ {print $2}' "/proc/${1:-$DAEMON_PID}/status"; }
files() {
    local fds=("/proc/${1:-$DAEMON_PID}/fd"/*)
    echo "${#fds[@]}"
}

# --- requests that are made to be misread, or to take much memory -----------------------------------------------

# send_raw TEXT [SECONDS]: the answer's status lines, within two seconds or so many, or until the daemon closes
send_raw() {
    local host=${DAEMON_URL#http://} raw=$work/raw.$BASHPID
    exec 8<>"/dev/tcp/${host%:*}/${host#*:}"
    printf '%b' "$1" >"$raw"
    cat "$raw" >&8 2>/dev/null || true
    timeout "${2:-2}" cat <&8 | grep -a '^HTTP/1' | tr -d '\r' | cut -d ' ' -f 2 | paste -sd ' ' || true
    exec 8>&-
    rm -f "$raw"
}

# raw_ways: name|request, each to be answered 400 once
raw_ways() {
    cat <<'WAYS'
two lengths|POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 40\r\n\r\n{}
a length and chunks|POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n
two hosts|GET /tasks HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n
a header over two lines|GET /tasks HTTP/1.1\r\nHost: x\r\nX: y\r\n Content-Length: 40\r\n\r\n
WAYS
}

# smuggle TEXT: the answers to a request and to what stands behind it, which must be no request
smuggle() { send_raw "$1GET /healthz HTTP/1.1\r\nHost: smuggled\r\n\r\n" 10 || true; }

# tree_pieces: what is small as text and large as a tree
tree_pieces() { printf '%s\n' '{},' '[],' '{"":0},' '[[[[]]]],'; }

# tree_body PIECE: a MiB of it
tree_body() { { printf '[' && head -c 1040000 < <(yes "$1" | tr -d '\n') && printf '1]'; } | sed 's/,[^,]*1]$/]/'; }

# send_many BODY-FILE PATH TIMES [TOKEN]: 32 at once; prints the status codes
send_many() {
    local list=$work/curl.$BASHPID
    for _ in $(seq "$3"); do
        printf 'url = "%s%s"\ndata-binary = "@%s"\nwrite-out = "%%{http_code}\\n"\noutput = "/dev/null"\nmax-time = %d\n%snext\n' "$DAEMON_URL" "$2" "$1" \
            $((20 * ${FLAGGER_PATIENCE:-1})) "${4:+header = \"Authorization: Bearer $4\"$'\n'}"
    done | sed '$d' >"$list"
    curl -s --parallel --parallel-max 32 -K "$list" 2>/dev/null || true
    rm -f "$list"
}

# brace_message SECONDS: a message of 1 MiB that is all braces, whose task runs on
brace_message() { gojq -nj --arg s "$1" '"{\"name\": \"a\", \"namespace\": \"b\", \"metadata\": {\"cmd\": \"sleep \($s)\"}, \"pad\": [", ("{}," * 340000), "{}]}"'; }

# crowd_kinds: connections that say nothing, little by little, or half of what they announce
crowd_kinds() { printf '%s\n' silent slow half-header half-body chunks continue too-long; }

# --- tasks -----------------------------------------------------------------------------------------------------

# hog_ways: name@mark in its command line@the error@command, under a time-out of four seconds, 200 processes and 256 MiB
hog_ways() {
    cat <<'WAYS'
fork bomb@hostile-bomb@more processes than a task may@hostile_bomb() { hostile_bomb | hostile_bomb & }; : hostile-bomb; hostile_bomb; sleep 60
fork bomb in sessions of their own@hostile-setsid@more [a-z]* than a task may@for i in $(seq 400); do setsid sleep 61.23 & done; : hostile-setsid; wait
memory hog@hostile-memory@failed@x=$(head -c 1m /dev/zero | tr "\0" a); : hostile-memory; while :; do x=$x$x; done
memory hogs that share the work@hostile-shared@more memory than a task may@for i in 1 2 3 4; do head -c 100m /dev/zero | tail & done; : hostile-shared; sleep 60
endless output@hostile-output@timed out after 4s@yes hostile-output
ignores SIGTERM@hostile-deaf@timed out after 4s@trap "" TERM; : hostile-deaf; while :; do sleep 1; done
forks twice and hides@sleep 62.345@exit status 7@(setsid sh -c "(trap \"\" TERM; sleep 62.345; sleep 62.345) &") & exit 7
stops its own group@hostile-stop@timed out after 4s@: hostile-stop; kill -STOP 0; sleep 60
closes its output and stays@sleep 63.456@timed out after 4s@exec >&- 2>&-; sleep 63.456
kills its parent@hostile-parent@failed\|timed out@: hostile-parent; kill -KILL $PPID; sleep 60
a million files@hostile-files@exit status 9\|cannot modify@: hostile-files; ulimit -n 1000000; exit 9
WAYS
}

# many_messages COUNT TASKS COMMAND [TOKEN]: a list for curl; in the command # stands for the number of the task
many_messages() {
    gojq -nr --arg url "$DAEMON_URL/" --argjson count "$1" --argjson tasks "$2" --arg cmd "$3" --arg token "${4-}" 'range($count) | (. % $tasks | tostring) as $i
        | {name: "many", namespace: "test", metadata: {type: "cmd", cmd: ($cmd | gsub("#"; $i))}}
        | "url = \"\($url)\"\nheader = \"Authorization: Bearer \($token)\"\ndata-binary = \(tojson | tojson)\noutput = \"/dev/null\"\nnext"'
}

# --- a metric server of a tenant ---------------------------------------------------------------------------------

# liar_begin PIECE BYTES: sets LIAR_PID and LIAR_URL
liar_begin() {
    rm -f "$work/liar"
    "$build/flagger-liar" "$1" "$2" >"$work/liar" 2>/dev/null &
    LIAR_PID=$!
    eventually 10 test -s "$work/liar"
    LIAR_URL=http://127.0.0.1:$(cat "$work/liar")
}

# liar_end: sets LIAR_ASKED, how often it was asked
liar_end() {
    kill -TERM "$LIAR_PID"
    wait "$LIAR_PID" || true
    LIAR_PID=
    LIAR_ASKED=$(sed -n 2p "$work/liar")
}

# phase_is NAME PHASE: of a Canary in the namespace test
phase_is() { [ "$(of_canary test "$1" .status.phase)" = "$2" ]; }

# --- people with small rights at the gate ------------------------------------------------------------------------

# gate_asks TOKEN METHOD PATH [BODY [CURL ARGUMENT...]]: the status code, the body is in $work/body; a TOKEN '' sends none
gate_asks() {
    local token=$1 method=$2 path=$3 body=${4-}
    shift $(($# < 4 ? $# : 4))
    curl -s -m 10 -X "$method" ${token:+-H "Authorization: Bearer $token"} ${body:+--data-binary "$body"} \
        -H 'Content-Type: application/json' "$@" -o "$work/body" -w '%{http_code}' "$DAEMON_URL$path" || true
}

# gates_fill: a thousand gates; pg_sql of the caller runs it
gates_fill() {
    pg_sql "INSERT INTO flagger_gates (kind, namespace, name, open) SELECT 'gate', 'test', 'listed' || n, true FROM generate_series(1, 1000) n"
}

# list_gates TOKEN CLIENTS SECONDS: by many clients at once
list_gates() { hey -z "$3s" -t 20 -c "$2" -H "Authorization: Bearer $1" "$DAEMON_URL/v1/gates?limit=1000"; }

# check_other_revision TOKEN: of a gate for whose real one somebody waits
check_other_revision() {
    gate_asks "$1" POST /gate/check "{\"name\": \"podinfo\", \"namespace\": \"test\", \"checksum\": \"fake$RANDOM\"}" -o /dev/null >/dev/null
}

# invent_names TOKEN COUNT: checks of gates that nobody has
invent_names() {
    local list=$work/curl.$BASHPID
    gojq -nr --arg url "$DAEMON_URL/gate/check" --arg token "$1" --argjson n "$2" '[range($n) | {name: "invented\(.)", namespace: "test"} | tojson
        | "url = \"\($url)\"\nheader = \"Authorization: Bearer \($token)\"\ndata-raw = \(tojson)\noutput = \"/dev/null\""] | join("\nnext\n")' >"$list"
    curl -s --parallel --parallel-max 4 -K "$list" >/dev/null 2>&1 || true
    rm -f "$list"
}

# rebind: what a page whose name was made to lead here is answered when it opens a gate, and when it reads
rebind() {
    local port=${DAEMON_URL##*:}
    gate_asks "${1-}" POST /v1/gates/test/podinfo/open '{}' -H "Host: evil.example:$port" -H "Origin: http://evil.example:$port" -H 'Sec-Fetch-Site: same-origin'
    echo " $(gate_asks "${1-}" GET /v1/gates '' -H "Host: evil.example:$port")"
}

# --- pages in somebody's browser ---------------------------------------------------------------------------------

# page_headers: with which a browser sends a request of a page
page_headers() {
    printf '%s\n' 'Origin: https://evil.example' 'Origin: null' "Origin: $DAEMON_URL" 'Sec-Fetch-Site: cross-site' 'Sec-Fetch-Site: same-site' \
        'Sec-Fetch-Site: same-origin'
}
