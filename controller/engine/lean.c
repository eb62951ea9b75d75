#include "engine/lean.h"

#include <string.h>

/* --- the part that is kept */

static struct json_object *share(struct json_object *object, const char *but)
{
    struct json_object *copy = json_object_new_object();

    json_object_object_foreach(object, key, value)
    {
        if (strcmp(key, but) != 0)
            json_set(copy, key, value);
    }
    return copy;
}

/* Only that and when somebody wrote the pod template. */
static struct json_object *lean_managers(struct json_object *managers)
{
    struct json_object *lean = json_object_new_array();

    for (size_t i = 0; i < json_len(managers); i++) {
        struct json_object *entry = json_elem(managers, i);
        if (!json_at(entry, "fieldsV1", "f:spec", "f:template", NULL))
            continue;
        struct json_object *one = json_object_new_object();
        json_object_array_add(lean, one);
        json_set_str(one, "time", json_str_at(entry, "time", NULL));
        json_sub(json_sub(json_sub(one, "fieldsV1"), "f:spec"), "f:template");
    }
    return lean;
}

struct json_object *lean_object(struct json_object *object)
{
    struct json_object *metadata = json_at(object, "metadata", NULL);
    struct json_object *managers = json_at(metadata, "managedFields", NULL);

    if (!managers)
        return json_object_get(object);
    struct json_object *lean = share(object, "metadata");
    struct json_object *lean_metadata = share(metadata, "managedFields");
    json_object_object_add(lean, "metadata", lean_metadata);
    struct json_object *kept = lean_managers(managers);
    if (json_len(kept) > 0)
        json_object_object_add(lean_metadata, "managedFields", kept);
    else
        json_object_put(kept);
    return lean;
}

/* --- the names that Canaries mention */

enum { MAX_DEPTH = 8 };

static void add_names(struct name_set *mentions, const char *namespace_, struct json_object *value,
                      int depth)
{
    if (depth > MAX_DEPTH)
        return;
    for (size_t i = 0; i < json_len(value); i++)
        add_names(mentions, namespace_, json_elem(value, i), depth + 1);
    if (!json_object_is_type(value, json_type_object))
        return;
    const char *name = json_str_at(value, "name", NULL);
    const char *elsewhere = json_str_at(value, "namespace", NULL);
    if (name)
        name_set_add(mentions, elsewhere ? elsewhere : namespace_, name);
    json_object_object_foreach(value, key, member)
    {
        (void)key;
        add_names(mentions, namespace_, member, depth + 1);
    }
}

void mentions_add(struct name_set *mentions, struct json_object *canary)
{
    if (mentions->count > MENTIONS_MAX) {
        name_set_fini(mentions);
        name_set_init(mentions);
    }
    add_names(mentions, json_str_at(canary, "metadata", "namespace", NULL),
              json_at(canary, "spec", NULL), 0);
}

bool mentions_has(const struct name_set *mentions, const char *namespace_, const char *name)
{
    static const char *const sides[] = {"-primary", "-canary"};
    char stem[256];
    size_t len = strlen(name);

    if (mentions->count == 0)
        return false;
    if (name_set_has(mentions, namespace_, name))
        return true;
    for (size_t i = 0; i < 2; i++) {
        size_t side = strlen(sides[i]);
        if (len <= side || len - side >= sizeof(stem) || strcmp(name + len - side, sides[i]) != 0)
            continue;
        memcpy(stem, name, len - side);
        stem[len - side] = '\0';
        if (name_set_has(mentions, namespace_, stem))
            return true;
    }
    return false;
}
