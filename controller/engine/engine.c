#include "engine/engine.h"

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/shares.h"
#include "base/table.h"
#include "engine/alert_deliveries.h"
#include "engine/cache.h"
#include "engine/claims.h"
#include "engine/controller_metrics.h"
#include "engine/job.h"
#include "engine/metrics/metric_share.h"
#include "engine/outbox.h"
#include "engine/recent.h"
#include "engine/traces.h"
#include "metric/template.h"

enum { LIST_PATIENCE_MS = 10000, REPORT_MS = 5000, TEMPLATES_MAX = 16 * 1024 * 1024 };

/* A Canary: its job, and the job's entry in the queue of runs. */
struct entry {
    TAILQ_ENTRY(entry) link; /* all entries, in order of discovery */
    struct job *job;
    struct space *space;
    struct fair_item queued;
    bool running;
    bool running_idle; /* running, and no release of it was under way at the start of the run */
    bool has_run;
    bool rests; /* no release of it is under way */
};

/* Queues in order of priority. */
enum queues {
    QUEUE_GOING_ON, /* runs that continue after webhooks or metrics have answered */
    QUEUE_STEPPING, /* releases under way: bursts of changes elsewhere do not delay them */
    QUEUE_WAITING,  /* other runs */
    QUEUE_ADOPTED,  /* first runs of idle Canaries */
    QUEUES
};

/* A namespace that has Canaries. */
struct space {
    char *name;
    int canaries;
    struct fair_lane lanes[QUEUES];
};

struct engine {
    struct engine_context context;
    struct job_owner owner;
    struct deps_index *index;
    struct claims *claims;
    struct table entries; /* by namespace and name */
    TAILQ_HEAD(, entry) found;
    struct table spaces; /* by name */
    struct fair_queue queues[QUEUES];
    struct timer *pump_timer;
    int running, running_idle, max_runs; /* running_idle: running, without a release under way */
    unsigned int picked;                 /* counts calls of next_queue() */
    bool leads;
    bool (*is_leader)(void *arg);
    void *arg;
    /* set by engine_stop() */
    void (*stopped)(void *arg, bool quiet);
    void *stopped_arg;
    struct timer *stop_timer;
    int64_t report_ms; /* time left for sending the final events */
};

static void entry_key(const void *item, const char **namespace_, const char **name)
{
    const struct entry *entry = item;

    *namespace_ = job_namespace(entry->job);
    *name = job_name(entry->job);
}

static bool may_report(void *arg)
{
    const struct engine *engine = arg;
    return engine->leads && (!engine->is_leader || engine->is_leader(engine->arg));
}

static bool may_write(void *arg)
{
    const struct engine *engine = arg;
    return !engine->stopped && may_report(arg);
}

/* --- the queue */

static struct entry *entry_of(const struct engine *engine, const char *namespace_, const char *name)
{
    return table_get(&engine->entries, namespace_, name);
}

static void space_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct space *)item)->name;
    *second = NULL;
}

/* Registers one more Canary of the namespace. */
static struct space *enter_space(struct engine *engine, const char *name)
{
    struct space *space = table_get(&engine->spaces, name, NULL);

    if (!space) {
        space = heap_alloc(sizeof(*space));
        *space = (struct space){.name = heap_strdup(name)};
        for (int i = 0; i < QUEUES; i++)
            fair_lane_init(&space->lanes[i], &engine->queues[i]);
        (void)table_put(&engine->spaces, space);
    }
    space->canaries++;
    return space;
}

/* Unregisters a Canary; it must not be queued. */
static void leave_space(struct engine *engine, struct space *space)
{
    if (--space->canaries > 0)
        return;
    (void)table_take(&engine->spaces, space->name, NULL);
    free(space->name);
    free(space);
}

static bool any_queued(const struct engine *engine)
{
    for (int i = 0; i < QUEUES; i++)
        if (engine->queues[i].count > 0)
            return true;
    return false;
}

/*
 * True if the first entry of the queue may run now. A quarter of the slots is reserved for releases
 * under way: later runs must not take all slots and then wait for a slow server. An idle Canary
 * that this process has not run yet waits until the resources that other Canaries need have been
 * listed, so that it finds everything in memory.
 */
static bool may_go(const struct engine *engine, enum queues i)
{
    if (engine->queues[i].count == 0)
        return false;
    if (i >= QUEUE_WAITING && engine->running_idle >= engine->max_runs - engine->max_runs / 4)
        return false;
    return i != QUEUE_ADOPTED || !cache_listing(engine->context.cache);
}

/*
 * The queue to serve next; NULL if none. Every eighth run comes from the idle queue: releases that
 * exceed the capacity do not starve it.
 */
static struct fair_queue *next_queue(struct engine *engine)
{
    enum { ONE_IN = 8 };

    if (++engine->picked % ONE_IN == 0 && may_go(engine, QUEUE_WAITING))
        return &engine->queues[QUEUE_WAITING];
    for (enum queues i = 0; i < QUEUES; i++)
        if (may_go(engine, i))
            return &engine->queues[i];
    return NULL;
}

