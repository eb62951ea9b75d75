/*
 * YAML 1.1 scalars, and json-c trees from libyaml's events. The recursion is bounded by
 * JSON_MAX_DEPTH, and the expansion of aliases in bytes, so that a small text cannot make a large
 * tree.
 */
#include "base/yaml.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/encoding.h"
#include "base/file.h"

enum kind { IS_STRING, IS_NULL, IS_BOOL, IS_INT, IS_FLOAT, IS_NOT_FINITE };

struct scalar {
    enum kind kind;
    bool truth;
    bool negative; /* sign of an integer */
    uint64_t magnitude;
    double real;
};

static const struct word {
    const char *text;
    enum kind kind;
    bool truth;
} words[] = {
    {"", IS_NULL, false},        {"~", IS_NULL, false},       {"null", IS_NULL, false},
    {"Null", IS_NULL, false},    {"NULL", IS_NULL, false},    {"y", IS_BOOL, true},
    {"Y", IS_BOOL, true},        {"yes", IS_BOOL, true},      {"Yes", IS_BOOL, true},
    {"YES", IS_BOOL, true},      {"true", IS_BOOL, true},     {"True", IS_BOOL, true},
    {"TRUE", IS_BOOL, true},     {"on", IS_BOOL, true},       {"On", IS_BOOL, true},
    {"ON", IS_BOOL, true},       {"n", IS_BOOL, false},       {"N", IS_BOOL, false},
    {"no", IS_BOOL, false},      {"No", IS_BOOL, false},      {"NO", IS_BOOL, false},
    {"false", IS_BOOL, false},   {"False", IS_BOOL, false},   {"FALSE", IS_BOOL, false},
    {"off", IS_BOOL, false},     {"Off", IS_BOOL, false},     {"OFF", IS_BOOL, false},
    {".nan", IS_NOT_FINITE, 0},  {".NaN", IS_NOT_FINITE, 0},  {".NAN", IS_NOT_FINITE, 0},
    {".inf", IS_NOT_FINITE, 0},  {".Inf", IS_NOT_FINITE, 0},  {".INF", IS_NOT_FINITE, 0},
    {"+.inf", IS_NOT_FINITE, 0}, {"+.Inf", IS_NOT_FINITE, 0}, {"+.INF", IS_NOT_FINITE, 0},
    {"-.inf", IS_NOT_FINITE, 0}, {"-.Inf", IS_NOT_FINITE, 0}, {"-.INF", IS_NOT_FINITE, 0},
};

enum { LONGEST_WORD = 5, LONGEST_NUMBER = 400 };

static const struct word *find_word(const char *text, size_t len)
{
    for (size_t i = 0; len <= LONGEST_WORD && i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i].text) == len && memcmp(words[i].text, text, len) == 0)
            return &words[i];
    }
    return NULL;
}

static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 16;
}

/* After a sign: 0x1f, 0b101, 0o17, 017 or decimal; the whole text. */
static bool read_magnitude(const char *at, uint64_t *out)
{
    unsigned base = 10;
    if (at[0] == '0' && at[1]) {
        char letter = (char)(at[1] | 0x20);
        base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
        at += letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1;
    }
    *out = 0;
    if (!*at)
        return false;
    for (; *at; at++) {
        unsigned digit = digit_value(*at);
        if (digit >= base || __builtin_mul_overflow(*out, base, out) ||
            __builtin_add_overflow(*out, digit, out))
            return false;
    }
    return true;
}

/* With a '+' Go accepts only an int64, and reads larger numbers as a float. */
static bool read_integer(const char *text, struct scalar *out)
{
    bool sign = *text == '-' || *text == '+';
    out->negative = *text == '-';
    if (!read_magnitude(text + sign, &out->magnitude))
        return false;
    uint64_t most = out->negative ? (uint64_t)INT64_MAX + 1 : sign ? INT64_MAX : UINT64_MAX;
    return out->magnitude <= most;
}

/* Sign, digits with an optional point, exponent; other forms of strtod() (hex, inf, nan) are not
 * floats. */
