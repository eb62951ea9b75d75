#include "engine/look.h"

#include <string.h>

#include "base/clock.h"
#include "engine/deps.h"
#include "engine/gather.h"
#include "engine/job.h"
#include "engine/outbox.h"
#include "engine/perform.h"
#include "engine/plans.h"
#include "engine/watchset.h"
#include "kube/pack.h"
#include "net/server/debug.h"
#include "observe/observer.h"

enum { MAX_CONDITIONS = 32, MAX_ASKS = 256 };

/* --- one Canary, in short */

static const char *waits_for(const struct job_look *look)
{
    static const struct {
        const char *state, *what;
    } table[] = {
        {"queued", "a place among those that run"},
        {"reading", "the Canary, from the API server"},
        {"gathering", "objects, from the API server"},
        {"asking", "webhooks and metrics"},
        {"answered", "a place among those that run, with the answers"},
        {"performing", "a write, by the API server"},
    };

    if (look->idle && look->other && look->other_state != OTHER_GONE)
        return "nothing: another controller drives it";
    if (look->idle && look->queued)
        return "its turn: as many releases are under way as may be";
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].state, look->state) == 0)
            return table[i].what;
    return look->wakes_ms >= 0 ? "its next wake-up, or a change of what it depends on"
                               : "a change of what it depends on";
}

static void set_brief(struct json_object *out, const struct job_look *look)
{
    json_set_str(out, "namespace", look->namespace_);
    json_set_str(out, "name", look->name);
    if (look->phase != PHASE_NONE)
        json_set_str(out, "phase", phase_name(look->phase));
    json_set_str(out, "state", look->state);
    debug_set_time(out, "since", look->since_ms);
    json_set_str(out, "waitsFor", waits_for(look));
    if (look->idle && look->wakes_ms >= 0)
        debug_set_time(out, "nextWakeup", look->wakes_ms);
    if (look->failures > 0)
        json_set_int(out, "failures", look->failures);
    if (look->observer)
        json_set_int(out, "differences", observer_differences(look->observer));
}

/* --- one Canary, whole */

/* What another controller's release was found to be, and what is expected of it. */
static void set_observed(struct json_object *out, struct arena *arena,
                         const struct observer *observer)
{
    static const char *const answers[] = {
        [ASSUMED_YES] = "agree", [ASSUMED_NO] = "refuse", [ASSUMED_ROLLBACK] = "want a rollback"};
    struct observer_look look;

    observer_look(observer, &look);
    struct json_object *steps = json_sub(out, "steps"), *list = json_object_new_array();
    for (int i = OBSERVED_NOTHING + 1; i < OBSERVED_KINDS; i++)
        json_set_int(steps, observed_name((enum observed)i), look.counts[i]);
    json_set_str(out, "at", look.at ? stand_text(arena, look.at) : NULL);
    json_set_str(out, "lastDifference", look.difference);
    json_object_object_add(out, "expected", list);
    for (const struct observer_kept *kept = look.kept; kept; kept = kept->next) {
        const struct foreseen *foreseen = kept->foreseen;
        struct json_object *one = json_object_new_object();
        json_object_array_add(list, one);
        json_set_str(one, "ifWebhooks", answers[foreseen->assumed]);
        json_set_str(one, "to", foreseen->moves ? stand_text(arena, &foreseen->to) : NULL);
        json_set_int(one, "afterSeconds", foreseen->after_ms / 1000);
        json_set_str(one, "plans", foreseen->plans);
    }
}

struct asks {
    struct arena *arena;
    struct json_object *list;
};

static void add_ask(void *arg, const struct gather_ask *ask)
{
    static const char *const kinds[] = {
        [NEED_OBJECT] = "object", [NEED_METRIC] = "metric", [NEED_HOOK] = "webhook"};
    const struct asks *asks = arg;

    if (json_len(asks->list) >= MAX_ASKS)
        return;
    struct json_object *one = json_object_new_object();
    json_object_array_add(asks->list, one);
    json_set_str(one, "kind", kinds[ask->kind]);
    if (ask->resource)
        json_set_str(one, "resource", ask->resource->plural);
    json_set_str(one, "namespace", ask->namespace_);
    json_set_str(one, "name", ask->name);
    if (ask->url)
        json_set_str(one, "server", url_origin(asks->arena, ask->url));
    if (ask->attempts > 1)
        json_set_int(one, "attempts", ask->attempts);
    debug_set_time(one, "since", ask->since_ms);
}

