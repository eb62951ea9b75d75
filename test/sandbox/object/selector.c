/* Selectors of objects are written as text first, so that one parser reads all. */
#include "object/selector.h"

#include <string.h>

#include "base/json.h"
#include "object/meta.h"
#include "object/pattern.h"

struct term {
    const char *key;
    bool present, absent; /* neither: the value is, or with `other` is not, one of values */
    bool other;
    struct json_object *values; /* array */
};

struct selector {
    const char *text;
    bool nothing;
    size_t count;
    struct term terms[SELECTOR_MAX_TERMS];
};

#define WORD "([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)"

bool selector_is_value(const char *text)
{
    return pattern_fits(WORD "?", text);
}

bool selector_is_key(const char *text)
{
    return pattern_fits("([-a-z0-9.]{1,253}/)?" WORD, text);
}

/* ---- text ---- */

struct parser {
    struct arena *arena;
    const char *text, *p;
};

/* A key, a value or a word such as "in", up to one of end; empty when there is none. */
static const char *read_word(struct parser *s, const char *end)
{
    s->p += strspn(s->p, " ");
    size_t len = strcspn(s->p, end);
    const char *word = arena_strndup(s->arena, s->p, len);
    s->p += len;
    s->p += strspn(s->p, " ");
    return word;
}

static bool take(struct parser *s, const char *sign)
{
    size_t len = strlen(sign);
    bool found = strncmp(s->p, sign, len) == 0;
    s->p += found ? len : 0;
    return found;
}

static void add_value(struct term *term, const char *value)
{
    json_object_array_add(term->values, json_object_new_string(value));
}

/* "= value" or "!= value"; false when neither stands here. */
static bool read_equal(struct parser *s, struct term *term, const char *end)
{
    term->other = take(s, "!=");
    if (!term->other && !take(s, "==") && !take(s, "="))
        return false;
    add_value(term, read_word(s, end));
    return true;
}

/* "in (a, b)" or "notin (a, b)" */
static bool read_set(struct parser *s, struct term *term)
{
    const char *word = read_word(s, " (");
    term->other = strcmp(word, "notin") == 0;
    if ((!term->other && strcmp(word, "in") != 0) || *s->p != '(')
        return false;
    do {
        s->p++;
        add_value(term, read_word(s, " ,)"));
    } while (*s->p == ',');
    bool closed = take(s, ")");
    s->p += strspn(s->p, " ");
    return closed;
}

static bool read_label(struct parser *s, struct term *term)
{
    static const char end[] = " =!(),";
    s->p += strspn(s->p, " ");
    term->absent = take(s, "!");
    term->key = read_word(s, end);
    term->present = !term->absent && (!*s->p || *s->p == ',');
    if (!selector_is_key(term->key))
        return false;
    if (!term->present && !term->absent && !read_equal(s, term, end) && !read_set(s, term))
        return false;
    for (size_t i = 0; i < json_len(term->values); i++)
        if (!selector_is_value(json_object_get_string(json_elem(term->values, i))))
            return false;
    return !*s->p || (*s->p == ',' && s->p[1]);
}

static bool read_field(struct parser *s, struct term *term)
{
    term->key = read_word(s, "=!,");
    return read_equal(s, term, ",");
}

/* text NULL: nothing is selected. */
static enum err parse(struct arena *arena, const char *text,
                      bool (*read_term)(struct parser *s, struct term *term),
                      const struct selector **out, struct errinfo *ei)
{
    struct parser s = {.arena = arena, .text = text, .p = text ? text : ""};
    struct selector *selector = ARENA_NEW(arena, struct selector);
    *out = selector;
    selector->text = text ? arena_strdup(arena, text) : "";
    selector->nothing = !text;
    s.p += strspn(s.p, " ");
    while (*s.p) {
        if (selector->count == SELECTOR_MAX_TERMS)
            return err_set(ei, ERR_INVALID, "a selector has at most %d requirements",
                           SELECTOR_MAX_TERMS);
        struct term *term = &selector->terms[selector->count++];
        *term = (struct term){.values = json_own(arena, json_object_new_array())};
        if (!read_term(&s, term))
            return err_set(ei, ERR_INVALID, "unable to parse selector \"%s\" at \"%s\"", text, s.p);
        s.p += *s.p == ',';
    }
    return ERR_OK;
}

enum err selector_parse_labels(struct arena *arena, const char *text, const struct selector **out,
                               struct errinfo *ei)
{
    return parse(arena, text ? text : "", read_label, out, ei);
}

/* ---- objects ---- */

static const char *add(struct arena *arena, const char *text, const char *term)
{
    return arena_printf(arena, "%s%s%s", text, *text ? "," : "", term);
}

/* NULL for what is no map of texts. */
static const char *map_text(struct arena *arena, struct json_object *map)
{
    const char *text = "";
    if (map && !json_object_is_type(map, json_type_object))
        return NULL;
    if (!map)
        return text;
    json_object_object_foreach(map, key, value)
    {
        if (!json_object_is_type(value, json_type_string))
            return NULL;
        text = add(arena, text, arena_printf(arena, "%s=%s", key, json_object_get_string(value)));
    }
    return text;
}

