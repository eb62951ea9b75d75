#include "engine/engine.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/table.h"
#include "engine/alerts.h"
#include "engine/claims.h"
#include "engine/gauges.h"
#include "engine/job.h"
#include "engine/metrics/metric_share.h"
#include "engine/outbox.h"
#include "engine/plans.h"
#include "engine/secrets.h"
#include "engine/told.h"
#include "engine/turns.h"
#include "engine/watchset.h"
#include "metric/template.h"

enum { PUMP_MS = 10, LIST_PATIENCE_MS = 10000, TEMPLATES_MAX = 16 * 1024 * 1024 };

/* A Canary: its job, and that job's place in the queue of those that want to run. */
struct entry {
    TAILQ_ENTRY(entry) link; /* of all, in the order in which they were found */
    struct job *job;
    struct entry *next; /* in the queue */
    bool queued, running;
    bool behind; /* it runs, and no release of it was under way when it began to */
    bool has_run;
    bool rests; /* no release of it is under way */
};

struct queue {
    struct entry *first, **last;
    int count;
};

/* Whoever stands in an earlier one comes first. */
enum queues {
    QUEUE_GOING_ON, /* runs that have waited for others, before */
    QUEUE_STEPPING, /* releases under way: a burst of changes of others does not hold them up */
    QUEUE_WAITING,  /* other runs */
    QUEUE_ADOPTED,  /* the first runs of Canaries at rest */
    QUEUES
};

struct engine {
    struct engine_context context;
    struct job_owner owner;
    struct deps_index *index;
    struct claims *claims;
    struct table entries; /* by namespace and name */
    TAILQ_HEAD(, entry) found;
    struct queue queues[QUEUES];
    struct timer *pump_timer;
    int running, behind, max_runs; /* behind: so many of those that run */
    unsigned int picked;           /* of the queues */
    bool leads;
    bool (*is_leader)(void *arg);
    void *arg;
    /* of engine_stop() */
    void (*stopped)(void *arg, bool quiet);
    void *stopped_arg;
    struct timer *stop_timer;
};

static void entry_key(const void *item, const char **namespace_, const char **name)
{
    const struct entry *entry = item;

    *namespace_ = job_namespace(entry->job);
    *name = job_name(entry->job);
}

static bool may_write(void *arg)
{
    const struct engine *engine = arg;
    return engine->leads && !engine->stopped &&
           (!engine->is_leader || engine->is_leader(engine->arg));
}

/* --- the queue */

static struct entry *entry_of(const struct engine *engine, const char *namespace_, const char *name)
{
    return table_get(&engine->entries, namespace_, name);
}

static void queue_init(struct queue *queue)
{
    *queue = (struct queue){.last = &queue->first};
}

static void queue_add(struct queue *queue, struct entry *entry)
{
    entry->queued = true;
    entry->next = NULL;
    *queue->last = entry;
    queue->last = &entry->next;
    queue->count++;
}

/* False: it does not stand there. */
static bool queue_remove(struct queue *queue, struct entry *entry)
{
    struct entry **link = &queue->first;
    while (*link && *link != entry)
        link = &(*link)->next;
    if (!*link)
        return false;
    *link = entry->next;
    if (!*link)
        queue->last = link;
    queue->count--;
    entry->queued = false;
    return true;
}

static bool anybody_queued(const struct engine *engine)
{
    for (int i = 0; i < QUEUES; i++)
        if (engine->queues[i].first)
            return true;
    return false;
}

/*
 * Whether the first of it may run now. A quarter of the places is for releases under way: those
 * that come later must not take all of them and then wait for a slow server. A Canary at rest that
 * this process has not looked at yet waits until what others asked for has been listed: then it
 * finds everything there.
 */
static bool may_go(const struct engine *engine, enum queues i)
{
    if (!engine->queues[i].first)
        return false;
    if (i >= QUEUE_WAITING && engine->behind >= engine->max_runs - engine->max_runs / 4)
        return false;
    return i != QUEUE_ADOPTED || !watchset_listing(engine->context.watches);
}

