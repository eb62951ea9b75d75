#include "kube/kube_client.h"

#include <stdio.h>

#include "base/metrics.h"
#include "kube/fake_api.h"
#include "test/kinds.h"

static const struct kube_request get_pod = {
    .verb = KUBE_GET, .resource = &kube_pods, .namespace_ = "a", .name = "p"};

/* A script of answers, one row per request; the last one is repeated. */
struct row {
    int status; /* 0: no answer; -1: the connection breaks in the middle of the body */
    const char *body;
    const char *retry_after;
    const char *content_type;
};

static void answer_rows(struct fake_api *api, struct http_conn_request *req,
                        const struct fake_seen *seen)
{
    const struct row *row = api->arg;

    for (int i = 1; i < api->count && row[1].body; i++)
        row++;
    if (row->status == 0)
        return;
    if (row->status < 0) {
        http_stream_start(req, 200, "application/json", 64);
        http_stream_send(req, row->body, strlen(row->body));
        fake_cut(req, 64);
        return;
    }
    if (row->retry_after)
        http_reply_header(req, "Retry-After", row->retry_after);
    http_reply(req, row->status, row->content_type ? row->content_type : "application/json",
               row->body, strlen(row->body));
}

CASE(goes_over_the_wire)
{
    static const struct row rows[] = {{200, "{\"kind\":\"Pod\"}", NULL, NULL}, {0}};
    struct fake_api *api = fake_start(answer_rows, (void *)(uintptr_t)rows);
    struct fake_result out = {0};
    struct json_object *body = json_own(api->arena, json_object_new_object());
    struct kube_request request = {.verb = KUBE_MERGE_PATCH,
                                   .resource = &kube_deployments,
                                   .namespace_ = "test",
                                   .name = "podinfo",
                                   .sub = "scale",
                                   .query = "fieldManager=flagger",
                                   .body = body};

    json_set_int(json_sub(body, "spec"), "replicas", 2);
    api->config.auth = KUBE_AUTH_TOKEN;
    api->config.token = "secret";
    fake_connect(api, &(struct kube_client_options){.user_agent = "tester/1"});
    kube_send(api->client, &request, fake_done, &out);
    json_set_int(json_sub(body, "spec"), "replicas", 9); /* the body has already been copied */
    assert_int_equal(out.calls, 0);
    FAKE_WAIT(api, out.calls);
    assert_int_equal(out.err, ERR_OK);
    assert_int_equal(out.status, 200);
    assert_string_equal(out.body, "{\"kind\":\"Pod\"}");
    assert_int_equal(api->count, 1);
    const struct fake_seen *seen = &api->seen[0];
    assert_string_equal(seen->method, "PATCH");
    assert_string_equal(seen->path, "/apis/apps/v1/namespaces/test/deployments/podinfo/scale");
    assert_string_equal(seen->query, "fieldManager=flagger");
    assert_string_equal(seen->content_type, "application/merge-patch+json");
    assert_string_equal(seen->accept, "application/json");
    assert_string_equal(seen->authorization, "Bearer secret");
    assert_string_equal(seen->agent, "tester/1");
    assert_string_equal(seen->body, "{\"spec\":{\"replicas\":2}}");
    fake_stop(api);
}

CASE(a_client_that_reads_writes_nothing)
{
    static const struct row rows[] = {{200, "{}", NULL, NULL}, {0}};
    static const enum kube_verb writes[] = {KUBE_CREATE, KUBE_REPLACE, KUBE_MERGE_PATCH,
                                            KUBE_JSON_PATCH, KUBE_DELETE};
    struct fake_api *api = fake_start(answer_rows, (void *)(uintptr_t)rows);
    struct fake_result read = {0};
    struct json_object *body = json_own(api->arena, json_object_new_object());

    fake_connect(api, &(struct kube_client_options){.reads_only = true});
    for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
        struct fake_result out = {0};
        struct kube_request request = get_pod;
        request.verb = writes[i];
        request.body = body;
        if (writes[i] == KUBE_CREATE)
            request.name = NULL;
        kube_send(api->client, &request, fake_done, &out);
        FAKE_WAIT(api, out.calls);
        assert_int_equal(out.err, ERR_DENIED);
    }
    kube_send(api->client, &get_pod, fake_done, &read);
    FAKE_WAIT(api, read.calls);
    assert_int_equal(read.err, ERR_OK);
    assert_int_equal(api->count, 1);
    fake_stop(api);
}

