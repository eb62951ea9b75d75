#include <string.h>

#include "base/clock.h"
#include "fleet/rules/record.h"
#include "fleet/rules/waves_parts.h"

enum { MAX_KEPT = 100000 };

static const char *const phases[] = {
#define WAVES_PHASE(name) [WAVES_##name] = #name,
#include "fleet/rules/waves_phase.def"
#undef WAVES_PHASE
};

static const char *const states[] = {
#define WAVES_STATE(name) [WAVES_IS_##name] = #name,
#include "fleet/rules/waves_state.def"
#undef WAVES_STATE
};

/* --- reading */

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

/* Reads only the clusters' replicas. */
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

/* --- writing */

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

/* Adds an array to the object, which owns it. */
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

/* True if it has failed on a revision that is not the plan's, at least not yet. */
static bool has_failed_first(int wave, const struct waves_canary *canary)
{
    return wave == 0 && canary->phase == PHASE_Failed &&
           strcmp(canary->applied, canary->promoted) != 0;
}

static bool is_missing(const struct waves_work *w, int wave, const struct waves_canary *canary)
{
    return !canary->deleting && (has_failed_first(wave, canary) || !waves_has_promoted(w, canary));
}

struct told {
    enum waves_state state;
    const char *says;
};

/* Why a Canary at rest is held; NULL if it is not held. */
static const char *say_held(const struct waves_work *w, int wave, int open,
                            const struct waves_canary *canary)
{
    const char *wanted = waves_wanted(w, canary);
    struct arena *arena = w->arena;

    if (canary->holder)
        return arena_printf(arena, "is held by plan %s", canary->holder);
    if (canary->suspended && !canary->mine)
        return "is suspended by somebody else, which stays so";
    if (wave < 0)
        return "is held: no wave has this cluster";
    if (wave == 0 || wave == open) {
        int order = waves_train_waits(w, wave, canary);
        if (order >= 0 && canary->suspended)
            return arena_printf(arena, "is held: Application %s of the train comes first",
                                w->plan->train[order]);
    }
    if (wave == 0)
        return NULL;
    if (!wanted)
        return "is held: no Canary of the first wave has its name";
    if (wave == open && canary->target && *canary->target && strcmp(canary->target, wanted) != 0)
        return arena_printf(arena, "is held: its workload has revision %s, and not %s yet",
                            canary->target, wanted);
    return NULL;
}

/* State and sentence of a Canary that has not promoted the revision. */
static struct told tell_canary(const struct waves_work *w, int wave, int open,
                               const struct waves_keys *going, const struct waves_cluster *cluster,
                               const struct waves_canary *canary)
{
    struct arena *arena = w->arena;
    const char *held;

    if (!cluster->reachable)
        return (struct told){WAVES_IS_Unreachable, arena_printf(arena, "cannot be reached: %s",
                                                                cluster->why ? cluster->why : "")};
    if (!waves_is_initialised(canary))
        return (struct told){WAVES_IS_Initializing, "is being initialised"};
    if (waves_has_failed(w, canary) || has_failed_first(wave, canary))
        return (struct told){WAVES_IS_Failed,
                             arena_printf(arena, "revision %s has failed", canary->applied)};
    if (waves_is_under_way(canary) && !canary->suspended)
        return (struct told){WAVES_IS_Releasing,
                             arena_printf(arena, "releases revision %s", canary->applied)};
    held = say_held(w, wave, open, canary);
    if (held)
        return (struct told){WAVES_IS_Held, held};
    if (wave == 0)
        return (struct told){WAVES_IS_Promoted,
                             arena_printf(arena, "has promoted revision %s", canary->promoted)};
    if (waves_has_key(going, cluster, canary))
        return (struct told){WAVES_IS_Releasing, "is let go"};
    if (wave != open)
        return (struct told){WAVES_IS_Held, "is held: earlier waves come first"};
    held = waves_share_says(w, canary);
    return (struct told){WAVES_IS_Held, held ? held : "waits for its turn"};
}

