/*
 * The strict parser: reads RFC 8259 and builds json-c trees. json-c's own parser accepts single
 * quotes, NaN, duplicate keys and more even in its strict mode, and its error positions are poor.
 *
 * The recursion is bounded by JSON_MAX_DEPTH.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/json.h"

struct parser {
    const char *text;
    const char *at;
    const char *end;
    int depth;
    bool outline;
    size_t tree, max_tree; /* bytes of memory */
    struct buf scratch;    /* buffer for strings with escapes */
    bool (*item)(void *arg, struct json_object *item, bool whole);
    void *arg;
    struct errinfo *ei;
    enum err err;
};

/*
 * Allocations of json-c, with malloc()'s overhead: an object begins with a table of sixteen
 * entries, an array with 32 elements; a table doubles when it is two thirds full.
 */
enum {
    OBJECT_BYTES = 816,
    OBJECT_MEMBERS = 10,
    MEMBER_BYTES = 120,
    KEY_BYTES = 24,
    ARRAY_BYTES = 400,
    ELEMENT_BYTES = 16,
    SCALAR_BYTES = 64
};

static enum err parse_value(struct parser *p, struct json_object **out);

/* Columns count characters, from 1, as editors do. */
static void fail(struct parser *p, const char *where, const char *expected)
{
    size_t line = 1;
    const char *start = p->text;
    for (const char *nl = p->text; (nl = memchr(nl, '\n', (size_t)(where - nl))) != NULL;) {
        line++;
        start = ++nl;
    }
    size_t column = utf8_count(start, (size_t)(where - start)) + 1;
    p->err = err_set(p->ei, ERR_INVALID, "line %zu, column %zu: %s", line, column, expected);
}

static enum err expected(struct parser *p, const char *what)
{
    char text[128];
    if (p->at >= p->end) {
        snprintf(text, sizeof(text), "expected %s, found the end of the text", what);
    } else {
        size_t n = utf8_sequence(p->at, (size_t)(p->end - p->at));
        unsigned char c = (unsigned char)*p->at;
        if (n == 0 || c < 0x20 || c == 0x7f)
            snprintf(text, sizeof(text), "expected %s, found the byte 0x%02x", what, c);
        else
            snprintf(text, sizeof(text), "expected %s, found '%.*s'", what, (int)n, p->at);
    }
    fail(p, p->at, text);
    return p->err;
}

/* Returns false if the tree has become too large. */
static bool spend(struct parser *p, size_t bytes)
{
    char text[96];

    p->tree += bytes;
    if (p->tree <= p->max_tree)
        return true;
    snprintf(text, sizeof(text), "the value takes more than the limit of %zu bytes of memory",
             p->max_tree);
    fail(p, p->at, text);
    return false;
}

static void skip_space(struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

static bool take(struct parser *p, char c)
{
    if (p->at >= p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static bool hex4(struct parser *p, uint32_t *out)
{
    if (p->end - p->at < 4)
        return false;
    uint32_t code = 0;
    for (int i = 0; i < 4; i++) {
        char c = p->at[i];
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint32_t)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            digit = (uint32_t)(c - 'A' + 10);
        else
            return false;
        code = code << 4 | digit;
    }
    p->at += 4;
    *out = code;
    return true;
}

/* The digits after "\u". A lone surrogate becomes U+FFFD, as in Go's encoding/json. */
static enum err parse_unicode_escape(struct parser *p)
{
    uint32_t code, low;
    if (!hex4(p, &code))
        return expected(p, "four hexadecimal digits after \\u");
    if (code >= 0xd800 && code <= 0xdbff) {
        const char *back = p->at;
        bool pair =
            take(p, '\\') && take(p, 'u') && hex4(p, &low) && low >= 0xdc00 && low <= 0xdfff;
        if (pair) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        } else {
            p->at = back;
            code = 0xfffd;
        }
    } else if (code >= 0xdc00 && code <= 0xdfff) {
        code = 0xfffd;
    }
    char utf8[4];
    buf_add(&p->scratch, utf8, utf8_encode(code, utf8));
    return ERR_OK;
}

static enum err parse_escape(struct parser *p)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    if (p->at >= p->end)
        return expected(p, "an escape character");
    if (take(p, 'u'))
        return parse_unicode_escape(p);
    const char *found = *p->at ? strchr(from, *p->at) : NULL;
    if (!found)
        return expected(p, "one of \"\\/bfnrtu after a backslash");
    p->at++;
    buf_add(&p->scratch, &to[found - from], 1);
    return ERR_OK;
}

