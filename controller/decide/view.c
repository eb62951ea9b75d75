/*
 * What the rules are given of a Canary: mostly its live spec. A spec that cannot be read is
 * replaced by the one that was accepted before it, which status.acceptedSpec remembers: a release
 * that runs must go on being guarded whatever is written into the spec.
 */
#include "decide/view.h"

#include "decide/decide.h"
#include "decide/release/release.h"
#include "tick/edit.h"

/* These say what is to be done with the Canary itself, and count at once. */
static const char *const of_the_live_spec[] = {"suspend", "revertOnDeletion"};

bool view_accepted(struct arena *arena, struct json_object *object, struct canary *out)
{
    struct json_object *accepted = json_at(object, "status", "acceptedSpec", NULL);
    struct errinfo ignored;

    if (!json_object_is_type(accepted, json_type_object))
        return false;
    struct json_object *copy = json_copy(arena, object);
    struct json_object *spec = json_copy(arena, accepted);
    for (size_t i = 0; i < sizeof(of_the_live_spec) / sizeof(of_the_live_spec[0]); i++) {
        struct json_object *live = json_at(object, "spec", of_the_live_spec[i], NULL);
        json_object_object_del(spec, of_the_live_spec[i]);
        if (json_object_is_type(live, json_type_boolean))
            json_set(spec, of_the_live_spec[i], live);
    }
    json_set(copy, "spec", spec);
    return canary_view(arena, copy, out, &ignored) == ERR_OK;
}

enum err revert_view(struct arena *arena, struct json_object *object, struct canary *out,
                     struct errinfo *ei)
{
    enum err err = canary_view(arena, object, out, ei);

    if (err != ERR_INVALID || !json_at(object, "metadata", "deletionTimestamp", NULL))
        return err;
    struct json_object *copy = json_copy(arena, object);
    json_object_object_del(json_at(copy, "spec", NULL), "analysis");
    json_object_object_del(json_at(copy, "spec", NULL), "canaryAnalysis");
    struct errinfo ignored;
    return canary_view(arena, copy, out, &ignored) == ERR_OK ? ERR_OK
                                                             : canary_view(arena, object, out, ei);
}

enum err accept_view(struct arena *arena, struct json_object *object, struct canary *out,
                     const char **mistake, struct errinfo *ei)
{
    struct errinfo ignored;
    enum err err = canary_view(arena, object, out, ei);

    *mistake = NULL;
    if (err != ERR_INVALID)
        return err;
    *mistake = arena_strdup(arena, ei->text);
    if (view_accepted(arena, object, out) || revert_view(arena, object, out, &ignored) == ERR_OK)
        return ERR_OK;
    return canary_view(arena, object, out, ei);
}
