#include "object/yaml_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "base/yaml_scalar.h"

enum {
    LONGEST_SIMPLE_KEY = 1000
}; /* readers give up looking for the colon after 1024 characters */

struct writer {
    struct arena *arena;
    struct buf out;
};

static void put_block(struct writer *w, struct json_object *obj, int indent);

static uint32_t decode(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    if (n == 1)
        return s[0];
    uint32_t code = s[0] & (0x7fU >> n);
    for (size_t i = 1; i < n; i++)
        code = code << 6 | (s[i] & 0x3f);
    return code;
}

/* Characters that YAML does not take as they are, or takes for line breaks. */
static bool needs_escape(uint32_t code)
{
    return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code <= 0x9f) ||
           code == 0x2028 || code == 0x2029 || code == 0xfeff || code == 0xfffe || code == 0xffff;
}

static bool is_clean(const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t n = utf8_sequence(text + at, len - at);
        if (n == 0 || needs_escape(decode(text + at, n)))
            return false;
        at += n;
    }
    return true;
}

/* Double quotes: what is not clean is escaped, and bad UTF-8 replaced. */
static void put_quoted(struct writer *w, const char *text, size_t len)
{
    if (is_clean(text, len)) {
        json_quote(&w->out, text, len);
        return;
    }
    buf_puts(&w->out, "\"");
    for (size_t at = 0; at < len;) {
        size_t n = utf8_sequence(text + at, len - at);
        uint32_t code = n ? decode(text + at, n) : 0xfffd;
        if (code == '"' || code == '\\')
            buf_printf(&w->out, "\\%c", (int)code);
        else if (code == '\n' || code == '\t')
            buf_puts(&w->out, code == '\n' ? "\\n" : "\\t");
        else if (n == 0 || needs_escape(code))
            buf_printf(&w->out, "\\u%04x", code);
        else
            buf_add(&w->out, text + at, n);
        at += n ? n : 1;
    }
    buf_puts(&w->out, "\"");
}

/* What other readers than ours might take for a time or a number of base 60. */
static bool looks_like_number(const char *text, size_t len)
{
    return text[0] >= '0' && text[0] <= '9' &&
           (memchr(text, ':', len) || (len > 4 && text[4] == '-'));
}

/* Whether text can stand without quotes, as a key too. Rather quoted once too often. */
static bool is_plain(const char *text, size_t len)
{
    static const char first[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.(";
    static const char others[] = "-+@$%^&*()=;<>?!~|\\'\",[]{}` ";
    if (len == 0 || text[len - 1] == ' ' || !is_clean(text, len))
        return false;
    unsigned char head = (unsigned char)text[0];
    bool dash = head == '-' && len > 1 && (strchr(first, text[1]) || text[1] == '-');
    if (!(head >= 0x80 || dash || strchr(first, head)) || memchr(text, '\0', len))
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        bool colon = c == ':' && i + 1 < len && text[i + 1] != ' ';
        bool hash = c == '#' && i > 0 && text[i - 1] != ' ';
        if (!(c >= 0x80 || colon || hash || strchr(first, c) || strchr(others, c)))
            return false;
    }
    if (strncmp(text, "---", 3) == 0 || strncmp(text, "...", 3) == 0 ||
        looks_like_number(text, len))
        return false;
    return yaml_scalar_is_string(text, len);
}

static void put_string(struct writer *w, const char *text, size_t len)
{
    if (is_plain(text, len))
        buf_add(&w->out, text, len);
    else
        put_quoted(w, text, len);
}

/* Text of several lines reads best as a literal block; its first line sets the indent, so it must
 * have none. */
static bool suits_literal(const char *text, size_t len)
{
    return len > 0 && text[0] != ' ' && text[0] != '\t' && text[0] != '\n' &&
           memchr(text, '\n', len) && is_clean(text, len);
}

static void put_indent(struct writer *w, int indent)
{
    buf_printf(&w->out, "%*s", indent, "");
}

static void put_literal(struct writer *w, const char *text, size_t len, int indent)
{
    if (indent == 0)
        indent = 2; /* also a document that is one text must be indented */
    bool ends = text[len - 1] == '\n';
    bool more =
        ends && text[len - 2] == '\n'; /* the first character is no line break: len is 2 or more */
    buf_puts(&w->out, more ? "|+\n" : ends ? "|\n" : "|-\n");
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t line = end ? (size_t)(end - (text + at)) : len - at;
        if (line > 0) {
            put_indent(w, indent);
            buf_add(&w->out, text + at, line);
        }
        buf_puts(&w->out, "\n");
        at += line + 1;
    }
}

static bool is_block(struct json_object *obj)
{
    if (json_object_is_type(obj, json_type_object))
        return json_object_object_length(obj) > 0;
    return json_len(obj) > 0;
}

/* A value that begins on the current line, and the line's end. */
static void put_inline(struct writer *w, struct json_object *obj, int indent)
{
    if (!json_object_is_type(obj, json_type_string)) {
        buf_printf(&w->out, "%s\n", json_text(w->arena, obj));
        return;
    }
    const char *text = json_object_get_string(obj);
    size_t len = (size_t)json_object_get_string_len(obj);
    if (suits_literal(text, len)) {
        put_literal(w, text, len, indent);
        return;
    }
    put_string(w, text, len);
    buf_puts(&w->out, "\n");
}

static void put_key(struct writer *w, const char *key, int indent)
{
    size_t len = strlen(key);
    if (len <= LONGEST_SIMPLE_KEY) {
        put_string(w, key, len);
    } else {
        buf_puts(&w->out, "? ");
        put_quoted(w, key, len);
        buf_puts(&w->out, "\n");
        put_indent(w, indent);
    }
    buf_puts(&w->out, ":");
}

static void put_mapping(struct writer *w, struct json_object *obj, int indent)
{
    bool first = true;
    json_object_object_foreach(obj, key, value)
    {
        if (!first)
            put_indent(w, indent);
        first = false;
        put_key(w, key, indent);
        if (!is_block(value)) {
            buf_puts(&w->out, " ");
            put_inline(w, value, indent + 2);
            continue;
        }
        /* A list stands at its key's own indent, as kubectl prints it. */
        int inner = json_object_is_type(value, json_type_array) ? indent : indent + 2;
        buf_puts(&w->out, "\n");
        put_indent(w, inner);
        put_block(w, value, inner);
    }
}

static void put_sequence(struct writer *w, struct json_object *array, int indent)
{
    size_t len = json_len(array);
    for (size_t i = 0; i < len; i++) {
        if (i > 0)
            put_indent(w, indent);
        buf_puts(&w->out, "- ");
        put_block(w, json_elem(array, i), indent + 2);
    }
}

/* The indent of the first line is already there. */
static void put_block(struct writer *w, struct json_object *obj, int indent)
{
    if (!is_block(obj))
        put_inline(w, obj, indent);
    else if (json_object_is_type(obj, json_type_object))
        put_mapping(w, obj, indent);
    else
        put_sequence(w, obj, indent);
}

const char *yaml_text(struct arena *arena, struct json_object *obj)
{
    struct writer w = {.arena = arena};
    buf_init(&w.out, SIZE_MAX);
    put_block(&w, obj, 0);
    char *text = buf_give(&w.out);
    arena_defer(arena, free, text);
    return text;
}
