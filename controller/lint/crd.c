#include "lint/crd.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"

enum { MATCH_STEPS = 100 * 1000, TEXT_MAX = 64 * 1024, MAX_VARIANTS = 5 };

/* Made by the build from proto/crd. */
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
        /* They come with the program, and a test reads them. */
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

/* The members that some branch asks for, of "one of these must be there". */
static struct json_object *branch_keys(struct json_object *node, int variant)
{
    struct json_object *any = json_at(node, "anyOf", NULL), *one = json_at(node, "oneOf", NULL);
    struct json_object *branches = one ? one : any;

    return json_at(json_elem(branches, (size_t)variant), "required", NULL);
}

/* One that has fewer variants than others keeps its first. */
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
