#include "object/managed.h"

#include <stdio.h>
#include <string.h>

#include "object/form.h"
#include "object/meta.h"

static const char *field(char text[256], const char *name)
{
    snprintf(text, 256, "f:%s", name);
    return text;
}

/* The members of a that b has not, or has otherwise, go into set. */
static void add_members(struct json_object *set, struct json_object *a, struct json_object *b)
{
    char text[256];
    if (!json_object_is_type(a, json_type_object))
        return;
    json_object_object_foreach(a, key, value)
    {
        if (!json_same(value, json_at(b, key, NULL)))
            json_sub(set, field(text, key));
    }
}

static void add_parts(struct json_object *set, const char *name, struct json_object *now,
                      struct json_object *before)
{
    char text[256];
    if (json_same(now, before))
        return;
    struct json_object *parts = json_sub(set, field(text, name));
    if (strcmp(name, "spec") == 0) {
        add_members(parts, now, before);
        add_members(parts, before, now);
    }
}

static void add_metadata(struct json_object *set, struct json_object *obj, struct json_object *old)
{
    static const char *const names[] = {"labels", "annotations", "ownerReferences", "finalizers"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct json_object *now = json_at(obj, "metadata", names[i], NULL);
        char text[256];
        if (!json_same(now, json_at(old, "metadata", names[i], NULL)))
            json_sub(json_sub(set, "f:metadata"), field(text, names[i]));
    }
}

static struct json_object *row_of(struct arena *arena, struct json_object *list,
                                  const char *manager, const char *subresource)
{
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *row = json_elem(list, i);
        const char *sub = json_str_at(row, "subresource", NULL);
        if (strcmp(json_str_at(row, "manager", NULL), manager) == 0 && !sub == !subresource)
            return row;
    }
    struct json_object *row =
        form(arena, "{manager: %s, operation: Update, subresource: %s}", manager, subresource);
    form_add(list, row);
    return row;
}

/* What differs between the two, as FieldsV1: of the status alone, or of everything else. */
static struct json_object *changed(struct arena *arena, struct json_object *obj,
                                   struct json_object *old, bool status)
{
    struct json_object *set = form(arena, "{}");
    json_object_object_foreach(obj, key, value)
    {
        if (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0)
            continue;
        if (strcmp(key, "metadata") != 0 && (strcmp(key, "status") == 0) == status)
            add_parts(set, key, value, json_at(old, key, NULL));
    }
    if (!status)
        add_metadata(set, obj, old);
    return set;
}

void managed_note(struct arena *arena, struct json_object *obj, struct json_object *old,
                  const char *manager, const char *subresource, int64_t now_ms)
{
    struct json_object *set = changed(arena, obj, old, subresource != NULL);
    struct json_object *list = json_at(old, "metadata", "managedFields", NULL);

    list = list ? json_copy(arena, list) : form(arena, "[]");
    if (json_object_object_length(set) > 0) {
        struct json_object *row = row_of(arena, list, manager, subresource);
        json_set_str(row, "apiVersion", json_str_at(obj, "apiVersion", NULL));
        json_set_str(row, "time", meta_time(arena, now_ms));
        json_set_str(row, "fieldsType", "FieldsV1");
        json_set(row, "fieldsV1", json_merge(arena, json_sub(row, "fieldsV1"), set));
    }
    json_set(json_sub(obj, "metadata"), "managedFields", list);
}
