#include "engine/snapshot.h"

#include <string.h>

#include "base/clock.h"
#include "engine/apply_plan.h"
#include "engine/cache.h"
#include "engine/deps.h"
#include "engine/fetch_facts.h"
#include "engine/job.h"
#include "engine/outbox.h"
#include "engine/recent.h"
#include "kube/kept_object.h"
#include "net/server/server.h"
#include "shadow/shadow.h"

/* PAGE_MS: a page ends early so as not to block the loop, since a status with a full history takes
 * a while to read. */
enum { MAX_CONDITIONS = 32, MAX_ASKS = 256, PAGE_MS = 20 };

/* --- one Canary, summary */

static const char *waits_for(const struct job_snapshot *snapshot)
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

    if (snapshot->idle && snapshot->peer && snapshot->peer_state != PEER_GONE)
        return "nothing: another controller drives it";
    if (snapshot->idle && snapshot->queued)
        return "its turn: as many releases are under way as may be";
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].state, snapshot->state) == 0)
            return table[i].what;
    return snapshot->wakes_ms >= 0 ? "its next wake-up, or a change of what it depends on"
                                   : "a change of what it depends on";
}

static void set_brief(struct json_object *out, const struct job_snapshot *snapshot)
{
    json_set_str(out, "namespace", snapshot->namespace_);
    json_set_str(out, "name", snapshot->name);
    if (snapshot->phase != PHASE_NONE)
        json_set_str(out, "phase", phase_name(snapshot->phase));
    json_set_str(out, "state", snapshot->state);
    debug_set_time(out, "since", snapshot->since_ms);
    json_set_str(out, "waitsFor", waits_for(snapshot));
    if (snapshot->idle && snapshot->wakes_ms >= 0)
        debug_set_time(out, "nextWakeup", snapshot->wakes_ms);
    if (snapshot->failures > 0)
        json_set_int(out, "failures", snapshot->failures);
    if (snapshot->shadow) {
        struct shadow_snapshot shadow;
        shadow_snapshot(snapshot->shadow, &shadow);
        json_set_int(out, "differences", shadow_differences(snapshot->shadow));
        json_set_str(out, "waits", shadow.waits);
    }
}

/* --- one Canary, details */

/* In shadow mode: the observed state of the active controller's release, and the steps expected
 * next.
 */
static void set_observed(struct json_object *out, struct arena *arena, const struct shadow *shadow)
{
    static const char *const answers[] = {
        [ASSUMED_YES] = "agree", [ASSUMED_NO] = "refuse", [ASSUMED_ROLLBACK] = "want a rollback"};
    struct shadow_snapshot snapshot;

    shadow_snapshot(shadow, &snapshot);
    struct json_object *steps = json_sub(out, "steps"), *list = json_object_new_array();
    for (int i = OBSERVED_NOTHING + 1; i < OBSERVED_KINDS; i++)
        json_set_int(steps, observed_name((enum observed)i), snapshot.counts[i]);
    json_set_str(out, "at", snapshot.at ? position_text(arena, snapshot.at) : NULL);
    json_set_str(out, "waits", snapshot.waits);
    json_set_str(out, "lastDifference", snapshot.difference);
    json_object_object_add(out, "expected", list);
    for (const struct prediction *kept = snapshot.kept; kept; kept = kept->next) {
        const struct foreseen *foreseen = kept->foreseen;
        struct json_object *one = json_object_new_object();
        json_object_array_add(list, one);
        json_set_str(one, "ifWebhooks", answers[foreseen->assumed]);
        json_set_str(one, "to", foreseen->moves ? position_text(arena, &foreseen->to) : NULL);
        json_set_int(one, "afterSeconds", foreseen->after_ms / 1000);
        json_set_str(one, "plans", foreseen->plans);
    }
}

struct asks {
    struct arena *arena;
    struct json_object *list;
};

static void add_ask(void *arg, const struct fetch_item *ask)
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