/* The revision being released, else the promoted one. */
static const char *revision_of(const struct waves_canary *canary)
{
    bool on_the_way = waves_is_under_way(canary) || canary->phase == PHASE_Failed;

    return on_the_way ? canary->applied : canary->promoted;
}

/* Fills the row of a cluster. */
static void say_cluster(struct waves_work *w, size_t index, int open,
                        const struct waves_keys *going, struct waves_says *out)
{
    const struct waves_cluster *cluster = &w->facts->clusters[index];
    const struct waves_canary *shown = cluster->n_canaries > 0 ? cluster->canaries : NULL;
    const char *first = NULL;
    size_t more = 0;

    for (size_t j = 0; j < cluster->n_canaries; j++) {
        const struct waves_canary *canary = &cluster->canaries[j];
        if (!is_missing(w, w->wave_of[index], canary))
            continue;
        if (first) {
            more++;
            continue;
        }
        struct told told = tell_canary(w, w->wave_of[index], open, going, cluster, canary);
        shown = canary;
        out->state = told.state;
        first = arena_printf(w->arena, "%s/%s %s", canary->namespace_, canary->name, told.says);
    }
    if (shown) {
        out->phase = shown->phase;
        out->weight = waves_is_under_way(shown) ? shown->weight : 0;
        out->revision = revision_of(shown);
    }
    if (cluster->known && first) {
        out->says = more == 0 ? first : arena_printf(w->arena, "%s; %zu more", first, more);
        return;
    }
    if (!cluster->known) {
        out->state = WAVES_IS_Unreachable;
        out->says = cluster->denied ? cluster->why
                                    : arena_printf(w->arena, "cannot be reached: %s",
                                                   cluster->why ? cluster->why : "");
    } else if (!shown) {
        out->state = WAVES_IS_Empty;
        out->says = "has no Canary of this plan";
    } else {
        out->state = WAVES_IS_Promoted;
        out->says = arena_printf(w->arena, "has promoted revision %s%s%s", w->out->status.revision,
                                 cluster->reachable ? "" : ", and cannot be reached now: ",
                                 cluster->reachable || !cluster->why ? "" : cluster->why);
    }
}

void waves_say_clusters(struct waves_work *w, int open)
{
    struct waves_status *status = &w->out->status;
    bool counts = w->plan->max_replicas_percent > 0;
    struct waves_keys going;

    waves_index_keys(w->arena, &going, status->let_go, status->n_let_go);
    status->n_clusters = w->facts->n_clusters;
    status->clusters = arena_array(w->arena, status->n_clusters, sizeof(*status->clusters));
    for (size_t i = 0; i < status->n_clusters; i++) {
        const struct waves_cluster *cluster = &w->facts->clusters[i];
        int wave = w->wave_of[i];
        status->clusters[i] = (struct waves_says){
            .cluster = cluster->name,
            .wave = wave < 0 ? NULL : w->plan->waves[wave].name,
            .revision = "",
            .seen_ms = cluster->reachable ? 0 : cluster->seen_ms,
            .replicas = counts ? waves_replicas_of(w, i) : 0,
        };
        say_cluster(w, i, open, &going, &status->clusters[i]);
    }
}

/* "wave rest: 3 of 5 Canaries have promoted revision ...; b cannot be reached" */
const char *waves_waits_for(const struct waves_work *w, int wave)
{
    const struct waves_wave *now = &w->out->status.waves[wave];
    const char *lost = "";
    int n_lost = 0;

    for (size_t i = 0; i < w->facts->n_clusters; i++) {
        const struct waves_cluster *cluster = &w->facts->clusters[i];
        if (w->wave_of[i] != wave || cluster->reachable)
            continue;
        if (n_lost++ == 0)
            lost = cluster->name;
    }
    const char *text =
        arena_printf(w->arena, "wave %s: %d of %d Canaries have promoted revision %s", now->name,
                     now->promoted, now->canaries, w->out->status.revision);
    if (n_lost > 0)
        text = arena_printf(w->arena, "%s; cluster %s%s cannot be reached", text, lost,
                            n_lost > 1 ? " and others" : "");
    return text;
}
