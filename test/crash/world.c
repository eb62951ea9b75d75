#include "crash/world.h"

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/crds.h"
#include "crash/actors.h"
#include "crash/late.h"
#include "crash/outcome.h"
#include "crash/process.h"
#include "crash/safety.h"
#include "test/rows.h"

enum {
    POLL_MS = 10,
    QUIET_MS = 250,       /* nothing happens for so long: it has ended */
    STUCK_MS = 10 * 1000, /* ... or it is stuck: longer than any back-off on a busy machine */
    LIMIT_MS = 60 * 1000, /* of a whole run */
    DRAIN_MS = 5000,
    REFUSALS = 2,
};

struct world {
    const struct world_options *options;
    const struct scenario *scenario;
    struct arena *arena;
    struct loop *loop;
    struct objstore *store;
    struct api *api;
    struct actors *actors;
    struct objwatch *watch;
    struct http_server *checks; /* Prometheus and the webhooks */
    struct timer *poll;
    int pid;                     /* of the controller; 0 if none */
    int64_t started_ms, last_ms; /* monotonic: the run began; something happened last */
    uint64_t judged_version;     /* of the store when the outcome was last looked at */
    bool listed;                 /* by the controller that runs now */
    bool killed, killed_again, meddled;
    struct late late; /* verb NULL if none, or it has arrived */
    int writes_since; /* of the controllers after the kill */
    struct json_object *writes;
    struct json_object *events; /* name to message */
    struct json_object *asked;  /* webhook to how often */
    const char *trouble, *outcome;
    const char *breach; /* of the safety rules, at any time */
};

static struct json_object *find(struct world *w, const char *group, const char *plural,
                                const char *name)
{
    const struct objkind *kind = objstore_kind(w->store, group, plural);

    return kind ? objstore_get(w->store, kind, "test", name) : NULL;
}

static struct json_object *canary_of(struct world *w)
{
    return find(w, "flagger.app", "canaries", "podinfo");
}

static void end(struct world *w, const char *trouble)
{
    w->trouble = trouble;
    loop_drain(w->loop);
}

/* --- what a person does */

static bool make_object(struct world *w, struct json_object *object)
{
    struct objcall call = {.arena = w->arena, .manager = "kubectl"};
    const char *version = json_str_at(object, "apiVersion", NULL);
    const char *slash = strchr(version, '/');
    const char *group = slash ? arena_strndup(w->arena, version, (size_t)(slash - version)) : "";
    const char *name = json_str_at(object, "kind", NULL);
    const struct objkind *kind = objstore_kind_named(w->store, group, name);
    const char *ns = strcmp(name, "Namespace") == 0 ? NULL : "test";

    call.version = slash ? slash + 1 : version;
    if (kind && objstore_create(w->store, &call, kind, ns, object, NULL) == ERR_OK)
        return true;
    end(w, arena_printf(w->arena, "%s cannot be made: %s", name,
                        kind ? call.fail.message : "there is no such kind"));
    return false;
}

/* About the revision that this person sees. */
static void make_request(struct world *w, const struct deed *deed)
{
    struct json_object *request = rows_json(
        w->arena, "{'apiVersion':'flagger.app/v1alpha1','kind':'ReleaseRequest','metadata':{'name':"
                  "'podinfo','namespace':'test'},'spec':{'by':'alice','why':'she says so'}}");
    struct json_object *spec = json_at(request, "spec", NULL);

    json_set_str(spec, "action", deed->ask);
    json_set_str(spec, "revision", json_str_at(canary_of(w), "status", "lastAppliedSpec", NULL));
    (void)make_object(w, request);
}

static void do_deed(struct world *w, const struct deed *deed)
{
    if (deed->ask) {
        make_request(w, deed);
        return;
    }
    struct objcall call = {.arena = w->arena, .manager = "kubectl"};
    const struct objkind *kind = objstore_kind(w->store, deed->group, deed->plural);
    bool gone;
    enum err err =
        deed->patch ? objstore_merge(w->store, &call, kind, "test", deed->name, OBJSUB_NONE,
                                     json_copy(w->arena, deed->patch), NULL)
                    : objstore_delete(w->store, &call, kind, "test", deed->name, NULL, NULL, &gone);
    if (err != ERR_OK)
        end(w, arena_printf(w->arena, "%s/%s cannot be changed: %s", deed->plural, deed->name,
                            call.fail.message));
}

