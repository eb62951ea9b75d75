#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "api/objinternal.h"

static void random_bytes(unsigned char *out, size_t len)
{
    if (uv_random(NULL, NULL, out, len, 0, NULL) != 0)
        memset(out, 0x5a, len);
}

char *objmeta_uid(char text[37])
{
    unsigned char b[16];
    random_bytes(b, sizeof(b));
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    (void)snprintf(text, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                   b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
                   b[13], b[14], b[15]);
    return text;
}

char *objmeta_generate_name(struct arena *arena, const char *base)
{
    /* Without vowels and what looks alike, as Kubernetes does. */
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    enum { SUFFIX = 5, BASE_MAX = 63 - SUFFIX };
    unsigned char bytes[SUFFIX];
    char suffix[SUFFIX + 1] = "";
    random_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < SUFFIX; i++)
        suffix[i] = letters[bytes[i] % (sizeof(letters) - 1)];
    return arena_printf(arena, "%.*s%s", BASE_MAX, base, suffix);
}

bool objmeta_has_finalizer(struct json_object *obj, const char *name)
{
    struct json_object *list = json_at(obj, "metadata", "finalizers", NULL);
    for (size_t i = 0; i < json_len(list); i++) {
        const char *text = json_object_get_string(json_elem(list, i));
        if (!name || (text && strcmp(text, name) == 0))
            return true;
    }
    return false;
}

void objmeta_add_finalizer(struct json_object *obj, const char *name)
{
    if (objmeta_has_finalizer(obj, name))
        return;
    struct json_object *metadata = json_sub(obj, "metadata");
    struct json_object *list = json_at(metadata, "finalizers", NULL);
    if (!json_object_is_type(list, json_type_array)) {
        list = json_object_new_array();
        json_object_object_add(metadata, "finalizers", list);
    }
    json_object_array_add(list, json_object_new_string(name));
}

void objmeta_remove_finalizer(struct json_object *obj, const char *name)
{
    struct json_object *list = json_at(obj, "metadata", "finalizers", NULL);
    for (size_t i = json_len(list); i > 0; i--) {
        const char *text = json_object_get_string(json_elem(list, i - 1));
        if (text && strcmp(text, name) == 0)
            json_object_array_del_idx(list, i - 1, 1);
    }
    if (list && json_len(list) == 0)
        json_object_object_del(json_at(obj, "metadata", NULL), "finalizers");
}

void objmeta_describe(struct objfail *fail, const struct objkind *kind, const char *name)
{
    fail->group = kind->group;
    fail->kind = kind->plural;
    fail->name = name;
}

enum err objmeta_not_found(struct objfail *fail, const struct objkind *kind, const char *name)
{
    objmeta_describe(fail, kind, name);
    return objfail_set(fail, 404, "NotFound", "%s \"%s\" not found",
                       objkind_resource(fail->arena, kind), name ? name : "");
}
