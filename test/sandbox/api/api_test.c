/* The API as a client sees it: who may ask, what is refused how, faults, counts. */
#include "api/api.h"
#include "api/tryapi.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

/* A row; what all rows have stands first. */
#define ASK(method_, path_, status_, ...)                                                          \
    {                                                                                              \
        .method = (method_), .path = (path_), .status = (status_), __VA_ARGS__                     \
    }

static void test_refused(void **state)
{
    static const struct {
        const char *method, *path, *token, *accept, *type, *body;
        int status;
        const char *reason;
    } cases[] = {
        ASK("GET", "/api", 401, .token = "wrong", .reason = "Unauthorized"),
        ASK("GET", "/version", 200, .token = "wrong"),
        ASK("GET", "/healthz", 200, .token = ""),
        ASK("GET", MAPS, 200, .token = "secret-readonly"),
        ASK("POST", MAPS, 403, .token = "secret-readonly", .body = "{}", .reason = "Forbidden"),
        ASK("GET", "/nowhere", 404, .reason = "NotFound"),
        ASK("GET", "/apis/none.io", 404, .reason = "NotFound"),
        ASK("GET", "/apis/apps/v9", 404, .reason = "NotFound"),
        ASK("GET", "/apis/apps/v9/deployments", 404, .reason = "NotFound"),
        ASK("GET", "/api/v1/things", 404, .reason = "NotFound"),
        ASK("GET", MAPS "/none", 404, .reason = "NotFound"),
        ASK("GET", MAPS "/none/status", 404, .reason = "NotFound"),
        ASK("GET", MAPS "/none/a/b", 404, .reason = "NotFound"),
        ASK("GET", "/api/v1/configmaps/none", 404, .reason = "NotFound"),
        ASK("DELETE", MAPS "/none", 404, .reason = "NotFound"),
        ASK("POST", MAPS "/x", 405, .body = "{}", .reason = "MethodNotAllowed"),
        ASK("PUT", MAPS, 405, .body = "{}", .reason = "MethodNotAllowed"),
        ASK("POST", MAPS, 400, .body = "{", .reason = "BadRequest"),
        ASK("POST", MAPS, 400, .body = "[]", .reason = "BadRequest"),
        ASK("POST", MAPS, 400, .reason = "BadRequest"),
        ASK("POST", MAPS "?dryRun=Some", 400, .body = "{}", .reason = "BadRequest"),
        ASK("POST", MAPS "?fieldValidation=x", 400, .body = "{}", .reason = "BadRequest"),
        ASK("POST", MAPS, 422, .body = "{}", .reason = "Invalid"),
        ASK("POST", MAPS, 415, .body = "x", .type = "application/vnd.kubernetes.protobuf",
            .reason = "UnsupportedMediaType"),
        ASK("PATCH", MAPS "/x", 415, .body = "{}", .type = "text/plain",
            .reason = "UnsupportedMediaType"),
        ASK("PATCH", MAPS "/x", 404, .body = "{}", .type = "application/merge-patch+json",
            .reason = "NotFound"),
        ASK("PATCH", MAPS "/x", 415, .body = "{}", .type = "application/apply-patch+yaml",
            .reason = "UnsupportedMediaType"),
        ASK("GET", MAPS, 406, .accept = "text/html", .reason = "NotAcceptable"),
        ASK("GET", MAPS "?labelSelector=a(", 400, .reason = "BadRequest"),
        ASK("GET", MAPS "?fieldSelector=spec.x%3Dy", 400, .reason = "BadRequest"),
        ASK("GET", MAPS "?limit=x", 400, .reason = "BadRequest"),
        ASK("GET", MAPS "?continue=zz", 400, .reason = "BadRequest"),
        ASK("GET", MAPS "?resourceVersion=999999", 504, .reason = "Timeout"),
        ASK("GET", MAPS "?resourceVersion=1&resourceVersionMatch=Exact", 410, .reason = "Expired"),
        ASK("GET", MAPS "?watch=true&resourceVersion=x", 400, .reason = "BadRequest"),
        ASK("DELETE", MAPS "/x", 422, .body = "{'propagationPolicy':'Sideways'}",
            .reason = "Invalid"),
    };
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        a.token = cases[i].token;
        a.accept = cases[i].accept;
        a.type = cases[i].type;
        struct answer answer = ask(&a, cases[i].method, cases[i].path, cases[i].body);
        if (answer.status != cases[i].status) {
            fail_msg("%s %s: %d, not %d: %s", cases[i].method, cases[i].path, answer.status,
                     cases[i].status, answer.text);
        }
        if (cases[i].reason) {
            assert_string_equal(json_str_at(answer.body, "kind", NULL), "Status");
            assert_string_equal(json_str_at(answer.body, "reason", NULL), cases[i].reason);
            assert_int_equal(json_int_at(answer.body, 0, "code", NULL), cases[i].status);
        }
    }
}

