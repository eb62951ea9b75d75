#include "lint/schema.h"

#include <string.h>

#include "base/utf8.h"
#include "lint/crd.h"
#include "lint/guess.h"

enum { FOUND_MAX = 60 };

struct walk {
    struct arena *arena;
    struct document *document;
    struct json_object *root;
};

/* Returns what should stand there instead, NULL: it is right, or nothing better is known. */
static struct json_object *check(struct walk *w, struct json_object *node,
                                 struct json_object *value, const struct place *place);

/* --- sentences */

static const char *found(struct walk *w, struct json_object *value)
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
    const char *text = json_text(w->arena, value);
    size_t len = strlen(text);
    if (len <= FOUND_MAX)
        return text;
    return arena_printf(w->arena, "%.*s...", (int)utf8_cut(text, FOUND_MAX), text);
}

static const char *type_words(struct json_object *node)
{
    static const struct {
        const char *type, *words;
    } all[] = {{"object", "an object"},       {"array", "an array"},  {"string", "a string"},
               {"integer", "a whole number"}, {"number", "a number"}, {"boolean", "true or false"}};
    const char *type = json_str_at(node, "type", NULL);

    for (size_t i = 0; type && i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(all[i].type, type) == 0)
            return all[i].words;
    return "a whole number or a string";
}

static bool type_fits(struct json_object *node, struct json_object *value)
{
    const char *type = json_str_at(node, "type", NULL);
    int64_t number;

    if (json_bool_at(node, false, "x-kubernetes-int-or-string", NULL))
        return json_object_is_type(value, json_type_string) || json_to_int(value, &number);
    if (!type)
        return true;
    if (strcmp(type, "integer") == 0)
        return json_to_int(value, &number);
    if (strcmp(type, "number") == 0)
        return json_object_is_type(value, json_type_int) ||
               json_object_is_type(value, json_type_double);
    return json_object_is_type(value, strcmp(type, "object") == 0    ? json_type_object
                                      : strcmp(type, "array") == 0   ? json_type_array
                                      : strcmp(type, "boolean") == 0 ? json_type_boolean
                                                                     : json_type_string);
}

static const char *joined(struct walk *w, const char *so_far, const char *word, bool last)
{
    return arena_printf(w->arena, "%s%s%s", so_far, !*so_far ? "" : last ? " and " : ", ", word);
}

/* A word that may have been meant by another one; "": it cannot be guessed. */
static const char *hint(struct walk *w, const struct guess *guess)
{
    if (guess->word && strcmp(guess->word, "email") == 0)
        return "; Alertmanager sends mail, and so may what a webhook calls";
    return guess->best ? arena_printf(w->arena, "; did you mean %s?", guess->best) : "";
}

/* --- texts and numbers */

static bool is_among(struct json_object *list, struct json_object *value)
{
    for (size_t i = 0; i < json_len(list); i++)
        if (json_same(json_elem(list, i), value))
            return true;
    return false;
}

/* Returns what was meant, or else the first of the list. */
static struct json_object *tell_unlisted(struct walk *w, struct json_object *list,
                                         struct json_object *value, const struct place *place)
{
    struct guess guess = {.word = json_object_get_string(value)};
    const char *words = "";

    for (size_t i = 0; i < json_len(list); i++) {
        const char *word = json_object_get_string(json_elem(list, i));
        words = joined(w, words, word, false);
        guess_consider(&guess, word);
    }
    document_error(w->document, place, "expected one of %s, found %s%s", words, found(w, value),
                   hint(w, &guess));
    return guess.best ? json_own(w->arena, json_object_new_string(guess.best)) : json_elem(list, 0);
}

/* "This list, or a text of one of these forms": as of spec.provider. */
static bool fits_any(struct json_object *branches, struct json_object *value,
                     struct json_object **list)
{
    for (size_t i = 0; i < json_len(branches); i++) {
        struct json_object *branch = json_elem(branches, i), *some = json_at(branch, "enum", NULL);
        if (some)
            *list = some;
        if (some ? is_among(some, value) : crd_pattern_fits(branch, json_object_get_string(value)))
            return true;
    }
    return json_len(branches) == 0;
}

static struct json_object *check_text(struct walk *w, struct json_object *node,
                                      struct json_object *value, const struct place *place)
{
    struct json_object *list = json_at(node, "enum", NULL);
    const char *text = json_object_get_string(value);
    size_t bytes = (size_t)json_object_get_string_len(value);
    int64_t len = (int64_t)utf8_count(text, bytes);
    int64_t least = json_int_at(node, 0, "minLength", NULL);
    int64_t most = json_int_at(node, len, "maxLength", NULL);

