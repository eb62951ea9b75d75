/*
 * For the tests of the engine: a small API server with rules of the test in place of decide/.
 * decide() runs the rules of the current fixture.
 */
#ifndef ENGINE_FIXTURE_TEST_H
#define ENGINE_FIXTURE_TEST_H

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/metrics.h"
#include "decide/decide.h"
#include "engine/engine.h"
#include "net/server/server.h"
#include "test/unit.h"
#include "tick/plan.h"

enum { MAX_LOG = 256, WATCHDOG_MS = 8000 };

struct fixture {
    struct loop *loop;
    struct http_client *http, *outside; /* of the API; of webhooks and metrics */
    struct kube_client *kube;
    struct http_server *server;
    struct engine *engine;
    struct arena *arena;
    struct timer *watchdog, *ticker;
    struct settings settings;
    struct kube_config config;
    /* the cluster */
    int version; /* resourceVersion of everything */
    bool gone;
    const char *phase;                  /* status.phase */
    const char *metrics;                /* contents of /metrics at the end */
    const char *interval;               /* spec.analysis.interval */
    const char *target;                 /* spec.targetRef.name */
    bool deleting;                      /* and waits for our finalizer */
    const char *hook_fields;            /* further fields of the webhook; NULL if none */
    const char *asked;                  /* expected payload of the webhook; NULL for any */
    struct http_conn_request *cache[8]; /* of the canaries */
    int n_watches;
    struct http_conn_request *things_watch;
    int thing_version; /* of the thing "a"; 0 if there is none */
    int thing_spec, thing_status;
    int fail_reads, fail_writes; /* this many next requests are answered with the status */
    int fail_status;
    bool fails_by_role;    /* in the words of the API server's authorizer */
    bool gone_on_failure;  /* the Canary */
    bool moves_on_failure; /* the Canary's version changes, written by another client */
    bool tells_failure;    /* and the watch shows the failure */
    int fail_at, drain_at; /* the request with this number fails, or ends the loop; 0 if none */
    int requests;
    const char *controller; /* status.controller of podinfo and its twin; NULL if none */
    int renewals;           /* of the lease that another controller holds */
    bool renews;            /* renewed with each look at the lease */
    const char *notes;      /* its annotations; NULL if none */
    int looks;              /* reads of that lease */
    bool twin;              /* a second Canary, with the same target */
    const char *junk;       /* in podinfo's object; NULL if none */
    int crowd; /* Canaries c0, c1, ... before it; their webhooks, metrics and writes get no answer */
    const char *crowd_phase;              /* NULL: as that of podinfo */
    const char *crowd_namespace;          /* NULL: the same */
    int hangs;                            /* requests that got no answer */
    int max_releases;                     /* the engine option */
    int under_way, most_under_way;        /* releases, by the rules of the test */
    char steps[64];                       /* of each of the crowd, and of podinfo behind them */
    const char *hook_path;                /* of podinfo's webhook */
    struct http_conn_request *held_write; /* of the status, if hold_writes */
    bool hold_writes;
    int event_ms; /* duration of an event; -1: it is not answered */
    bool stops;   /* the end waits for writes; the log records how it ended */
    int stop_ms;
    bool hook_fails;
    bool no_things; /* their resource is not installed */
    bool ask_ready;
    bool asks_twice;
    bool made_late; /* the thing is created once a rule has seen that it does not exist */
    int list_patience_ms;
    bool late_list; /* things are listed after one was read, which is gone by that time */
    bool deaf;      /* the Canary disappears with its finalizer, which only the watch reports */
    struct http_conn_request *held;
    /* the log of events */
    char *log[MAX_LOG];
    int logged;
    int decided, hooks, broke;
    enum rule_result (*rule)(struct fixture *f, struct tick *tick);
    int stop_after; /* decisions after which the loop ends */
    bool leads;
    bool timed_out;
};

/* The current fixture, since decide() has no argument for it. Weak: each file of the program has
 * this and decide(). */
