#include "fleet/daemon/members.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/table.h"
#include "fleet/daemon/app.h"
#include "fleet/daemon/wave.h"
#include "fleet/rules/fleet.h"
#include "kube/rate_limit.h"

enum { PUMP_MS = 10, CHECK_MS = 1000 };

/* An Application and its place in the queue. */
struct entry {
    TAILQ_ENTRY(entry) woken_link;
    struct app *app;
    bool woken;
};

/* A plan and its place in the queue. */
struct plan_entry {
    TAILQ_ENTRY(plan_entry) woken_link;
    struct wave *wave;
    bool woken;
};

struct members {
    struct fleet_daemon fleet; /* must be first: fleet_daemon_*() get a pointer to it */
    struct members_options options;
    struct member_owner owner;
    struct table apps;    /* entries, by namespace and name */
    struct table plans;   /* plan_entries, by namespace and name */
    struct table members; /* members, by namespace and access */
    TAILQ_HEAD(, entry) woken;
    TAILQ_HEAD(, plan_entry) woken_plans;
    TAILQ_HEAD(, member) ring; /* members with places that may run, round-robin */
    struct timer *pump_timer, *check_timer;
    bool leads, unused; /* a member may have lost its last user */
    int waiting, running;
    struct tracked_request *identity_ask;
    struct timer *identity_timer;
    struct backoff identity_backoff;
    char *identity;
    /* Callback of members_stop(). */
    void (*stopped)(void *arg, bool quiet);
    void *stopped_arg;
    struct timer *stop_timer;
};

static struct members *whole(struct fleet_daemon *fleet)
{
    return (struct members *)(void *)fleet;
}

static void entry_key(const void *item, const char **namespace_, const char **name)
{
    const struct entry *entry = item;

    *namespace_ = app_namespace(entry->app);
    *name = app_name(entry->app);
}

static void plan_key(const void *item, const char **namespace_, const char **name)
{
    const struct plan_entry *entry = item;

    *namespace_ = wave_namespace(entry->wave);
    *name = wave_name(entry->wave);
}

static void member_key(const void *item, const char **namespace_, const char **access)
{
    const struct member *member = item;

    *namespace_ = member->namespace_;
    *access = member->access;
}

static bool may_write(void *arg)
{
    const struct members *members = arg;

    return members->leads && !members->stopped &&
           (!members->options.is_leader || members->options.is_leader(members->options.arg));
}

/* Nothing is decided before the identity of this cluster and the member clusters are known. */
static bool may_work(const struct members *members)
{
    return members->leads && !members->stopped && members->identity &&
           management_cache_synced(members->fleet.management);
}

/* --- turns */

static void pump(void *arg);

/* Works from the loop, never within the callback that caused it. */
static void pump_soon(struct members *members)
{
    if (!members->pump_timer)
        members->pump_timer = timer_start(members->fleet.context.loop, 0, 0, pump, members);
}

static bool may_run(const struct members *members, const struct member *member)
{
    return !TAILQ_EMPTY(&member->waiting) && member_is_reached(member) &&
           member_cache_settled(member->cache) &&
           member->running < members->fleet.context.settings->max_runs;
}

static void join_ring(struct members *members, struct member *member)
{
    bool may = may_run(members, member);

    if (may && !member->in_ring)
        TAILQ_INSERT_TAIL(&members->ring, member, ring);
    if (!may && member->in_ring)
        TAILQ_REMOVE(&members->ring, member, ring);
    member->in_ring = may;
    if (may)
        pump_soon(members);
}

void fleet_daemon_wake_place(struct fleet_daemon *fleet, struct place *place)
{
    struct members *members = whole(fleet);

    TAILQ_INSERT_TAIL(&place->member->waiting, place, queue);
    members->waiting++;
    join_ring(members, place->member);
}

