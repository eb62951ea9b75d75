/* One Canary is held, or let go: a patch of the version that was seen. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "fleet/fleet.h"
#include "members/ask.h"
#include "members/wave_parts.h"

enum { PATIENCE_MS = 5000 }; /* a round waits for all of its steps */

struct wave_step {
    struct members_context *context;
    struct member *member;
    struct arena *arena;
    const char *namespace_, *name, *label, *version;
    bool hold;
    struct claim_wait wait;
    struct ask *ask;
    struct timer *timer;
    wave_step_fn done;
    void *arg;
};

void wave_step_free(struct wave_step *step)
{
    if (!step)
        return;
    timer_stop(step->timer);
    ask_free(step->ask);
    if (step->member->claim)
        claim_leave(step->member->claim, &step->wait);
    arena_free(step->arena);
    free(step);
}

const struct member *wave_step_member(const struct wave_step *step)
{
    return step->member;
}

static void tell_failure(const struct wave_step *step, const struct errinfo *info)
{
    log_warn("fleet_hold_failed", NULL, info->text, LOG_STR("plan", step->label),
             LOG_STR("canary", step->name), LOG_STR("namespace", step->namespace_),
             LOG_STR("secret", step->member->access));
}

static void on_written(void *arg, const struct kube_result *result)
{
    struct wave_step *step = arg;

    step->ask = NULL;
    if (result->err == ERR_OK)
        stock_learn(step->member->stock, &fleet_canaries, result->body);
    else if (result->err != ERR_CONFLICT && result->err != ERR_NOT_FOUND)
        tell_failure(step, result->info);
    step->done(step->arg, step);
}

/* What was suspended without our mark is never held: so this is how it was before. */
static struct json_object *patch_of(const struct wave_step *step)
{
    struct json_object *body = json_own(step->arena, json_object_new_object());
    struct json_object *metadata = json_sub(body, "metadata"), *spec = json_sub(body, "spec");
    struct json_object *notes = json_sub(metadata, "annotations");

    json_set_str(metadata, "resourceVersion", step->version);
    if (step->hold) {
        json_set_bool(spec, "suspend", true);
        json_set_str(notes, WAVES_HELD_BY, step->label);
        json_set_str(notes, WAVES_MANAGER, step->context->identity);
    } else {
        json_set(spec, "suspend", NULL);
        json_set(notes, WAVES_HELD_BY, NULL);
        json_set(notes, WAVES_MANAGER, NULL);
    }
    return body;
}

static void send_patch(void *arg)
{
    struct wave_step *step = arg;
    const struct kube_request request = {.verb = KUBE_MERGE_PATCH,
                                         .resource = &fleet_canaries,
                                         .namespace_ = step->namespace_,
                                         .name = step->name,
                                         .body = patch_of(step),
                                         .timeout_ms = PATIENCE_MS};

    step->timer = NULL;
    log_info(step->hold ? "fleet_held" : "fleet_let_go", NULL,
             step->hold ? "the Canary waits for its turn" : "the turn of the Canary has come",
             LOG_STR("plan", step->label), LOG_STR("secret", step->member->access),
             LOG_STR("namespace", step->namespace_), LOG_STR("name", step->name));
    step->ask = ask_start(step->context, step->member->kube, &request, on_written, step);
}

static void on_claimed(void *arg, enum err err, const struct errinfo *info)
{
    struct wave_step *step = arg;

    if (err == ERR_OK) {
        send_patch(step);
        return;
    }
    tell_failure(step, info);
    step->done(step->arg, step);
}

/* The resourceVersion of the Canary that the rules have seen; NULL: it is another one by now. */
static const char *version_of(const struct wave_step_spec *spec, struct arena *arena)
{
    const struct stock *stock = spec->member->stock;
    const struct stock_canary *seen =
        stock ? stock_canary(stock, spec->namespace_, spec->name) : NULL;
    struct arena *reading = arena_new();
    struct json_object *canary = NULL;

    if (seen && seen->seen.digest.version == spec->version)
        (void)stock_look(stock, reading, &fleet_canaries, spec->namespace_, spec->name, &canary);
    const char *version =
        arena_strdup(arena, json_str_at(canary, "metadata", "resourceVersion", NULL));
    arena_free(reading);
    return version;
}

struct wave_step *wave_step_start(struct members_context *context,
                                  const struct wave_step_spec *spec, wave_step_fn done, void *arg)
{
    struct arena *arena = arena_new();
    const char *version = version_of(spec, arena);

    if (!version) {
        arena_free(arena);
        return NULL;
    }
    struct wave_step *step = heap_alloc(sizeof(*step));
    *step = (struct wave_step){.context = context,
                               .member = spec->member,
                               .arena = arena,
                               .namespace_ = arena_strdup(arena, spec->namespace_),
                               .name = arena_strdup(arena, spec->name),
                               .label = arena_strdup(arena, spec->label),
                               .version = version,
                               .hold = spec->hold,
                               .wait = {.done = on_claimed},
                               .done = done,
                               .arg = arg};
    step->wait.arg = step;
    if (claim_enter(step->member->claim, &step->wait))
        step->timer = timer_start(context->loop, 0, 0, send_patch, step);
    return step;
}