static void set_run(struct json_object *out, struct arena *arena,
                    const struct job_snapshot *snapshot)
{
    struct asks asks = {.arena = arena, .list = json_object_new_array()};
    struct json_object *run = json_sub(out, "run");

    debug_set_time(run, "began", snapshot->began_ms);
    json_set_int(run, "rounds", snapshot->rounds);
    json_set_int(run, "conflicts", snapshot->conflicts);
    json_object_object_add(run, "underWay", asks.list);
    if (snapshot->fetch)
        fetch_each(snapshot->fetch, add_ask, &asks);
    const struct effect *effect = snapshot->apply ? apply_effect(snapshot->apply) : NULL;
    if (!effect)
        return;
    struct json_object *write = json_sub(run, "write");
    json_set_str(write, "resource",
                 effect->resource ? effect->resource->plural : "canaries/status");
    json_set_str(write, "namespace", effect->namespace_);
    json_set_str(write, "name", effect->name);
    json_set_str(write, "why", effect->why);
}

struct json_object *snapshot_tree(const struct engine *engine, struct arena *arena,
                                  const char *namespace_, const char *name)
{
    const struct cached_object *seen;
    struct json_object *tree = NULL;
    struct engine_snapshot whole;

    engine_snapshot(engine, &whole);
    const struct object_cache *cache = whole.context->cache;
    if (cache_get(cache, &tick_canaries, namespace_, name, &seen) && seen)
        (void)cache_unpack(cache, &tick_canaries, seen, arena, &tree);
    return tree;
}

/* The conditions of its status, with the reason and the beginning of each wait of a release. */
static void set_conditions(struct json_object *out, struct json_object *tree)
{
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
                          const struct job_snapshot *snapshot)
{
    char time[CLOCK_TEXT];
    int64_t at_ms;
    const char *text =
        recent_plans_find(context->recent_plans, snapshot->namespace_, snapshot->name, &at_ms);

    if (!text)
        return;
    struct json_object *plan = json_sub(out, "lastPlan");
    json_set_str(plan, "at", clock_rfc3339(at_ms, time));
    json_set_str(plan, "text", text);
}

static void set_messages(struct json_object *out, struct outbox_counts snapshot)
{
    json_set_int(out, "events", snapshot.events);
    json_set_int(out, "hooks", snapshot.hooks);
    json_set_int(out, "alerts", snapshot.alerts);
}

struct json_object *snapshot_canary(const struct engine *engine, struct arena *arena,
                                    const char *namespace_, const char *name)
{
    struct job_snapshot snapshot;
    struct engine_snapshot whole;
    int place;
    const struct job *job = engine_find(engine, namespace_, name, &place);

    if (!job)
        return NULL;
    job_snapshot(job, &snapshot);
    engine_snapshot(engine, &whole);
    struct json_object *out = json_own(arena, json_object_new_object());
    set_brief(out, &snapshot);
    if (place > 0)
        json_set_int(out, "place", place);
    if (snapshot.queued)
        json_set_int(out, "turn", job_place(job));
    if (snapshot.peer) {
        static const char *const states[] = {
            [PEER_UNKNOWN] = "is looked at", [PEER_LIVES] = "drives it", [PEER_GONE] = "is gone"};
        struct json_object *other = json_sub(out, "otherController");
        json_set_str(other, "lease", snapshot.peer);
        json_set_str(other, "state", states[snapshot.peer_state]);
    }
    if (snapshot.woken_by) {
        struct json_object *woken = json_sub(out, "wokenBy");
        json_set_str(woken, "what", snapshot.woken_by);
        debug_set_time(woken, "at", snapshot.woken_ms);
    }
    json_set_int(out, "runs", (int64_t)snapshot.runs);
    json_set_bool(out, "runsAgain", snapshot.run_again);
    if (snapshot.failed_text) {
        struct json_object *failure = json_sub(out, "lastFailure");
        debug_set_time(failure, "at", snapshot.failed_ms);
        json_set_str(failure, "text", snapshot.failed_text);
    }
    if (snapshot.began_ms > 0)
        set_run(out, arena, &snapshot);
    set_conditions(out, snapshot_tree(engine, arena, namespace_, name));
    if (snapshot.shadow)
        set_observed(json_sub(out, "observed"), arena, snapshot.shadow);
    set_last_plan(out, whole.context, &snapshot);
    set_messages(json_sub(out, "messages"),
                 outbox_counts_of(whole.context->outbox, snapshot.label));
    return out;
}