void fleet_daemon_drop_place(struct fleet_daemon *fleet, struct place *place)
{
    struct members *members = whole(fleet);

    if (place->state == PLACE_QUEUED) {
        TAILQ_REMOVE(&place->member->waiting, place, queue);
        members->waiting--;
    } else if (place->state != PLACE_RESTING && place->state != PLACE_BACKING_OFF) {
        place->member->running--;
        members->running--;
    }
    join_ring(members, place->member);
}

static void run_one(struct members *members, struct member *member)
{
    struct place *place = TAILQ_FIRST(&member->waiting);

    TAILQ_REMOVE(&members->ring, member, ring);
    member->in_ring = false;
    TAILQ_REMOVE(&member->waiting, place, queue);
    members->waiting--;
    member->running++;
    members->running++;
    place_run(place);
    join_ring(members, member);
}

static void settle_one(struct members *members, struct entry *entry)
{
    TAILQ_REMOVE(&members->woken, entry, woken_link);
    entry->woken = false;
    if (app_settle(entry->app))
        return;
    log_info("fleet_application_gone", NULL, "the Application was deleted",
             LOG_STR("application", app_label(entry->app)));
    (void)table_take(&members->apps, app_namespace(entry->app), app_name(entry->app));
    app_free(entry->app);
    free(entry);
}

static void settle_plan(struct members *members, struct plan_entry *entry)
{
    TAILQ_REMOVE(&members->woken_plans, entry, woken_link);
    entry->woken = false;
    if (wave_settle(entry->wave))
        return;
    (void)table_take(&members->plans, wave_namespace(entry->wave), wave_name(entry->wave));
    wave_free(entry->wave);
    free(entry);
}

static void free_unused(struct members *members)
{
    struct member *member;

    while (members->unused) {
        members->unused = false;
        for (size_t i = 0; (member = table_next(&members->members, &i));) {
            if (member->users > 0)
                continue;
            (void)table_take(&members->members, member->namespace_, member->access);
            member_free(member);
            members->unused = true; /* the table has changed: starts over */
            break;
        }
    }
}

static void pump(void *arg)
{
    struct members *members = arg;
    int64_t until = clock_monotonic_ms() + PUMP_MS;

    members->pump_timer = NULL;
    while (may_work(members)) {
        struct entry *entry = TAILQ_FIRST(&members->woken);
        struct plan_entry *plan = TAILQ_FIRST(&members->woken_plans);
        struct member *member = TAILQ_FIRST(&members->ring);
        if (!entry && !plan && !member)
            break;
        if (clock_monotonic_ms() > until) {
            pump_soon(members);
            return;
        }
        if (entry)
            settle_one(members, entry);
        else if (plan)
            settle_plan(members, plan);
        else
            run_one(members, member);
    }
    management_cache_forget(members->fleet.management);
    free_unused(members);
}

/* --- Applications */

static struct entry *entry_of(struct members *members, const char *namespace_, const char *name)
{
    struct entry *entry = table_get(&members->apps, namespace_, name);

    if (entry)
        return entry;
    entry = heap_alloc(sizeof(*entry));
    *entry = (struct entry){.app = app_new(&members->fleet, namespace_, name)};
    (void)table_put(&members->apps, entry);
    return entry;
}

static void wake(struct members *members, struct entry *entry)
{
    if (entry->woken)
        return;
    entry->woken = true;
    TAILQ_INSERT_TAIL(&members->woken, entry, woken_link);
    pump_soon(members);
}

void fleet_daemon_wake_app(struct fleet_daemon *fleet, const char *namespace_, const char *name)
{
    struct members *members = whole(fleet);

    wake(members, entry_of(members, namespace_, name));
}

void fleet_daemon_wake_wave(struct fleet_daemon *fleet, struct wave *wave)
{
    struct members *members = whole(fleet);
    struct plan_entry *entry = table_get(&members->plans, wave_namespace(wave), wave_name(wave));

    if (!entry || entry->woken)
        return;
    entry->woken = true;
    TAILQ_INSERT_TAIL(&members->woken_plans, entry, woken_link);
    pump_soon(members);
}

