/*
 * The field reader. A path node is kept for each object and array that was handed out; the text of
 * a path is made only when an error needs it.
 */
#include <stdarg.h>
#include <string.h>

#include "base/duration.h"
#include "base/json.h"
#include "base/utf8.h"

struct json_path {
    struct json_path *next; /* all nodes, the latest first */
    struct json_object *parent;
    struct json_object *obj;
    const char *key; /* NULL for an array element */
    size_t index;
};

enum { FOUND_TEXT = 64 };

static struct json_path *path_of(struct json_reader *r, struct json_object *obj)
{
    for (struct json_path *path = r->paths; obj && path; path = path->next) {
        if (path->obj == obj)
            return path;
    }
    return NULL;
}

static void remember(struct json_reader *r, struct json_object *parent, struct json_object *obj,
                     const char *key, size_t index)
{
    struct json_path *path = ARENA_NEW(r->arena, struct json_path);
    *path = (struct json_path){.next = r->paths,
                               .parent = parent,
                               .obj = obj,
                               .key = arena_strdup(r->arena, key),
                               .index = index};
    r->paths = path;
}

/* A key that is no plain word stands in brackets, so that "a.b" and "a" then "b" differ. */
static void put_key(struct buf *out, const char *key)
{
    if (key[0] && !key[strcspn(key, ".[]\" \t\r\n")])
        buf_printf(out, "%s%s", out->len > 0 ? "." : "", key);
    else {
        buf_add(out, "[", 1);
        json_quote(out, key, strlen(key));
        buf_add(out, "]", 1);
    }
}

const char *json_reader_path(struct json_reader *r, struct json_object *obj, const char *key)
{
    const struct json_path *chain[2 * JSON_MAX_DEPTH];
    size_t depth = 0;
    for (struct json_path *path = path_of(r, obj); path; path = path_of(r, path->parent)) {
        if (depth < sizeof(chain) / sizeof(chain[0]))
            chain[depth++] = path;
    }
    struct buf out;
    buf_init(&out, sizeof(r->info.text));
    while (depth-- > 0) {
        if (chain[depth]->key)
            put_key(&out, chain[depth]->key);
        else
            buf_printf(&out, "[%zu]", chain[depth]->index);
    }
    if (key)
        put_key(&out, key);
    const char *text = arena_strndup(r->arena, out.data, out.len);
    buf_fini(&out);
    return text;
}

void json_reader_fail(struct json_reader *r, struct json_object *obj, const char *key,
                      const char *fmt, ...)
{
    if (r->err != ERR_OK)
        return;
    va_list args;
    va_start(args, fmt);
    const char *text = arena_vprintf(r->arena, fmt, args);
    va_end(args);
    const char *path = json_reader_path(r, obj, key);
    r->err = err_set(&r->info, ERR_INVALID, "%s%s%s", path, path[0] ? ": " : "", text);
}

/* What stands there, for the end of an error sentence. */
static const char *describe(struct json_reader *r, struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_null:
        return "null";
    case json_type_object:
        return "an object";
    case json_type_array:
        return "an array";
    default:
        break;
    }
    const char *text = json_text(r->arena, value);
    size_t len = strlen(text);
    if (len <= FOUND_TEXT)
        return text;
    return arena_printf(r->arena, "%.*s...", (int)utf8_cut(text, FOUND_TEXT), text);
}

static void fail_type(struct json_reader *r, struct json_object *obj, const char *key,
                      const char *expected, struct json_object *value)
{
    json_reader_fail(r, obj, key, "expected %s, found %s", expected, describe(r, value));
}

/* The value under key if there is one; null counts as missing, as Kubernetes has it. */
static struct json_object *find(struct json_reader *r, struct json_object *obj, const char *key,
                                const char *expected, enum json_need need)
{
    if (r->err != ERR_OK)
        return NULL;
    if (obj && !json_object_is_type(obj, json_type_object)) {
        fail_type(r, obj, NULL, "an object", obj);
        return NULL;
    }
    struct json_object *value = json_at(obj, key, NULL);
    if (!value && need == JSON_REQUIRED)
        json_reader_fail(r, obj, key, "required: expected %s", expected);
    return value;
}

