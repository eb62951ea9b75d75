# deploy/renew against a registry that wants a token, as Docker's does, and a proxy of Go's protocol.

setup() {
    load ../lib/eventually
    cd "$BATS_TEST_TMPDIR" || return 1
    cat >server.py <<'PYTHON'
import http.server, json, re, sys
DIGESTS = {"library/debian:12-slim": "a" * 64, "library/golang:1.24-bookworm": "b" * 64, "team/base:1": "c" * 64}
MODULES = {"example.com/tool": {"v0.9.0": "1.20", "v0.10.0": "1.24.3", "v0.11.0": "1.25.0", "v0.12.0-rc.1": "1.20"}}
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
    def do_HEAD(self):
        at = re.match(r"/v2/(.*)/manifests/(.*)$", self.path)
        here = "http://%s" % self.headers["Host"]
        if self.headers.get("Authorization") != "Bearer token-of-" + at[1]:
            return self.answer(401, WWW_Authenticate='Bearer realm="%s/token",service="here",scope="x"' % here)
        digest = DIGESTS.get(at[1] + ":" + at[2])
        if "image.index" not in self.headers.get("Accept", "") or not digest:
            return self.answer(404)
        self.answer(200, Docker_Content_Digest="sha256:" + digest)
    def do_GET(self):
        token = re.match(r"/token\?service=here&scope=repository:(.*):pull$", self.path)
        module = re.match(r"/(.*)/@v/(list|(.*)\.mod)$", self.path)
        if token:
            return self.answer(200, json.dumps({"token": "token-of-" + token[1]}).encode())
        versions = MODULES.get(module[1]) if module else None
        if not versions:
            return self.answer(404)
        if module[2] == "list":
            return self.answer(200, "\n".join(versions).encode())
        self.answer(200, ("module %s\n\ngo %s\n" % (module[1], versions[module[3]])).encode())
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
    python3 server.py >port 3>&- &
    SERVER=$!
    eventually 10 test -s port
    export REGISTRY=http://127.0.0.1:$(cat port) GOPROXY=http://127.0.0.1:$(cat port),direct DOCKERFILE=$PWD/Dockerfile
    unset http_proxy https_proxy
    RENEW=$BATS_TEST_DIRNAME/../../deploy/renew
    printf '%s\n' 'ARG DEBIAN=debian:12-slim' "ARG GOLANG=golang:1.24-bookworm@sha256:$(printf 'd%.0s' {1..64})" 'ARG TOOL=example.com/tool@v0.9.0' '' \
        'FROM $DEBIAN' 'ARG TOOL' >Dockerfile
}

teardown() { kill "$SERVER"; }

@test "images are named by their digest and tools by what this Go builds, and the second time all is new" {
    cp Dockerfile before
    run "$RENEW" --check
    [ "$status" -eq 1 ]
    cmp before Dockerfile
    run "$RENEW"
    [ "$status" -eq 0 ]
    [[ $output == *'TOOL: example.com/tool@v0.9.0 -> example.com/tool@v0.10.0'* ]]
    diff Dockerfile - <<END
ARG DEBIAN=debian:12-slim@sha256:$(printf 'a%.0s' {1..64})
ARG GOLANG=golang:1.24-bookworm@sha256:$(printf 'b%.0s' {1..64})
ARG TOOL=example.com/tool@v0.10.0

FROM \$DEBIAN
ARG TOOL
END
    run "$RENEW" --check
    [ "$status" -eq 0 ]
    [ "$output" = 'all is as new as it can be' ]
}

@test "a version that the proxy does not have any more stays" {
    sed -i 's/@v0.9.0/@v0.20.0/' Dockerfile
    "$RENEW"
    grep -qx 'ARG TOOL=example.com/tool@v0.20.0' Dockerfile
}

@test "what cannot be found is a sentence, and nothing is written" {
    local change
    for change in 's/debian:12-slim/debian:99/' 's/example.com/nowhere.example.com/' '/^ARG GOLANG/d'; do
        sed "$change" Dockerfile >changed
        cp changed before
        DOCKERFILE=$PWD/changed run "$RENEW"
        [ "$status" -eq 1 ]
        [[ $output == *'deploy/renew: '* ]]
        cmp before changed
    done
    REGISTRY=http://127.0.0.1:1 run "$RENEW"
    [ "$status" -eq 1 ]
    [[ $output == *'does not answer'* ]]
}

@test "an argument that it does not know, or one too many, is a sentence" {
    local arguments
    for arguments in --chek '--check --check' '--check extra'; do
        # shellcheck disable=SC2086
        run "$RENEW" $arguments
        [ "$status" -eq 2 ]
        [[ $output == 'deploy/renew: '*'try --help' ]]
    done
}

@test "the lines of the project's own Dockerfile are of that form" {
    local own=$BATS_TEST_DIRNAME/../../deploy/Dockerfile
    [ "$(grep -cE '^ARG [A-Z_]+=[a-z0-9./-]+(:[a-z0-9.-]+(@sha256:[0-9a-f]{64})?|@v[0-9.]+)$' "$own")" = "$(grep -c '^ARG [A-Z_]*=' "$own")" ]
    other=$(grep -E '^FROM ' "$own" | grep -vE '^FROM (--platform=\$BUILDPLATFORM )?(\$[A-Z]+|scratch|[a-z-]+) AS [a-z-]+$' || true)
    [ -z "$other" ] || { echo "$other" && return 1; }
}