CASE(basic_authorization_and_none)
{
    static const struct row rows[] = {{200, "{}", NULL, NULL}, {0}};
    for (int basic = 0; basic < 2; basic++) {
        struct fake_api *api = fake_start(answer_rows, (void *)(uintptr_t)rows);
        struct fake_result out = {0};
        if (basic) {
            api->config.auth = KUBE_AUTH_BASIC;
            api->config.username = "Aladdin";
            api->config.password = "open sesame";
        }
        fake_connect(api, NULL);
        kube_send(api->client, &get_pod, fake_done, &out);
        FAKE_WAIT(api, out.calls);
        if (basic)
            assert_string_equal(api->seen[0].authorization, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        else
            assert_null(api->seen[0].authorization);
        fake_stop(api);
    }
}

/* A resource that is not served is requested in the next version, which is remembered. */
CASE(the_version_that_is_served)
{
    static const struct kube_version also[] = {{"x.io", "v1"}, {"y.io", "v1"}, {NULL, NULL}};
    static const struct kube_resource things = {
        .group = "x.io", .version = "v2", .plural = "things", .kind = "Thing", .also = also};
    static const struct row rows[] = {{404, "404 page not found", NULL, "text/plain"},
                                      {404, "404 page not found", NULL, "text/plain"},
                                      {201, "{}", NULL, NULL},
                                      {404, "{\"details\":{\"name\":\"p\"}}", NULL, NULL},
                                      {404, "{}", NULL, NULL},
                                      {0}};
    static const char *const paths[] = {
        "/apis/x.io/v2/namespaces/a/things",   "/apis/x.io/v1/namespaces/a/things",
        "/apis/y.io/v1/namespaces/a/things",   "/apis/y.io/v1/namespaces/a/things/p",
        "/apis/y.io/v1/namespaces/a/things/p", "/apis/x.io/v2/namespaces/a/things/p",
        "/apis/x.io/v1/namespaces/a/things/p"};
    static const int answers[] = {201, 404, 404}, requests[] = {3, 4, 7};
    struct fake_api *api = fake_start(answer_rows, (void *)(uintptr_t)rows);
    struct json_object *body = json_own(api->arena, json_object_new_object());
    struct kube_request request = {
        .verb = KUBE_CREATE, .resource = &things, .namespace_ = "a", .body = body};

    json_set_str(body, "apiVersion", "x.io/v2");
    fake_connect(api, NULL);
    for (int i = 0; i < 3; i++) {
        struct fake_result out = {0};
        kube_send(api->client, &request, fake_done, &out);
        FAKE_WAIT(api, out.calls);
        assert_int_equal(out.status, answers[i]);
        assert_int_equal(api->count, requests[i]);
        request = (struct kube_request){
            .verb = KUBE_GET, .resource = &things, .namespace_ = "a", .name = "p"};
    }
    for (int i = 0; i < 7; i++)
        assert_string_equal(api->seen[i].path, paths[i]);
    assert_string_equal(api->seen[2].body, "{\"apiVersion\":\"y.io/v1\"}");
    fake_stop(api);
}

#define STATUS_BODY(text) "{\"kind\":\"Status\",\"message\":\"" text "\"}"

static const struct {
    enum kube_verb verb;
    struct row rows[6];
    enum err err;
    int status;
    int requests;
    const char *text; /* part of the sentence */
} answers[] = {
    {KUBE_GET,
     {{404, STATUS_BODY("pods p not found"), 0, 0}},
     ERR_NOT_FOUND,
     404,
     1,
     "GET pods a/p: not found: pods p not found"},
    {KUBE_DELETE,
     {{409, STATUS_BODY("changed"), 0, 0}},
     ERR_CONFLICT,
     409,
     1,
     "DELETE pods a/p: conflict: changed"},
    {KUBE_GET, {{410, STATUS_BODY("expired"), 0, 0}}, ERR_CONFLICT, 410, 1, "expired"},
    {KUBE_GET, {{401, STATUS_BODY("who"), 0, 0}}, ERR_DENIED, 401, 1, "denied: who"},
    {KUBE_GET, {{403, STATUS_BODY("no"), 0, 0}}, ERR_DENIED, 403, 1, "denied: no"},
    {KUBE_DELETE, {{422, STATUS_BODY("bad"), 0, 0}}, ERR_INVALID, 422, 1, "invalid: bad"},
    {KUBE_GET,
     {{502, "<html>bad gateway</html>", 0, "text/html"}},
     ERR_RETRY,
     502,
     4,
     "<html>bad gateway</html>"},
    {KUBE_GET,
     {{500, "{}", 0, 0}, {503, "{}", 0, 0}, {429, "{}", 0, 0}, {200, "{}", 0, 0}},
     ERR_OK,
     200,
     4,
     ""},
    {KUBE_DELETE, {{500, "{}", 0, 0}, {200, "{}", 0, 0}}, ERR_RETRY, 500, 1, "temporary failure"},
    {KUBE_DELETE, {{429, "{}", "0", 0}, {429, "{}", 0, 0}, {200, "{}", 0, 0}}, ERR_OK, 200, 3, ""},
    {KUBE_GET, {{429, "{}", "100", 0}, {200, "{}", 0, 0}}, ERR_RETRY, 429, 1, ""},
    {KUBE_GET, {{-1, "{\"half\":", 0, 0}, {200, "{}", 0, 0}}, ERR_OK, 200, 2, ""},
    {KUBE_DELETE,
     {{-1, "{\"half\":", 0, 0}, {200, "{}", 0, 0}},
     ERR_RETRY,
     -1,
     1,
     "DELETE pods a/p: "},
    {KUBE_GET,
     {{200, "{\"kind\":\"Po", 0, 0}, {200, "{}", 0, 0}},
     ERR_INVALID,
     200,
     1,
     "GET pods a/p: the answer is not JSON: "},
    {KUBE_DELETE, {{200, "", 0, 0}}, ERR_OK, 200, 1, ""},
    {KUBE_GET, {{302, "", 0, 0}}, ERR_INVALID, 302, 1, "the server answered HTTP 302"},
};

CASE(what_comes_of_each_answer)
{
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct fake_api *api = fake_start(answer_rows, (void *)(uintptr_t)answers[i].rows);
        struct kube_request request = get_pod;
        struct fake_result out = {0};
        request.verb = answers[i].verb;
        fake_connect(api, NULL);
        kube_send(api->client, &request, fake_done, &out);
        FAKE_WAIT(api, out.calls);
        if (out.err != answers[i].err || !strstr(out.text, answers[i].text) ||
            (answers[i].status >= 0 && out.status != answers[i].status) ||
            api->count != answers[i].requests)
            fail_msg("case %zu: %s, status %d, %d requests: %s", i, err_name(out.err), out.status,
                     api->count, out.text);
        fake_stop(api);
    }
}

