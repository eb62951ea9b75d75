/*
 * Skipper: a copy of the user's Ingress that leads to both sides, with weights in an annotation and
 * a predicate that gives it precedence over the user's Ingress (router/OBJECTS.md).
 */
#include <string.h>

#include "router/router.h"
#include "router/shared/source.h"
#include "tick/edit.h"

#define WEIGHTS   "zalando.org/backend-weights"
#define PREDICATE "zalando.org/skipper-predicate"
#define FIRST     "Weight(100)" /* takes precedence over the user's Ingress */
#define OFF       "False()"     /* takes no requests: the user's Ingress is in effect */

enum { ANNOTATION_MAX = 256 * 1024 };

/* `first`, followed by the predicates of the source except ours. */
static const char *predicates(struct arena *arena, struct json_object *source, const char *first)
{
    const char *at = json_str_at(source, "metadata", "annotations", PREDICATE, NULL);
    const char *out = first;

    while (at && *at) {
        const char *end = strstr(at, "&&");
        size_t len = end ? (size_t)(end - at) : strlen(at);
        size_t blank = strspn(at, " \t");
        blank = blank < len ? blank : len;
        const char *one = arena_strndup(arena, at + blank, len - blank);
        size_t used = strlen(one);
        while (used > 0 && strchr(" \t", one[used - 1]))
            used--;
        one = arena_strndup(arena, one, used);
        if (*one && strcmp(one, FIRST) != 0 && strcmp(one, OFF) != 0)
            out = arena_printf(arena, "%s && %s", out, one);
        at = end ? end + 2 : NULL;
    }
    return out;
}

static bool is_off(struct json_object *live)
{
    const char *text = json_str_at(live, "metadata", "annotations", PREDICATE, NULL);

    return text && strstr(text, OFF);
}

static struct json_object *weights_of(struct tick *tick, struct json_object *live)
{
    const char *text = json_str_at(live, "metadata", "annotations", WEIGHTS, NULL);
    struct json_object *out;
    struct errinfo ei;

    if (!text || json_parse(tick->arena, text, strlen(text), ANNOTATION_MAX, &out, &ei) != ERR_OK)
        return NULL;
    return out;
}

/* Weights written by others need not add up to 100. */
static struct weights read_copy(struct tick *tick, struct json_object *live)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *parsed = weights_of(tick, live);
    int64_t primary = json_int_at(parsed, 0, service->primary_name, NULL);
    int64_t canary = json_int_at(parsed, 0, service->canary_name, NULL);
    struct weights out = {.primary = WEIGHT_ALL};

    if (is_off(live) || primary < 0 || canary < 0 || primary > 1000000 || canary > 1000000)
        return out;
    out.canary = weight_of_total(canary, primary + canary);
    out.primary = WEIGHT_ALL - out.canary;
    return out;
}

/* --- the copy */

static void set_weights(struct tick *tick, struct json_object *wanted,
                        const struct source_writing *writing)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *annotations = json_sub(json_sub(wanted, "metadata"), "annotations");
    struct json_object *map = edit_object(tick->arena);
    bool off = writing->moves ? writing->weights->canary == 0 : is_off(writing->live);

    json_set_int(map, service->primary_name, weight_relative(writing->weights->primary));
    json_set_int(map, service->canary_name, weight_relative(writing->weights->canary));
    json_set_str(annotations, WEIGHTS, json_text_sorted(tick->arena, map));
    json_set_str(annotations, PREDICATE,
                 predicates(tick->arena, writing->source, off ? OFF : FIRST));
}

static bool takes(struct tick *tick, struct json_object *live)
{
    (void)tick;
    return !is_off(live);
}

static const struct source_ingress source = {
    .both = true, .bare = true, .write = set_weights, .read = read_copy, .takes = takes};
static const char *const providers[] = {"skipper", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &source_ingresses, NULL};

const struct router router_skipper = {
    .providers = providers,
    .about = "Skipper, backend weights of an Ingress",
    .resources = resources,
    .names = source_ingress_names,
    .metric_family = "skipper",
    .source = &source,
    .weighted = true,
    .finest = 1,
    .check = source_ingress_check,
    .ignored = ignored_but_weights,
    .claims = source_ingress_claims,
    .reconcile = source_ingress_reconcile,
    .get = source_ingress_get,
    .settled = source_ingress_settled,
    .set = source_ingress_set,
    .revert = source_ingress_revert,
    .disown = source_ingress_disown,
};
