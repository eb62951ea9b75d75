#include "observe/copies.h"

#include <string.h>

struct copy *copies_find(const struct copies *copies, const struct kube_resource *resource,
                         const char *namespace_, const char *name)
{
    for (struct copy *copy = copies->first; copy; copy = copy->next)
        if (kube_resource_same(copy->resource, resource) && strcmp(copy->name, name) == 0 &&
            strcmp(copy->namespace_, namespace_) == 0)
            return copy;
    return NULL;
}

static struct copy *add(struct copies *copies, const struct kube_resource *resource,
                        const char *namespace_, const char *name, struct json_object *object)
{
    struct copy *copy = ARENA_NEW(copies->arena, struct copy);

    *copy = (struct copy){.next = copies->first,
                          .resource = resource,
                          .namespace_ = arena_strdup(copies->arena, namespace_),
                          .name = arena_strdup(copies->arena, name),
                          .base = object,
                          .now = object};
    copies->first = copy;
    return copy;
}

void copies_put(struct copies *copies, const struct kube_resource *resource, const char *namespace_,
                const char *name, struct json_object *object)
{
    struct copy *copy = copies_find(copies, resource, namespace_, name);

    if (copy)
        copy->now = object;
    else
        (void)add(copies, resource, namespace_, name, object);
}

static struct copy *copy_of(struct copies *copies, struct tick *tick, const struct effect *effect)
{
    const char *name =
        effect->name ? effect->name : json_str_at(effect->body, "metadata", "name", NULL);
    struct copy *copy = copies_find(copies, effect->resource, effect->namespace_, name);
    struct json_object *base = NULL;

    if (copy)
        return copy;
    /* what no rule has read is made anew */
    (void)need_object(tick, effect->resource, effect->namespace_, name, &base);
    return add(copies, effect->resource, effect->namespace_, name, base);
}

static void write_copy(struct copies *copies, struct tick *tick, const struct effect *effect)
{
    if (effect->resource == &tick_canaries) {
        copies->canary = json_merge(copies->arena, copies->canary, effect->body);
        return;
    }
    struct copy *copy = copy_of(copies, tick, effect);
    copy->now = effect->kind == EFFECT_DELETE ? NULL
                : effect->kind == EFFECT_CREATE
                    ? json_copy(copies->arena, effect->body)
                    : json_merge(copies->arena, copy->now, effect->body);
    fact_replace(tick, copy->resource, copy->namespace_, copy->name, copy->now);
}

bool copies_carry_out(struct copies *copies, struct tick *tick)
{
    bool writes = false;

    for (struct effect *effect = tick->plan->first; effect; effect = effect->next) {
        switch (effect->kind) {
        case EFFECT_CREATE:
        case EFFECT_PATCH:
        case EFFECT_DELETE:
            write_copy(copies, tick, effect);
            writes = true;
            break;
        case EFFECT_STATUS:
            copies->canary = json_merge(copies->arena, copies->canary, effect->body);
            writes = true;
            break;
        default:
            break;
        }
    }
    return writes;
}
