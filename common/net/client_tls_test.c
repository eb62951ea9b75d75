#include "net/fixture_test.h"

#include "base/file.h"
#include "net/certs_test.h"

static const struct http_route routes[] = {
    {NULL, "/echo", serve_echo}, {NULL, "/hold", serve_hold}, {NULL, NULL, NULL}};

static struct cert ca, other_ca, server, client, stranger;

CASE(test_trust)
{
    const struct {
        struct http_tls tls;
        bool none; /* no TLS settings at all */
        enum err err;
        const char *info;
    } cases[] = {
        {.tls = {.ca_pem = ca.cert_pem}, .err = ERR_OK},
        {.tls = {.ca_file = ca.cert_file}, .err = ERR_OK},
        {.tls = {.insecure = true}, .err = ERR_OK},
        {.tls = {.insecure = true, .ca_pem = other_ca.cert_pem}, .err = ERR_OK},
        {.none = true, .err = ERR_DENIED, .info = "certificate"},
        {.tls = {0}, .err = ERR_DENIED, .info = "certificate"},
        {.tls = {.ca_pem = other_ca.cert_pem}, .err = ERR_DENIED, .info = "certificate"},
        {.tls = {.ca_file = "/no/such/ca.crt"}, .err = ERR_DENIED, .info = "/no/such/ca.crt"},
        {.tls = {.ca_pem = "no certificate"}, .err = ERR_DENIED, .info = "127.0.0.1"},
        {.tls = {.ca_pem = ca.cert_pem, .server_name = "server"}, .err = ERR_OK},
        {.tls = {.ca_pem = ca.cert_pem, .server_name = "elsewhere"},
         .err = ERR_DENIED,
         .info = "elsewhere"},
        {.tls = {.cert_pem = "only half"}, .err = ERR_INVALID, .info = "needs its key"},
        {.tls = {.key_file = "only half"}, .err = ERR_INVALID, .info = "needs its key"},
    };

    struct fixture *f =
        SERVER(routes, .tls_cert_file = server.cert_file, .tls_key_file = server.key_file);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer a = {.want_header = "X-Host"};
        exchange(f,
                 (struct http_request){.url = url_of(f, "/echo"),
                                       .tls = cases[i].none ? NULL : &cases[i].tls},
                 &a);
        if (a.err != cases[i].err)
            fail_msg("case %zu: %d, %s", i, a.err, a.info);
        if (cases[i].err == ERR_OK) {
            assert_int_equal(a.status, 200);
            /* the Host header is the URL's, even if another name is verified */
            assert_int_equal(strncmp(a.header, "127.0.0.1:", 10), 0);
        } else {
            assert_false(a.sent);
            if (!strstr(a.info, cases[i].info))
                fail_msg("case %zu: %s", i, a.info);
        }
    }
    fixture_end(f);
}

/* The client's CA file is trusted by requests without a CA of their own. */
CASE(test_ca_of_the_client)
{
    const struct {
        struct http_tls tls;
        bool none;
        enum err err;
    } cases[] = {
        {.none = true, .err = ERR_OK},
        {.tls = {0}, .err = ERR_OK},
        {.tls = {.insecure = true}, .err = ERR_OK},
        {.tls = {.ca_pem = other_ca.cert_pem}, .err = ERR_DENIED},
        {.tls = {.ca_file = other_ca.cert_file}, .err = ERR_DENIED},
    };

    struct fixture *f =
        SERVER(routes, .tls_cert_file = server.cert_file, .tls_key_file = server.key_file);
    http_client_free(f->client);
    f->client = http_client_new(f->loop, &(struct http_client_options){.ca_file = ca.cert_file});
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer a = {0};
        exchange(f,
                 (struct http_request){.url = url_of(f, "/echo"),
                                       .tls = cases[i].none ? NULL : &cases[i].tls},
                 &a);
        if (a.err != cases[i].err)
            fail_msg("case %zu: %d, %s", i, a.err, a.info);
    }
    fixture_end(f);
}

