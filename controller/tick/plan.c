/* The plan of a tick: effects in order. */
#include <string.h>

#include "base/buf.h"
#include "tick/plan.h"
#include "tick/tick.h"

static struct effect *add_effect(struct tick *tick, enum effect_kind kind)
{
    struct effect *effect = ARENA_NEW(tick->arena, struct effect);

    effect->kind = kind;
    effect->phase = tick->canary->status.phase;
    *tick->plan->last = effect;
    tick->plan->last = &effect->next;
    tick->plan->count++;
    return effect;
}

static struct effect *add_write(struct tick *tick, enum effect_kind kind,
                                const struct kube_resource *resource, const char *namespace_,
                                const char *name, struct json_object *body)
{
    struct effect *effect = add_effect(tick, kind);

    effect->resource = resource;
    effect->namespace_ = resource->cluster_scoped ? "" : namespace_;
    effect->name = name;
    effect->body = body;
    return effect;
}

static bool same_object(const struct effect *a, const struct effect *b)
{
    return a->resource && b->resource && a->namespace_ && b->namespace_ &&
           strcmp(a->resource->group, b->resource->group) == 0 &&
           strcmp(a->resource->plural, b->resource->plural) == 0 &&
           strcmp(a->namespace_, b->namespace_) == 0 && strcmp(a->name, b->name) == 0;
}

void effect_done(struct effect *effect, const char *version)
{
    for (struct effect *later = effect->next; version && later; later = later->next) {
        if (!same_object(later, effect))
            continue;
        later->read = NULL;
        if (json_at(later->body, "metadata", "resourceVersion", NULL))
            json_set_str(json_sub(later->body, "metadata"), "resourceVersion", version);
    }
}

bool effect_writes(const struct effect *effect)
{
    return effect->kind == EFFECT_CREATE || effect->kind == EFFECT_PATCH ||
           effect->kind == EFFECT_DELETE;
}

bool plan_writes(const struct tick *tick, const struct kube_resource *resource,
                 const char *namespace_, const char *name)
{
    const struct effect wanted = {.resource = resource, .namespace_ = namespace_, .name = name};

    for (const struct effect *effect = tick->plan->first; effect; effect = effect->next) {
        if (same_object(effect, &wanted))
            return true;
    }
    return false;
}

void plan_create(struct tick *tick, const struct kube_resource *resource, const char *namespace_,
                 struct json_object *body)
{
    const char *name = json_str_at(body, "metadata", "name", NULL);

    if (!name) {
        tick_broken(tick, "%s without a name would be created", resource->plural);
        return;
    }
    add_write(tick, EFFECT_CREATE, resource, namespace_, name, body);
}

static void drop_when_empty(struct json_object *object, const char *key)
{
    struct json_object *map = json_at(object, key, NULL);

    if (json_object_is_type(map, json_type_object) && json_object_object_length(map) == 0)
        json_object_object_del(object, key);
}

/* A server drops empty labels or annotations, so that writing them would be repeated for ever. */
static struct json_object *difference(struct tick *tick, struct json_object *from,
                                      struct json_object *to)
{
    struct json_object *patch = json_merge_diff(tick->arena, from, to);
    struct json_object *metadata = json_at(patch, "metadata", NULL);

    drop_when_empty(metadata, "labels");
    drop_when_empty(metadata, "annotations");
    drop_when_empty(patch, "metadata");
    return patch && json_object_object_length(patch) > 0 ? patch : NULL;
}

bool plan_update(struct tick *tick, const struct kube_resource *resource, struct json_object *from,
                 struct json_object *to)
{
    struct json_object *patch = difference(tick, from, to);

    if (!patch)
        return false;
    json_set_str(json_sub(patch, "metadata"), "resourceVersion",
                 json_str_at(from, "metadata", "resourceVersion", NULL));
    add_write(tick, EFFECT_PATCH, resource, json_str_at(from, "metadata", "namespace", NULL),
              json_str_at(from, "metadata", "name", NULL), patch)
        ->read = from;
    return true;
}

/* Returns the preconditions, for callers that need more of them. */
static struct json_object *add_delete(struct tick *tick, const struct kube_resource *resource,
                                      struct json_object *live)
{
    struct json_object *options = json_own(tick->arena, json_object_new_object());
    struct json_object *preconditions = json_sub(options, "preconditions");