static void wake_plans(struct members *members, const char *namespace_)
{
    struct plan_entry *entry;

    for (size_t i = 0; (entry = table_next(&members->plans, &i));)
        if (strcmp(wave_namespace(entry->wave), namespace_) == 0)
            wave_wake(entry->wave);
}

static void on_app(void *arg, const char *namespace_, const char *name)
{
    wake(arg, entry_of(arg, namespace_, name));
    wake_plans(arg, namespace_);
}

static void on_plan(void *arg, const char *namespace_, const char *name)
{
    struct members *members = arg;
    struct plan_entry *entry = table_get(&members->plans, namespace_, name);

    if (!entry) {
        entry = heap_alloc(sizeof(*entry));
        *entry = (struct plan_entry){.wave = wave_new(&members->fleet, namespace_, name)};
        (void)table_put(&members->plans, entry);
    }
    wave_wake(entry->wave);
}

static void on_clusters(void *arg, const char *namespace_)
{
    struct members *members = arg;
    struct entry *entry;

    for (size_t i = 0; (entry = table_next(&members->apps, &i));)
        if (strcmp(app_namespace(entry->app), namespace_) == 0)
            wake(members, entry);
    wake_plans(members, namespace_);
}

static void on_secret(void *arg, const char *namespace_, const char *name)
{
    struct members *members = arg;
    struct member *member;
    size_t len = strlen(name);

    for (size_t i = 0; (member = table_next(&members->members, &i));) {
        bool same = strncmp(member->access, name, len) == 0 &&
                    (!member->access[len] || member->access[len] == '/');
        if (same && strcmp(member->namespace_, namespace_) == 0)
            member_look_again(member);
    }
}

static void on_synced(void *arg)
{
    malloc_trim(0);
    pump_soon(arg);
}

/* --- members */

struct member *fleet_daemon_member(struct fleet_daemon *fleet, const char *namespace_,
                                   const char *access)
{
    struct members *members = whole(fleet);
    struct member *member = table_get(&members->members, namespace_, access);

    if (!member) {
        member = member_new(&fleet->context, &members->owner, namespace_, access);
        (void)table_put(&members->members, member);
    }
    member->users++;
    return member;
}

struct member *fleet_daemon_next_member(struct fleet_daemon *fleet, size_t *index)
{
    return table_next(&whole(fleet)->members, index);
}

void fleet_daemon_let_go(struct fleet_daemon *fleet, struct member *member)
{
    if (--member->users > 0)
        return;
    whole(fleet)->unused = true;
    pump_soon(whole(fleet));
}

static void on_turned(void *arg, struct member *member, bool anew)
{
    struct members *members = arg;
    struct plan_entry *entry;
    struct place *place;

    TAILQ_FOREACH(place, &member->places, link)
    {
        if (anew)
            place_abort(place);
        place_turned(place);
    }
    for (size_t i = 0; (entry = table_next(&members->plans, &i));) {
        if (anew)
            wave_abort(entry->wave, member);
        if (!*member->access || strcmp(wave_namespace(entry->wave), member->namespace_) == 0)
            wave_wake(entry->wave);
    }
    join_ring(members, member);
}

/* A Canary has changed. */
static void wake_concerned(struct members *members, const struct member *member,
                           const struct digest *digest)
{
    struct plan_entry *entry;

    for (size_t i = 0; (entry = table_next(&members->plans, &i));)
        if ((!*member->access || strcmp(wave_namespace(entry->wave), member->namespace_) == 0) &&
            wave_concerns(entry->wave, digest->namespace_, digest->name))
            wave_wake(entry->wave);
}

/* A Namespace has changed: it may grant or revoke the access of a plan. */
static void wake_granted(struct members *members, const struct member *member)
{
    struct plan_entry *entry;

    for (size_t i = 0; (entry = table_next(&members->plans, &i));)
        if (!*member->access || strcmp(wave_namespace(entry->wave), member->namespace_) == 0)
            wave_wake(entry->wave);
}

