#include "net/server/server.h"

#include "base/json.h"
#include "net/fixture_test.h"

static struct http_server *looked_at;

static void show_page(void *arg, struct http_conn_request *req)
{
    struct debug_page page;
    struct json_object *out = json_own(http_req_arena(req), json_object_new_object());

    if (!debug_admits(req) || !debug_read_page(req, &page) || debug_shared(req))
        return;
    json_set_int(out, "limit", page.limit);
    json_set_str(out, "after", page.after);
    debug_reply(req, out);
}

static void show_process(void *arg, struct http_conn_request *req)
{
    struct json_object *out = json_own(http_req_arena(req), json_object_new_object());

    if (debug_shared(req))
        return;
    debug_process(looked_at, out);
    debug_reply(req, out);
}

static const struct http_route routes[] = {
    {"GET", "/page", show_page},
    {"GET", "/process", show_process},
    {NULL, NULL, NULL},
};

CASE(test_pages)
{
    static const struct {
        const char *path;
        int status;
        const char *body;
    } cases[] = {
        {"/page", 200, "{\"limit\":100}"},
        {"/page?limit=500&continue=a%2Fb", 200, "{\"limit\":500,\"after\":\"a/b\"}"},
        {"/page?limit=1&continue=", 200, "{\"limit\":1}"},
        {"/page?limit=0", 400, "{\"error\":\"limit: expected a number from 1 to 500, found 0\"}"},
        {"/page?limit=501", 400,
         "{\"error\":\"limit: expected a number from 1 to 500, found 501\"}"},
        {"/page?limit=", 400, "{\"error\":\"limit: expected a number from 1 to 500, found \"}"},
        {"/page?limit=9x", 400, "{\"error\":\"limit: expected a number from 1 to 500, found 9x\"}"},
        {"/page?limit=-1", 400, "{\"error\":\"limit: expected a number from 1 to 500, found -1\"}"},
        {"/page?limit=99999999999999999999", 400,
         "{\"error\":\"limit: expected a number from 1 to 500, found 99999999999999999999\"}"},
    };

    struct fixture *f = SERVER(routes);
    EACH_ROW (row, cases) {
        struct answer a = {.want_header = "Cache-Control"};
        exchange(f, (struct http_request){.url = url_of(f, row->path)}, &a);
        assert_int_equal(a.status, row->status);
        assert_string_equal(a.body, row->body);
        assert_string_equal(a.header, a.status == 200 ? "no-store" : "");
    }
    fixture_end(f);
}

CASE(test_pages_of_other_sites_are_shown_nothing)
{
    static const struct {
        struct http_header headers[2];
        int status;
    } cases[] = {
        {{{"Sec-Fetch-Site", "none"}}, 200}, /* a person typed it */
        {{{"Sec-Fetch-Site", "cross-site"}}, 403},
        {{{"Sec-Fetch-Site", "same-origin"}}, 403}, /* after a rebinding of the name */
        {{{"Origin", "http://a.example"}}, 403},
    };

    struct fixture *f = SERVER(routes);
    EACH_ROW (row, cases) {
        struct answer a = {0};
        exchange(f, (struct http_request){.url = url_of(f, "/page"), .headers = row->headers}, &a);
        assert_int_equal(a.status, row->status);
    }
    fixture_end(f);
}

CASE(test_the_process)
{
    struct answer a = {0};
    struct json_object *out = NULL;

    struct fixture *f = SERVER(routes, .max_connections = 7);
    looked_at = f->server;
    exchange(f, (struct http_request){.url = url_of(f, "/process")}, &a);
    assert_int_equal(a.status, 200);
    assert_int_equal(json_parse(arena, a.body, strlen(a.body), 65536, &out, NULL), ERR_OK);
    assert_string_equal(json_str_at(out, "version", NULL), FLAGGER_VERSION);
    assert_non_null(json_str_at(out, "now", NULL));
    assert_int_equal(json_int_at(out, 0, "server", "connections", NULL), 1);
    assert_int_equal(json_int_at(out, 0, "server", "maxConnections", NULL), 7);
    assert_int_equal(json_int_at(out, 0, "server", "answering", NULL), 1);
    assert_true(json_int_at(out, 0, "memory", "residentBytes", NULL) > 0);
    fixture_end(f);
}
