/*
 * What the spec no longer says goes (tick/edit.h): the search. Every field that the CRD knows
 * below spec.service and spec.autoscalerRef is set and taken away again; then each object is byte
 * for byte what it was before, and what others have added to each of its maps is still there. A
 * field that has no effect must be known to have none (walk.yaml).
 */
#include <stdio.h>
#include <string.h>

#include "test/rows.h"
#include "test/unit.h"
#include "tick/edit.h"
#include "world.h"

enum { MAX_DEPTH = 16, MAX_TICKS = 12, PAUSE_MS = 60 * 1000 };

#define OTHERS "x-others"

/* One walk over the fields below one place of the spec. */
struct walk {
    struct arena *arena;
    const char *patch;          /* of the Canary, beside the fields */
    const char *const *objects; /* NULL-ended keys: what the fields are written into */
    bool analysing;             /* in the middle of a release, and not when idle */
    bool all_have_effect;       /* but for `without_effect` */
    bool copied;                /* their spec is ours as a whole */
    const char *place;          /* "service" */
    struct json_object *kept, *without_effect, *untold, *full;
    int n;
};

/* --- the Canary without a field */

static bool cut(struct json_object *from, const char *const *path, int depth, int *found);

static bool cut_elements(struct json_object *from, const char *const *path, int depth, int *found)
{
    for (size_t i = json_len(from); i > 0; i--) {
        if (cut(json_elem(from, i - 1), path + 1, depth - 1, found))
            json_object_array_del_idx(from, i - 1, 1);
    }
    return json_len(from) == 0;
}

/* Takes a field out of every element that has it, and one key of a map; what it leaves empty goes
 * with it. True: `from` is empty now. */
static bool cut(struct json_object *from, const char *const *path, int depth, int *found)
{
    const char *key = path[0];
    struct json_object *value = NULL;

    if (strcmp(key, "[]") == 0)
        return cut_elements(from, path, depth, found);
    if (!json_object_is_type(from, json_type_object))
        return false;
    if (strcmp(key, "*") == 0) {
        struct json_object_iterator first = json_object_iter_begin(from);
        key = json_object_iter_peek_name(&first);
        for (struct json_object_iterator last = json_object_iter_end(from), it = first;
             depth > 1 && !json_object_iter_equal(&it, &last); json_object_iter_next(&it)) {
            if (json_at(json_object_iter_peek_value(&it), path[1], NULL))
                key = json_object_iter_peek_name(&it);
        }
    }
    if (!json_object_object_get_ex(from, key, &value))
        return false;
    *found += depth == 1;
    if (depth == 1 || cut(value, path + 1, depth - 1, found))
        json_object_object_del(from, key);
    return json_object_object_length(from) == 0;
}

/* --- the world */

/* Every map below a spec or among labels and annotations gets a key of somebody else; a selector is
 * ours as a whole. */
static void plant(struct json_object *at)
{
    for (size_t i = 0; i < json_len(at); i++)
        plant(json_elem(at, i));
    if (!json_object_is_type(at, json_type_object))
        return;
    json_object_object_foreach(at, key, value)
    {
        if (strcmp(key, "selector") != 0)
            plant(value);
    }
    json_set_str(at, OTHERS, "1");
}

static void strip(struct json_object *at)
{
    for (size_t i = 0; i < json_len(at); i++)
        strip(json_elem(at, i));
    if (!json_object_is_type(at, json_type_object))
        return;
    json_object_object_foreach(at, key, value)
    {
        (void)key;
        strip(value);
    }
    json_object_object_del(at, OTHERS);
}

/* What an object says, but for versions and what it remembers. */
static struct json_object *said(struct world *world, const char *key)
{
    struct json_object *out = json_copy(world->arena, world_get(world, key));
    struct json_object *metadata = json_at(out, "metadata", NULL);
    struct json_object *annotations = json_at(metadata, "annotations", NULL);

    if (!out)
        fail_msg("there is no %s", key);
    json_object_object_del(metadata, "resourceVersion");
    json_object_object_del(metadata, "generation");
    if (annotations)
        json_object_object_del(annotations, APPLIED);
    if (annotations && json_object_object_length(annotations) == 0)
        json_object_object_del(metadata, "annotations");
    return out;
}

static struct json_object *say_all(struct walk *walk, struct world *world)
{
    struct json_object *all = edit_object(walk->arena);

    for (const char *const *key = walk->objects; *key; key++)
        json_set(all, *key, json_copy(walk->arena, said(world, *key)));
    return all;
}

static void plant_all(struct walk *walk, struct world *world)
{
    for (const char *const *key = walk->objects; *key; key++) {
        struct json_object *object = said(world, *key);
        struct json_object *patch = edit_object(world->arena);
        static const char *const maps[] = {"labels", "annotations"};
        for (int i = 0; i < 2; i++) {
            struct json_object *map = json_sub(json_sub(object, "metadata"), maps[i]);
            plant(map);
            json_set(json_sub(patch, "metadata"), maps[i], map);
        }
        if (!walk->copied) {
            plant(json_at(object, "spec", NULL));
            json_set(patch, "spec", json_at(object, "spec", NULL));
        }
        world_patch(world, *key, json_text(world->arena, patch));
    }
}

