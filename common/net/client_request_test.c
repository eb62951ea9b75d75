#include "net/client.h"
#include "net/fixture_test.h"
#include "test/unit.h"

static void serve_redirect(void *arg, struct http_conn_request *req)
{
    const char *to = http_req_param(req, "to");
    http_reply_header(req, "Location", to);
    http_reply_text(req, 302, "elsewhere");
}

static const struct http_route routes[] = {
    {NULL, "/echo", serve_echo}, {NULL, "/redirect", serve_redirect}, {NULL, NULL, NULL}};

CASE(test_requests_that_cannot_be_sent)
{
    static const struct http_header bad_value[] = {{"X-A", "b\r\nX-Evil: 1"}, {NULL, NULL}};
    static const struct http_header bad_name[] = {{"X A", "b"}, {NULL, NULL}};
    static const struct http_header no_name[] = {{"", "b"}, {NULL, NULL}};
    static const struct {
        const char *method, *url;
        const struct http_header *headers;
        const char *info;
    } cases[] = {
        {NULL, NULL, NULL, "GET: not a URL"},
        {NULL, "", NULL, "GET: not a URL"},
        {NULL, "nonsense", NULL, "GET: not a URL"},
        {NULL, "http://", NULL, "GET: not a URL"},
        {NULL, "http://a b/", NULL, "GET: not a URL"},
        {NULL, "http://host:99999/", NULL, "GET: not a URL"},
        {"PUT", "ftp://host/file", NULL, "PUT ftp://host/file: the URL must start with http"},
        {NULL, "file:///etc/passwd", NULL, "must start with http"},
        {"GET /", "http://user:secret@host/p?token=secret", NULL,
         "GET / http://host/p: \"GET /\" is no HTTP method"},
        {"", "http://host/", NULL, "\"\" is no HTTP method"},
        {NULL, "http://host:1/", bad_value,
         "GET http://host:1/: the value of header X-A holds a control character"},
        {NULL, "http://host/", bad_name, "\"X A\" is no name of a header"},
        {NULL, "http://host/", no_name, "\"\" is no name of a header"},
    };

    struct fixture *f = SERVER(routes);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer a = {0};
        exchange(f,
                 (struct http_request){
                     .method = cases[i].method, .url = cases[i].url, .headers = cases[i].headers},
                 &a);
        assert_int_equal(a.err, ERR_INVALID);
        assert_false(a.sent);
        if (!strstr(a.info, cases[i].info) || strstr(a.info, "secret"))
            fail_msg("case %zu: %s", i, a.info);
    }
    fixture_end(f);
}

CASE(test_methods_and_bodies)
{
    static const struct {
        const char *method, *body, *seen, *reply;
    } cases[] = {
        {NULL, NULL, "GET", ""},          {"GET", "body", "GET", "body"},
        {"POST", "body", "POST", "body"}, {"POST", NULL, "POST", ""},
        {"PUT", "body", "PUT", "body"},   {"PUT", NULL, "PUT", ""},
        {"PATCH", "x", "PATCH", "x"},     {"DELETE", NULL, "DELETE", ""},
        {"DELETE", "x", "DELETE", "x"},   {"HEAD", NULL, "HEAD", ""},
        {"OPTIONS", NULL, "OPTIONS", ""},
    };

    struct fixture *f = SERVER(routes);
    EACH_ROW (row, cases) {
        struct answer a = {.want_header = "X-Method"};
        exchange(f,
                 (struct http_request){.method = row->method,
                                       .url = url_of(f, "/echo"),
                                       .body = row->body,
                                       .body_len = row->body ? strlen(row->body) : 0},
                 &a);
        assert_int_equal(a.err, ERR_OK);
        assert_string_equal(a.header, row->seen);
        assert_string_equal(a.body, row->reply);
        assert_true(a.sent);
    }
    fixture_end(f);
}

CASE(test_reserved_headers)
{
    static const struct {
        const char *name;
        bool reserved;
    } cases[] = {{"Content-Length", true},   {"transfer-encoding", true},
                 {"CONNECTION", true},       {"Host", true},
                 {"Expect", true},           {"te", true},
                 {"Trailer", true},          {"Upgrade", true},
                 {"Proxy-Connection", true}, {"proxy-authorization", true},
                 {"Keep-Alive", true},       {"HTTP2-Settings", true},
                 {"Authorization", false},   {"X-Scope-OrgID", false},
                 {"Content-Type", false},    {"Accept", false},
                 {"X-Proxy-Token", false},   {"Cookie", false}};

    EACH_ROW (row, cases)
        assert_int_equal(http_header_is_reserved(row->name), row->reserved);
}

