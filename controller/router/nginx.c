/*
 * The NGINX ingress controller: a copy of the user's Ingress that leads to the canary, with
 * annotations that select its requests (router/OBJECTS.md).
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "router/router.h"
#include "router/shared/source.h"
#include "tick/edit.h"

#define DEFAULT_PREFIX "nginx.ingress.kubernetes.io"

enum { LEAST_TOTAL = 100 }; /* for weights without the annotation for the total */

/* "nginx.ingress.kubernetes.io/canary-weight" */
static const char *annotation(struct tick *tick, const char *word)
{
    const char *prefix = tick->settings->ingress_prefix;

    return arena_printf(tick->arena, "%s/%s", prefix && *prefix ? prefix : DEFAULT_PREFIX, word);
}

/* --- A/B tests: the controller supports one header and one cookie, and a match of either is
 * enough */

struct test {
    const char *header, *value, *pattern, *cookie; /* NULL if none */
    bool left_out;                                 /* a cookie that cannot be expressed */
};

static const char *read_header(struct arena *arena, const char *name, struct json_object *match,
                               const char *at, struct test *test)
{
    const char *exact = json_str_at(match, "exact", NULL);
    const char *regex = json_str_at(match, "regex", NULL);
    const char *mistake = regex ? regex_mistake(arena, regex) : NULL;

    if (strcasecmp(name, "cookie") == 0) {
        if (test->cookie)
            return arena_printf(arena,
                                "%s: NGINX matches one cookie; istio and gatewayapi:v1 "
                                "match several",
                                at);
        test->cookie = exact && *exact ? exact : NULL;
        test->left_out = test->left_out || !test->cookie;
        return NULL;
    }
    if (test->header)
        return arena_printf(
            arena, "%s: NGINX matches one header; istio and gatewayapi:v1 match several", at);
    if (mistake)
        return arena_printf(arena, "%s.%s.regex: %s, in \"%s\"", at, name, mistake, regex);
    if (!exact && !regex)
        return arena_printf(arena, "%s.%s: NGINX matches exact or regex; istio can match others",
                            at, name);
    test->header = name;
    test->value = exact && *exact ? exact : NULL;
    test->pattern = regex && *regex ? regex : NULL;
    return NULL;
}

/* NULL, or why it cannot be expressed. */
static const char *read_test(struct arena *arena, const struct canary *canary, struct test *test)
{
    struct json_object *given = canary->analysis.match;
    const char *why = NULL;

    *test = (struct test){.header = NULL};
    for (size_t i = 0; i < json_len(given) && !why; i++) {
        struct json_object *headers = json_at(json_elem(given, i), "headers", NULL);
        const char *element = arena_printf(arena, "%s[%zu]", canary->analysis.match_at, i);
        const char *at = arena_printf(arena, "%s.headers", element);
        size_t count;
        const char **keys = edit_keys(arena, headers, &count);
        if (count != 1 || json_object_object_length(json_elem(given, i)) != 1)
            why = arena_printf(arena,
                               "%s: NGINX matches one header or one cookie of an element; istio "
                               "and gatewayapi:v1 match more",
                               element);
        else
            why = read_header(arena, keys[0], json_at(headers, keys[0], NULL), at, test);
    }
    if (!why && given && !test->header && !test->cookie)
        why = arena_printf(arena,
                           "%s: expected a header, or a cookie by its name (cookie: {exact: NAME})",
                           canary->analysis.match_at);
    return why;
}

static const char *nginx_check(struct arena *arena, const struct canary *canary)
{
    const char *why = source_ingress_check(arena, canary);
    struct test test;

    return why ? why : read_test(arena, canary, &test);
}

static const char *nginx_ignored(struct arena *arena, const struct canary *canary)
{
    struct ignored list = {.arena = arena, .text = ignored_but_weights(arena, canary)};
    struct test test;

    read_test(arena, canary, &test);
    if (test.left_out)
        list.text =
            arena_printf(arena, "%s%s%s: a cookie but for its name", list.text ? list.text : "",
                         list.text ? ", " : "", canary->analysis.match_at);
    return list.text;
}

/* --- the copy */

