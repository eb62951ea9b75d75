#include "fleet/daemon/app.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fleet/rules/fleet.h"
#include "fleet/rules/record.h"
#include "tick/edit.h"

/* The write of the inventory. */
struct app_recorder {
    struct tracked_request *ask;
    struct timer *timer; /* until the next write */
    struct backoff backoff;
    bool due;
};

struct app_teller {
    struct tracked_request *ask;
    struct timer *timer;
    struct backoff backoff;
    bool due, ever;
    char *sent;      /* the last text that was accepted; NULL if this process has written none */
    char *sending;   /* the text of the write under way */
    int64_t sent_ms; /* monotonic */
};

struct app {
    struct place_owner owner; /* must be first: places get a pointer to it */
    struct fleet_daemon *fleet;
    char *namespace_, *name, *label;
    TAILQ_HEAD(, place) places;
    struct view *view; /* NULL if not read since it changed */
    uint64_t view_content;
    int64_t generation;
    char *uid;
    char *mistake; /* mistake in its spec, one sentence */
    char *trouble; /* why a policy has no clusters */
    char *keeper;  /* another controller that manages it, one sentence */
    bool releases; /* it has a rollout, as far as is known */
    bool begun;    /* its inventory has been read */
    bool lost;     /* ... and was missing, although something was created */
    bool ours;     /* it has our finalizer */
    bool deleting;
    int64_t deleted_ms; /* wall clock */
    int64_t begun_ms;   /* wall clock: when this process began to manage it */
    struct timer *abandon_timer;
    struct app_recorder recorder;
    struct app_teller teller;
};

static void app_event(const struct app *app, const char *type, const char *reason,
                      const char *text);
static struct json_object *app_tree(const struct app *app, struct arena *arena);
static void app_changed(struct app *app);
static void app_record(struct app *app);
static void app_recorder_end(struct app *app);
static bool app_is_recorded(const struct app *app, struct json_object *tree);
static void end_teller(struct app *app);

struct place *app_next_place(const struct app *app, const struct place *place)
{
    return place ? TAILQ_NEXT(place, of_app) : TAILQ_FIRST(&app->places);
}

/* --- the view */

static void set_text(char **at, const char *text)
{
    char *copy = heap_strdup(text);

    free(*at);
    *at = copy;
}

/* Sets the mistake, or clears it. */
static void read_view(struct app *app)
{
    struct arena *arena = arena_new();
    struct json_object *tree = app_tree(app, arena);
    struct errinfo ei = {0};

    view_drop(app->view);
    app->view = NULL;
    enum err err = tree ? view_new(tree, &app->view, &ei)
                        : err_set(&ei, ERR_RETRY, "there is no room in memory to read it now");
    set_text(&app->mistake, err == ERR_OK ? NULL : ei.text);
    app->view_content =
        tree ? management_cache_app_content(app->fleet->management, app->namespace_, app->name) : 0;
    arena_free(arena);
}

static bool is_current(const struct app *app)
{
    return app->view_content ==
           management_cache_app_content(app->fleet->management, app->namespace_, app->name);
}

/* --- the functions that places call */

static struct app *app_of(struct place_owner *owner)
{
    return (struct app *)(void *)owner;
}

void place_owner_changed(struct place_owner *owner)
{
    app_changed(app_of(owner));
}

void place_owner_record(struct place_owner *owner)
{
    app_record(app_of(owner));
}

void place_owner_wake(struct place_owner *owner)
{
    fleet_daemon_wake_app(owner->fleet, owner->namespace_, owner->name);
}

void place_owner_warn(struct place_owner *owner, const char *reason, const char *text)
{
    app_event(app_of(owner), "Warning", reason, text);
}

struct view *place_owner_view(struct place_owner *owner)
{
    struct app *app = app_of(owner);

    if (!is_current(app))
        read_view(app);
    if (app->view)
        app->view->uses++;
    return app->view;
}

/* --- places */

static struct place *place_of(struct app *app, const char *policy, const char *cluster)
{
    struct place *place;

    TAILQ_FOREACH(place, &app->places, of_app)
    {
        if (strcmp(place->cluster, cluster) == 0 && strcmp(place->policy, policy) == 0)
            return place;
    }
    place = place_new(&app->owner, policy, cluster);
    place->marked = app->lost;
    TAILQ_INSERT_TAIL(&app->places, place, of_app);
    return place;
}