CASE(test_headers)
{
    static const struct http_header typed[] = {{"Content-Type", "application/json"}, {NULL, NULL}};
    static const struct http_header empty[] = {{"Content-Type", ""}, {NULL, NULL}};
    static const struct http_header auth[] = {{"authorization", "Bearer t"}, {NULL, NULL}};
    static const struct http_header host[] = {{"Host", "name.test"}, {NULL, NULL}};
    static const struct {
        const struct http_header *headers;
        const char *want, *value;
    } cases[] = {
        {NULL, "X-Type", "(none)"}, /* curl's default type is not sent */
        {typed, "X-Type", "application/json"},
        {empty, "X-Type", ""},
        {auth, "X-Auth", "Bearer t"},
        {host, "X-Host", "name.test"},
    };

    struct fixture *f = SERVER(routes);
    EACH_ROW (row, cases) {
        struct answer a = {.want_header = row->want};
        exchange(f,
                 (struct http_request){.method = "POST",
                                       .url = url_of(f, "/echo"),
                                       .headers = row->headers,
                                       .body = "{}",
                                       .body_len = 2},
                 &a);
        assert_string_equal(a.header, row->value);
    }
    /* user and password in the URL are sent as credentials */
    struct answer a = {.want_header = "X-Auth"};
    char url[256];
    snprintf(url, sizeof(url), "http://me:pass@127.0.0.1:%d/echo", http_server_port(f->server));
    exchange(f, (struct http_request){.url = url}, &a);
    assert_string_equal(a.header, "Basic bWU6cGFzcw==");
    fixture_end(f);
}

/* Addresses are refused when given by a number, a name or a redirect. The operator's own
 * addresses pass, and their connections are not shared. */
CASE(test_refused_addresses)
{
    struct fixture *f = SERVER(routes);
    const struct reach *reach;
    struct errinfo ei;
    const char *hosts[] = {"127.0.0.1", "localhost", "2130706433", "0x7f.1", "0.0.0.0"};
    char url[256];

    assert_int_equal(reach_read(arena, NULL, true, &reach, &ei), ERR_OK);
    http_client_free(f->client);
    f->client = http_client_new(f->loop, &(struct http_client_options){
                                             .reach = reach, .reach_option = "--tenant-addresses"});
    struct answer own = {0};
    exchange(f, (struct http_request){.url = url_of(f, "/echo"), .own_address = true}, &own);
    assert_int_equal(own.err, ERR_OK);
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        struct answer a = {0};
        snprintf(url, sizeof(url), "http://%s:%d/echo", hosts[i], http_server_port(f->server));
        exchange(f, (struct http_request){.url = url, .proxy = ""}, &a);
        assert_int_equal(a.err, ERR_DENIED);
        assert_non_null(strstr(a.info, "is refused: --tenant-addresses opens it"));
    }
    assert_int_equal(reach_read(arena, "+loopback", true, &reach, &ei), ERR_OK);
    http_client_free(f->client);
    f->client = http_client_new(f->loop, &(struct http_client_options){
                                             .reach = reach, .reach_option = "--tenant-addresses"});
    struct answer open = {0};
    exchange(f, (struct http_request){.url = url_of(f, "/echo")}, &open);
    assert_int_equal(open.err, ERR_OK);
    fixture_end(f);
}

CASE(test_redirects)
{
    static const struct {
        const char *path;
        int max;
        enum err err;
        int status;
        const char *info;
    } cases[] = {
        {"/redirect?to=/echo", 0, ERR_OK, 302, ""},
        {"/redirect?to=/echo", 1, ERR_OK, 200, ""},
        {"/redirect?to=/redirect%3fto=/echo", 1, ERR_INVALID, 302, "redirects"},
        {"/redirect?to=/redirect%3fto=/echo", 2, ERR_OK, 200, ""},
        {"/redirect?to=file:///etc/passwd", 5, ERR_INVALID, 302, "rotocol"},
    };

    struct fixture *f = SERVER(routes);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer a = {0};
        exchange(
            f,
            (struct http_request){.url = url_of(f, cases[i].path), .max_redirects = cases[i].max},
            &a);
        if (a.err != cases[i].err || a.status != cases[i].status || !strstr(a.info, cases[i].info))
            fail_msg("case %zu: %d %d %s", i, a.err, a.status, a.info);
    }
    fixture_end(f);
}

