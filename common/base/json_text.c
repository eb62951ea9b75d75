/* Writing JSON. The text of a number that was read is kept, except in sorted text, where equal
 * values look equal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

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

/* JSON has no NaN or infinity: null, as browsers write. */
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