static void set_annotation(struct tick *tick, struct json_object *annotations, const char *word,
                           const char *value)
{
    const char *key = annotation(tick, word);

    if (value)
        json_set_str(annotations, key, value);
    else
        json_set(annotations, key, NULL);
}

static void set_weights(struct tick *tick, struct json_object *wanted,
                        const struct source_writing *writing)
{
    struct json_object *annotations = json_sub(json_sub(wanted, "metadata"), "annotations");
    const struct weights *weights = writing->weights;
    bool tests = weights->matched && weights->canary > 0;
    int total = weight_relative(weights->primary) + weight_relative(weights->canary);
    struct test test = {.header = NULL};

    if (tests)
        read_test(tick->arena, tick->canary, &test);
    set_annotation(tick, annotations, "canary", "true");
    set_annotation(tick, annotations, "canary-weight",
                   arena_printf(tick->arena, "%d", tests ? 0 : weight_relative(weights->canary)));
    set_annotation(tick, annotations, "canary-weight-total",
                   tests || total == LEAST_TOTAL ? NULL : arena_printf(tick->arena, "%d", total));
    set_annotation(tick, annotations, "canary-by-header", test.header);
    set_annotation(tick, annotations, "canary-by-header-value", test.value);
    set_annotation(tick, annotations, "canary-by-header-pattern", test.pattern);
    set_annotation(tick, annotations, "canary-by-cookie", test.cookie);
}

static const char *value_of(struct tick *tick, struct json_object *live, const char *word)
{
    const char *value = json_str_at(live, "metadata", "annotations", annotation(tick, word), NULL);

    return value && *value ? value : NULL;
}

/* The first annotation found decides: the controller checks header and cookie before the weight. */
static struct weights read_copy(struct tick *tick, struct json_object *live)
{
    const char *is_canary = value_of(tick, live, "canary");
    const char *text = value_of(tick, live, "canary-weight");
    const char *of = value_of(tick, live, "canary-weight-total");
    struct weights out = {.primary = WEIGHT_ALL};

    if (!is_canary || strcmp(is_canary, "true") != 0)
        return out;
    long weight = text ? strtol(text, NULL, 10) : 0;
    long total = of ? strtol(of, NULL, 10) : LEAST_TOTAL;
    out.matched =
        value_of(tick, live, "canary-by-header") || value_of(tick, live, "canary-by-cookie");
    out.canary = out.matched ? WEIGHT_ALL : weight_of_total(weight, total);
    out.primary = WEIGHT_ALL - out.canary;
    return out;
}

static bool takes(struct tick *tick, struct json_object *live)
{
    return read_copy(tick, live).canary > 0;
}

static const char *own_annotations(struct tick *tick)
{
    return annotation(tick, "canary");
}

static const struct source_ingress source = {
    .own = own_annotations, .write = set_weights, .read = read_copy, .takes = takes};
/* The copy for the canary of another Ingress takes no requests away from that Ingress. */
static struct json_object *nginx_claims(struct arena *arena, struct json_object *ingress)
{
    const char *canary =
        json_str_at(ingress, "metadata", "annotations", "nginx.ingress.kubernetes.io/canary", NULL);

    return canary && strcmp(canary, "true") == 0 ? NULL : source_ingress_claims(arena, ingress);
}

static const char *const providers[] = {"nginx", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &source_ingresses, NULL};

const struct router router_nginx = {
    .providers = providers,
    .about = "NGINX ingress controller, canary annotations",
    .resources = resources,
    .names = source_ingress_names,
    .metric_family = "nginx",
    .source = &source,
    .weighted = true,
    .finest = 1,
    .finest_since = "the NGINX ingress controller takes since 1.7; an older one sends ten or a "
                    "hundred times as much",
    .matches = true,
    .matches_whole = true,
    .check = nginx_check,
    .ignored = nginx_ignored,
    .claims = nginx_claims,
    .reconcile = source_ingress_reconcile,
    .get = source_ingress_get,
    .settled = source_ingress_settled,
    .set = source_ingress_set,
    .revert = source_ingress_revert,
    .disown = source_ingress_disown,
};
