#include "net/fixture_test.h"

#include <openssl/ssl.h>

#include "base/file.h"
#include "net/certs_test.h"
#include "net/loop.h"
#include "net/server/server_internal.h"

static void serve_name(void *arg, struct http_conn_request *req)
{
    const char *name = http_req_client_name(req);
    http_reply_text(req, 200, name ? name : "(none)");
}

static const struct http_route routes[] = {{NULL, "/echo", serve_echo},
                                           {NULL, "/name", serve_name},
                                           {NULL, "/hold", serve_hold},
                                           {"GET", "/stream", serve_stream},
                                           {NULL, NULL, NULL}};

static struct cert ca, other_ca, server, next, client, stranger, two_names, hidden;
static char live_cert[64], live_key[64], live_ca[64]; /* files that the server under test reads */

static void start(struct fixture *f)
{
    fixture_start(f, routes,
                  (struct http_server_options){.tls_cert_file = server.cert_file,
                                               .tls_key_file = server.key_file});
}

/* A handshake over a non-blocking socket, with loop iterations in between. */
static SSL *handshake(struct fixture *f, SSL_CTX *ctx, int fd, SSL_SESSION *session)
{
    SSL *ssl = SSL_new(ctx);
    SSL_set_session(ssl, session);
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

CASE(test_protocols)
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

    start(&f);
    EACH_ROW (row, cases) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_security_level(ctx, 0);
        SSL_CTX_set_max_proto_version(ctx, row->max_version);
        if (row->alpn)
            SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)row->alpn, row->alpn_len);
        int fd = nonblocking(&f);
        SSL *ssl = handshake(&f, ctx, fd, NULL);
        assert_int_equal(ssl != NULL, row->connects);
        if (ssl) {
            const unsigned char *chosen;
            unsigned len;
            SSL_get0_alpn_selected(ssl, &chosen, &len);
            assert_int_equal(len, strlen(row->chosen));
            assert_memory_equal(chosen ? (const char *)chosen : "", row->chosen, len);
            SSL_free(ssl);
        }
        SSL_CTX_free(ctx);
        close(fd);
    }
    fixture_end(&f);
}

CASE(test_streams_and_ends)
{
    struct fixture f;
    struct http_tls tls = {.ca_pem = ca.cert_pem};
    struct answer stream = {0}, held = {0};

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
    RUN_UNTIL(&f, f.gone == 1); /* a client that disconnects is noticed */
    http_stream_end(req);
    RUN_UNTIL(&f, stream.count == 1);
    assert_int_equal(stream.err, ERR_OK);
    fixture_end(&f);
}

/* A connection that the client resets ends, idle or not. */
CASE(test_resets)
{
    static const char *const sent[] = {"", "GET /ec",
                                       "POST /echo HTTP/1.1\r\nContent-Length: 9\r\n\r\na",
                                       "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"};
    const struct linger reset = {.l_onoff = 1};
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    struct fixture fixture, *f = &fixture;

    start(f);
    for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
        int fd = nonblocking(f);
        SSL *ssl = handshake(f, ctx, fd, NULL);
        assert_non_null(ssl);
        if (*sent[i])
            assert_true(SSL_write(ssl, sent[i], (int)strlen(sent[i])) > 0);
        if (strstr(sent[i], "/hold"))
            RUN_UNTIL(f, f->holds == 1);
        else
            LOOP_FOR(f->loop, 5);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        close(fd);
        SSL_free(ssl);
        RUN_UNTIL(f, f->server->conn_count == 0);
    }
    assert_int_equal(f->gone, 1);
    SSL_CTX_free(ctx);
    fixture_end(f);
}

/* Sends what the client has written in pieces of this many bytes, each read by itself. */
static void send_in_pieces(struct fixture *f, SSL *ssl, int fd, size_t piece)
{
    char *bytes;
    size_t len = (size_t)BIO_get_mem_data(SSL_get_wbio(ssl), &bytes);

    for (size_t at = 0; at < len; at += piece) {
        size_t n = len - at < piece ? len - at : piece;
        if (send(fd, bytes + at, n, MSG_NOSIGNAL) != (ssize_t)n)
            fail_msg("in pieces of %zu, the connection ended after %zu of %zu bytes", piece, at,
                     len);
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    }
    assert_int_equal(BIO_reset(SSL_get_wbio(ssl)), 1);
}

