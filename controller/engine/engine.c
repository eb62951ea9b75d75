#include "engine/engine.h"

#include <json-c/linkhash.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/claims.h"
#include "engine/gauges.h"
#include "engine/job.h"
#include "engine/outbox.h"
#include "engine/plans.h"
#include "engine/secrets.h"
#include "engine/watchset.h"

/* A job and its place in the queue of those that want to run. */
struct care {
    struct job *job;
    struct care *next;
    bool queued, running;
};

struct queue {
    struct care *first, **last;
    int count;
};

struct engine {
    struct engine_context context;
    struct job_owner owner;
    struct deps_index *index;
    struct claims *claims;
    struct lh_table *cares; /* "namespace/name" -> struct care; owns the keys */
    struct queue going_on;  /* runs that have waited for others, before */
    struct queue waiting;   /* runs that have not begun */
    struct timer *pump_timer;
    int running, max_runs;
    bool leads;
    bool (*is_leader)(void *arg);
    void *arg;
    /* of engine_stop() */
    void (*stopped)(void *arg, bool quiet);
    void *stopped_arg;
    struct timer *stop_timer;
};

static void free_key(struct lh_entry *entry)
{
    free(lh_entry_k(entry));
}

static bool may_write(void *arg)
{
    const struct engine *engine = arg;
    return engine->leads && !engine->stopped &&
           (!engine->is_leader || engine->is_leader(engine->arg));
}

/* --- the queue */

static struct care *care_of(const struct engine *engine, const char *namespace_, const char *name)
{
    char key[600];
    snprintf(key, sizeof(key), "%s/%s", namespace_, name);
    void *found = NULL;
    return lh_table_lookup_ex(engine->cares, key, &found) ? found : NULL;
}

static void queue_init(struct queue *queue)
{
    *queue = (struct queue){.last = &queue->first};
}

static void queue_add(struct queue *queue, struct care *care)
{
    care->queued = true;
    care->next = NULL;
    *queue->last = care;
    queue->last = &care->next;
    queue->count++;
}

/* False: it does not stand there. */
static bool queue_remove(struct queue *queue, struct care *care)
{
    struct care **link = &queue->first;
    while (*link && *link != care)
        link = &(*link)->next;
    if (!*link)
        return false;
    *link = care->next;
    if (!*link)
        queue->last = link;
    queue->count--;
    care->queued = false;
    return true;
}

static bool anybody_queued(const struct engine *engine)
{
    return engine->going_on.first || engine->waiting.first;
}

static void pump(void *arg)
{
    struct engine *engine = arg;
    engine->pump_timer = NULL;
    /* Nobody runs before all are known: one of them may have to wait for another. */
    while (anybody_queued(engine) && engine->running < engine->max_runs && engine->leads &&
           !engine->stopped && watchset_synced(engine->context.watches, &tick_canaries)) {
        struct queue *queue = engine->going_on.first ? &engine->going_on : &engine->waiting;
        struct care *care = queue->first;
        queue_remove(queue, care);
        care->running = true;
        engine->running++;
        job_run(care->job);
    }
}

/* From the loop, never from within the run or the watch callback that gave cause. */
static void pump_soon(struct engine *engine)
{
    if (!engine->pump_timer)
        engine->pump_timer = timer_start(engine->context.loop, 0, 0, pump, engine);
}

static void on_wants(void *arg, struct job *job, bool goes_on)
{
    struct engine *engine = arg;
    struct care *care = care_of(engine, job_namespace(job), job_name(job));
    if (!care || care->queued)
        return;
    queue_add(goes_on ? &engine->going_on : &engine->waiting, care);
    pump_soon(engine);
}

/* Its run has ended, or waits for others. */
static void on_leaves(void *arg, struct job *job)
{
    struct engine *engine = arg;
    struct care *care = care_of(engine, job_namespace(job), job_name(job));
    if (care)
        care->running = false;
    engine->running--;
    if (anybody_queued(engine))
        pump_soon(engine);
}

/* --- which Canaries there are */

