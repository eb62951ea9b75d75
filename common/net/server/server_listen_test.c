#include "net/test_fixture.h"

#include <sys/stat.h>
#include <sys/un.h>

static const struct http_route routes[] = {
    {"GET", "/echo", serve_echo}, {"POST", "/echo", serve_echo},
    {"GET", "/hold", serve_hold}, {"GET", "/stream", serve_stream},
    {NULL, NULL, NULL},
};

CASE(test_addresses_that_cannot_be)
{
    struct errinfo ei;
    struct http_server *server;
    char dir[] = "/tmp/server_test.XXXXXX", path[64];

    struct fixture *f = SERVER(routes);
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "unix:%s/no/such/dir", dir);
    const struct {
        struct http_server_options options;
        enum err err;
        const char *text;
    } cases[] = {
        {{.address = "127.0.0.1", .port = http_server_port(f->server)},
         ERR_CONFLICT,
         "address already in use"},
        {{.address = "example.com"}, ERR_INVALID, "expected an IP address or unix:/path"},
        {{.address = "127.0.0.1", .port = 70000}, ERR_INVALID, "port 70000 is not between"},
        {{.address = "unix:relative"}, ERR_INVALID, "expected an absolute path"},
        {{.address = path}, ERR_INVALID, "there is no such directory"},
        {{.address = "203.0.113.1"}, ERR_INVALID, "address not available"},
        {{.tls_cert_file = "/no/such/file", .tls_key_file = "/no/such/file"},
         ERR_INVALID,
         "cannot use the TLS certificate /no/such/file"},
        {{.tls_cert_file = "/no/such/file"}, ERR_INVALID, "both a certificate file and a key file"},
        {{.tls_client_ca_file = "/no/such/file"}, ERR_INVALID, "needs a TLS certificate"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ei = (struct errinfo){0};
        enum err err = http_server_new(f->loop, &cases[i].options, &server, &ei);
        if (!strstr(ei.text, cases[i].text))
            fail_msg("case %zu: \"%s\" instead of \"%s\"", i, ei.text, cases[i].text);
        assert_int_equal(err, cases[i].err);
    }
    rmdir(dir);
    fixture_end(f);
}

static int unix_connect(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    return fd;
}

CASE(test_unix_socket)
{
    char dir[] = "/tmp/server_test.XXXXXX", address[64], text[1024] = "";

    assert_non_null(mkdtemp(dir));
    snprintf(address, sizeof(address), "unix:%s/s", dir);
    /* The file of a server that was killed is in nobody's way. */
    int stale = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", address + 5);
    assert_int_equal(bind(stale, (struct sockaddr *)&addr, sizeof(addr)), 0);
    close(stale);

    struct fixture *f = SERVER(routes, .address = address);
    struct errinfo ei;
    struct http_server *second;
    assert_int_equal(
        http_server_new(f->loop, &(struct http_server_options){.address = address}, &second, &ei),
        ERR_CONFLICT);
    int fd = unix_connect(address + 5);
    raw_send(fd, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_read(f, fd, text, sizeof(text), "\r\n\r\n");
    assert_non_null(strstr(text, "X-Peer: unix\r\n"));
    close(fd);
    fixture_end(f);
    struct stat st;
    assert_int_equal(stat(address + 5, &st), -1);
    rmdir(dir);
}
