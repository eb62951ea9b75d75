#include "object/meta.h"

#include <string.h>

#include "base/clock.h"
#include "object/form.h"

static const char *text_of(struct json_object *obj, const char *key)
{
    const char *text = json_str_at(obj, "metadata", key, NULL);
    return text ? text : "";
}

const char *meta_name(struct json_object *obj)
{
    return text_of(obj, "name");
}

const char *meta_ns(struct json_object *obj)
{
    return text_of(obj, "namespace");
}

const char *meta_uid(struct json_object *obj)
{
    return text_of(obj, "uid");
}

bool meta_deleting(struct json_object *obj)
{
    return json_at(obj, "metadata", "deletionTimestamp", NULL) != NULL;
}

int64_t meta_generation(struct json_object *obj)
{
    return json_int_at(obj, 1, "metadata", "generation", NULL);
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

struct json_object *meta_owner_list(struct arena *arena, struct json_object *owner,
                                    const char *api_version, const char *kind)
{
    return form(arena,
                "[{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true, "
                "blockOwnerDeletion: true}]",
                api_version, kind, meta_name(owner), meta_uid(owner));
}

struct json_object *meta_item(struct json_object *list, const char *key, const char *text)
{
    for (size_t i = 0; i < json_len(list); i++) {
        const char *found = json_str_at(json_elem(list, i), key, NULL);
        if (found && strcmp(found, text) == 0)
            return json_elem(list, i);
    }
    return NULL;
}

struct json_object *meta_condition(struct json_object *conditions, const char *type)
{
    return meta_item(conditions, "type", type);
}

bool meta_condition_true(struct json_object *conditions, const char *type)
{
    const char *status = json_str_at(meta_condition(conditions, type), "status", NULL);
    return status && strcmp(status, "True") == 0;
}

struct json_object *meta_add_condition(struct arena *arena, struct json_object *conditions,
                                       struct json_object *before, const char *type,
                                       const char *status, const char *reason, const char *message,
                                       const char *now)
{
    struct json_object *old = meta_condition(before, type);
    const char *old_status = json_str_at(old, "status", NULL);
    bool same = old_status && strcmp(old_status, status) == 0;
    const char *since = same ? json_str_at(old, "lastTransitionTime", NULL) : now;
    struct json_object *condition =
        form(arena, "{type: %s, status: %s, lastTransitionTime: %s, reason: %s, message: %s}", type,
             status, since, reason, message);
    form_add(conditions, condition);
    return condition;
}

const char *meta_time(struct arena *arena, int64_t wall_ms)
{
    char text[CLOCK_TEXT];
    return arena_strdup(arena, clock_rfc3339(wall_ms, text));
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
