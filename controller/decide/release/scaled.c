#include "decide/release/scaled.h"

#include <string.h>

#include "target/common_primary.h"

static bool text_is(struct json_object *object, const char *key, const char *text)
{
    const char *found = json_str_at(object, key, NULL);

    return found && strcmp(found, text) == 0;
}

static const char *side_name(struct release *r, enum side side)
{
    return side == SIDE_PRIMARY ? primary_name(r->tick) : r->canary->target.name;
}

static bool scales(struct json_object *scaler, const char *kind, const char *name)
{
    struct json_object *ref = json_at(scaler, "spec", "scaleTargetRef", NULL);

    return text_is(ref, "name", name) &&
           (text_is(ref, "kind", kind) || !json_at(ref, "kind", NULL));
}

/* The autoscaler that the Canary names, or its copy for the primary. */
static bool is_named(struct release *r, enum side side, const char *kind, const char *name)
{
    const char *named = r->canary->autoscaler.name;

    if (!r->scaler || !name || strcmp(kind, r->scaler->kind) != 0)
        return false;
    if (side == SIDE_PRIMARY)
        named = arena_printf(r->tick->arena, "%s-primary", named);
    return strcmp(name, named) == 0;
}

/* One that another autoscaler has made (KEDA makes an HPA for each ScaledObject) is a part of it:
 * of the one that the Canary names, or of one that is found by itself. */
static bool is_part(struct release *r, enum side side, struct json_object *scaler, bool *of_named)
{
    struct json_object *owners = json_at(scaler, "metadata", "ownerReferences", NULL);

    *of_named = false;
    for (size_t i = 0; i < json_len(owners); i++) {
        struct json_object *owner = json_elem(owners, i);
        const char *kind = json_str_at(owner, "kind", NULL);
        if (!kind || !scaler_find(kind))
            continue;
        *of_named = is_named(r, side, kind, json_str_at(owner, "name", NULL));
        return true;
    }
    return false;
}

/* The one that is no part of another counts, where both are found. */
static void take(struct release *r, enum side side, const struct scaler *kind,
                 struct json_object *object)
{
    struct own_scaler *own = &r->own_scaler[side];
    bool of_named, part = is_part(r, side, object, &of_named);

    if (!object || json_at(object, "metadata", "deletionTimestamp", NULL) || of_named ||
        (own->object && part))
        return;
    *own = (struct own_scaler){.kind = kind, .object = object};
}

static enum verdict look(struct release *r, enum side side, const struct scaler *kind)
{
    const char *name = side_name(r, side), *namespace_ = r->canary->namespace_;
    enum verdict verdict = VERDICT_GO;
    struct json_object *list, *object;

    if (!need_scalers(r->tick, kind->resource, namespace_, r->target->kind, name, &list))
        return VERDICT_NEED_FACTS;
    for (size_t i = 0; i < json_len(list); i++) {
        const char *found = json_str_at(json_elem(list, i), "metadata", "name", NULL);
        if (!found || !scales(json_elem(list, i), r->target->kind, name) ||
            is_named(r, side, kind->kind, found))
            continue;
        if (!need_object_if_watched(r->tick, kind->resource, namespace_, found, &object))
            verdict = VERDICT_NEED_FACTS;
        else if (scales(object, r->target->kind, name))
            take(r, side, kind, object);
    }
    return verdict;
}

enum verdict scaled_read(struct release *r)
{
    enum verdict verdict = VERDICT_GO;

    memset(r->own_scaler, 0, sizeof(r->own_scaler));
    for (size_t i = 0; r->target->has_replicas && scaler_table[i]; i++) {
        for (int side = SIDE_PRIMARY; side <= SIDE_CANARY; side++)
            verdict = look(r, (enum side)side, scaler_table[i]) == VERDICT_GO ? verdict
                                                                              : VERDICT_NEED_FACTS;
    }
    return verdict;
}

const char *scaled_text(struct release *r, enum side side)
{
    const struct own_scaler *own = &r->own_scaler[side];

    return arena_printf(r->tick->arena, "%s %s.%s", own->kind->kind,
                        json_str_at(own->object, "metadata", "name", NULL), r->canary->namespace_);
}
