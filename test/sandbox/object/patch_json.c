/* RFC 6902. The document stays within JSON_MAX_DEPTH at every step, so the recursion over it is
 * bounded. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "object/cause.h"
#include "object/patch.h"

/* As the API server: what all "copy" operations of a patch together may duplicate. */
enum { MAX_COPIED = 3 * 1024 * 1024 };

struct pointer {
    const char *text;
    const char *tokens[JSON_MAX_DEPTH];
    size_t count;
};

struct patcher {
    struct arena *arena;
    struct errinfo *ei;
    struct json_object *doc;
    size_t copied;
    /* the operation at hand */
    const char *op;
    struct pointer path, from;
    struct json_object *value;
};

static enum err fail(struct patcher *p, int status, const char *fmt, ...) PRINTF_LIKE(3, 4);

static enum err fail(struct patcher *p, int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *why = arena_vprintf(p->arena, fmt, args);
    va_end(args);
    err_set(p->ei, ERR_INVALID, "%s", why);
    if (p->ei)
        p->ei->status = status;
    return ERR_INVALID;
}

/* ---- pointers ---- */

static enum err read_token(struct patcher *p, const char **at, const char **out)
{
    size_t len = strcspn(*at, "/"), n = 0;
    char *token = arena_alloc(p->arena, len + 1);
    for (size_t i = 0; i < len; i++) {
        char c = (*at)[i];
        if (c == '~') {
            char next = (*at)[++i];
            if (i >= len || (next != '0' && next != '1'))
                return fail(p, 400, "\"~\" must be followed by 0 or 1");
            c = next == '0' ? '~' : '/';
        }
        token[n++] = c;
    }
    *out = token;
    *at += len;
    return ERR_OK;
}

static enum err read_pointer(struct patcher *p, struct json_object *row, const char *key,
                             struct pointer *out)
{
    const char *text = json_str_at(row, key, NULL);
    *out = (struct pointer){.text = text};
    if (!text)
        return fail(p, 400, "\"%s\" is required and must be a string", key);
    if (text[0] && text[0] != '/')
        return fail(p, 400, "%s \"%s\" must be empty or start with \"/\"", key, text);
    while (*text == '/') {
        text++;
        if (out->count == JSON_MAX_DEPTH)
            return fail(p, 400, "%s is deeper than %d", key, JSON_MAX_DEPTH);
        enum err err = read_token(p, &text, &out->tokens[out->count++]);
        if (err)
            return err_wrap(p->ei, err, "%s \"%s\"", key, out->text);
    }
    return ERR_OK;
}

/* An array index below limit; no sign, no leading zero. */
static bool read_index(const char *token, size_t limit, size_t *out)
{
    char *end;
    if (token[0] < '0' || token[0] > '9' || (token[0] == '0' && token[1]) || strlen(token) > 9)
        return false;
    *out = strtoul(token, &end, 10);
    return *end == 0 && *out < limit;
}

static bool child_of(struct json_object *parent, const char *token, struct json_object **out)
{
    size_t index;
    if (json_object_is_type(parent, json_type_object))
        return json_object_object_get_ex(parent, token, out);
    if (!json_object_is_type(parent, json_type_array) ||
        !read_index(token, json_len(parent), &index))
        return false;
    *out = json_elem(parent, index);
    return true;
}

/* Follows the first count tokens; false when something on the way is missing. */
static bool walk(struct patcher *p, const struct pointer *pointer, size_t count,
                 struct json_object **out)
{
    *out = p->doc;
    for (size_t i = 0; i < count; i++)
        if (!child_of(*out, pointer->tokens[i], out))
            return false;
    return true;
}

/* ---- operations ---- */

static int height(struct json_object *obj)
{
    int most = 0;
    if (json_object_is_type(obj, json_type_object)) {
        json_object_object_foreach(obj, key, value)
        {
            (void)key;
            int one = height(value);
            most = one > most ? one : most;
        }
        return most + 1;
    }
    if (!json_object_is_type(obj, json_type_array))
        return 0;
    for (size_t i = 0; i < json_len(obj); i++) {
        int one = height(json_elem(obj, i));
        most = one > most ? one : most;
    }
    return most + 1;
}

static enum err missing(struct patcher *p, const struct pointer *pointer)
{
    return fail(p, 422, "path \"%s\" does not exist", pointer->text);
}

/* json-c 0.16 has no call for it. */
static void insert(struct json_object *array, size_t index, struct json_object *value)
{
    size_t i = json_len(array);
    for (; i > index; i--)
        json_object_array_put_idx(array, i, json_object_get(json_elem(array, i - 1)));
    json_object_array_put_idx(array, i, json_object_get(value));
}

/* Puts value (a reference that is taken over) at the path; replace: something must be there. */
static enum err put(struct patcher *p, struct json_object *value, bool replace)
{
    const struct pointer *path = &p->path;
    struct json_object *parent, *old;
    json_own(p->arena, value);
    if (path->count + (size_t)height(value) > JSON_MAX_DEPTH)
        return fail(p, 422, "the result would be nested deeper than %d", JSON_MAX_DEPTH);
    if (path->count == 0) {
        p->doc = value;
        return ERR_OK;
    }
    const char *last = path->tokens[path->count - 1];
    if (!walk(p, path, path->count - 1, &parent))
        return missing(p, path);
    if (replace && !child_of(parent, last, &old))
        return missing(p, path);
    if (json_object_is_type(parent, json_type_object)) {
        json_set(parent, last, value);
        return ERR_OK;
    }
    if (!json_object_is_type(parent, json_type_array))
        return fail(p, 422, "path \"%s\": its parent is neither an object nor an array",
                    path->text);
    size_t index = json_len(parent);
    if (strcmp(last, "-") != 0 && !read_index(last, json_len(parent) + 1, &index))
        return fail(p, 422, "path \"%s\": \"%s\" is no index into an array of %zu", path->text,
                    last, json_len(parent));
    if (replace)
        json_object_array_put_idx(parent, index, json_object_get(value));
    else
        insert(parent, index, value);
    return ERR_OK;
}

