#include "ctl/lint/document.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "base/guess.h"
#include "base/yaml.h"

enum { FOUND_MAX = 60 };

struct walk {
    struct arena *arena;
    struct document *document;
    struct json_object *root;
};

/* Returns the value that should be there instead, NULL if the value is valid, or if no better one
 * is known. */
static struct json_object *check(struct walk *w, struct json_object *node,
                                 struct json_object *value, const struct json_path *place);

/* --- sentences */

static const char *found(struct walk *w, struct json_object *value)
{
    return json_describe(w->arena, value, FOUND_MAX);
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

/* The word that was probably meant; "" if it cannot be guessed. */
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

/* Returns the word that was meant, or else the first in the list. */
static struct json_object *tell_unlisted(struct walk *w, struct json_object *list,
                                         struct json_object *value, const struct json_path *place)
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

/* "This list, or a text in one of these forms", as for spec.provider. */
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
                                      struct json_object *value, const struct json_path *place)
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
                                        struct json_object *value, const struct json_path *place)
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

static void change(struct walk *w, const struct json_path *place)
{
    json_paths_add(w->arena, &w->document->changed, place);
}

static void check_count(struct walk *w, struct json_object *node, int64_t count, const char *min,
                        const char *max, const char *what, const struct json_path *place)
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
                                       struct json_object *value, const struct json_path *place)
{
    struct json_object *items = json_at(node, "items", NULL);

    check_count(w, node, (int64_t)json_len(value), "minItems", "maxItems", "elements", place);
    for (size_t i = 0; items && i < json_len(value); i++) {
        const struct json_path here = json_path_in(place, NULL, i);
        struct json_object *instead = check(w, items, json_elem(value, i), &here);
        if (instead) {
            json_object_array_put_idx(value, i, json_dup(instead));
            change(w, &here);
        }
    }
    return NULL;
}

/* Names that occur in so many places that they are misleading as a guess, except below a field that
 * has one. */
static bool is_common(const char *key)
{
    static const char *const names[] = {"type", "name", "kind", "namespace", "value", "url"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], key) == 0)
            return true;
    return false;
}

/* A field with this name further up or down: "did you mean spec.analysis.maxWeight?" */
static const char *elsewhere(struct walk *w, struct json_object *node,
                             const struct json_path *place, const char *key)
{
    struct json_object *properties = json_at(node, "properties", NULL);

    if (is_common(key) && json_object_object_length(properties) != 1)
        return NULL;
    if (properties) {
        json_object_object_foreach(properties, name, child)
        {
            const struct json_path in = json_path_in(place, name, 0),
                                   full = json_path_in(&in, key, 0);
            if (json_at(child, "properties", key, NULL) && strcmp(name, "status") != 0)
                return json_path_text(w->arena, &full);
        }
    }
    struct json_object *above = w->root;
    for (int i = 0; i < place->depth; i++) {
        const char *step = place->steps[i].key;
        if (json_at(above, "properties", key, NULL) && i > 0) {
            struct json_path up = *place;
            up.depth = i;
            up = json_path_in(&up, key, 0);
            return json_path_text(w->arena, &up);
        }
        above = step ? crd_member(above, step) : json_at(above, "items", NULL);
    }
    return NULL;
}

/* Its value is used for the field that was probably meant, unless that is given as well. */
static void tell_unknown(struct walk *w, struct json_object *node, struct json_object *value,
                         const struct json_path *place, const char *key)
{
    const struct json_path here = json_path_in(place, key, 0);
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
        const struct json_path there = json_path_in(place, meant, 0);
        json_set(value, meant, json_at(value, key, NULL));
        change(w, &there);
    }
    json_object_object_del(value, key);
}

/* Fields that every object of the API has; names are checked elsewhere. */
static bool is_meta(const struct json_path *place, const char *key)
{
    return place->depth == 0 && (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0 ||
                                 strcmp(key, "metadata") == 0 || strcmp(key, "status") == 0);
}

static void check_unknown(struct walk *w, struct json_object *node, struct json_object *value,
                          const struct json_path *place)
{
    struct json_object *copy = json_copy(w->arena, value); /* its keys stay the same */

    json_object_object_foreach(copy, key, child)
    {
        if (!is_meta(place, key) && !crd_member(node, key))
            tell_unknown(w, node, value, place, key);
        else if (!child) /* null counts as missing */
            json_object_object_del(value, key);
    }
}

static void check_members(struct walk *w, struct json_object *node, struct json_object *value,
                          const struct json_path *place)
{
    check_unknown(w, node, value, place);
    json_object_object_foreach(value, key, child)
    {
        const struct json_path here = json_path_in(place, key, 0);
        struct json_object *instead =
            is_meta(place, key) ? NULL : check(w, crd_member(node, key), child, &here);
        if (instead) {
            json_set(value, key, json_copy(w->arena, instead));
            change(w, &here);
        }
    }
}