static void on_changed(void *arg, struct member *member, const struct kube_resource *resource,
                       const struct member_object *before, const struct member_object *after)
{
    const struct member_object *seen = after ? after : before;
    const struct digest *digest = seen ? &seen->digest : NULL;
    bool news = !before || !after || before->content != after->content;
    struct place *place;

    assert(digest); /* an object was added, changed or deleted */
    if (resource == &fleet_canaries)
        wake_concerned(arg, member, digest);
    if (resource == &fleet_namespaces && news)
        wake_granted(arg, member);
    TAILQ_FOREACH(place, &member->places, link)
    {
        if (!place_concerns(place, resource, digest->namespace_, digest->name))
            continue;
        if (news)
            place_wake(place);
        if (resource == &fleet_canaries)
            place_owner_changed(place->owner);
    }
}

/* Kinds with few objects are kept whole: load testers, to find them if the inventory is lost, and
 * Namespaces, which grant access. */
static bool wants(void *arg, struct member *member, const struct kube_resource *resource,
                  const char *namespace_, const char *name)
{
    static const char ending[] = "-testloader";
    size_t len = strlen(name);
    const struct place *place;

    (void)arg;
    if (resource == &fleet_namespaces)
        return true;
    if (len > sizeof(ending) && strcmp(name + len - (sizeof(ending) - 1), ending) == 0)
        return true;
    TAILQ_FOREACH(place, &member->places, link)
    {
        if (place_concerns(place, resource, namespace_, name))
            return true;
    }
    return false;
}

static void on_settled(void *arg, struct member *member)
{
    struct members *members = arg;

    member_check(member);
    wake_plans(members, member->namespace_);
    join_ring(members, member);
}

static void check(void *arg)
{
    struct members *members = arg;
    struct member *member;

    for (size_t i = 0; (member = table_next(&members->members, &i));)
        member_check(member);
}

/* --- the identity of this cluster */

static void read_identity(void *arg);

static void on_identity(void *arg, const struct kube_result *result)
{
    struct members *members = arg;
    const char *uid = json_str_at(result->body, "metadata", "uid", NULL);

    members->identity_ask = NULL;
    if (result->err != ERR_OK || !uid) {
        log_warn("fleet_identity_not_read", NULL,
                 result->err != ERR_OK ? result->info->text
                                       : "the namespace kube-system has no uid");
        members->identity_timer =
            timer_start(members->fleet.context.loop, backoff_next(&members->identity_backoff, 0), 0,
                        read_identity, members);
        return;
    }
    members->identity = heap_strdup(uid);
    members->fleet.context.identity = members->identity;
    pump_soon(members);
}

static void read_identity(void *arg)
{
    struct members *members = arg;
    const struct kube_request request = {
        .verb = KUBE_GET, .resource = &fleet_namespaces, .name = "kube-system"};

    members->identity_timer = NULL;
    members->identity_ask = tracked_send(&members->fleet.context, members->fleet.context.kube,
                                         &request, on_identity, members);
}

/* --- life */

static void on_told(void *arg)
{
    struct members *members = arg;

    members->stopped(members->stopped_arg, members->fleet.context.writes == 0);
}

static void end_stop(void *arg)
{
    enum { TELL_MS = 5000 };
    struct members *members = arg;

    members->stop_timer = NULL;
    if (members->fleet.context.writes > 0)
        log_warn("stopping_unquiet", NULL, "writes are not answered; they may still be applied",
                 LOG_INT("writes", members->fleet.context.writes));
    event_flush(members->fleet.context.events, TELL_MS, on_told, members);
}

static void on_wrote(void *arg)
{
    struct members *members = arg;

    if (!members->stop_timer)
        return;
    timer_stop(members->stop_timer);
    members->stop_timer = timer_start(members->fleet.context.loop, 0, 0, end_stop, members);
}