CASE(retry_after_is_told_and_waited_for)
{
    static const struct row rows[] = {{429, "{}", "1", NULL}, {200, "{}", NULL, NULL}, {0}};
    struct fake_api *api = fake_start(answer_rows, (void *)(uintptr_t)rows);
    struct kube_request request = get_pod;
    struct fake_result out = {0};

    fake_connect(api, NULL);
    int64_t start = clock_monotonic_ms();
    kube_send(api->client, &request, fake_done, &out);
    FAKE_WAIT(api, out.calls);
    assert_int_equal(out.err, ERR_OK);
    assert_true(clock_monotonic_ms() - start >= 1000);
    /* longer than the time-out: waiting would be useless */
    api->count = 0;
    request.timeout_ms = 500;
    kube_send(api->client, &request, fake_done, &out);
    FAKE_WAIT(api, out.calls == 2);
    assert_int_equal(out.err, ERR_RETRY);
    assert_int_equal(out.retry_after_ms, 1000);
    assert_int_equal(api->count, 1);
    fake_stop(api);
}

CASE(a_server_that_hangs)
{
    static const struct row rows[] = {{0, "", NULL, NULL}, {0}};
    struct fake_api *api = fake_start(answer_rows, (void *)(uintptr_t)rows);
    struct kube_request request = get_pod;
    struct fake_result out = {0};

    fake_connect(api, NULL);
    request.timeout_ms = 100;
    kube_send(api->client, &request, fake_done, &out);
    FAKE_WAIT(api, out.calls);
    assert_int_equal(out.err, ERR_RETRY);
    assert_int_equal(api->count, 1);
    fake_stop(api);
}

