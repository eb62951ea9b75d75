/* The status of an Application: written some time after something of it has changed, and only if it is
 * another one than was written last. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "members/app_parts.h"
#include "members/ask.h"

/* What changes at the same time is told at once; a burst is told every so often. */
enum { SOON_MS = 300, APART_MS = 2000 };

static void send_status(void *arg);

static void tell_in(struct app *app, int64_t ms)
{
    if (!app->teller.timer)
        app->teller.timer = timer_start(app->hub->context.loop, ms, 0, send_status, app);
}

void app_changed(struct app *app)
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

/* Each key that is to be there is there already: others may have some of their own. */
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
        desk_learn_app(app->hub->desk, result->body);
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

/* What was written last is compared with, and not what is there: a definition may drop some of it. */
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
    teller->ask = ask_start(&app->hub->context, app->hub->context.kube, &request, on_sent, app);
}

/* One that never had a rollout, and that nobody has told anything of, is not touched. */
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

void app_teller_end(struct app *app)
{
    ask_free(app->teller.ask);
    timer_stop(app->teller.timer);
    free(app->teller.sent);
    free(app->teller.sending);
}