void members_stop(struct members *members, int64_t max_ms, void (*done)(void *arg, bool quiet),
                  void *arg)
{
    members->stopped = done;
    members->stopped_arg = arg;
    members->stop_timer =
        timer_start(members->fleet.context.loop, members->fleet.context.writes > 0 ? max_ms : 0, 0,
                    end_stop, members);
}

struct members *members_new(const struct members_options *options)
{
    struct members *members = heap_alloc(sizeof(*members));
    struct management_cache_owner management = {.app = on_app,
                                                .plan = on_plan,
                                                .clusters = on_clusters,
                                                .secret = on_secret,
                                                .synced = on_synced,
                                                .arg = members};

    *members = (struct members){.options = *options,
                                .leads = !options->is_leader,
                                .owner = {.turned = on_turned,
                                          .changed = on_changed,
                                          .wants = wants,
                                          .settled = on_settled,
                                          .arg = members},
                                .identity_backoff = {.min_ms = 1000, .max_ms = 30000},
                                .fleet.context = {.loop = options->loop,
                                                  .kube = options->kube,
                                                  .api = options->api,
                                                  .outside = options->outside,
                                                  .settings = options->settings,
                                                  .may_write = may_write,
                                                  .may_write_arg = members,
                                                  .wrote = on_wrote}};
    TAILQ_INIT(&members->woken);
    TAILQ_INIT(&members->woken_plans);
    TAILQ_INIT(&members->ring);
    table_init(&members->apps, entry_key);
    table_init(&members->plans, plan_key);
    table_init(&members->members, member_key);
    for (int i = 0; i < MEMBER_CACHE_KINDS; i++)
        members->fleet.context.object_compressors[i] = object_compressor_new();
    members->fleet.context.events =
        event_recorder_new(options->loop, options->kube, options->settings->agent);
    members->fleet.management =
        management_cache_new(&members->fleet.context, options->namespaces, &management);
    members->check_timer = timer_start(options->loop, CHECK_MS, CHECK_MS, check, members);
    read_identity(members);
    return members;
}

void members_free(struct members *members)
{
    struct entry *entry;
    struct plan_entry *plan;
    struct member *member;

    if (!members)
        return;
    timer_stop(members->check_timer);
    timer_stop(members->stop_timer);
    timer_stop(members->identity_timer);
    tracked_free(members->identity_ask);
    for (size_t i = 0; (plan = table_next(&members->plans, &i));) {
        wave_free(plan->wave);
        free(plan);
    }
    for (size_t i = 0; (entry = table_next(&members->apps, &i));) {
        app_free(entry->app);
        free(entry);
    }
    timer_stop(members->pump_timer);
    for (size_t i = 0; (member = table_next(&members->members, &i));)
        member_free(member);
    table_fini(&members->apps);
    table_fini(&members->plans);
    table_fini(&members->members);
    management_cache_free(members->fleet.management);
    event_recorder_free(members->fleet.context.events);
    tracked_end_all(&members->fleet.context);
    for (int i = 0; i < MEMBER_CACHE_KINDS; i++)
        object_compressor_free(members->fleet.context.object_compressors[i]);
    free(members->identity);
    free(members);
}

void members_lead(struct members *members, bool leads)
{
    if (members->leads == leads)
        return;
    members->leads = leads;
    log_info(leads ? "leading" : "standing_by", NULL,
             leads ? "this replica leads now" : "this replica writes nothing until it leads again");
    pump_soon(members);
}

bool members_ready(const struct members *members)
{
    return management_cache_synced(members->fleet.management);
}

/* --- lookups */

void members_snapshot(const struct members *members, struct members_snapshot *out)
{
    const struct member *member;

    *out = (struct members_snapshot){.fleet = &members->fleet,
                                     .apps = members->apps.count,
                                     .plans = members->plans.count,
                                     .members = members->members.count,
                                     .waiting = members->waiting,
                                     .running = members->running,
                                     .leads = may_write((void *)members),
                                     .stopping = members->stopped != NULL};
    for (size_t i = 0; (member = table_next(&members->members, &i));) {
        out->of[member->state]++;
        out->canaries += member->cache ? member_cache_canaries(member->cache) : 0;
    }
}