static bool read_float(const char *text, double *out)
{
    const char *at = text + (*text == '-' || *text == '+');
    size_t whole = strspn(at, "0123456789"), fraction = 0;
    at += whole;
    if (*at == '.') {
        fraction = strspn(++at, "0123456789");
        at += fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '-' || at[1] == '+');
        size_t digits = strspn(at, "0123456789");
        if (digits == 0)
            return false;
        at += digits;
    }
    if (*at)
        return false;
    *out = strtod(text, NULL);
    return isfinite(*out);
}

/* Copies without the underscores that group digits; returns false if too long for a number or with
 * a NUL. */
static bool copy_number(const char *text, size_t len, char out[LONGEST_NUMBER + 1])
{
    size_t used = 0;
    if (len > LONGEST_NUMBER)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\0')
            return false;
        if (text[i] != '_' || text[0] == '.')
            out[used++] = text[i];
    }
    out[used] = '\0';
    return true;
}

static struct scalar resolve(const char *text, size_t len)
{
    struct scalar scalar = {.kind = IS_STRING};
    const struct word *word = find_word(text, len);
    if (word) {
        scalar.kind = word->kind;
        scalar.truth = word->truth;
        return scalar;
    }
    char number[LONGEST_NUMBER + 1];
    if (!strchr("0123456789+-.", text[0]) || !copy_number(text, len, number))
        return scalar;
    if (text[0] != '.' && read_integer(number, &scalar))
        scalar.kind = IS_INT;
    else if (read_float(number, &scalar.real))
        scalar.kind = IS_FLOAT;
    return scalar;
}

static struct json_object *new_integer(const struct scalar *scalar)
{
    if (scalar->negative)
        return json_object_new_int64((int64_t)(0 - scalar->magnitude));
    if (scalar->magnitude > INT64_MAX)
        return json_object_new_uint64(scalar->magnitude);
    return json_object_new_int64((int64_t)scalar->magnitude);
}

/* Kubernetes converts through JSON text, where 1.0 is written 1. */
static struct json_object *new_real(double real)
{
    if (real == trunc(real) && fabs(real) < 0x1p53)
        return json_object_new_int64((int64_t)real);
    return json_object_new_double(real);
}

static struct json_object *new_value(const struct scalar *scalar, const char *text, size_t len)
{
    switch (scalar->kind) {
    case IS_BOOL:
        return json_object_new_boolean(scalar->truth);
    case IS_INT:
        return new_integer(scalar);
    case IS_FLOAT:
        return new_real(scalar->real);
    case IS_NULL:
        return NULL;
    default:
        return json_object_new_string_len(text, (int)len);
    }
}

/* JSON strings are text, so the bytes must be UTF-8. */
static const char *binary(struct arena *arena, const char *text, size_t len,
                          struct json_object **out)
{
    char *data;
    size_t size;
    const char *copy = arena_strndup(arena, text, len);
    if (base64_decode(arena, copy, &data, &size, NULL) != ERR_OK)
        return "base64 behind !!binary";
    if (!utf8_valid(data, size))
        return "base64 of UTF-8 text behind !!binary";
    *out = json_object_new_string_len(data, (int)size);
    return NULL;
}

/* A scalar with a type tag. */
static const char *tagged(struct arena *arena, const char *text, size_t len, const char *name,
                          struct json_object **out)
{
    static const struct {
        const char *name;
        enum kind kind;
        const char *expected;
    } types[] = {
        {"null", IS_NULL, "null behind !!null"},
        {"bool", IS_BOOL, "true or false behind !!bool"},
        {"int", IS_INT, "a whole number behind !!int"},
        {"float", IS_FLOAT, "a number behind !!float"},
    };
    if (strcmp(name, "binary") == 0)
        return binary(arena, text, len, out);
    struct scalar scalar = resolve(text, len);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(name, types[i].name) != 0)
            continue;
        if (scalar.kind != types[i].kind && !(types[i].kind == IS_FLOAT && scalar.kind == IS_INT))
            return types[i].expected;
        *out = new_value(&scalar, text, len);
        return NULL;
    }
    *out = json_object_new_string_len(text, (int)len);
    return NULL;
}