/* A client that writes to memory. The end of its handshake is not sent before its first request. */
static SSL *handshake_in_memory(struct fixture *f, SSL_CTX *ctx, int fd, SSL_SESSION *session)
{
    enum { WHOLE = 1 << 20 };
    SSL *ssl = SSL_new(ctx);
    int64_t end = clock_monotonic_ms() + LOOP_DEADLINE_MS;

    SSL_set_session(ssl, session);
    SSL_set_fd(ssl, fd);
    SSL_set0_wbio(ssl, BIO_new(BIO_s_mem()));
    while (SSL_connect(ssl) != 1) {
        send_in_pieces(f, ssl, fd, WHOLE);
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
        assert_true(clock_monotonic_ms() < end);
    }
    return ssl;
}

static void read_echo(struct fixture *f, SSL *ssl, size_t len, size_t piece)
{
    static char text[96 * 1024];
    int64_t end = clock_monotonic_ms() + LOOP_DEADLINE_MS;
    size_t got = 0, n;
    char *body = NULL;

    while (!body || strlen(body + 4) < len) {
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
        if (SSL_read_ex(ssl, text + got, sizeof(text) - 1 - got, &n))
            got += n;
        text[got] = '\0';
        body = strstr(text, "\r\n\r\n");
        if (clock_monotonic_ms() > end)
            fail_msg("in pieces of %zu, there is no whole answer: %.200s", piece, text);
    }
    assert_int_equal(strspn(body + 4, "x"), len);
}

enum { PIECES_BODY = 60000 };

/* Two requests over a connection of its own; the session is resumed as in ask_resuming(). */
static void ask_in_pieces(struct fixture *f, SSL_CTX *ctx, SSL_SESSION **session, size_t piece)
{
    static char request[PIECES_BODY + 256];
    int fd = nonblocking(f);
    SSL *ssl = handshake_in_memory(f, ctx, fd, *session);
    int len = snprintf(request, sizeof(request),
                       "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", PIECES_BODY);

    memset(request + len, 'x', PIECES_BODY);
    len += PIECES_BODY;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(SSL_write(ssl, request, len), len);
        send_in_pieces(f, ssl, fd, piece);
        read_echo(f, ssl, PIECES_BODY, piece);
    }
    SSL_SESSION_free(*session);
    *session = SSL_get1_session(ssl);
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(ssl);
    close(fd);
}

/* Requests arrive in pieces of any size, also of exactly the room that is left in a buffer. With
 * TLS 1.2, the end of a resumed handshake and the first piece are one read. */
CASE(test_pieces_of_any_size)
{
    enum { LARGEST = 32 * 1024 };
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct fixture fixture, *f = &fixture;

    start(f);
    for (size_t i = 0; i < 2; i++) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
        SSL_SESSION *session = NULL;
        SSL_CTX_set_max_proto_version(ctx, versions[i]);
        for (size_t power = 256; power <= LARGEST; power *= 2) {
            for (size_t piece = power - 1; piece <= power + 1; piece++)
                ask_in_pieces(f, ctx, &session, piece);
        }
        SSL_SESSION_free(session);
        SSL_CTX_free(ctx);
    }
    fixture_end(f);
}

