#include "object/selector.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

enum operation { OP_EXISTS, OP_ABSENT, OP_IN, OP_NOT_IN, OP_ABOVE, OP_BELOW };

struct term {
    const char *key;
    enum operation op;
    const char **values;
    size_t value_count;
};

struct selector {
    bool nothing;
    size_t count;
    struct term terms[SELECTOR_MAX_TERMS];
};

/* ---- names ---- */

/* An empty value, or letters, digits, '-', '_' and '.' between letters or digits; at most 63. */
static bool is_value(const char *text, size_t len)
{
    if (len > 63)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool edge = i == 0 || i == len - 1;
        if (!isalnum((unsigned char)text[i]) && (edge || !strchr("-_.", text[i])))
            return false;
    }
    return true;
}

static bool is_key(const char *text)
{
    const char *slash = strchr(text, '/');
    const char *name = slash ? slash + 1 : text;
    if (slash && (slash == text || slash - text > 253))
        return false;
    for (const char *p = text; slash && p < slash; p++)
        if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) && *p != '-' && *p != '.')
            return false;
    return *name && is_value(name, strlen(name));
}

static enum err check_term(const struct term *term, struct errinfo *ei)
{
    if (!is_key(term->key))
        return err_set(ei, ERR_INVALID, "\"%s\" is no label key", term->key);
    for (size_t i = 0; i < term->value_count; i++)
        if (!is_value(term->values[i], strlen(term->values[i])))
            return err_set(ei, ERR_INVALID, "\"%s\" is no label value (key \"%s\")",
                           term->values[i], term->key);
    return ERR_OK;
}

static enum err add_term(struct selector *selector, const struct term *term, struct errinfo *ei)
{
    if (selector->count == SELECTOR_MAX_TERMS)
        return err_set(ei, ERR_INVALID, "a selector has at most %d requirements",
                       SELECTOR_MAX_TERMS);
    selector->terms[selector->count++] = *term;
    return ERR_OK;
}

static const char **one_value(struct arena *arena, const char *value)
{
    const char **values = arena_array(arena, 1, sizeof(*values));
    values[0] = value;
    return values;
}

/* ---- label selectors as text ---- */

struct parser {
    struct arena *arena;
    const char *text, *p;
    struct errinfo *ei;
};

static enum err unexpected(struct parser *s, const char *wanted)
{
    if (*s->p)
        return err_set(s->ei, ERR_INVALID, "unable to parse selector \"%s\": expected %s at \"%s\"",
                       s->text, wanted, s->p);
    return err_set(s->ei, ERR_INVALID, "unable to parse selector \"%s\": expected %s at its end",
                   s->text, wanted);
}

static void skip_space(struct parser *s)
{
    while (isspace((unsigned char)*s->p))
        s->p++;
}

/* A key, a value or a word such as "in"; empty when there is none. */
static const char *read_word(struct parser *s)
{
    skip_space(s);
    const char *start = s->p;
    while (*s->p && !isspace((unsigned char)*s->p) && !strchr("=!(),<>", *s->p))
        s->p++;
    const char *word = arena_strndup(s->arena, start, (size_t)(s->p - start));
    skip_space(s);
    return word;
}

static enum err read_set(struct parser *s, struct term *term)
{
    if (*s->p != '(')
        return unexpected(s, "\"(\"");
    size_t room = 1;
    for (const char *p = s->p; *p && *p != ')'; p++)
        room += *p == ',';
    term->values = arena_array(s->arena, room, sizeof(*term->values));
    do {
        s->p++;
        term->values[term->value_count++] = read_word(s);
    } while (*s->p == ',');
    if (*s->p != ')')
        return unexpected(s, "\",\" or \")\"");
    s->p++;
    skip_space(s);
    return ERR_OK;
}

static enum err read_compared(struct parser *s, struct term *term)
{
    bool above = *s->p++ == '>';
    char *end;
    term->op = above ? OP_ABOVE : OP_BELOW;
    term->values = one_value(s->arena, read_word(s));
    term->value_count = 1;
    errno = 0;
    strtoll(term->values[0], &end, 10);
    if (end == term->values[0] || *end || errno)
        return unexpected(s, "a whole number after > or <");
    return ERR_OK;
}

static enum err read_operator(struct parser *s, struct term *term)
{
    if (*s->p == 0 || *s->p == ',')
        return ERR_OK; /* just a key */
    if (*s->p == '<' || *s->p == '>')
        return read_compared(s, term);
    if (*s->p == '=' || (s->p[0] == '!' && s->p[1] == '=')) {
        term->op = *s->p == '!' ? OP_NOT_IN : OP_IN;
        s->p += *s->p == '!' || s->p[1] == '=' ? 2 : 1;
        term->values = one_value(s->arena, read_word(s));
        term->value_count = 1;
        return ERR_OK;
    }
    const char *before = s->p;
    const char *word = read_word(s);
    if (strcmp(word, "in") == 0 || strcmp(word, "notin") == 0) {
        term->op = strcmp(word, "in") == 0 ? OP_IN : OP_NOT_IN;
        return read_set(s, term);
    }
    s->p = before;
    return unexpected(s, "one of =, ==, !=, in, notin, <, >");
}