/* After a start: reads what was created before, as the Application records it. */
static void read_inventory(struct app *app, struct json_object *tree)
{
    const char *text = json_str_at(tree, "metadata", "annotations", FLEET_INVENTORY, NULL);
    struct arena *arena = arena_new();
    struct inventory inventory = {0};
    struct errinfo ei = {0};

    app->begun = true;
    enum err err = app->ours && !text
                       ? err_set(&ei, ERR_INVALID, FLEET_INVENTORY ": somebody has removed it")
                       : inventory_read(arena, text, &inventory, &ei);
    app->lost = err != ERR_OK;
    if (app->lost) {
        log_warn("fleet_inventory_lost", NULL, ei.text, LOG_STR("application", app->label));
        app_event(app, "Warning", "InventoryLost",
                  "the annotation " FLEET_INVENTORY
                  " cannot be used; what has the mark of this Application on its clusters is taken "
                  "for its own");
    }
    for (size_t i = 0; !app->lost && i < inventory.count; i++) {
        const struct inventory_entry *entry = &inventory.entries[i];
        struct place *place = place_of(app, entry->policy, entry->cluster);
        set_text(&place->objects, entry->objects);
        place_reach(place, entry->access, NULL);
    }
    arena_free(arena);
}

static void want(struct app *app, const struct application_policy *policy,
                 const struct fleet_member *member)
{
    struct arena *arena = arena_new();
    const char *access = "";
    struct place *place = place_of(app, policy->name, member ? member->name : FLEET_HOST);

    if (member && member->secret)
        access = member->key ? arena_printf(arena, "%s/%s", member->secret, member->key)
                             : member->secret;
    const char *mistake = member                                      ? member->mistake
                          : app->fleet->context.settings->own_cluster ? NULL
                                                                      : MEMBERS_NOT_OWN;
    place->wanted = true;
    bool came_back = place->leaves;
    place->leaves = false;
    place_reach(place, mistake ? NULL : access, mistake);
    place_aim(place, policy->rollout);
    if (place->marked && place->member) { /* all kinds that may have our mark */
        member_need(place->member, &kube_deployments);
        member_need(place->member, &fleet_templates);
        member_need(place->member, &fleet_ingresses);
    }
    if (came_back)
        place->due = true;
    arena_free(arena);
}

/* The fleet is unknown, so no cluster counts as having left it. */
static void keep_all_of(struct app *app, const struct application_policy *policy)
{
    struct place *place;

    TAILQ_FOREACH(place, &app->places, of_app)
    {
        place->wanted |= strcmp(place->policy, policy->name) == 0;
    }
}

static void want_policy(struct app *app, struct arena *arena,
                        const struct application_policy *policy)
{
    static const struct fleet_known none;
    const struct fleet_known *known =
        policy->destination.fleet ? management_cache_known(app->fleet->management, app->namespace_)
                                  : &none;
    struct fleet_choice choice;

    fleet_select(arena, &policy->destination, known, &choice);
    if (choice.mistake && !app->trouble)
        set_text(&app->trouble, choice.mistake);
    if (choice.lost)
        keep_all_of(app, policy);
    if (choice.host)
        want(app, policy, NULL);
    for (size_t i = 0; i < choice.count; i++)
        want(app, policy, &choice.members[i]);
}

/* Updates the set of places. */
static void choose(struct app *app)
{
    struct arena *arena = arena_new();
    struct place *place;

    TAILQ_FOREACH(place, &app->places, of_app)
    {
        /* An invalid spec changes nothing, except on deletion. */
        place->wanted = !app->deleting && !app->view;
    }
    set_text(&app->trouble, NULL);
    for (int i = 0; app->view && !app->deleting && i < app->view->app.n_policies; i++)
        if (app->view->app.policies[i].rollout)
            want_policy(app, arena, &app->view->app.policies[i]);
    TAILQ_FOREACH(place, &app->places, of_app)
    {
        if (place->wanted || place->leaves)
            continue;
        place->leaves = true;
        if (strcmp(place->cluster, FLEET_HOST) == 0) /* even if it is no longer a member */
            place_reach(place, "", NULL);
        place_aim(place, NULL);
        place_abort(place);
    }
    arena_free(arena);
}