static void take_care(struct engine *engine, const struct digest *digest)
{
    if (care_of(engine, digest->namespace_, digest->name))
        return;
    struct care *care = heap_alloc(sizeof(*care));
    *care = (struct care){.job = job_new(&engine->owner, digest->namespace_, digest->name)};
    lh_table_insert(engine->cares, heap_printf("%s/%s", digest->namespace_, digest->name), care);
    log_info("canary_found", NULL, "looking after a canary", LOG_STR("name", digest->name),
             LOG_STR("namespace", digest->namespace_));
    job_wake(care->job);
}

static void end_care(struct engine *engine, const struct digest *digest)
{
    struct care *care = care_of(engine, digest->namespace_, digest->name);
    if (!care)
        return;
    if (care->queued && !queue_remove(&engine->going_on, care))
        queue_remove(&engine->waiting, care);
    if (care->running)
        engine->running--;
    char *key = heap_printf("%s/%s", digest->namespace_, digest->name);
    lh_table_delete(engine->cares, key);
    free(key);
    log_info("canary_gone", NULL, "the canary was deleted", LOG_STR("name", digest->name),
             LOG_STR("namespace", digest->namespace_));
    job_gone(care->job);
    job_free(care->job);
    free(care);
    if (anybody_queued(engine))
        pump_soon(engine);
}

static bool owner_hears_status(void *job)
{
    return job_hears_status(job);
}

static void owner_wake(void *job)
{
    job_wake(job);
}

static void wake_named(void *arg, const char *namespace_, const char *name)
{
    struct care *care = care_of(arg, namespace_, name);
    if (care)
        job_wake(care->job);
}

/* Who shares something with a Canary that has changed its claims may have to step back, or may
 * begin. */
static void on_claims(struct engine *engine, const struct seen *before, const struct seen *after)
{
    if (before)
        claims_drop(engine->claims, before->claims);
    if (after)
        claims_add(engine->claims, after->claims);
    if (before && after && claim_set_same(before->claims, after->claims))
        return;
    if (before)
        claims_neighbours(engine->claims, before->claims, wake_named, engine);
    if (after)
        claims_neighbours(engine->claims, after->claims, wake_named, engine);
}

static void take_change(struct engine *engine, const struct kube_resource *resource,
                        const struct seen *before, const struct seen *after)
{
    if (!before && !after) {
        deps_index_listed(engine->index, engine->context.watches, resource, owner_wake);
        if (resource == &tick_canaries)
            pump_soon(engine);
        return;
    }
    if (resource == &tick_canaries)
        on_claims(engine, before, after);
    if (resource == &tick_canaries && after && !before)
        take_care(engine, &after->digest);
    deps_index_changed(engine->index, resource, before, after, owner_hears_status, owner_wake);
    if (resource == &tick_canaries && !after)
        end_care(engine, &before->digest);
}

static void on_change(void *arg, const struct kube_resource *resource, const struct seen *before,
                      const struct seen *after)
{
    struct engine *engine = arg;
    engine->owner.changed = resource;
    take_change(engine, resource, before, after);
    engine->owner.changed = NULL;
}

/* --- life */

static void end_stop(void *arg)
{
    struct engine *engine = arg;
    engine->stop_timer = NULL;
    if (engine->context.writes > 0)
        log_warn("stopping_unquiet", NULL, "writes are not answered; they may still be applied",
                 LOG_INT("writes", engine->context.writes));
    engine->stopped(engine->stopped_arg, engine->context.writes == 0);
}

/* From the loop: whoever wrote goes on to use what done may free. */
static void on_wrote(void *arg)
{
    struct engine *engine = arg;
    if (!engine->stop_timer)
        return;
    timer_stop(engine->stop_timer);
    engine->stop_timer = timer_start(engine->context.loop, 0, 0, end_stop, engine);
}

void engine_stop(struct engine *engine, int64_t max_ms, void (*done)(void *arg, bool quiet),
                 void *arg)
{
    engine->stopped = done;
    engine->stopped_arg = arg;
    engine->stop_timer = timer_start(engine->context.loop, engine->context.writes > 0 ? max_ms : 0,
                                     0, end_stop, engine);
}

