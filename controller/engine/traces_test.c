/* Spans on their way to a collector, a real server: one request for many spans, repeats, refusals,
 * and a full queue; and the spans derived from a status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/metrics.h"
#include "engine/traces.h"
#include "net/loop_test.h"
#include "net/server/server.h"
#include "test/unit.h"

enum { DELAY_MS = 20, MAX_BODY = 2 * 1024 * 1024 };

struct fixture {
    struct loop *loop;
    struct arena *arena;
    struct http_client *http;
    struct http_server *server;
    struct traces *traces;
    int status;         /* of the next answer; then it is 200 */
    const char *answer; /* of every request; NULL: {} */
    const char *retry;  /* "Retry-After" of an answer that is not 200 */
    struct http_conn_request *held;
    bool hold;
    int requests;
    const char *authorization; /* header of the last request */
    struct trace_headers *headers;
    struct json_object *last; /* the spans of the last request */
    size_t spans;             /* of all requests answered with 200 */
};

static const char *path_of(struct json_object *body)
{
    struct json_object *resource = json_elem(json_at(body, "resourceSpans", NULL), 0);
    struct json_object *service = json_elem(json_at(resource, "resource", "attributes", NULL), 0);

    return json_str_at(service, "value", "stringValue", NULL);
}

static void on_traces(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    struct json_object *body;
    struct errinfo ei;
    size_t len;
    const char *text = http_req_body(req, &len);

    assert_string_equal(http_req_method(req), "POST");
    assert_string_equal(http_req_path(req), "/v1/traces");
    assert_string_equal(http_req_header(req, "content-type"), "application/json");
    if (json_parse(f->arena, text, len, MAX_BODY, &body, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    assert_string_equal(path_of(body), "flagger-controller");
    struct json_object *scope = json_elem(
        json_at(json_elem(json_at(body, "resourceSpans", NULL), 0), "scopeSpans", NULL), 0);
    f->last = json_at(scope, "spans", NULL);
    f->authorization = arena_strdup(f->arena, http_req_header(req, "authorization"));
    f->requests++;
    if (f->hold) {
        f->held = req;
        return;
    }
    if (f->status == 200)
        f->spans += json_len(f->last);
    if (f->status != 200 && f->retry)
        http_reply_header(req, "Retry-After", f->retry);
    http_reply_json(req, f->status, f->answer ? f->answer : "{}");
    f->status = 200;
}

static const struct http_route routes[] = {{NULL, "/*", on_traces}, {NULL, NULL, NULL}};

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;
    struct errinfo info;
    struct http_server_options options = {
        .address = "127.0.0.1", .routes = routes, .max_body = MAX_BODY, .arg = f};

    *f = (struct fixture){.loop = loop_new(5000), .arena = unit_arena, .status = 200};
    assert_int_equal(http_server_new(f->loop, &options, &f->server, &info), ERR_OK);
    f->http = http_client_new(f->loop, NULL);
    const char *endpoint =
        arena_printf(f->arena, "http://127.0.0.1:%d/", http_server_port(f->server));
    assert_int_equal(
        trace_headers_new(f->loop, NULL, "Authorization=Bearer%20secret-token", &f->headers, &info),
        ERR_OK);
    f->traces = traces_new(&(struct traces_options){.loop = f->loop,
                                                    .http = f->http,
                                                    .endpoint = endpoint,
                                                    .headers = f->headers,
                                                    .delay_ms = DELAY_MS});
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    if (f->held)
        http_req_drop(f->held);
    traces_free(f->traces);
    trace_headers_free(f->headers);
    loop_drain(f->loop);
    http_client_free(f->http);
    loop_run(f->loop);
    http_server_free(f->server);
    loop_free(f->loop);
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static void add(struct fixture *f, const char *name)
{
    struct span span = {
        .name = name, .kind = SPAN_INTERNAL, .start_ms = 1700000000123, .end_ms = 1700000000123};

    trace_id_of("a", span.trace_id);
    span_id_of(span.trace_id, name, span.id);
    traces_add(f->traces, &span);
}

/* A counter as it is exported. */
static double counter(struct fixture *f, const char *name)
{
    struct buf out;
    const char *at;
    double value = 0;

    buf_init(&out, MAX_BODY);
    metrics_write(&out);
    at = strstr(out.data, arena_printf(f->arena, "\n%s ", name));
    if (at)
        value = strtod(at + strlen(name) + 2, NULL);
    buf_fini(&out);
    return value;
}

#define DROPPED(reason) "flagger_trace_spans_dropped_total{reason=\"" reason "\"}"

FIXTURE_CASE(many_spans_are_one_request)
{
    double sent = counter(f, "flagger_trace_spans_sent_total");

    for (int i = 0; i < 100; i++)
        add(f, arena_printf(arena, "span %d", i));
    RUN_UNTIL(f, f->spans == 100);
    assert_int_equal(f->requests, 1);
    struct json_object *span = json_elem(f->last, 99);
    assert_string_equal(json_text(arena, span),
                        "{\"traceId\":\"ca978112ca1bbdcafac231b39a23dc4d\",\"spanId\":"
                        "\"" /* sha256 of the trace id and the name */
                        "7aa4ae974f96caf1\",\"name\":\"span 99\",\"kind\":1,"
                        "\"startTimeUnixNano\":\"1700000000123000000\","
                        "\"endTimeUnixNano\":\"1700000000123000000\"}");
    RUN_UNTIL(f, counter(f, "flagger_trace_spans_sent_total") == sent + 100);
}

FIXTURE_CASE(a_collector_that_is_busy_is_asked_again)
{
    f->status = 503;
    f->retry = "1";
    add(f, "a");
    RUN_UNTIL(f, f->spans == 1);
    assert_int_equal(f->requests, 2);
}

FIXTURE_CASE(what_is_refused_is_dropped_and_counted)
{
    double refused = counter(f, DROPPED("refused"));

    f->status = 400;
    add(f, "a");
    add(f, "b");
    RUN_UNTIL(f, f->requests == 1);
    RUN_UNTIL(f, counter(f, DROPPED("refused")) == refused + 2);
    f->answer = "{\"partialSuccess\":{\"rejectedSpans\":\"1\",\"errorMessage\":\"too old\"}}";
    add(f, "c");
    add(f, "d");
    RUN_UNTIL(f, counter(f, DROPPED("refused")) == refused + 3);
    assert_int_equal(f->requests, 2);
}

/* A collector may echo the headers of a request that it refuses. */
FIXTURE_CASE(headers_go_with_each_request_and_into_no_log_line)
{
    double refused = counter(f, DROPPED("refused"));
    FILE *file = tmpfile();
    char logged[4096] = "";

    log_set_fd(fileno(file));
    f->status = 401;
    f->answer = "no Bearer secret-token here: secret-token";
    add(f, "a");
    RUN_UNTIL(f, counter(f, DROPPED("refused")) == refused + 1);
    log_set_fd(STDERR_FILENO);
    rewind(file);
    assert_true(fread(logged, 1, sizeof(logged) - 1, file) > 0);
    (void)fclose(file);
    assert_string_equal(f->authorization, "Bearer secret-token");
    assert_non_null(strstr(logged, "the collector answers 401: no"));
    assert_null(strstr(logged, "secret-token"));
}

/* The request under way and the full queue behind it; the rest is dropped, and nothing waits. */
FIXTURE_CASE(a_queue_that_is_full_drops_and_counts)
{
    double no_room = counter(f, DROPPED("no room"));

    f->hold = true;
    add(f, "first");
    RUN_UNTIL(f, f->held != NULL);
    for (int i = 0; i < TRACES_MAX_SPANS + 7; i++)
        add(f, "more");
    assert_true(counter(f, DROPPED("no room")) == no_room + 7);
    f->hold = false;
    http_reply_json(f->held, 200, "{}");
    f->held = NULL;
    RUN_UNTIL(f, f->spans == TRACES_MAX_SPANS);
    assert_int_equal(f->requests, 1 + TRACES_MAX_SPANS / TRACES_MAX_BATCH);
}

FIXTURE_CASE(it_may_end_with_a_request_under_way)
{
    f->hold = true;
    add(f, "a");
    RUN_UNTIL(f, f->held != NULL);
    add(f, "b");
    traces_free(f->traces);
    f->traces = NULL;
}

FIXTURE_CASE(without_a_collector_nothing_happens)
{
    const struct canary canary = {.name = "a", .namespace_ = "b", .uid = "c"};

    release_spans_status(NULL, &canary, NULL);
    release_spans_metric(NULL, &canary, NULL, NULL, 0);
    release_spans_hook(NULL, &canary, NULL, NULL, 0);
    LOOP_FOR(f->loop, DELAY_MS);
    assert_int_equal(f->requests, 0);
}

/* --- spans derived from a status */

static struct json_object *tree(struct arena *arena, const char *text)
{
    char *quoted = arena_strdup(arena, text);
    struct json_object *out;
    struct errinfo ei;

    for (char *at = quoted; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    if (json_parse(arena, quoted, strlen(quoted), MAX_BODY, &out, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return out;
}

/* "NAME SECONDS-SECONDS [error]" of each span of the last request, in lines. */
static const char *spans_text(struct fixture *f)
{
    const char *text = "";

    for (size_t i = 0; i < json_len(f->last); i++) {
        struct json_object *span = json_elem(f->last, i);
        const char *begin = json_str_at(span, "startTimeUnixNano", NULL);
        const char *end = json_str_at(span, "endTimeUnixNano", NULL);
        const char *error = json_str_at(span, "status", "message", NULL);
        text = arena_printf(
            f->arena, "%s%s %lld-%lld%s%s%s\n", text, json_str_at(span, "name", NULL),
            strtoll(begin, NULL, 10) / 1000000000 - 1700000000,
            strtoll(end, NULL, 10) / 1000000000 - 1700000000, error ? " " : "", error ? error : "",
            json_str_at(span, "parentSpanId", NULL) ? "" : ", root");
    }
    return text;
}

#define AT(second) "'at':'2023-11-14T22:13:" second "Z'" /* 1700000000 is 22:13:20 */
#define BEGAN      "'began':'2023-11-14T22:13:20Z'"

FIXTURE_CASE(a_status_ends_steps_and_releases)
{
    static const struct {
        const char *before, *patch; /* the status, and the patch that is written */
        const char *spans;
    } rows[] = {
        {"{}", "{'release':{" BEGAN "}}", ""},
        {"{'release':{" BEGAN "}}", "{'release':{'steps':[{" AT("25") ",'weight':10}]}}",
         "begin 0-5\n"},
        {"{'release':{" BEGAN ",'steps':[{" AT("25") ",'weight':10}]}}", "{'failedChecks':1}", ""},
        {"{'release':{" BEGAN ",'steps':[{" AT("25") ",'weight':10}]}}",
         "{'release':{'steps':[{" AT("25") ",'weight':10},{" AT(
             "30") ",'weight':10,'failed':true}]}}",
         "step 5-10 a check has failed\n"},
        /* the oldest entry gives way to the new one */
        {"{'release':{" BEGAN ",'steps':[{" AT("25") ",'weight':10},{" AT("30") ",'weight':20}]}}",
         "{'release':{'steps':[{" AT("30") ",'weight':20},{" AT("35") ",'weight':30}]}}",
         "step 10-15\n"},
        {"{'release':{" BEGAN ",'steps':[{" AT("25") ",'iteration':1}]}}",
         "{'release':null,'history':[{" BEGAN
         ",'ended':'2023-11-14T22:13:40Z','outcome':'promoted','steps':[{" AT(
             "25") ",'iteration':1},{" AT("30") ",'iteration':2}]}]}",
         "iteration 5-10\niteration 10-20\nrelease app.test 0-20, root\n"},
        /* the same write puts another revision in its place */
        {"{'release':{" BEGAN "}}",
         "{'release':{'began':'2023-11-14T22:13:40Z'},'history':[{" BEGAN
         ",'ended':'2023-11-14T22:13:40Z','outcome':'cancelled','reason':'another one'}]}",
         "begin 0-20\nrelease app.test 0-20 another one, root\n"},
        /* Flagger began it */
        {"{'release':{'steps':[]}}",
         "{'release':null,'history':[{'ended':'2023-11-14T22:13:40Z'}]}", ""},
    };

    EACH_ROW (row, rows) {
        struct canary canary = {.name = "app",
                                .namespace_ = "test",
                                .uid = "u",
                                .status = {.json = tree(arena, row->before)}};
        int requests = f->requests;
        f->last = NULL;
        release_spans_status(f->traces, &canary,
                             tree(arena, arena_printf(arena, "{'status':%s}", row->patch)));
        if (*row->spans)
            RUN_UNTIL(f, f->requests > requests);
        assert_string_equal(spans_text(f), row->spans);
    }
}

/* No span is sent for queries and calls while no release runs. */
FIXTURE_CASE(what_is_asked_hangs_below_the_step_that_runs)
{
    struct canary canary = {.name = "app", .namespace_ = "test", .uid = "u"};
    const struct metric_question question = {
        .id = "metrics[0]", .backend = "prometheus", .address = "http://user:secret@p:9090/x"};
    const struct metric_answer answer = {.outcome = METRIC_ERROR, .text = "no such host"};
    const struct canary_webhook webhook = {.name = "gate", .url = "https://hooks.example/s3cret"};
    const struct hook_answer passed = {.passed = true, .text = "OK"};

    release_spans_metric(f->traces, &canary, &question, &answer, 5);
    canary.status.json =
        tree(arena, "{'release':{" BEGAN ",'steps':[{" AT("25") ",'weight':10}]}}");
    release_spans_metric(f->traces, &canary, &question, &answer, 5);
    release_spans_hook(f->traces, &canary, &webhook, &passed, 7);
    RUN_UNTIL(f, f->requests == 1);
    assert_int_equal(json_len(f->last), 2);
    const char *metric = json_text(arena, json_elem(f->last, 0));
    const char *hook = json_text(arena, json_elem(f->last, 1));
    assert_non_null(strstr(metric, "\"stringValue\":\"http://p:9090\""));
    assert_non_null(strstr(metric, "\"status\":{\"code\":2,\"message\":\"no such host\"}"));
    assert_non_null(strstr(hook, "\"stringValue\":\"https://hooks.example\""));
    assert_null(strstr(hook, "status"));
    assert_null(strstr(metric, "secret"));
    assert_string_equal(json_str_at(json_elem(f->last, 0), "parentSpanId", NULL),
                        json_str_at(json_elem(f->last, 1), "parentSpanId", NULL));
}
