/* The changes of the store: an object is put or removed, its owners are noted, watchers are told. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"

static void set_version(struct json_object *obj, uint64_t version)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, version);
    json_set_str(json_sub(obj, "metadata"), "resourceVersion", text);
}

static void insert(struct objset *set, size_t index, struct objrecord *record)
{
    if (set->count == set->cap) {
        set->cap = set->cap ? set->cap * 2 : 16;
        set->records = heap_grow(set->records, set->cap * sizeof(struct objrecord *));
    }
    memmove(&set->records[index + 1], &set->records[index],
            (set->count - index) * sizeof(struct objrecord *));
    set->records[index] = record;
    set->count++;
}

static struct objrecord *add(struct objset *set, size_t index, const char *key)
{
    struct objrecord *record = heap_alloc(sizeof(*record));
    *record = (struct objrecord){.set = set, .key = heap_strdup(key)};
    insert(set, index, record);
    return record;
}

static void put_uid(struct objstore *store, struct objrecord *record, struct json_object *obj)
{
    (void)snprintf(record->uid, sizeof(record->uid), "%s",
                   json_str_at(obj, "metadata", "uid", NULL));
    table_put(&store->uids, record);
}

/* Where obj stands, or would stand. */
static size_t find_object(const struct objset *set, struct arena *arena, struct json_object *obj,
                          const char **key, bool *found)
{
    struct json_object *metadata = json_at(obj, "metadata", NULL);
    *key = objset_key(arena, json_str_at(metadata, "namespace", NULL),
                      json_str_at(metadata, "name", NULL));
    return objset_find(set, *key, found);
}

void objcommit_put(struct objstore *store, struct objset *set, struct json_object *obj)
{
    struct arena *arena = arena_new();
    const char *key;
    bool found;
    size_t index = find_object(set, arena, obj, &key, &found);
    set_version(obj, ++store->version);
    struct objrecord *record = found ? set->records[index] : add(set, index, key);
    objowner_note(store, record, obj);
    if (!found)
        put_uid(store, record, obj);
    struct objstate *before = record->state;
    record->state = objstate_new(store, obj);
    objlog_add(store->log, found ? OBJ_MODIFIED : OBJ_ADDED, set, record->state, before,
               store->version);
    objstate_put(store, before);
    arena_free(arena);
}

void objcommit_load(struct objstore *store, struct objset *set, struct json_object *obj,
                    struct objstate *state)
{
    struct arena *arena = arena_new();
    const char *key;
    bool found;
    size_t index = find_object(set, arena, obj, &key, &found);
    if (found) /* its uid may be another one */
        table_take(&store->uids, set->records[index]->uid, NULL);
    struct objrecord *record = found ? set->records[index] : add(set, index, key);
    objowner_note(store, record, obj);
    put_uid(store, record, obj);
    objstate_put(store, record->state);
    record->state = objstate_ref(state);
    arena_free(arena);
}

void objcommit_remove(struct objstore *store, struct objset *set, const char *key)
{
    bool found;
    size_t index = objset_find(set, key, &found);
    assert(found);
    struct objrecord *record = set->records[index];
    memmove(&set->records[index], &set->records[index + 1],
            (set->count - index - 1) * sizeof(struct objrecord *));
    set->count--;
    objowner_note(store, record, NULL);
    /* Watchers get the last state with the version of its deletion; the tree itself stays as it is.
     */
    struct json_object *copy = json_dup(objstate_tree(store, record->state));
    set_version(copy, ++store->version);
    table_take(&store->uids, record->uid, NULL);
    struct objstate *last = objstate_new(store, copy);
    json_object_put(copy);
    objlog_add(store->log, OBJ_DELETED, set, last, record->state, store->version);
    objstate_put(store, last);
    objstate_put(store, record->state);
    free(record->key);
    free(record);
}