/* Nothing listens there: every verb may be retried, since it was never received. */
CASE(a_server_that_is_not_there)
{
    static const struct row rows[] = {{200, "{}", NULL, NULL}, {0}};
    static const enum kube_verb verbs[] = {KUBE_GET, KUBE_DELETE};
    for (size_t i = 0; i < 2; i++) {
        struct fake_api *api = fake_start(answer_rows, (void *)(uintptr_t)rows);
        struct kube_request request = get_pod;
        struct fake_result out = {0};
        struct buf metrics;
        request.verb = verbs[i];
        api->config.server = "http://127.0.0.1:1";
        metrics_reset();
        fake_connect(api, NULL);
        kube_send(api->client, &request, fake_done, &out);
        FAKE_WAIT(api, out.calls);
        assert_int_equal(out.err, ERR_RETRY);
        assert_null(strstr(out.text, "secret"));
        buf_init(&metrics, 1 << 20);
        metrics_write(&metrics);
        assert_non_null(
            strstr(metrics.data, verbs[i] == KUBE_GET ? "{verb=\"GET\"," : "{verb=\"DELETE\","));
        assert_non_null(strstr(metrics.data, ",resource=\"pods\",code=\"none\"} 4\n"));
        buf_fini(&metrics);
        fake_stop(api);
    }
}

static void answer_oversize(struct fake_api *api, struct http_conn_request *req,
                            const struct fake_seen *seen)
{
    size_t len = JSON_MAX_BYTES + 10;
    char *text = heap_alloc(len);

    memset(text, ' ', len);
    memcpy(text, "{}", 2);
    http_reply(req, 200, "application/json", text, len);
    free(text);
}

CASE(an_answer_has_a_maximum)
{
    struct fake_api *api = fake_start(answer_oversize, NULL);
    struct fake_result out = {0};

    fake_connect(api, NULL);
    kube_send(api->client, &get_pod, fake_done, &out);
    FAKE_WAIT(api, out.calls);
    assert_int_equal(out.err, ERR_INVALID);
    assert_int_equal(api->count, 1);
    fake_stop(api);
}

CASE(a_raw_path_need_not_be_json)
{
    static const struct row rows[] = {{200, "ok", NULL, "text/plain"}, {0}};
    struct fake_api *api = fake_start(answer_rows, (void *)(uintptr_t)rows);
    struct fake_result out = {0};

    fake_connect(api, NULL);
    kube_send(api->client, &(struct kube_request){.verb = KUBE_GET, .raw_path = "/livez?verbose=1"},
              fake_done, &out);
    FAKE_WAIT(api, out.calls);
    assert_int_equal(out.err, ERR_OK);
    assert_string_equal(out.body, "");
    assert_string_equal(api->seen[0].path, "/livez");
    assert_string_equal(api->seen[0].query, "verbose=1");
    fake_stop(api);
}

