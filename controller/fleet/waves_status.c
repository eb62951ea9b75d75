#include "fleet/waves_status.h"

#include <string.h>

#include "base/clock.h"
#include "fleet/conditions.h"

enum { MAX_KEPT = 100000 };

static const char *const phases[] = {
#define WAVES_PHASE(name) [WAVES_##name] = #name,
#include "fleet/waves_phase.def"
#undef WAVES_PHASE
};

static const char *const states[] = {
#define WAVES_STATE(name) [WAVES_IS_##name] = #name,
#include "fleet/waves_state.def"
#undef WAVES_STATE
};

/* --- what is read back */

static int64_t read_time(struct json_object *json, const char *key)
{
    const char *text = json_str_at(json, key, NULL);
    int64_t ms = 0;

    return text && clock_parse(text, &ms, NULL) == ERR_OK ? ms : 0;
}

static void read_waves(struct arena *arena, struct json_object *array, struct waves_status *out)
{
    size_t count = json_len(array);

    out->waves = arena_array(arena, count, sizeof(*out->waves));
    for (size_t i = 0; i < count; i++) {
        struct json_object *json = json_elem(array, i);
        const char *name = json_str_at(json, "name", NULL);
        if (!name)
            continue;
        out->waves[out->n_waves++] =
            (struct waves_wave){.name = name,
                                .began_ms = read_time(json, "began"),
                                .completed_ms = read_time(json, "completed"),
                                .passed = json_bool_at(json, false, "passed", NULL)};
    }
}

static void read_let_go(struct arena *arena, struct json_object *array, struct waves_status *out)
{
    size_t count = json_len(array) < MAX_KEPT ? json_len(array) : MAX_KEPT;

    out->let_go = arena_array(arena, count, sizeof(*out->let_go));
    for (size_t i = 0; i < count; i++) {
        struct json_object *key = json_elem(array, i);
        if (json_object_is_type(key, json_type_string))
            out->let_go[out->n_let_go++] = json_object_get_string(key);
    }
}

static void read_revisions(struct arena *arena, struct json_object *map, struct waves_status *out)
{
    if (!json_object_is_type(map, json_type_object))
        return;
    out->revisions =
        arena_array(arena, (size_t)json_object_object_length(map), sizeof(*out->revisions));
    json_object_object_foreach(map, workload, hash)
    {
        if (json_object_is_type(hash, json_type_string))
            out->revisions[out->n_revisions++] = (struct waves_revision){
                .workload = arena_strdup(arena, workload), .hash = json_object_get_string(hash)};
    }
}

/* Of the clusters only their replicas. */
static void read_clusters(struct arena *arena, struct json_object *array, struct waves_status *out)
{
    size_t count = json_len(array) < MAX_KEPT ? json_len(array) : MAX_KEPT;

    out->clusters = arena_array(arena, count, sizeof(*out->clusters));
    for (size_t i = 0; i < count; i++) {
        struct json_object *json = json_elem(array, i);
        const char *name = json_str_at(json, "name", NULL);
        int64_t replicas = json_int_at(json, 0, "replicas", NULL);
        if (name && replicas > 0)
            out->clusters[out->n_clusters++] =
                (struct waves_says){.cluster = name, .replicas = replicas};
    }
}

struct waves_status waves_status_read(struct arena *arena, struct json_object *plan)
{
    struct json_object *json = json_at(plan, "status", NULL);
    struct waves_status out = {.revision = json_str_at(json, "revision", NULL)};

    if (!out.revision)
        out.revision = "";
    read_revisions(arena, json_at(json, "revisions", NULL), &out);
    read_let_go(arena, json_at(json, "letGo", NULL), &out);
    read_waves(arena, json_at(json, "waves", NULL), &out);
    read_clusters(arena, json_at(json, "clusters", NULL), &out);
    return out;
}

/* --- what is written */

static void set_number(struct json_object *json, const char *key, int64_t number)
{
    json_object_object_add(json, key, json_object_new_int64(number));
}