const char *yaml_scalar(struct arena *arena, const char *text, size_t len, const char *tag,
                        bool plain, struct json_object **out)
{
    static const char standard[] = "tag:yaml.org,2002:";
    *out = NULL;
    if (tag && strncmp(tag, standard, sizeof(standard) - 1) == 0)
        return tagged(arena, text, len, tag + sizeof(standard) - 1, out);
    struct scalar scalar = {.kind = IS_STRING};
    if (plain && (!tag || !*tag))
        scalar = resolve(text, len);
    if (scalar.kind == IS_NOT_FINITE)
        return "a number that JSON can hold";
    *out = new_value(&scalar, text, len);
    return NULL;
}

enum { NODE_COST = 16, SHOWN = 100 }; /* bytes counted for a node beyond its text */

struct mark {
    struct mark *next;
    struct json_object *parent;
    const char *key; /* NULL for an index */
    size_t index;
    struct yaml_place place;
};

struct yaml_marks {
    struct mark *first;
};

struct reader {
    struct arena *arena;
    struct yaml_marks *marks; /* NULL if not requested */
    const char *name;
    const char *text;
    size_t len;
    yaml_parser_t parser;
    yaml_event_t event;          /* the current one */
    struct json_object *anchors; /* trees by name; null is a value */
    size_t budget;               /* bytes that aliases may still add */
    size_t max;
    int depth;
    struct errinfo *ei;
    enum err err;
};

static enum err read_node(struct reader *r, struct json_object **out);

static enum err fail(struct reader *r, yaml_mark_t mark, const char *fmt, ...) PRINTF_LIKE(3, 4);

static enum err fail(struct reader *r, yaml_mark_t mark, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = arena_vprintf(r->arena, fmt, args);
    va_end(args);
    r->err = err_set(r->ei, ERR_INVALID, "%s:%zu:%zu: %s", r->name, mark.line + 1, mark.column + 1,
                     text);
    return r->err;
}

/* Returns true for a tab at the mark, which counts lines and characters. */
static bool is_tab(const struct reader *r, yaml_mark_t mark)
{
    const char *line = r->text, *end = r->text + r->len;
    for (size_t i = 0; line && i < mark.line; i++) {
        line = memchr(line, '\n', (size_t)(end - line));
        line = line ? line + 1 : NULL;
    }
    for (size_t i = 0; line && line < end && i < mark.column; i++) {
        size_t n = utf8_sequence(line, (size_t)(end - line));
        line += n ? n : 1;
    }
    return line && line < end && *line == '\t';
}

/* libyaml reports a problem, sometimes with its context. A bad byte has an offset, but no line. */
static enum err fail_syntax(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "not YAML";
    if (p->error == YAML_READER_ERROR) {
        r->err =
            err_set(r->ei, ERR_INVALID, "%s: %s at byte %zu", r->name, problem, p->problem_offset);
        return r->err;
    }
    if (p->error == YAML_MEMORY_ERROR)
        abort();
    if (strstr(problem, "cannot start any token") && is_tab(r, p->problem_mark))
        return fail(r, p->problem_mark, "expected spaces for the indent, found a tab");
    if (p->context)
        return fail(r, p->problem_mark, "%s, %s", p->context, problem);
    return fail(r, p->problem_mark, "%s", problem);
}

static enum err next(struct reader *r)
{
    yaml_event_delete(&r->event);
    if (!yaml_parser_parse(&r->parser, &r->event))
        return fail_syntax(r);
    return ERR_OK;
}

static int shown(const char *text, size_t len)
{
    return (int)(len > SHOWN ? utf8_cut(text, SHOWN) : len);
}

/* Every level of the result counts, also within aliases. */
static enum err enter(struct reader *r)
{
    if (++r->depth > JSON_MAX_DEPTH)
        return fail(r, r->event.start_mark, "nested more than %d levels deep", JSON_MAX_DEPTH);
    return ERR_OK;
}

static enum err spend(struct reader *r, size_t len)
{
    if (len + NODE_COST > r->budget)
        return fail(r, r->event.start_mark, "the aliases repeat more than %zu bytes", r->max);
    r->budget -= len + NODE_COST;
    return ERR_OK;
}

static enum err repeat(struct reader *r, struct json_object *from, struct json_object **out);

