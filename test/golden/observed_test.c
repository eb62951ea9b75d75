/*
 * Shadow mode (controller/shadow) beside the reference: recorded releases of the reference are
 * played step by step, and at each the next step is predicted, as --observe does in a cluster.
 * Every step is predicted; where an object then differs, recordings.yaml says so, and a row of
 * proto/COMPATIBILITY.md says why.
 */
#include <fnmatch.h>
#include <limits.h>
#include <string.h>

#include "base/file.h"
#include "recording.h"
#include "shadow/shadow.h"
#include "test/unit.h"
#include "world_store.h"

enum { INTERVAL_MS = 10000, MAX_ROUNDS = 6, ANOTHER_LENGTH = 100 };

struct watching {
    struct world *world;
    struct shadow *shadow;
    const char *name;             /* of the recording */
    struct json_object *versions; /* of routes: by key, those that are still to come */
    struct json_object *totals;   /* how many there were */
    struct json_object *declared;
    const char *hashes[3]; /* of no revision, of podinfo:1 and podinfo:2 */
    int moves, agreed, differed;
};

/* --- what the observer says */

/* "httproutes test/podinfo: spec.rules[0].weight is ..." as recordings.yaml has its paths. */
static const char *path_of(struct watching *w, const char *line)
{
    const char *plural = arena_strndup(w->world->arena, line, strcspn(line, " "));
    const char *slash = strchr(line, '/'), *colon = slash ? strchr(slash, ':') : NULL;

    if (!colon)
        return line;
    const char *key = arena_printf(w->world->arena, "%s%.*s", plural, (int)(colon - slash), slash);
    char *place = arena_strndup(w->world->arena, colon + 2, strcspn(colon + 2, " \n"));
    for (char *at = place; *at; at++) {
        if (*at == ']')
            memmove(at, at + 1, strlen(at)); /* "[0]." is "/0/" */
        if (*at == '.' || *at == '[')
            *at = '/';
    }
    int64_t left = (int64_t)json_len(json_at(w->versions, key, NULL));
    return arena_printf(w->world->arena, "%s/%lld/%s", key,
                        (long long)(json_int_at(w->totals, 0, key, NULL) - left - 1), place);
}

static bool is_declared(struct watching *w, const char *path)
{
    for (size_t i = 0; i < json_len(w->declared); i++) {
        const char *pattern = json_str_at(json_elem(w->declared, i), "path", NULL);
        if (pattern && (fnmatch(pattern, path, 0) == 0 ||
                        fnmatch(arena_printf(w->world->arena, "%s/*", pattern), path, 0) == 0))
            return true;
    }
    return false;
}

/* The first line says of which step; the others must be declared. */
static void take_difference(struct watching *w, const struct shadow_snapshot *look)
{
    const char *line = look->text + strcspn(look->text, "\n");

    if (look->observed != OBSERVED_OBJECTS)
        fail_msg("%s: %s", w->name, look->text);
    for (; *line == '\n' && line[1]; line += strcspn(line + 1, "\n") + 1)
        if (!is_declared(w, path_of(w, line + 1)))
            fail_msg("%s: %s (%s)", w->name, look->text, path_of(w, line + 1));
    w->differed++;
}

static void look(struct watching *w)
{
    struct shadow_snapshot look;

    shadow_begin(w->shadow);
    const char *plan = world_tick(w->world);
    if (strncmp(plan, "again", 5) != 0)
        fail_msg("%s: an observer plans\n%s", w->name, plan);
    shadow_snapshot(w->shadow, &look);
    if (look.observed == OBSERVED_AGREES)
        w->agreed++;
    else if (look.observed != OBSERVED_NOTHING)
        take_difference(w, &look);
}

/* --- what the reference does */

static const char *key_of(struct watching *w, const struct foreseen_write *write)
{
    return arena_printf(w->world->arena, "%s/%s", write->resource->plural, write->name);
}

/* In how many places the one is not as the other says. */
static int distance(struct json_object *is, struct json_object *expected)
{
    int count = 0;

    if (json_object_is_type(expected, json_type_object)) {
        json_object_object_foreach(expected, key, value)
        {
            count += distance(json_at(is, key, NULL), value);
        }
    } else if (json_len(expected) > 0 && json_len(expected) == json_len(is)) {
        for (size_t i = 0; i < json_len(expected); i++)
            count += distance(json_elem(is, i), json_elem(expected, i));
    } else if (json_len(expected) != json_len(is)) {
        count = ANOTHER_LENGTH;
    } else if (!json_same(is, expected)) {
        count = 1;
    }
    return count;
}