static void do_deeds(struct world *w, const struct deed deeds[DEEDS_MAX])
{
    for (int i = 0; i < DEEDS_MAX && deeds[i].name; i++)
        do_deed(w, &deeds[i]);
}

static void make_objects(struct world *w)
{
    struct json_object *list = scenario_objects(w->arena, w->scenario);
    struct json_object *space =
        rows_json(w->arena, "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'test'}}");

    if (!make_object(w, space))
        return;
    for (size_t i = 0; i < json_len(list); i++) {
        if (!make_object(w, json_elem(list, i)))
            return;
    }
}

/* Webhooks of the Canary lead to this run's port. */
static void aim_webhooks(struct world *w)
{
    struct objcall call = {.arena = w->arena, .manager = "kubectl"};
    struct json_object *canary = json_copy(w->arena, canary_of(w));
    struct json_object *hooks = json_at(canary, "spec", "analysis", "webhooks", NULL);

    for (size_t i = 0; i < json_len(hooks); i++)
        json_set_str(json_elem(hooks, i), "url",
                     arena_printf(w->arena, "http://127.0.0.1:%d/hook/%s",
                                  http_server_port(w->checks),
                                  json_str_at(json_elem(hooks, i), "name", NULL)));
    if (json_len(hooks) > 0 &&
        objstore_update(w->store, &call, objstore_kind(w->store, "flagger.app", "canaries"), "test",
                        OBJSUB_NONE, canary, NULL) != ERR_OK)
        end(w, call.fail.message);
}

/* --- the controller's life */

static void start_controller(struct world *w)
{
    const struct world_options *o = w->options;
    struct errinfo ei;
    const char *const argv[] = {
        o->controller,
        "--kubeconfig",
        api_kubeconfig(w->api),
        "--address=127.0.0.1",
        "--port=0",
        "--mesh-provider=gatewayapi:v1",
        "--metrics-server",
        arena_printf(w->arena, "http://127.0.0.1:%d", http_server_port(w->checks)),
        "--min-analysis-interval=20ms",
        "--control-loop-interval=50ms",
        "--kubeconfig-qps=100000",
        "--kubeconfig-burst=100000",
        w->scenario->elects ? "--enable-leader-election=true" : "--enable-leader-election=false",
        NULL,
    };

    w->listed = false;
    w->last_ms = clock_monotonic_ms();
    if (process_start(argv, arena_printf(w->arena, "%s/controller.log", o->directory), &w->pid,
                      &ei) != ERR_OK)
        end(w, arena_strdup(w->arena, ei.text));
}

/* A lease of 60 s must not hold the next one up: it gets a fresh one. */
static void forget_lease(struct world *w)
{
    struct objcall call = {.arena = w->arena};
    const struct objkind *kind = objstore_kind(w->store, "coordination.k8s.io", "leases");
    bool gone;

    if (objstore_delete(w->store, &call, kind, "kube-system", "flagger-leader-election", NULL, NULL,
                        &gone) != ERR_OK)
        log_debug("no_lease", NULL, "there is no lease to forget");
}

static void restart(void *arg)
{
    struct world *w = arg;

    if (w->scenario->elects)
        forget_lease(w);
    start_controller(w);
}

static void kill_controller(struct world *w)
{
    process_kill(w->pid);
    w->pid = 0;
    timer_start(w->loop, 0, 0, restart, w);
}

/* --- what it asks */

static int note(struct world *w, const char *key, const char *what, bool call)
{
    struct json_object *item = json_object_new_object();
    int number = 1;

    for (size_t i = 0; i < json_len(w->writes); i++)
        number += strcmp(json_str_at(json_elem(w->writes, i), "key", NULL), key) == 0;
    json_set_str(item, "key", key);
    json_set_int(item, "number", number);
    json_set_str(item, "what", what);
    json_set_bool(item, "call", call);
    json_object_array_add(w->writes, item);
    return number;
}