static void set_time(struct json_object *json, const char *key, int64_t ms)
{
    char text[CLOCK_TEXT];

    if (ms > 0)
        json_set_str(json, key, clock_rfc3339(ms, text));
}

/* An array that is put into the object, and belongs to it. */
static struct json_object *add_array(struct json_object *json, const char *key)
{
    struct json_object *array = json_object_new_array();

    json_object_object_add(json, key, array);
    return array;
}

static struct json_object *wave_json(const struct waves_wave *wave)
{
    struct json_object *json = json_object_new_object();

    json_set_str(json, "name", wave->name);
    set_number(json, "canaries", wave->canaries);
    set_number(json, "promoted", wave->promoted);
    set_number(json, "failed", wave->failed);
    set_number(json, "underWay", wave->under_way);
    set_number(json, "held", wave->held);
    set_time(json, "began", wave->began_ms);
    set_time(json, "completed", wave->completed_ms);
    if (wave->passed)
        json_object_object_add(json, "passed", json_object_new_boolean(true));
    return json;
}

static void add_conditions(struct json_object *json, const struct waves_status *status,
                           struct json_object *old, int64_t now_ms)
{
    const struct condition all[] = {
        {"Ready", phases[status->phase], status->message, status->phase == WAVES_Completed},
        {"Stopped", phases[status->phase], status->phase == WAVES_Stopped ? status->message : "",
         status->phase == WAVES_Stopped},
        {"Late", status->late ? "DeadlinePassed" : "InTime", status->late ? status->message : "",
         status->late},
    };
    struct json_object *array = add_array(json, "conditions");

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        conditions_add(array, &all[i], old, now_ms);
}

static void add_what_it_does(struct json_object *row, const struct waves_says *says)
{
    if (says->phase != PHASE_NONE)
        json_set_str(row, "phase", phase_name(says->phase));
    if (says->weight > 0)
        set_number(row, "weight", says->weight);
    if (says->revision && *says->revision)
        json_set_str(row, "revision", says->revision);
    set_time(row, "lastContact", says->seen_ms);
    if (says->replicas > 0)
        set_number(row, "replicas", says->replicas);
}

static void add_clusters(struct json_object *json, const struct waves_status *status)
{
    struct json_object *array = add_array(json, "clusters");

    for (size_t i = 0; i < status->n_clusters; i++) {
        struct json_object *row = json_object_new_object();
        json_set_str(row, "name", status->clusters[i].cluster);
        if (status->clusters[i].wave)
            json_set_str(row, "wave", status->clusters[i].wave);
        json_set_str(row, "state", states[status->clusters[i].state]);
        json_set_str(row, "says", status->clusters[i].says);
        add_what_it_does(row, &status->clusters[i]);
        json_object_array_add(array, row);
    }
}

struct json_object *waves_status_json(struct arena *arena, const struct releaseplan *plan,
                                      const struct waves_status *status, struct json_object *old,
                                      int64_t now_ms)
{
    struct json_object *json = json_own(arena, json_object_new_object());

    set_number(json, "observedGeneration", plan->generation);
    json_set_str(json, "phase", phases[status->phase]);
    json_set_str(json, "message", status->message);
    json_set_str(json, "revision", status->revision);
    add_conditions(json, status, old, now_ms);
    struct json_object *waves = add_array(json, "waves");
    for (size_t i = 0; i < status->n_waves; i++)
        json_object_array_add(waves, wave_json(&status->waves[i]));
    add_clusters(json, status);
    struct json_object *revisions = json_object_new_object();
    json_object_object_add(json, "revisions", revisions);
    for (size_t i = 0; i < status->n_revisions; i++)
        json_set_str(revisions, status->revisions[i].workload, status->revisions[i].hash);
    struct json_object *let_go = add_array(json, "letGo");
    for (size_t i = 0; i < status->n_let_go; i++)
        json_object_array_add(let_go, json_object_new_string(status->let_go[i]));
    return json;
}