/* Skips plain characters up to a quote or backslash. */
static enum err skip_plain(struct parser *p)
{
    while (p->at < p->end) {
        unsigned char c = (unsigned char)*p->at;
        if (c == '"' || c == '\\')
            return ERR_OK;
        if (c < 0x20)
            return expected(p, "an escape for a control character");
        if (c < 0x80) {
            p->at++;
            continue;
        }
        size_t n = utf8_sequence(p->at, (size_t)(p->end - p->at));
        if (n == 0)
            return expected(p, "valid UTF-8");
        p->at += n;
    }
    return expected(p, "a closing quote");
}

/* *out points into the text or into the scratch buffer, which the next string overwrites. */
static enum err parse_string(struct parser *p, const char **out, size_t *len)
{
    const char *start = ++p->at;
    if (skip_plain(p) != ERR_OK)
        return p->err;
    if (*p->at == '"') {
        *out = start;
        *len = (size_t)(p->at++ - start);
        return ERR_OK;
    }
    buf_clear(&p->scratch);
    buf_add(&p->scratch, start, (size_t)(p->at - start));
    while (!take(p, '"')) {
        if (take(p, '\\')) {
            if (parse_escape(p) != ERR_OK)
                return p->err;
            continue;
        }
        start = p->at;
        if (skip_plain(p) != ERR_OK)
            return p->err;
        buf_add(&p->scratch, start, (size_t)(p->at - start));
    }
    *out = p->scratch.data;
    *len = p->scratch.len;
    return ERR_OK;
}

static size_t skip_digits(struct parser *p)
{
    const char *start = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
        p->at++;
    return (size_t)(p->at - start);
}

/* Skips a number; *whole is false if it has a fraction or an exponent. */
static enum err scan_number(struct parser *p, bool *whole)
{
    *whole = true;
    take(p, '-');
    if (!take(p, '0') && skip_digits(p) == 0)
        return expected(p, "a digit");
    if (p->at < p->end && *p->at >= '0' && *p->at <= '9')
        return expected(p, "no digit after a leading zero");
    if (take(p, '.')) {
        *whole = false;
        if (skip_digits(p) == 0)
            return expected(p, "a digit after the decimal point");
    }
    if (take(p, 'e') || take(p, 'E')) {
        *whole = false;
        if (!take(p, '+'))
            take(p, '-');
        if (skip_digits(p) == 0)
            return expected(p, "a digit in the exponent");
    }
    return ERR_OK;
}