/* Notes the request and kills the controller if it is the one. False: it is not to be served. */
static bool on_deed(struct world *w, const char *key, const char *what, bool call)
{
    const struct kill_point *point = w->options->point;

    if (w->options->prepare || w->pid == 0)
        return true;
    if (w->killed && (call || !w->scenario->twice || w->killed_again))
        return true;
    if (w->killed) {
        w->killed_again = true;
        kill_controller(w);
        return point->applied;
    }
    int number = note(w, key, what, call);
    if (!point || strcmp(point->key, key) != 0 || point->number != number)
        return true;
    w->killed = true;
    kill_controller(w);
    return point->applied;
}

/* "deployments/podinfo" of a path, for a create with the name that the body says. */
static const char *subject(struct world *w, const char *path, struct json_object *body)
{
    const char *at = strstr(path, "/namespaces/");
    const char *rest = at ? strchr(at + strlen("/namespaces/"), '/') : NULL;
    const char *name = json_str_at(body, "metadata", "name", NULL);

    rest = rest ? rest + 1 : path;
    return strchr(rest, '/') || !name ? rest : arena_printf(w->arena, "%s/%s", rest, name);
}

/* The message without the port of this run's Prometheus, which another run does not have. */
static const char *without_port(struct world *w, const char *message)
{
    const char *port = arena_printf(w->arena, ":%d", http_server_port(w->checks));
    const char *at = strstr(message, port);

    return at ? arena_printf(w->arena, "%.*s%s", (int)(at - message), message, at + strlen(port))
              : message;
}

/* Events have random names: they are known by what they say. what: "events/NAME" */
static const char *event_key(struct world *w, const char *verb, const char *what,
                             struct json_object *body)
{
    const char *message = json_str_at(body, "message", NULL);

    if (message)
        json_set_str(w->events, what, without_port(w, message));
    message = json_str_at(w->events, what, NULL);
    return arena_printf(w->arena, "%s event %s", verb, message ? message : "of before");
}

static void arrive(struct world *w)
{
    (void)late_apply(&w->late, w->arena, w->store);
    w->late.verb = NULL;
}

static bool on_request(void *arg, const char *verb, struct http_conn_request *req)
{
    struct world *w = arg;
    const char *path = http_req_path(req);
    bool lease = strstr(path, "/leases") != NULL;
    size_t len;
    const char *text = http_req_body(req, &len);
    struct json_object *body = NULL;

    if (!lease && strcmp(verb, "watch") != 0)
        w->last_ms = clock_monotonic_ms();
    if (strcmp(verb, "list") == 0 && strstr(path, "/canaries"))
        w->listed = true;
    if (strcmp(verb, "get") == 0 || strcmp(verb, "list") == 0 || strcmp(verb, "watch") == 0)
        return true;
    if (len > 0 && json_parse(w->arena, text, len, JSON_MAX_BYTES, &body, NULL) != ERR_OK)
        body = NULL;
    const char *what = subject(w, path, body);
    const char *key = strncmp(what, "events", 6) == 0 ? event_key(w, verb, what, body)
                                                      : arena_printf(w->arena, "%s %s", verb, what);
    bool was_killed = w->killed;
    bool serve = on_deed(w, key, arena_strndup(w->arena, text, len < 600 ? len : 600), false);
    if (!was_killed && w->killed && w->options->point->late > 0)
        w->late = (struct late){verb, arena_strdup(w->arena, path), body};
    else if (w->late.verb && !lease && ++w->writes_since == w->options->point->late)
        arrive(w);
    return serve;
}

/* How far the release is, as its status says. */
static int64_t progress(struct world *w)
{
    int64_t weight = json_int_at(canary_of(w), 0, "status", "canaryWeight", NULL);
    int64_t iterations = json_int_at(canary_of(w), 0, "status", "iterations", NULL);

    return weight > iterations ? weight : iterations;
}

static void on_query(void *arg, struct http_conn_request *req)
{
    struct world *w = arg;
    bool bad = w->scenario->bad_from > 0 && progress(w) >= w->scenario->bad_from;
    const char *answer = arena_printf(
        w->arena,
        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{},"
        "\"value\":[%lld,\"%d\"]}]}}",
        (long long)(clock_wall_ms() / 1000), bad ? 50 : 100);

    w->last_ms = clock_monotonic_ms();
    on_deed(w, "ask metric", bad ? "answer 50" : "answer 100", true);
    http_reply_json(req, 200, answer);
}