/* Until the rules have nothing to write; no step is made meanwhile. */
/* Until nothing is left to do, also after the pause in which an old port is served. */
static void reconcile(struct world *world, const char *field)
{
    int rests = 0;

    for (int i = 0; i < MAX_TICKS; i++) {
        world->due = false;
        const char *text = world_tick(world);
        if (strstr(text, "patch ") || strstr(text, "create "))
            continue;
        if (rests++ > 0)
            return;
        world->now_ms += PAUSE_MS;
    }
    fail_msg("%s: the rules write without end", field);
}

static void give(struct walk *walk, struct world *world, struct json_object *fields,
                 const char *field)
{
    world_patch_canary(world, arena_printf(world->arena, "{'spec':{'%s':null}}", walk->place));
    world_patch_canary(world, arena_printf(world->arena, "{'spec':{'%s':%s}}", walk->place,
                                           json_text(world->arena, fields)));
    reconcile(world, field);
}

static struct world *world_with(struct walk *walk, struct json_object *fields)
{
    static const char template[] =
        "{'spec':{'template':{'spec':{'containers':[{'name':'a','image':'%s','ports':[{'name':"
        "'web','containerPort':9898},{'name':'admin','containerPort':9797}]}]}}}}";
    struct world *world = world_new(walk->patch);

    world_patch_canary(world, arena_printf(world->arena, "{'spec':{'%s':null}}", walk->place));
    world_patch_canary(world, arena_printf(world->arena, "{'spec':{'%s':%s}}", walk->place,
                                           json_text(world->arena, fields)));
    world_put(world, "scaledobjects/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'minReplicaCount':2,'maxReplicaCount':5,"
              "'scaleTargetRef':{'name':'podinfo'},'triggers':[{'type':'prometheus','name':'a',"
              "'metadata':{'query':'x'}},{'type':'prometheus','name':'b','metadata':{'query':'y'}}"
              "]}}");
    world_patch(world, "deployments/podinfo", arena_printf(walk->arena, template, "podinfo:1"));
    world_settle(world);
    world_initialise(world);
    if (walk->analysing)
        world_patch(world, "deployments/podinfo", arena_printf(walk->arena, template, "podinfo:2"));
    for (int i = 0; walk->analysing && world_status_int(world, "canaryWeight") == 0; i++) {
        if (i == MAX_TICKS)
            fail_msg("no analysis, told: %s", world->told);
        world_tick(world);
        world_settle(world);
        world->now_ms += 60000;
    }
    return world;
}

/* --- one field */

/* `after` is what was before. In a list that was longer or shorter between, elements may have come
 * and gone, and with them what others had added to them. */
static bool is_back(struct arena *arena, struct json_object *before, struct json_object *between,
                    struct json_object *after)
{
    if (json_object_is_type(before, json_type_object) &&
        json_object_is_type(after, json_type_object)) {
        json_object_object_foreach(before, key, value)
        {
            struct json_object *now = json_at(after, key, NULL);
            if (!is_back(arena, value, json_at(between, key, NULL), now))
                return false;
        }
        return json_object_object_length(before) == json_object_object_length(after);
    }
    if (json_len(before) != json_len(after))
        return false;
    if (json_len(before) > 0 && json_len(between) != json_len(before)) {
        struct json_object *one = json_copy(arena, before), *other = json_copy(arena, after);
        strip(one);
        strip(other);
        return json_same(one, other);
    }
    for (size_t i = 0; i < json_len(before); i++) {
        if (!is_back(arena, json_elem(before, i), json_elem(between, i), json_elem(after, i)))
            return false;
    }
    return json_len(before) > 0 || json_same(before, after);
}

/* The field, or what it is a part of, has no effect. */
static bool is_listed(struct json_object *list, const char *field, bool itself)
{
    for (size_t i = 0; i < json_len(list); i++) {
        const char *one = json_object_get_string(json_elem(list, i));
        size_t len = strlen(one);
        if (strncmp(field, one, len) == 0 && field[len] == (itself ? '\0' : '.'))
            return true;
    }
    return false;
}

/* What has no effect is told by the condition, by its path. */
static void check_told(struct walk *walk, struct world *world, const char *key, const char *field)
{
    struct json_object *conditions = json_at(world->canary, "status", "conditions", NULL);
    const char *path = strcmp(key, field) == 0
                           ? arena_printf(walk->arena, "spec.%s.%s", walk->place, field)
                           : arena_printf(walk->arena, "].%s", key);
    bool told = false;

    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *message = json_str_at(json_elem(conditions, i), "message", NULL);
        if (strcmp(json_str_at(json_elem(conditions, i), "type", NULL), "Ignored") == 0)
            told = strstr(message, path) != NULL;
    }
    if (told == is_listed(walk->untold, field, true))
        fail_msg("%s: %s", field, told ? "is told after all" : "is ignored, and nobody is told");
}

