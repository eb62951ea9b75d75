#include "objects.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "test/pretend.h"

enum { MAX_VERSIONS = 60000 };

struct place {
    char *key;
    struct json_object **trees; /* by version; [0] is NULL */
    uint32_t count, capacity;
};

struct text_entry {
    uint32_t place; /* PATCHES: a patch */
    uint32_t text;  /* number in texts */
    /* --- identity ends */
    uint32_t value;
};
enum { PATCHES = 1000 };

struct application {
    uint16_t place, version;
    uint32_t patch;
    /* --- identity ends */
    uint32_t value; /* version + 1 */
};

/* Texts, each once. */
struct texts {
    char **all;
    uint32_t *slots;
    uint32_t count, mask;
};

struct objects {
    struct arena *arena;
    struct place places[SLOTS];
    int count;
    struct texts texts;
    struct pool entries;
    struct json_object **patches;
    uint32_t n_patches, patch_capacity;
    struct pool applications;
};

static uint32_t hash_text(const char *text)
{
    uint64_t h = 14695981039346656037u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return (uint32_t)(h ^ h >> 32);
}

static uint32_t *find_text(const struct texts *texts, const char *text)
{
    uint32_t at = hash_text(text) & texts->mask;

    while (texts->slots[at] && strcmp(texts->all[texts->slots[at] - 1], text) != 0)
        at = (at + 1) & texts->mask;
    return &texts->slots[at];
}

static uint32_t put_text(struct texts *texts, const char *text)
{
    if (2 * texts->count >= texts->mask) {
        texts->mask = texts->mask ? 2 * texts->mask + 1 : 1023;
        free(texts->slots);
        texts->slots = heap_array((size_t)texts->mask + 1, sizeof(*texts->slots));
        texts->all = heap_grow(texts->all, ((size_t)texts->mask + 1) * sizeof(*texts->all));
        for (uint32_t i = 0; i < texts->count; i++)
            *find_text(texts, texts->all[i]) = i + 1;
    }
    uint32_t *slot = find_text(texts, text);
    if (*slot)
        return *slot - 1;
    texts->all[texts->count] = heap_strdup(text);
    *slot = ++texts->count;
    return *slot - 1;
}

struct objects *objects_new(void)
{
    struct objects *objects = heap_alloc(sizeof(*objects));

    *objects = (struct objects){.arena = arena_new()};
    pool_init(&objects->entries, offsetof(struct text_entry, value), sizeof(struct text_entry));
    pool_init(&objects->applications, offsetof(struct application, value),
              sizeof(struct application));
    return objects;
}

void objects_free(struct objects *objects)
{
    for (int i = 0; i < objects->count; i++) {
        free(objects->places[i].key);
        free(objects->places[i].trees);
    }
    for (uint32_t i = 0; i < objects->texts.count; i++)
        free(objects->texts.all[i]);
    free(objects->texts.all);
    free(objects->texts.slots);
    free(objects->patches);
    pool_fini(&objects->entries);
    pool_fini(&objects->applications);
    arena_free(objects->arena);
    free(objects);
}

int objects_place(struct objects *objects, const char *key)
{
    for (int i = 0; i < objects->count; i++) {
        if (strcmp(objects->places[i].key, key) == 0)
            return i;
    }
    assert(objects->count < SLOTS);
    objects->places[objects->count].key = heap_strdup(key);
    objects->places[objects->count].count = 1;
    return objects->count++;
}

const char *objects_key(const struct objects *objects, int place)
{
    return objects->places[place].key;
}

int objects_places(const struct objects *objects)
{
    return objects->count;
}

struct json_object *objects_tree(const struct objects *objects, int place, uint16_t version)
{
    assert(version == ABSENT || version < objects->places[place].count);
    return version == ABSENT ? NULL : objects->places[place].trees[version];
}

/* --- versions */

/* What the controller of an object says it has seen; an int64 or NULL. */
static struct json_object *observed(struct json_object *tree, size_t i, size_t j)
{
    struct json_object *parents = json_at(tree, "status", "parents", NULL);

    if (!parents)
        return i == 0 && j == 0 ? json_at(tree, "status", NULL) : NULL;
    return json_elem(json_at(json_elem(parents, i), "conditions", NULL), j);
}