static void on_hook(void *arg, struct http_conn_request *req)
{
    struct world *w = arg;
    const char *name = strrchr(http_req_path(req), '/') + 1;
    int asked = (int)json_int_at(w->asked, 0, name, NULL);
    bool agrees = true;

    if (strcmp(name, "back") == 0)
        agrees = w->scenario->back_from > 0 && progress(w) >= w->scenario->back_from;
    else if (strncmp(name, "late", 4) == 0)
        agrees = asked >= REFUSALS;
    json_set_int(w->asked, name, asked + 1);
    w->last_ms = clock_monotonic_ms();
    on_deed(w, arena_printf(w->arena, "ask hook %s", name), agrees ? "agree" : "refuse", true);
    http_reply_text(req, agrees ? 200 : 403, agrees ? "yes" : "no");
}

/* --- the end */

static bool is_phase(struct world *w, const char *phase)
{
    const char *is = json_str_at(canary_of(w), "status", "phase", NULL);

    return phase ? is && strcmp(is, phase) == 0 : canary_of(w) == NULL;
}

static const char *primary_image(struct world *w)
{
    struct json_object *primary = find(w, "apps", "deployments", "podinfo-primary");

    primary = primary ? primary : find(w, "apps", "daemonsets", "podinfo-primary");
    const char *image =
        json_str_at(json_elem(json_at(primary, "spec", "template", "spec", "containers", NULL), 0),
                    "image", NULL);

    return image ? image : "none";
}

/* The controller waits for the time in which everybody hears that the traffic is gone, and on a busy
 * machine nothing else happens meanwhile for longer than QUIET_MS. */
static bool is_draining(struct world *w)
{
    struct json_object *conditions = json_at(canary_of(w), "status", "conditions", NULL);

    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        const char *status = json_str_at(json_elem(conditions, i), "status", NULL);
        if (type && status && strcmp(type, "Drained") == 0 && strcmp(status, "False") == 0)
            return true;
    }
    return false;
}

/* A sentence about why the release has not ended as it should; NULL: it has. */
static const char *judge(struct world *w)
{
    const struct scenario *s = w->scenario;
    const char *phase = w->options->prepare ? "Initialized" : s->phase;

    if (!is_phase(w, phase))
        return arena_printf(w->arena, "its phase is %s and not %s",
                            json_str_at(canary_of(w), "status", "phase", NULL) ?: "none",
                            phase ? phase : "gone");
    if (w->options->prepare)
        return NULL;
    if (w->options->point && !w->killed)
        return "the write at which it was to be killed did not come";
    if (s->meanwhile[0].name && !w->meddled)
        return "the moment to meddle did not come";
    if (s->image && strcmp(primary_image(w), s->image) != 0)
        return arena_printf(w->arena, "the primary runs %s and not %s", primary_image(w), s->image);
    if (is_draining(w))
        return "its traffic has not left everywhere";
    w->outcome = outcome_text(w->arena, w->store);
    if (w->breach)
        return w->breach;
    if (w->options->expected && strcmp(w->outcome, w->options->expected) != 0)
        return "the cluster differs from the undisturbed one's";
    return NULL;
}

static void on_poll(void *arg)
{
    struct world *w = arg;
    int64_t now = clock_monotonic_ms(), quiet = now - w->last_ms;
    int status;

    if (w->pid > 0 && process_ended(w->pid, &status)) {
        w->pid = 0;
        end(w, arena_printf(w->arena, "the controller ended by itself with status %d", status));
        return;
    }
    if (now - w->started_ms > LIMIT_MS) {
        end(w, arena_printf(w->arena, "it took too long; %s", judge(w) ?: "but has ended"));
        return;
    }
    if (!w->listed || quiet < QUIET_MS + 3 * w->options->watch_delay_ms)
        return;
    if (objstore_version(w->store) == w->judged_version && quiet < STUCK_MS)
        return;
    w->judged_version = objstore_version(w->store);
    const char *wrong = judge(w);
    if (!wrong || quiet >= STUCK_MS)
        end(w, wrong);
}

