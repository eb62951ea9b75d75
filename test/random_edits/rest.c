#include "random_edits/rest.h"

#include <string.h>

#include "base/clock.h"
#include "proto/phase.h"

enum {
    ENDS_MS = 75 * 1000,  /* a release ends within: deadline, checks and their threshold */
    STANDS_MS = 25000,    /* or it stands, and says what it waits for, a deadline later */
    CALM_MS = 1000,       /* a release that ended stays so */
    QUIET_MS = 3000,      /* no request for so long is quiet */
    LOOPS_MS = 30 * 1000, /* and it is so within */
};

struct rest {
    struct rest_options options;
    int64_t began_ms, ended_ms; /* ended: all releases; 0 if not yet */
    int64_t asked_ms, quiet_ms, busy;
    uint64_t steps; /* of all Canaries, in one number */
    bool asking, done;
};

struct rest *rest_new(const struct rest_options *options)
{
    struct rest *rest = ARENA_NEW(options->arena, struct rest);
    *rest = (struct rest){.options = *options, .began_ms = clock_monotonic_ms(), .busy = -1};
    return rest;
}

bool rest_done(const struct rest *rest)
{
    return rest->done;
}

/* A release whose writes are refused ends at its deadline, until something of it is promoted. Its
 * rollback may be what is refused: of a route. One that is being deleted waits. */
static bool has_to_end(struct json_object *canary, const char *phase)
{
    const char *resource = json_str_at(canary, "status", "refusedWrite", "resource", NULL);
    return phase && strcmp(phase, "Progressing") == 0 && resource &&
           strcmp(resource, "httproutes") != 0 && !json_at(canary, "status", "paused", NULL) &&
           !json_at(canary, "metadata", "deletionTimestamp", NULL);
}

/* Somebody has to do something. A refused spec is such a case while nothing is released by it: a
 * release that runs is rolled back. */
static bool stands(const struct rest *rest, const struct app *app)
{
    struct json_object *canary = view_get(rest->options.view, &user_canaries, app->name);
    struct json_object *conditions = json_at(canary, "status", "conditions", NULL);
    const char *phase = json_str_at(canary, "status", "phase", NULL);
    bool refused = false;
    if (json_bool_at(canary, false, "spec", "suspend", NULL))
        return true;
    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        const char *status = json_str_at(json_elem(conditions, i), "status", NULL);
        if (!type || !status || strcmp(status, "False") != 0)
            continue;
        if (strcmp(type, "Reverted") == 0 || strcmp(type, "PrimaryFound") == 0 ||
            strcmp(type, "Configured") == 0)
            return true;
        refused |= strcmp(type, "Accepted") == 0;
        if (strcmp(type, "WritesAccepted") == 0)
            return !has_to_end(canary, phase);
    }
    if (refused)
        return !phase || strcmp(phase, "Initializing") == 0 || strcmp(phase, "Waiting") == 0;
    return judge_says_why(rest->options.judge, app, rest->options.since_ms);
}

/* Whether the release of the app has ended; or why not. */
static bool has_ended(const struct rest *rest, const struct app *app, const char **phase)
{
    static const char *const ends[] = {"Initialized", "Succeeded", "Failed"};
    struct json_object *canary = view_get(rest->options.view, &user_canaries, app->name);
    *phase = json_str_at(canary, "status", "phase", NULL);
    if (!canary)
        return true;
    for (size_t i = 0; *phase && i < sizeof(ends) / sizeof(ends[0]); i++)
        if (strcmp(*phase, ends[i]) == 0)
            return true;
    return false;
}

/* One that stood, and was helped by the deadline, goes on through another release: that is no loop. */
static bool moves(struct rest *rest, int64_t now)
{
    uint64_t steps = 0;

    for (size_t i = 0; i < rest->options.n_apps; i++) {
        struct json_object *canary =
            view_get(rest->options.view, &user_canaries, rest->options.apps[i]->name);
        struct json_object *status = json_at(canary, "status", NULL);
        steps = steps * 31 + (uint64_t)phase_parse(json_str_at(status, "phase", NULL));
        steps = steps * 31 + (uint64_t)json_int_at(status, 0, "iterations", NULL);
        steps = steps * 31 + (uint64_t)json_int_at(status, 0, "canaryWeight", NULL);
    }
    bool moved = steps != rest->steps;
    rest->steps = steps;
    return moved && now - rest->began_ms < 2 * ENDS_MS;
}

static bool all_ended(struct rest *rest, int64_t now)
{
    const struct rest_options *o = &rest->options;
    bool all = true;
    for (size_t i = 0; i < o->n_apps; i++) {
        const char *phase;
        if (judge_broken(o->judge, o->apps[i]) || has_ended(rest, o->apps[i], &phase))
            continue;
        if (now - rest->began_ms > STANDS_MS && stands(rest, o->apps[i]))
            continue;
        if (now - rest->began_ms < ENDS_MS)
            all = false;
        else
            judge_break(o->judge, o->apps[i], "stuck",
                        "%d s after the last edit it is %s, and does not say what it waits for",
                        ENDS_MS / 1000, phase ? phase : "without a phase");
    }
    return all;
}

/* --- requests of the controller */

static void on_stats(void *arg, const struct kube_result *result)
{
    struct rest *rest = arg;
    int64_t busy = 0, now = clock_monotonic_ms();
    rest->asking = false;
    if (result->err != ERR_OK)
        return;
    json_object_object_foreach(json_at(result->body, "agents", NULL), agent, counts)
    {
        if (strncmp(agent, "flagger-controller", 18) == 0)
            busy += json_int_at(counts, 0, "busy", NULL);
    }
    if (busy != rest->busy)
        rest->quiet_ms = now;
    rest->busy = busy;
    if (now - rest->quiet_ms >= QUIET_MS)
        rest->done = true;
}

static void ask_stats(struct rest *rest)
{
    struct kube_request request = {
        .verb = KUBE_GET, .raw_path = "/sandbox/stats", .purpose = KUBE_LEASE};
    rest->asking = true;
    kube_send(rest->options.kube, &request, on_stats, rest);
}

void rest_step(struct rest *rest)
{
    const struct rest_options *o = &rest->options;
    int64_t now = clock_monotonic_ms();
    if (rest->done)
        return;
    if (!all_ended(rest, now)) { /* or no longer: who stood was helped, and goes on */
        rest->ended_ms = 0;
        return;
    }
    if (moves(rest, now) || rest->ended_ms == 0)
        rest->ended_ms = now;
    if (!rest->asking && now - rest->asked_ms > CALM_MS / 2) {
        rest->asked_ms = now;
        ask_stats(rest);
    }
    bool some_broken = false; /* what it does then is part of that violation */
    for (size_t i = 0; i < o->n_apps; i++)
        some_broken |= judge_broken(o->judge, o->apps[i]);
    if (some_broken)
        rest->done = true;
    if (!rest->done && now - rest->ended_ms > LOOPS_MS) {
        judge_break(o->judge, NULL, "loops", "%d s after all releases ended it still asks the API",
                    LOOPS_MS / 1000);
        rest->done = true;
    }
    for (size_t i = 0; rest->done && i < o->n_apps; i++)
        if (!judge_broken(o->judge, o->apps[i]))
            judge_rest(o->judge, o->apps[i]);
}