static void test_faults(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    ask_for(&a, 400, "POST", "/sandbox/faults", "{}");
    ask_for(&a, 200, "POST", "/sandbox/faults",
            "{'faults':[{'verb':'list','path':'/configmaps','status':429,'retryAfter':7},{'path':'/"
            "configmaps','drop':true,'count':2},{'path':'/configmaps','delay':'20ms'}]}");
    struct answer answer = ask(&a, "GET", MAPS, NULL);
    assert_int_equal(answer.status, 429);
    assert_string_equal(answer.retry_after, "7");
    assert_string_equal(json_str_at(answer.body, "reason", NULL), "TooManyRequests");
    answer = ask(&a, "GET", MAPS, NULL);
    /* Dropped twice: curl tries once more by itself when a kept connection dies. */
    assert_int_equal(answer.err, ERR_RETRY);
    int64_t before = clock_monotonic_ms();
    ask_for(&a, 200, "GET", MAPS, NULL);
    assert_true(clock_monotonic_ms() - before >= 20);
    try_same(a.t.arena, ask_for(&a, 200, "GET", "/sandbox/faults", NULL), "{'faults':[]}");
    ask_for(&a, 200, "POST", "/sandbox/faults", "{'status':500,'count':99}");
    ask_for(&a, 500, "GET", MAPS, NULL);
    ask_for(&a, 200, "DELETE", "/sandbox/faults", NULL);
    ask_for(&a, 200, "GET", MAPS, NULL);
}

static void test_stats_and_requests(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    a.agent = "flagger-controller/1.0";
    ask_for(&a, 200, "GET", MAPS, NULL);
    ask_for(&a, 404, "PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/x",
            "{'metadata':{'name':'x'}}");
    struct json_object *stats = ask_for(&a, 200, "GET", "/sandbox/stats", NULL);
    try_same(a.t.arena, json_at(stats, "agents", NULL),
             "{'flagger-controller/1.0':{'requests':2,'busy':1}}");
    struct json_object *list = ask_for(&a, 200, "GET", "/sandbox/requests?since=1", NULL);
    struct json_object *second = json_elem(json_at(list, "requests", NULL), 0);
    assert_string_equal(json_str_at(second, "verb", NULL), "update");
    assert_string_equal(json_str_at(second, "resource", NULL), "leases.coordination.k8s.io");
    assert_int_equal(json_int_at(second, 0, "status", NULL), 404);
    stats = ask_for(&a, 200, "DELETE", "/sandbox/stats", NULL);
    assert_int_equal(json_int_at(stats, -1, "requests", NULL), 0);
}

static void test_no_directory(void **state)
{
    struct trystore t TRY_CLOSED = try_open();
    struct api *api = NULL;
    struct errinfo ei = {0};
    struct api_options options = {.http_port = -1, .directory = "/nonexistent/x"};
    assert_int_not_equal(api_new(t.loop, t.store, &options, &api, &ei), ERR_OK);
    assert_true(*ei.text);
    options = (struct api_options){.https_port = -1, .directory = "/nonexistent/x"};
    assert_int_not_equal(api_new(t.loop, t.store, &options, &api, &ei), ERR_OK);
}

static bool refuse_creates(void *arg, const char *verb, struct http_conn_request *req)
{
    (void)req;
    *(int *)arg += 1;
    return strcmp(verb, "create") != 0;
}

/* Who listens hears of each request to a resource before it is served, and may have it dropped. */
static void test_on_request(void **state)
{
    struct tryapi a TRYAPI_CLOSED = tryapi_open();
    int heard = 0;
    api_on_request(a.api, refuse_creates, &heard);
    assert_int_equal(ask(&a, "GET", MAPS, NULL).status, 200);
    assert_int_equal(heard, 1);
    assert_int_equal(ask(&a, "GET", "/sandbox/stats", NULL).status, 200);
    assert_int_equal(heard, 1);
    assert_int_not_equal(ask(&a, "POST", MAPS, "{'metadata':{'name':'x'}}").err, ERR_OK);
    assert_true(heard >= 2); /* a client may try a connection that was closed once more */
    assert_int_equal(ask(&a, "GET", MAPS "/x", NULL).status, 404);
}

UNIT_MAIN(cmocka_unit_test(test_on_request), cmocka_unit_test(test_refused),
          cmocka_unit_test(test_faults), cmocka_unit_test(test_stats_and_requests),
          cmocka_unit_test(test_no_directory))
