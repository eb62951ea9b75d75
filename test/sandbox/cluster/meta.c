#include "cluster/meta.h"

#include <string.h>

#include "base/clock.h"

const char *meta_name(struct json_object *obj)
{
    const char *name = json_str_at(obj, "metadata", "name", NULL);
    return name ? name : "";
}

const char *meta_ns(struct json_object *obj)
{
    const char *ns = json_str_at(obj, "metadata", "namespace", NULL);
    return ns ? ns : "";
}

const char *meta_uid(struct json_object *obj)
{
    const char *uid = json_str_at(obj, "metadata", "uid", NULL);
    return uid ? uid : "";
}

bool meta_deleting(struct json_object *obj)
{
    return json_at(obj, "metadata", "deletionTimestamp", NULL) != NULL;
}

struct json_object *meta_labels(struct json_object *obj)
{
    return json_at(obj, "metadata", "labels", NULL);
}

const char *meta_label(struct json_object *obj, const char *key)
{
    return json_str_at(obj, "metadata", "labels", key, NULL);
}

const char *meta_annotation(struct json_object *obj, const char *key)
{
    return json_str_at(obj, "metadata", "annotations", key, NULL);
}

struct json_object *meta_controller(struct json_object *obj)
{
    struct json_object *owners = json_at(obj, "metadata", "ownerReferences", NULL);
    for (size_t i = 0; i < json_len(owners); i++)
        if (json_bool_at(json_elem(owners, i), false, "controller", NULL))
            return json_elem(owners, i);
    return NULL;
}

bool meta_owned_by(struct json_object *obj, const char *uid)
{
    const char *owner = json_str_at(meta_controller(obj), "uid", NULL);
    return owner && strcmp(owner, uid) == 0;
}

int64_t meta_created(struct json_object *obj)
{
    const char *text = json_str_at(obj, "metadata", "creationTimestamp", NULL);
    int64_t ms;
    return text && clock_parse(text, &ms, NULL) == ERR_OK ? ms / 1000 : 0;
}

struct json_object *meta_owner_list(struct json_object *owner, const char *api_version,
                                    const char *kind)
{
    struct json_object *ref = json_object_new_object();
    json_set_str(ref, "apiVersion", api_version);
    json_set_str(ref, "kind", kind);
    json_set_str(ref, "name", meta_name(owner));
    json_set_str(ref, "uid", meta_uid(owner));
    json_set_bool(ref, "controller", true);
    json_set_bool(ref, "blockOwnerDeletion", true);
    struct json_object *list = json_object_new_array();
    json_object_array_add(list, ref);
    return list;
}

struct json_object *meta_condition(struct json_object *conditions, const char *type)
{
    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *found = json_str_at(json_elem(conditions, i), "type", NULL);
        if (found && strcmp(found, type) == 0)
            return json_elem(conditions, i);
    }
    return NULL;
}

bool meta_condition_true(struct json_object *conditions, const char *type)
{
    const char *status = json_str_at(meta_condition(conditions, type), "status", NULL);
    return status && strcmp(status, "True") == 0;
}

const char *meta_hash(struct arena *arena, struct json_object *tree)
{
    static const char safe[] = "bcdfghjklmnpqrstvwxz2456789";
    uint32_t hash = 2166136261u;
    for (const char *p = json_text_sorted(arena, tree); *p; p++)
        hash = (hash ^ (unsigned char)*p) * 16777619u;
    char *text = arena_printf(arena, "%u", hash);
    for (char *p = text; *p; p++)
        *p = safe[(unsigned char)*p % (sizeof(safe) - 1)];
    return text;
}
