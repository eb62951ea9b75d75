# One tenant, from a machine of his own, takes all that he can get of the gate; another one's checks and events are answered as before.
beside_own=1
. test/lib/postgres.bash

# modest_asks STATUS COMMAND...: the slowest of ten tries of modest that must be answered so, in milliseconds; 99999: one was not
modest_asks() {
    local wanted=$1 most=0 began code ms
    shift
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        began=${EPOCHREALTIME/./}
        code=$("$@" || true)
        ms=$(((${EPOCHREALTIME/./} - began) / 1000))
        [ "$code" = "$wanted" ] || ms=99999
        [ "$ms" -le "$most" ] || most=$ms
    done
    echo "$most"
}

# From the machine of modest, with its token: a check of a gate that is open, and, of the events, whether they begin.
modest_gate() { gate_asks "$MODEST" POST /gate/check '{"name": "podinfo", "namespace": "modest"}' --interface 127.0.0.3; }
modest_follows() { curl -s -m 2 --interface 127.0.0.3 -H "Authorization: Bearer $MODEST" -o /dev/null -w '%{http_code}' "$DAEMON_URL/v1/events" || true; }

# gate_flood BUDGET: greedy, from another machine, takes all that it can get of the gate, until it is killed
gate_flood() {
    python3 - "$1" "${DAEMON_URL##*:}" "$GREEDY" <<'PYTHON' &
import resource, socket, sys, time
what, port, token = sys.argv[1], int(sys.argv[2]), sys.argv[3]
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
head = 'HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n' % token
say = {'connections': '',
       'requests': 'GET /v1/gates?limit=1000 %s\r\n' % head,
       'followers': 'GET /v1/events %s\r\n' % head,
       'bodies': 'POST /gate/check %sContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n%s' % (head, ' ' * 59000)}[what].encode()
open_ = []
def connect():
    s = socket.socket()
    s.setblocking(False)
    s.bind(('127.0.0.2', 0))
    s.connect_ex(('127.0.0.1', port))
    return s
while True:
    while len(open_) < 1500:
        open_.append([connect(), False])
    time.sleep(0.05)
    kept = []
    for one in open_:
        try:
            if not one[1]:
                one[0].send(say)
                one[1] = True
            if not one[0].recv(65536):
                raise OSError
            one[1] = what == 'followers'
            kept.append(one)
        except BlockingIOError:
            kept.append(one)
        except (OSError, ValueError):
            one[0].close()
    open_ = kept
PYTHON
    flood=$!
    disown
}

# try_gate BUDGET: beside greedy's flood a check of modest takes as long as before, and modest may follow the events
try_gate() {
    local good=/nothing name="one takes all of: $1" took follows
    wanted "$1" || return 0
    usual=$(modest_asks 200 modest_gate)
    gate_flood "$1"
    sleep 2
    health_watch
    for _ in 1 2 3; do
        took=$(modest_asks 200 modest_gate)
        follows=$(modest_follows)
        [ "$took" -gt $((5 * usual + 500)) ] || [ "$follows" != 200 ] || { good=ok && break; }
    done
    health_watched
    kill -KILL "$flood"
    [ "$(peak)" -lt "$MOST_MEMORY" ] && stays_awake || good=/nothing
    report "$name" "another's check took $took ms (before: $usual ms), its events were answered $follows, $(awake_text)" "$good"
    measured "$name" gate "$slowest" "$(peak)" "$worked"
}

try_gates() {
    pg_begin
    on_finish=end_gates
    GREEDY=greedy-0123456789abcdef MODEST=modest-0123456789abcdef
    printf '%s\n' "$GREEDY admin:greedy greedy" "$MODEST admin:modest modest" >"$work/gate-tokens"
    chmod 600 "$work/gate-tokens"
    daemon_start "$GATE" --database "$PG_DSN" --token-file "$work/gate-tokens"
    eventually 20 curl -sf -o /dev/null "$DAEMON_URL/readyz"
    gate_asks "$MODEST" POST /v1/gates/modest/podinfo/open '{}' >/dev/null
    try_gate connections
    try_gate requests
    try_gate bodies
    try_gate followers
    daemon_stop
    end_gates
    on_finish=:
}
end_gates() {
    kill -KILL "${flood:-}" 2>/dev/null || true
    pg_end
}

if ! command -v python3 >/dev/null; then
    skip 'shares of the gate' 'it needs python3'
else
    try_gates
fi