/* --- places that leave */

static void forget(struct app *app, struct place *place, const char *why)
{
    char *text = heap_printf("cluster %s: %s; what was made there is forgotten: %.200s",
                             place->cluster, why, place->objects);

    log_warn("fleet_cluster_forgotten", NULL, text, LOG_STR("application", app->label));
    app_event(app, "Warning", "ClusterForgotten", text);
    free(text);
    place_abort(place);
    free(place->records);
    place->records = heap_strdup("");
    app_record(app);
}

static void on_abandon(void *arg)
{
    struct app *app = arg;

    app->abandon_timer = NULL;
    fleet_daemon_wake_app(app->fleet, app->namespace_, app->name);
}

/* The time at which a deletion stops waiting for an unreachable cluster. It is counted from the
 * deletion, from the last contact or from the start of this process, whichever is latest: a daemon
 * that was down has not tried yet. */
static int64_t abandon_at(const struct app *app, const struct member *member)
{
    int64_t from_ms = app->deleted_ms > app->begun_ms ? app->deleted_ms : app->begun_ms;

    if (member && member->heard_ms > from_ms)
        from_ms = member->heard_ms;
    return from_ms + app->fleet->context.settings->abandon_ms;
}

/* Gives up clusters whose kubeconfig is gone, or which have been unreachable for too long, so that
 * they do not block a deletion. */
static void abandon(struct app *app)
{
    int64_t now_ms = clock_wall_ms(), next_ms = INT64_MAX;
    struct place *place;

    TAILQ_FOREACH(place, &app->places, of_app)
    {
        const struct member *member = place->member;
        if (!place->leaves || !*place->objects || place->records)
            continue;
        int64_t at_ms = abandon_at(app, member);
        bool away = app->deleting && (!member || !member_is_reached(member));
        if (member && member->lost)
            forget(app, place, "its Secret is gone");
        else if (away && at_ms <= now_ms)
            forget(app, place, "it was not reached for as long as a deletion waits");
        else if (away && at_ms < next_ms)
            next_ms = at_ms;
    }
    if (next_ms < INT64_MAX && !app->abandon_timer)
        app->abandon_timer =
            timer_start(app->fleet->context.loop, next_ms - now_ms, 0, on_abandon, app);
}

static void drop_gone(struct app *app)
{
    struct place *place, *next;

    for (place = TAILQ_FIRST(&app->places); place; place = next) {
        next = TAILQ_NEXT(place, of_app);
        if (!place->leaves || *place->objects || place->records || place->state != PLACE_RESTING)
            continue;
        TAILQ_REMOVE(&app->places, place, of_app);
        place_free(place);
        app_changed(app);
    }
}

/* --- settling */

static void see_deletion(struct app *app, struct json_object *tree)
{
    const char *since = json_str_at(tree, "metadata", "deletionTimestamp", NULL);

    app->deleting = since != NULL;
    if (!since || clock_parse(since, &app->deleted_ms, NULL) != ERR_OK)
        app->deleted_ms = clock_wall_ms();
}

/* Works for an invalid spec as well. */
static bool has_rollout(struct json_object *tree)
{
    struct json_object *policies = json_at(tree, "spec", "syncPolicies", NULL);

    for (size_t i = 0; i < json_len(policies); i++)
        if (json_at(json_elem(policies, i), "rollout", NULL))
            return true;
    return false;
}

/* Kurator's own controller acts on the same rollouts; only one of the two controllers may. */
static void see_keeper(struct app *app, struct json_object *tree)
{
    static const char sentence[] =
        "it has the finalizer " APP_KURATOR
        ": Kurator's own controller looks after it, and this one "
        "leaves it alone; --adopt-kurator says that that one does not run any more";
    bool kept = app->releases && edit_has_finalizer(tree, APP_KURATOR) &&
                !app->fleet->context.settings->adopt_kurator;

    if (kept && !app->keeper) {
        log_warn("fleet_left_to_kurator", NULL, sentence, LOG_STR("application", app->label));
        app_event(app, "Warning", "LeftToKurator", sentence);
        app_changed(app);
    }
    set_text(&app->keeper, kept ? sentence : NULL);
}

