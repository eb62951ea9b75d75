#include "recording.h"

#include <string.h>

#include "base/file.h"
#include "base/yaml.h"
#include "test/unit.h"

#define RECORDINGS "test/data/recordings/"

enum { MAX_BYTES = 8 * 1024 * 1024 };

struct json_object *recording_declared(struct arena *arena)
{
    struct json_object *docs;
    struct errinfo ei;

    if (yaml_parse_file(arena, "test/golden/recordings.yaml", MAX_BYTES, &docs, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return json_elem(docs, 0);
}

struct json_object *recording_read(struct arena *arena, const char *name)
{
    struct json_object *recording;
    struct errinfo ei;
    char *text;
    size_t len;

    if (file_read(arena, arena_printf(arena, RECORDINGS "%s.json", name), MAX_BYTES, &text, &len,
                  &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    if (json_parse(arena, text, len, MAX_BYTES, &recording, &ei) != ERR_OK)
        fail_msg("%s: %s", name, ei.text);
    return recording;
}

const char *recording_key(const char *path)
{
    const char *slash = strrchr(path, '/');

    do
        slash--;
    while (*slash != '/' && slash > path);
    return *slash == '/' ? slash + 1 : slash;
}

bool recording_is_route(const char *key)
{
    return strncmp(key, "deployments/", strlen("deployments/")) != 0 &&
           strncmp(key, "services/", strlen("services/")) != 0;
}

void recording_begin(struct world *world, struct json_object *recording,
                     struct json_object *declared)
{
    json_set(world->canary, "spec", json_at(recording, "canary", NULL));
    json_object_object_foreach(json_at(recording, "objects", NULL), path, versions)
    {
        struct json_object *first = json_at(json_elem(versions, 0), "object", NULL);
        if (recording_is_route(recording_key(path)) &&
            !json_at(first, "metadata", "ownerReferences", NULL))
            json_set(world->objects, recording_key(path), json_copy(world->arena, first));
    }
    for (size_t i = 0; i < json_len(declared); i++) {
        const char *key = json_str_at(json_elem(declared, i), "put", NULL);
        if (key)
            json_set(world->objects, key,
                     json_copy(world->arena, json_at(json_elem(declared, i), "object", NULL)));
    }
}
