#include "random_edits/track.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* So long an edit waits for its moment: the app may never get there. */
enum { MID_MS = 6000, IDLE_MS = 10000 };

enum track_state { TRACK_WAITING, TRACK_MAKING, TRACK_AWAY, TRACK_DONE };

struct track {
    struct track_options options;
    enum track_state state;
    struct line line;
    size_t next;       /* of the lines */
    int64_t since_ms;  /* the line waits since */
    int64_t due_ms;    /* its moment has come: it is made then; 0 if not yet */
    int64_t return_ms; /* TRACK_AWAY: the controller comes back */
    int64_t last_ms;
    struct act acts[ACTS_MAX];
    size_t n_acts, at_act;
};

static bool take_line(struct track *track)
{
    const struct track_options *o = &track->options;
    if (o->pick) {
        track->line = pick_next(o->pick, o->arena);
        return true;
    }
    while (track->next < o->n_lines) {
        track->line = o->lines[track->next++];
        if (track->line.app == o->app)
            return true;
    }
    return false;
}

static void begin_next(struct track *track)
{
    track->state = take_line(track) ? TRACK_WAITING : TRACK_DONE;
    track->since_ms = clock_monotonic_ms();
    track->due_ms = 0;
}

struct track *track_new(const struct track_options *options)
{
    struct track *track = ARENA_NEW(options->arena, struct track);
    *track = (struct track){.options = *options};
    begin_next(track);
    return track;
}

bool track_done(const struct track *track)
{
    return track->state == TRACK_DONE;
}

int64_t track_last_ms(const struct track *track)
{
    return track->last_ms;
}

void track_end(struct track *track)
{
    if (track->state == TRACK_WAITING)
        track->state = TRACK_DONE;
    track->options.until_ms = 1;
}

/* --- moments */

static bool is_idle(const char *phase)
{
    return !phase || strcmp(phase, "Initialized") == 0 || strcmp(phase, "Succeeded") == 0 ||
           strcmp(phase, "Failed") == 0;
}

/* So far a release is before it is promoted: weights and iterations of app.c. */
static bool is_late(struct json_object *canary, const char *phase)
{
    enum { WEIGHT = 60, ITERATIONS = 4 };
    return !is_idle(phase) && (json_int_at(canary, 0, "status", "canaryWeight", NULL) >= WEIGHT ||
                               json_int_at(canary, 0, "status", "iterations", NULL) >= ITERATIONS ||
                               strcmp(phase, "Promoting") == 0);
}

static bool has_come(const struct track *track, int64_t now)
{
    struct json_object *canary =
        track->options.app ? view_get(track->options.view, &user_canaries, track->options.app->name)
                           : NULL;
    const char *phase = json_str_at(canary, "status", "phase", NULL);
    switch (track->line.when) {
    case WHEN_MID:
        return now - track->since_ms > MID_MS ||
               (!is_idle(phase) && (json_int_at(canary, 0, "status", "canaryWeight", NULL) > 0 ||
                                    json_int_at(canary, 0, "status", "iterations", NULL) > 0));
    case WHEN_LATE:
        return now - track->since_ms > MID_MS || is_late(canary, phase);
    case WHEN_IDLE:
        return now - track->since_ms > IDLE_MS || is_idle(phase);
    default:
        return true;
    }
}

/* --- requests */

static void send_act(struct track *track);

/* Gone already, and there already, is what was wanted. */
static bool is_well(const struct act *act, const struct kube_result *result)
{
    return result->err == ERR_OK || (act->verb == KUBE_DELETE && result->err == ERR_NOT_FOUND) ||
           (act->verb == KUBE_CREATE && result->status == 409);
}

static void on_answer(void *arg, const struct kube_result *result)
{
    struct track *track = arg;
    const struct act *act = &track->acts[track->at_act];
    if (result->err == ERR_CANCELLED)
        return;
    if (!is_well(act, result)) {
        track->options.refused(track->options.arg, &track->line, result->info->text);
        track->at_act = track->n_acts;
    }
    if (++track->at_act < track->n_acts)
        send_act(track);
    else if (track->options.until_ms == 1)
        track->state = TRACK_DONE;
    else
        begin_next(track);
}