static enum err read_term(struct parser *s, struct term *term)
{
    skip_space(s);
    bool absent = *s->p == '!';
    s->p += absent;
    *term = (struct term){.key = read_word(s), .op = absent ? OP_ABSENT : OP_EXISTS};
    if (!term->key[0])
        return unexpected(s, "a label key");
    enum err err = absent ? ERR_OK : read_operator(s, term);
    if (err)
        return err;
    if (*s->p && *s->p != ',')
        return unexpected(s, "\",\" or the end");
    err = check_term(term, s->ei);
    return err ? err_wrap(s->ei, err, "unable to parse selector \"%s\"", s->text) : ERR_OK;
}

enum err selector_parse_labels(struct arena *arena, const char *text, const struct selector **out,
                               struct errinfo *ei)
{
    struct selector *selector = ARENA_NEW(arena, struct selector);
    struct parser s = {.arena = arena, .text = text, .p = text ? text : "", .ei = ei};
    if (text && strlen(text) > SELECTOR_MAX_BYTES)
        return err_set(ei, ERR_INVALID, "the selector is longer than %d bytes", SELECTOR_MAX_BYTES);
    skip_space(&s);
    while (*s.p) {
        struct term term;
        enum err err = read_term(&s, &term);
        if (!err)
            err = add_term(selector, &term, ei);
        if (err)
            return err;
        if (*s.p == ',' && s.p[1] == 0)
            return (s.p++, unexpected(&s, "a label key"));
        s.p += *s.p == ',';
    }
    *out = selector;
    return ERR_OK;
}

/* ---- label selectors as objects ---- */

static enum err add_map(struct arena *arena, struct selector *selector, struct json_object *map,
                        const char *where, struct errinfo *ei)
{
    if (map && !json_object_is_type(map, json_type_object))
        return err_set(ei, ERR_INVALID, "%s: expected an object", where);
    if (!map)
        return ERR_OK;
    json_object_object_foreach(map, key, value)
    {
        if (!json_object_is_type(value, json_type_string))
            return err_set(ei, ERR_INVALID, "%s[%s]: expected a string", where, key);
        struct term term = {
            .key = arena_strdup(arena, key),
            .op = OP_IN,
            .values = one_value(arena, arena_strdup(arena, json_object_get_string(value))),
            .value_count = 1,
        };
        enum err err = check_term(&term, ei);
        if (!err)
            err = add_term(selector, &term, ei);
        if (err)
            return err_wrap(ei, err, "%s", where);
    }
    return ERR_OK;
}

static enum err add_expression(struct arena *arena, struct selector *selector,
                               struct json_object *row, struct errinfo *ei)
{
    static const struct {
        const char *name;
        enum operation op;
    } operators[] = {
        {"In", OP_IN}, {"NotIn", OP_NOT_IN}, {"Exists", OP_EXISTS}, {"DoesNotExist", OP_ABSENT}};
    const char *key = json_str_at(row, "key", NULL);
    const char *name = json_str_at(row, "operator", NULL);
    struct json_object *values = json_at(row, "values", NULL);
    size_t found = 0;
    while (found < 4 && (!name || strcmp(name, operators[found].name) != 0))
        found++;
    if (!key || found == 4)
        return err_set(ei, ERR_INVALID,
                       "expected a key and an operator of In, NotIn, Exists, DoesNotExist");
    struct term term = {.key = arena_strdup(arena, key), .op = operators[found].op};
    bool wants = term.op == OP_IN || term.op == OP_NOT_IN;
    if (wants != (json_len(values) > 0))
        return err_set(ei, ERR_INVALID, "values: %s for operator %s",
                       wants ? "required" : "not allowed", name);
    term.values = arena_array(arena, json_len(values), sizeof(*term.values));
    for (size_t i = 0; i < json_len(values); i++) {
        struct json_object *value = json_elem(values, i);
        if (!json_object_is_type(value, json_type_string))
            return err_set(ei, ERR_INVALID, "values[%zu]: expected a string", i);
        term.values[term.value_count++] = arena_strdup(arena, json_object_get_string(value));
    }
    enum err err = check_term(&term, ei);
    return err ? err : add_term(selector, &term, ei);
}