CASE(a_bad_request_is_refused_from_the_loop)
{
    static const struct row rows[] = {{200, "{}", NULL, NULL}, {0}};
    struct fake_api *api = fake_start(answer_rows, (void *)(uintptr_t)rows);
    struct kube_request request = get_pod;
    struct fake_result out = {0};

    fake_connect(api, NULL);
    request.verb = KUBE_DELETE;
    request.name = "";
    kube_send(api->client, &request, fake_done, &out);
    assert_int_equal(out.calls, 0);
    FAKE_WAIT(api, out.calls);
    assert_int_equal(out.err, ERR_INVALID);
    assert_string_equal(out.text, "DELETE pods a/: the name is empty");
    assert_int_equal(api->count, 0);
    fake_stop(api);
}

CASE(the_rate_is_limited_but_not_for_all)
{
    static const struct row rows[] = {{200, "{}", NULL, NULL}, {0}};
    struct fake_api *api = fake_start(answer_rows, (void *)(uintptr_t)rows);
    struct fake_result limited = {0};
    struct fake_result free_ = {0};
    struct kube_request request = get_pod;

    fake_connect(api, &(struct kube_client_options){.qps = 8, .burst = 1});
    int64_t start = clock_monotonic_ms();
    for (int i = 0; i < 5; i++)
        kube_send(api->client, &request, fake_done, &limited);
    request.purpose = KUBE_LEASE;
    kube_send(api->client, &request, fake_done, &free_);
    FAKE_WAIT(api, free_.calls);
    assert_true(limited.calls < 5);
    FAKE_WAIT(api, limited.calls == 5);
    assert_true(clock_monotonic_ms() - start >= 490);
    assert_int_equal(limited.err, ERR_OK);
    fake_stop(api);
}

/* ---- budgets */

/* Each purpose has its own budget: its requests do not wait for those of other purposes. */
CASE(no_purpose_waits_for_another)
{
    static const struct row rows[] = {{200, "{}", NULL, NULL}, {0}};
    static const struct sort {
        const char *name;
        enum kube_verb verb;
        enum kube_purpose purpose;
        int share;
    } sorts[] = {
        {"event", KUBE_DELETE, KUBE_NOTIFY, 1},
        {"read", KUBE_GET, KUBE_BY_VERB, 1},
        {"write", KUBE_DELETE, KUBE_BY_VERB, 1},
        {"step", KUBE_DELETE, KUBE_RELEASE, 10},
    };
    struct fake_api *api = fake_start(answer_rows, (void *)(uintptr_t)rows);
    struct kube_client_snapshot look;
    struct fake_result out[4] = {0};
    struct kube_request request = get_pod;

    fake_connect(api, &(struct kube_client_options){.qps = 0.1, .burst = 1});
    for (int i = 0; i < 4; i++) {
        request.verb = sorts[i].verb;
        request.name = sorts[i].name;
        request.purpose = sorts[i].purpose;
        for (int n = 0; n < 12; n++)
            kube_send(api->client, &request, fake_done, &out[i]);
    }
    kube_client_snapshot(api->client, &look);
    for (int i = KUBE_READ; i < KUBE_LEASE; i++)
        assert_int_equal(look.of[i].waiting, i == KUBE_RELEASE ? 2 : 11);
    for (int i = 0; i < 4; i++)
        FAKE_WAIT(api, out[i].calls >= sorts[i].share);
    assert_int_equal(api->count, 1 + 1 + 1 + 10);
    fake_stop(api);
}

CASE(waiting_for_the_rate_counts_as_time)
{
    static const struct row rows[] = {{200, "{}", NULL, NULL}, {0}};
    struct fake_api *api = fake_start(answer_rows, (void *)(uintptr_t)rows);
    struct kube_request request = get_pod;
    struct fake_result first = {0}, late = {0};

    fake_connect(api, &(struct kube_client_options){.qps = 0.01, .burst = 1});
    kube_send(api->client, &request, fake_done, &first);
    request.timeout_ms = 50;
    kube_send(api->client, &request, fake_done, &late);
    FAKE_WAIT(api, first.calls && late.calls);
    assert_int_equal(late.err, ERR_RETRY);
    assert_string_equal(late.text, "GET pods a/p: timed out while waiting for the rate limit");
    assert_int_equal(api->count, 1);
    fake_stop(api);
}

