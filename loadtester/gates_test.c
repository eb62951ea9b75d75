/* gates: requests to the gate service, and its answers. */
#include "net/fixture_test.h"

#include "loadtester/tester_api.h"

static struct tester_api api;
static regex_t production;

static void entrance(void *arg, struct http_conn_request *req)
{
    gates_answer(api.gates, &api, req);
}

/* The gate service: reports the request. */
static void service(void *arg, struct http_conn_request *req)
{
    static const char *const names[] = {"Authorization", "Origin", "Sec-Fetch-Site", "Content-Type",
                                        "X-Other"};
    size_t len;
    const char *body = http_req_body(req, &len);
    const char *text = arena_printf(http_req_arena(req), "%s %s?%s", http_req_method(req),
                                    http_req_path(req), http_req_query(req));

    EACH_ROW (row, names) {
        const char *value = http_req_header(req, *row);
        text = arena_printf(http_req_arena(req), "%s|%s", text, value ? value : "");
    }
    http_reply_header(req, "WWW-Authenticate", "Bearer");
    http_reply_text(req, 401, arena_printf(http_req_arena(req), "%s|%s", text, body));
}

static const struct http_route routes[] = {{NULL, "/gate/*", entrance},
                                           {NULL, "/rollback/*", entrance},
                                           {NULL, "/service/*", service},
                                           {NULL, NULL, NULL}};

static void begin(struct fixture *f)
{
    fixture_start(f, routes, (struct http_server_options){0});
    api =
        (struct tester_api){.loop = f->loop, .gates = gates_new(f->client, url_of(f, "/service/"))};
}

static void end(struct fixture *f)
{
    gates_free(api.gates);
    fixture_end(f);
}

CASE(everything_that_counts_is_passed_on)
{
    static const struct http_header all[] = {
        {"Authorization", "Bearer abc"},  {"Origin", "https://evil"},
        {"Sec-Fetch-Site", "cross-site"}, {"X-Other", "x"},
        {"Content-Type", "text/x"},       {NULL, NULL}};
    struct fixture f;
    struct answer a = {.want_header = "WWW-Authenticate"}, bare = {0};

    begin(&f);
    exchange(&f,
             (struct http_request){.method = "POST",
                                   .url = url_of(&f, "/gate/check?hook=a%20b&x=1"),
                                   .headers = all,
                                   .body = "{}",
                                   .body_len = 2},
             &a);
    assert_int_equal(a.status, 401);
    assert_string_equal(a.header, "Bearer");
    assert_string_equal(a.body, "POST /service/gate/check?hook=a%20b&x=1|Bearer abc|https://evil|"
                                "cross-site|application/json||{}");
    exchange(&f, (struct http_request){.method = "PUT", .url = url_of(&f, "/rollback/open")},
             &bare);
    assert_string_equal(bare.body, "PUT /service/rollback/open?||||application/json||");
    end(&f);
}

/* A path must not mean another one to the gate service, to evade --namespace-regexp. */
CASE(paths_stay_what_they_are)
{
    static const struct {
        const char *target; /* as sent */
        bool passes;        /* to a refused namespace */
    } cases[] = {
        {"/gate/approve", true},       {"/gate/halt", true},
        {"/gate/open", false},         {"/rollback/approve", false},
        {"/gate/open/approve", false}, {"/gate/open#/approve", false},
        {"/gate/open#/halt", false},   {"/gate/open?/approve", false},
        {"/gate/./open", false},       {"/gate/halt/../open", false},
        {"/gate/%6fpen", false},       {"/gate/check?hook=a#b", false},
    };
    static const char body[] = "{\"name\":\"a\",\"namespace\":\"test\"}";
    struct fixture f;

    begin(&f);
    assert_int_equal(regcomp(&production, "^prod-", REG_EXTENDED | REG_NOSUB), 0);
    api.namespaces = &production;
    EACH_ROW (row, cases) {
        char request[512], text[2048] = "";
        int fd = raw_connect(&f);
        snprintf(
            request, sizeof(request),
            "POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
            row->target, sizeof(body) - 1, body);
        raw_send(fd, request);
        raw_read(&f, fd, text, sizeof(text), NULL);
        if ((strstr(text, "/service/") != NULL) != row->passes)
            fail_msg("%s: %s", row->target, text);
        close(fd);
    }
    regfree(&production);
    end(&f);
}
