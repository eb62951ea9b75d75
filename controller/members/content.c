#include "members/content.h"

#include <string.h>

#include "kube/name_set.h"

/* left_out is ended by NULL. */
static struct json_object *without(struct json_object *object, const char *const *left_out)
{
    struct json_object *copy = json_object_new_object();

    json_object_object_foreach(object, key, value)
    {
        bool kept = true;
        for (const char *const *at = left_out; *at; at++)
            kept = kept && strcmp(key, *at) != 0;
        if (kept)
            json_set(copy, key, value);
    }
    return copy;
}

static struct json_object *slim(struct json_object *object, const char *const *left_out,
                                const char *const *metadata_left_out)
{
    struct json_object *copy = without(object, left_out);
    struct json_object *metadata = json_at(object, "metadata", NULL);

    if (metadata)
        json_object_object_add(copy, "metadata", without(metadata, metadata_left_out));
    return copy;
}

static const char *const nothing[] = {NULL};
static const char *const the_status[] = {"status", NULL};

struct json_object *content_without(struct json_object *object, bool status)
{
    static const char *const managers[] = {"managedFields", NULL};

    return slim(object, status ? the_status : nothing, managers);
}

uint64_t content_hash(struct json_object *object)
{
    static const char *const bookkeeping[] = {"managedFields", "resourceVersion", "generation",
                                              NULL};
    struct arena *arena = arena_new();
    struct json_object *part = json_own(arena, slim(object, the_status, bookkeeping));
    uint64_t hash = name_hash(json_text(arena, part), NULL);

    arena_free(arena);
    return hash;
}