/* NULL for what is no expression. */
static const char *expression_text(struct arena *arena, struct json_object *row)
{
    const char *key = json_str_at(row, "key", NULL), *values = "";
    const char *operator= json_str_at(row, "operator", NULL);
    struct json_object *list = json_at(row, "values", NULL);
    if (!key || !operator)
        return NULL;
    for (size_t i = 0; i < json_len(list); i++)
        values = add(arena, values, json_object_get_string(json_elem(list, i)) ?: "");
    if (strcmp(operator, "Exists") == 0 && !*values)
        return key;
    if (strcmp(operator, "DoesNotExist") == 0 && !*values)
        return arena_printf(arena, "!%s", key);
    if (strcmp(operator, "In") == 0 && *values)
        return arena_printf(arena, "%s in (%s)", key, values);
    return strcmp(operator, "NotIn") == 0 && *values
               ? arena_printf(arena, "%s notin (%s)", key, values)
               : NULL;
}

enum err selector_from_object(struct arena *arena, struct json_object *obj,
                              const struct selector **out, struct errinfo *ei)
{
    struct json_object *rows = json_at(obj, "matchExpressions", NULL);
    const char *text = map_text(arena, json_at(obj, "matchLabels", NULL));
    for (size_t i = 0; text && i < json_len(rows); i++) {
        const char *row = expression_text(arena, json_elem(rows, i));
        text = row ? add(arena, text, row) : NULL;
    }
    if (!text || (obj && !json_object_is_type(obj, json_type_object)))
        return err_set(ei, ERR_INVALID, "expected matchLabels and matchExpressions");
    return parse(arena, obj ? text : NULL, read_label, out, ei);
}

enum err selector_from_map(struct arena *arena, struct json_object *map,
                           const struct selector **out, struct errinfo *ei)
{
    const char *text = map_text(arena, map);
    if (!text)
        return err_set(ei, ERR_INVALID, "selector: expected a map of texts");
    return parse(arena, *text ? text : NULL, read_label, out, ei);
}

const char *selector_text(const struct selector *selector)
{
    return selector->text;
}

/* ---- matching ---- */

static bool term_matches(const struct term *term, const char *value)
{
    bool found = false;
    if (term->present || term->absent)
        return term->present == (value != NULL);
    for (size_t i = 0; value && i < json_len(term->values); i++)
        found |= strcmp(json_object_get_string(json_elem(term->values, i)), value) == 0;
    return found != term->other;
}

bool selector_match_labels(const struct selector *selector, struct json_object *labels)
{
    for (size_t i = 0; i < selector->count; i++)
        if (!term_matches(&selector->terms[i], json_str_at(labels, selector->terms[i].key, NULL)))
            return false;
    return !selector->nothing;
}

/* ---- fields ---- */

/* What kubectl selects by, besides metadata.name and metadata.namespace of every kind. */
static bool is_selectable(const char *kind, const char *field)
{
    static const char *const fields[][2] = {
        {"Pod", "spec.nodeName"},
        {"Pod", "status.phase"},
        {"Event", "involvedObject.kind"},
        {"Event", "involvedObject.namespace"},
        {"Event", "involvedObject.name"},
        {"Event", "involvedObject.uid"},
        {"Event", "reason"},
        {"Event", "type"},
        {"Event", "involvedObject.fieldPath"},
    };
    if (strcmp(field, "metadata.name") == 0 || strcmp(field, "metadata.namespace") == 0)
        return true;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (strcmp(fields[i][0], kind) == 0 && strcmp(fields[i][1], field) == 0)
            return true;
    return false;
}

enum err selector_parse_fields(struct arena *arena, const char *kind, const char *text,
                               const struct selector **out, struct errinfo *ei)
{
    enum err err = parse(arena, text ? text : "", read_field, out, ei);
    for (size_t i = 0; err == ERR_OK && i < (*out)->count; i++)
        if (!is_selectable(kind, (*out)->terms[i].key))
            err = err_set(ei, ERR_INVALID, "field label not supported: %s", (*out)->terms[i].key);
    return err;
}

bool selector_match_fields(const struct selector *selector, struct json_object *obj)
{
    struct arena *arena = arena_new();
    bool all = true;
    for (size_t i = 0; i < selector->count && all; i++) {
        struct json_object *value = jsonpath_first(arena, obj, selector->terms[i].key);
        all = term_matches(&selector->terms[i], value ? json_object_get_string(value) : "");
    }
    arena_free(arena);
    return all;
}

const char *selector_wanted(const struct selector *selector, const char *field)
{
    for (size_t i = 0; i < selector->count; i++)
        if (!selector->terms[i].other && strcmp(selector->terms[i].key, field) == 0)
            return json_object_get_string(json_elem(selector->terms[i].values, 0));
    return NULL;
}