    if (strlen(text) != bytes)
        document_error(w->document, place, "expected a string without U+0000");
    else if (list ? !is_among(list, value) : !fits_any(json_at(node, "anyOf", NULL), value, &list))
        return tell_unlisted(w, list, value, place);
    else if (len < least && least == 1)
        document_error(w->document, place, "expected a text, found an empty one");
    else if (len < least || len > most)
        document_error(w->document, place,
                       "expected a text of %lld to %lld characters, found %lld of them",
                       (long long)least, (long long)most, (long long)len);
    else if (!crd_pattern_fits(node, text))
        document_error(w->document, place, "expected %s, found %s",
                       crd_pattern_words(w->arena, node), found(w, value));
    else
        return NULL;
    return crd_sample(w->arena, node, 0);
}

static struct json_object *check_number(struct walk *w, struct json_object *node,
                                        struct json_object *value, const struct place *place)
{
    struct json_object *least = json_at(node, "minimum", NULL);
    struct json_object *most = json_at(node, "maximum", NULL);
    double number = json_object_get_double(value);
    bool low = least && number < json_object_get_double(least);

    if (!low && !(most && number > json_object_get_double(most)))
        return NULL;
    if (least && most)
        document_error(w->document, place, "expected %s from %s to %s, found %s", type_words(node),
                       json_object_get_string(least), json_object_get_string(most),
                       found(w, value));
    else
        document_error(w->document, place, "expected %s of at %s %s, found %s", type_words(node),
                       low ? "least" : "most", json_object_get_string(low ? least : most),
                       found(w, value));
    return low ? least : most;
}

/* --- lists and objects */

static void change(struct walk *w, const struct place *place)
{
    places_add(w->arena, &w->document->changed, place);
}

static void check_count(struct walk *w, struct json_object *node, int64_t count, const char *min,
                        const char *max, const char *what, const struct place *place)
{
    int64_t least = json_int_at(node, 0, min, NULL), most = json_int_at(node, count, max, NULL);

    if (count < least)
        document_error(w->document, place, "expected at least %lld %s, found %lld",
                       (long long)least, what, (long long)count);
    if (count > most)
        document_error(w->document, place, "expected at most %lld %s, found %lld", (long long)most,
                       what, (long long)count);
}

static struct json_object *check_array(struct walk *w, struct json_object *node,
                                       struct json_object *value, const struct place *place)
{
    struct json_object *items = json_at(node, "items", NULL);

    check_count(w, node, (int64_t)json_len(value), "minItems", "maxItems", "elements", place);
    for (size_t i = 0; items && i < json_len(value); i++) {
        const struct place here = place_in(place, NULL, i);
        struct json_object *instead = check(w, items, json_elem(value, i), &here);
        if (instead) {
            json_object_array_put_idx(value, i, json_dup(instead));
            change(w, &here);
        }
    }
    return NULL;
}

/* A field of this name further up or down: "did you mean spec.analysis.maxWeight?" */
static const char *elsewhere(struct walk *w, struct json_object *node, const struct place *place,
                             const char *key)
{
    struct json_object *properties = json_at(node, "properties", NULL);

    if (properties) {
        json_object_object_foreach(properties, name, child)
        {
            const struct place in = place_in(place, name, 0), full = place_in(&in, key, 0);
            if (json_at(child, "properties", key, NULL) && strcmp(name, "status") != 0)
                return place_text(w->arena, &full);
        }
    }
    struct json_object *above = w->root;
    for (int i = 0; i < place->depth; i++) {
        const char *step = place->steps[i].key;
        if (json_at(above, "properties", key, NULL) && i > 0) {
            struct place up = *place;
            up.depth = i;
            up = place_in(&up, key, 0);
            return place_text(w->arena, &up);
        }
        above = step ? crd_member(above, step) : json_at(above, "items", NULL);
    }
    return NULL;
}

/* It is taken for the field that was meant, where that is not given as well. */
static void tell_unknown(struct walk *w, struct json_object *node, struct json_object *value,
                         const struct place *place, const char *key)
{
    const struct place here = place_in(place, key, 0);
    struct guess guess = {.word = key};
    struct json_object *properties = json_at(node, "properties", NULL);

    if (properties) {
        json_object_object_foreach(properties, name, child)
        {
            (void)child;
            guess_consider(&guess, name);
        }
    }
    const char *meant = guess.best;
    if (!guess.best || guess.distance > 1) {
        const char *other = elsewhere(w, node, place, key);
        guess.best = other ? other : guess.best;
    }
    document_error(w->document, &here, "unknown field%s", hint(w, &guess));
    change(w, &here);
    if (meant && guess.best == meant && !json_at(value, meant, NULL)) {
        const struct place there = place_in(place, meant, 0);
        json_set(value, meant, json_at(value, key, NULL));
        change(w, &there);
    }
    json_object_object_del(value, key);
}

/* Fields that every object of the API has; names are looked at elsewhere. */
static bool is_meta(const struct place *place, const char *key)
{
    return place->depth == 0 && (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0 ||
                                 strcmp(key, "metadata") == 0 || strcmp(key, "status") == 0);
}