static void set_run(struct json_object *out, struct arena *arena, const struct job_look *look)
{
    struct asks asks = {.arena = arena, .list = json_object_new_array()};
    struct json_object *run = json_sub(out, "run");

    debug_set_time(run, "began", look->began_ms);
    json_set_int(run, "rounds", look->rounds);
    json_set_int(run, "conflicts", look->conflicts);
    json_object_object_add(run, "underWay", asks.list);
    if (look->gather)
        gather_each(look->gather, add_ask, &asks);
    const struct effect *effect = look->perform ? perform_effect(look->perform) : NULL;
    if (!effect)
        return;
    struct json_object *write = json_sub(run, "write");
    json_set_str(write, "resource",
                 effect->resource ? effect->resource->plural : "canaries/status");
    json_set_str(write, "namespace", effect->namespace_);
    json_set_str(write, "name", effect->name);
    json_set_str(write, "why", effect->why);
}

/* Why a release waits, and since when, stands in the conditions of its status. */
static void set_conditions(struct json_object *out, struct arena *arena,
                           const struct watchset *watches, const struct job_look *look)
{
    const struct seen *seen;
    struct json_object *tree = NULL;
    if (watchset_look(watches, &tick_canaries, look->namespace_, look->name, &seen) && seen)
        (void)watchset_unpack(watches, &tick_canaries, seen, arena, &tree);
    struct json_object *conditions = json_at(tree, "status", "conditions", NULL);

    if (!conditions)
        return;
    struct json_object *list = json_object_new_array();
    json_object_object_add(out, "conditions", list);
    for (size_t i = 0; i < json_len(conditions) && i < MAX_CONDITIONS; i++) {
        static const char *const shown[][2] = {{"type", "type"},
                                               {"status", "status"},
                                               {"reason", "reason"},
                                               {"lastTransitionTime", "since"}};
        struct json_object *one = json_object_new_object();
        json_object_array_add(list, one);
        for (size_t k = 0; k < sizeof(shown) / sizeof(shown[0]); k++)
            json_set_str(one, shown[k][1],
                         json_str_at(json_elem(conditions, i), shown[k][0], NULL));
    }
}

static void set_last_plan(struct json_object *out, const struct engine_context *context,
                          const struct job_look *look)
{
    char time[CLOCK_TEXT];
    int64_t at_ms;
    const char *text = plans_find(context->plans, look->namespace_, look->name, &at_ms);

    if (!text)
        return;
    struct json_object *plan = json_sub(out, "lastPlan");
    json_set_str(plan, "at", clock_rfc3339(at_ms, time));
    json_set_str(plan, "text", text);
}

static void set_messages(struct json_object *out, struct outbox_look look)
{
    json_set_int(out, "events", look.events);
    json_set_int(out, "hooks", look.hooks);
    json_set_int(out, "alerts", look.alerts);
}