static enum err repeat_array(struct reader *r, struct json_object *from, struct json_object *to)
{
    size_t len = json_len(from);
    for (size_t i = 0; r->err == ERR_OK && i < len; i++) {
        struct json_object *value = NULL;
        if (repeat(r, json_elem(from, i), &value) == ERR_OK)
            json_object_array_add(to, value);
    }
    return r->err;
}

static enum err repeat_object(struct reader *r, struct json_object *from, struct json_object *to)
{
    json_object_object_foreach(from, key, value)
    {
        struct json_object *copy = NULL;
        if (spend(r, strlen(key)) != ERR_OK || repeat(r, value, &copy) != ERR_OK)
            break;
        json_object_object_add_ex(to, key, copy, JSON_C_OBJECT_ADD_KEY_IS_NEW);
    }
    return r->err;
}

/* A deep copy: nodes of a tree are never shared, so that each can be changed. */
static enum err repeat(struct reader *r, struct json_object *from, struct json_object **out)
{
    enum json_type type = json_object_get_type(from);
    bool nested = type == json_type_object || type == json_type_array;
    size_t len = type == json_type_string ? (size_t)json_object_get_string_len(from) : 0;
    if (spend(r, len) != ERR_OK || !from)
        return r->err;
    if (!nested) {
        if (json_object_deep_copy(from, out, NULL) != 0)
            abort();
        return ERR_OK;
    }
    *out = type == json_type_object ? json_object_new_object() : json_object_new_array();
    if (enter(r) == ERR_OK)
        type == json_type_object ? repeat_object(r, from, *out) : repeat_array(r, from, *out);
    r->depth--;
    if (r->err != ERR_OK) {
        json_object_put(*out);
        *out = NULL;
    }
    return r->err;
}

static enum err read_alias(struct reader *r, struct json_object **out)
{
    const char *anchor = (const char *)r->event.data.alias.anchor;
    struct json_object *value;
    if (!json_object_object_get_ex(r->anchors, anchor, &value))
        return fail(r, r->event.start_mark,
                    "unknown anchor \"%.*s\", or an alias inside of what it stands for",
                    shown(anchor, strlen(anchor)), anchor);
    return repeat(r, value, out);
}

static enum err read_scalar(struct reader *r, struct json_object **out)
{
    const char *text = (const char *)r->event.data.scalar.value;
    size_t len = r->event.data.scalar.length;
    const char *tag = (const char *)r->event.data.scalar.tag;
    bool plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const char *expected = yaml_scalar(r->arena, text, len, tag, plain, out);
    if (expected)
        return fail(r, r->event.start_mark, "expected %s, found \"%.*s\"", expected,
                    shown(text, len), text);
    return ERR_OK;
}

static void mark(struct reader *r, yaml_mark_t at, struct json_object *parent, const char *key)
{
    if (!r->marks)
        return;
    struct mark *mark = ARENA_NEW(r->arena, struct mark);
    *mark = (struct mark){.next = r->marks->first,
                          .parent = parent,
                          .key = arena_strdup(r->arena, key),
                          .index = json_len(parent),
                          .place = {.line = at.line + 1, .column = at.column + 1}};
    r->marks->first = mark;
}

bool yaml_mark(const struct yaml_marks *marks, struct json_object *parent, const char *key,
               size_t index, struct yaml_place *out)
{
    for (const struct mark *mark = marks->first; mark; mark = mark->next) {
        bool same =
            key ? mark->key && strcmp(mark->key, key) == 0 : !mark->key && mark->index == index;
        if (mark->parent == parent && same) {
            *out = mark->place;
            return true;
        }
    }
    return false;
}

