#include "page/show_plan.h"

#include <string.h>

static const char *const counts[] = {"canaries", "promoted", "underWay", "failed", "held"};
enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };

static void copy_str(struct json_object *out, struct json_object *from, const char *key)
{
    json_set_str(out, key, json_str_at(from, key, NULL));
}

static void copy_counts(struct json_object *out, struct json_object *from)
{
    for (int i = 0; i < COUNTS; i++)
        json_set_int(out, counts[i],
                     json_int_at(out, 0, counts[i], NULL) + json_int_at(from, 0, counts[i], NULL));
}

struct json_object *show_plan_brief(struct arena *arena, struct json_object *plan)
{
    static const char *const texts[] = {"phase", "message", "revision"};
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *metadata = json_at(plan, "metadata", NULL);
    struct json_object *status = json_at(plan, "status", NULL);
    struct json_object *waves = json_at(status, "waves", NULL);

    copy_str(out, metadata, "namespace");
    copy_str(out, metadata, "name");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        copy_str(out, status, texts[i]);
    json_set_str(
        out, "since",
        json_str_at(json_elem(json_at(status, "conditions", NULL), 0), "lastTransitionTime", NULL));
    copy_counts(out, NULL);
    for (size_t i = 0; i < json_len(waves); i++)
        copy_counts(out, json_elem(waves, i));
    return out;
}

static struct json_object *show_condition(struct arena *arena, struct json_object *condition)
{
    static const char *const texts[] = {"type", "status", "reason", "message"};
    struct json_object *out = json_own(arena, json_object_new_object());

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        copy_str(out, condition, texts[i]);
    json_set_str(out, "since", json_str_at(condition, "lastTransitionTime", NULL));
    return out;
}

static struct json_object *show_cluster(struct arena *arena, struct json_object *row)
{
    static const char *const texts[] = {"name", "state", "phase", "revision", "lastContact"};
    struct json_object *out = json_own(arena, json_object_new_object());
    const char *says = json_str_at(row, "says", NULL);

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        copy_str(out, row, texts[i]);
    json_set_str(out, "says", says ? says : "");
    json_set_int(out, "weight", json_int_at(row, 0, "weight", NULL));
    return out;
}

/* Those of the wave; NULL: of none. */
static struct json_object *show_clusters(struct arena *arena, struct json_object *rows,
                                         const char *wave)
{
    struct json_object *out = json_own(arena, json_object_new_array());

    for (size_t i = 0; i < json_len(rows); i++) {
        const char *own = json_str_at(json_elem(rows, i), "wave", NULL);
        if (wave ? own && strcmp(own, wave) == 0 : !own)
            json_object_array_add(out, json_object_get(show_cluster(arena, json_elem(rows, i))));
    }
    return out;
}

static struct json_object *show_wave(struct arena *arena, struct json_object *wave,
                                     struct json_object *clusters)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    const char *name = json_str_at(wave, "name", NULL);

    json_set_str(out, "name", name);
    copy_counts(out, wave);
    copy_str(out, wave, "began");
    copy_str(out, wave, "completed");
    json_set_bool(out, "passed", json_bool_at(wave, false, "passed", NULL));
    json_set(out, "clusters", show_clusters(arena, clusters, name ? name : ""));
    return out;
}

struct json_object *show_plan(struct arena *arena, struct json_object *plan)
{
    struct json_object *out = show_plan_brief(arena, plan);
    struct json_object *status = json_at(plan, "status", NULL);
    struct json_object *conditions = json_at(status, "conditions", NULL);
    struct json_object *waves = json_at(status, "waves", NULL);
    struct json_object *clusters = json_at(status, "clusters", NULL);
    struct json_object *list = json_own(arena, json_object_new_array());

    for (size_t i = 0; i < json_len(conditions); i++)
        json_object_array_add(list,
                              json_object_get(show_condition(arena, json_elem(conditions, i))));
    json_set(out, "conditions", list);
    list = json_own(arena, json_object_new_array());
    for (size_t i = 0; i < json_len(waves); i++)
        json_object_array_add(list,
                              json_object_get(show_wave(arena, json_elem(waves, i), clusters)));
    json_set(out, "waves", list);
    json_set(out, "outside", show_clusters(arena, clusters, NULL));
    return out;
}
