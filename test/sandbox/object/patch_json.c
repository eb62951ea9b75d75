/* RFC 6902, but for moving and copying, which nobody asks for. */
#include <json-c/json_pointer.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "object/patch.h"

/* One operation on its way. */
struct step {
    struct arena *arena;
    struct json_object **root;
    const char *op, *path;
    struct json_object *value; /* borrowed */
    /* where the path leads: a member or an item of parent, if parent is there at all */
    struct json_object *parent;
    const char *name;
    size_t index; /* of an array; its length for the place behind the last */
};

static enum err fail(struct errinfo *ei, int status, const struct step *step, const char *why)
{
    err_set(ei, ERR_INVALID, "%s \"%s\": %s", step->op ?: "operation", step->path ?: "", why);
    if (ei)
        ei->status = status;
    return ERR_INVALID;
}

/* "~1" is "/", "~0" is "~". */
static const char *unescape(struct arena *arena, const char *token)
{
    char *out = arena_strdup(arena, token), *to = out;
    for (; *token; token++) {
        bool escape = token[0] == '~' && (token[1] == '0' || token[1] == '1');
        *to++ = escape ? (token[1] == '1' ? '/' : '~') : *token;
        token += escape;
    }
    *to = 0;
    return out;
}

static bool read_index(const char *text, size_t len, size_t *out)
{
    char *end;
    bool leading_zero = text[0] == '0' && text[1];

    *out = len;
    if (strcmp(text, "-") == 0)
        return true;
    *out = strtoul(text, &end, 10);
    return *text && !*end && !leading_zero && *out <= len;
}

/* Finds the parent that the path names; false when there is none, or no such index of it. */
static bool find_parent(struct step *step)
{
    const char *last = strrchr(step->path, '/');
    const char *above = arena_strndup(step->arena, step->path, (size_t)(last - step->path));
    step->name = unescape(step->arena, last + 1);
    if (json_pointer_get(*step->root, above, &step->parent) != 0)
        return false;
    if (json_object_is_type(step->parent, json_type_array))
        return read_index(step->name, json_len(step->parent), &step->index);
    return json_object_is_type(step->parent, json_type_object);
}

/* What stands at the path; false when nothing does. */
static bool find(const struct step *step, struct json_object **out)
{
    if (!*step->path) {
        *out = *step->root;
        return true;
    }
    if (json_object_is_type(step->parent, json_type_object))
        return json_object_object_get_ex(step->parent, step->name, out);
    *out = json_elem(step->parent, step->index);
    return step->index < json_len(step->parent);
}

static void put(struct step *step, bool insert)
{
    struct json_object *copy = NULL;
    json_object_deep_copy(step->value, &copy, NULL);
    if (!*step->path) {
        *step->root = json_own(step->arena, copy);
    } else if (json_object_is_type(step->parent, json_type_object)) {
        json_object_object_add(step->parent, step->name, copy);
    } else {
        for (size_t i = json_len(step->parent); insert && i > step->index; i--)
            json_object_array_put_idx(step->parent, i,
                                      json_object_get(json_elem(step->parent, i - 1)));
        json_object_array_put_idx(step->parent, step->index, copy);
    }
}

static enum err run(struct step *step, bool has_value, struct errinfo *ei)
{
    static const char *const ops[] = {"add", "remove", "replace", "test"};
    struct json_object *found = NULL;
    bool known = false;
    for (size_t i = 0; step->op && i < sizeof(ops) / sizeof(ops[0]); i++)
        known |= strcmp(ops[i], step->op) == 0;
    if (!known || !step->path || (*step->path && *step->path != '/'))
        return fail(ei, 400, step, "expected add, remove, replace or test, and a path");
    bool add = *step->op == 'a', test = *step->op == 't';
    bool remove = strcmp(step->op, "remove") == 0;
    if (!remove && !has_value)
        return fail(ei, 400, step, "\"value\" is required");
    if (*step->path && !find_parent(step))
        return fail(ei, 422, step, "the path does not exist");
    if (!add && !find(step, &found))
        return fail(ei, 422, step, "the path does not exist");
    if (test)
        return json_same(found, step->value) ? ERR_OK : fail(ei, 422, step, "the value is another");
    if (!remove)
        put(step, add);
    else if (!*step->path)
        return fail(ei, 422, step, "the whole document cannot be removed");
    else if (json_object_is_type(step->parent, json_type_object))
        json_object_object_del(step->parent, step->name);
    else
        json_object_array_del_idx(step->parent, step->index, 1);
    return ERR_OK;
}

enum err patch_json(struct arena *arena, struct json_object *target, struct json_object *patch,
                    struct json_object **out, struct errinfo *ei)
{
    struct json_object *root = json_copy(arena, target);
    struct step step = {.arena = arena, .root = &root};
    if (!json_object_is_type(patch, json_type_array) || json_len(patch) > PATCH_MAX_OPERATIONS)
        return fail(ei, 400, &step, "a JSON patch is an array of operations");
    for (size_t i = 0; i < json_len(patch); i++) {
        struct json_object *row = json_elem(patch, i);
        step.op = json_str_at(row, "op", NULL);
        step.path = json_str_at(row, "path", NULL);
        step.value = json_at(row, "value", NULL);
        step.parent = NULL;
        bool has_value = json_object_is_type(row, json_type_object) &&
                         json_object_object_get_ex(row, "value", NULL);
        enum err err = run(&step, has_value, ei);
        if (err != ERR_OK)
            return err;
    }
    *out = root;
    return ERR_OK;
}