/* --- a page of Canaries */

struct listing {
    struct arena *arena;
    struct json_object *list;
    const struct job *last; /* last one visited; NULL if none */
    snapshot_show_fn show;
    void *arg;
    int64_t until_ms; /* by the monotonic clock */
    int limit;
    bool more;
};

static bool list_one(void *arg, const struct job *job)
{
    struct listing *listing = arg;

    if ((int)json_len(listing->list) >= listing->limit ||
        (listing->last && clock_monotonic_ms() >= listing->until_ms)) {
        listing->more = true;
        return false;
    }
    listing->last = job;
    struct json_object *one = json_own(listing->arena, json_object_new_object());
    if (listing->show(listing->arg, job, one))
        json_object_array_add(listing->list, json_object_get(one));
    return true;
}

struct json_object *snapshot_page(const struct engine *engine, struct arena *arena,
                                  const char *after, int limit, snapshot_show_fn show, void *arg)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct listing listing = {.arena = arena,
                              .list = json_object_new_array(),
                              .show = show,
                              .arg = arg,
                              .until_ms = clock_monotonic_ms() + PAGE_MS,
                              .limit = limit};
    struct engine_after place = {.namespace_ = after, .name = ""};
    const char *slash = after ? strchr(after, '/') : NULL;

    json_object_object_add(out, "canaries", listing.list);
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

static bool fits(const char *wanted, const char *text)
{
    return !wanted || strcmp(wanted, text) == 0;
}

static bool show_brief(void *arg, const struct job *job, struct json_object *out)
{
    const struct snapshot_filter *filter = arg;
    struct job_snapshot snapshot;

    job_snapshot(job, &snapshot);
    if (!fits(filter->namespace_, snapshot.namespace_) ||
        !fits(filter->phase, phase_name(snapshot.phase)) || !fits(filter->state, snapshot.state))
        return false;
    set_brief(out, &snapshot);
    return true;
}

struct json_object *snapshot_canaries(const struct engine *engine, struct arena *arena,
                                      const struct snapshot_filter *filter, const char *after,
                                      int limit)
{
    struct snapshot_filter wanted = *filter;

    return snapshot_page(engine, arena, after, limit, show_brief, &wanted);
}

/* --- the whole process */

static void add_watch(void *arg, const struct kube_resource *resource, const char *namespace_,
                      bool metadata, const struct store *store)
{
    struct json_object *one = json_object_new_object();
    struct watch_snapshot snapshot;

    json_object_array_add(arg, one);
    store_snapshot(store, &snapshot);
    json_set_str(one, "group", resource->group);
    json_set_str(one, "version", resource->version);
    json_set_str(one, "resource", resource->plural);
    json_set_str(one, "namespace", namespace_);
    json_set_bool(one, "metadataOnly", metadata);
    json_set_str(one, "state", snapshot.state);
    json_set_bool(one, "synced", snapshot.synced);
    json_set_int(one, "objects", (int64_t)store_count(store));
    json_set_str(one, "resourceVersion", snapshot.resource_version);
    if (snapshot.heard_ms > 0)
        json_set_int(one, "lagSeconds", (clock_monotonic_ms() - snapshot.heard_ms) / 1000);
    json_set_str(one, "trouble", snapshot.trouble);
}