/* Nothing runs before all Canaries are known: one of them may have to wait for another. */
static bool may_run(const struct engine *engine)
{
    return engine->running < engine->max_runs && engine->leads && !engine->stopped &&
           cache_synced(engine->context.cache, &tick_canaries);
}

static void pump_soon(struct engine *engine);

static struct entry *entry_queued(struct fair_item *item)
{
    return (struct entry *)((char *)item - offsetof(struct entry, queued));
}

static void set_running(struct engine *engine, struct entry *entry, bool running, bool running_idle)
{
    engine->running += (int)running - (int)entry->running;
    engine->running_idle += (int)running_idle - (int)entry->running_idle;
    entry->running = running;
    entry->running_idle = running_idle;
}

/* A run that finds everything in memory ends immediately: a series of them must not block the
 * loop. */
static void pump(void *arg)
{
    struct engine *engine = arg;
    struct fair_queue *queue;

    engine->pump_timer = NULL;
    while (may_run(engine) && (queue = next_queue(engine))) {
        struct entry *entry = entry_queued(fair_take(queue));
        if (queue == &engine->queues[QUEUE_ADOPTED] && queue->count == 0)
            malloc_trim(
                0); /* the last one: most of what these runs allocated is not needed again */
        entry->has_run = true;
        set_running(engine, entry, true, queue >= &engine->queues[QUEUE_WAITING]);
        job_run(entry->job);
        if (!loop_has_time(engine->context.loop)) {
            pump_soon(engine);
            return;
        }
    }
}

/* Runs from the loop, never from within the run or watch callback that caused it. */
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
    if (!entry || entry->queued.lane)
        return;
    fair_add(&entry->space->lanes[queue_for(entry, goes_on)], &entry->queued);
    pump_soon(engine);
}

/* The run has ended, or waits for answers. */
static void on_leaves(void *arg, struct job *job)
{
    struct engine *engine = arg;
    struct entry *entry = entry_of(engine, job_namespace(job), job_name(job));
    if (entry)
        set_running(engine, entry, false, false);
    if (any_queued(engine))
        pump_soon(engine);
}

/* --- Canaries */

static void add_canary(struct engine *engine, const struct cached_object *seen)
{
    const struct digest *digest = &seen->digest;
    struct entry *entry = entry_of(engine, digest->namespace_, digest->name);
    if (entry)
        return;
    entry = heap_alloc(sizeof(*entry));
    *entry = (struct entry){.job = job_new(&engine->owner, digest->namespace_, digest->name),
                            .space = enter_space(engine, digest->namespace_),
                            .rests = seen->rests};
    (void)table_put(&engine->entries, entry);
    job_note_release(entry->job, seen->releases);
    TAILQ_INSERT_TAIL(&engine->found, entry, link);
    log_info("canary_found", NULL, "looking after a canary", LOG_STR("name", digest->name),
             LOG_STR("namespace", digest->namespace_));
    job_wake(entry->job);
}

/* A standby replica knows of releases from the watch alone. */
static void note_release(struct engine *engine, const struct cached_object *seen)
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
    fair_remove(&entry->queued);
    set_running(engine, entry, false, false);
    (void)table_take(&engine->entries, digest->namespace_, digest->name);
    TAILQ_REMOVE(&engine->found, entry, link);
    log_info("canary_gone", NULL, "the canary was deleted", LOG_STR("name", digest->name),
             LOG_STR("namespace", digest->namespace_));
    job_gone(entry->job);
    job_free(entry->job);
    leave_space(engine, entry->space);
    free(entry);
    if (any_queued(engine))
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

/* When a Canary changes its claims, other Canaries with the same claims may have to step back, or
 * may begin. */
static void on_claims(struct engine *engine, const struct cached_object *before,
                      const struct cached_object *after)
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
                        const struct cached_object *before, const struct cached_object *after)
{
    if (!before && !after) {
        deps_index_listed(engine->index, engine->context.cache, resource, owner_wake);
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

static void on_change(void *arg, const struct kube_resource *resource,
                      const struct cached_object *before, const struct cached_object *after)
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

/* This controller may have to begin driving the Canaries of that one. */
static void on_other(void *arg, const struct peer *peer, bool changed)
{
    struct engine *engine = arg;
    struct entry *entry;

    engine->owner.changed = &kube_leases;
    TAILQ_FOREACH(entry, &engine->found, link) job_note_peer(entry->job, peer, changed);
    engine->owner.changed = NULL;
}

/* The texts of a list were large: returns the freed heap to the system. */
static void on_settled(void *arg)
{
    malloc_trim(0);
    pump_soon(arg);
}

/* --- start and stop */

static void on_told(void *arg)
{
    struct engine *engine = arg;
    engine->stopped(engine->stopped_arg, engine->context.writes == 0);
}

/* The next leader reports only its own writes: reports ours before it leads. */
static void end_stop(void *arg)
{
    struct engine *engine = arg;
    engine->stop_timer = NULL;
    if (engine->context.writes > 0)
        log_warn("stopping_unquiet", NULL, "writes are not answered; they may still be applied",
                 LOG_INT("writes", engine->context.writes));
    if (engine->context.events)
        event_flush(engine->context.events, engine->report_ms, on_told, engine);
    else
        on_told(engine);
}

/* Runs from the loop: the caller still uses memory that the callback may free. */
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
    engine->report_ms = max_ms < REPORT_MS ? max_ms : REPORT_MS;
    engine->stop_timer = timer_start(engine->context.loop, engine->context.writes > 0 ? max_ms : 0,
                                     0, end_stop, engine);
}

/* The context without the parts that are created later. */
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
        .may_report = may_report,
        .wrote = on_wrote,
        .peer_probe_ms = options->peer_probe_ms,
        .peer_patience_ms = options->peer_patience_ms,
        .list_patience_ms =
            options->list_patience_ms > 0 ? options->list_patience_ms : LIST_PATIENCE_MS};
}