static void check_unknown(struct walk *w, struct json_object *node, struct json_object *value,
                          const struct place *place)
{
    struct json_object *copy = json_copy(w->arena, value); /* whose keys stay */

    json_object_object_foreach(copy, key, child)
    {
        if (!is_meta(place, key) && !crd_member(node, key))
            tell_unknown(w, node, value, place, key);
        else if (!child) /* null is as if it were not there */
            json_object_object_del(value, key);
    }
}

static void check_members(struct walk *w, struct json_object *node, struct json_object *value,
                          const struct place *place)
{
    check_unknown(w, node, value, place);
    json_object_object_foreach(value, key, child)
    {
        const struct place here = place_in(place, key, 0);
        struct json_object *instead =
            is_meta(place, key) ? NULL : check(w, crd_member(node, key), child, &here);
        if (instead) {
            json_set(value, key, json_copy(w->arena, instead));
            change(w, &here);
        }
    }
}

static void check_required(struct walk *w, struct json_object *node, struct json_object *value,
                           const struct place *place)
{
    struct json_object *required = json_at(node, "required", NULL);

    for (size_t i = 0; i < json_len(required); i++) {
        const char *key = json_object_get_string(json_elem(required, i));
        const struct place here = place_in(place, key, 0);
        struct json_object *member = crd_member(node, key);
        if (json_at(value, key, NULL))
            continue;
        document_error(w->document, &here, "required: expected %s", type_words(member));
        json_set(value, key, crd_sample(w->arena, member, 0));
        change(w, &here);
    }
}

/* "At least one of these", or "just one": the first key that a branch asks for stands for it. */
static void check_branches(struct walk *w, struct json_object *branches, bool many,
                           struct json_object *node, struct json_object *value,
                           const struct place *place)
{
    const char *names = "", *have = "", *first = NULL;
    size_t count = 0, n = json_len(branches);

    for (size_t i = 0; i < n; i++) {
        const char *key =
            json_object_get_string(json_elem(json_at(json_elem(branches, i), "required", NULL), 0));
        if (!key)
            return; /* another kind of branches */
        first = first ? first : key;
        names = joined(w, names, key, i == n - 1);
        if (!json_at(value, key, NULL))
            continue;
        have = joined(w, have, key, true);
        if (++count > 1 && !many) {
            const struct place here = place_in(place, key, 0);
            json_object_object_del(value, key);
            change(w, &here);
        }
    }
    if (!first || count == 1 || (many && count > 0))
        return;
    document_error(w->document, place, "expected one of %s, found %s", names,
                   count == 0 ? "none of them" : have);
    if (count == 0) {
        const struct place here = place_in(place, first, 0);
        json_set(value, first, crd_sample(w->arena, crd_member(node, first), 0));
        change(w, &here);
    }
}

static struct json_object *check_object(struct walk *w, struct json_object *node,
                                        struct json_object *value, const struct place *place)
{
    check_count(w, node, json_object_object_length(value), "minProperties", "maxProperties",
                "fields", place);
    if (!crd_is_open(node))
        check_members(w, node, value, place);
    check_required(w, node, value, place);
    check_branches(w, json_at(node, "anyOf", NULL), true, node, value, place);
    check_branches(w, json_at(node, "oneOf", NULL), false, node, value, place);
    return NULL;
}

static struct json_object *check(struct walk *w, struct json_object *node,
                                 struct json_object *value, const struct place *place)
{
    if (!type_fits(node, value)) {
        document_error(w->document, place, "expected %s, found %s", type_words(node),
                       found(w, value));
        return crd_sample(w->arena, node, 0);
    }
    switch (json_object_get_type(value)) {
    case json_type_string:
        return check_text(w, node, value, place);
    case json_type_int:
    case json_type_double:
        return check_number(w, node, value, place);
    case json_type_array:
        return check_array(w, node, value, place);
    case json_type_object:
        return check_object(w, node, value, place);
    default:
        return NULL;
    }
}

void schema_check_part(struct document *document, struct json_object *schema,
                       struct json_object *object)
{
    struct walk w = {.arena = document->lint->arena, .document = document, .root = schema};

    (void)check(&w, schema, object, &(struct place){0});
}

void schema_check(struct document *document, struct json_object *schema, struct json_object *object)
{
    schema_check_part(document, schema, object);
    /* The root asks for no spec, but nothing can be said without one. */
    if (!json_at(object, "spec", NULL)) {
        const struct place spec = place_in(&(struct place){0}, "spec", 0);
        document_error(document, &spec, "required: expected an object");
    }
}

struct json_object *schema_of(struct document *document)
{
    struct lint *lint = document->lint;

    for (size_t i = 0; i < DOCUMENT_KINDS; i++) {
        if (strcmp(crd_kinds[i], document->kind) != 0)
            continue;
        if (!lint->schemas[i])
            lint->schemas[i] = crd_schema(lint->arena, document->kind);
        return lint->schemas[i];
    }
    return NULL;
}