/* Returns false if it does not fit, and for "-0", which is not an integer. */
static bool to_int64(const char *text, size_t len, int64_t *out)
{
    bool negative = text[0] == '-';
    if (len > 20 || (negative && text[1] == '0'))
        return false;
    int64_t value = 0;
    for (size_t i = negative; i < len; i++) {
        int digit = text[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return false;
    }
    *out = value;
    return true;
}

static enum err parse_number(struct parser *p, struct json_object **out)
{
    const char *start = p->at;
    bool whole;
    if (scan_number(p, &whole) != ERR_OK)
        return p->err;
    size_t len = (size_t)(p->at - start);
    if (!spend(p, SCALAR_BYTES + len))
        return p->err;
    int64_t integer;
    if (whole && to_int64(start, len, &integer)) {
        *out = json_object_new_int64(integer);
        return ERR_OK;
    }
    buf_clear(&p->scratch);
    buf_add(&p->scratch, start, len);
    errno = 0;
    if (whole && start[0] != '-') {
        unsigned long long large = strtoull(p->scratch.data, NULL, 10);
        if (errno == 0) {
            *out = json_object_new_uint64(large);
            return ERR_OK;
        }
    }
    double real = strtod(p->scratch.data, NULL);
    if (!isfinite(real)) {
        p->at = start;
        fail(p, start, "the number is too large");
        return p->err;
    }
    *out = json_object_new_double_s(real, p->scratch.data);
    return ERR_OK;
}

static enum err parse_word(struct parser *p, const char *word, struct json_object *value,
                           struct json_object **out)
{
    size_t len = strlen(word);
    if ((size_t)(p->end - p->at) < len || memcmp(p->at, word, len) != 0) {
        json_object_put(value);
        return expected(p, "a JSON value");
    }
    p->at += len;
    *out = value;
    return ERR_OK;
}

static enum err deeper(struct parser *p)
{
    if (p->depth++ < JSON_MAX_DEPTH)
        return ERR_OK;
    char text[64];
    snprintf(text, sizeof(text), "nested more than %d levels deep", JSON_MAX_DEPTH);
    fail(p, p->at, text);
    return p->err;
}

static enum err parse_array(struct parser *p, struct json_object *array)
{
    p->at++;
    skip_space(p);
    if (take(p, ']'))
        return ERR_OK;
    for (;;) {
        struct json_object *value = NULL;
        if (!spend(p, ELEMENT_BYTES) || parse_value(p, &value) != ERR_OK)
            return p->err;
        json_object_array_add(array, value);
        skip_space(p);
        if (take(p, ']'))
            return ERR_OK;
        if (!take(p, ','))
            return expected(p, "',' or ']' after an array element");
        skip_space(p);
    }
}

/* Reads an element of "items", calls item() and drops it. */
static enum err parse_item(struct parser *p)
{
    const struct parser before = *p;
    struct json_object *value = NULL;
    bool whole = parse_value(p, &value) == ERR_OK;
    if (!whole && p->tree > p->max_tree && !p->outline) {
        p->at = before.at;
        p->tree = before.tree;
        p->err = ERR_OK;
        if (p->ei)
            *p->ei = (struct errinfo){0};
        p->outline = true;
        parse_value(p, &value);
        p->outline = false;
    }
    if (p->err == ERR_OK && !p->item(p->arg, value, whole))
        p->err = err_set(p->ei, ERR_CANCELLED, "the rest is not wanted");
    json_object_put(value);
    p->tree = before.tree;
    return p->err;
}

static enum err parse_items(struct parser *p)
{
    p->at++;
    skip_space(p);
    if (take(p, ']'))
        return ERR_OK;
    for (;;) {
        if (parse_item(p) != ERR_OK)
            return p->err;
        skip_space(p);
        if (take(p, ']'))
            return ERR_OK;
        if (!take(p, ','))
            return expected(p, "',' or ']' after an array element");
        skip_space(p);
    }
}

/* Returns a copy of a key that is unique in the object and has no NUL, or NULL after an error. */
static char *parse_key(struct parser *p, struct json_object *obj)
{
    const char *where = p->at;
    if (p->at >= p->end || *p->at != '"') {
        expected(p, "a key in double quotes");
        return NULL;
    }
    const char *raw = "";
    size_t len = 0;
    if (parse_string(p, &raw, &len) != ERR_OK)
        return NULL;
    if (memchr(raw, '\0', len)) {
        fail(p, where, "a key must not contain U+0000");
        return NULL;
    }
    bool grows = json_object_object_length(obj) >= OBJECT_MEMBERS;
    if (!spend(p, KEY_BYTES + len + (grows ? MEMBER_BYTES : 0)))
        return NULL;
    char *key = memcpy(heap_alloc(len + 1), raw, len);
    if (json_object_object_get_ex(obj, key, NULL)) {
        char text[160];
        snprintf(text, sizeof(text), "duplicate key \"%.*s\"",
                 (int)utf8_cut(key, len < 100 ? len : 100), key);
        fail(p, where, text);
        free(key);
        return NULL;
    }
    return key;
}

/* Skips a list or an object; checks only strings and closing brackets. */
static enum err skip_nested(struct parser *p)
{
    const char *text;
    size_t len;
    size_t depth = 0;
    do {
        if (p->at >= p->end)
            return expected(p, "a closing bracket");
        if (*p->at == '"') {
            if (parse_string(p, &text, &len) != ERR_OK)
                return p->err;
            continue;
        }
        if (*p->at == '{' || *p->at == '[')
            depth++;
        else if (*p->at == '}' || *p->at == ']')
            depth--;
        p->at++;
    } while (depth > 0);
    return ERR_OK;
}

static bool is_left_out(const struct parser *p, const char *key)
{
    return p->outline && p->at < p->end && (*p->at == '{' || *p->at == '[') &&
           strcmp(key, "items") != 0 && strcmp(key, "object") != 0 && strcmp(key, "metadata") != 0;
}

static bool is_items(const struct parser *p, const char *key)
{
    return p->item && p->depth == 1 && p->at < p->end && *p->at == '[' && strcmp(key, "items") == 0;
}

static enum err parse_member(struct parser *p, struct json_object *obj)
{
    char *key = parse_key(p, obj);
    if (!key)
        return p->err;
    struct json_object *value = NULL;
    skip_space(p);
    if (!take(p, ':')) {
        expected(p, "':' after a key");
        goto out;
    }
    skip_space(p);
    if (is_items(p, key))
        parse_items(p);
    else if (is_left_out(p, key))
        skip_nested(p);
    else if (parse_value(p, &value) == ERR_OK)
        json_object_object_add_ex(obj, key, value, JSON_C_OBJECT_ADD_KEY_IS_NEW);
out:
    free(key);
    return p->err;
}

static enum err parse_object(struct parser *p, struct json_object *obj)
{
    p->at++;
    skip_space(p);
    if (take(p, '}'))
        return ERR_OK;
    for (;;) {
        if (parse_member(p, obj) != ERR_OK)
            return p->err;
        skip_space(p);
        if (take(p, '}'))
            return ERR_OK;
        if (!take(p, ','))
            return expected(p, "',' or '}' after a value");
        skip_space(p);
    }
}

static enum err parse_value(struct parser *p, struct json_object **out)
{
    const char *text = NULL;
    size_t len = 0;
    switch (p->at < p->end ? *p->at : '\0') {
    case '{':
        if (!spend(p, OBJECT_BYTES))
            return p->err;
        *out = json_object_new_object();
        if (deeper(p) == ERR_OK)
            parse_object(p, *out);
        p->depth--;
        break;
    case '[':
        if (!spend(p, ARRAY_BYTES))
            return p->err;
        *out = json_object_new_array();
        if (deeper(p) == ERR_OK)
            parse_array(p, *out);
        p->depth--;
        break;
    case '"':
        if (parse_string(p, &text, &len) == ERR_OK && spend(p, SCALAR_BYTES + len))
            *out = json_object_new_string_len(text, (int)len);
        break;
    case 't':
        return parse_word(p, "true", json_object_new_boolean(1), out);
    case 'f':
        return parse_word(p, "false", json_object_new_boolean(0), out);
    case 'n':
        return parse_word(p, "null", NULL, out);
    case '-':
    case '0' ... '9':
        return parse_number(p, out);
    default:
        return expected(p, "a JSON value");
    }
    if (p->err != ERR_OK) {
        json_object_put(*out);
        *out = NULL;
    }
    return p->err;
}

enum err json_parse_within(struct arena *arena, const char *text, size_t len,
                           struct json_bounds *bounds, struct json_object **out, struct errinfo *ei)
{
    *out = NULL;
    bounds->tree = 0;
    size_t max = bounds->max_text;
    if (max > INT_MAX / 2)
        max = INT_MAX / 2; /* json-c counts in int */
    if (len > max)
        return err_set(ei, ERR_INVALID, "%zu bytes of JSON are more than the limit of %zu", len,
                       max);
    struct parser p = {
        .text = text,
        .at = text,
        .end = text + len,
        .max_tree = bounds->max_tree,
        .outline = bounds->outline,
        .item = bounds->item,
        .arg = bounds->arg,
        .ei = ei,
    };
    buf_init(&p.scratch, len + 4);
    skip_space(&p);
    if (parse_value(&p, out) == ERR_OK) {
        skip_space(&p);
        if (p.at < p.end)
            expected(&p, "nothing after the value");
    }
    buf_fini(&p.scratch);
    bounds->tree = p.tree;
    if (p.err != ERR_OK) {
        json_object_put(*out);
        *out = NULL;
        return p.err;
    }
    json_own(arena, *out);
    return ERR_OK;
}

enum err json_parse(struct arena *arena, const char *text, size_t len, size_t max,
                    struct json_object **out, struct errinfo *ei)
{
    if (max > INT_MAX / 2)
        max = INT_MAX / 2;
    struct json_bounds bounds = {
        .max_text = max,
        .max_tree =
            max > JSON_LEAST_TREE / JSON_TREE_SHARE ? max * JSON_TREE_SHARE : JSON_LEAST_TREE,
    };
    return json_parse_within(arena, text, len, &bounds, out, ei);
}