/* Whose turn it is; NULL: nobody's. One of eight is of those behind: releases that are more than
 * can be served in time do not keep them waiting for ever. */
static struct queue *next_queue(struct engine *engine)
{
    enum { ONE_IN = 8 };

    if (++engine->picked % ONE_IN == 0 && may_go(engine, QUEUE_WAITING))
        return &engine->queues[QUEUE_WAITING];
    for (enum queues i = 0; i < QUEUES; i++)
        if (may_go(engine, i))
            return &engine->queues[i];
    return NULL;
}

/* Nobody runs before all are known: one of them may have to wait for another. */
static bool may_run(const struct engine *engine)
{
    return engine->running < engine->max_runs && engine->leads && !engine->stopped &&
           watchset_synced(engine->context.watches, &tick_canaries);
}

static void pump_soon(struct engine *engine);

static void set_running(struct engine *engine, struct entry *entry, bool running, bool behind)
{
    engine->running += (int)running - (int)entry->running;
    engine->behind += (int)behind - (int)entry->behind;
    entry->running = running;
    entry->behind = behind;
}

/* A run that finds all that it needs in memory ends at once: many of them must not hold up what
 * else the loop has to do. */
static void pump(void *arg)
{
    struct engine *engine = arg;
    int64_t until = clock_monotonic_ms() + PUMP_MS;
    struct queue *queue;

    engine->pump_timer = NULL;
    while (may_run(engine) && (queue = next_queue(engine))) {
        if (clock_monotonic_ms() > until) {
            pump_soon(engine);
            return;
        }
        struct entry *entry = queue->first;
        queue_remove(queue, entry);
        if (queue == &engine->queues[QUEUE_ADOPTED] && !queue->first)
            malloc_trim(0); /* the last one: little of what the others needed is needed again */
        entry->has_run = true;
        set_running(engine, entry, true, queue >= &engine->queues[QUEUE_WAITING]);
        job_run(entry->job);
    }
}

/* From the loop, never from within the run or the watch callback that gave cause. */
static void pump_soon(struct engine *engine)
{
    if (!engine->pump_timer)
        engine->pump_timer = timer_start(engine->context.loop, 0, 0, pump, engine);
}

static enum queues queue_for(const struct entry *entry, bool goes_on)
{
    if (goes_on)
        return QUEUE_GOING_ON;
    if (job_releases(entry->job))
        return QUEUE_STEPPING;
    return entry->rests && !entry->has_run ? QUEUE_ADOPTED : QUEUE_WAITING;
}

static void on_wants(void *arg, struct job *job, bool goes_on)
{
    struct engine *engine = arg;
    struct entry *entry = entry_of(engine, job_namespace(job), job_name(job));
    if (!entry || entry->queued)
        return;
    queue_add(&engine->queues[queue_for(entry, goes_on)], entry);
    pump_soon(engine);
}

/* Its run has ended, or waits for others. */
static void on_leaves(void *arg, struct job *job)
{
    struct engine *engine = arg;
    struct entry *entry = entry_of(engine, job_namespace(job), job_name(job));
    if (entry)
        set_running(engine, entry, false, false);
    if (anybody_queued(engine))
        pump_soon(engine);
}

/* --- which Canaries there are */

static void add_canary(struct engine *engine, const struct seen *seen)
{
    const struct digest *digest = &seen->digest;
    struct entry *entry = entry_of(engine, digest->namespace_, digest->name);
    if (entry)
        return;
    entry = heap_alloc(sizeof(*entry));
    *entry = (struct entry){.job = job_new(&engine->owner, digest->namespace_, digest->name),
                            .rests = seen->rests};
    (void)table_put(&engine->entries, entry);
    job_note_release(entry->job, seen->releases);
    TAILQ_INSERT_TAIL(&engine->found, entry, link);
    log_info("canary_found", NULL, "looking after a canary", LOG_STR("name", digest->name),
             LOG_STR("namespace", digest->namespace_));
    job_wake(entry->job);
}