static enum err take_away(struct patcher *p, const struct pointer *path)
{
    struct json_object *parent, *old;
    size_t index;
    if (path->count == 0)
        return fail(p, 422, "the whole document cannot be removed");
    const char *last = path->tokens[path->count - 1];
    if (!walk(p, path, path->count - 1, &parent) || !child_of(parent, last, &old))
        return missing(p, path);
    if (json_object_is_type(parent, json_type_object))
        json_object_object_del(parent, last);
    else if (read_index(last, json_len(parent), &index))
        json_object_array_del_idx(parent, index, 1);
    return ERR_OK;
}

static struct json_object *duplicate(struct json_object *value)
{
    struct json_object *copy = NULL;
    if (value)
        json_object_deep_copy(value, &copy, NULL);
    return copy;
}

static enum err apply_add(struct patcher *p)
{
    return put(p, duplicate(p->value), false);
}

static enum err apply_replace(struct patcher *p)
{
    return put(p, duplicate(p->value), true);
}

static enum err apply_remove(struct patcher *p)
{
    return take_away(p, &p->path);
}

static enum err apply_copy(struct patcher *p)
{
    struct json_object *value;
    if (!walk(p, &p->from, p->from.count, &value))
        return missing(p, &p->from);
    p->copied += strlen(json_text(p->arena, value));
    if (p->copied > MAX_COPIED)
        return fail(p, 422, "the copies of this patch are larger than %d bytes", MAX_COPIED);
    return put(p, duplicate(value), false);
}

static enum err apply_move(struct patcher *p)
{
    struct json_object *value;
    size_t len = strlen(p->from.text);
    if (strncmp(p->path.text, p->from.text, len) == 0 && p->path.text[len] == '/')
        return fail(p, 422, "\"%s\" cannot be moved into itself", p->from.text);
    if (!walk(p, &p->from, p->from.count, &value))
        return missing(p, &p->from);
    if (strcmp(p->path.text, p->from.text) == 0)
        return ERR_OK;
    value = json_object_get(value);
    enum err err = take_away(p, &p->from);
    if (err) {
        json_object_put(value);
        return err;
    }
    return put(p, value, false);
}

static enum err apply_test(struct patcher *p)
{
    struct json_object *value;
    if (!walk(p, &p->path, p->path.count, &value))
        return missing(p, &p->path);
    if (!json_same(value, p->value))
        return fail(p, 422, "path \"%s\" is %s, not %s", p->path.text, cause_value(p->arena, value),
                    cause_value(p->arena, p->value));
    return ERR_OK;
}

static const struct operation {
    const char *name;
    bool value, from; /* members that it needs */
    enum err (*apply)(struct patcher *p);
} operations[] = {
    {.name = "add", .value = true, .apply = apply_add},
    {.name = "remove", .apply = apply_remove},
    {.name = "replace", .value = true, .apply = apply_replace},
    {.name = "move", .from = true, .apply = apply_move},
    {.name = "copy", .from = true, .apply = apply_copy},
    {.name = "test", .value = true, .apply = apply_test},
};

static enum err apply_row(struct patcher *p, struct json_object *row)
{
    const struct operation *operation = NULL;
    p->op = json_str_at(row, "op", NULL);
    for (size_t i = 0; p->op && i < sizeof(operations) / sizeof(operations[0]); i++)
        if (strcmp(operations[i].name, p->op) == 0)
            operation = &operations[i];
    if (!operation)
        return fail(p, 400, "\"op\" must be one of add, remove, replace, move, copy, test, not %s",
                    cause_value(p->arena, json_at(row, "op", NULL)));
    enum err err = read_pointer(p, row, "path", &p->path);
    if (!err && operation->from)
        err = read_pointer(p, row, "from", &p->from);
    if (err)
        return err;
    if (operation->value && !json_object_object_get_ex(row, "value", &p->value))
        return fail(p, 400, "\"value\" is required");
    return operation->apply(p);
}

enum err patch_json(struct arena *arena, struct json_object *target, struct json_object *patch,
                    struct json_object **out, struct errinfo *ei)
{
    struct patcher p = {.arena = arena, .ei = ei, .doc = json_copy(arena, target)};
    if (!json_object_is_type(patch, json_type_array))
        return fail(&p, 400, "a JSON patch is an array of operations");
    if (json_len(patch) > PATCH_MAX_OPERATIONS)
        return fail(&p, 413, "a JSON patch has at most %d operations, this one %zu",
                    PATCH_MAX_OPERATIONS, json_len(patch));
    for (size_t i = 0; i < json_len(patch); i++) {
        p.op = NULL;
        enum err err = apply_row(&p, json_elem(patch, i));
        if (err)
            return err_wrap(ei, err, "operation %zu%s%s", i, p.op ? ", " : "", p.op ? p.op : "");
    }
    *out = p.doc;
    return ERR_OK;
}