/* One API server: its request budgets and connections. */
static void set_server(struct json_object *out, const struct kube_client *client)
{
    static const char *const names[KUBE_PURPOSES] = {[KUBE_READ] = "readsAndWatches",
                                                     [KUBE_WRITE] = "otherWrites",
                                                     [KUBE_RELEASE] = "writesOfReleases",
                                                     [KUBE_NOTIFY] = "events",
                                                     [KUBE_LEASE] = "leases"};
    struct kube_client_snapshot snapshot;

    kube_client_snapshot(client, &snapshot);
    for (int i = KUBE_READ; i < KUBE_PURPOSES; i++) {
        const struct kube_purpose_snapshot *purpose = &snapshot.of[i];
        struct json_object *one = json_sub(out, names[i]);
        json_set_int(one, "underWay", (int64_t)purpose->under_way);
        if (purpose->per_second <= 0)
            continue;
        json_set_int(one, "waiting", purpose->waiting);
        json_set_int(one, "perSecond", (int64_t)purpose->per_second);
        json_set_int(one, "burst", (int64_t)purpose->burst);
        json_set_int(one, "left", (int64_t)purpose->tokens);
    }
    json_set_int(out, "watchesListing", snapshot.listing);
}

static void set_requests(struct json_object *out, const struct engine_context *context)
{
    set_server(out, context->kube);
    if (context->mesh != context->kube)
        set_server(json_sub(out, "serviceMesh"), context->mesh);
    json_set_int(out, "webhooksAndMetrics", (int64_t)http_client_active(context->http));
    json_set_int(out, "unansweredWrites", context->writes);
}

/* bytes: the total. */
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
    struct job_snapshot snapshot;

    job_snapshot(job, &snapshot);
    *(size_t *)arg = snapshot.bytes;
    return false;
}

/* Only counts if the bytes are unknown without a walk. */
static void set_kept(struct json_object *out, const struct engine *engine,
                     const struct engine_snapshot *snapshot)
{
    struct watched watched = {0};
    size_t each = 0;

    cache_each(snapshot->context->cache, count_objects, &watched);
    engine_each(engine, NULL, measure_one, &each);
    set_kind(out, "canaries", snapshot->canaries, snapshot->canaries * each);
    set_kind(out, "watchedObjects", watched.objects, 0);
    set_kind(out, "keptObjects", watched.kept,
             watched.kept * sizeof(struct cached_object) + compressed_object_bytes());
    set_kind(out, "dependencies", snapshot->deps, 0);
    json_set_int(json_sub(out, "trees"), "bytes", (int64_t)reply_kept_bytes());
    set_kind(out, "plans", recent_plans_count(snapshot->context->recent_plans),
             recent_plans_bytes(snapshot->context->recent_plans));
}

void snapshot_process(const struct engine *engine, struct json_object *out)
{
    struct engine_snapshot snapshot;

    engine_snapshot(engine, &snapshot);
    json_set_bool(json_sub(out, "leader"), "leads", snapshot.leads);
    json_set_bool(out, "stopping", snapshot.stopping);
    struct json_object *queue = json_sub(out, "queue");
    json_set_int(queue, "running", snapshot.running);
    json_set_int(queue, "maxRunning", snapshot.max_runs);
    json_set_int(queue, "goingOn", snapshot.going_on);
    json_set_int(queue, "waiting", snapshot.waiting);
    struct json_object *releases = json_sub(out, "releases");
    json_set_int(releases, "underWay", snapshot.releases);
    json_set_int(releases, "waiting", snapshot.releases_waiting);
    struct json_object *watches = json_object_new_array();
    json_object_object_add(out, "watches", watches);
    cache_each(snapshot.context->cache, add_watch, watches);
    set_requests(json_sub(out, "requests"), snapshot.context);
    set_messages(json_sub(out, "messages"), outbox_counts(snapshot.context->outbox));
    set_kept(json_sub(json_sub(out, "memory"), "kept"), engine, &snapshot);
}
