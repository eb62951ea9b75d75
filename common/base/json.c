/* JSON trees: access and setters, text, merge patches, and the field reader. json_parse.c has the
 * parser. */
#include "base/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"

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
        abort(); /* fails only when out of memory */
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

/*
 * Copies by hand: json_object_deep_copy() looks up each key in the copy before it adds it, and
 * begins each array with 32 elements. User data of objects is not copied.
 */
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
        /* json-c returns INT64_MAX for a larger unsigned number. */
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
    /* va_start() needs a parameter whose type is not promoted, but bool is. */
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

struct json_object *json_find(struct json_object *array, const char *key, const char *text,
                              size_t *index)
{
    for (size_t i = 0; i < json_len(array); i++) {
        const char *found = json_str_at(json_elem(array, i), key, NULL);
        if (!found || strcmp(found, text) != 0)
            continue;
        if (index)
            *index = i;
        return json_elem(array, i);
    }
    return NULL;
}

/* json-c aborts if the target is not an object. */
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

struct writer {
    struct buf out;
    bool sorted;
};

struct member {
    const char *key;
    struct json_object *value;
};

static void put(struct writer *w, struct json_object *obj);

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static void quote_byte(struct buf *out, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t";
    static const char to[] = "\"\\bfnrt";
    const char *found = c ? strchr(from, c) : NULL;
    if (found) {
        const char pair[2] = {'\\', to[found - from]};
        buf_add(out, pair, 2);
    } else {
        buf_printf(out, "\\u%04x", c);
    }
}

void json_quote(struct buf *out, const char *text, size_t len)
{
    buf_add(out, "\"", 1);
    for (size_t at = 0; at < len;) {
        size_t start = at;
        while (at < len && is_plain((unsigned char)text[at]))
            at++;
        if (at > start)
            buf_add(out, text + start, at - start);
        if (at >= len)
            break;
        size_t n = utf8_sequence(text + at, len - at);
        if (n > 1)
            buf_add(out, text + at, n);
        else if (n == 1)
            quote_byte(out, (unsigned char)text[at]);
        else
            buf_add(out, "\\ufffd", 6);
        at += n ? n : 1;
    }
    buf_add(out, "\"", 1);
}

/* JSON has no NaN or infinity: writes null, as browsers do. */
static void put_real(struct writer *w, double real)
{
    if (isfinite(real))
        buf_real(&w->out, real);
    else
        buf_puts(&w->out, "null");
}

static void put_number(struct writer *w, struct json_object *obj)
{
    if (json_object_is_type(obj, json_type_double)) {
        /* json_object_new_double_s() keeps the source text there. */
        const char *source = json_object_get_userdata(obj);
        if (source && !w->sorted)
            buf_puts(&w->out, source);
        else
            put_real(w, json_object_get_double(obj));
        return;
    }
    int64_t value = json_object_get_int64(obj);
    if (value < 0)
        buf_printf(&w->out, "%lld", (long long)value);
    else
        buf_printf(&w->out, "%llu", (unsigned long long)json_object_get_uint64(obj));
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->key, ((const struct member *)b)->key);
}

static void put_member(struct writer *w, const char *key, struct json_object *value, bool first)
{
    if (!first)
        buf_add(&w->out, ",", 1);
    json_quote(&w->out, key, strlen(key));
    buf_add(&w->out, ":", 1);
    put(w, value);
}

static void put_object_sorted(struct writer *w, struct json_object *obj)
{
    size_t count = (size_t)json_object_object_length(obj), i = 0;
    struct member *members = heap_array(count, sizeof(*members));
    json_object_object_foreach(obj, key, value)
    {
        members[i++] = (struct member){.key = key, .value = value};
    }
    qsort(members, count, sizeof(*members), by_key);
    for (i = 0; i < count; i++)
        put_member(w, members[i].key, members[i].value, i == 0);
    free(members);
}

static void put_object(struct writer *w, struct json_object *obj)
{
    buf_add(&w->out, "{", 1);
    if (w->sorted) {
        put_object_sorted(w, obj);
    } else {
        bool first = true;
        json_object_object_foreach(obj, key, value)
        {
            put_member(w, key, value, first);
            first = false;
        }
    }
    buf_add(&w->out, "}", 1);
}

static void put_array(struct writer *w, struct json_object *array)
{
    buf_add(&w->out, "[", 1);
    size_t len = json_len(array);
    for (size_t i = 0; i < len; i++) {
        if (i > 0)
            buf_add(&w->out, ",", 1);
        put(w, json_elem(array, i));
    }
    buf_add(&w->out, "]", 1);
}

