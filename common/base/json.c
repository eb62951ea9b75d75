#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_later(void *obj)
{
    json_object_put(obj);
}

struct json_object *json_own(struct arena *arena, struct json_object *obj)
{
    if (obj)
        arena_defer(arena, put_later, obj);
    return obj;
}

static struct json_object *not_null(struct json_object *made)
{
    if (!made)
        abort(); /* out of memory is the only way to fail */
    return made;
}

static struct json_object *dup_object(struct json_object *obj)
{
    struct json_object *copy = not_null(json_object_new_object());

    json_object_object_foreach(obj, key, value)
    {
        if (json_object_object_add_ex(copy, key, json_dup(value), JSON_C_OBJECT_ADD_KEY_IS_NEW))
            abort();
    }
    return copy;
}

static struct json_object *dup_array(struct json_object *obj)
{
    int len = (int)json_len(obj);
    struct json_object *copy = not_null(json_object_new_array_ext(len > 0 ? len : 1));

    for (size_t i = 0; i < json_len(obj); i++) {
        if (json_object_array_add(copy, json_dup(json_elem(obj, i))) != 0)
            abort();
    }
    return copy;
}

/* By hand, for json_object_deep_copy() looks for each key in the copy before it puts it there, and
 * begins each array with 32 places. What an owner has tied to an object with
 * json_object_set_userdata() is not the copy's. */
struct json_object *json_dup(struct json_object *obj)
{
    struct json_object *copy = NULL;

    if (json_object_is_type(obj, json_type_object))
        return dup_object(obj);
    if (json_object_is_type(obj, json_type_array))
        return dup_array(obj);
    if (obj && json_object_deep_copy(obj, &copy, NULL) != 0)
        abort();
    return copy;
}

struct json_object *json_copy(struct arena *arena, struct json_object *obj)
{
    return json_own(arena, json_dup(obj));
}

static bool same_number(struct json_object *a, struct json_object *b)
{
    if (json_object_is_type(a, json_type_double) || json_object_is_type(b, json_type_double))
        return json_object_get_double(a) == json_object_get_double(b);
    return json_object_get_int64(a) == json_object_get_int64(b) &&
           json_object_get_uint64(a) == json_object_get_uint64(b);
}

static bool same_object(struct json_object *a, struct json_object *b)
{
    if (json_object_object_length(a) != json_object_object_length(b))
        return false;
    json_object_object_foreach(a, key, value)
    {
        struct json_object *other = NULL;
        if (!json_object_object_get_ex(b, key, &other) || !json_same(value, other))
            return false;
    }
    return true;
}

static bool same_array(struct json_object *a, struct json_object *b)
{
    size_t len = json_len(a);
    if (len != json_len(b))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!json_same(json_elem(a, i), json_elem(b, i)))
            return false;
    }
    return true;
}

static bool is_number(struct json_object *obj)
{
    return json_object_is_type(obj, json_type_int) || json_object_is_type(obj, json_type_double);
}

bool json_same(struct json_object *a, struct json_object *b)
{
    if (a == b)
        return true;
    if (!a || !b)
        return false;
    if (is_number(a) && is_number(b))
        return same_number(a, b);
    if (json_object_get_type(a) != json_object_get_type(b))
        return false;
    switch (json_object_get_type(a)) {
    case json_type_object:
        return same_object(a, b);
    case json_type_array:
        return same_array(a, b);
    case json_type_boolean:
        return json_object_get_boolean(a) == json_object_get_boolean(b);
    default: {
        size_t len = (size_t)json_object_get_string_len(a);
        return len == (size_t)json_object_get_string_len(b) &&
               memcmp(json_object_get_string(a), json_object_get_string(b), len) == 0;
    }
    }
}

static struct json_object *walk(struct json_object *obj, va_list keys)
{
    for (const char *key; (key = va_arg(keys, const char *)) != NULL;) {
        struct json_object *next = NULL;
        if (!json_object_is_type(obj, json_type_object) ||
            !json_object_object_get_ex(obj, key, &next))
            return NULL;
        obj = next;
    }
    return obj;
}

struct json_object *json_at(struct json_object *obj, ...)
{
    va_list keys;
    va_start(keys, obj);
    struct json_object *found = walk(obj, keys);
    va_end(keys);
    return found;
}

const char *json_str_at(struct json_object *obj, ...)
{
    va_list keys;
    va_start(keys, obj);
    struct json_object *found = walk(obj, keys);
    va_end(keys);
    if (!json_object_is_type(found, json_type_string))
        return NULL;
    const char *text = json_object_get_string(found);
    return memchr(text, '\0', (size_t)json_object_get_string_len(found)) ? NULL : text;
}

bool json_to_int(struct json_object *obj, int64_t *out)
{
    if (json_object_is_type(obj, json_type_int)) {
        *out = json_object_get_int64(obj);
        /* json-c gives INT64_MAX for a larger unsigned number. */
        return *out < 0 || json_object_get_uint64(obj) == (uint64_t)*out;
    }
    if (!json_object_is_type(obj, json_type_double))
        return false;
    double real = json_object_get_double(obj);
    if (!(real >= -0x1p63 && real < 0x1p63) || real != trunc(real))
        return false;
    *out = (int64_t)real;
    return true;
}

int64_t json_int_at(struct json_object *obj, int64_t missing, ...)
{
    va_list keys;
    va_start(keys, missing);
    struct json_object *found = walk(obj, keys);
    va_end(keys);
    int64_t value;
    return json_to_int(found, &value) ? value : missing;
}

bool json_bool_at(struct json_object *obj, bool missing, ...)
{
    va_list keys;
    /* A bool is promoted when it is passed; va_start() wants the parameter as it is declared. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvarargs"
    va_start(keys, missing);
#pragma GCC diagnostic pop
    struct json_object *found = walk(obj, keys);
    va_end(keys);
    if (!json_object_is_type(found, json_type_boolean))
        return missing;
    return json_object_get_boolean(found);
}

size_t json_len(struct json_object *array)
{
    return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

struct json_object *json_elem(struct json_object *array, size_t index)
{
    return index < json_len(array) ? json_object_array_get_idx(array, index) : NULL;
}

/* json-c ends the process where it is asked to add to what is no object. */
static void add_field(struct json_object *obj, const char *key, struct json_object *value)
{
    if (json_object_is_type(obj, json_type_object))
        json_object_object_add(obj, key, value);
    else
        json_object_put(value);
}

void json_set(struct json_object *obj, const char *key, struct json_object *value)
{
    add_field(obj, key, json_object_get(value));
}

void json_set_str(struct json_object *obj, const char *key, const char *value)
{
    if (value)
        add_field(obj, key, json_object_new_string(value));
}

void json_set_int(struct json_object *obj, const char *key, int64_t value)
{
    add_field(obj, key, json_object_new_int64(value));
}

void json_set_bool(struct json_object *obj, const char *key, bool value)
{
    add_field(obj, key, json_object_new_boolean(value));
}

void json_del(struct json_object *obj, const char *key)
{
    if (json_object_is_type(obj, json_type_object))
        json_object_object_del(obj, key);
}

size_t json_count(struct json_object *obj)
{
    return json_object_is_type(obj, json_type_object) ? (size_t)json_object_object_length(obj) : 0;
}

struct json_object *json_sub(struct json_object *obj, const char *key)
{
    struct json_object *sub = NULL;

    if (!json_object_is_type(obj, json_type_object))
        return NULL;
    if (json_object_object_get_ex(obj, key, &sub) && json_object_is_type(sub, json_type_object))
        return sub;
    sub = json_object_new_object();
    json_object_object_add(obj, key, sub);
    return sub;
}
