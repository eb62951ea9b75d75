/* Webhooks against a real server on the loop: the answers that pass, the requests that are
 * repeated, and the texts of answers. */

#include <string.h>

#include "base/json.h"
#include "engine/hook_call.h"
#include "engine/outbox.h"
#include "net/server/server.h"
#include "test/rows.h"
#include "test/unit.h"

enum { MAX_REPLIES = 8 };

/* The server's answers in order (the last one repeated), and the requests that it got. */
struct fixture {
    struct loop *loop;
    struct http_client *http;
    struct http_server *server;
    struct engine_context context;
    struct arena *arena;
    int statuses[MAX_REPLIES];
    const char *body;
    const char *retry_after;
    int asked;
    const char *seen[64]; /* bodies, in order */
    const char *content_type;
    bool answered, passed;
    const char *text;
    int wanted; /* requests after which the loop ends */
};

static void end(struct fixture *f)
{
    loop_drain(f->loop);
}

static void on_post(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    size_t len;
    const char *body = http_req_body(req, &len);
    f->seen[f->asked] = arena_strndup(f->arena, body, len);
    f->content_type = arena_strdup(f->arena, http_req_header(req, "content-type"));
    int at = f->asked;
    while (at > 0 && f->statuses[at] == 0)
        at--;
    f->asked++;
    if (f->retry_after)
        http_reply_header(req, "Retry-After", f->retry_after);
    http_reply_text(req, f->statuses[at], f->body);
    if (f->wanted > 0 && f->asked == f->wanted)
        end(f);
}

static void on_answer(void *arg, const struct hook_answer *answer)
{
    struct fixture *f = arg;
    assert_false(f->answered);
    f->answered = true;
    f->passed = answer->passed;
    f->text = arena_strdup(f->arena, answer->text);
    end(f);
}

static void on_drain(void *arg)
{
    struct fixture *f = arg;
    http_client_free(f->http);
    f->http = NULL;
}