/* A merge key is a plain "<<", or is tagged as one. */
static bool is_merge_key(const yaml_event_t *event)
{
    if (event->type != YAML_SCALAR_EVENT || event->data.scalar.length != 2 ||
        memcmp(event->data.scalar.value, "<<", 2) != 0)
        return false;
    const char *tag = (const char *)event->data.scalar.tag;
    if (tag)
        return strcmp(tag, "tag:yaml.org,2002:merge") == 0;
    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* Reads a key as a string, as a conversion to JSON does: 1 is "1", true is "true". */
static enum err read_key(struct reader *r, struct json_object *obj, const char **key)
{
    yaml_mark_t mark = r->event.start_mark;
    struct json_object *value = NULL;
    if (read_node(r, &value) != ERR_OK)
        return r->err;
    json_own(r->arena, value);
    enum json_type type = json_object_get_type(value);
    if (type == json_type_object) /* {{x}} without quotes: a map in a map */
        return fail(r, mark,
                    "a key must be a string, number or boolean, not a map; text that begins with "
                    "{{ must be in quotes");
    if (type == json_type_null || type == json_type_array)
        return fail(r, mark, "a key must be a string, number or boolean");
    bool is_string = type == json_type_string;
    *key = is_string ? json_object_get_string(value) : json_text(r->arena, value);
    size_t len = strlen(*key);
    if (is_string && len != (size_t)json_object_get_string_len(value))
        return fail(r, mark, "a key must not contain U+0000");
    if (json_object_object_get_ex(obj, *key, NULL))
        return fail(r, mark, "duplicate key \"%.*s\"", shown(*key, len), *key);
    return ERR_OK;
}

static bool is_mapping_list(struct json_object *value)
{
    for (size_t i = 0; i < json_len(value); i++) {
        if (!json_object_is_type(json_elem(value, i), json_type_object))
            return false;
    }
    return json_object_is_type(value, json_type_array);
}

/* Saves the mappings to merge; they are applied after all explicit keys, which take precedence. */
static enum err read_merge(struct reader *r, struct json_object *merges)
{
    yaml_mark_t mark = r->event.start_mark;
    struct json_object *value = NULL;
    if (next(r) != ERR_OK || read_node(r, &value) != ERR_OK)
        return r->err;
    json_own(r->arena, value);
    if (json_object_is_type(value, json_type_object))
        json_object_array_add(merges, json_object_get(value));
    else if (is_mapping_list(value))
        for (size_t i = 0; i < json_len(value); i++)
            json_object_array_add(merges, json_object_get(json_elem(value, i)));
    else
        return fail(r, mark, "a merge key \"<<\" needs a mapping or a list of mappings");
    return ERR_OK;
}

/* The earlier of two merged mappings takes precedence. Their values are already copies, and are
 * moved. */
static void apply_merges(struct json_object *obj, struct json_object *merges)
{
    for (size_t i = 0; i < json_len(merges); i++) {
        json_object_object_foreach(json_elem(merges, i), key, value)
        {
            if (!json_object_object_get_ex(obj, key, NULL))
                json_object_object_add(obj, key, json_object_get(value));
        }
    }
}

static enum err read_mapping(struct reader *r, struct json_object *obj)
{
    struct json_object *merges = NULL;
    while (next(r) == ERR_OK && r->event.type != YAML_MAPPING_END_EVENT) {
        if (is_merge_key(&r->event)) {
            if (!merges)
                merges = json_own(r->arena, json_object_new_array());
            if (read_merge(r, merges) != ERR_OK)
                break;
            continue;
        }
        const char *key = NULL;
        struct json_object *value = NULL;
        yaml_mark_t at = r->event.start_mark;
        if (read_key(r, obj, &key) != ERR_OK || next(r) != ERR_OK || read_node(r, &value) != ERR_OK)
            break;
        mark(r, at, obj, key);
        json_object_object_add_ex(obj, key, value, JSON_C_OBJECT_ADD_KEY_IS_NEW);
    }
    if (r->err == ERR_OK && merges)
        apply_merges(obj, merges);
    return r->err;
}

static enum err read_sequence(struct reader *r, struct json_object *array)
{
    while (next(r) == ERR_OK && r->event.type != YAML_SEQUENCE_END_EVENT) {
        struct json_object *value = NULL;
        yaml_mark_t at = r->event.start_mark;
        if (read_node(r, &value) != ERR_OK)
            break;
        mark(r, at, array, NULL);
        json_object_array_add(array, value);
    }
    return r->err;
}

static enum err read_nested(struct reader *r, struct json_object **out)
{
    bool mapping = r->event.type == YAML_MAPPING_START_EVENT;
    *out = mapping ? json_object_new_object() : json_object_new_array();
    if (enter(r) == ERR_OK)
        mapping ? read_mapping(r, *out) : read_sequence(r, *out);
    r->depth--;
    if (r->err != ERR_OK) {
        json_object_put(*out);
        *out = NULL;
    }
    return r->err;
}

static const char *anchor_of(struct reader *r)
{
    const yaml_char_t *anchor = NULL;
    if (r->event.type == YAML_SCALAR_EVENT)
        anchor = r->event.data.scalar.anchor;
    else if (r->event.type == YAML_SEQUENCE_START_EVENT)
        anchor = r->event.data.sequence_start.anchor;
    else if (r->event.type == YAML_MAPPING_START_EVENT)
        anchor = r->event.data.mapping_start.anchor;
    return arena_strdup(r->arena, (const char *)anchor);
}

/* Reads the node that the current event begins; afterwards its last event is the current one. */
static enum err read_node(struct reader *r, struct json_object **out)
{
    const char *anchor = anchor_of(r);
    if (anchor)
        json_object_object_del(r->anchors, anchor); /* unknown until its node is complete */
    switch (r->event.type) {
    case YAML_ALIAS_EVENT:
        return read_alias(r, out);
    case YAML_SCALAR_EVENT:
        read_scalar(r, out);
        break;
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        read_nested(r, out);
        break;
    default:
        return fail(r, r->event.start_mark, "expected a value");
    }
    if (anchor && r->err == ERR_OK)
        json_object_object_add(r->anchors, anchor, json_object_get(*out));
    return r->err;
}

/* Anchors end with their document. */
static enum err read_document(struct reader *r, struct json_object *docs)
{
    struct json_object *doc = NULL;
    r->anchors = json_object_new_object();
    if (next(r) == ERR_OK) {
        yaml_mark_t at = r->event.start_mark;
        if (read_node(r, &doc) == ERR_OK && doc) {
            mark(r, at, docs, NULL);
            json_object_array_add(docs, doc);
        }
    }
    json_object_put(r->anchors);
    return r->err == ERR_OK ? next(r) : r->err; /* the document's end */
}

static enum err read_stream(struct reader *r, struct json_object *docs)
{
    if (next(r) != ERR_OK) /* the stream's start */
        return r->err;
    while (next(r) == ERR_OK && r->event.type == YAML_DOCUMENT_START_EVENT) {
        if (read_document(r, docs) != ERR_OK)
            break;
    }
    return r->err;
}

static enum err parse(struct reader *r, struct json_object **out_docs)
{
    size_t max = r->max > INT_MAX / 2 ? INT_MAX / 2 : r->max; /* json-c counts in int */

    *out_docs = NULL;
    if (r->len > max)
        return err_set(r->ei, ERR_INVALID, "%s: %zu bytes of YAML are more than the limit of %zu",
                       r->name, r->len, max);
    r->budget = r->max = max;
    if (!yaml_parser_initialize(&r->parser))
        abort();
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->text, r->len);
    struct json_object *docs = json_own(r->arena, json_object_new_array());
    if (read_stream(r, docs) == ERR_OK)
        *out_docs = docs;
    yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
    return r->err;
}

