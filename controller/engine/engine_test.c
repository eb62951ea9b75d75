/*
 * The engine against a small API server of this test, with rules of this test in place of decide/:
 * when it runs, what it asks, what it writes, and what it does when something goes wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "decide/decide.h"
#include "engine/engine.h"
#include "net/server.h"

enum { MAX_LOG = 64, WATCHDOG_MS = 8000 };

struct fixture {
    struct loop *loop;
    struct http_client *http;
    struct kube_client *kube;
    struct http_server *server;
    struct engine *engine;
    struct arena *arena;
    struct timer *watchdog;
    struct settings settings;
    struct kube_config config;
    /* the cluster */
    int version; /* resourceVersion of everything */
    bool gone;
    const char *interval; /* spec.analysis.interval */
    struct http_conn_request *watches[8];
    int n_watches;
    int fail_reads, fail_writes; /* the next so many answer with the status */
    int fail_status;
    /* what happened */
    char *log[MAX_LOG];
    int logged;
    int decided, hooks;
    enum verdict (*rule)(struct fixture *f, struct tick *tick);
    int stop_after; /* decisions after which the loop ends */
    bool leads;
    bool timed_out;
};

static struct fixture *now; /* decide() has no argument of ours */

static void note(struct fixture *f, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (f->logged < MAX_LOG)
        f->log[f->logged++] = arena_vprintf(f->arena, fmt, args);
    va_end(args);
}

static int noted(const struct fixture *f, const char *text)
{
    int count = 0;
    for (int i = 0; i < f->logged; i++)
        count += strcmp(f->log[i], text) == 0;
    return count;
}

enum verdict decide(struct tick *tick)
{
    struct fixture *f = now;
    enum verdict verdict = f->rule(f, tick);
    if (verdict != VERDICT_NEED_FACTS) {
        f->decided++;
        if (f->decided == f->stop_after)
            timer_start(f->loop, 200, 0, (timer_fn)loop_drain, f->loop);
    }
    return verdict;
}

/* --- the API server
 * ----------------------------------------------------------------------------------------- */

static const char *canary_text(struct fixture *f)
{
    return arena_printf(f->arena,
                        "{\"apiVersion\":\"flagger.app/"
                        "v1beta1\",\"kind\":\"Canary\",\"metadata\":{\"name\":\"podinfo\","
                        "\"namespace\":\"test\",\"uid\":\"u\",\"generation\":1,\"resourceVersion\":"
                        "\"%d\"},\"spec\":{"
                        "\"provider\":\"kubernetes\",\"targetRef\":{\"apiVersion\":\"apps/"
                        "v1\",\"kind\":\"Deployment\","
                        "\"name\":\"podinfo\"},\"service\":{\"port\":80},\"analysis\":{"
                        "\"interval\":\"%s\",\"threshold\":1,"
                        "\"iterations\":1,\"webhooks\":[{\"name\":\"check\",\"url\":\"http://"
                        "127.0.0.1:%d/hook\"}]}},"
                        "\"status\":{\"phase\":\"Progressing\"}}",
                        f->version, f->interval, http_server_port(f->server));
}

static void on_watch_gone(void *arg)
{
    struct http_conn_request **slot = arg;
    *slot = NULL;
}

static void reply_list(struct fixture *f, struct http_conn_request *req, const char *item)
{
    if (http_req_param(req, "watch")) {
        struct http_conn_request **slot = &f->watches[f->n_watches++ % 8];
        *slot = req;
        http_req_on_gone(req, on_watch_gone, slot);
        http_stream_start(req, 200, "application/json", 0);
        return;
    }
    http_reply_json(
        req, 200,
        arena_printf(
            f->arena,
            "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%d\"},"
            "\"items\":[%s]}",
            f->version, item));
}

static void get_canaries(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    reply_list(f, req, f->gone ? "" : canary_text(f));
}

static void get_things(void *arg, struct http_conn_request *req)
{
    reply_list(arg, req, "");
}

static bool fails(struct fixture *f, int *left, struct http_conn_request *req)
{
    if (*left == 0)
        return false;
    (*left)--;
    http_reply_json(
        req, f->fail_status,
        arena_printf(
            f->arena,
            "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"as the test asked\","
            "\"code\":%d}",
            f->fail_status));
    return true;
}