CASE(test_drain)
{
    struct fixture f;
    struct http_tls tls = {.ca_pem = ca.cert_pem};
    struct answer a = {0}, idle = {0};

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

static void put(const char *path, const char *text)
{
    assert_int_equal(file_write(path, text, strlen(text), 0600, NULL), ERR_OK);
}

static void put_pair(const struct cert *cert)
{
    put(live_cert, cert->cert_pem);
    put(live_key, cert->key_pem);
}

static void start_live(struct fixture *f, bool optional)
{
    put_pair(&server);
    put(live_ca, ca.cert_pem);
    fixture_start(f, routes,
                  (struct http_server_options){.tls_cert_file = live_cert,
                                               .tls_key_file = live_key,
                                               .tls_client_ca_file = live_ca,
                                               .tls_client_optional = optional});
}

/* The server's name for a client with this certificate (NULL if none), or the error. */
static const char *name_of(struct fixture *f, const struct cert *authority, const struct cert *cert)
{
    static struct answer a;
    struct http_tls tls = {.ca_pem = authority->cert_pem,
                           .cert_pem = cert ? cert->cert_pem : NULL,
                           .key_pem = cert ? cert->key_pem : NULL};
    a = (struct answer){0};
    exchange(f, (struct http_request){.url = url_of(f, "/name"), .tls = &tls}, &a);
    return a.err == ERR_OK ? a.body : err_name(a.err);
}

CASE(test_client_names)
{
    struct fixture f;

    start_live(&f, true);
    assert_string_equal(name_of(&f, &ca, NULL), "(none)");
    assert_string_equal(name_of(&f, &ca, &client), "client");
    assert_string_equal(name_of(&f, &ca, &client), "client"); /* on the same connection */
    assert_string_equal(name_of(&f, &ca, &two_names), "(none)");
    assert_string_equal(name_of(&f, &ca, &hidden), "(none)");
    assert_string_equal(name_of(&f, &ca, &stranger), err_name(ERR_RETRY)); /* of another CA */
    fixture_end(&f);
    start_live(&f, false);
    assert_string_equal(name_of(&f, &ca, NULL), err_name(ERR_RETRY));
    assert_string_equal(name_of(&f, &ca, &client), "client");
    fixture_end(&f);
    start(&f); /* without a client CA no certificate is requested or accepted */
    assert_string_equal(name_of(&f, &ca, &client), "(none)");
    fixture_end(&f);
}

/* Requests /name over a connection of its own; *session is the session to resume, and is
 * replaced by the new one. */
static bool ask_resuming(struct fixture *f, SSL_CTX *ctx, SSL_SESSION **session)
{
    static const char request[] = "GET /name HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    int64_t end = clock_monotonic_ms() + 10000;
    char text[2048] = "";
    size_t len = 0, n;
    int fd = nonblocking(f);
    SSL *ssl = handshake(f, ctx, fd, *session);

    assert_non_null(ssl);
    assert_int_equal(SSL_write(ssl, request, sizeof(request) - 1), sizeof(request) - 1);
    while (!strstr(text, "\r\n\r\nclient")) {
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
        if (SSL_read_ex(ssl, text + len, sizeof(text) - 1 - len, &n))
            len += n;
        if (clock_monotonic_ms() > end)
            fail_msg("the client has no name in: %s", text);
    }
    bool resumed = SSL_session_reused(ssl);
    SSL_SESSION_free(*session);
    *session = SSL_get1_session(ssl);
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(ssl);
    close(fd);
    return resumed;
}

/* A resumed session keeps its client name, but only while the CA that verified it is in use. */
CASE(test_resumed_names)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct fixture f;

    for (size_t i = 0; i < 2; i++) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
        SSL_SESSION *session = NULL;
        start_live(&f, true);
        SSL_CTX_set_max_proto_version(ctx, versions[i]);
        SSL_CTX_use_certificate_file(ctx, client.cert_file, SSL_FILETYPE_PEM);
        SSL_CTX_use_PrivateKey_file(ctx, client.key_file, SSL_FILETYPE_PEM);
        assert_false(ask_resuming(&f, ctx, &session));
        assert_true(ask_resuming(&f, ctx, &session));
        put_pair(&next);
        file_watch_check(f.server->file_watch);
        assert_false(ask_resuming(&f, ctx, &session));
        SSL_SESSION_free(session);
        SSL_CTX_free(ctx);
        fixture_end(&f);
    }
}

