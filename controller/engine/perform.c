#include "engine/perform.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "engine/alerts.h"
#include "engine/gauges.h"
#include "engine/outbox.h"
#include "engine/told.h"
#include "tick/wake.h"

struct perform {
    struct engine_context *context;
    struct deps *deps;
    struct tick *tick;
    struct effect *effect; /* the one under way */
    perform_done_fn done;
    void *arg;
    struct kube_call *call;
    uint64_t uid; /* of what is being deleted, as the watch shows it; 0: it does not */
    bool counts;  /* the write that is under way counts on a generation (replicas_only()) */
    bool plainly; /* ... was refused, and is tried once more, counting on the version */
    int hooks;    /* informing ones so far */
    bool freed;
};

static enum perform_state run_on(struct perform *perform);
static void go_on(struct perform *perform);
static void write_effect(struct perform *perform);

static const char *canary_label(struct arena *arena, const struct canary *canary)
{
    return arena_printf(arena, "%s.%s", canary->name, canary->namespace_);
}

void perform_event(struct engine_context *context, const struct canary *canary, enum phase phase,
                   const char *type, const char *text, int64_t now_ms)
{
    if (!context->events) /* of a process that observes there are none */
        return;
    struct event_object object = {.api_version = "flagger.app/v1beta1",
                                  .kind = "Canary",
                                  .namespace_ = canary->namespace_,
                                  .name = canary->name,
                                  .uid = canary->uid,
                                  .resource_version = canary->resource_version};
    event_record(context->events, &object, type, "Synced", text);
    outbox_event(context->outbox, canary, phase, type, text, now_ms);
    told_add(context->told, canary->namespace_, canary->name, type, text, now_ms);
    struct arena *arena = arena_new();
    const char *label = canary_label(arena, canary);
    if (strcmp(type, "Warning") == 0)
        log_warn("event", label, text, LOG_STR("phase", phase_name(phase)));
    else
        log_info("event", label, text, LOG_STR("phase", phase_name(phase)));
    arena_free(arena);
}

static void destroy(struct perform *perform)
{
    free(perform);
}

static void finish(struct perform *perform, enum err err, const struct errinfo *info)
{
    perform->done(perform->arg, err, info);
    destroy(perform);
}

static const char *effect_name(enum effect_kind kind)
{
    static const char *const names[] = {
        [EFFECT_CREATE] = "create",   [EFFECT_PATCH] = "patch",   [EFFECT_DELETE] = "delete",
        [EFFECT_STATUS] = "status",   [EFFECT_EVENT] = "event",   [EFFECT_ALERT] = "alert",
        [EFFECT_WEIGHTS] = "weights", [EFFECT_METRIC] = "metric", [EFFECT_OUTCOME] = "outcome",
        [EFFECT_HOOK] = "hook",
    };
    return names[kind];
}

/* --- writes */

/* What must not be repeated as an error: it is already as the effect wanted it. */
static bool already_so(const struct effect *effect, const struct kube_result *result)
{
    return effect->kind == EFFECT_DELETE && result->err == ERR_NOT_FOUND;
}

static void note_phase(struct perform *perform)
{
    const char *phase = json_str_at(perform->effect->body, "status", "phase", NULL);
    if (phase)
        gauges_status(perform->tick->canary, phase_parse(phase));
}

static void write_ended(struct engine_context *context)
{
    if (--context->writes == 0)
        context->wrote(context->may_write_arg);
}

/* What the write has left there; the watch will show it later. */
static void learn(struct perform *perform, const struct kube_result *result)
{
    const struct effect *effect = perform->effect;
    struct watchset *watches = perform->context->watches;
    bool gone = effect->kind == EFFECT_DELETE &&
                (result->err != ERR_OK || !json_at(result->body, "metadata", "uid", NULL));
    if (!gone)
        watchset_learn(watches, effect->resource, result->body);
    else if (perform->uid)
        watchset_learn_gone(watches, effect->resource, effect->namespace_, effect->name,
                            perform->uid);
}