struct fixture *now __attribute__((weak));

static void note(struct fixture *f, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (f->logged < MAX_LOG)
        f->log[f->logged++] = arena_vprintf(f->arena, fmt, args);
    va_end(args);
}

UNIT_HELPER int noted(const struct fixture *f, const char *text)
{
    int count = 0;
    for (int i = 0; i < f->logged; i++)
        count += strcmp(f->log[i], text) == 0;
    return count;
}

/* True if an event with this text was recorded. */
UNIT_HELPER bool told(const struct fixture *f, const char *text)
{
    for (int i = 0; i < f->logged; i++)
        if (strncmp(f->log[i], "event ", 6) == 0 && strstr(f->log[i], text))
            return true;
    return false;
}

__attribute__((weak)) enum rule_result decide(struct tick *tick)
{
    struct fixture *f = now;
    enum rule_result verdict = f->rule(f, tick);
    if (verdict != RULE_NEEDS_FACTS) {
        f->decided++;
        if (f->decided == f->stop_after)
            timer_start(f->loop, 200, 0, (timer_fn)loop_drain, f->loop);
    }
    return verdict;
}

/* --- the API server */

static const char *named_canary_text(struct fixture *f, const char *name)
{
    return arena_printf(f->arena,
                        "{\"apiVersion\":\"flagger.app/"
                        "v1beta1\",\"kind\":\"Canary\",\"metadata\":{\"name\":\"%s\","
                        "\"namespace\":\"%s\",\"uid\":\"%s\",\"generation\":1,\"resourceVersion\":"
                        "\"%d\"%s},\"spec\":{"
                        "\"provider\":\"kubernetes\",\"targetRef\":{\"apiVersion\":\"apps/"
                        "v1\",\"kind\":\"Deployment\","
                        "\"name\":\"%s\"},\"service\":{\"port\":80},\"analysis\":{"
                        "\"interval\":\"%s\",\"threshold\":1,"
                        "\"iterations\":1,\"webhooks\":[{\"name\":\"check\",\"url\":\"http://"
                        "127.0.0.1:%d/%s\"%s}]}},"
                        "\"status\":{\"phase\":\"%s\"%s%s}}",
                        name, *name == 'c' && f->crowd_namespace ? f->crowd_namespace : "test",
                        name, f->version,
                        f->deleting ? ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\","
                                      "\"finalizers\":[\"finalizer.flagger.app\"]"
                                    : "",
                        f->target, f->interval, http_server_port(f->server),
                        *name == 'c' ? "hang" : f->hook_path, f->hook_fields ? f->hook_fields : "",
                        *name == 'c' && f->crowd_phase ? f->crowd_phase : f->phase,
                        f->junk && strcmp(name, "podinfo") == 0 ? f->junk : "",
                        f->controller && *name != 'c'
                            ? arena_printf(f->arena, ",\"controller\":\"%s\"", f->controller)
                            : "");
}

static const char *canary_text(struct fixture *f)
{
    return named_canary_text(f, "podinfo");
}

static void on_watch_gone(void *arg)
{
    struct http_conn_request **slot = arg;
    *slot = NULL;
}