struct json_object *look_canary(const struct engine *engine, struct arena *arena,
                                const char *namespace_, const char *name)
{
    struct job_look look;
    struct engine_look whole;
    int place;
    const struct job *job = engine_find(engine, namespace_, name, &place);

    if (!job)
        return NULL;
    job_look(job, &look);
    engine_look(engine, &whole);
    struct json_object *out = json_own(arena, json_object_new_object());
    set_brief(out, &look);
    if (place > 0)
        json_set_int(out, "place", place);
    if (look.queued)
        json_set_int(out, "turn", job_place(job));
    if (look.other) {
        static const char *const states[] = {[OTHER_UNKNOWN] = "is looked at",
                                             [OTHER_LIVES] = "drives it",
                                             [OTHER_GONE] = "is gone"};
        struct json_object *other = json_sub(out, "otherController");
        json_set_str(other, "lease", look.other);
        json_set_str(other, "state", states[look.other_state]);
    }
    if (look.woken_by) {
        struct json_object *woken = json_sub(out, "wokenBy");
        json_set_str(woken, "what", look.woken_by);
        debug_set_time(woken, "at", look.woken_ms);
    }
    json_set_int(out, "runs", (int64_t)look.runs);
    json_set_bool(out, "runsAgain", look.again);
    if (look.failed_text) {
        struct json_object *failure = json_sub(out, "lastFailure");
        debug_set_time(failure, "at", look.failed_ms);
        json_set_str(failure, "text", look.failed_text);
    }
    if (look.began_ms > 0)
        set_run(out, arena, &look);
    set_conditions(out, arena, whole.context->watches, &look);
    if (look.observer)
        set_observed(json_sub(out, "observed"), arena, look.observer);
    set_last_plan(out, whole.context, &look);
    set_messages(json_sub(out, "messages"), outbox_look_at(whole.context->outbox, look.label));
    return out;
}

/* --- a page of Canaries */

struct listing {
    const struct look_filter *filter;
    struct json_object *list;
    const struct job *last; /* that was looked at; NULL: there was none */
    int limit, scanned;
    bool more;
};

static bool fits(const char *wanted, const char *text)
{
    return !wanted || strcmp(wanted, text) == 0;
}

static bool list_one(void *arg, const struct job *job)
{
    struct listing *listing = arg;
    struct job_look look;

    if (listing->scanned >= LOOK_SCAN || (int)json_len(listing->list) >= listing->limit) {
        listing->more = true;
        return false;
    }
    listing->scanned++;
    listing->last = job;
    job_look(job, &look);
    if (!fits(listing->filter->namespace_, look.namespace_) ||
        !fits(listing->filter->phase, phase_name(look.phase)) ||
        !fits(listing->filter->state, look.state))
        return true;
    struct json_object *one = json_object_new_object();
    json_object_array_add(listing->list, one);
    set_brief(one, &look);
    return true;
}

struct json_object *look_canaries(const struct engine *engine, struct arena *arena,
                                  const struct look_filter *filter, const char *after, int limit)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct listing listing = {.filter = filter, .list = json_object_new_array(), .limit = limit};

    json_object_object_add(out, "canaries", listing.list);
    struct engine_after place = {.namespace_ = after, .name = ""};
    const char *slash = after ? strchr(after, '/') : NULL;
    if (slash) {
        place.namespace_ = arena_strndup(arena, after, (size_t)(slash - after));
        place.name = slash + 1;
    }
    if (!engine_each(engine, after ? &place : NULL, list_one, &listing))
        return NULL;
    if (listing.more)
        json_set_str(
            out, "continue",
            arena_printf(arena, "%s/%s", job_namespace(listing.last), job_name(listing.last)));
    return out;
}

/* --- the whole process */

static void add_watch(void *arg, const struct kube_resource *resource, const char *namespace_,
                      bool metadata, const struct store *store)
{
    struct json_object *one = json_object_new_object();
    struct watch_look look;

    json_object_array_add(arg, one);
    store_look(store, &look);
    json_set_str(one, "group", resource->group);
    json_set_str(one, "version", resource->version);
    json_set_str(one, "resource", resource->plural);
    json_set_str(one, "namespace", namespace_);
    json_set_bool(one, "metadataOnly", metadata);
    json_set_str(one, "state", look.state);
    json_set_bool(one, "synced", look.synced);
    json_set_int(one, "objects", (int64_t)store_count(store));
    json_set_str(one, "resourceVersion", look.resource_version);
    if (look.heard_ms > 0)
        json_set_int(one, "lagSeconds", (clock_monotonic_ms() - look.heard_ms) / 1000);
    json_set_str(one, "trouble", look.trouble);
}