static void on_written(void *arg, const struct kube_result *result)
{
    struct perform *perform = arg;
    struct engine_context *context = perform->context;
    struct effect *effect = perform->effect;
    perform->call = NULL;
    if (perform->freed) { /* and the context may be gone */
        destroy(perform);
        return;
    }
    write_ended(context);
    if (result->err != ERR_OK && !already_so(effect, result)) {
        gauges_effect(effect_name(effect->kind), err_name(result->err));
        /* the answer when it is another one by now, and that of a policy: the version tells which */
        perform->plainly = perform->counts && result->status == 422;
        if (perform->plainly)
            write_effect(perform);
        else
            finish(perform, result->err, result->info);
        return;
    }
    gauges_effect(effect_name(effect->kind), "ok");
    if (effect->kind == EFFECT_STATUS) {
        const struct canary *canary = perform->tick->canary;
        /* A spec that changed since it was read came with this answer: its event must stay news. */
        if (json_int_at(result->body, 0, "metadata", "generation", NULL) == canary->generation)
            deps_wrote(perform->deps, &tick_canaries, canary->namespace_, canary->name,
                       result->body);
        note_phase(perform);
    } else {
        const char *name =
            effect->name ? effect->name : json_str_at(effect->body, "metadata", "name", NULL);
        deps_wrote(perform->deps, effect->resource, effect->namespace_, name,
                   effect->kind == EFFECT_DELETE ? NULL : result->body);
    }
    learn(perform, result);
    effect_done(effect, json_str_at(result->body, "metadata", "resourceVersion", NULL));
    perform->effect = effect->next;
    go_on(perform);
}

static void add_operation(struct json_object *patch, const char *op, const char *path,
                          struct json_object *value)
{
    struct json_object *operation = json_object_new_object();

    json_set_str(operation, "op", op);
    json_set_str(operation, "path", path);
    json_set(operation, "value", value);
    json_object_array_add(patch, operation);
}

/*
 * Of a workload that is busy the status is written all the time. So a patch of nothing but
 * spec.replicas counts on the spec that was read, its generation, and not on the version, which
 * every status changes. NULL: it is another patch, or the resource counts no generations.
 */
static struct json_object *replicas_only(struct arena *arena, const struct effect *effect)
{
    struct json_object *uid = json_at(effect->read, "metadata", "uid", NULL);
    struct json_object *generation = json_at(effect->read, "metadata", "generation", NULL);
    struct json_object *spec = json_at(effect->body, "spec", NULL);
    struct json_object *replicas = json_at(spec, "replicas", NULL);

    if (effect->kind != EFFECT_PATCH || !replicas || !uid || !generation ||
        json_object_object_length(spec) != 1 || json_object_object_length(effect->body) != 2 ||
        json_object_object_length(json_at(effect->body, "metadata", NULL)) != 1) /* the version */
        return NULL;
    struct json_object *patch = json_own(arena, json_object_new_array());
    add_operation(patch, "test", "/metadata/uid", uid);
    add_operation(patch, "test", "/metadata/generation", generation);
    add_operation(patch, "add", "/spec/replicas", replicas);
    return patch;
}

static void note_uid(struct perform *perform)
{
    const struct effect *effect = perform->effect;
    const struct seen *seen;
    perform->uid = 0;
    if (effect->kind == EFFECT_DELETE &&
        watchset_look(perform->context->watches, effect->resource, effect->namespace_, effect->name,
                      &seen) &&
        seen)
        perform->uid = seen->digest.uid;
}

static void write_effect(struct perform *perform)
{
    const struct effect *effect = perform->effect;
    const struct canary *canary = perform->tick->canary;
    struct kube_request request = {.resource = effect->resource,
                                   .namespace_ = effect->namespace_,
                                   .name = effect->name,
                                   .body = effect->body,
                                   .keeps = true,
                                   .purpose =
                                       wake_releases(canary->status.phase) ? KUBE_MOVE : KUBE_WRITE,
                                   .may_send = perform->context->may_write,
                                   .may_send_arg = perform->context->may_write_arg};
    switch (effect->kind) {
    case EFFECT_CREATE:
        request.verb = KUBE_CREATE;
        request.name = NULL;
        break;
    case EFFECT_DELETE:
        request.verb = KUBE_DELETE;
        break;
    case EFFECT_STATUS:
        request.verb = KUBE_MERGE_PATCH;
        request.resource = &tick_canaries;
        request.namespace_ = canary->namespace_;
        request.name = canary->name;
        request.sub = "status";
        break;
    default:
        request.verb = KUBE_MERGE_PATCH;
        break;
    }
    struct json_object *replicas =
        perform->plainly ? NULL : replicas_only(perform->tick->arena, effect);
    perform->plainly = false;
    if (replicas) {
        request.verb = KUBE_JSON_PATCH;
        request.body = replicas;
    }
    perform->counts = replicas != NULL;
    note_uid(perform);
    if (request.resource->cluster_scoped)
        request.namespace_ = NULL;
    perform->context->writes++;
    perform->call =
        kube_send(context_kube(perform->context, request.resource), &request, on_written, perform);
}

/* --- informing hooks, which nobody waits for */