static void drop_all(struct app *app)
{
    struct place *place;

    while ((place = TAILQ_FIRST(&app->places))) {
        TAILQ_REMOVE(&app->places, place, of_app);
        place_free(place);
    }
}

/* False if there is not enough memory to read it now. */
static bool see(struct app *app)
{
    struct arena *arena = arena_new();
    struct json_object *tree = app_tree(app, arena);

    if (tree) {
        app->generation = json_int_at(tree, 0, "metadata", "generation", NULL);
        set_text(&app->uid, json_str_at(tree, "metadata", "uid", NULL));
        app->ours = edit_has_finalizer(tree, FLEET_FINALIZER);
        see_deletion(app, tree);
        if (!is_current(app))
            read_view(app);
        app->releases = has_rollout(tree);
        if (!app->releases && !app->ours)
            set_text(&app->mistake, NULL); /* nothing in it is for us to read */
        see_keeper(app, tree);
        if (!app->begun && !app->keeper)
            read_inventory(app, tree);
        if (!app->keeper && !app_is_recorded(app, tree))
            app_record(app);
    }
    arena_free(arena);
    return tree != NULL;
}

bool app_settle(struct app *app)
{
    uint64_t content =
        management_cache_app_content(app->fleet->management, app->namespace_, app->name);
    bool news = content != app->view_content;
    struct place *place;

    if (content == 0)
        return false;
    if (!see(app))
        return true;
    if (app->keeper) {
        drop_all(app);
        app->begun = false;
        return true;
    }
    choose(app);
    abandon(app);
    drop_gone(app);
    TAILQ_FOREACH(place, &app->places, of_app)
    {
        if ((news || place->due) && (place->leaves || app->view))
            place_wake(place);
    }
    if (app->ours && TAILQ_EMPTY(&app->places))
        app_record(app); /* which removes the finalizer */
    if (news || app->teller.ever)
        app_changed(app);
    return true;
}

/* --- life */

struct app *app_new(struct fleet_daemon *fleet, const char *namespace_, const char *name)
{
    struct app *app = heap_alloc(sizeof(*app));

    *app = (struct app){
        .fleet = fleet,
        .namespace_ = heap_strdup(namespace_),
        .name = heap_strdup(name),
        .label = heap_printf("%s/%s", namespace_, name),
        .begun_ms = clock_wall_ms(),
        .recorder.backoff = {.min_ms = members_retry_ms(&fleet->context), .max_ms = 60000},
        .teller.backoff = {.min_ms = members_retry_ms(&fleet->context), .max_ms = 60000}};
    app->owner = (struct place_owner){
        .fleet = fleet, .namespace_ = app->namespace_, .name = app->name, .label = app->label};
    TAILQ_INIT(&app->places);
    return app;
}

void app_free(struct app *app)
{
    if (!app)
        return;
    drop_all(app);
    app_recorder_end(app);
    end_teller(app);
    timer_stop(app->abandon_timer);
    view_drop(app->view);
    free(app->namespace_);
    free(app->name);
    free(app->label);
    free(app->uid);
    free(app->mistake);
    free(app->trouble);
    free(app->keeper);
    free(app);
}

void app_snapshot(const struct app *app, struct app_snapshot *out)
{
    const struct place *place;

    *out = (struct app_snapshot){.trouble = app->mistake  ? app->mistake
                                            : app->keeper ? app->keeper
                                                          : app->trouble,
                                 .writes = app->recorder.ask || app->teller.ask};
    TAILQ_FOREACH(place, &app->places, of_app)
    {
        out->places++;
    }
}

/* --- the object of an Application */

const char *app_namespace(const struct app *app)
{
    return app->namespace_;
}

const char *app_name(const struct app *app)
{
    return app->name;
}

const char *app_label(const struct app *app)
{
    return app->label;
}

static struct json_object *app_tree(const struct app *app, struct arena *arena)
{
    struct json_object *tree;

    (void)management_cache_app(app->fleet->management, arena, app->namespace_, app->name, &tree);
    return tree;
}

