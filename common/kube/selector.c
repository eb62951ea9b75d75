#include "kube/selector.h"

#include <string.h>

#include "base/json.h"

struct term {
    const char *key;
    bool present, absent; /* neither: the value is one of values, or none of them if `other` */
    bool other;
    struct json_object *values; /* array */
};

struct selector {
    const char *text;
    bool nothing;
    size_t count;
    struct term terms[SELECTOR_MAX_TERMS];
};

#define LOWER   "abcdefghijklmnopqrstuvwxyz0123456789"
#define LETTERS LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

bool selector_is_value(const char *text)
{
    enum { LONGEST = 63 };
    size_t len = strlen(text);

    if (len == 0)
        return true;
    return len <= LONGEST && strspn(text, LETTERS "-_.") == len && strchr(LETTERS, text[0]) &&
           strchr(LETTERS, text[len - 1]);
}

bool selector_is_key(const char *text)
{
    enum { LONGEST_PREFIX = 253 };
    const char *slash = strchr(text, '/'), *name = slash ? slash + 1 : text;
    size_t prefix = slash ? (size_t)(slash - text) : 1;

    if (prefix == 0 || prefix > LONGEST_PREFIX || (slash && strspn(text, LOWER "-.") != prefix))
        return false;
    return *name && selector_is_value(name);
}

struct parser {
    struct arena *arena;
    const char *p;
};

/* A key, a value or a word such as "in", up to a character of `end`; may be empty. */
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

/* "= value" or "!= value"; returns false if neither follows. */
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

static bool read_term(struct parser *s, struct term *term)
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

enum err selector_parse(struct arena *arena, const char *text, const struct selector **out,
                        struct errinfo *ei)
{
    struct parser s = {.arena = arena, .p = text ? text : ""};
    struct selector *selector = ARENA_NEW(arena, struct selector);

    *out = selector;
    selector->text = arena_strdup(arena, s.p);
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

const char *selector_text(const struct selector *selector)
{
    return selector->text;
}

static bool term_matches(const struct term *term, const char *value)
{
    bool found = false;

    if (term->present || term->absent)
        return term->present == (value != NULL);
    for (size_t i = 0; value && i < json_len(term->values); i++)
        found |= strcmp(json_object_get_string(json_elem(term->values, i)), value) == 0;
    return found != term->other;
}

bool selector_match(const struct selector *selector, struct json_object *labels)
{
    for (size_t i = 0; i < selector->count; i++)
        if (!term_matches(&selector->terms[i], json_str_at(labels, selector->terms[i].key, NULL)))
            return false;
    return !selector->nothing;
}