/* A proxy gets whole URLs, which our server rejects: this shows where the request went. */
CASE(test_proxies)
{
    char proxy[64];

    struct fixture *f = SERVER(routes);
    snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", http_server_port(f->server));
    const struct {
        const char *env, *no_proxy, *proxy;
        int status;
    } cases[] = {
        {NULL, NULL, NULL, 200}, {NULL, NULL, proxy, 400},        {proxy, NULL, NULL, 400},
        {proxy, NULL, "", 200},  {proxy, "127.0.0.1", NULL, 200}, {proxy, "example.com", NULL, 400},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer a = {0};
        unsetenv("http_proxy");
        unsetenv("no_proxy");
        if (cases[i].env)
            setenv("http_proxy", cases[i].env, 1);
        if (cases[i].no_proxy)
            setenv("no_proxy", cases[i].no_proxy, 1);
        exchange(f, (struct http_request){.url = url_of(f, "/echo"), .proxy = cases[i].proxy}, &a);
        if (a.status != cases[i].status)
            fail_msg("case %zu: %d %s", i, a.status, a.info);
    }
    unsetenv("http_proxy");
    unsetenv("no_proxy");
    fixture_end(f);
}

CASE(test_encoding)
{
    static const struct {
        const char *text, *component, *form;
    } cases[] = {
        {"", "", ""},
        {"plain-._~09AZaz", "plain-._~09AZaz", "plain-._~09AZaz"},
        {"a b", "a%20b", "a+b"},
        {"a+b&c=d/e?f#g", "a%2Bb%26c%3Dd%2Fe%3Ff%23g", "a%2Bb%26c%3Dd%2Fe%3Ff%23g"},
        {"100%", "100%25", "100%25"},
        {"\xe2\x82\xac\n\x7f", "%E2%82%AC%0A%7F", "%E2%82%AC%0A%7F"},
        {"*'()!", "%2A%27%28%29%21", "%2A%27%28%29%21"},
    };

    EACH_ROW (row, cases) {
        assert_string_equal(url_encode(arena, row->text), row->component);
        assert_string_equal(url_encode_form(arena, row->text), row->form);
    }
}

CASE(test_origin)
{
    static const struct {
        const char *url, *origin;
    } cases[] = {
        {"https://hooks.slack.com/services/T0/B0/secret", "https://hooks.slack.com"},
        {"http://user:pass@a:81/x/y?z=1#f", "http://a:81"},
        {"http://a", "http://a"},
        {"http://[::1]:8080/", "http://[::1]:8080"},
        {"", "(not a URL)"},
        {"no url at all", "(not a URL)"},
    };

    EACH_ROW (row, cases)
        assert_string_equal(url_origin(arena, row->url), row->origin);
}

CASE(test_same_origin)
{
    static const struct {
        const char *one, *other;
        bool same;
    } cases[] = {
        {"http://a/x", "http://a/y?z", true},
        {"http://a/", "http://A:80/", true},
        {"https://a/", "https://a:443/b", true},
        {"http://user:word@a/", "http://a/", true},
        {"http://a/", "https://a/", false},
        {"http://a/", "http://b/", false},
        {"http://a/", "http://a:8080/", false},
        {"http://a/", "http://a.b/", false},
        {"http://a/", "http://a@b/", false},
        {"http://a/", "/relative", false},
        {"http://a/", "", false},
    };

    EACH_ROW (row, cases) {
        assert_int_equal(url_same_origin(row->one, row->other), row->same);
        assert_int_equal(url_same_origin(row->other, row->one), row->same);
    }
}

CASE(test_same_host)
{
    assert_true(url_same_host("http://a/x", "https://A:8443/y"));
    assert_true(url_same_host("http://user:word@a/", "http://a/"));
    assert_false(url_same_host("http://a/", "http://b/"));
    assert_false(url_same_host("http://a/", "http://b.a/"));
    assert_false(url_same_host("http://a/", "http://a@b/"));
    assert_false(url_same_host("http://a/", "a"));
}