enum err selector_from_object(struct arena *arena, struct json_object *obj,
                              const struct selector **out, struct errinfo *ei)
{
    struct selector *selector = ARENA_NEW(arena, struct selector);
    selector->nothing = !obj;
    if (obj && !json_object_is_type(obj, json_type_object))
        return err_set(ei, ERR_INVALID, "expected a label selector object");
    enum err err = add_map(arena, selector, json_at(obj, "matchLabels", NULL), "matchLabels", ei);
    if (err)
        return err;
    struct json_object *rows = json_at(obj, "matchExpressions", NULL);
    for (size_t i = 0; i < json_len(rows); i++) {
        err = add_expression(arena, selector, json_elem(rows, i), ei);
        if (err)
            return err_wrap(ei, err, "matchExpressions[%zu]", i);
    }
    *out = selector;
    return ERR_OK;
}

enum err selector_from_map(struct arena *arena, struct json_object *map,
                           const struct selector **out, struct errinfo *ei)
{
    struct selector *selector = ARENA_NEW(arena, struct selector);
    enum err err = add_map(arena, selector, map, "selector", ei);
    selector->nothing = selector->count == 0;
    if (!err)
        *out = selector;
    return err;
}

/* ---- matching ---- */

static bool has_value(const struct term *term, const char *value)
{
    for (size_t i = 0; i < term->value_count; i++)
        if (strcmp(term->values[i], value) == 0)
            return true;
    return false;
}

static bool compares(const struct term *term, const char *value)
{
    char *end;
    errno = 0;
    long long left = strtoll(value, &end, 10);
    if (end == value || *end || errno)
        return false;
    long long right = strtoll(term->values[0], NULL, 10);
    return term->op == OP_ABOVE ? left > right : left < right;
}

static bool term_matches(const struct term *term, const char *value)
{
    switch (term->op) {
    case OP_EXISTS:
        return value != NULL;
    case OP_ABSENT:
        return value == NULL;
    case OP_IN:
        return value && has_value(term, value);
    case OP_NOT_IN:
        return !value || !has_value(term, value);
    case OP_ABOVE:
    case OP_BELOW:
        return value && compares(term, value);
    }
    return false;
}

bool selector_match_labels(const struct selector *selector, struct json_object *labels)
{
    if (selector->nothing)
        return false;
    for (size_t i = 0; i < selector->count; i++)
        if (!term_matches(&selector->terms[i], json_str_at(labels, selector->terms[i].key, NULL)))
            return false;
    return true;
}

/* ---- text ---- */

static int by_key(const void *a, const void *b)
{
    const struct term *left = *(const struct term *const *)a;
    const struct term *right = *(const struct term *const *)b;
    return strcmp(left->key, right->key);
}