/* What a replica that stands by knows of releases, it knows by the watch alone. */
static void note_release(struct engine *engine, const struct seen *seen)
{
    struct entry *entry = entry_of(engine, seen->digest.namespace_, seen->digest.name);
    if (entry)
        job_note_release(entry->job, seen->releases);
}

static void remove_canary(struct engine *engine, const struct digest *digest)
{
    struct entry *entry = entry_of(engine, digest->namespace_, digest->name);
    if (!entry)
        return;
    for (int i = 0; entry->queued && i < QUEUES; i++)
        queue_remove(&engine->queues[i], entry);
    set_running(engine, entry, false, false);
    (void)table_take(&engine->entries, digest->namespace_, digest->name);
    TAILQ_REMOVE(&engine->found, entry, link);
    log_info("canary_gone", NULL, "the canary was deleted", LOG_STR("name", digest->name),
             LOG_STR("namespace", digest->namespace_));
    job_gone(entry->job);
    job_free(entry->job);
    free(entry);
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
    struct entry *entry = entry_of(arg, namespace_, name);
    if (entry)
        job_wake(entry->job);
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
        add_canary(engine, after);
    if (resource == &tick_canaries && after && before)
        note_release(engine, after);
    deps_index_changed(engine->index, resource, before, after, owner_hears_status, owner_wake);
    if (resource == &tick_canaries && !after)
        remove_canary(engine, &before->digest);
}

static void on_change(void *arg, const struct kube_resource *resource, const struct seen *before,
                      const struct seen *after)
{
    struct engine *engine = arg;
    engine->owner.changed = resource;
    take_change(engine, resource, before, after);
    engine->owner.changed = NULL;
}

static bool is_wanted(void *arg, const struct kube_resource *resource, const char *namespace_,
                      const char *name)
{
    const struct engine *engine = arg;
    return deps_index_has(engine->index, resource, namespace_, name) ||
           (kube_resource_same(resource, &kube_secrets) &&
            secrets_keep(engine->context.secrets, namespace_, name));
}

/* Who is driven by it may have to be taken over. */
static void on_other(void *arg, const struct other *other, bool changed)
{
    struct engine *engine = arg;
    struct entry *entry;

    engine->owner.changed = &kube_leases;
    TAILQ_FOREACH(entry, &engine->found, link) job_note_other(entry->job, other, changed);
    engine->owner.changed = NULL;
}