static void check_required(struct walk *w, struct json_object *node, struct json_object *value,
                           const struct json_path *place)
{
    struct json_object *required = json_at(node, "required", NULL);

    for (size_t i = 0; i < json_len(required); i++) {
        const char *key = json_object_get_string(json_elem(required, i));
        const struct json_path here = json_path_in(place, key, 0);
        struct json_object *member = crd_member(node, key);
        if (json_at(value, key, NULL))
            continue;
        document_error(w->document, &here, "required: expected %s", type_words(member));
        json_set(value, key, crd_sample(w->arena, member, 0));
        change(w, &here);
    }
}

/* "At least one of these", or "exactly one": each branch is represented by the first key that it
 * requires. */
static void check_branches(struct walk *w, struct json_object *branches, bool many,
                           struct json_object *node, struct json_object *value,
                           const struct json_path *place)
{
    const char *names = "", *have = "", *first = NULL;
    size_t count = 0, n = json_len(branches);

    for (size_t i = 0; i < n; i++) {
        const char *key =
            json_object_get_string(json_elem(json_at(json_elem(branches, i), "required", NULL), 0));
        if (!key)
            return; /* a different kind of branches */
        first = first ? first : key;
        names = joined(w, names, key, i == n - 1);
        if (!json_at(value, key, NULL))
            continue;
        have = joined(w, have, key, true);
        if (++count > 1 && !many) {
            const struct json_path here = json_path_in(place, key, 0);
            json_object_object_del(value, key);
            change(w, &here);
        }
    }
    if (!first || count == 1 || (many && count > 0))
        return;
    document_error(w->document, place, "expected one of %s, found %s", names,
                   count == 0 ? "none of them" : have);
    if (count == 0) {
        const struct json_path here = json_path_in(place, first, 0);
        json_set(value, first, crd_sample(w->arena, crd_member(node, first), 0));
        change(w, &here);
    }
}

static struct json_object *check_object(struct walk *w, struct json_object *node,
                                        struct json_object *value, const struct json_path *place)
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
                                 struct json_object *value, const struct json_path *place)
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

    (void)check(&w, schema, object, &(struct json_path){0});
}