static int by_string(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_term(struct arena *arena, struct buf *out, const struct term *term)
{
    static const char *const signs[] = {
        [OP_IN] = "=", [OP_NOT_IN] = "!=", [OP_ABOVE] = ">", [OP_BELOW] = "<"};
    buf_printf(out, "%s%s", term->op == OP_ABSENT ? "!" : "", term->key);
    if (term->value_count == 1)
        buf_printf(out, "%s%s", signs[term->op], term->values[0]);
    if (term->value_count < 2)
        return;
    const char **sorted = arena_array(arena, term->value_count, sizeof(*sorted));
    memcpy(sorted, term->values, term->value_count * sizeof(*sorted));
    qsort(sorted, term->value_count, sizeof(*sorted), by_string);
    buf_puts(out, term->op == OP_IN ? " in (" : " notin (");
    for (size_t i = 0; i < term->value_count; i++)
        buf_printf(out, "%s%s", i ? "," : "", sorted[i]);
    buf_puts(out, ")");
}

const char *selector_text(struct arena *arena, const struct selector *selector)
{
    const struct term *sorted[SELECTOR_MAX_TERMS];
    for (size_t i = 0; i < selector->count; i++)
        sorted[i] = &selector->terms[i];
    qsort(sorted, selector->count, sizeof(struct term *), by_key);
    struct buf out;
    buf_init(&out, 4 * SELECTOR_MAX_BYTES);
    for (size_t i = 0; i < selector->count; i++) {
        buf_puts(&out, i ? "," : "");
        put_term(arena, &out, sorted[i]);
    }
    const char *text = arena_strndup(arena, out.data, out.len);
    buf_fini(&out);
    return text;
}

/* ---- field selectors ---- */

/* The fields that the API server can select a built-in kind by, besides metadata.name and
 * .namespace. */
static const struct {
    const char *kind, *field;
} selectable[] = {
    {"Pod", "spec.nodeName"},
    {"Pod", "spec.restartPolicy"},
    {"Pod", "spec.schedulerName"},
    {"Pod", "spec.serviceAccountName"},
    {"Pod", "spec.hostNetwork"},
    {"Pod", "status.phase"},
    {"Pod", "status.podIP"},
    {"Pod", "status.nominatedNodeName"},
    {"Event", "involvedObject.kind"},
    {"Event", "involvedObject.namespace"},
    {"Event", "involvedObject.name"},
    {"Event", "involvedObject.uid"},
    {"Event", "involvedObject.apiVersion"},
    {"Event", "involvedObject.resourceVersion"},
    {"Event", "involvedObject.fieldPath"},
    {"Event", "reason"},
    {"Event", "reportingComponent"},
    {"Event", "source"},
    {"Event", "type"},
    {"Secret", "type"},
    {"Namespace", "status.phase"},
    {"Node", "spec.unschedulable"},
    {"ReplicaSet", "status.replicas"},
    {"Service", "spec.clusterIP"},
    {"Service", "spec.type"},
};

static bool is_selectable(const char *kind, const char *field)
{
    if (strcmp(field, "metadata.name") == 0 || strcmp(field, "metadata.namespace") == 0)
        return true;
    for (size_t i = 0; i < sizeof(selectable) / sizeof(selectable[0]); i++)
        if (strcmp(selectable[i].kind, kind) == 0 && strcmp(selectable[i].field, field) == 0)
            return true;
    return false;
}

/* A value up to the next comma, with \\ \, and \= unescaped. */
static const char *read_value(struct parser *s)
{
    char *value = arena_alloc(s->arena, strlen(s->p) + 1);
    size_t len = 0;
    for (; *s->p && *s->p != ','; s->p++) {
        if (*s->p == '\\' && s->p[1] && strchr("\\,=", s->p[1]))
            s->p++;
        value[len++] = *s->p;
    }
    return value;
}

static enum err read_field_term(struct parser *s, const char *kind, struct term *term)
{
    size_t len = strcspn(s->p, "=!,");
    const char *field = arena_strndup(s->arena, s->p, len);
    s->p += len;
    bool not_equal = s->p[0] == '!' && s->p[1] == '=';
    if (*s->p != '=' && !not_equal)
        return err_set(s->ei, ERR_INVALID,
                       "invalid selector: \"%s\"; can't understand \"%s\": expected FIELD=VALUE or "
                       "FIELD!=VALUE",
                       s->text, field);
    s->p += not_equal || s->p[1] == '=' ? 2 : 1;
    if (!is_selectable(kind, field))
        return err_set(s->ei, ERR_INVALID, "field label not supported: %s", field);
    *term = (struct term){
        .key = field,
        .op = not_equal ? OP_NOT_IN : OP_IN,
        .values = one_value(s->arena, read_value(s)),
        .value_count = 1,
    };
    return ERR_OK;
}

enum err selector_parse_fields(struct arena *arena, const char *kind, const char *text,
                               const struct selector **out, struct errinfo *ei)
{
    struct selector *selector = ARENA_NEW(arena, struct selector);
    struct parser s = {.arena = arena, .text = text, .p = text ? text : "", .ei = ei};
    if (text && strlen(text) > SELECTOR_MAX_BYTES)
        return err_set(ei, ERR_INVALID, "the selector is longer than %d bytes", SELECTOR_MAX_BYTES);
    while (*s.p) {
        struct term term;
        if (*s.p == ',') { /* empty parts are allowed, as in Kubernetes */
            s.p++;
            continue;
        }
        enum err err = read_field_term(&s, kind, &term);
        if (!err)
            err = add_term(selector, &term, ei);
        if (err)
            return err;
    }
    *out = selector;
    return ERR_OK;
}

/* The text of a field; "" when it is missing, as the API server compares it. */
static const char *field_text(struct json_object *obj, const char *path)
{
    char key[64];
    if (strcmp(path, "source") == 0)
        return json_str_at(obj, "source", "component", NULL) ?: "";
    while (obj) {
        size_t len = strcspn(path, ".");
        if (len >= sizeof(key))
            return "";
        memcpy(key, path, len);
        key[len] = 0;
        obj = json_at(obj, key, NULL);
        if (!path[len])
            break;
        path += len + 1;
    }
    return obj ? json_object_get_string(obj) : "";
}

bool selector_match_fields(const struct selector *selector, struct json_object *obj)
{
    for (size_t i = 0; i < selector->count; i++)
        if (!term_matches(&selector->terms[i], field_text(obj, selector->terms[i].key)))
            return false;
    return true;
}

const char *selector_wanted(const struct selector *selector, const char *field)
{
    for (size_t i = 0; i < selector->count; i++)
        if (selector->terms[i].op == OP_IN && strcmp(selector->terms[i].key, field) == 0)
            return selector->terms[i].values[0];
    return NULL;
}