static void app_event(const struct app *app, const char *type, const char *reason, const char *text)
{
    struct arena *arena = arena_new();
    const struct event_object object = {.api_version = kube_api_version(arena, &fleet_applications),
                                        .kind = fleet_applications.kind,
                                        .namespace_ = app->namespace_,
                                        .name = app->name,
                                        .uid = app->uid,
                                        .resource_version = ""};

    if (app->fleet->context.events)
        event_record(app->fleet->context.events, &object, type, reason, text);
    arena_free(arena);
}

/* --- the status: written some time after a change, and only if it differs from what was written
 * last */

/* Debounce of status writes: a single change is written soon, a burst of changes at intervals. */
enum { SOON_MS = 300, APART_MS = 2000 };

static void send_status(void *arg);

static void tell_in(struct app *app, int64_t ms)
{
    if (!app->teller.timer)
        app->teller.timer = timer_start(app->fleet->context.loop, ms, 0, send_status, app);
}

static void app_changed(struct app *app)
{
    struct app_teller *teller = &app->teller;
    int64_t apart = teller->sent_ms + APART_MS - clock_monotonic_ms();

    teller->due = true;
    if (!teller->ask)
        tell_in(app, teller->sent_ms > 0 && apart > SOON_MS ? apart : SOON_MS);
}

static struct json_object *make(const struct app *app, struct arena *arena, struct json_object *old)
{
    struct report report = {.generation = app->generation,
                            .mistake = app->mistake,
                            .trouble = app->trouble,
                            .keeper = app->keeper,
                            .now_ms = clock_wall_ms()};
    const struct place *place;
    struct report_row *rows;

    TAILQ_FOREACH(place, &app->places, of_app)
    {
        report.count++;
    }
    report.rows = rows = arena_array(arena, report.count, sizeof(*rows));
    TAILQ_FOREACH(place, &app->places, of_app)
    {
        place_report(place, rows++);
    }
    return report_json(arena, &report, old);
}

/* True if every wanted key is there; other writers may have added their own. */
static bool is_told(struct json_object *there, struct json_object *status)
{
    json_object_object_foreach(status, key, value)
    {
        if (!json_same(json_at(there, key, NULL), value))
            return false;
    }
    return true;
}

static void on_sent(void *arg, const struct kube_result *result)
{
    struct app *app = arg;
    struct app_teller *teller = &app->teller;
    bool taken = result->err == ERR_OK;

    teller->ask = NULL;
    if (taken) {
        free(teller->sent);
        teller->sent = teller->sending;
        backoff_reset(&teller->backoff);
        management_cache_learn_app(app->fleet->management, result->body);
    } else {
        free(teller->sending);
        log_warn("fleet_status_not_written", NULL, result->info->text,
                 LOG_STR("application", app->label));
        teller->due = result->err != ERR_NOT_FOUND;
    }
    teller->sending = NULL;
    if (teller->due)
        tell_in(app, taken ? APART_MS : backoff_next(&teller->backoff, 0));
}

/* Compares with the last written text and not with the object, because the CRD may prune fields. */
static void write_status(struct app *app, struct arena *arena, struct json_object *status)
{
    struct app_teller *teller = &app->teller;
    struct json_object *body = json_own(arena, json_object_new_object());
    const struct kube_request request = {.verb = KUBE_MERGE_PATCH,
                                         .resource = &fleet_applications,
                                         .namespace_ = app->namespace_,
                                         .name = app->name,
                                         .sub = "status",
                                         .body = body};

    json_set(body, "status", status);
    teller->sending = heap_strdup(json_text(arena, status));
    teller->sent_ms = clock_monotonic_ms();
    teller->ever = true;
    teller->ask =
        tracked_send(&app->fleet->context, app->fleet->context.kube, &request, on_sent, app);
}

/* An Application without any rollout and without a status of ours is left untouched. */
static bool is_silent(const struct app *app, struct json_object *there)
{
    return TAILQ_EMPTY(&app->places) && !app->trouble && !app->mistake && !app->keeper &&
           !app->teller.ever && !json_at(there, "summary", NULL);
}