static const struct http_route routes[] = {{"POST", "/*", on_post}, {NULL, NULL, NULL}};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){
        .loop = loop_new(5000), .arena = unit_arena, .statuses = {200}, .body = "fine"};
    struct fixture *f = &fixture;
    struct errinfo info;
    struct http_server_options options = {.address = "127.0.0.1", .routes = routes, .arg = f};
    assert_int_equal(http_server_new(f->loop, &options, &f->server, &info), ERR_OK);
    f->http = http_client_new(f->loop, NULL);
    f->context = (struct engine_context){.loop = f->loop, .http = f->http};
    loop_on_drain(f->loop, on_drain, f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    http_server_free(f->server);
    loop_free(f->loop);
    return 0;
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

static struct canary_webhook hook(struct fixture *f, int retries)
{
    return (struct canary_webhook){
        .name = "check",
        .url = arena_printf(f->arena, "http://127.0.0.1:%d/check", http_server_port(f->server)),
        .timeout_ms = 2000,
        .retries = retries,
    };
}

static void call(struct fixture *f, int retries)
{
    struct canary_webhook webhook = hook(f, retries);
    hook_call_start(&f->context, "test", &webhook, "{\"name\":\"podinfo\"}", on_answer, f);
    assert_false(f->answered);
    assert_int_equal(loop_run(f->loop), 0);
    assert_true(f->answered);
}

FIXTURE_CASE(a_good_answer_passes_with_its_text)
{
    call(f, 0);
    assert_true(f->passed);
    assert_string_equal(f->text, "fine");
    assert_string_equal(f->seen[0], "{\"name\":\"podinfo\"}");
    assert_string_equal(f->content_type, "application/json");
}

CASE(status_codes_pass_as_the_contract_says)
{
    static const struct {
        int status;
        bool passes;
    } cases[] = {{200, true},  {201, true},  {202, true},  {203, false}, {204, true},
                 {206, false}, {400, false}, {403, false}, {404, false}, {501, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (i > 0) {
            tear_down(state);
            set_up(state);
        }
        struct fixture *f = *state;
        f->statuses[0] = cases[i].status;
        call(f, 3);
        assert_int_equal(f->passed, cases[i].passes);
        assert_int_equal(f->asked, 1); /* none of these is repeated */
    }
}

FIXTURE_CASE(a_refusal_tells_its_body_or_its_status)
{
    f->statuses[0] = 403;
    f->body = "";
    call(f, 0);
    assert_false(f->passed);
    assert_non_null(strstr(f->text, " answered 403"));
}

FIXTURE_CASE(a_server_error_is_repeated_and_may_pass)
{
    f->statuses[0] = 503;
    f->statuses[1] = 200;
    call(f, 1);
    assert_true(f->passed);
    assert_int_equal(f->asked, 2);
}

FIXTURE_CASE(a_server_error_is_not_repeated_without_retries)
{
    f->statuses[0] = 500;
    f->body = "no database";
    call(f, 0);
    assert_false(f->passed);
    assert_string_equal(f->text, "no database");
    assert_int_equal(f->asked, 1);
}

FIXTURE_CASE(the_last_attempt_keeps_the_body)
{
    f->statuses[0] = 500;
    f->body = "no database";
    call(f, 1);
    assert_false(f->passed);
    assert_non_null(strstr(f->text, "giving up after 2 attempt(s): no database"));
    assert_null(strstr(f->text, "/check"));
    assert_int_equal(f->asked, 2);
}

/* A passing answer may have any text; the shown part is cut at a character. */
FIXTURE_CASE(a_long_answer_is_cut)
{
    enum { LONG = 300 * 1024 };
    char *body = arena_alloc(f->arena, LONG + 1);
    memset(body, 'x', LONG);
    memcpy(body + 16 * 1024 - 1, "\xc3\xa9", 2);
    body[LONG] = '\0';
    f->body = body;
    call(f, 0);
    assert_true(f->passed);
    assert_int_equal(strlen(f->text), 16 * 1024 - 1);
}

FIXTURE_CASE(nobody_there_is_told)
{
    struct canary_webhook webhook = {
        .name = "gone", .url = "http://127.0.0.1:1/services/T0/secret", .timeout_ms = 1000};
    hook_call_start(&f->context, "test", &webhook, "{}", on_answer, f);
    assert_int_equal(loop_run(f->loop), 0);
    assert_true(f->answered);
    assert_false(f->passed);
    assert_non_null(strstr(f->text, "POST http://127.0.0.1:1/...: "));
    assert_null(strstr(f->text, "services"));
}

/* The path of a hook is a secret for chat services. */
FIXTURE_CASE(no_sentence_shows_the_path)
{
    f->statuses[0] = 500;
    f->body = "";
    call(f, 0);
    assert_non_null(strstr(f->text, " answered 500"));
    assert_null(strstr(f->text, "/check"));
}

static void free_now(void *arg)
{
    hook_call_free(arg);
}

FIXTURE_CASE(a_freed_call_says_nothing)
{
    struct canary_webhook webhook = hook(f, 5);
    struct hook_call *first = hook_call_start(&f->context, "test", &webhook, "{}", on_answer, f);
    hook_call_free(first);
    /* Another is freed while it waits for its second attempt. */
    f->statuses[0] = 503;
    struct hook_call *second = hook_call_start(&f->context, "test", &webhook, "{}", on_answer, f);
    struct timer *timer = timer_start(f->loop, 300, 0, free_now, second);
    struct timer *stop = timer_start(f->loop, 500, 0, (timer_fn)loop_drain, f->loop);
    assert_int_equal(loop_run(f->loop), 0);
    (void)timer;
    (void)stop;
    assert_false(f->answered);
    assert_in_range(f->asked, 1, 2);
}

/* --- the outbox */

static struct canary told(struct fixture *f, struct canary_webhook *webhook)
{
    *webhook = hook(f, 0);
    webhook->type = HOOK_EVENT;
    struct canary canary = {.name = "podinfo", .namespace_ = "test"};
    canary.status.last_applied_spec = "";
    canary.analysis.webhooks = webhook;
    canary.analysis.n_webhooks = 1;
    return canary;
}

FIXTURE_CASE(events_leave_in_order_and_carry_what_happened)
{
    struct canary_webhook webhook;
    struct canary canary = told(f, &webhook);
    struct outbox *outbox = outbox_new(&f->context);
    f->wanted = 5;
    for (int i = 0; i < 5; i++)
        outbox_event(outbox, &canary, PHASE_Progressing, "Normal",
                     arena_printf(f->arena, "step %d", i), 1700000000123);
    assert_int_equal(loop_run(f->loop), 0);
    assert_int_equal(f->asked, 5);
    for (int i = 0; i < 5; i++) {
        struct json_object *body = NULL;
        struct errinfo info;
        assert_int_equal(json_parse(f->arena, f->seen[i], strlen(f->seen[i]), 65536, &body, &info),
                         ERR_OK);
        assert_string_equal(json_str_at(body, "metadata", "eventMessage", NULL),
                            arena_printf(f->arena, "step %d", i));
        assert_string_equal(json_str_at(body, "metadata", "eventType", NULL), "Normal");
        assert_string_equal(json_str_at(body, "metadata", "timestamp", NULL), "1700000000123");
        assert_string_equal(json_str_at(body, "phase", NULL), "Progressing");
        assert_string_equal(json_str_at(body, "name", NULL), "podinfo");
    }
    outbox_free(outbox);
}

/* One namespace has receivers that accept nothing, another has an event to send. */
FIXTURE_CASE(a_namespace_that_fills_the_outbox_gives_way)
{
    enum { CANARIES = 24, EVENTS = 200, OTHERS = 10 };
    struct canary_webhook webhook;
    struct canary canary = told(f, &webhook);
    struct outbox *outbox = outbox_new(&f->context);

    webhook.url = "http://127.0.0.1:1/";
    canary.namespace_ = "greedy";
    for (int i = 0; i < CANARIES * EVENTS; i++) {
        canary.name = arena_printf(f->arena, "c%d", i % CANARIES);
        outbox_event(outbox, &canary, PHASE_Progressing, "Normal", "step", 1);
    }
    assert_int_equal(outbox_counts(outbox).events, OUTBOX_MAX);
    canary.namespace_ = "modest";
    canary.name = "podinfo";
    for (int i = 0; i < OTHERS; i++)
        outbox_event(outbox, &canary, PHASE_Progressing, "Normal", "step", 1);
    assert_int_equal(outbox_counts_of(outbox, "podinfo.modest").events, OTHERS);
    assert_int_equal(outbox_counts(outbox).events, OUTBOX_MAX);
    outbox_free(outbox);
    loop_drain(f->loop);
    assert_int_equal(loop_run(f->loop), 0);
}

/* Waiting messages of a deleted Canary are dropped, except those about its deletion. */
FIXTURE_CASE(messages_of_a_deleted_canary_are_dropped)
{
    struct canary_webhook webhook;
    struct canary canary = told(f, &webhook), other = told(f, &webhook);
    struct outbox *outbox = outbox_new(&f->context);

    other.name = "other";
    for (int i = 0; i < 5; i++)
        outbox_event(outbox, &canary, PHASE_Progressing, "Normal", "step", 1);
    canary.deleting = true;
    outbox_event(outbox, &canary, PHASE_Terminating, "Normal", "deleted", 1);
    outbox_event(outbox, &other, PHASE_Progressing, "Normal", "other", 1);
    outbox_forget(outbox, "podinfo.test");
    assert_int_equal(outbox_counts_of(outbox, "podinfo.test").events, 2);
    assert_int_equal(outbox_counts_of(outbox, "other.test").events, 1);
    f->wanted = 3;
    assert_int_equal(loop_run(f->loop), 0);
    assert_int_equal(f->asked, 3);
    bool deleted = false;
    for (int i = 0; i < 3; i++)
        deleted = deleted || strstr(f->seen[i], "deleted");
    assert_true(deleted);
    assert_int_equal(outbox_counts(outbox).events, 0);
    /* nothing is left to forget */
    outbox_forget(outbox, "podinfo.test");
    outbox_free(outbox);
}

FIXTURE_CASE(the_global_receiver_serves_canaries_without_their_own)
{
    struct canary_webhook webhook;
    struct canary canary = told(f, &webhook);
    canary.analysis.n_webhooks = 0;
    f->context.event_webhook = webhook.url;
    struct outbox *outbox = outbox_new(&f->context);
    f->wanted = 1;
    outbox_event(outbox, &canary, PHASE_Failed, "Warning", "rolled back", 1);
    assert_int_equal(loop_run(f->loop), 0);
    assert_int_equal(f->asked, 1);
    assert_non_null(strstr(f->seen[0], "rolled back"));
    outbox_free(outbox);
}

/* Load tests run once per step: their hooks name the step. */
CASE(hooks_of_load_tests_have_the_release_and_its_step)
{
    static const struct {
        const char *metadata, *status;
        int weight, iterations;
        const char *end;
    } cases[] = {
        {"{\"type\":\"job\"}", "{}", 2000, 0, ",\"release\":\"t0\",\"step\":\"weight 20\"}"},
        {"{\"type\":\"k6\"}", "{\"history\":[{\"ended\":\"t1\"}]}", 50, 0,
         ",\"release\":\"t1\",\"step\":\"weight 0.5\"}"},
        {"{\"type\":\"job\"}", "{}", 10000, 3, ",\"release\":\"t0\",\"step\":\"iteration 3\"}"},
        {"{\"type\":\"job\"}", "{\"step\":{\"mirror\":50}}", 0, 0,
         ",\"release\":\"t0\",\"step\":\"mirror\"}"},
        {"{\"type\":\"job\"}", "{\"step\":{\"match\":true}}", 0, 0,
         ",\"release\":\"t0\",\"step\":\"match\"}"},
        {"{\"type\":\"cmd\"}", "{}", 2000, 0, "\"metadata\":{\"type\":\"cmd\"}}"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct canary canary = {
            .name = "podinfo",
            .namespace_ = "test",
            .json = rows_json(arena, "{\"metadata\":{\"creationTimestamp\":\"t0\"}}"),
            .status = {.canary_weight = cases[i].weight,
                       .iterations = cases[i].iterations,
                       .json = rows_json(arena, cases[i].status)}};
        const struct canary_webhook hook = {
            .type = HOOK_ROLLOUT, .name = "load", .metadata = rows_json(arena, cases[i].metadata)};
        const char *body = hook_body(arena, &canary, &hook, PHASE_Progressing, "c1");
        size_t len = strlen(body), end = strlen(cases[i].end);
        if (len < end || strcmp(body + len - end, cases[i].end) != 0)
            fail_msg("case %zu: %s", i, body);
    }
}