static void try_field(struct walk *walk, const char *const *path, int depth, const char *field)
{
    struct json_object *without = json_copy(walk->arena, walk->full);
    int found = 0;

    if (json_at(walk->kept, field, NULL))
        return;
    cut(without, path, depth, &found);
    if (found == 0)
        fail_msg("walk.yaml says nothing of spec.%s.%s", walk->place, field);
    walk->n++;
    if (walk->n % WORLD_EVERY != 0 || is_listed(walk->without_effect, field, false))
        return;
    struct world *world = world_with(walk, without);
    reconcile(world, field);
    plant_all(walk, world);
    struct json_object *before = say_all(walk, world);
    reconcile(world, field);
    if (!json_same(before, say_all(walk, world)))
        fail_msg("%s: what others wrote is repaired away:\n%s\n%s", field,
                 json_text_sorted(walk->arena, before),
                 json_text_sorted(walk->arena, say_all(walk, world)));
    give(walk, world, walk->full, field);
    struct json_object *between = say_all(walk, world);
    if (walk->all_have_effect &&
        json_same(before, between) != is_listed(walk->without_effect, field, true))
        fail_msg("%s: %s", field,
                 json_same(before, between) ? "has no effect" : "has an effect after all");
    if (walk->all_have_effect && is_listed(walk->without_effect, field, true))
        check_told(walk, world, path[depth - 1], field);
    give(walk, world, without, field);
    struct json_object *after = say_all(walk, world);
    if (!is_back(walk->arena, before, between, after))
        fail_msg("%s leaves something behind, or takes it away:\n%s\n%s", field,
                 json_text_sorted(walk->arena, before), json_text_sorted(walk->arena, after));
    world_free(world);
}

/* --- every field */

static void walk_schema(struct walk *walk, struct json_object *schema, const char **path, int depth,
                        const char *name);

static void step_into(struct walk *walk, struct json_object *schema, const char **path, int depth,
                      const char *name, const char *key)
{
    const char *field = arena_printf(walk->arena, "%s%s%s", name, *name ? "." : "", key);

    assert_true(depth < MAX_DEPTH);
    path[depth] = key;
    if (strcmp(key, "[]") != 0)
        try_field(walk, path, depth + 1, field);
    walk_schema(walk, schema, path, depth + 1, field);
}

static void walk_schema(struct walk *walk, struct json_object *schema, const char **path, int depth,
                        const char *name)
{
    struct json_object *properties = json_at(schema, "properties", NULL);
    struct json_object *items = json_at(schema, "items", NULL);
    struct json_object *values = json_at(schema, "additionalProperties", NULL);
    size_t count;
    const char **keys = edit_keys(walk->arena, properties, &count);

    for (size_t i = 0; i < count; i++)
        step_into(walk, json_at(properties, keys[i], NULL), path, depth, name, keys[i]);
    if (items)
        step_into(walk, items, path, depth, name, "[]");
    if (json_object_is_type(values, json_type_object))
        step_into(walk, values, path, depth, name, "*");
}

static void walk_over(struct walk walk, size_t document, int least)
{
    const char *path[MAX_DEPTH];

    walk.arena = arena_new();
    struct json_object *given = json_elem(rows_read(walk.arena, "test/golden/walk.yaml"), document);
    struct json_object *crd = json_elem(rows_read(walk.arena, "proto/crd/canaries.yaml"), 0);
    struct json_object *version = json_elem(json_at(crd, "spec", "versions", NULL), 0);
    struct json_object *spec =
        json_at(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", NULL);
    walk.place = strchr(json_str_at(given, "at", NULL), '.') + 1;
    walk.kept = json_at(given, "kept", NULL);
    walk.without_effect = json_at(given, "without_effect", NULL);
    walk.untold = json_at(given, "untold", NULL);
    walk.full = json_at(given, "full", NULL);
    walk_schema(&walk, json_at(spec, walk.place, NULL), path, 0, "");
    assert_true(walk.n >= least);
    arena_free(walk.arena);
}

static const char *const routed[] = {"services/podinfo", "services/podinfo-primary",
                                     "services/podinfo-canary", "httproutes/podinfo", NULL};
static const char *const plain[] = {"services/podinfo", "services/podinfo-primary",
                                    "services/podinfo-canary", NULL};

CASE(test_gateway_api)
{
    walk_over((struct walk){.objects = routed, .all_have_effect = true}, 0, 100);
}

/* Several rules, cookies and weights. */
CASE(test_gateway_api_in_mid_release)
{
    walk_over((struct walk){.objects = routed,
                            .analysing = true,
                            .patch = "{'spec':{'analysis':{'sessionAffinity':{'cookieName':'a',"
                                     "'primaryCookieName':'b'}}}}"},
              0, 100);
}

CASE(test_plain_services)
{
    walk_over((struct walk){.objects = plain,
                            .patch = "{'spec':{'provider':'kubernetes','analysis':{'stepWeight':"
                                     "null,'maxWeight':null,'iterations':1}}}"},
              0, 100);
}

CASE(test_autoscaler)
{
    static const char *const objects[] = {"scaledobjects/podinfo-primary", NULL};

    walk_over((struct walk){.objects = objects, .all_have_effect = true, .copied = true}, 1, 5);
}