static void send_status(void *arg)
{
    struct app *app = arg;
    struct app_teller *teller = &app->teller;
    struct arena *arena = arena_new();
    struct json_object *tree = app_tree(app, arena), *old = NULL;
    struct json_object *there = json_at(tree, "status", NULL);

    teller->timer = NULL;
    teller->due = false;
    if (teller->sent &&
        json_parse(arena, teller->sent, strlen(teller->sent), JSON_MAX_BYTES, &old, NULL) != ERR_OK)
        old = NULL;
    struct json_object *status = make(app, arena, old ? old : there);
    bool same =
        teller->sent ? strcmp(teller->sent, json_text(arena, status)) == 0 : is_told(there, status);
    if (tree && !same && !is_silent(app, there))
        write_status(app, arena, status);
    arena_free(arena);
}

static void end_teller(struct app *app)
{
    tracked_free(app->teller.ask);
    timer_stop(app->teller.timer);
    free(app->teller.sent);
    free(app->teller.sending);
}

/* The inventory and the finalizer of an Application are written together, before anything is
 * created. */

static void send_record(void *arg);

static const char *objects_of(const struct place *place)
{
    return place->records ? place->records : place->objects;
}

static const char *text_of(const struct app *app, struct arena *arena, bool *any)
{
    struct inventory_entry *entries;
    const struct place *place;
    size_t count = 0;

    TAILQ_FOREACH(place, &app->places, of_app)
    {
        count++;
    }
    entries = arena_array(arena, count, sizeof(*entries));
    count = 0;
    *any = false;
    TAILQ_FOREACH(place, &app->places, of_app)
    {
        *any |= *objects_of(place) != '\0';
        entries[count++] = (struct inventory_entry){.policy = place->policy,
                                                    .cluster = place->cluster,
                                                    .access = place->access ? place->access : "",
                                                    .objects = objects_of(place)};
    }
    return inventory_text(arena, entries, count);
}

static bool app_is_recorded(const struct app *app, struct json_object *tree)
{
    const char *there = json_str_at(tree, "metadata", "annotations", FLEET_INVENTORY, NULL);
    struct arena *arena = arena_new();
    bool any;
    const char *text = text_of(app, arena, &any);
    bool same = !any || (there && app->ours && strcmp(there, text) == 0);

    arena_free(arena);
    return same || app->recorder.ask;
}

/* --- the result of a write */

static void mark_sent(struct app *app)
{
    struct place *place;

    TAILQ_FOREACH(place, &app->places, of_app)
    {
        free(place->sent);
        place->sent = heap_strdup(place->records);
    }
}

/* Adopts the inventory that was written. */
static void take_sent(struct place *place)
{
    if (!place->sent)
        return;
    free(place->objects);
    place->objects = place->sent;
    place->sent = NULL;
    if (place->records && strcmp(place->records, place->objects) == 0) {
        free(place->records);
        place->records = NULL;
    }
}

/* Resumes the places that waited for the write. */
static void settle_places(struct app *app)
{
    struct place *place;

    TAILQ_FOREACH(place, &app->places, of_app)
    {
        take_sent(place);
    }
    TAILQ_FOREACH(place, &app->places, of_app)
    {
        if (!place->records)
            place_recorded(place, NULL);
    }
}

static void try_again(struct app *app, const struct errinfo *info)
{
    struct app_recorder *recorder = &app->recorder;
    struct place *place;

    log_warn("fleet_inventory_not_written", NULL, info->text, LOG_STR("application", app->label));
    TAILQ_FOREACH(place, &app->places, of_app)
    {
        place_recorded(place, info);
    }
    if (!recorder->timer)
        recorder->timer = timer_start(app->fleet->context.loop, backoff_next(&recorder->backoff, 0),
                                      0, send_record, app);
}

static void on_read(void *arg, const struct kube_result *result)
{
    struct app *app = arg;

    app->recorder.ask = NULL;
    if (result->err == ERR_OK) {
        management_cache_learn_app(app->fleet->management, result->body);
        app_record(app);
    } else if (result->err != ERR_NOT_FOUND) {
        try_again(app, result->info);
    }
}

static struct kube_request request_of(const struct app *app, enum kube_verb verb)
{
    return (struct kube_request){.verb = verb,
                                 .resource = &fleet_applications,
                                 .namespace_ = app->namespace_,
                                 .name = app->name};
}