    json_set_str(preconditions, "uid", json_str_at(live, "metadata", "uid", NULL));
    add_write(tick, EFFECT_DELETE, resource, json_str_at(live, "metadata", "namespace", NULL),
              json_str_at(live, "metadata", "name", NULL), options);
    return preconditions;
}

void plan_delete(struct tick *tick, const struct kube_resource *resource, struct json_object *live)
{
    (void)add_delete(tick, resource, live);
}

void plan_replace(struct tick *tick, const struct kube_resource *resource, struct json_object *from,
                  struct json_object *to)
{
    static const char *const given[] = {"resourceVersion", "uid", "creationTimestamp", "generation",
                                        "managedFields"};
    struct json_object *fresh = json_copy(tick->arena, to);

    json_set_str(add_delete(tick, resource, from), "resourceVersion",
                 json_str_at(from, "metadata", "resourceVersion", NULL));
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
        json_object_object_del(json_sub(fresh, "metadata"), given[i]);
    plan_create(tick, resource, json_str_at(from, "metadata", "namespace", NULL), fresh);
}

void plan_status(struct tick *tick, struct json_object *patch)
{
    const struct canary *canary = tick->canary;

    if (canary->resource_version && *canary->resource_version)
        json_set_str(json_sub(patch, "metadata"), "resourceVersion", canary->resource_version);
    add_write(tick, EFFECT_STATUS, &tick_canaries, canary->namespace_, canary->name, patch);
}

void plan_event(struct tick *tick, const char *type, enum phase phase, const char *fmt, ...)
{
    struct effect *effect = add_effect(tick, EFFECT_EVENT);
    va_list args;

    va_start(args, fmt);
    effect->text = arena_vprintf(tick->arena, fmt, args);
    va_end(args);
    effect->event_type = type;
    effect->phase = phase;
}

struct effect *plan_alert(struct tick *tick, const char *severity, bool with_metadata,
                          const char *fmt, ...)
{
    struct effect *effect = add_effect(tick, EFFECT_ALERT);
    va_list args;

    va_start(args, fmt);
    effect->text = arena_vprintf(tick->arena, fmt, args);
    va_end(args);
    effect->severity = severity;
    effect->with_metadata = with_metadata;
    return effect;
}

void plan_weights(struct tick *tick, int primary, int canary)
{
    struct effect *effect = add_effect(tick, EFFECT_WEIGHTS);

    effect->primary_weight = primary;
    effect->canary_weight = canary;
}

struct effect *plan_metric(struct tick *tick, const char *metric, double value)
{
    struct effect *effect = add_effect(tick, EFFECT_METRIC);

    effect->text = metric;
    effect->value = value;
    return effect;
}

void plan_outcome(struct tick *tick, bool success, const char *how)
{
    struct effect *effect = add_effect(tick, EFFECT_OUTCOME);

    effect->success = success;
    effect->text = how;
}

void plan_hook(struct tick *tick, int webhook_index, enum phase phase)
{
    struct effect *effect = add_effect(tick, EFFECT_HOOK);

    effect->webhook = webhook_index;
    effect->phase = phase;
}

void plan_why(struct tick *tick, const char *fmt, ...)
{
    struct effect *effect = tick->plan->first;
    va_list args;

    if (!effect) {
        tick_broken(tick, "the reason of an effect is told before there is one");
        return;
    }
    while (effect->next)
        effect = effect->next;
    va_start(args, fmt);
    effect->why = arena_vprintf(tick->arena, fmt, args);
    va_end(args);
}

static enum rule_result stop(struct tick *tick, const char *text)
{
    if (!tick->due)
        return RULE_DONE;
    plan_event(tick, "Warning", tick->canary->status.phase, "%s", text);
    tick->plan->stepped = true;
    tick->plan->waits = true;
    return RULE_DONE;
}

enum rule_result plan_stop(struct tick *tick, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *text = arena_vprintf(tick->arena, fmt, args);
    va_end(args);
    return stop(tick, text);
}

enum rule_result plan_block(struct tick *tick, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    tick->plan->blocked = arena_vprintf(tick->arena, fmt, args);
    va_end(args);
    return stop(tick, tick->plan->blocked);
}
