#include "metric/jsonpath.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"

struct parser {
    struct arena *arena;
    const char *given; /* positions are counted from here */
    const char *at, *end;
    struct errinfo *ei;
    enum err err;
};

/* The number of the next character, from 1; continuation bytes do not count. */
static int position(const struct parser *p)
{
    int n = 1;

    for (const char *at = p->given; at < p->at; at++)
        n += ((unsigned char)*at & 0xc0) != 0x80;
    return n;
}

/* ERR_INVALID with the position and what was found there; the first mistake is kept. */
static void expected(struct parser *p, const char *what)
{
    size_t rest = (size_t)(p->end - p->at);

    if (p->err != ERR_OK)
        return;
    if (rest == 0)
        p->err = err_set(p->ei, ERR_INVALID, "at character %d: expected %s, found the end",
                         position(p), what);
    else
        p->err =
            err_set(p->ei, ERR_INVALID, "at character %d: expected %s, found \"%s\"", position(p),
                    what, arena_strndup(p->arena, p->at, utf8_cut(p->at, rest < 20 ? rest : 20)));
}

static bool is_next(const struct parser *p, char c)
{
    return p->at < p->end && *p->at == c;
}

/* Skips c; anything else is a mistake. */
static void skip(struct parser *p, char c, const char *what)
{
    if (p->err == ERR_OK && is_next(p, c))
        p->at++;
    else
        expected(p, what);
}

static void skip_blanks(struct parser *p)
{
    while (p->at < p->end && strchr(" \t\r\n", *p->at))
        p->at++;
}

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || (unsigned char)c >= 0x80;
}

/* A name after a dot, made of letters, digits, '_' and '-'. */
static const char *read_name(struct parser *p)
{
    const char *from = p->at;

    while (p->at < p->end && is_name_byte(*p->at))
        p->at++;
    if (p->at == from)
        expected(p, "a name");
    return arena_strndup(p->arena, from, (size_t)(p->at - from));
}

/* Text in single or double quotes; a backslash makes the next character literal. */
static const char *read_quoted(struct parser *p)
{
    char quote = *p->at;
    char *out = arena_alloc(p->arena, (size_t)(p->end - p->at) + 1), *to = out;

    for (p->at++; p->at < p->end && *p->at != quote; p->at++) {
        if (*p->at == '\\' && p->at + 1 < p->end)
            p->at++;
        *to++ = *p->at;
    }
    *to = '\0';
    skip(p, quote, quote == '"' ? "a closing \"" : "a closing '");
    return out;
}

static bool is_quote(const struct parser *p)
{
    return is_next(p, '"') || is_next(p, '\'');
}

/* The text up to a blank or a closing bracket. */
static const char *read_word(struct parser *p)
{
    const char *from = p->at;

    while (p->at < p->end && !strchr(" \t\r\n])", *p->at))
        p->at++;
    return arena_strndup(p->arena, from, (size_t)(p->at - from));
}

static int64_t read_index(struct parser *p)
{
    const char *from = p->at, *word = read_word(p);
    char *end;
    long index = strtol(word, &end, 10);

    if (*end || end == word || isspace((unsigned char)*word) || labs(index) > INT32_MAX) {
        p->at = from;
        expected(p, "an index, a name in quotes or [?(@.NAME == VALUE)]");
    }
    return index;
}

/* A string, a number, true or false. */
static struct json_object *read_value(struct parser *p)
{
    const char *from = p->at;
    struct json_object *value = NULL;
    struct errinfo ignored;

    if (is_quote(p)) {
        const char *text = read_quoted(p);
        return json_own(p->arena, json_object_new_string(text));
    }
    const char *word = read_word(p);
    if (json_parse(p->arena, word, strlen(word), JSONPATH_MAX_BYTES, &value, &ignored) != ERR_OK ||
        !value || json_object_is_type(value, json_type_array) ||
        json_object_is_type(value, json_type_object)) {
        p->at = from;
        expected(p, "a string in quotes, a number, true or false");
    }
    return value;
}

/* After "[?": "(@.NAME == VALUE)". */
static void read_filter(struct parser *p, struct jsonpath_step *step)
{
    step->kind = JSONPATH_FILTER;
    skip(p, '(', "( after [?");
    skip_blanks(p);
    skip(p, '@', "@");
    if (is_next(p, '[')) {
        p->at++;
        if (!is_quote(p))
            expected(p, "a name in quotes");
        else
            step->name = read_quoted(p);
        skip(p, ']', "]");
    } else {
        skip(p, '.', ".NAME after @");
        step->name = p->err == ERR_OK ? read_name(p) : "";
    }
    skip_blanks(p);
    skip(p, '=', "==");
    skip(p, '=', "==");
    skip_blanks(p);
    if (p->err == ERR_OK)
        step->value = read_value(p);
    skip_blanks(p);
    skip(p, ')', ")");
}

