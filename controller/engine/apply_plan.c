#include "engine/apply_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "engine/alert_deliveries.h"
#include "engine/controller_metrics.h"
#include "engine/outbox.h"
#include "engine/recent.h"
#include "engine/traces.h"
#include "tick/wake.h"

struct apply {
    struct engine_context *context;
    struct deps *deps;
    struct tick *tick;
    struct effect *effect; /* the current one */
    apply_done_fn done;
    void *arg;
    struct kube_call *call;
    uint64_t uid; /* of an object being deleted, as watched; 0 if not watched */
    bool counts;  /* the current write tests a generation (replicas_only()) */
    bool plainly; /* the patch was refused; retry once with the resource version */
    int hooks;    /* informing hooks started */
    bool freed;
};

static enum apply_state run_on(struct apply *apply);
static void go_on(struct apply *apply);
static void write_effect(struct apply *apply);

static const char *canary_label(struct arena *arena, const struct canary *canary)
{
    return arena_printf(arena, "%s.%s", canary->name, canary->namespace_);
}

void report_event(struct engine_context *context, const struct canary *canary, enum phase phase,
                  const char *type, const char *text, int64_t now_ms)
{
    if (!context->events) /* shadow mode */
        return;
    struct event_object object = {.api_version = "flagger.app/v1beta1",
                                  .kind = "Canary",
                                  .namespace_ = canary->namespace_,
                                  .name = canary->name,
                                  .uid = canary->uid,
                                  .resource_version = canary->resource_version};
    event_record(context->events, &object, type, "Synced", text);
    outbox_event(context->outbox, canary, phase, type, text, now_ms);
    recent_events_add(context->recent_events, canary->namespace_, canary->name, type, text, now_ms);
    struct arena *arena = arena_new();
    const char *label = canary_label(arena, canary);
    if (strcmp(type, "Warning") == 0)
        log_warn("event", label, text, LOG_STR("phase", phase_name(phase)));
    else
        log_info("event", label, text, LOG_STR("phase", phase_name(phase)));
    arena_free(arena);
}

static void destroy(struct apply *apply)
{
    free(apply);
}

