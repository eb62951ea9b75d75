/*
 * Releases that were recorded with the reference on a real API server (test/data/recordings): ours
 * of the same Canary writes the same objects, version by version. Where it does not, the difference
 * is declared in recordings.yaml, and a row of proto/COMPATIBILITY.md says why.
 */
#include <fnmatch.h>
#include <string.h>

#include "base/file.h"
#include "recording.h"
#include "test/unit.h"

enum { TABLE_MAX = 1024 * 1024, MAX_TICKS = 60, MAX_DECLARED = 16 };

struct replay {
    struct world *world;
    const char *name;           /* of the file */
    struct json_object *ours;   /* "virtualservices/podinfo" to the list of its versions */
    struct json_object *differ; /* what is declared of it: {path, row} */
    bool used[MAX_DECLARED];
    const char *wrong; /* differences that are not declared, a line each */
};

/* --- what is compared of an object */

static void keep_keys(struct json_object *object, const char *const keys[])
{
    struct json_object *copy = json_dup(object);

    json_object_object_foreach(copy, key, value)
    {
        const char *const *wanted = keys;
        (void)value;
        while (*wanted && strcmp(*wanted, key) != 0)
            wanted++;
        if (!*wanted)
            json_object_object_del(object, key);
    }
    json_object_put(copy);
}

static void drop_empty(struct json_object *metadata, const char *key)
{
    struct json_object *map = json_at(metadata, key, NULL);

    if (map && json_object_object_length(map) == 0)
        json_object_object_del(metadata, key);
}

static struct json_object *compared(struct arena *arena, struct json_object *object)
{
    static const char *const parts[] = {"metadata", "spec", NULL};
    static const char *const names[] = {"name",        "namespace",       "labels",
                                        "annotations", "ownerReferences", NULL};
    struct json_object *out = json_copy(arena, object);
    struct json_object *metadata = json_sub(out, "metadata");
    struct json_object *owners = json_at(metadata, "ownerReferences", NULL);

    keep_keys(out, parts);
    keep_keys(metadata, names);
    if (json_at(metadata, "annotations", NULL))
        json_object_object_del(json_at(metadata, "annotations", NULL), "flagger.app/applied");
    for (size_t i = 0; i < json_len(owners); i++)
        json_object_object_del(json_elem(owners, i), "uid");
    drop_empty(metadata, "labels");
    drop_empty(metadata, "annotations");
    return out;
}

static void note_versions(struct replay *replay)
{
    struct world *world = replay->world;

    json_object_object_foreach(world->objects, key, object)
    {
        if (!recording_is_route(key))
            continue;
        struct json_object *now = compared(world->arena, object), *list;
        if (!json_object_object_get_ex(replay->ours, key, &list)) {
            list = json_object_new_array();
            json_object_object_add(replay->ours, key, list);
        }
        if (json_len(list) == 0 || !json_same(json_elem(list, json_len(list) - 1), now))
            json_object_array_add(list, json_object_get(now));
    }
}

/* --- differences */

static void differ(struct replay *replay, const char *path, struct json_object *theirs,
                   struct json_object *ours)
{
    struct arena *arena = replay->world->arena;

    for (size_t i = 0; i < json_len(replay->differ); i++) {
        const char *pattern = json_str_at(json_elem(replay->differ, i), "path", NULL);
        if (pattern && fnmatch(pattern, path, 0) == 0) {
            replay->used[i] = true;
            return;
        }
    }
    replay->wrong = arena_printf(arena, "%s%s: theirs %s, ours %s\n", replay->wrong, path,
                                 theirs ? json_text_sorted(arena, theirs) : "none",
                                 ours ? json_text_sorted(arena, ours) : "none");
}

static void compare(struct replay *replay, const char *path, struct json_object *theirs,
                    struct json_object *ours);

static void compare_keys(struct replay *replay, const char *path, struct json_object *theirs,
                         struct json_object *ours)
{
    struct arena *arena = replay->world->arena;

    json_object_object_foreach(theirs, key, value)
    {
        compare(replay, arena_printf(arena, "%s/%s", path, key), value, json_at(ours, key, NULL));
    }
    json_object_object_foreach(ours, added, more)
    {
        if (!json_at(theirs, added, NULL))
            differ(replay, arena_printf(arena, "%s/%s", path, added), NULL, more);
    }
}

