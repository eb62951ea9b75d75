# A server of an attacker: keeps all that it is sent, and answers everything alike. In a shell with $work and daemon.bash.

# sink_start STATUS TEXT: sets SINK, its address; what it was sent is in the file $work/sink
sink_start() {
    python3 - "$work/sink" "$work/port" "$1" "$2" <<'PY' &
import http.server, sys
class Sink(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        with open(sys.argv[1], 'ab') as out:
            out.write((self.requestline + '\n' + str(self.headers)).encode() + body)
        text = sys.argv[4].encode()
        self.send_response(int(sys.argv[3])); self.send_header('Content-Length', str(len(text))); self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(text)
    do_GET = do_POST = do_PUT = do_CONNECT = do_HEAD = answer
    def log_message(self, *a): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Sink)
open(sys.argv[2], 'w').write(str(server.server_port))
server.serve_forever()
PY
    SINK_PID=$!
    on_finish=sink_stop
    eventually 10 test -s "$work/port"
    SINK=http://127.0.0.1:$(cat "$work/port")
}

sink_stop() { kill "$SINK_PID" 2>/dev/null || true; }