void schema_check(struct document *document, struct json_object *schema, struct json_object *object)
{
    schema_check_part(document, schema, object);
    /* The root does not require spec, but nothing can be checked without it. */
    if (!json_at(object, "spec", NULL)) {
        const struct json_path spec = json_path_in(&(struct json_path){0}, "spec", 0);
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

enum { MATCH_STEPS = 100 * 1000, TEXT_MAX = 64 * 1024, MAX_VARIANTS = 5 };

/* Generated by the build from proto/crd. */
extern const char crd_canaries[], crd_metrictemplates[], crd_alertproviders[],
    crd_releaserequests[];
extern const size_t crd_canaries_len, crd_metrictemplates_len, crd_alertproviders_len,
    crd_releaserequests_len;

const char *const crd_kinds[] = {"Canary", "MetricTemplate", "AlertProvider", "ReleaseRequest",
                                 NULL};

struct json_object *crd_schema(struct arena *arena, const char *kind)
{
    const char *const texts[] = {crd_canaries, crd_metrictemplates, crd_alertproviders,
                                 crd_releaserequests};
    const size_t lens[] = {crd_canaries_len, crd_metrictemplates_len, crd_alertproviders_len,
                           crd_releaserequests_len};
    struct json_object *docs;
    struct errinfo ei;

    for (size_t i = 0; crd_kinds[i]; i++) {
        if (strcmp(crd_kinds[i], kind) != 0)
            continue;
        /* they are part of the program, and a test reads them */
        if (yaml_parse(arena, kind, texts[i], lens[i], JSON_MAX_BYTES, &docs, &ei) != ERR_OK)
            abort();
        struct json_object *versions = json_at(json_elem(docs, 0), "spec", "versions", NULL);
        return json_at(json_elem(versions, 0), "schema", "openAPIV3Schema", NULL);
    }
    return NULL;
}

struct json_object *crd_member(struct json_object *node, const char *key)
{
    struct json_object *member = json_at(node, "properties", key, NULL);
    struct json_object *others = json_at(node, "additionalProperties", NULL);

    return member ? member : json_object_is_type(others, json_type_object) ? others : NULL;
}

bool crd_is_open(struct json_object *node)
{
    return json_bool_at(node, false, "x-kubernetes-preserve-unknown-fields", NULL) ||
           (!json_at(node, "properties", NULL) && !json_at(node, "additionalProperties", NULL));
}

static bool matches(const char *pattern, const char *text)
{
    int number;
    PCRE2_SIZE at;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_DOLLAR_ENDONLY, &number, &at, NULL);
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_match_data *data = code ? pcre2_match_data_create_from_pattern(code, NULL) : NULL;

    if (!data || !context)
        abort();
    pcre2_set_match_limit(context, MATCH_STEPS);
    int count = pcre2_match(code, (PCRE2_SPTR)text, strnlen(text, TEXT_MAX), 0, 0, data, context);
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_code_free(code);
    return count > 0;
}

bool crd_pattern_fits(struct json_object *node, const char *text)
{
    const char *pattern = json_str_at(node, "pattern", NULL);

    return !pattern || matches(pattern, text);
}

const char *crd_pattern_words(struct arena *arena, struct json_object *node)
{
    static const struct {
        const char *fits, *fits_not, *words;
    } ways[] = {
        {"1m30s", "x", "a duration such as 30s or 1m30s"},
        {"http://a/", "x", "a URL such as http://flagger-loadtester.test/"},
        {"a.b-c", "A_b", "a name of lower case letters, digits, '-' and '.'"},
        {"a-b", "A_b", "a name of lower case letters, digits and '-'"},
        {"A-b", "A_b", "a name of letters, digits and '-'"},
        {"08:00", "x", "a time of day such as 08:00"},
        {"Europe/Berlin", "x", "UTC, an offset such as +02:00 or a name such as Europe/Berlin"},
        {"5Mi", "x", "an amount such as 20 or 5Mi, or a part such as 10 %"},
        {"0.2 %-points", "x", "a part such as 10 %, or a difference such as 0.2 %-points"},
    };

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (crd_pattern_fits(node, ways[i].fits) && !crd_pattern_fits(node, ways[i].fits_not))
            return ways[i].words;
    return arena_printf(arena, "a text that matches %s", json_str_at(node, "pattern", NULL));
}

/* --- samples */

static bool is_type(struct json_object *node, const char *type)
{
    const char *found = json_str_at(node, "type", NULL);

    return found && strcmp(found, type) == 0;
}

static struct json_object *own_text(struct arena *arena, const char *text)
{
    return json_own(arena, json_object_new_string(text));
}

static struct json_object *sample_text(struct arena *arena, struct json_object *node, int variant)
{
    static const char *const texts[] = {"a", "1m", "http://a/", "https://a/", "1"};
    struct json_object *known = json_at(node, "enum", NULL);

    if (known)
        return json_elem(known, (size_t)variant);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (crd_pattern_fits(node, texts[i]) && variant-- == 0)
            return own_text(arena, texts[i]);
    return NULL;
}

static struct json_object *sample_number(struct arena *arena, struct json_object *node, int variant)
{
    int64_t least = json_int_at(node, 1, "minimum", NULL);
    int64_t most = json_int_at(node, 100, "maximum", NULL);
    const int64_t numbers[] = {least > 1 ? least : 1, most, least};

    if (variant > 2)
        return NULL;
    return json_own(arena, json_object_new_int64(numbers[variant]));
}

/* The members that some branch requires, for "one of these must be there". */
static struct json_object *branch_keys(struct json_object *node, int variant)
{
    struct json_object *any = json_at(node, "anyOf", NULL), *one = json_at(node, "oneOf", NULL);
    struct json_object *branches = one ? one : any;

    return json_at(json_elem(branches, (size_t)variant), "required", NULL);
}

/* A member with fewer variants than others keeps its first variant. */
static struct json_object *sample_member(struct arena *arena, struct json_object *node, int variant)
{
    struct json_object *sample = crd_sample(arena, node, variant);

    return sample ? sample : crd_sample(arena, node, 0);
}

/* Recursion is bounded by the depth of our own schemas. */
static struct json_object *sample_object(struct arena *arena, struct json_object *node, int variant)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *const lists[] = {json_at(node, "required", NULL),
                                         branch_keys(node, variant)};

    if (variant >= MAX_VARIANTS || (variant > 0 && !lists[1] && json_at(node, "oneOf", NULL)))
        return NULL;
    for (size_t list = 0; list < 2; list++) {
        for (size_t i = 0; i < json_len(lists[list]); i++) {
            const char *key = json_object_get_string(json_elem(lists[list], i));
            json_set(out, key, sample_member(arena, crd_member(node, key), variant));
        }
    }
    return out;
}

static struct json_object *sample_array(struct arena *arena, struct json_object *node, int variant)
{
    struct json_object *out = json_own(arena, json_object_new_array());
    struct json_object *items = json_at(node, "items", NULL);
    bool full = json_int_at(node, 0, "minItems", NULL) > 0 || variant == 1;

    if (variant > 1)
        return NULL;
    if (full)
        json_object_array_add(out, json_object_get(crd_sample(arena, items, 0)));
    return out;
}

struct json_object *crd_sample(struct arena *arena, struct json_object *node, int variant)
{
    if (is_type(node, "object"))
        return sample_object(arena, node, variant);
    if (is_type(node, "array"))
        return sample_array(arena, node, variant);
    if (is_type(node, "boolean"))
        return variant > 1 ? NULL : json_own(arena, json_object_new_boolean(variant));
    if (is_type(node, "integer") || is_type(node, "number") ||
        json_bool_at(node, false, "x-kubernetes-int-or-string", NULL))
        return sample_number(arena, node, variant);
    return is_type(node, "string") ? sample_text(arena, node, variant) : NULL;
}
