/* The inventory and the finalizer of an Application, in one write, before anything is made. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fleet/daemon/app_parts.h"
#include "fleet/daemon/context.h"
#include "fleet/rules/inventory.h"
#include "tick/edit.h"

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

bool app_is_recorded(const struct app *app, struct json_object *tree)
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

/* Takes over the inventory that was written. */
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
    if (result->err == ERR_NOT_FOUND) /* gone: the watch will deliver that */
        return;
    if (result->err != ERR_OK) {
        try_again(app, result->info);
        return;
    }
    backoff_reset(&recorder->backoff);
    management_cache_learn_app(app->fleet->management, result->body);
    settle_places(app);
    fleet_daemon_wake_app(app->fleet, app->namespace_,
                          app->name); /* which drops those that have left it */
    if (recorder->due)
        app_record(app);
}

/* --- the write */

/* Kurator's goes with ours, if this fleet adopts its Applications. */
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

/* The API server refuses the write. */
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
        mark_sent(app); /* nothing was made, and nothing is noted */
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

void app_record(struct app *app)
{
    struct app_recorder *recorder = &app->recorder;

    if (recorder->ask)
        recorder->due = true;
    else if (!recorder->timer)
        recorder->timer = timer_start(app->fleet->context.loop, 0, 0, send_record, app);
}

void app_recorder_end(struct app *app)
{
    tracked_free(app->recorder.ask);
    timer_stop(app->recorder.timer);
}