static void on_event(void *arg, const struct objevent *event)
{
    struct world *w = arg;

    if (event->type != OBJ_SYNCED && strcmp(event->kind->kind, "Lease") != 0)
        w->last_ms = clock_monotonic_ms();
    if (!w->breach && w->actors)
        w->breach = safety_breach(w->arena, w->store);
    if (!w->meddled && w->scenario->meanwhile[0].name && !w->options->prepare &&
        json_int_at(canary_of(w), 0, "status", "canaryWeight", NULL) > 0) {
        w->meddled = true;
        do_deeds(w, w->scenario->meanwhile);
    }
}

static void on_drain(void *arg)
{
    struct world *w = arg;

    if (w->pid > 0)
        process_kill(w->pid);
    w->pid = 0;
    timer_stop(w->poll);
    w->poll = NULL;
    objwatch_stop(w->watch);
    actors_free(w->actors);
}

/* --- the beginning */

static const struct http_route routes[] = {
    {"GET", "/api/v1/query", on_query},
    {"POST", "/hook/*", on_hook},
    {NULL, NULL, NULL},
};

static enum err fill_store(struct world *w, struct errinfo *ei)
{
    enum err err;

    if (!w->options->prepare)
        return objstore_load(w->store, w->options->snapshot, ei);
    err = crds_install(w->store, ei);
    for (const char *at = w->options->crds; err == ERR_OK && *at;) {
        size_t len = strcspn(at, ",");
        err = crds_load(w->store, arena_strndup(w->arena, at, len), ei);
        at += len + (at[len] == ',');
    }
    if (err == ERR_OK)
        make_objects(w);
    return err;
}

static enum err set_up(struct world *w, struct errinfo *ei)
{
    const struct api_options api = {.https_port = -1,
                                    .directory = w->options->directory,
                                    .watch_delay_ms = w->options->watch_delay_ms};
    const struct http_server_options checks = {
        .address = "127.0.0.1", .routes = routes, .arg = w, .no_builtin = true};
    enum err err = fill_store(w, ei);

    if (err == ERR_OK)
        err = api_new(w->loop, w->store, &api, &w->api, ei);
    if (err == ERR_OK)
        err = http_server_new(w->loop, &checks, &w->checks, ei);
    if (err != ERR_OK)
        return err;
    api_on_request(w->api, on_request, w);
    aim_webhooks(w);
    w->actors = actors_new(w->loop, w->store, w->scenario->slow_ms);
    w->watch = objstore_watch(w->store, NULL, NULL, on_event, w);
    w->poll = timer_start(w->loop, POLL_MS, POLL_MS, on_poll, w);
    if (w->options->prepare && !w->scenario->change[0].name)
        loop_drain(w->loop); /* nothing happens before the beginning */
    else if (!w->trouble)
        start_controller(w);
    return ERR_OK;
}

struct json_object *world_run(struct arena *arena, const struct world_options *options)
{
    struct world w = {.options = options,
                      .scenario = options->scenario,
                      .arena = arena,
                      .loop = loop_new(DRAIN_MS),
                      .started_ms = clock_monotonic_ms(),
                      .writes = json_own(arena, json_object_new_array()),
                      .events = json_own(arena, json_object_new_object()),
                      .asked = json_own(arena, json_object_new_object())};
    struct json_object *out = json_own(arena, json_object_new_object());
    struct errinfo ei = {0};

    w.store = objstore_new(w.loop, 0);
    loop_on_drain(w.loop, on_drain, &w);
    if (set_up(&w, &ei) != ERR_OK)
        end(&w, ei.text);
    if (loop_run(w.loop) != 0 && !w.trouble)
        w.trouble = "it could not be ended in order";
    if (options->prepare && !w.trouble) {
        if (w.scenario->elects)
            forget_lease(&w);
        do_deeds(&w, w.scenario->change);
        if (objstore_save(w.store, options->snapshot, &ei) != ERR_OK)
            w.trouble = ei.text;
    }
    json_set_str(out, "trouble", w.trouble);
    json_set_str(out, "outcome", w.outcome);
    json_set_bool(out, "killed", w.killed);
    json_set_int(out, "milliseconds", clock_monotonic_ms() - w.started_ms);
    json_set(out, "writes", w.writes);
    return out;
}
