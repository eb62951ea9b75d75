# Requests that are made to be misread, or to take much memory.

# try_raw NAME TEXT: answered 400 once, and what stands behind it is no request
try_raw() {
    local good=/nothing got
    got=$(send_raw "$2GET /healthz HTTP/1.1\r\nHost: smuggled\r\n\r\n" || true)
    [ "$got" = 400 ] && good=ok
    report "two readings: $1" "answered ${got:-nothing}" "$good"
}

# try_tree NAME BODY-FILE PATH: many at once; memory stays bounded
try_tree() {
    local good=/nothing codes
    for _ in $(seq 64); do
        printf 'url = "%s%s"\ndata-binary = "@%s"\nwrite-out = "%%{http_code}\\n"\noutput = "/dev/null"\nmax-time = 20\nnext\n' "$DAEMON_URL" "$3" "$2"
    done | sed '$d' >"$work/curl"
    codes=$(curl -s --parallel --parallel-max 32 -K "$work/curl" | sort | uniq -c | awk '{printf "%s times %s ", $1, $2}' || true)
    [ "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "$DAEMON_URL/healthz")" = 200 ] && [ "$(peak)" -lt "$MOST_MEMORY" ] && good=ok
    report "$1" "at most $(($(peak) / 1024)) MiB; ${codes}" "$good"
}

daemon_start "$LOADTESTER" "${user[@]}"
try_raw 'two lengths' 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 40\r\n\r\n{}'
try_raw 'a length and chunks' 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'
try_raw 'two hosts' 'GET /tasks HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'
try_raw 'a header over two lines' 'GET /tasks HTTP/1.1\r\nHost: x\r\nX: y\r\n Content-Length: 40\r\n\r\n'
for piece in '{},' '[],' '{"":0},' '[[[[]]]],'; do
    { printf '[' && head -c 1040000 < <(yes "$piece" | tr -d '\n') && printf '1]'; } | sed 's/,[^,]*1]$/]/' >"$work/body"
    try_tree "64 times a MiB of $piece" "$work/body" /
done
daemon_stop