struct engine *engine_new(const struct engine_options *options)
{
    struct engine *engine = heap_alloc(sizeof(*engine));
    *engine = (struct engine){
        .context = {.loop = options->loop,
                    .kube = options->kube,
                    .http = options->http,
                    .settings = options->settings,
                    .event_webhook = options->event_webhook,
                    .may_write = may_write,
                    .may_write_arg = engine,
                    .wrote = on_wrote},
        .max_runs = options->max_runs,
        .leads = !options->is_leader,
        .is_leader = options->is_leader,
        .arg = options->arg,
    };
    queue_init(&engine->going_on);
    queue_init(&engine->waiting);
    engine->index = deps_index_new();
    engine->claims = claims_new();
    engine->cares = lh_kchar_table_new(64, free_key);
    engine->owner = (struct job_owner){.context = &engine->context,
                                       .index = engine->index,
                                       .claims = engine->claims,
                                       .retry_ceiling_ms = options->retry_ceiling_ms,
                                       .wants = on_wants,
                                       .waits = on_leaves,
                                       .ended = on_leaves,
                                       .arg = engine};
    engine->context.events = event_recorder_new(options->loop, options->kube, "flagger");
    engine->context.outbox = outbox_new(&engine->context);
    engine->context.secrets = secrets_new(&engine->context);
    engine->context.plans = plans_new();
    engine->context.watches =
        watchset_new(options->loop, options->kube, options->namespace_, on_change, engine);
    watchset_add(engine->context.watches, &tick_canaries);
    gauges_info(FLAGGER_VERSION, options->settings->mesh_provider);
    return engine;
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    timer_stop(engine->pump_timer);
    timer_stop(engine->stop_timer);
    engine->stop_timer = NULL;
    watchset_free(engine->context.watches);
    struct lh_entry *entry;
    lh_foreach(engine->cares, entry)
    {
        struct care *care = (struct care *)lh_entry_v(entry);
        job_free(care->job);
        free(care);
    }
    lh_table_free(engine->cares);
    deps_index_free(engine->index);
    claims_free(engine->claims);
    outbox_free(engine->context.outbox);
    secrets_free(engine->context.secrets);
    plans_free(engine->context.plans);
    event_recorder_free(engine->context.events);
    free(engine);
}

void engine_lead(struct engine *engine, bool leads)
{
    if (engine->leads == leads)
        return;
    engine->leads = leads;
    log_info(leads ? "leading" : "standing_by", NULL,
             leads ? "this replica leads now" : "this replica writes nothing until it leads again");
    if (!leads)
        return;
    struct lh_entry *entry;
    lh_foreach(engine->cares, entry) job_wake(((struct care *)lh_entry_v(entry))->job);
    pump_soon(engine);
}

bool engine_ready(const struct engine *engine)
{
    return watchset_synced(engine->context.watches, &tick_canaries);
}

/* --- looking */

void engine_look(const struct engine *engine, struct engine_look *out)
{
    *out = (struct engine_look){
        .context = &engine->context,
        .canaries = (size_t)lh_table_length(engine->cares),
        .running = engine->running,
        .max_runs = engine->max_runs,
        .going_on = engine->going_on.count,
        .waiting = engine->waiting.count,
        .leads = engine->leads && (!engine->is_leader || engine->is_leader(engine->arg)),
        .stopping = engine->stopped != NULL,
    };
    deps_index_count(engine->index, &out->deps, &out->trees);
}

/* One pass over the queue, for one Canary only. */
static int place_of(const struct engine *engine, const struct care *care)
{
    int place = 1;

    if (!care->queued)
        return 0;
    for (const struct care *at = engine->going_on.first; at; at = at->next, place++)
        if (at == care)
            return place;
    for (const struct care *at = engine->waiting.first; at && at != care; at = at->next)
        place++;
    return place;
}

const struct job *engine_find(const struct engine *engine, const char *namespace_, const char *name,
                              int *place)
{
    const struct care *care = care_of(engine, namespace_, name);

    if (!care)
        return NULL;
    *place = place_of(engine, care);
    return care->job;
}

bool engine_each(const struct engine *engine, const char *after,
                 bool (*fn)(void *arg, const char *key, const struct job *job), void *arg)
{
    const struct lh_entry *entry = lh_table_head(engine->cares);

    if (after) {
        entry = lh_table_lookup_entry(engine->cares, after);
        if (!entry)
            return false;
        entry = lh_entry_next(entry);
    }
    for (; entry; entry = lh_entry_next(entry))
        if (!fn(arg, lh_entry_k(entry), ((const struct care *)lh_entry_v(entry))->job))
            break;
    return true;
}