static void answer_no_read(struct fake_api *api, struct http_conn_request *req,
                           const struct fake_seen *seen)
{
    if (strcmp(seen->method, "GET") != 0)
        http_reply_json(req, 200, "{}");
}

/* Hanging reads occupy all read connections. */
CASE(a_slow_server_holds_no_write_behind_reads)
{
    enum { READS = 30 };
    struct fake_api *api = fake_start(answer_no_read, NULL);
    struct fake_result reads = {0}, write = {0};
    struct kube_request request = get_pod;

    fake_connect(api, NULL);
    for (int i = 0; i < READS; i++)
        kube_send(api->client, &request, fake_done, &reads);
    FAKE_WAIT(api, api->count == 8);
    request.verb = KUBE_DELETE;
    kube_send(api->client, &request, fake_done, &write);
    FAKE_WAIT(api, write.calls);
    assert_int_equal(write.err, ERR_OK);
    assert_int_equal(reads.calls, 0);
    fake_stop(api);
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

/* may_send() is called when the request is sent, not in kube_send(). */
CASE(permission_is_asked_after_all_waiting)
{
    static const struct row limited[] = {{200, "{}", NULL, NULL}, {0}};
    static const struct row repeated[] = {{429, "{}", "1", NULL}, {200, "{}", NULL, NULL}, {0}};
    for (int backoff = 0; backoff < 2; backoff++) {
        struct fake_api *api =
            fake_start(answer_rows, (void *)(uintptr_t)(backoff ? repeated : limited));
        struct kube_request request = get_pod;
        struct fake_result first = {0}, write = {0};
        bool may = true;
        fake_connect(api, &(struct kube_client_options){.qps = 5, .burst = 1 + backoff});
        request.verb = KUBE_DELETE;
        if (!backoff)
            kube_send(api->client, &request, fake_done, &first);
        request.may_send = is_true;
        request.may_send_arg = &may;
        kube_send(api->client, &request, fake_done, &write);
        FAKE_WAIT(api, backoff ? api->count == 1 : first.calls);
        may = false;
        FAKE_WAIT(api, write.calls);
        assert_int_equal(write.err, ERR_CANCELLED);
        assert_int_equal(api->count, 1);
        fake_stop(api);
    }
}

/* ---- cancel */

static void answer_500(struct fake_api *api, struct http_conn_request *req,
                       const struct fake_seen *seen)
{
    http_reply_header(req, "Retry-After", "2");
    fake_status(req, 503, "later");
}

static void answer_never(struct fake_api *api, struct http_conn_request *req,
                         const struct fake_seen *seen)
{
}

enum stage { STAGE_AT_ONCE, STAGE_LIMITED, STAGE_SENT, STAGE_BACKOFF, STAGE_INVALID, STAGE_COUNT };

/* Brings a call to the state. */
static struct kube_call *call_at(struct fake_api *api, enum stage stage, struct fake_result *out)
{
    struct kube_request request = get_pod;
    struct fake_result *other = arena_alloc(api->arena, sizeof(*other));

    if (stage == STAGE_LIMITED) {
        kube_send(api->client, &request, fake_done, other);
        return kube_send(api->client, &request, fake_done, out);
    }
    if (stage == STAGE_INVALID)
        request.name = NULL;
    struct kube_call *call = kube_send(api->client, &request, fake_done, out);
    if (stage == STAGE_SENT)
        FAKE_WAIT(api, api->count == 1);
    if (stage == STAGE_BACKOFF) {
        FAKE_WAIT(api, api->count == 1);
        LOOP_FOR(api->loop, 50); /* the answer has arrived, and the retry is due in two seconds */
    }
    return call;
}

CASE(cancelled_at_every_stage)
{
    for (enum stage stage = 0; stage < STAGE_COUNT; stage++) {
        for (int whole_client = 0; whole_client < 2; whole_client++) {
            struct fake_api *api =
                fake_start(stage == STAGE_BACKOFF ? answer_500 : answer_never, NULL);
            struct fake_result out = {0};
            fake_connect(api, &(struct kube_client_options){.qps = 0.1, .burst = 1});
            struct kube_call *call = call_at(api, stage, &out);
            assert_int_equal(out.calls, 0);
            if (whole_client) {
                kube_client_free(api->client);
                api->client = NULL;
                assert_int_equal(out.calls, 1);
            } else {
                kube_cancel(call);
            }
            FAKE_WAIT(api, out.calls);
            assert_int_equal(out.err,
                             stage == STAGE_INVALID && !whole_client ? ERR_INVALID : ERR_CANCELLED);
            LOOP_FOR(api->loop, 20);
            assert_int_equal(out.calls, 1);
            fake_stop(api);
        }
    }
}

struct resend {
    struct fake_api *api;
    struct fake_result out;
};

static void send_once_more(void *arg, const struct kube_result *result)
{
    struct resend *resend = arg;

    assert_int_equal(result->err, ERR_CANCELLED);
    kube_send(resend->api->client, &get_pod, fake_done, &resend->out);
    assert_int_equal(resend->out.calls, 0);
}

CASE(whoever_sends_while_the_client_is_freed_gets_an_end)
{
    struct fake_api *api = fake_start(answer_never, NULL);
    struct resend resend = {.api = api};

    fake_connect(api, NULL);
    kube_send(api->client, &get_pod, send_once_more, &resend);
    kube_client_free(api->client);
    api->client = NULL;
    FAKE_WAIT(api, resend.out.calls);
    assert_int_equal(resend.out.err, ERR_CANCELLED);
    fake_stop(api);
}

/* ---- streams */

struct stream {
    struct fake_result out;
    char text[256];
    size_t stop_at;
};

static bool stream_data(void *arg, const char *data, size_t len)
{
    struct stream *stream = arg;

    snprintf(stream->text + strlen(stream->text), sizeof(stream->text) - strlen(stream->text),
             "%.*s", (int)len, data);
    return !stream->stop_at || strlen(stream->text) < stream->stop_at;
}

static void stream_done(void *arg, const struct kube_result *result)
{
    fake_done(&((struct stream *)arg)->out, result);
}

static void answer_stream(struct fake_api *api, struct http_conn_request *req,
                          const struct fake_seen *seen)
{
    if (api->arg) {
        fake_status(req, 410, "too old");
        return;
    }
    http_stream_start(req, 200, "application/json", 0);
    http_stream_send(req, "one\n", 4);
    http_stream_send(req, "two\n", 4);
    http_stream_end(req);
}

CASE(streams)
{
    struct kube_request request = {
        .verb = KUBE_LIST, .resource = &kube_pods, .query = "watch=1", .on_data = stream_data};
    for (int i = 0; i < 3; i++) {
        struct fake_api *api = fake_start(answer_stream, i == 2 ? "gone" : NULL);
        struct stream stream = {.stop_at = i == 1 ? 2 : 0};
        fake_connect(api, NULL);
        kube_send(api->client, &request, stream_done, &stream);
        FAKE_WAIT(api, stream.out.calls);
        assert_int_equal(stream.out.err, i == 0 ? ERR_OK : i == 1 ? ERR_CANCELLED : ERR_CONFLICT);
        if (i == 0)
            assert_string_equal(stream.text, "one\ntwo\n");
        if (i == 2) {
            assert_string_equal(stream.text, "");
            assert_string_equal(stream.out.text, "LIST pods: conflict: too old");
        }
        assert_int_equal(api->count, 1);
        fake_stop(api);
    }
}

CASE(a_silent_stream_is_cut)
{
    struct fake_api *api = fake_start(answer_never, NULL);
    struct stream stream = {0};
    struct kube_request request = {.verb = KUBE_LIST,
                                   .resource = &kube_pods,
                                   .query = "watch=1",
                                   .on_data = stream_data,
                                   .idle_timeout_ms = 100};

    fake_connect(api, NULL);
    kube_send(api->client, &request, stream_done, &stream);
    FAKE_WAIT(api, stream.out.calls);
    assert_int_equal(stream.out.err, ERR_RETRY);
    fake_stop(api);
}