static void put(struct writer *w, struct json_object *obj)
{
    switch (json_object_get_type(obj)) {
    case json_type_null:
        buf_puts(&w->out, "null");
        break;
    case json_type_boolean:
        buf_puts(&w->out, json_object_get_boolean(obj) ? "true" : "false");
        break;
    case json_type_int:
    case json_type_double:
        put_number(w, obj);
        break;
    case json_type_string:
        json_quote(&w->out, json_object_get_string(obj), (size_t)json_object_get_string_len(obj));
        break;
    case json_type_array:
        put_array(w, obj);
        break;
    case json_type_object:
        put_object(w, obj);
        break;
    }
}

static const char *write_tree(struct arena *arena, struct json_object *obj, bool sorted)
{
    struct writer w = {.sorted = sorted};
    buf_init(&w.out, SIZE_MAX);
    put(&w, obj);
    char *text = buf_give(&w.out);
    arena_defer(arena, free, text);
    return text;
}

const char *json_text(struct arena *arena, struct json_object *obj)
{
    return write_tree(arena, obj, false);
}

const char *json_text_sorted(struct arena *arena, struct json_object *obj)
{
    return write_tree(arena, obj, true);
}

static bool is_json_object(struct json_object *obj)
{
    return json_object_is_type(obj, json_type_object);
}

/* Applies the patch to target, which the caller owns, and returns the result, which contains
 * none of the patch's nulls. */
static struct json_object *merge_into(struct json_object *target, struct json_object *patch)
{
    if (!is_json_object(patch)) {
        json_object_put(target);
        return json_dup(patch);
    }
    if (!is_json_object(target)) {
        json_object_put(target);
        target = json_object_new_object();
    }
    json_object_object_foreach(patch, key, value)
    {
        if (!value) {
            json_object_object_del(target, key);
            continue;
        }
        struct json_object *old = json_object_get(json_at(target, key, NULL));
        if (is_json_object(old) && is_json_object(value)) {
            merge_into(old, value);
            json_object_put(old);
            continue;
        }
        json_object_put(old);
        json_object_object_add(target, key, merge_into(NULL, value));
    }
    return target;
}

struct json_object *json_merge(struct arena *arena, struct json_object *target,
                               struct json_object *patch)
{
    return json_own(arena, merge_into(json_dup(target), patch));
}

/* Returns a new reference, or NULL if the objects are equal. */
static struct json_object *diff(struct json_object *from, struct json_object *to)
{
    struct json_object *patch = NULL;
    json_object_object_foreach(from, gone, unused)
    {
        (void)unused;
        if (json_object_object_get_ex(to, gone, NULL))
            continue;
        if (!patch)
            patch = json_object_new_object();
        json_object_object_add(patch, gone, NULL);
    }
    json_object_object_foreach(to, key, value)
    {
        struct json_object *old = json_at(from, key, NULL);
        struct json_object *change = NULL;
        if (is_json_object(old) && is_json_object(value))
            change = diff(old, value);
        else if (!json_same(old, value))
            change = json_dup(value);
        else
            continue;
        if (!change && value && is_json_object(old) && is_json_object(value))
            continue;
        if (!patch)
            patch = json_object_new_object();
        json_object_object_add(patch, key, change);
    }
    return patch;
}

struct json_object *json_merge_diff(struct arena *arena, struct json_object *from,
                                    struct json_object *to)
{
    if (is_json_object(from) && is_json_object(to))
        return json_own(arena, diff(from, to));
    return json_same(from, to) ? NULL : json_copy(arena, to);
}

struct json_path {
    struct json_path *next; /* list of all nodes, the latest first */
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

/* A key that is not a plain word is written in brackets, so that "a.b" and "a" then "b" differ. */
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

/* The value found, for the end of an error. */
const char *json_describe(struct arena *arena, struct json_object *value, size_t max)
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
    const char *text = json_text(arena, value);
    size_t len = strlen(text);
    if (len <= max)
        return text;
    return arena_printf(arena, "%.*s...", (int)utf8_cut(text, max), text);
}

static void fail_type(struct json_reader *r, struct json_object *obj, const char *key,
                      const char *expected, struct json_object *value)
{
    json_reader_fail(r, obj, key, "expected %s, found %s", expected,
                     json_describe(r->arena, value, FOUND_TEXT));
}

/* The value of the key; null counts as missing, as in Kubernetes. */
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