static struct json_object *read_container(struct json_reader *r, struct json_object *obj,
                                          const char *key, enum json_type type,
                                          const char *expected, enum json_need need)
{
    struct json_object *value = find(r, obj, key, expected, need);
    if (!value)
        return NULL;
    if (!json_object_is_type(value, type)) {
        fail_type(r, obj, key, expected, value);
        return NULL;
    }
    remember(r, obj, value, key, 0);
    return value;
}

struct json_object *json_read_obj(struct json_reader *r, struct json_object *obj, const char *key,
                                  enum json_need need)
{
    return read_container(r, obj, key, json_type_object, "an object", need);
}

struct json_object *json_read_array(struct json_reader *r, struct json_object *obj, const char *key,
                                    enum json_need need)
{
    return read_container(r, obj, key, json_type_array, "an array", need);
}

struct json_object *json_read_elem(struct json_reader *r, struct json_object *array, size_t index)
{
    if (r->err != ERR_OK)
        return NULL;
    struct json_object *elem = json_elem(array, index);
    if (elem)
        remember(r, array, elem, NULL, index);
    return elem;
}

const char *json_read_str(struct json_reader *r, struct json_object *obj, const char *key,
                          enum json_need need)
{
    struct json_object *value = find(r, obj, key, "a string", need);
    if (!value)
        return NULL;
    if (!json_object_is_type(value, json_type_string)) {
        fail_type(r, obj, key, "a string", value);
        return NULL;
    }
    const char *text = json_object_get_string(value);
    if (memchr(text, '\0', (size_t)json_object_get_string_len(value))) {
        json_reader_fail(r, obj, key, "expected a string without U+0000");
        return NULL;
    }
    return text;
}

int64_t json_read_int(struct json_reader *r, struct json_object *obj, const char *key, int64_t min,
                      int64_t max, int64_t missing)
{
    struct json_object *value = find(r, obj, key, "a whole number", JSON_OPTIONAL);
    int64_t number;
    if (!value)
        return missing;
    if (!json_to_int(value, &number)) {
        fail_type(r, obj, key, "a whole number", value);
        return missing;
    }
    if (number < min || number > max) {
        json_reader_fail(r, obj, key, "expected a whole number from %lld to %lld, found %lld",
                         (long long)min, (long long)max, (long long)number);
        return missing;
    }
    return number;
}

double json_read_num(struct json_reader *r, struct json_object *obj, const char *key,
                     double missing)
{
    struct json_object *value = find(r, obj, key, "a number", JSON_OPTIONAL);
    if (!value)
        return missing;
    if (!json_object_is_type(value, json_type_int) &&
        !json_object_is_type(value, json_type_double)) {
        fail_type(r, obj, key, "a number", value);
        return missing;
    }
    return json_object_get_double(value);
}

bool json_read_bool(struct json_reader *r, struct json_object *obj, const char *key, bool missing)
{
    struct json_object *value = find(r, obj, key, "true or false", JSON_OPTIONAL);
    if (!value)
        return missing;
    if (!json_object_is_type(value, json_type_boolean)) {
        fail_type(r, obj, key, "true or false", value);
        return missing;
    }
    return json_object_get_boolean(value);
}

int64_t json_read_duration(struct json_reader *r, struct json_object *obj, const char *key,
                           int64_t missing)
{
    const char *text = json_read_str(r, obj, key, JSON_OPTIONAL);
    int64_t ms;
    if (!text)
        return missing;
    struct errinfo ei;
    if (duration_parse_ms(text, &ms, &ei) != ERR_OK) {
        json_reader_fail(r, obj, key, "%s", ei.text);
        return missing;
    }
    return ms;
}