/* Of one API server: its budgets and the connections to it. */
static void set_server(struct json_object *out, const struct kube_client *client)
{
    static const char *const names[KUBE_PURPOSES] = {[KUBE_READ] = "readsAndWatches",
                                                     [KUBE_WRITE] = "otherWrites",
                                                     [KUBE_MOVE] = "writesOfReleases",
                                                     [KUBE_TELL] = "events",
                                                     [KUBE_APART] = "leases"};
    struct kube_client_look look;

    kube_client_look(client, &look);
    for (int i = KUBE_READ; i < KUBE_PURPOSES; i++) {
        const struct kube_purpose_look *purpose = &look.of[i];
        struct json_object *one = json_sub(out, names[i]);
        json_set_int(one, "underWay", (int64_t)purpose->under_way);
        if (purpose->per_second <= 0)
            continue;
        json_set_int(one, "waiting", purpose->waiting);
        json_set_int(one, "perSecond", (int64_t)purpose->per_second);
        json_set_int(one, "burst", (int64_t)purpose->burst);
        json_set_int(one, "left", (int64_t)purpose->tokens);
    }
    json_set_int(out, "watchesListing", look.listing);
}

static void set_requests(struct json_object *out, const struct engine_context *context)
{
    set_server(out, context->kube);
    if (context->mesh != context->kube)
        set_server(json_sub(out, "serviceMesh"), context->mesh);
    json_set_int(out, "webhooksAndMetrics", (int64_t)http_client_active(context->http));
    json_set_int(out, "unansweredWrites", context->writes);
}

/* bytes: of all of them. */
static void set_kind(struct json_object *out, const char *key, size_t count, size_t bytes)
{
    struct json_object *kind = json_sub(out, key);

    json_set_int(kind, "count", (int64_t)count);
    if (bytes > 0)
        json_set_int(kind, "bytes", (int64_t)bytes);
}

struct watched {
    size_t objects, kept;
};

static void count_objects(void *arg, const struct kube_resource *resource, const char *namespace_,
                          bool metadata, const struct store *store)
{
    (void)resource;
    (void)namespace_;
    (void)metadata;
    struct watched *watched = arg;
    watched->objects += store_count(store);
    watched->kept += store_kept(store);
}

static bool measure_one(void *arg, const struct job *job)
{
    struct job_look look;

    job_look(job, &look);
    *(size_t *)arg = look.bytes;
    return false;
}

/* Where the bytes are not known without walking, only how many there are. */
static void set_kept(struct json_object *out, const struct engine *engine,
                     const struct engine_look *look)
{
    struct watched watched = {0};
    size_t each = 0;

    watchset_each(look->context->watches, count_objects, &watched);
    engine_each(engine, NULL, measure_one, &each);
    set_kind(out, "canaries", look->canaries, look->canaries * each);
    set_kind(out, "watchedObjects", watched.objects, 0);
    set_kind(out, "keptObjects", watched.kept, watched.kept * sizeof(struct seen) + packed_bytes());
    set_kind(out, "dependencies", look->deps, 0);
    json_set_int(json_sub(out, "trees"), "bytes", (int64_t)reply_kept());
    set_kind(out, "plans", plans_count(look->context->plans), plans_bytes(look->context->plans));
}

void look_process(const struct engine *engine, struct json_object *out)
{
    struct engine_look look;

    engine_look(engine, &look);
    json_set_bool(json_sub(out, "leader"), "leads", look.leads);
    json_set_bool(out, "stopping", look.stopping);
    struct json_object *queue = json_sub(out, "queue");
    json_set_int(queue, "running", look.running);
    json_set_int(queue, "maxRunning", look.max_runs);
    json_set_int(queue, "goingOn", look.going_on);
    json_set_int(queue, "waiting", look.waiting);
    struct json_object *releases = json_sub(out, "releases");
    json_set_int(releases, "underWay", look.releases);
    json_set_int(releases, "waiting", look.releases_waiting);
    struct json_object *watches = json_object_new_array();
    json_object_object_add(out, "watches", watches);
    watchset_each(look.context->watches, add_watch, watches);
    set_requests(json_sub(out, "requests"), look.context);
    set_messages(json_sub(out, "messages"), outbox_look(look.context->outbox));
    set_kept(json_sub(json_sub(out, "memory"), "kept"), engine, &look);
}
