#include "scaler/common_copy.h"

#include <limits.h>

#include "tick/edit.h"

enum verdict scaler_source(struct tick *tick, const struct kube_resource *resource,
                           struct json_object **out)
{
    return need_object(tick, resource, tick->canary->namespace_, tick->canary->autoscaler.name, out)
               ? VERDICT_GO
               : VERDICT_NEED_FACTS;
}

enum verdict scaler_copy_read(struct tick *tick, const struct kube_resource *resource,
                              struct scaler_copy *out)
{
    const char *name = arena_printf(tick->arena, "%s-primary", tick->canary->autoscaler.name);
    *out = (struct scaler_copy){.resource = resource, .name = name};
    enum verdict verdict = scaler_source(tick, resource, &out->source);
    bool known = need_object(tick, resource, tick->canary->namespace_, name, &out->live);

    return known ? verdict : VERDICT_NEED_FACTS;
}

/* The bound of the copy: what spec.autoscalerRef.primaryScalerReplicas says, or the source. NULL:
 * neither says anything. */
static struct json_object *bound(struct tick *tick, const char *field, struct json_object *source,
                                 const char *key)
{
    struct json_object *given =
        json_at(tick->canary->autoscaler_json, "primaryScalerReplicas", field, NULL);

    return given ? given : json_at(source, "spec", key, NULL);
}

static int number(struct json_object *value, int missing)
{
    int64_t given = value ? json_object_get_int64(value) : missing;

    return given < 0 ? 0 : given > INT_MAX ? INT_MAX : (int)given;
}

int scaler_copy_max(struct tick *tick, const struct scaler_bounds *bounds,
                    struct json_object *source)
{
    return number(bound(tick, "maxReplicas", source, bounds->max), bounds->default_max);
}

int scaler_start(const struct scaler_bounds *bounds, struct json_object *source)
{
    int least = number(json_at(source, "spec", bounds->min, NULL), 1);

    return least > 1 ? least : 1;
}

void scaler_copy_bounds(struct tick *tick, const struct scaler_bounds *bounds,
                        struct json_object *source, struct json_object *spec, int floor)
{
    struct json_object *least = bound(tick, "minReplicas", source, bounds->min);
    int largest = scaler_copy_max(tick, bounds, source);

    edit_put(tick->arena, spec, bounds->min, least);
    edit_put(tick->arena, spec, bounds->max, bound(tick, "maxReplicas", source, bounds->max));
    if (floor > largest)
        floor = largest;
    if (floor > number(least, bounds->default_min))
        json_set_int(spec, bounds->min, floor);
}

struct json_object *scaler_copy_new(struct tick *tick, const struct scaler_copy *copy)
{
    struct json_object *to = edit_new(tick, copy->resource, copy->name);

    json_set(json_sub(to, "metadata"), "labels",
             edit_without_toolkit(tick->arena, json_at(copy->source, "metadata", "labels", NULL)));
    return to;
}

void scaler_copy_metadata(struct tick *tick, const struct scaler_copy *copy, struct json_object *to)
{
    static const char *const maps[] = {"labels", "annotations"};
    struct json_object *metadata = json_sub(to, "metadata");

    for (int i = 0; i < 2; i++) {
        struct json_object *included =
            edit_included(tick, json_at(copy->source, "metadata", maps[i], NULL));
        if (json_object_object_length(included) > 0)
            json_set(metadata, maps[i],
                     edit_overlay(tick->arena, json_at(metadata, maps[i], NULL), included));
    }
}

void scaler_copy_write(struct tick *tick, const struct scaler_copy *copy, struct json_object *to)
{
    if (copy->live)
        plan_update(tick, copy->resource, copy->live, to);
    else
        plan_create(tick, copy->resource, tick->canary->namespace_, to);
}
