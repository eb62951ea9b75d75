#include "decide/act/finalizer.h"

#include <string.h>

#include "tick/edit.h"

static struct json_object *finalizers(struct json_object *canary)
{
    return json_at(canary, "metadata", "finalizers", NULL);
}

bool finalizer_is_set(struct json_object *canary)
{
    struct json_object *list = finalizers(canary);

    for (size_t i = 0; i < json_len(list); i++) {
        const char *name = json_object_get_string(json_elem(list, i));
        if (name && strcmp(name, FINALIZER) == 0)
            return true;
    }
    return false;
}

void finalizer_plan(struct tick *tick, struct json_object *canary, bool wanted)
{
    struct json_object *to = json_copy(tick->arena, canary);
    struct json_object *metadata = json_sub(to, "metadata");
    struct json_object *list = edit_array(tick->arena);

    for (size_t i = 0; i < json_len(finalizers(canary)); i++) {
        struct json_object *one = json_elem(finalizers(canary), i);
        const char *name = json_object_get_string(one);
        if (!name || strcmp(name, FINALIZER) != 0)
            json_object_array_add(list, json_object_get(one));
    }
    if (wanted)
        json_object_array_add(list, json_object_new_string(FINALIZER));
    if (json_len(list) > 0)
        json_set(metadata, "finalizers", list);
    else
        json_object_object_del(metadata, "finalizers");
    if (plan_update(tick, &tick_canaries, canary, to))
        plan_why(tick, wanted ? "with finalizer" : "without finalizer");
}

void finalizer_keep(struct release *r)
{
    /* who waits for another's end may be deleted in that very moment; in a cluster apart nobody else
     * deletes the routes; a target that is pinned would stay so */
    bool wanted = r->canary->revert_on_deletion || r->tick->heir || r->tick->barred ||
                  r->tick->settings->mesh_apart || r->canary->analysis.finishes;

    if (finalizer_is_set(r->canary->json) != wanted)
        finalizer_plan(r->tick, r->canary->json, wanted);
}