static int distance_of(struct json_object *object, struct json_object *patch)
{
    return distance(json_at(object, "spec", NULL), json_at(patch, "spec", NULL)) +
           distance(json_at(object, "metadata", "annotations", NULL),
                    json_at(patch, "metadata", "annotations", NULL));
}

/* Takes the versions up to the one that is nearest to what was foreseen; none when the one that is
 * there is as near. */
static void next_version(struct watching *w, const char *key, struct json_object *patch)
{
    struct json_object *list = json_at(w->versions, key, NULL), *live = world_get(w->world, key);
    int least = live ? distance_of(live, patch) : INT_MAX;
    size_t take = 0;

    for (size_t i = 0; i < json_len(list); i++) {
        int now = distance_of(json_at(json_elem(list, i), "object", NULL), patch);
        if (now >= least)
            continue;
        least = now;
        take = i + 1;
    }
    if (take == 0)
        return;
    struct json_object *version = json_at(json_elem(list, take - 1), "object", NULL);
    struct json_object *owners = json_at(version, "metadata", "ownerReferences", NULL);
    if (owners) /* the recordings leave out what is another one each time */
        json_set_str(json_elem(owners, 0), "uid",
                     json_str_at(w->world->canary, "metadata", "uid", NULL));
    json_object_object_del(w->world->objects, key);
    world_merge(w->world, key, version);
    json_object_array_del_idx(list, 0, take);
}

/* Workloads and Services are recorded in short only, and routes without a namespace not at all: they
 * become what was foreseen. */
static void write_objects(struct watching *w, const struct foreseen *foreseen)
{
    for (const struct foreseen_write *write = foreseen->writes; write; write = write->next) {
        const char *key = key_of(w, write);
        if (json_at(w->versions, key, NULL))
            next_version(w, key, write->patch);
        else
            world_merge(w->world, key, write->patch);
    }
}

/* The status, with what the recordings leave out of it: the hashes. */
static void write_status(struct watching *w, struct json_object *status)
{
    const char *phase = json_str_at(status, "phase", NULL);
    bool initialising = strcmp(phase, "Initializing") == 0, succeeded = !strcmp(phase, "Succeeded");
    int applied = initialising ? 0 : strcmp(phase, "Initialized") == 0 ? 1 : 2;
    struct json_object *copy = json_copy(w->world->arena, status), *patch;

    json_set_str(copy, "lastAppliedSpec", w->hashes[applied]);
    json_set_str(copy, "lastPromotedSpec", w->hashes[initialising ? 0 : succeeded ? 2 : 1]);
    patch = json_own(w->world->arena, json_object_new_object());
    json_set(patch, "status", copy);
    world_merge_canary(w->world, patch);
}

/* As a release of the same target has them that is ours. */
static void learn_hashes(struct watching *w)
{
    struct world *twin = world_copy(w->world);

    twin->decides = NULL;
    w->hashes[0] = "";
    world_initialise(twin);
    for (int i = 1; i <= 2; i++) {
        w->hashes[i] = arena_strdup(w->world->arena,
                                    json_str_at(twin->canary, "status", "lastAppliedSpec", NULL));
        world_push(twin, "podinfo:2");
        world_run(twin);
    }
    world_free(twin);
}

static bool leads_to(const struct foreseen *foreseen, struct json_object *status)
{
    return foreseen->moves &&
           foreseen->to.phase == phase_parse(json_str_at(status, "phase", NULL)) &&
           foreseen->to.weight == weight_of_status(status) &&
           foreseen->to.iterations == json_int_at(status, 0, "iterations", NULL) &&
           foreseen->to.failed_checks == json_int_at(status, 0, "failedChecks", NULL);
}

static void pass_time(struct watching *w, int64_t ms)
{
    w->world->now_ms += ms;
    world_settle(w->world);
}

/* What is begun goes on until the next status is foreseen. */
static void step(struct watching *w, struct json_object *status)
{
    struct shadow_snapshot now;

    for (int i = 0; i < MAX_ROUNDS; i++) {
        look(w);
        shadow_snapshot(w->shadow, &now);
        if (!now.kept)
            break;
        write_objects(w, now.kept->foreseen);
        if (leads_to(now.kept->foreseen, status))
            break;
        pass_time(w, INTERVAL_MS);
    }
    write_status(w, status);
    w->moves++;
    look(w);
    pass_time(w, INTERVAL_MS);
}