static void read_step(struct parser *p, struct jsonpath_step *step)
{
    if (is_next(p, '.')) {
        p->at++;
        step->name = read_name(p);
        return;
    }
    skip(p, '[', ".NAME or [");
    if (p->err != ERR_OK)
        return;
    skip_blanks(p);
    if (is_quote(p)) {
        step->name = read_quoted(p);
    } else if (is_next(p, '?')) {
        p->at++;
        read_filter(p, step);
    } else {
        step->kind = JSONPATH_INDEX;
        step->index = read_index(p);
    }
    skip_blanks(p);
    skip(p, ']', "]");
}

/* Removes blanks and one pair of braces around the path. */
static void trim(struct parser *p)
{
    bool braces;

    skip_blanks(p);
    while (p->end > p->at && strchr(" \t\r\n", p->end[-1]))
        p->end--;
    braces = is_next(p, '{');
    p->at += braces;
    skip_blanks(p);
    if (braces && p->end > p->at && p->end[-1] == '}')
        p->end--;
    else if (braces) {
        p->at = p->end;
        expected(p, "} after the path");
    }
    while (p->end > p->at && strchr(" \t\r\n", p->end[-1]))
        p->end--;
}

enum err jsonpath_parse(struct arena *arena, const char *text, struct jsonpath *out,
                        struct errinfo *ei)
{
    size_t len = strlen(text);
    struct parser p = {.arena = arena, .given = text, .at = text, .end = text + len, .ei = ei};

    *out = (struct jsonpath){.text = ""};
    if (len > JSONPATH_MAX_BYTES)
        return err_set(ei, ERR_INVALID, "expected a path of at most %d bytes, found %zu",
                       (int)JSONPATH_MAX_BYTES, len);
    trim(&p);
    const char *begin = p.at;
    out->text = arena_strndup(arena, begin, (size_t)(p.end - begin));
    if (p.at == p.end)
        expected(&p, "a path such as $.value");
    if (is_next(&p, '$'))
        p.at++;
    while (p.err == ERR_OK && p.at < p.end) {
        if (out->n_steps == JSONPATH_MAX_STEPS)
            return err_set(ei, ERR_INVALID, "at character %d: expected at most %d steps",
                           position(&p), (int)JSONPATH_MAX_STEPS);
        struct jsonpath_step *step = &out->steps[out->n_steps++];
        *step = (struct jsonpath_step){.kind = JSONPATH_MEMBER, .name = ""};
        read_step(&p, step);
        step->end = (int)(p.at - begin);
    }
    return p.err;
}

static bool is_equal(struct json_object *element, const struct jsonpath_step *step)
{
    struct json_object *member = json_at(element, step->name, NULL);

    return member && json_same(member, step->value);
}

/* The element that the step selects; *there is false if there is no such element. */
static struct json_object *take_step(const struct jsonpath_step *step, struct json_object *from,
                                     size_t *matches, bool *there)
{
    struct json_object *found = NULL;
    size_t n = json_len(from);

    *there = false;
    if (step->kind == JSONPATH_MEMBER) {
        *there = json_object_is_type(from, json_type_object) &&
                 json_object_object_get_ex(from, step->name, &found);
        return found;
    }
    if (step->kind == JSONPATH_INDEX) {
        int64_t index = step->index < 0 ? (int64_t)n + step->index : step->index;
        *there = index >= 0 && index < (int64_t)n;
        return *there ? json_elem(from, (size_t)index) : NULL;
    }
    *matches = 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *element = json_elem(from, i);
        if (!is_equal(element, step))
            continue;
        found = *there ? found : element;
        *there = true;
        ++*matches;
    }
    return found;
}

struct jsonpath_found jsonpath_find(struct arena *arena, const struct jsonpath *path,
                                    struct json_object *root)
{
    struct jsonpath_found found = {.value = root};

    for (int i = 0; i < path->n_steps; i++) {
        bool there;
        found.value = take_step(&path->steps[i], found.value, &found.matches, &there);
        if (there)
            continue;
        found.missing = arena_strndup(arena, path->text, (size_t)path->steps[i].end);
        break;
    }
    return found;
}