enum err yaml_parse(struct arena *arena, const char *name, const char *text, size_t len, size_t max,
                    struct json_object **out_docs, struct errinfo *ei)
{
    struct reader r = {
        .arena = arena, .name = name, .text = text, .len = len, .max = max, .ei = ei};

    return parse(&r, out_docs);
}

enum err yaml_parse_marked(struct arena *arena, const char *name, const char *text, size_t len,
                           size_t max, struct json_object **out_docs, struct yaml_marks **out_marks,
                           struct errinfo *ei)
{
    struct yaml_marks *marks = ARENA_NEW(arena, struct yaml_marks);
    struct reader r = {.arena = arena,
                       .marks = marks,
                       .name = name,
                       .text = text,
                       .len = len,
                       .max = max,
                       .ei = ei};

    *marks = (struct yaml_marks){0};
    *out_marks = marks;
    return parse(&r, out_docs);
}

enum err yaml_parse_file(struct arena *arena, const char *path, size_t max,
                         struct json_object **out_docs, struct errinfo *ei)
{
    char *text;
    size_t len;
    *out_docs = NULL;
    enum err err = file_read(arena, path, max, &text, &len, ei);
    if (err != ERR_OK)
        return err;
    return yaml_parse(arena, path, text, len, max, out_docs, ei);
}