/* The texts of a list were large: what they have left of the heap goes back to the system. */
static void on_settled(void *arg)
{
    malloc_trim(0);
    pump_soon(arg);
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

/* What the parts of the engine share, without what is made of it. */
static struct engine_context context_of(struct engine *engine, const struct engine_options *options)
{
    return (struct engine_context){
        .loop = options->loop,
        .kube = options->kube,
        .mesh = options->scope.mesh ? options->scope.mesh : options->kube,
        .http = options->http,
        .settings = options->settings,
        .event_webhook = options->event_webhook,
        .may_write = may_write,
        .may_write_arg = engine,
        .wrote = on_wrote,
        .other_look_ms = options->other_look_ms,
        .other_patience_ms = options->other_patience_ms,
        .list_patience_ms =
            options->list_patience_ms > 0 ? options->list_patience_ms : LIST_PATIENCE_MS};
}

static struct job_owner owner_of(struct engine *engine, const struct engine_options *options)
{
    return (struct job_owner){
        .context = &engine->context,
        .index = engine->index,
        .claims = engine->claims,
        .others = others_new(&engine->context, on_other, engine),
        .turns = turns_new(options->max_releases, options->max_releases_per_namespace, job_called),
        .retry_ceiling_ms = options->retry_ceiling_ms,
        .observes = options->observe,
        .wants = on_wants,
        .waits = on_leaves,
        .ended = on_leaves,
        .arg = engine};
}

struct engine *engine_new(const struct engine_options *options)
{
    struct engine *engine = heap_alloc(sizeof(*engine));
    *engine = (struct engine){
        .context = context_of(engine, options),
        .max_runs = options->max_runs,
        .leads = !options->is_leader,
        .is_leader = options->is_leader,
        .arg = options->arg,
    };
    for (int i = 0; i < QUEUES; i++)
        queue_init(&engine->queues[i]);
    engine->index = deps_index_new();
    engine->claims = claims_new();
    table_init(&engine->entries, entry_key);
    TAILQ_INIT(&engine->found);
    engine->owner = owner_of(engine, options);
    if (!options->observe)
        engine->context.events = event_recorder_new(options->loop, options->kube, "flagger");
    engine->context.outbox = outbox_new(&engine->context);
    engine->context.alerts = alerts_new(&engine->context, wake_named, engine);
    engine->context.secrets = secrets_new(&engine->context);
    engine->context.metrics =
        metric_share_new(&(struct metric_ways){.loop = options->loop,
                                               .http = engine->context.http,
                                               .own_address = options->settings->metrics_server,
                                               .kube = options->kube,
                                               .may_write = may_write,
                                               .may_write_arg = engine});
    engine->context.plans = plans_new();
    engine->context.templates = template_kept_new(TEMPLATES_MAX);
    engine->context.told = told_new();
    engine->context.watches = watchset_new(
        options->loop, options->kube, &options->scope,
        &(struct watchset_owner){
            .changed = on_change, .wanted = is_wanted, .settled = on_settled, .arg = engine});
    watchset_add(engine->context.watches, &tick_canaries);
    gauges_releases(0, 0);
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
    turns_free(engine->owner.turns);
    engine->owner.turns = NULL;
    struct entry *entry;
    while ((entry = TAILQ_FIRST(&engine->found))) {
        TAILQ_REMOVE(&engine->found, entry, link);
        job_free(entry->job);
        free(entry);
    }
    table_fini(&engine->entries);
    others_free(engine->owner.others);
    deps_index_free(engine->index);
    claims_free(engine->claims);
    outbox_free(engine->context.outbox);
    alerts_free(engine->context.alerts);
    secrets_free(engine->context.secrets);
    metric_share_free(engine->context.metrics);
    plans_free(engine->context.plans);
    template_kept_free(engine->context.templates);
    told_free(engine->context.told);
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
    struct entry *entry;
    TAILQ_FOREACH(entry, &engine->found, link) job_wake(entry->job);
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
        .canaries = engine->entries.count,
        .running = engine->running,
        .max_runs = engine->max_runs,
        .going_on = engine->queues[QUEUE_GOING_ON].count,
        .waiting = engine->queues[QUEUE_STEPPING].count + engine->queues[QUEUE_WAITING].count +
                   engine->queues[QUEUE_ADOPTED].count,
        .deps = deps_index_count(engine->index),
        .leads = engine->leads && (!engine->is_leader || engine->is_leader(engine->arg)),
        .stopping = engine->stopped != NULL,
        .releases = turns_under_way(engine->owner.turns),
        .releases_waiting = turns_waiting(engine->owner.turns),
    };
}

/* One pass over the queue, for one Canary only. */
static int place_of(const struct engine *engine, const struct entry *entry)
{
    int place = 1;

    if (!entry->queued)
        return 0;
    for (int i = 0; i < QUEUES; i++)
        for (const struct entry *at = engine->queues[i].first; at; at = at->next, place++)
            if (at == entry)
                return place;
    return 0;
}

const struct job *engine_find(const struct engine *engine, const char *namespace_, const char *name,
                              int *place)
{
    const struct entry *entry = entry_of(engine, namespace_, name);

    if (!entry)
        return NULL;
    *place = place_of(engine, entry);
    return entry->job;
}

bool engine_each(const struct engine *engine, const struct engine_after *after,
                 bool (*fn)(void *arg, const struct job *job), void *arg)
{
    const struct entry *entry = TAILQ_FIRST(&engine->found);

    if (after) {
        entry = entry_of(engine, after->namespace_, after->name);
        if (!entry)
            return false;
        entry = TAILQ_NEXT(entry, link);
    }
    while (entry && fn(arg, entry->job))
        entry = TAILQ_NEXT(entry, link);
    return true;
}
