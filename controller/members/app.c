#include "members/app_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fleet/fleet.h"
#include "fleet/inventory.h"

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
    app->view_content = tree ? desk_app_content(app->hub->desk, app->namespace_, app->name) : 0;
    arena_free(arena);
}

static bool is_current(const struct app *app)
{
    return app->view_content == desk_app_content(app->hub->desk, app->namespace_, app->name);
}

/* --- as its places know it */

static struct app *app_of(struct place_owner *owner)
{
    return (struct app *)(void *)owner;
}

static void on_changed(struct place_owner *owner)
{
    app_changed(app_of(owner));
}

static void on_record(struct place_owner *owner)
{
    app_record(app_of(owner));
}

static void on_wake(struct place_owner *owner)
{
    hub_wake_app(owner->hub, owner->namespace_, owner->name);
}

static void on_warn(struct place_owner *owner, const char *reason, const char *text)
{
    app_event(app_of(owner), "Warning", reason, text);
}

static struct view *on_view(struct place_owner *owner)
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

/* After a start: what was made before, as the Application remembers it. */
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
    const char *mistake = member                                    ? member->mistake
                          : app->hub->context.settings->own_cluster ? NULL
                                                                    : MEMBERS_NOT_OWN;
    place->wanted = true;
    bool came_back = place->leaves;
    place->leaves = false;
    place_reach(place, mistake ? NULL : access, mistake);
    place_aim(place, policy->rollout);
    if (place->marked && place->member) { /* all that may have a mark */
        member_need(place->member, &kube_deployments);
        member_need(place->member, &fleet_templates);
        member_need(place->member, &fleet_ingresses);
    }
    if (came_back)
        place->due = true;
    arena_free(arena);
}

/* Nobody knows which clusters the fleet has, so that none has left it. */
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
        policy->destination.fleet ? desk_known(app->hub->desk, app->namespace_) : &none;
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

/* Which places are wanted now. */
static void choose(struct app *app)
{
    struct arena *arena = arena_new();
    struct place *place;

    TAILQ_FOREACH(place, &app->places, of_app)
    {
        /* What cannot be read holds all as it is, but for one that goes. */
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
        if (strcmp(place->cluster, FLEET_HOST) == 0) /* also where it is no member any more */
            place_reach(place, "", NULL);
        place_aim(place, NULL);
        place_abort(place);
    }
    arena_free(arena);
}

/* --- those that leave */

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
    hub_wake_app(app->hub, app->namespace_, app->name);
}

/* When a deletion has waited long enough for a cluster that is away: counted from the deletion, but not
 * from before it was last reached, or this process began. Who was down for long has not tried it yet. */
static int64_t abandon_at(const struct app *app, const struct member *member)
{
    int64_t from_ms = app->deleted_ms > app->begun_ms ? app->deleted_ms : app->begun_ms;

    if (member && member->heard_ms > from_ms)
        from_ms = member->heard_ms;
    return from_ms + app->hub->context.settings->abandon_ms;
}

/* A cluster that nobody can ever reach, or has not for long, does not hold a deletion. */
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
            timer_start(app->hub->context.loop, next_ms - now_ms, 0, on_abandon, app);
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

/* Also of one that cannot be read. */
static bool has_rollout(struct json_object *tree)
{
    struct json_object *policies = json_at(tree, "spec", "syncPolicies", NULL);

    for (size_t i = 0; i < json_len(policies); i++)
        if (json_at(json_elem(policies, i), "rollout", NULL))
            return true;
    return false;
}

/* Kurator's own controller acts on the same rollouts: one of the two must not. */
static void see_keeper(struct app *app, struct json_object *tree)
{
    static const char sentence[] =
        "it has the finalizer " APP_KURATOR
        ": Kurator's own controller looks after it, and this one "
        "leaves it alone; --adopt-kurator says that that one does not run any more";
    bool kept = app->releases && app_has_finalizer(tree, APP_KURATOR) &&
                !app->hub->context.settings->adopt_kurator;

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

/* False: there is no room to read it now. */
static bool see(struct app *app)
{
    struct arena *arena = arena_new();
    struct json_object *tree = app_tree(app, arena);

    if (tree) {
        app->generation = json_int_at(tree, 0, "metadata", "generation", NULL);
        set_text(&app->uid, json_str_at(tree, "metadata", "uid", NULL));
        app->ours = app_has_finalizer(tree, FLEET_FINALIZER);
        see_deletion(app, tree);
        if (!is_current(app))
            read_view(app);
        app->releases = has_rollout(tree);
        if (!app->releases && !app->ours)
            set_text(&app->mistake, NULL); /* nothing of it is ours to read */
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
    uint64_t content = desk_app_content(app->hub->desk, app->namespace_, app->name);
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
        app_record(app); /* which takes the finalizer away */
    if (news || app->teller.ever)
        app_changed(app);
    return true;
}

/* --- life */

struct app *app_new(struct hub *hub, const char *namespace_, const char *name)
{
    struct app *app = heap_alloc(sizeof(*app));

    *app = (struct app){
        .hub = hub,
        .namespace_ = heap_strdup(namespace_),
        .name = heap_strdup(name),
        .label = heap_printf("%s/%s", namespace_, name),
        .begun_ms = clock_wall_ms(),
        .recorder.backoff = {.min_ms = members_retry_ms(&hub->context), .max_ms = 60000},
        .teller.backoff = {.min_ms = members_retry_ms(&hub->context), .max_ms = 60000}};
    app->owner = (struct place_owner){.hub = hub,
                                      .namespace_ = app->namespace_,
                                      .name = app->name,
                                      .label = app->label,
                                      .changed = on_changed,
                                      .record = on_record,
                                      .wake = on_wake,
                                      .warn = on_warn,
                                      .view = on_view};
    TAILQ_INIT(&app->places);
    return app;
}

void app_free(struct app *app)
{
    if (!app)
        return;
    drop_all(app);
    app_recorder_end(app);
    app_teller_end(app);
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

void app_look(const struct app *app, struct app_look *out)
{
    const struct place *place;

    *out = (struct app_look){.trouble = app->mistake  ? app->mistake
                                        : app->keeper ? app->keeper
                                                      : app->trouble,
                             .writes = app->recorder.ask || app->teller.ask};
    TAILQ_FOREACH(place, &app->places, of_app)
    {
        out->places++;
    }
}