/* slot: the place where its watch is kept */
static void reply_list(struct fixture *f, struct http_conn_request *req, const char *item,
                       struct http_conn_request **slot)
{
    if (http_req_param(req, "watch")) {
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

static const char not_found[] =
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":404,\"details\":{\"name\":\"x\"}}";
static const char not_served[] = "404 page not found\n";

/* Torture: counts the request; true if it was answered with a failure. */
static bool tortured(struct fixture *f, struct http_conn_request *req)
{
    f->requests++;
    if (f->requests == f->drain_at)
        loop_drain(f->loop);
    if (f->requests != f->fail_at)
        return false;
    http_reply_json(
        req, f->fail_status,
        arena_printf(f->arena,
                     "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"tortured\","
                     "\"code\":%d}",
                     f->fail_status));
    return true;
}

static void get_canaries(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    if (tortured(f, req))
        return;
    const char *twin = f->twin ? arena_printf(f->arena, ",%s", named_canary_text(f, "twin")) : "";
    const char *crowd = "";
    for (int i = 0; i < f->crowd; i++)
        crowd = arena_printf(f->arena, "%s%s,", crowd,
                             named_canary_text(f, arena_printf(f->arena, "c%d", i)));
    reply_list(f, req, f->gone ? "" : arena_printf(f->arena, "%s%s%s", crowd, canary_text(f), twin),
               &f->cache[f->n_watches++ % 8]);
}

static void on_held_gone(void *arg)
{
    ((struct fixture *)arg)->held = NULL;
}

static const char *thing_text(struct fixture *f)
{
    return arena_printf(f->arena,
                        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"test\",\"uid\":\"t\","
                        "\"resourceVersion\":\"%d\"},\"spec\":{\"n\":%d},\"status\":{\"n\":%d}}",
                        f->thing_version, f->thing_spec, f->thing_status);
}

static void get_things(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    if (tortured(f, req))
        return;
    if (f->no_things) {
        http_reply_text(req, 404, not_served);
    } else if (f->late_list && !noted(f, "read thing")) {
        f->held = req;
        http_req_on_gone(req, on_held_gone, f);
    } else {
        note(f, "list things");
        reply_list(f, req, f->thing_version > 0 ? thing_text(f) : "", &f->things_watch);
    }
}

UNIT_HELPER void tell_watch(struct fixture *f, const char *type);

static bool fails(struct fixture *f, int *left, struct http_conn_request *req)
{
    if (*left == 0)
        return false;
    (*left)--;
    f->gone = f->gone_on_failure;
    f->version += f->moves_on_failure;
    if (f->tells_failure)
        tell_watch(f, "MODIFIED");
    http_reply_json(
        req, f->fail_status,
        arena_printf(
            f->arena,
            "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"%sas the test asked\","
            "\"code\":%d}",
            f->fails_by_role ? "User \\\"me\\\" cannot do it: " : "", f->fail_status));
    return true;
}

static void get_canary(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    note(f, "read canary");
    if (tortured(f, req) || fails(f, &f->fail_reads, req))
        return;
    if (f->gone)
        http_reply_json(req, 404, not_found);
    else
        http_reply_json(req, 200, named_canary_text(f, strrchr(http_req_path(req), '/') + 1));
}

static void on_write_gone(void *arg)
{
    struct fixture *f = arg;
    note(f, "the write is cut off");
    f->held_write = NULL;
}

static void patch_status(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    note(f, "write status");
    if (f->hold_writes) {
        f->held_write = req;
        http_req_on_gone(req, on_write_gone, f);
        return;
    }
    if (tortured(f, req) || fails(f, &f->fail_writes, req))
        return;
    f->version++;
    http_reply_json(req, 200, canary_text(f));
}

static void on_held_gone(void *arg);

/* Removing the last finalizer removes the Canary. */
static void patch_canary(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    size_t len;
    const char *body = http_req_body(req, &len);
    note(f, "patch canary %.*s", (int)len, body);
    if (tortured(f, req) || fails(f, &f->fail_writes, req))
        return;
    f->version++;
    f->gone = true;
    if (f->deaf) {
        f->held = req;
        http_req_on_gone(req, on_held_gone, f);
        tell_watch(f, "DELETED");
        return;
    }
    http_reply_json(req, 200, canary_text(f));
}

static void patch_thing(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    size_t len;
    const char *body = http_req_body(req, &len);
    note(f, "%s %.*s", http_req_header(req, "content-type"), (int)len, body);
    if (tortured(f, req) || fails(f, &f->fail_writes, req))
        return;
    f->thing_version++;
    http_reply_json(req, 200, thing_text(f));
}

static void get_thing(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    note(f, "read thing");
    if (tortured(f, req))
        return;
    if (f->thing_version > 0) {
        http_reply_json(req, 200, thing_text(f));
        return;
    }
    if (f->no_things) {
        http_reply_text(req, 404, not_served);
        return;
    }
    if (!f->late_list || noted(f, "read thing") > 1) {
        http_reply_json(req, 404, not_found);
        return;
    }
    http_reply_json(req, 200,
                    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"test\",\"uid\":\"t\","
                    "\"resourceVersion\":\"5\"}}");
    if (f->held)
        reply_list(f, f->held, "", &f->things_watch);
    f->held = NULL;
}

static void answer_event(void *arg)
{
    struct fixture *f = now;
    note(f, "told");
    http_reply(arg, 201, "application/json", "{}", 2);
}

static void on_event_gone(void *arg)
{
    note(arg, "the event is cut off");
}

static void post_event(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    size_t len;
    const char *body = http_req_body(req, &len);
    struct json_object *event = NULL;
    if (tortured(f, req))
        return;
    if (json_parse(f->arena, body, len, 65536, &event, NULL) == ERR_OK)
        note(f, "event %s", json_str_at(event, "message", NULL));
    if (f->event_ms < 0)
        http_req_on_gone(req, on_event_gone, f);
    else if (f->event_ms > 0)
        timer_start(f->loop, f->event_ms, 0, answer_event, req);
    else
        http_reply(req, 201, "application/json", body, len);
}

static void post_hook(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    size_t len;
    const char *body = http_req_body(req, &len);
    f->hooks++;
    if (f->asked)
        assert_string_equal(arena_strndup(f->arena, body, len), f->asked);
    if (!tortured(f, req))
        http_reply_text(req, f->hook_fails ? 403 : 200, f->hook_fails ? "bad" : "good");
}

static void on_hang_gone(void *arg)
{
}

static void hang(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    f->hangs++;
    http_req_on_gone(req, on_hang_gone, f);
}

static void get_lease(void *arg, struct http_conn_request *req)
{
    struct fixture *f = arg;
    f->looks++;
    f->renewals += f->renews;
    http_reply_json(req, 200,
                    arena_printf(f->arena,
                                 "{\"metadata\":{\"resourceVersion\":\"%d\",\"annotations\":{%s}},"
                                 "\"spec\":{\"holderIdentity\":\"them\"}}",
                                 f->renewals, f->notes ? f->notes : ""));
}

static const struct http_route routes[] = {
    {"GET", "/apis/coordination.k8s.io/v1/namespaces/ns/leases/theirs", get_lease},
    {"GET", "/apis/flagger.app/v1beta1/canaries", get_canaries},
    {"GET", "/apis/flagger.app/v1beta1/namespaces/test/canaries/*", get_canary},
    {"PATCH", "/apis/flagger.app/v1beta1/namespaces/test/canaries/podinfo/status", patch_status},
    {"PATCH", "/apis/flagger.app/v1beta1/namespaces/test/canaries/podinfo", patch_canary},
    {"PATCH", "/apis/flagger.app/v1beta1/namespaces/test/canaries/*", hang}, /* the crowd's */
    {"GET", "/apis/example.org/v1/things", get_things},
    {"GET", "/apis/example.org/v1/namespaces/test/things", get_things},
    {"GET", "/apis/example.org/v1/namespaces/test/things/a", get_thing},
    {"PATCH", "/apis/example.org/v1/namespaces/test/things/a", patch_thing},
    {"POST", "/api/v1/namespaces/test/events", post_event},
    {"POST", "/hook", post_hook},
    {"POST", "/hang", hang},
    {"GET", "/hang/*", hang},
    {NULL, NULL, NULL},
};

/* Sends one line to every watch of the Canaries. */
UNIT_HELPER void tell_watch(struct fixture *f, const char *type)
{
    const char *line =
        arena_printf(f->arena, "{\"type\":\"%s\",\"object\":%s}\n", type, canary_text(f));
    for (int i = 0; i < 8; i++)
        if (f->cache[i])
            http_stream_send(f->cache[i], line, strlen(line));
}

UNIT_HELPER void tell_things_watch(struct fixture *f)
{
    const char *line =
        arena_printf(f->arena, "{\"type\":\"MODIFIED\",\"object\":%s}\n", thing_text(f));
    if (f->things_watch)
        http_stream_send(f->things_watch, line, strlen(line));
}

UNIT_HELPER const struct kube_resource things = {
    .group = "example.org", .version = "v1", .plural = "things", .kind = "Thing"};

static enum rule_result rule_rest(struct fixture *f, struct tick *tick)
{
    tick->plan->requeue = REQUEUE_NEVER;
    return RULE_DONE;
}

UNIT_HELPER void plan_a_status(struct fixture *f, struct tick *tick)
{
    struct json_object *patch = json_own(f->arena, json_object_new_object());
    json_set_str(json_sub(patch, "status"), "phase", "Progressing");
    plan_status(tick, patch);
}

/* --- set-up */

static void on_watchdog(void *arg)
{
    struct fixture *f = arg;
    f->watchdog = NULL;
    f->timed_out = true;
    loop_drain(f->loop);
}

static void close_all(struct fixture *f)
{
    if (f->ask_ready && engine_ready(f->engine))
        note(f, "ready");
    struct buf metrics;
    buf_init(&metrics, 1 << 20);
    metrics_write(&metrics);
    f->metrics = arena_strndup(f->arena, metrics.data, metrics.len);
    buf_fini(&metrics);
    engine_free(f->engine);
    f->engine = NULL;
    kube_client_free(f->kube);
    http_client_free(f->http);
    http_client_free(f->outside);
    for (int i = 0; i < 8; i++) {
        if (f->cache[i])
            http_stream_end(f->cache[i]);
        f->cache[i] = NULL; /* a case may still change something */
    }
    if (f->things_watch)
        http_stream_end(f->things_watch);
    f->things_watch = NULL;
    if (f->held)
        http_reply_json(f->held, 503, "{}");
}

static void on_stopped(void *arg, bool quiet)
{
    struct fixture *f = arg;
    note(f, quiet ? "stopped" : "stopped with writes under way");
    close_all(f);
}

static void on_drain(void *arg)
{
    struct fixture *f = arg;
    timer_stop(f->watchdog);
    f->watchdog = NULL;
    timer_stop(f->ticker);
    f->ticker = NULL;
    if (f->stops)
        engine_stop(f->engine, f->stop_ms, on_stopped, f);
    else
        close_all(f);
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
                               .phase = "Progressing",
                               .interval = "1s",
                               .target = "podinfo",
                               .hook_path = "hook",
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
    f->outside = http_client_new(
        f->loop, &(struct http_client_options){.max_per_host = -1, .max_total = -1});
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

/* Ends a fixture that was not used: set_up() has opened handles. */
UNIT_HELPER void tear_down_idle(void **state)
{
    struct fixture *f = *state;
    loop_drain(f->loop);
    loop_run(f->loop);
    tear_down(state);
}

static void run_engine(struct fixture *f, bool elects)
{
    f->engine = engine_new(&(struct engine_options){.loop = f->loop,
                                                    .kube = f->kube,
                                                    .http = f->outside,
                                                    .settings = &f->settings,
                                                    .max_runs = 4,
                                                    .max_releases = f->max_releases,
                                                    .retry_ceiling_ms = 1000,
                                                    .list_patience_ms = f->list_patience_ms,
                                                    .peer_probe_ms = 20,
                                                    .peer_patience_ms = 30,
                                                    .is_leader = elects ? is_leader : NULL,
                                                    .arg = f});
    assert_int_equal(loop_run(f->loop), 0);
}

UNIT_FIXTURE(.set_up = set_up, .tear_down = tear_down);

#endif