/* A replaced CA file is used long before curl would read it again. */
CASE(test_ca_file_is_followed)
{
    static const char *const begins[] = {"of the request", "of the client"};
    struct fixture f;
    char live[64];

    snprintf(live, sizeof(live), "%s/live.ca", unit_folder());
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        const struct http_tls tls = {.ca_file = i == 0 ? live : NULL};
        int64_t end = clock_monotonic_ms() + 10000;
        struct answer a = {0};
        fixture_start(&f, routes,
                      (struct http_server_options){.tls_cert_file = server.cert_file,
                                                   .tls_key_file = server.key_file});
        http_client_free(f.client);
        f.client =
            http_client_new(f.loop, &(struct http_client_options){.ca_file = i == 1 ? live : NULL});
        const struct http_header closing[] = {{"Connection", "close"}, {0}};
        struct http_request request = {.url = url_of(&f, "/echo"), .headers = closing, .tls = &tls};
        (void)!file_write(live, other_ca.cert_pem, strlen(other_ca.cert_pem), 0600, NULL);
        exchange(&f, request, &a);
        assert_int_equal(a.err, ERR_DENIED);
        (void)!file_write(live, ca.cert_pem, strlen(ca.cert_pem), 0600, NULL);
        while (a.err != ERR_OK) {
            a = (struct answer){0};
            exchange(&f, request, &a);
            if (clock_monotonic_ms() > end)
                fail_msg("the CA %s is not followed", begins[i]);
        }
        fixture_end(&f);
    }
    unlink(live);
}

CASE(test_mutual)
{
    const struct {
        struct http_tls tls;
        enum err err;
    } cases[] = {
        {{.ca_pem = ca.cert_pem, .cert_pem = client.cert_pem, .key_pem = client.key_pem}, ERR_OK},
        {{.ca_pem = ca.cert_pem, .cert_file = client.cert_file, .key_file = client.key_file},
         ERR_OK},
        {{.ca_pem = ca.cert_pem, .cert_pem = client.cert_pem, .key_file = client.key_file}, ERR_OK},
        /* h2o closes without an alert */
        {{.ca_pem = ca.cert_pem}, ERR_RETRY},
        {{.ca_pem = ca.cert_pem, .cert_pem = stranger.cert_pem, .key_pem = stranger.key_pem},
         ERR_RETRY},
        {{.ca_pem = ca.cert_pem, .cert_pem = client.cert_pem, .key_pem = stranger.key_pem},
         ERR_DENIED},
        {{.ca_pem = ca.cert_pem, .cert_file = "/no/such", .key_file = "/no/such"}, ERR_DENIED},
    };

    struct fixture *f = SERVER(routes, .tls_cert_file = server.cert_file,
                               .tls_key_file = server.key_file, .tls_client_ca_file = ca.cert_file);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            struct answer a = {0};
            exchange(f, (struct http_request){.url = url_of(f, "/echo"), .tls = &cases[i].tls}, &a);
            if (a.err != cases[i].err)
                fail_msg("case %zu: %d, %s", i, a.err, a.info);
        }
    }
    fixture_end(f);
}

/* Only requests with equal TLS settings share connections. */
CASE(test_connections_by_settings)
{
    char peers[5][256];
    struct http_tls friend = {
        .ca_pem = ca.cert_pem, .cert_pem = client.cert_pem, .key_pem = client.key_pem};
    struct http_tls copy = friend, plain = {.ca_pem = ca.cert_pem}, open = {.insecure = true};
    struct http_tls both = {0};
    const struct http_tls *use[5] = {&friend, &copy, &plain, &open, &both};
    char bundle[sizeof(ca.cert_pem) + sizeof(other_ca.cert_pem)];

    char *same = strdup(ca.cert_pem);
    copy.ca_pem = same;
    snprintf(bundle, sizeof(bundle), "%s%s", other_ca.cert_pem, ca.cert_pem);
    both.ca_pem = bundle;
    struct fixture *f =
        SERVER(routes, .tls_cert_file = server.cert_file, .tls_key_file = server.key_file);
    for (int i = 0; i < 5; i++) {
        struct answer a = {.want_header = "X-Peer"};
        exchange(f, (struct http_request){.url = url_of(f, "/echo"), .tls = use[i]}, &a);
        assert_int_equal(a.err, ERR_OK);
        memcpy(peers[i], a.header, sizeof(peers[i]));
    }
    assert_string_equal(peers[0], peers[1]);
    assert_string_not_equal(peers[0], peers[2]);
    assert_string_not_equal(peers[0], peers[3]);
    assert_string_not_equal(peers[2], peers[3]);
    for (int i = 0; i < 4; i++)
        assert_string_not_equal(peers[i], peers[4]);
    /* A request that does not trust the server must not use an open connection. */
    struct answer wrong = {0};
    exchange(f,
             (struct http_request){.url = url_of(f, "/echo"),
                                   .tls = &(struct http_tls){.ca_pem = other_ca.cert_pem}},
             &wrong);
    assert_int_equal(wrong.err, ERR_DENIED);
    free(same);
    fixture_end(f);
}

static int group_setup(void **state)
{
    cert_make(&ca, NULL, "ca");
    cert_make(&other_ca, NULL, "other-ca");
    cert_make(&server, &ca, "server");
    cert_make(&client, &ca, "client");
    cert_make(&stranger, &other_ca, "stranger");
    return 0;
}

UNIT_FIXTURE(.set_up_all = group_setup, .tear_down_all = certs_free);