static void send_act(struct track *track)
{
    const struct act *act = &track->acts[track->at_act];
    struct kube_request request = {.verb = act->verb,
                                   .raw_path = act->raw,
                                   .query = act->query,
                                   .resource = act->resource,
                                   .namespace_ = USER_NAMESPACE,
                                   .name = act->verb == KUBE_CREATE ? NULL : act->name,
                                   .body = act->body,
                                   .purpose = KUBE_LEASE};
    kube_send(track->options.kube, &request, on_answer, track);
}

/* A person asks about the revision that he sees. */
static void name_revision(const struct track *track, struct json_object *request)
{
    struct json_object *spec = json_at(request, "spec", NULL);
    const char *named = json_str_at(spec, "revision", NULL);
    const char *live =
        view_revision(track->options.arena, track->options.view, track->options.app->name);

    if (named && live && strcmp(named, "REVISION") == 0)
        json_set_str(spec, "revision", live);
}

static void kill_controller(struct track *track)
{
    stage_kill_controller(track->options.stage);
    judge_controller(track->options.judge, false, false);
    char *flags;
    track->return_ms = clock_monotonic_ms() + strtol(track->line.edit->text, &flags, 10);
    if (*flags)
        stage_set_flags(track->options.stage, flags + strspn(flags, " "));
    track->state = TRACK_AWAY;
}

static void come_back(struct track *track)
{
    struct errinfo ei;
    if (stage_start_controller(track->options.stage, &ei) != ERR_OK)
        judge_break(track->options.judge, NULL, "stage", "%s", ei.text);
    judge_controller(track->options.judge, true, stage_controller_leads(track->options.stage));
    begin_next(track);
}

static void on_told(void *arg, const struct http_result *result)
{
    (void)arg, (void)result; /* a pod may be gone already */
}

/* Each pod of the Deployment, or the first one, is told to say so to its probe. */
static void make_unready(struct track *track)
{
    enum { TIMEOUT_MS = 2000 };
    const struct track_options *o = &track->options;
    const struct edit *edit = track->line.edit;
    const char *name = user_name(o->arena, edit->object, o->app->name);
    char *rest;
    long seconds = strtol(edit->text, &rest, 10);
    size_t count;
    struct json_object *const *pods = view_list(o->view, &user_pods, &count);
    for (size_t i = 0; i < count; i++) {
        const char *address = json_str_at(pods[i], "status", "podIP", NULL);
        if (!address || strcmp(view_pod_owner(o->arena, pods[i]), name) != 0)
            continue;
        struct http_request request = {
            .method = "POST",
            .url = arena_printf(o->arena, "http://%s:9898/unready/%ld", address, seconds),
            .timeout_ms = TIMEOUT_MS,
            .proxy = ""};
        http_send(o->http, &request, on_told, NULL);
        if (*rest)
            break;
    }
}

static void make(struct track *track)
{
    const struct track_options *o = &track->options;
    int number = o->made(o->arg, &track->line);
    track->last_ms = clock_monotonic_ms();
    judge_edit(o->judge, &track->line, number);
    if (track->line.edit->kind == EDIT_KILL) {
        kill_controller(track);
        return;
    }
    if (track->line.edit->kind == EDIT_UNREADY) {
        make_unready(track);
        begin_next(track);
        return;
    }
    if (track->line.edit->kind == EDIT_HOOKS) {
        stage_answer(o->stage, o->app->name, track->line.edit->text);
        begin_next(track);
        return;
    }
    track->n_acts = edit_acts(o->arena, &track->line, stage_hooks(o->stage), track->acts);
    track->at_act = 0;
    track->state = TRACK_MAKING;
    if (track->line.edit->resource &&
        kube_resource_same(track->line.edit->resource, &user_requests))
        name_revision(track, track->acts[0].body);
    send_act(track);
}

void track_step(struct track *track)
{
    int64_t now = clock_monotonic_ms();
    if (track->state == TRACK_AWAY && now >= track->return_ms)
        come_back(track);
    if (track->state != TRACK_WAITING)
        return;
    bool late = track->options.until_ms && now >= track->options.until_ms;
    if (late || (track->options.app && judge_broken(track->options.judge, track->options.app))) {
        track->state = TRACK_DONE;
        return;
    }
    if (track->due_ms == 0 && has_come(track, now))
        track->due_ms = now + track->line.ms;
    if (track->due_ms > 0 && now >= track->due_ms)
        make(track);
}