const struct member *members_next(const struct members *members, size_t *index)
{
    return table_next(&members->members, index);
}

const struct wave *members_next_plan(const struct members *members, size_t *index)
{
    const struct plan_entry *entry = table_next(&members->plans, index);

    return entry ? entry->wave : NULL;
}

const struct app *members_next_app(const struct members *members, size_t *index)
{
    const struct entry *entry = table_next(&members->apps, index);

    return entry ? entry->app : NULL;
}

struct listing {
    struct arena *arena;
    const char **names;
    size_t count, room;
};

static void add(void *arg, const char *namespace_, const char *name)
{
    struct listing *listing = arg;

    if (listing->count == listing->room) {
        size_t room = listing->room ? 2 * listing->room : 64;
        const char **more = arena_array(listing->arena, room, sizeof(*more));
        for (size_t i = 0; i < listing->count; i++)
            more[i] = listing->names[i];
        listing->names = more;
        listing->room = room;
    }
    listing->names[listing->count++] = arena_printf(listing->arena, "%s/%s", namespace_, name);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool members_plans(const struct members *members, struct arena *arena, const char ***out,
                   size_t *count)
{
    struct listing listing = {.arena = arena};
    struct members_snapshot look;

    if (!members_ready(members))
        return false;
    members_snapshot(members, &look);
    management_cache_each_plan(look.fleet->management, add, &listing);
    if (listing.count > 1)
        qsort(listing.names, listing.count, sizeof(*listing.names), by_text);
    *out = listing.names;
    *count = listing.count;
    return true;
}

struct json_object *members_plan(const struct members *members, struct arena *arena,
                                 const char *namespace_, const char *name)
{
    struct json_object *plan = NULL;
    struct members_snapshot look;

    members_snapshot(members, &look);
    (void)management_cache_plan(look.fleet->management, arena, namespace_, name, &plan);
    return plan;
}

static const struct members *watched;

static void tell_clusters(struct metrics_writer *writer)
{
    struct members_snapshot look;

    if (!watched)
        return;
    members_snapshot(watched, &look);
    for (int i = 0; i < MEMBER_STATES; i++)
        metrics_report(writer, look.of[i], member_state_name((enum member_state)i));
}

static void tell_places(struct metrics_writer *writer)
{
    int of[REPORT_STATES] = {0};
    const struct app *app;

    if (!watched)
        return;
    for (size_t i = 0; (app = members_next_app(watched, &i));)
        for (struct place *place = NULL; (place = app_next_place(app, place));) {
            struct report_row row;
            place_report(place, &row);
            of[row.state]++;
        }
    for (int i = 0; i < REPORT_STATES; i++)
        metrics_report(writer, of[i], report_state_name((enum report_state)i));
}

static void tell_canaries(struct metrics_writer *writer)
{
    struct members_snapshot look;

    if (!watched)
        return;
    members_snapshot(watched, &look);
    metrics_report(writer, (double)look.canaries);
}

static struct metrics_family clusters = {.name = "flagger_fleet_clusters",
                                         .help = "Member clusters, by the state of the connection",
                                         .type = METRICS_GAUGE,
                                         .labels = {"state"},
                                         .report = tell_clusters};
static struct metrics_family places = {
    .name = "flagger_fleet_rollouts",
    .help = "Rollouts of Applications on a cluster, by how they stand, as status.clusters has it",
    .type = METRICS_GAUGE,
    .labels = {"state"},
    .report = tell_places};
static struct metrics_family canaries = {.name = "flagger_fleet_canaries",
                                         .help = "Canaries of member clusters that are watched",
                                         .type = METRICS_GAUGE,
                                         .report = tell_canaries};

void members_export(const struct members *members)
{
    watched = members;
    if (!members)
        return;
    metrics_register(&clusters);
    metrics_register(&places);
    metrics_register(&canaries);
}
