#include "object/meta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
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

/* ---- paths ---- */

/* One step in brackets; moves *path behind it. */
static struct json_object *item(struct json_object *list, const char **path)
{
    char key[64], value[128];
    int len = 0;
    if (sscanf(*path, "[?(@.%63[^=]==\"%127[^\"]\")]%n", key, value, &len) == 2 && len > 0) {
        *path += len;
        return meta_item(list, key, value);
    }
    char *end;
    size_t index = (*path)[1] == '*' ? 0 : strtoul(*path + 1, &end, 10);
    const char *close = strchr(*path, ']');
    *path = close ? close + 1 : "";
    return close ? json_elem(list, index) : NULL;
}

struct json_object *jsonpath_first(struct arena *arena, struct json_object *obj, const char *path)
{
    while (obj && *path) {
        if (*path == '[') {
            obj = item(obj, &path);
            continue;
        }
        path += *path == '.';
        size_t len = strcspn(path, ".[");
        obj = json_at(obj, arena_strndup(arena, path, len), NULL);
        path += len;
    }
    return obj;
}

/* ---- numbers or percentages ---- */

enum { MAX_SHOWN = 60 };

/* "25%" */
static bool read_percent(const char *text, int64_t *percent)
{
    const char *at = text + (*text == '-' || *text == '+');
    size_t len = strspn(at, "0123456789");
    if (len == 0 || len > 9 || strcmp(at + len, "%") != 0)
        return false;
    *percent = 0;
    for (size_t i = 0; i < len; i++)
        *percent = *percent * 10 + (at[i] - '0');
    if (*text == '-')
        *percent = -*percent;
    return true;
}

enum err intstr_scaled(struct json_object *obj, int total, bool round_up, int missing, int *out,
                       struct errinfo *ei)
{
    *out = missing;
    if (!obj)
        return ERR_OK;
    if (json_object_is_type(obj, json_type_int)) {
        int64_t value = json_object_get_int64(obj);
        if (value < INT32_MIN || value > INT32_MAX)
            return err_set(ei, ERR_INVALID, "expected a 32-bit number or a percentage, found %lld",
                           (long long)value);
        *out = (int)value;
        return ERR_OK;
    }
    int64_t percent;
    if (!json_object_is_type(obj, json_type_string) ||
        !read_percent(json_object_get_string(obj), &percent)) {
        const char *text = json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PLAIN);
        return err_set(
            ei, ERR_INVALID, "expected a number or a percentage such as \"25%%\", found %.*s",
            (int)(strlen(text) > MAX_SHOWN ? utf8_cut(text, MAX_SHOWN) : strlen(text)), text);
    }
    int64_t hundredths = percent * total;
    int64_t value = hundredths / 100, rest = hundredths % 100;
    if (round_up && rest > 0)
        value++;
    if (!round_up && rest < 0)
        value--;
    if (value < INT32_MIN || value > INT32_MAX)
        return err_set(ei, ERR_INVALID, "%s of %d is more than a 32-bit number",
                       json_object_get_string(obj), total);
    *out = (int)value;
    return ERR_OK;
}