static void play(struct watching *w, struct json_object *recording)
{
    struct json_object *statuses = json_at(recording, "statuses", NULL);

    recording_begin(w->world, recording, w->declared);
    learn_hashes(w);
    for (size_t i = 1; i < json_len(statuses); i++) {
        const char *phase = json_str_at(json_elem(statuses, i), "phase", NULL);
        if (strcmp(phase, "Terminating") == 0)
            break;
        step(w, json_elem(statuses, i));
        if (strcmp(phase, "Initialized") == 0)
            world_push(w->world, "podinfo:2");
    }
    look(w);
}

static void take_routes(struct watching *w, struct json_object *recording)
{
    struct arena *arena = w->world->arena;

    w->versions = json_own(arena, json_object_new_object());
    w->totals = json_own(arena, json_object_new_object());

    json_object_object_foreach(json_at(recording, "objects", NULL), path, versions)
    {
        struct json_object *first = json_at(json_elem(versions, 0), "object", NULL);
        struct json_object *list = json_copy(arena, versions);
        if (!recording_is_route(recording_key(path)))
            continue;
        if (!json_at(first, "metadata", "ownerReferences", NULL))
            json_object_array_del_idx(list, 0, 1); /* it was there before */
        json_set(w->versions, recording_key(path), list);
        json_set_int(w->totals, recording_key(path), (int64_t)json_len(versions));
    }
}

static void must_be_over(const struct watching *w)
{
    if (w->agreed + w->differed != w->moves)
        fail_msg("%s: %d of %d steps were judged", w->name, w->agreed + w->differed, w->moves);
    json_object_object_foreach(w->versions, key, list)
    {
        for (size_t i = 0; i < json_len(list); i++)
            if (strcmp(json_str_at(json_elem(list, i), "event", NULL), "DELETED") != 0)
                fail_msg("%s: the reference also wrote %s", w->name, key);
    }
}

static enum rule_result decides(void *arg, struct tick *tick)
{
    return shadow_decide(arg, tick);
}

static void watch_one(const char *name, struct json_object *declared, int *agreed, int *differed)
{
    struct world *world = world_new(NULL);
    struct json_object *recording = recording_read(world->arena, name);
    struct watching w = {
        .world = world, .shadow = shadow_new(), .name = name, .declared = declared};

    world->decides = decides;
    world->decides_arg = w.shadow;
    take_routes(&w, recording);
    play(&w, recording);
    must_be_over(&w);
    *agreed += w.agreed;
    *differed += w.differed;
    shadow_free(w.shadow);
    world_free(world);
}

CASE(recordings_are_foreseen)
{
    struct json_object *declared = recording_declared(arena);
    int played = 0, agreed = 0, differed = 0;

    json_object_object_foreach(declared, name, differ)
    {
        watch_one(name, differ, &agreed, &differed);
        played++;
    }
    assert_true(played > 0);
    print_message("%d recordings: %d steps as foreseen, %d declared differences, none else\n",
                  played, agreed, differed);
}

/* --- another controller that does otherwise */

/* In Progressing, and nothing is routed yet. */
static struct watching *watch_new(struct arena *arena, const char *hook)
{
    struct watching *w = ARENA_NEW(arena, struct watching);
    const char *patch =
        hook ? arena_printf(
                   arena,
                   "{'spec':{'analysis':{'webhooks':[{'name':'x','type':'%s','url':'http://x'}]}}}",
                   hook)
             : NULL;

    *w = (struct watching){.world = world_new(patch), .shadow = shadow_new()};
    world_initialise(w->world);
    world_push(w->world, "podinfo:2");
    for (int i = 0; i < MAX_ROUNDS && strcmp(world_phase(w->world), "Progressing") != 0; i++)
        world_step(w->world);
    w->world->asked = json_own(w->world->arena, json_object_new_array());
    w->world->decides = decides;
    w->world->decides_arg = w->shadow;
    return w;
}

static void watch_end(struct watching *w)
{
    shadow_free(w->shadow);
    world_free(w->world);
}

static struct shadow_snapshot observe(struct watching *w)
{
    struct shadow_snapshot look;

    shadow_begin(w->shadow);
    world_tick(w->world);
    shadow_snapshot(w->shadow, &look);
    return look;
}

static void route(struct watching *w, int canary)
{
    struct json_object *route =
        json_copy(w->world->arena, world_get(w->world, "httproutes/podinfo"));
    struct json_object *refs =
        json_at(json_elem(json_at(route, "spec", "rules", NULL), 0), "backendRefs", NULL);

    json_set_int(json_elem(refs, 0), "weight", 100 - canary);
    json_set_int(json_elem(refs, 1), "weight", canary);
    world_merge(w->world, "httproutes/podinfo", route);
}