static void finish(struct apply *apply, enum err err, const struct errinfo *info)
{
    apply->done(apply->arg, err, info);
    destroy(apply);
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

/* Errors to ignore: the object is already in the wanted state. */
static bool already_so(const struct effect *effect, const struct kube_result *result)
{
    return effect->kind == EFFECT_DELETE && result->err == ERR_NOT_FOUND;
}

static void note_phase(struct apply *apply)
{
    const char *phase = json_str_at(apply->effect->body, "status", "phase", NULL);
    if (phase)
        controller_metrics_status(apply->tick->canary, phase_parse(phase));
}

static void write_ended(struct engine_context *context)
{
    if (--context->writes == 0)
        context->wrote(context->may_write_arg);
}

/* Stores the written object in the cache before the watch delivers it. */
static void learn(struct apply *apply, const struct kube_result *result)
{
    const struct effect *effect = apply->effect;
    struct object_cache *cache = apply->context->cache;
    bool gone = effect->kind == EFFECT_DELETE &&
                (result->err != ERR_OK || !json_at(result->body, "metadata", "uid", NULL));
    if (!gone)
        cache_learn(cache, effect->resource, result->body);
    else if (apply->uid)
        cache_learn_gone(cache, effect->resource, effect->namespace_, effect->name, apply->uid);
}

static void on_written(void *arg, const struct kube_result *result)
{
    struct apply *apply = arg;
    struct engine_context *context = apply->context;
    struct effect *effect = apply->effect;
    apply->call = NULL;
    if (apply->freed) { /* the context may have been freed */
        destroy(apply);
        return;
    }
    write_ended(context);
    if (result->err != ERR_OK && !already_so(effect, result)) {
        controller_metrics_effect(effect_name(effect->kind), err_name(result->err));
        /*
         * 422: the generation that the patch tests has changed, or a policy denied it; the retry by
         * version shows which
         */
        apply->plainly = apply->counts && result->status == 422;
        if (apply->plainly)
            write_effect(apply);
        else
            finish(apply, result->err, result->info);
        return;
    }
    controller_metrics_effect(effect_name(effect->kind), "ok");
    if (effect->kind == EFFECT_STATUS) {
        const struct canary *canary = apply->tick->canary;
        /* If the spec changed meanwhile, the watch event about it must not be swallowed. */
        if (json_int_at(result->body, 0, "metadata", "generation", NULL) == canary->generation)
            deps_wrote(apply->deps, &tick_canaries, canary->namespace_, canary->name, result->body);
        note_phase(apply);
        release_spans_status(context->traces, canary, effect->body);
    } else {
        const char *name =
            effect->name ? effect->name : json_str_at(effect->body, "metadata", "name", NULL);
        deps_wrote(apply->deps, effect->resource, effect->namespace_, name,
                   effect->kind == EFFECT_DELETE ? NULL : result->body);
    }
    learn(apply, result);
    effect_done(effect, json_str_at(result->body, "metadata", "resourceVersion", NULL));
    apply->effect = effect->next;
    go_on(apply);
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
 * A busy workload's status changes constantly. A patch of only spec.replicas therefore tests the
 * generation that was read, not the resource version, which every status update changes. NULL for
 * other patches and for resources without generations.
 */
static struct json_object *replicas_only(struct arena *arena, const struct effect *effect)
{
    struct json_object *uid = json_at(effect->read, "metadata", "uid", NULL);
    struct json_object *generation = json_at(effect->read, "metadata", "generation", NULL);
    struct json_object *spec = json_at(effect->body, "spec", NULL);
    struct json_object *replicas = json_at(spec, "replicas", NULL);

    if (effect->kind != EFFECT_PATCH || !replicas || !uid || !generation ||
        json_object_object_length(spec) != 1 || json_object_object_length(effect->body) != 2 ||
        json_object_object_length(json_at(effect->body, "metadata", NULL)) !=
            1) /* the resource version */
        return NULL;
    struct json_object *patch = json_own(arena, json_object_new_array());
    add_operation(patch, "test", "/metadata/uid", uid);
    add_operation(patch, "test", "/metadata/generation", generation);
    add_operation(patch, "add", "/spec/replicas", replicas);
    return patch;
}

static void note_uid(struct apply *apply)
{
    const struct effect *effect = apply->effect;
    const struct cached_object *seen;
    apply->uid = 0;
    if (effect->kind == EFFECT_DELETE &&
        cache_get(apply->context->cache, effect->resource, effect->namespace_, effect->name,
                  &seen) &&
        seen)
        apply->uid = seen->digest.uid;
}

static void write_effect(struct apply *apply)
{
    const struct effect *effect = apply->effect;
    const struct canary *canary = apply->tick->canary;
    struct kube_request request = {.resource = effect->resource,
                                   .namespace_ = effect->namespace_,
                                   .name = effect->name,
                                   .body = effect->body,
                                   .keeps = true,
                                   .purpose = wake_releases(canary->status.phase) ? KUBE_RELEASE
                                                                                  : KUBE_WRITE,
                                   .may_send = apply->context->may_write,
                                   .may_send_arg = apply->context->may_write_arg};
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
        apply->plainly ? NULL : replicas_only(apply->tick->arena, effect);
    apply->plainly = false;
    if (replicas) {
        request.verb = KUBE_JSON_PATCH;
        request.body = replicas;
    }
    apply->counts = replicas != NULL;
    note_uid(apply);
    if (request.resource->cluster_scoped)
        request.namespace_ = NULL;
    apply->context->writes++;
    apply->call =
        kube_send(context_kube(apply->context, request.resource), &request, on_written, apply);
}

/* --- informing hooks, which run in the background */

static void tell_hook(struct engine_context *context, const struct canary *canary, enum phase phase,
                      const char *hook, const struct hook_answer *answer)
{
    struct arena *arena = arena_new();
    const char *text =
        answer->passed ? arena_printf(arena, "Post-rollout check %s passed", hook)
                       : arena_printf(arena, "Post-rollout hook %s failed %s", hook, answer->text);
    report_event(context, canary, phase, answer->passed ? "Normal" : "Warning", text,
                 clock_wall_ms());
    arena_free(arena);
}

static void post_hook(struct apply *apply)
{
    const struct effect *effect = apply->effect;
    const struct canary *canary = apply->tick->canary;
    outbox_hook(apply->context->outbox, canary, &canary->analysis.webhooks[effect->webhook],
                effect->phase, apply->hooks++ > 0, tell_hook);
}

/* --- effects that complete at once */

static void tell_alert(struct apply *apply)
{
    const struct effect *effect = apply->effect;
    const char *label = canary_label(apply->tick->arena, apply->tick->canary);
    const char *reason = effect->reason ? effect->reason : "";
    if (strcmp(effect->severity, "info") == 0)
        log_info("alert", label, effect->text, LOG_STR("severity", effect->severity),
                 LOG_STR("reason", reason));
    else
        log_warn("alert", label, effect->text, LOG_STR("severity", effect->severity),
                 LOG_STR("reason", reason));
    alert_deliveries_take(apply->context->alerts, apply->tick, effect);
}

static void do_at_once(struct apply *apply)
{
    const struct effect *effect = apply->effect;
    const struct canary *canary = apply->tick->canary;
    switch (effect->kind) {
    case EFFECT_EVENT:
        report_event(apply->context, canary, effect->phase, effect->event_type, effect->text,
                     apply->tick->now_ms);
        break;
    case EFFECT_ALERT:
        tell_alert(apply);
        break;
    case EFFECT_WEIGHTS:
        controller_metrics_weights(canary, effect->primary_weight, effect->canary_weight);
        break;
    case EFFECT_METRIC:
        controller_metrics_analysis(canary, effect->text, effect->value);
        controller_metrics_bounds(canary, effect);
        break;
    case EFFECT_HOOK:
        post_hook(apply);
        break;
    default:
        controller_metrics_outcome(canary, effect->success, effect->text);
        break;
    }
}

static bool is_write(enum effect_kind kind)
{
    return kind == EFFECT_CREATE || kind == EFFECT_PATCH || kind == EFFECT_DELETE ||
           kind == EFFECT_STATUS;
}

/* Applies effects up to the first one that completes later. */
static enum apply_state run_on(struct apply *apply)
{
    for (; apply->effect; apply->effect = apply->effect->next) {
        /* Only the leader sends notifications. */
        if (!apply->context->may_write(apply->context->may_write_arg))
            return APPLY_REFUSED;
        if (is_write(apply->effect->kind)) {
            write_effect(apply);
            return APPLY_PENDING;
        }
        do_at_once(apply);
    }
    return APPLY_DONE;
}

/*
 * The process stops after a write: sends the events of that write, which would be lost otherwise.
 * Hooks are no longer called.
 */
static void tell_of_write(struct apply *apply)
{
    if (!apply->context->may_report(apply->context->may_write_arg))
        return;
    for (; apply->effect && !is_write(apply->effect->kind); apply->effect = apply->effect->next)
        if (apply->effect->kind != EFFECT_HOOK)
            do_at_once(apply);
}

/* Continues after an asynchronous effect. */
static void go_on(struct apply *apply)
{
    struct errinfo info = {0};
    switch (run_on(apply)) {
    case APPLY_PENDING:
        return;
    case APPLY_DONE:
        finish(apply, ERR_OK, &info);
        return;
    case APPLY_REFUSED:
        tell_of_write(apply);
        finish(apply, err_set(&info, ERR_CANCELLED, "this replica is not the leader any more"),
               &info);
        return;
    }
}

enum apply_state apply_start(struct engine_context *context, struct deps *deps, struct tick *tick,
                             apply_done_fn done, void *arg, struct apply **out)
{
    struct apply *apply = heap_alloc(sizeof(*apply));
    *apply = (struct apply){.context = context,
                            .deps = deps,
                            .tick = tick,
                            .effect = tick->plan->first,
                            .done = done,
                            .arg = arg};
    enum apply_state state = run_on(apply);
    if (state == APPLY_PENDING)
        *out = apply;
    else
        free(apply);
    return state;
}

void apply_gone(struct apply *apply)
{
    const struct effect *effect = apply ? apply->effect : NULL;

    if (!effect || !apply->call || effect->kind != EFFECT_PATCH ||
        effect->resource != &tick_canaries)
        return;
    apply->effect = effect->next;
    while (apply->effect && !is_write(apply->effect->kind) && apply->effect->kind != EFFECT_HOOK &&
           apply->context->may_write(apply->context->may_write_arg)) {
        do_at_once(apply);
        apply->effect = apply->effect->next;
    }
}

void apply_free(struct apply *apply)
{
    if (!apply)
        return;
    apply->freed = true;
    write_ended(apply->context);
    kube_cancel(apply->call); /* on_written frees it */
}

const struct effect *apply_effect(const struct apply *apply)
{
    return apply->effect;
}