CASE(test_rotation)
{
    struct fixture f;

    start_live(&f, true);
    assert_string_equal(name_of(&f, &ca, &client), "client");
    put_pair(&next);
    assert_string_equal(name_of(&f, &ca, NULL), "(none)"); /* the change has not been noticed yet */
    file_watch_check(f.server->file_watch);
    assert_string_equal(name_of(&f, &other_ca, &client), "client");
    /* the old connection answers once more, then the client reconnects */
    assert_string_equal(name_of(&f, &ca, &client), "client");
    assert_string_equal(name_of(&f, &ca, &client), err_name(ERR_DENIED));
    put(live_ca, other_ca.cert_pem);
    file_watch_check(f.server->file_watch);
    assert_string_equal(name_of(&f, &other_ca, &stranger), "stranger");
    fixture_end(&f);
}

/* A client accepted before the change gets the old certificate, even if it first sends after the
 * change. */
CASE(test_rotation_before_the_handshake)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    struct fixture f;

    start_live(&f, true);
    int fd = nonblocking(&f);
    RUN_UNTIL(&f, f.server->conn_count == 1); /* the last reference to the old context */
    put_pair(&next);
    file_watch_check(f.server->file_watch);
    SSL *ssl = handshake(&f, ctx, fd, NULL);
    assert_non_null(ssl);
    assert_int_equal(X509_cmp(SSL_get0_peer_certificate(ssl), server.x509), 0);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    close(fd);
    fixture_end(&f);
}

CASE(test_broken_rotation)
{
    struct fixture f;

    start_live(&f, true);
    put(live_cert, next.cert_pem); /* half of the pair */
    file_watch_check(f.server->file_watch);
    assert_string_equal(name_of(&f, &ca, NULL), "(none)");
    put(live_key, "-----BEGIN NONSENSE-----\n");
    file_watch_check(f.server->file_watch);
    assert_string_equal(name_of(&f, &ca, &client), "client");
    unlink(live_key);
    put(live_ca, "");
    file_watch_check(f.server->file_watch);
    assert_string_equal(name_of(&f, &ca, &client), "client");
    put(live_ca, ca.cert_pem);
    put_pair(&next);
    file_watch_check(f.server->file_watch);
    assert_string_equal(name_of(&f, &other_ca, NULL), "(none)");
    fixture_end(&f);
}

/* Adds a common name to the certificate; `alone`: it replaces the existing one. */
static void add_name(struct cert *cert, const unsigned char *name, int len, bool alone)
{
    X509_NAME *subject = X509_get_subject_name(cert->x509);
    if (alone)
        X509_NAME_ENTRY_free(X509_NAME_delete_entry(subject, 0));
    X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_ASC, name, len, -1, 0);
    X509_sign(cert->x509, ca.key, EVP_sha256());
    FILE *file = fopen(cert->cert_file, "w");
    PEM_write_X509(file, cert->x509);
    fclose(file);
    cert_slurp(cert->cert_file, cert->cert_pem, sizeof(cert->cert_pem));
}

static int group_setup(void **state)
{
    cert_make(&ca, NULL, "ca");
    cert_make(&other_ca, NULL, "other-ca");
    cert_make(&server, &ca, "server");
    cert_make(&next, &other_ca, "next");
    cert_make(&client, &ca, "client");
    cert_make(&stranger, &other_ca, "stranger");
    cert_make(&two_names, &ca, "two-names");
    add_name(&two_names, (const unsigned char *)"client", 6, false);
    cert_make(&hidden, &ca, "hidden");
    add_name(&hidden, (const unsigned char *)"client\0x", 8, true);
    snprintf(live_cert, sizeof(live_cert), "%s/live.crt", unit_folder());
    snprintf(live_key, sizeof(live_key), "%s/live.key", unit_folder());
    snprintf(live_ca, sizeof(live_ca), "%s/live.ca", unit_folder());
    return 0;
}

UNIT_FIXTURE(.set_up_all = group_setup, .tear_down_all = certs_free);