/* The generation is 1 when it was observed, 2 when not, whatever it was. */
static void normalise_generation(struct json_object *tree)
{
    struct json_object *metadata = json_sub(tree, "metadata");
    int64_t generation = json_int_at(metadata, 1, "generation", NULL);
    struct json_object *one = observed(tree, 0, 0);
    int64_t seen = json_int_at(one, 0, "observedGeneration", NULL);

    if (!json_at(one, "observedGeneration", NULL)) {
        json_set_int(metadata, "generation", 1);
        return;
    }
    json_set_int(metadata, "generation", generation > seen ? 2 : 1);
    for (size_t i = 0; observed(tree, i, 0); i++) {
        for (size_t j = 0; (one = observed(tree, i, j)); j++) {
            int64_t this = json_int_at(one, 0, "observedGeneration", NULL);
            json_set_int(one, "observedGeneration", this < seen ? 0 : 1);
        }
    }
}

static uint16_t add_version(struct objects *objects, struct place *place, struct json_object *tree)
{
    if (place->count >= place->capacity) {
        place->capacity = place->capacity ? 2 * place->capacity : 64;
        place->trees = heap_grow(place->trees, place->capacity * sizeof(struct json_object *));
    }
    assert(place->count < MAX_VERSIONS);
    place->trees[0] = NULL;
    place->trees[place->count] = tree;
    json_set_str(json_sub(tree, "metadata"), "resourceVersion",
                 arena_printf(objects->arena, "%u", place->count));
    return (uint16_t)place->count++;
}

uint16_t objects_put(struct objects *objects, int place, struct json_object *tree)
{
    struct arena *scratch = arena_new();
    bool is_new;

    if (!tree) {
        arena_free(scratch);
        return ABSENT;
    }
    struct json_object *copy = json_copy(scratch, tree);
    json_object_object_del(json_sub(copy, "metadata"), "resourceVersion");
    normalise_generation(copy);
    struct text_entry identity = {.place = (uint32_t)place,
                                  .text =
                                      put_text(&objects->texts, json_text_sorted(scratch, copy))};
    uint32_t number = pool_put(&objects->entries, &identity, &is_new);
    struct text_entry *entry = pool_at(&objects->entries, number);
    if (is_new)
        entry->value =
            add_version(objects, &objects->places[place], json_copy(objects->arena, copy));
    arena_free(scratch);
    return (uint16_t)entry->value;
}

/* --- patches */

uint32_t objects_patch(struct objects *objects, struct json_object *patch)
{
    struct arena *scratch = arena_new();
    struct json_object *copy = json_copy(scratch, patch);
    struct json_object *metadata = json_at(copy, "metadata", NULL);
    bool is_new;

    if (metadata) {
        json_object_object_del(metadata, "resourceVersion");
        if (json_object_object_length(metadata) == 0)
            json_object_object_del(copy, "metadata");
    }
    struct text_entry identity = {
        .place = PATCHES, .text = put_text(&objects->texts, json_text_sorted(scratch, copy))};
    struct text_entry *entry =
        pool_at(&objects->entries, pool_put(&objects->entries, &identity, &is_new));
    if (is_new) {
        if (objects->n_patches == objects->patch_capacity) {
            objects->patch_capacity = objects->patch_capacity ? 2 * objects->patch_capacity : 64;
            objects->patches =
                heap_grow(objects->patches, objects->patch_capacity * sizeof(struct json_object *));
        }
        objects->patches[objects->n_patches] = json_copy(objects->arena, copy);
        entry->value = objects->n_patches++;
    }
    arena_free(scratch);
    return entry->value;
}

struct json_object *objects_patch_tree(const struct objects *objects, uint32_t patch)
{
    assert(patch < objects->n_patches);
    return objects->patches[patch];
}

/* Deleted, and nobody holds it back any more. */
static bool is_gone(struct json_object *tree)
{
    return json_at(tree, "metadata", "deletionTimestamp", NULL) &&
           json_len(json_at(tree, "metadata", "finalizers", NULL)) == 0;
}

static uint16_t make(struct objects *objects, int place, uint16_t version, uint32_t patch)
{
    struct arena *scratch = arena_new();
    struct json_object *before = objects_tree(objects, place, version);
    struct json_object *after = pretend_merged(scratch, before, objects->patches[patch]);
    uint16_t out = ABSENT;

    if (!before)
        json_set_str(json_sub(after, "metadata"), "namespace", "test");
    if (!is_gone(after))
        out = objects_put(objects, place, after);
    arena_free(scratch);
    return out;
}

uint16_t objects_apply(struct objects *objects, int place, uint16_t version, uint32_t patch)
{
    struct application identity = {.place = (uint16_t)place, .version = version, .patch = patch};
    uint32_t number = pool_put(&objects->applications, &identity, NULL);
    struct application *found = pool_at(&objects->applications, number);

    if (!found->value)
        found->value = 1u + make(objects, place, version, patch);
    return (uint16_t)(found->value - 1);
}
