#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"

struct objset *objset_of(struct objstore *store, const char *group, const char *plural)
{
    struct objset **at = &store->sets;
    for (; *at; at = &(*at)->next)
        if (strcmp((*at)->group, group) == 0 && strcmp((*at)->plural, plural) == 0)
            return *at;
    struct objset *set = heap_alloc(sizeof(*set));
    *set = (struct objset){.group = heap_strdup(group), .plural = heap_strdup(plural)};
    *at = set;
    return set;
}

struct objset *objset_of_kind(struct objstore *store, const struct objkind *kind)
{
    return objset_of(store, kind->group, kind->plural);
}

size_t objset_find(const struct objset *set, const char *key, bool *found)
{
    size_t low = 0, high = set->count;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(set->records[middle]->key, key);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct objrecord *objset_get(const struct objset *set, const char *key)
{
    bool found;
    size_t index = objset_find(set, key, &found);
    return found ? set->records[index] : NULL;
}

void objset_range(const struct objset *set, const char *ns, size_t *begin, size_t *end)
{
    *begin = 0;
    *end = set->count;
    if (!ns || !*ns)
        return;
    /* Keys of a namespace lie between "ns/" and "ns0": '0' is the byte after '/'. */
    bool found;
    struct arena *arena = arena_new();
    *begin = objset_find(set, arena_printf(arena, "%s/", ns), &found);
    *end = objset_find(set, arena_printf(arena, "%s0", ns), &found);
    arena_free(arena);
}

char *objset_key(struct arena *arena, const char *ns, const char *name)
{
    return ns && *ns ? arena_printf(arena, "%s/%s", ns, name) : arena_strdup(arena, name);
}

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

void objset_commit(struct objstore *store, struct objset *set, struct json_object *obj)
{
    struct json_object *metadata = json_at(obj, "metadata", NULL);
    struct arena *arena = arena_new();
    char *key = objset_key(arena, json_str_at(metadata, "namespace", NULL),
                           json_str_at(metadata, "name", NULL));
    bool found;
    size_t index = objset_find(set, key, &found);
    set_version(obj, ++store->version);
    if (found) {
        struct objrecord *record = set->records[index];
        struct json_object *before = record->obj;
        record->obj = json_object_get(obj);
        objlog_add(store->log, OBJ_MODIFIED, set, obj, before, store->version);
        json_object_put(before);
    } else {
        struct objrecord *record = heap_alloc(sizeof(*record));
        *record = (struct objrecord){.set = set, .key = heap_strdup(key)};
        record->obj = json_object_get(obj);
        insert(set, index, record);
        table_put(&store->uids, record);
        objlog_add(store->log, OBJ_ADDED, set, obj, NULL, store->version);
    }
    arena_free(arena);
}

void objset_remove(struct objstore *store, struct objset *set, const char *key)
{
    bool found;
    size_t index = objset_find(set, key, &found);
    assert(found);
    struct objrecord *record = set->records[index];
    memmove(&set->records[index], &set->records[index + 1],
            (set->count - index - 1) * sizeof(struct objrecord *));
    set->count--;
    /* Watchers get the last state with the version of its deletion; the tree itself stays as it is.
     */
    struct json_object *last = NULL;
    if (json_object_deep_copy(record->obj, &last, NULL) != 0)
        abort();
    set_version(last, ++store->version);
    table_take(&store->uids, json_str_at(last, "metadata", "uid", NULL), NULL);
    objlog_add(store->log, OBJ_DELETED, set, last, record->obj, store->version);
    json_object_put(last);
    json_object_put(record->obj);
    free(record->key);
    free(record);
}

void objset_free(struct objset *set)
{
    for (size_t i = 0; i < set->count; i++) {
        json_object_put(set->records[i]->obj);
        free(set->records[i]->key);
        free(set->records[i]);
    }
    free(set->records);
    free(set->group);
    free(set->plural);
    free(set);
}