CASE(what_others_do_is_judged)
{
    static const struct {
        const char *hook;   /* the type of a webhook, NULL if there is none */
        int canary;         /* the weight that the other one routes */
        const char *status; /* and what it writes */
        enum observed observed;
        const char *text;
    } rows[] = {
        {NULL, 20, "'canaryWeight':20", OBSERVED_AGREES, "to Progressing, 20 percent"},
        {NULL, 40, "'canaryWeight':40", OBSERVED_DIFFERS, "; expected Progressing, 20 percent"},
        {NULL, 0, "'phase':'Promoting'", OBSERVED_DIFFERS, "from Progressing to Promoting"},
        {NULL, 0, "'failedChecks':1", OBSERVED_DIFFERS, "to Progressing, 1 failed checks"},
        {NULL, 30, "'canaryWeight':20", OBSERVED_OBJECTS, "weight is 30, expected 20"},
        {NULL, 0, "'canaryWeight':20", OBSERVED_OBJECTS, "weight is 0, expected 20"},
        {"pre-rollout", 20, "'canaryWeight':20", OBSERVED_AGREES, ""},
        {"pre-rollout", 0, "'failedChecks':1", OBSERVED_AGREES, ""},
        {"pre-rollout", 0, "'phase':'Failed'", OBSERVED_DIFFERS, "to Failed"},
        {"rollback", 0, "'phase':'Failed'", OBSERVED_AGREES, "to Failed"},
        {"confirm-traffic-increase", 0, NULL, OBSERVED_NOTHING, NULL},
        {NULL, 0, NULL, OBSERVED_STAYS, "it stays at Progressing; expected Progressing, 20"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct watching *w = watch_new(arena, rows[i].hook);
        const char *before = world_state(w->world);
        assert_int_equal(observe(w).observed, OBSERVED_NOTHING);
        assert_string_equal(world_state(w->world), before);
        if (rows[i].canary > 0)
            route(w, rows[i].canary);
        if (rows[i].status)
            world_patch_canary(w->world, arena_printf(arena, "{'status':{%s}}", rows[i].status));
        struct shadow_snapshot found = observe(w);
        for (int later = 0; later < 4 && found.observed == OBSERVED_NOTHING; later++) {
            pass_time(w, 60000);
            found = observe(w);
        }
        if (found.observed != rows[i].observed || (found.text && !strstr(found.text, rows[i].text)))
            fail_msg("row %zu: %s: %s", i, observed_name(found.observed), found.text);
        assert_int_equal(json_len(w->world->asked), 0);
        watch_end(w);
    }
}

/* Two steps, in the time of two, of which the first was never seen. */
CASE(a_step_that_was_missed_is_no_difference)
{
    struct watching *w = watch_new(arena, NULL);

    observe(w);
    pass_time(w, 120000); /* its interval is a minute */
    route(w, 40);
    world_patch_canary(w->world, "{'status':{'canaryWeight':40}}");
    struct shadow_snapshot found = observe(w);
    if (found.observed != OBSERVED_AGREES || !strstr(found.text, "to Progressing, 40 percent"))
        fail_msg("%s: %s", observed_name(found.observed), found.text);
    watch_end(w);
}

/* What let it move is seen no earlier than the move. */
CASE(a_cause_that_is_seen_late_is_no_difference)
{
    struct watching *w = watch_new(arena, NULL);
    struct json_object *ready = json_copy(arena, world_get(w->world, "deployments/podinfo"));
    struct json_object *not_ready = json_copy(arena, ready);

    json_set_int(json_at(not_ready, "status", NULL), "updatedReplicas", 0);
    json_set_int(json_at(not_ready, "status", NULL), "readyReplicas", 0);
    json_set_int(json_at(not_ready, "status", NULL), "availableReplicas", 0);
    world_merge(w->world, "deployments/podinfo", not_ready);
    assert_int_equal(observe(w).observed, OBSERVED_NOTHING);
    world_merge(w->world, "deployments/podinfo", ready);
    route(w, 20);
    world_patch_canary(w->world, "{'status':{'canaryWeight':20}}");
    struct shadow_snapshot found = observe(w);
    if (found.observed != OBSERVED_AGREES)
        fail_msg("%s: %s", observed_name(found.observed), found.text);
    watch_end(w);
}