static struct job_owner owner_of(struct engine *engine, const struct engine_options *options)
{
    return (struct job_owner){.context = &engine->context,
                              .index = engine->index,
                              .claims = engine->claims,
                              .peers = peers_new(&engine->context, on_other, engine),
                              .slots = release_slots_new(options->max_releases,
                                                         options->max_releases_per_namespace,
                                                         job_called),
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
        fair_init(&engine->queues[i]);
    table_init(&engine->spaces, space_key);
    engine->index = deps_index_new();
    engine->claims = claims_new();
    table_init(&engine->entries, entry_key);
    TAILQ_INIT(&engine->found);
    engine->owner = owner_of(engine, options);
    if (!options->observe)
        engine->context.events = event_recorder_new(options->loop, options->kube, "flagger");
    engine->context.outbox = outbox_new(&engine->context);
    engine->context.alerts = alert_deliveries_new(&engine->context, wake_named, engine);
    engine->context.secrets = secrets_new(&engine->context);
    engine->context.metrics =
        metric_share_new(&(struct metric_ways){.loop = options->loop,
                                               .http = engine->context.http,
                                               .own_address = options->settings->metrics_server,
                                               .kube = options->kube,
                                               .may_write = may_write,
                                               .may_write_arg = engine});
    if (options->otlp_endpoint && !options->observe)
        engine->context.traces =
            traces_new(&(struct traces_options){.loop = options->loop,
                                                .http = options->http,
                                                .endpoint = options->otlp_endpoint,
                                                .headers = options->otlp_headers,
                                                .cluster = options->settings->cluster_name});
    engine->context.recent_plans = recent_plans_new();
    engine->context.templates = template_kept_new(TEMPLATES_MAX);
    engine->context.recent_events = recent_events_new();
    engine->context.cache = cache_new(
        options->loop, options->kube, &options->scope,
        &(struct cache_owner){
            .changed = on_change, .wanted = is_wanted, .settled = on_settled, .arg = engine});
    cache_add(engine->context.cache, &tick_canaries);
    controller_metrics_releases(0, 0);
    controller_metrics_info(FLAGGER_VERSION, options->settings->mesh_provider);
    return engine;
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    timer_stop(engine->pump_timer);
    timer_stop(engine->stop_timer);
    engine->stop_timer = NULL;
    cache_free(engine->context.cache);
    release_slots_free(engine->owner.slots);
    engine->owner.slots = NULL;
    struct entry *entry;
    while ((entry = TAILQ_FIRST(&engine->found))) {
        TAILQ_REMOVE(&engine->found, entry, link);
        job_free(entry->job);
        fair_remove(&entry->queued);
        leave_space(engine, entry->space);
        free(entry);
    }
    table_fini(&engine->spaces);
    table_fini(&engine->entries);
    peers_free(engine->owner.peers);
    deps_index_free(engine->index);
    claims_free(engine->claims);
    outbox_free(engine->context.outbox);
    alert_deliveries_free(engine->context.alerts);
    secrets_free(engine->context.secrets);
    metric_share_free(engine->context.metrics);
    traces_free(engine->context.traces);
    recent_plans_free(engine->context.recent_plans);
    template_kept_free(engine->context.templates);
    recent_events_free(engine->context.recent_events);
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
    return cache_synced(engine->context.cache, &tick_canaries);
}

/* --- snapshots */

void engine_snapshot(const struct engine *engine, struct engine_snapshot *out)
{
    *out = (struct engine_snapshot){
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
        .releases = release_slots_under_way(engine->owner.slots),
        .releases_waiting = release_slots_waiting(engine->owner.slots),
    };
}

/* Walks the queue once; only for snapshots of a single Canary. */
static int place_of(const struct engine *engine, const struct entry *entry)
{
    int place = 1;

    if (!entry->queued.lane)
        return 0;
    for (int i = 0; entry->queued.lane != &entry->space->lanes[i]; i++)
        place += engine->queues[i].count;
    return place + fair_before(&entry->queued);
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