static void tell_hook(struct engine_context *context, const struct canary *canary, enum phase phase,
                      const char *hook, const struct hook_answer *answer)
{
    struct arena *arena = arena_new();
    const char *text =
        answer->passed ? arena_printf(arena, "Post-rollout check %s passed", hook)
                       : arena_printf(arena, "Post-rollout hook %s failed %s", hook, answer->text);
    perform_event(context, canary, phase, answer->passed ? "Normal" : "Warning", text,
                  clock_wall_ms());
    arena_free(arena);
}

static void post_hook(struct perform *perform)
{
    const struct effect *effect = perform->effect;
    const struct canary *canary = perform->tick->canary;
    outbox_hook(perform->context->outbox, canary, &canary->analysis.webhooks[effect->webhook],
                effect->phase, perform->hooks++ > 0, tell_hook);
}

/* --- the rest happens at once */

static void tell_alert(struct perform *perform)
{
    const struct effect *effect = perform->effect;
    const char *label = canary_label(perform->tick->arena, perform->tick->canary);
    const char *reason = effect->reason ? effect->reason : "";
    if (strcmp(effect->severity, "info") == 0)
        log_info("alert", label, effect->text, LOG_STR("severity", effect->severity),
                 LOG_STR("reason", reason));
    else
        log_warn("alert", label, effect->text, LOG_STR("severity", effect->severity),
                 LOG_STR("reason", reason));
    alerts_take(perform->context->alerts, perform->tick, effect);
}

static void do_at_once(struct perform *perform)
{
    const struct effect *effect = perform->effect;
    const struct canary *canary = perform->tick->canary;
    switch (effect->kind) {
    case EFFECT_EVENT:
        perform_event(perform->context, canary, effect->phase, effect->event_type, effect->text,
                      perform->tick->now_ms);
        break;
    case EFFECT_ALERT:
        tell_alert(perform);
        break;
    case EFFECT_WEIGHTS:
        gauges_weights(canary, effect->primary_weight, effect->canary_weight);
        break;
    case EFFECT_METRIC:
        gauges_analysis(canary, effect->text, effect->value);
        gauges_bounds(canary, effect);
        break;
    case EFFECT_HOOK:
        post_hook(perform);
        break;
    default:
        gauges_outcome(canary, effect->success, effect->text);
        break;
    }
}

static bool is_write(enum effect_kind kind)
{
    return kind == EFFECT_CREATE || kind == EFFECT_PATCH || kind == EFFECT_DELETE ||
           kind == EFFECT_STATUS;
}

/* Does effects until one has to be waited for. */
static enum perform_state run_on(struct perform *perform)
{
    for (; perform->effect; perform->effect = perform->effect->next) {
        /* Who does not lead tells nothing either: whoever leads now does. */
        if (!perform->context->may_write(perform->context->may_write_arg))
            return PERFORM_REFUSED;
        if (is_write(perform->effect->kind)) {
            write_effect(perform);
            return PERFORM_PENDING;
        }
        do_at_once(perform);
    }
    return PERFORM_DONE;
}

/* After an effect that was waited for. */
static void go_on(struct perform *perform)
{
    struct errinfo info = {0};
    switch (run_on(perform)) {
    case PERFORM_PENDING:
        return;
    case PERFORM_DONE:
        finish(perform, ERR_OK, &info);
        return;
    case PERFORM_REFUSED:
        finish(perform, err_set(&info, ERR_CANCELLED, "this replica is not the leader any more"),
               &info);
        return;
    }
}

enum perform_state perform_start(struct engine_context *context, struct deps *deps,
                                 struct tick *tick, perform_done_fn done, void *arg,
                                 struct perform **out)
{
    struct perform *perform = heap_alloc(sizeof(*perform));
    *perform = (struct perform){.context = context,
                                .deps = deps,
                                .tick = tick,
                                .effect = tick->plan->first,
                                .done = done,
                                .arg = arg};
    enum perform_state state = run_on(perform);
    if (state == PERFORM_PENDING)
        *out = perform;
    else
        free(perform);
    return state;
}

void perform_gone(struct perform *perform)
{
    const struct effect *effect = perform ? perform->effect : NULL;

    if (!effect || !perform->call || effect->kind != EFFECT_PATCH ||
        effect->resource != &tick_canaries)
        return;
    perform->effect = effect->next;
    while (perform->effect && !is_write(perform->effect->kind) &&
           perform->effect->kind != EFFECT_HOOK &&
           perform->context->may_write(perform->context->may_write_arg)) {
        do_at_once(perform);
        perform->effect = perform->effect->next;
    }
}

void perform_free(struct perform *perform)
{
    if (!perform)
        return;
    perform->freed = true;
    write_ended(perform->context);
    kube_cancel(perform->call); /* on_written comes and frees */
}

const struct effect *perform_effect(const struct perform *perform)
{
    return perform->effect;
}