static void get_canary(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    note(f, "read canary");
    if (fails(f, &f->fail_reads, req))
        return;
    if (f->gone)
        http_reply_json(req, 404, "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":404}");
    else
        http_reply_json(req, 200, canary_text(f));
}

static void patch_status(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    note(f, "write status");
    if (fails(f, &f->fail_writes, req))
        return;
    f->version++;
    http_reply_json(req, 200, canary_text(f));
}

static void get_thing(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    note(f, "read thing");
    http_reply_json(req, 404, "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":404}");
}

static void post_event(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    size_t len;
    const char *body = http_req_body(req, &len);
    struct json_object *event = NULL;
    if (json_parse(f->arena, body, len, 65536, &event, NULL) == ERR_OK)
        note(f, "event %s", json_str_at(event, "message", NULL));
    http_reply(req, 201, "application/json", body, len);
}

static void post_hook(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    f->hooks++;
    http_reply_text(req, 200, "good");
}

static const struct http_route routes[] = {
    {"GET", "/apis/flagger.app/v1beta1/canaries", get_canaries},
    {"GET", "/apis/flagger.app/v1beta1/namespaces/test/canaries/podinfo", get_canary},
    {"PATCH", "/apis/flagger.app/v1beta1/namespaces/test/canaries/podinfo/status", patch_status},
    {"GET", "/apis/example.org/v1/things", get_things},
    {"GET", "/apis/example.org/v1/namespaces/test/things/a", get_thing},
    {"POST", "/api/v1/namespaces/test/events", post_event},
    {"POST", "/hook", post_hook},
    {NULL, NULL, NULL},
};

/* One line to every watch of the canaries. */
static void tell_watch(struct fixture *f, const char *type)
{
    const char *line =
        arena_printf(f->arena, "{\"type\":\"%s\",\"object\":%s}\n", type, canary_text(f));
    for (int i = 0; i < 8; i++)
        if (f->watches[i])
            http_stream_send(f->watches[i], line, strlen(line));
}

/* --- rules of this test
 * ------------------------------------------------------------------------------------- */

static const struct kube_resource things = {
    .group = "example.org", .version = "v1", .plural = "things", .kind = "Thing"};

static enum verdict rule_rest(struct fixture *f, struct tick *tick)
{
    (void)f;
    tick->plan->again = AGAIN_NEVER;
    return VERDICT_STOP;
}

static void plan_a_status(struct fixture *f, struct tick *tick)
{
    struct json_object *patch = json_own(f->arena, json_object_new_object());
    json_set_str(json_sub(patch, "status"), "phase", "Progressing");
    plan_status(tick, patch);
}

static enum verdict rule_write_status(struct fixture *f, struct tick *tick)
{
    const struct hook_answer *answer;
    if (!need_hook(tick, 0, PHASE_Progressing, &answer))
        return VERDICT_NEED_FACTS;
    assert_true(answer->passed);
    assert_string_equal(answer->text, "good");
    plan_a_status(f, tick);
    return VERDICT_STOP;
}

static enum verdict rule_ask_a_thing(struct fixture *f, struct tick *tick)
{
    (void)f;
    struct json_object *thing;
    if (!need_object(tick, &things, "test", "a", &thing))
        return VERDICT_NEED_FACTS;
    assert_null(thing);
    return VERDICT_STOP;
}

static enum verdict rule_step_each_interval(struct fixture *f, struct tick *tick)
{
    note(f, tick->due ? "due" : "not due");
    tick->plan->stepped = tick->due;
    tick->plan->again = AGAIN_INTERVAL;
    return VERDICT_STOP;
}

static enum verdict rule_never_content(struct fixture *f, struct tick *tick)
{
    struct json_object *thing;
    f->decided++; /* a new question every time */
    const char *name = arena_printf(tick->arena, "a%d", f->decided);
    (void)need_object(tick, &things, "test", name, &thing);
    return VERDICT_NEED_FACTS;
}

/* --- set-up
 * -------------------------------------------------------------------------------------------------
 */