/* Conflict: reads the object again. */
static void read_again(struct app *app)
{
    const struct kube_request request = request_of(app, KUBE_GET);

    app->recorder.ask =
        tracked_send(&app->fleet->context, app->fleet->context.kube, &request, on_read, app);
}

static void on_written(void *arg, const struct kube_result *result)
{
    struct app *app = arg;
    struct app_recorder *recorder = &app->recorder;

    recorder->ask = NULL;
    if (result->err == ERR_CONFLICT) {
        read_again(app);
        return;
    }
    if (result->err == ERR_NOT_FOUND) /* the Application is gone, which the watch will report */
        return;
    if (result->err != ERR_OK) {
        try_again(app, result->info);
        return;
    }
    backoff_reset(&recorder->backoff);
    management_cache_learn_app(app->fleet->management, result->body);
    settle_places(app);
    fleet_daemon_wake_app(app->fleet, app->namespace_,
                          app->name); /* which drops the places that have left it */
    if (recorder->due)
        app_record(app);
}

/* --- the write */

/* Removes Kurator's finalizer together with ours, if this fleet adopts Kurator's Applications. */
static struct json_object *finalizers(const struct app *app, struct arena *arena,
                                      struct json_object *tree, bool any)
{
    struct json_object *list = edit_finalizers(arena, tree, FLEET_FINALIZER, any);
    bool adopts = app->fleet->context.settings->adopt_kurator;

    for (size_t i = 0; adopts && app->deleting && !any && i < json_len(list); i++) {
        if (strcmp(json_object_get_string(json_elem(list, i)), APP_KURATOR) == 0)
            json_object_array_del_idx(list, i--, 1);
    }
    return list;
}

static struct json_object *patch_of(const struct app *app, struct arena *arena,
                                    struct json_object *tree, const char *text)
{
    struct json_object *body = json_own(arena, json_object_new_object());
    struct json_object *metadata = json_sub(body, "metadata");
    struct json_object *notes = json_sub(metadata, "annotations");

    json_set_str(metadata, "resourceVersion",
                 json_str_at(tree, "metadata", "resourceVersion", NULL));
    json_set(metadata, "finalizers", finalizers(app, arena, tree, text != NULL));
    if (text)
        json_set_str(notes, FLEET_INVENTORY, text);
    else
        json_object_object_add(notes, FLEET_INVENTORY, NULL);
    return body;
}

/* The API server has rejected the write. */
static void refuse(struct app *app, size_t len)
{
    struct errinfo info = {0};

    if (len > INVENTORY_MAX)
        err_set(&info, ERR_INVALID,
                "the inventory of the Application would take %zu bytes, where %d may: expected "
                "fewer policies or clusters in one Application",
                len, (int)INVENTORY_MAX);
    else
        err_set(&info, ERR_RETRY, "there is no room in memory to read the Application now");
    try_again(app, &info);
}

static void send_record(void *arg)
{
    struct app *app = arg;
    struct app_recorder *recorder = &app->recorder;
    struct arena *arena = arena_new();
    struct json_object *tree = app_tree(app, arena);
    struct kube_request request = request_of(app, KUBE_MERGE_PATCH);
    bool any;
    const char *text = text_of(app, arena, &any);

    recorder->timer = NULL;
    recorder->due = false;
    if (!tree || strlen(text) > INVENTORY_MAX) {
        refuse(app, strlen(text));
    } else if (!any && !edit_has_finalizer(tree, FLEET_FINALIZER)) {
        mark_sent(app); /* nothing was created, and nothing has to be recorded */
        settle_places(app);
        fleet_daemon_wake_app(app->fleet, app->namespace_, app->name);
    } else {
        request.body = patch_of(app, arena, tree, any ? text : NULL);
        mark_sent(app);
        recorder->ask =
            tracked_send(&app->fleet->context, app->fleet->context.kube, &request, on_written, app);
    }
    arena_free(arena);
}

static void app_record(struct app *app)
{
    struct app_recorder *recorder = &app->recorder;

    if (recorder->ask)
        recorder->due = true;
    else if (!recorder->timer)
        recorder->timer = timer_start(app->fleet->context.loop, 0, 0, send_record, app);
}

static void app_recorder_end(struct app *app)
{
    tracked_free(app->recorder.ask);
    timer_stop(app->recorder.timer);
}
