#include "net/server/server_internal.h"
#include "net/test_certs.h"
#include "net/test_fixture.h"

enum { MOST = 1000, LONG = 200 * 1000 };
#define KNOWN "Authorization: Bearer known\r\n"

static int asked, served;

static bool knows(void *arg, struct http_conn_request *req)
{
    const char *authorization = http_req_header(req, "authorization");

    asked++;
    assert_string_equal(http_req_path(req), "/echo");
    assert_string_equal(http_req_method(req), "POST");
    return authorization && strcmp(authorization, "Bearer known") == 0;
}

static void serve(void *arg, struct http_conn_request *req)
{
    served++;
    serve_echo(arg, req);
}

static const struct http_route routes[] = {{NULL, "/echo", serve}, {NULL, NULL, NULL}};
static const struct http_server_options options = {.max_body = MOST, .knows = knows};

static struct cert ca, server;

/* No byte of a body has been sent, and none is waited for. */
CASE(test_strangers)
{
    static const struct {
        const char *before, *head;
        const char *status; /* of the last answer */
        int served;
        bool goes_on; /* the body is awaited */
    } cases[] = {
        {"", "Content-Length: 5000\r\n", " 401 ", 0, false},
        {"", "Content-Length: 500\r\n", " 401 ", 0, false},
        {"", "Content-Length: 500\r\nAuthorization: Bearer unknown\r\n", " 401 ", 0, false},
        {"", "Transfer-Encoding: chunked\r\n", " 401 ", 0, false},
        {"", "Expect: 100-continue\r\nContent-Length: 500\r\n", " 401 ", 0, false},
        {"", "Expect: 100-continue\r\nContent-Length: 5000\r\n", " 401 ", 0, false},
        {"GET /echo HTTP/1.1\r\nHost: x\r\n\r\n", "Content-Length: 500\r\n", " 401 ", 1, false},
        {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok",
         "Content-Length: 5000\r\n", " 401 ", 1, false},
        {"", KNOWN "Content-Length: 5000\r\n", " 413 ", 0, false},
        {"", KNOWN "Content-Length: 500\r\n", NULL, 0, true},
        {"", KNOWN "Transfer-Encoding: chunked\r\n", NULL, 0, true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char request[512], text[4096] = "";
        struct fixture *f = SERVER_WITH(routes, options);
        served = asked = 0;
        snprintf(request, sizeof(request), "%sPOST /echo HTTP/1.1\r\nHost: x\r\n%s\r\n",
                 cases[i].before, cases[i].head);
        int fd = raw_connect(f);
        raw_send(fd, request);
        if (cases[i].goes_on) {
            RUN_UNTIL(f, asked > 0);
            assert_int_equal(TAILQ_FIRST(&f->server->conns)->state, CONN_READING);
        } else {
            raw_read(f, fd, text, sizeof(text), NULL); /* to its end */
            if (!strstr(text, cases[i].status) || strstr(text, " 100 "))
                fail_msg("case %zu: %s", i, text);
            assert_int_equal(strstr(text,
                                    "{\"error\":\"this request brings no credentials that are "
                                    "known; its body is not read\"}") != NULL,
                             strcmp(cases[i].status, " 401 ") == 0);
            assert_int_equal(strstr(text, "WWW-Authenticate: Bearer") != NULL ||
                                 strstr(text, "www-authenticate: Bearer") != NULL,
                             strcmp(cases[i].status, " 401 ") == 0);
            assert_int_equal(f->server->held, 0);
        }
        assert_int_equal(asked, strstr(cases[i].head, "Expect") ? 2 : 1); /* before h2o and after */
        assert_int_equal(served, cases[i].served);
        close(fd);
        fixture_end(f);
    }
}

/* Nothing that he goes on to send is kept. */
CASE(test_a_body_that_comes_all_the_same)
{
    char *body = calloc(1, LONG), text[4096] = "";

    struct fixture *f = SERVER(routes, .max_body = 2 * LONG, .knows = knows);
    int fd = raw_connect(f);
    raw_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n");
    RUN_UNTIL(f, asked > 0);
    for (size_t sent = 0; sent < LONG;) {
        ssize_t n = send(fd, body + sent, LONG - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN)
            break; /* it is closed, which is fine */
        sent += n > 0 ? (size_t)n : 0;
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
        assert_true(f->server->held < 20000);
    }
    raw_read(f, fd, text, sizeof(text), "its body is not read");
    close(fd);
    free(body);
    fixture_end(f);
}

/* A real client gets the answer, whoever he is, with TLS as without. */
CASE(test_clients)
{
    static char body[LONG];
    const struct http_header credentials[] = {{"Authorization", "Bearer known"}, {0}};

    memset(body, 'a', sizeof(body));
    for (int tls = 0; tls < 2; tls++) {
        struct fixture *f = SERVER(routes, .max_body = 2 * LONG, .knows = knows,
                                   .tls_cert_file = tls ? server.cert_file : NULL,
                                   .tls_key_file = tls ? server.key_file : NULL);
        for (int i = 0; i < 20; i++) {
            struct answer a = {.want_header = "WWW-Authenticate"};
            served = asked = 0;
            exchange(f,
                     (struct http_request){.method = "POST",
                                           .url = url_of(f, "/echo"),
                                           .headers = i % 2 ? credentials : NULL,
                                           .body = body,
                                           .body_len = sizeof(body),
                                           .tls = &(struct http_tls){.ca_pem = ca.cert_pem}},
                     &a);
            if (a.err != ERR_OK)
                fail_msg("%s", a.info);
            assert_int_equal(a.status, i % 2 ? 200 : 401);
            assert_int_equal(a.body_len, i % 2 ? LONG : strlen(SERVER_UNKNOWN_TEXT));
            assert_string_equal(a.header, i % 2 ? "" : "Bearer");
            assert_int_equal(served, i % 2);
        }
        fixture_end(f);
    }
}

/* Whoever does not take the answer, or goes in between, leaves nothing behind. */
CASE(test_many_who_do_not_read)
{
    enum { MANY = 200 };
    int fds[MANY];

    struct fixture *f = SERVER_WITH(routes, options);
    asked = 0;
    for (int i = 0; i < MANY; i++) {
        fds[i] = raw_connect(f);
        raw_send(fds[i], "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\nabc");
        if (i % 3 == 0)
            close(fds[i]);
        uv_run(loop_uv(f->loop), UV_RUN_NOWAIT);
    }
    RUN_UNTIL(f, f->server->open_count == 0);
    assert_int_equal(f->server->held, 0);
    for (int i = 0; i < MANY; i++)
        if (i % 3)
            close(fds[i]);
    fixture_end(f);
}

static int group_setup(void **state)
{
    cert_make(&ca, NULL, "ca");
    cert_make(&server, &ca, "server");
    return 0;
}

UNIT_FIXTURE(.set_up_all = group_setup, .tear_down_all = certs_free);