static void on_watchdog(void *arg)
{
    struct fixture *f = arg;
    f->watchdog = NULL;
    f->timed_out = true;
    loop_drain(f->loop);
}

static void on_drain(void *arg)
{
    struct fixture *f = arg;
    timer_stop(f->watchdog);
    f->watchdog = NULL;
    engine_free(f->engine);
    f->engine = NULL;
    kube_client_free(f->kube);
    http_client_free(f->http);
    for (int i = 0; i < 8; i++)
        if (f->watches[i])
            http_stream_end(f->watches[i]);
}

static bool is_leader(void *arg)
{
    return ((struct fixture *)arg)->leads;
}

static int set_up(void **state)
{
    static struct fixture fixture;
    static const char *const none[] = {NULL};
    fixture = (struct fixture){.loop = loop_new(5000),
                               .arena = arena_new(),
                               .version = 10,
                               .interval = "1s",
                               .rule = rule_rest,
                               .stop_after = 1};
    struct fixture *f = now = &fixture;
    struct errinfo info;
    struct http_server_options options = {.address = "127.0.0.1", .routes = routes, .arg = f};
    assert_int_equal(http_server_new(f->loop, &options, &f->server, &info), ERR_OK);
    f->config = (struct kube_config){
        .server = arena_printf(f->arena, "http://127.0.0.1:%d", http_server_port(f->server)),
        .namespace_ = "default"};
    f->settings = (struct settings){.mesh_provider = "kubernetes",
                                    .metrics_server = "",
                                    .selector_labels = none,
                                    .include_label_prefixes = none,
                                    .cluster_name = ""};
    f->http = http_client_new(f->loop, NULL);
    f->kube = kube_client_new(f->loop, f->http, &f->config, &(struct kube_client_options){0});
    f->watchdog = timer_start(f->loop, WATCHDOG_MS, 0, on_watchdog, f);
    loop_on_drain(f->loop, on_drain, f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    http_server_free(f->server);
    loop_free(f->loop);
    arena_free(f->arena);
    return 0;
}

static void run_engine(struct fixture *f, bool elects)
{
    f->engine = engine_new(&(struct engine_options){.loop = f->loop,
                                                    .kube = f->kube,
                                                    .http = f->http,
                                                    .settings = &f->settings,
                                                    .max_runs = 4,
                                                    .retry_ceiling_ms = 1000,
                                                    .is_leader = elects ? is_leader : NULL,
                                                    .arg = f});
    assert_int_equal(loop_run(f->loop), 0);
}

/* --- cases
 * --------------------------------------------------------------------------------------------------
 */

static void a_canary_is_read_once_and_then_left_alone(void **state)
{
    struct fixture *f = *state;
    run_engine(f, false);
    assert_int_equal(f->decided, 1);
    assert_int_equal(noted(f, "read canary"), 1);
    assert_false(f->timed_out);
}

static void our_own_status_write_does_not_wake_it(void **state)
{
    struct fixture *f = *state;
    f->rule = rule_write_status;
    run_engine(f, false);
    assert_int_equal(f->decided, 1);
    assert_int_equal(f->hooks, 1);
    assert_int_equal(noted(f, "write status"), 1);
}

static void a_conflict_decides_again_and_calls_no_hook_twice(void **state)
{
    struct fixture *f = *state;
    f->rule = rule_write_status;
    f->fail_writes = 2;
    f->fail_status = 409;
    f->stop_after = 3;
    run_engine(f, false);
    assert_int_equal(noted(f, "write status"), 3);
    assert_int_equal(noted(f, "read canary"), 3);
    assert_int_equal(f->hooks, 1);
}

static void a_failed_write_is_told_and_derived_anew(void **state)
{
    struct fixture *f = *state;
    f->rule = rule_write_status;
    f->fail_writes = 1;
    f->fail_status = 403;
    f->stop_after = 2;
    run_engine(f, false);
    assert_int_equal(noted(f, "write status"), 2);
    assert_int_equal(f->hooks, 2);
    bool told = false;
    for (int i = 0; i < f->logged; i++)
        told |= strncmp(f->log[i], "event ", 6) == 0 && strstr(f->log[i], "as the test asked");
    assert_true(told);
}

static void an_unreachable_api_holds_and_goes_on(void **state)
{
    struct fixture *f = *state;
    f->fail_reads = 4; /* the client repeats three times itself */
    f->fail_status = 500;
    run_engine(f, false);
    assert_int_equal(f->decided, 1);
    assert_true(noted(f, "read canary") >= 5);
}

static void what_is_absent_is_asked_once(void **state)
{
    struct fixture *f = *state;
    f->rule = rule_ask_a_thing;
    run_engine(f, false);
    assert_int_equal(noted(f, "read thing"), 1);
}

static void steps_come_once_an_interval(void **state)
{
    struct fixture *f = *state;
    f->rule = rule_step_each_interval;
    f->stop_after = 3;
    run_engine(f, false);
    assert_int_equal(noted(f, "due"), 3);
    assert_int_equal(noted(f, "not due"), 0);
}

static void change_it(void *arg)
{
    struct fixture *f = arg;
    f->version++;
    tell_watch(f, "MODIFIED");
}

static void a_change_wakes_it_without_a_step(void **state)
{
    struct fixture *f = *state;
    f->rule = rule_step_each_interval;
    f->interval = "1m";
    f->stop_after = 2;
    timer_start(f->loop, 300, 0, change_it, f);
    run_engine(f, false);
    assert_int_equal(noted(f, "due"), 1);
    assert_int_equal(noted(f, "not due"), 1);
    assert_int_equal(noted(f, "read canary"), 2);
}

static void delete_it(void *arg)
{
    struct fixture *f = arg;
    f->gone = true;
    f->version++;
    tell_watch(f, "DELETED");
    timer_start(f->loop, 1500, 0, (timer_fn)loop_drain, f->loop);
}

static void a_deleted_canary_ticks_no_more(void **state)
{
    struct fixture *f = *state;
    f->rule = rule_step_each_interval;
    f->stop_after = 100;
    timer_start(f->loop, 300, 0, delete_it, f);
    run_engine(f, false);
    assert_int_equal(f->decided, 1);
    assert_false(f->timed_out);
}

static void lead_now(void *arg)
{
    struct fixture *f = arg;
    assert_int_equal(f->decided, 0);
    f->leads = true;
    engine_lead(f->engine, true);
}

static void a_standby_does_nothing_until_it_leads(void **state)
{
    struct fixture *f = *state;
    timer_start(f->loop, 300, 0, lead_now, f);
    run_engine(f, true);
    assert_int_equal(f->decided, 1);
}

static void stop_leading(void *arg)
{
    struct fixture *f = arg;
    f->leads = true;
    engine_lead(f->engine, true);
    f->leads = false; /* the lease ran out before the tick writes */
}

static void a_write_without_leadership_is_not_made(void **state)
{
    struct fixture *f = *state;
    f->rule = rule_write_status;
    timer_start(f->loop, 100, 0, stop_leading, f);
    run_engine(f, true);
    assert_true(f->decided >= 1);
    assert_int_equal(noted(f, "write status"), 0);
}

static void rules_that_never_have_enough_are_stopped(void **state)
{
    struct fixture *f = *state;
    f->rule = rule_never_content;
    timer_start(f->loop, 1000, 0, (timer_fn)loop_drain, f->loop);
    run_engine(f, false);
    assert_true(f->decided >= 64);
    assert_false(f->timed_out);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_canary_is_read_once_and_then_left_alone),
        CASE(our_own_status_write_does_not_wake_it),
        CASE(a_conflict_decides_again_and_calls_no_hook_twice),
        CASE(a_failed_write_is_told_and_derived_anew),
        CASE(an_unreachable_api_holds_and_goes_on),
        CASE(what_is_absent_is_asked_once),
        CASE(steps_come_once_an_interval),
        CASE(a_change_wakes_it_without_a_step),
        CASE(a_deleted_canary_ticks_no_more),
        CASE(a_standby_does_nothing_until_it_leads),
        CASE(a_write_without_leadership_is_not_made),
        CASE(rules_that_never_have_enough_are_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