static void compare(struct replay *replay, const char *path, struct json_object *theirs,
                    struct json_object *ours)
{
    bool objects = json_object_is_type(theirs, json_type_object) &&
                   json_object_is_type(ours, json_type_object);

    if (objects) {
        compare_keys(replay, path, theirs, ours);
    } else if (json_len(theirs) > 0 && json_len(theirs) == json_len(ours)) {
        for (size_t i = 0; i < json_len(theirs); i++)
            compare(replay, arena_printf(replay->world->arena, "%s/%zu", path, i),
                    json_elem(theirs, i), json_elem(ours, i));
    } else if (!theirs || !ours || !json_same(theirs, ours)) {
        differ(replay, path, theirs, ours);
    }
}

static void compare_object(struct replay *replay, const char *key, struct json_object *versions)
{
    struct arena *arena = replay->world->arena;
    struct json_object *ours = json_at(replay->ours, key, NULL);
    size_t count = json_len(versions);

    /* one that was deleted with its Canary */
    if (strcmp(json_str_at(json_elem(versions, count - 1), "event", NULL), "DELETED") == 0)
        count--;
    for (size_t i = 0; i < count || i < json_len(ours); i++) {
        struct json_object *theirs = json_at(json_elem(versions, i), "object", NULL);
        compare(replay, arena_printf(arena, "%s/%zu", key, i),
                i < count ? compared(arena, theirs) : NULL, json_elem(ours, i));
    }
}

/* --- the release */

static void play_until(struct replay *replay, const char *phase)
{
    struct world *world = replay->world;

    for (int i = 0; i < MAX_TICKS && strcmp(world_phase(world), phase) != 0; i++) {
        world_tick(world);
        note_versions(replay);
        if (world->requeue != REQUEUE_NOW)
            world->now_ms += 60000;
        world_settle(world);
    }
    assert_string_equal(world_phase(world), phase);
}

static void play_release(struct replay *replay, struct json_object *recording)
{
    struct json_object *objects = json_at(recording, "objects", NULL);
    struct world *world = replay->world;

    replay->ours = json_own(world->arena, json_object_new_object());
    recording_begin(world, recording, replay->differ);
    note_versions(replay);
    play_until(replay, "Initialized");
    world_push(world, "podinfo:2");
    play_until(replay, "Succeeded");
    json_object_object_foreach(objects, path, versions)
    {
        if (recording_is_route(recording_key(path)))
            compare_object(replay, recording_key(path), versions);
    }
}

static void replay_one(const char *name, struct json_object *differ)
{
    struct world *world = world_new(NULL);
    struct json_object *recording = recording_read(world->arena, name);
    struct replay replay = {.world = world, .name = name, .differ = differ, .wrong = ""};

    assert_true(json_len(differ) <= MAX_DECLARED);
    play_release(&replay, recording);
    if (*replay.wrong)
        fail_msg("%s:\n%s", name, replay.wrong);
    for (size_t i = 0; i < json_len(differ); i++) {
        if (!replay.used[i] && json_at(json_elem(differ, i), "path", NULL))
            fail_msg("%s: %s does not differ any more", name,
                     json_str_at(json_elem(differ, i), "path", NULL));
    }
    world_free(world);
}

CASE(test_recordings)
{
    struct json_object *declared = recording_declared(arena);
    int played = 0;

    json_object_object_foreach(declared, name, differ)
    {
        replay_one(name, differ);
        played++;
    }
    assert_true(played > 0);
}

CASE(test_rows_are_in_the_table)
{
    struct json_object *declared = recording_declared(arena);
    struct errinfo ei;
    char *table;

    if (file_read(arena, "proto/COMPATIBILITY.md", TABLE_MAX, &table, NULL, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    json_object_object_foreach(declared, name, differ)
    {
        for (size_t i = 0; i < json_len(differ); i++) {
            const char *row = json_str_at(json_elem(differ, i), "row", NULL);
            if (json_at(json_elem(differ, i), "put", NULL))
                continue;
            if (!row || !strstr(table, row))
                fail_msg("%s: proto/COMPATIBILITY.md has no row that says \"%s\"", name,
                         row ? row : "");
        }
    }
}
