#include "prose.h"

#include "tick/plan.h"

static struct json_object *conditions(struct json_object *status)
{
    return json_at(status, "conditions", NULL);
}

struct json_object *prose_reworded(struct arena *arena, struct json_object *canary)
{
    struct json_object *copy = json_copy(arena, canary);
    struct json_object *list = conditions(json_at(copy, "status", NULL));

    for (size_t i = 0; i < json_len(list); i++)
        json_set_str(json_elem(list, i), "message", "said in other words");
    struct json_object *judged = json_at(copy, "status", "judge", "metrics", NULL);
    for (size_t i = 0; i < json_len(judged); i++)
        json_set_str(json_elem(judged, i), "says", "said in other words");
    return json_len(list) > 0 ? copy : NULL;
}

/* A status that is only said anew is written, and with it the spec that was acted on. */
static const char *status_after(struct arena *arena, const struct tick *tick,
                                struct json_object *canary)
{
    struct json_object *status = json_copy(arena, json_at(canary, "status", NULL));

    for (const struct effect *e = tick->plan->first; e; e = e->next) {
        if (e->kind == EFFECT_STATUS)
            status = json_merge(arena, status, json_at(e->body, "status", NULL));
    }
    struct json_object *list = conditions(status);
    for (size_t i = 0; i < json_len(list); i++) {
        json_object_object_del(json_elem(list, i), "message");
        json_object_object_del(json_elem(list, i), "lastUpdateTime");
    }
    struct json_object *judged = json_at(status, "judge", "metrics", NULL);
    for (size_t i = 0; i < json_len(judged); i++)
        json_object_object_del(json_elem(judged, i), "says");
    json_object_object_del(status, "acceptedSpec");
    json_object_object_del(status, "release");
    json_object_object_del(status, "history");
    return json_text_sorted(arena, status);
}

const char *prose_decision(struct arena *arena, const struct tick *tick, struct json_object *canary)
{
    const char *text = "";

    for (const struct effect *e = tick->plan->first; e; e = e->next) {
        if (e->kind == EFFECT_CREATE || e->kind == EFFECT_PATCH || e->kind == EFFECT_DELETE)
            text = arena_printf(arena, "%s%d %s %s %s\n", text, (int)e->kind, e->resource->plural,
                                e->name, e->body ? json_text_sorted(arena, e->body) : "");
    }
    return arena_printf(arena, "%s%s", text, status_after(arena, tick, canary));
}
