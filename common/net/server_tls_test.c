#include "net/test_fixture.h"

#include <openssl/ssl.h>

#include "net/test_certs.h"

static const struct http_route routes[] = {{NULL, "/echo", serve_echo},
                                           {NULL, "/hold", serve_hold},
                                           {"GET", "/stream", serve_stream},
                                           {NULL, NULL, NULL}};

static char dir[] = "/tmp/server_tls_test.XXXXXX";
static struct cert ca, server;

static void start(struct fixture *f)
{
    fixture_start(f, routes,
                  (struct http_server_options){.tls_cert_file = server.cert_file,
                                               .tls_key_file = server.key_file});
}

/* The handshake over a non-blocking socket, the loop turning in between. */
static SSL *handshake(struct fixture *f, SSL_CTX *ctx, int fd)
{
    SSL *ssl = SSL_new(ctx);
    SSL_set_fd(ssl, fd);
    int64_t end = clock_monotonic_ms() + 10000;
    for (;;) {
        int rc = SSL_connect(ssl);
        if (rc == 1)
            return ssl;
        if (SSL_get_error(ssl, rc) != SSL_ERROR_WANT_READ || clock_monotonic_ms() > end) {
            SSL_free(ssl);
            return NULL;
        }
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    }
}

static int nonblocking(struct fixture *f)
{
    int fd = raw_connect(f);
    struct timeval wait = {.tv_usec = 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    return fd;
}

static void test_protocols(void **state)
{
    static const struct {
        int max_version;
        const char *alpn;
        unsigned alpn_len;
        bool connects;
        const char *chosen;
    } cases[] = {
        {TLS1_3_VERSION, "\x02h2\x08http/1.1", 12, true, "http/1.1"},
        {TLS1_2_VERSION, "\x08http/1.1", 9, true, "http/1.1"},
        {TLS1_3_VERSION, "\x02h2", 3, true, ""},
        {TLS1_3_VERSION, NULL, 0, true, ""},
        {TLS1_1_VERSION, NULL, 0, false, ""},
    };
    struct fixture f;

    (void)state;
    start(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_security_level(ctx, 0);
        SSL_CTX_set_max_proto_version(ctx, cases[i].max_version);
        if (cases[i].alpn)
            SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)cases[i].alpn, cases[i].alpn_len);
        int fd = nonblocking(&f);
        SSL *ssl = handshake(&f, ctx, fd);
        assert_int_equal(ssl != NULL, cases[i].connects);
        if (ssl) {
            const unsigned char *chosen;
            unsigned len;
            SSL_get0_alpn_selected(ssl, &chosen, &len);
            assert_int_equal(len, strlen(cases[i].chosen));
            assert_memory_equal(chosen ? (const char *)chosen : "", cases[i].chosen, len);
            SSL_free(ssl);
        }
        SSL_CTX_free(ctx);
        close(fd);
    }
    fixture_end(&f);
}

static void test_streams_and_ends(void **state)
{
    struct fixture f;
    struct http_tls tls = {.ca_pem = ca.cert_pem};
    struct answer stream = {0}, held = {0};

    (void)state;
    start(&f);
    struct http_request request = {
        .url = url_of(&f, "/stream"), .tls = &tls, .timeout_ms = -1, .on_data = on_answer_data};
    http_send(f.client, &request, on_answer, &stream);
    RUN_UNTIL(&f, f.held);
    struct http_conn_request *req = f.held;
    for (size_t i = 1; i < 4; i++) {
        assert_true(http_stream_send(req, "event", 5));
        RUN_UNTIL(&f, stream.data_len == 5 * i);
    }
    struct http_call *call =
        http_send(f.client, &(struct http_request){.url = url_of(&f, "/hold"), .tls = &tls},
                  on_answer, &held);
    RUN_UNTIL(&f, f.holds == 2);
    http_cancel(call);
    RUN_UNTIL(&f, f.gone == 1); /* a client that goes away is noticed */
    http_stream_end(req);
    RUN_UNTIL(&f, stream.count == 1);
    assert_int_equal(stream.err, ERR_OK);
    fixture_end(&f);
}

static void test_drain(void **state)
{
    struct fixture f;
    struct http_tls tls = {.ca_pem = ca.cert_pem};
    struct answer a = {0}, idle = {0};

    (void)state;
    start(&f);
    exchange(&f, (struct http_request){.url = url_of(&f, "/echo"), .tls = &tls}, &idle);
    int silent = raw_connect(&f); /* never begins its handshake */
    http_send(f.client, &(struct http_request){.url = url_of(&f, "/hold"), .tls = &tls}, on_answer,
              &a);
    RUN_UNTIL(&f, f.held);
    loop_drain(f.loop);
    uv_run(loop_uv(f.loop), UV_RUN_NOWAIT);
    http_reply_text(f.held, 200, "last");
    assert_int_equal(loop_run(f.loop), 0);
    assert_string_equal(a.body, "last");
    close(silent);
    fixture_end(&f);
}

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    cert_make(&ca, NULL, dir, "ca");
    cert_make(&server, &ca, dir, "server");
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    cert_free(&ca);
    cert_free(&server);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protocols),
        cmocka_unit_test(test_streams_and_ends),
        cmocka_unit_test(test_drain),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
