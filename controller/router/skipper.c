/*
 * Skipper: a copy of the user's Ingress that leads to both sides, with weights in an annotation, and
 * a predicate by which it comes before the user's (router/OBJECTS.md).
 */
#include <string.h>

#include "router/common_ignored.h"
#include "router/common_source.h"
#include "tick/edit.h"

#define WEIGHTS   "zalando.org/backend-weights"
#define PREDICATE "zalando.org/skipper-predicate"
#define FIRST     "Weight(100)" /* before the user's Ingress */
#define OFF       "False()"     /* takes no requests: the user's Ingress counts */

enum { ANNOTATION_MAX = 256 * 1024 };

/* `first` before the predicates of the source, without ours. */
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

/* As everywhere, other people's numbers need not add up to 100. */
static struct weights read_copy(struct tick *tick, struct json_object *live)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *parsed = weights_of(tick, live);
    int64_t primary = json_int_at(parsed, 0, service->primary_name, NULL);
    int64_t canary = json_int_at(parsed, 0, service->canary_name, NULL);
    struct weights out = {.primary = 100};

    if (is_off(live) || primary < 0 || canary < 0 || primary + canary == 0 || primary > 1000000 ||
        canary > 1000000)
        return out;
    out.canary = (int)((canary * 100 + (primary + canary) / 2) / (primary + canary));
    out.primary = 100 - out.canary;
    return out;
}

/* --- the copy */

static void set_weights(struct tick *tick, struct json_object *wanted, struct json_object *source,
                        const struct weights *weights, bool off)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *annotations = json_sub(json_sub(wanted, "metadata"), "annotations");
    struct json_object *map = edit_object(tick->arena);

    json_set_int(map, service->primary_name, weights->primary);
    json_set_int(map, service->canary_name, weights->canary);
    json_set_str(annotations, WEIGHTS, json_text_sorted(tick->arena, map));
    json_set_str(annotations, PREDICATE, predicates(tick->arena, source, off ? OFF : FIRST));
}

/* Each path that leads to the apex Service leads to the primary, and once more to the canary. */
static struct json_object *wanted_spec(struct tick *tick, struct json_object *source)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *spec = source_tree(tick->arena, json_at(source, "spec", NULL));
    struct json_object *rules = json_at(spec, "rules", NULL);

    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *paths = json_at(json_elem(rules, i), "http", "paths", NULL);
        for (size_t k = 0, count = json_len(paths); k < count; k++) {
            struct json_object *path = json_elem(paths, k);
            if (!source_is_apex_path(tick->canary, path))
                continue;
            struct json_object *second = json_copy(tick->arena, path);
            json_set_str(json_at(path, "backend", "service", NULL), "name", service->primary_name);
            json_set_str(json_at(second, "backend", "service", NULL), "name", service->canary_name);
            edit_add(paths, second);
        }
    }
    return spec;
}

static void write_copy(struct tick *tick, struct json_object *source, struct json_object *live,
                       const struct weights *weights, bool off, const char *why)
{
    struct json_object *wanted = source_metadata(tick, source, NULL);

    set_weights(tick, wanted, source, weights, off);
    json_set(wanted, "spec", wanted_spec(tick, source));
    source_write_ingress(
        tick, live, wanted, true,
        arena_printf(tick->arena, "%s%s", live ? why : "", route_describe(tick, weights)));
}

/* --- what a router does */

/* Without a source that can be copied, a copy that is there stays as it is: settled() says so. */
static enum verdict skipper_reconcile(struct tick *tick)
{
    struct json_object *source, *live;

    if (!source_need_ingresses(tick, &source, &live))
        return VERDICT_NEED_FACTS;
    const char *mistake = source_ingress_mistake(tick, source);
    if (mistake)
        return live ? VERDICT_GO : plan_stop(tick, "%s", mistake);
    struct weights weights = route_kept(tick, read_copy(tick, live), live);
    write_copy(tick, source, live, &weights, is_off(live), "as the spec says, ");
    return VERDICT_GO;
}

static enum verdict skipper_get(struct tick *tick, struct weights *out)
{
    struct json_object *source, *live;

    if (!source_need_ingresses(tick, &source, &live))
        return VERDICT_NEED_FACTS;
    *out = read_copy(tick, live);
    return VERDICT_GO;
}

static enum verdict skipper_set(struct tick *tick, const struct weights *weights)
{
    struct json_object *source, *live;

    if (!source_need_ingresses(tick, &source, &live))
        return VERDICT_NEED_FACTS;
    if (!live)
        return plan_stop(tick, "Ingress %s.%s not found",
                         source_ingress_copy(tick->arena, tick->canary), tick->canary->namespace_);
    if (!source_ingress_mistake(tick, source)) {
        write_copy(tick, source, live, weights, weights->canary == 0, "");
        return VERDICT_GO;
    }
    struct json_object *wanted = edit_object(tick->arena);
    set_weights(tick, wanted, live, weights, weights->canary == 0);
    if (plan_update(tick, &source_ingresses, live, edit_overlay(tick->arena, live, wanted)))
        plan_why(tick, "%s", route_describe(tick, weights));
    return VERDICT_GO;
}

/* The source leads to the apex Service. A copy that somebody else has made takes no requests. */
static enum verdict skipper_revert(struct tick *tick, bool anew)
{
    const char *name = source_ingress_copy(tick->arena, tick->canary);
    const struct weights none = {.primary = 100};
    struct json_object *found;

    (void)anew;
    enum verdict verdict = source_remove(tick, &source_ingresses, name, &found);
    if (verdict != VERDICT_GO || !found || is_off(found))
        return verdict;
    struct json_object *wanted = edit_object(tick->arena);
    set_weights(tick, wanted, found, &none, true);
    if (plan_update(tick, &source_ingresses, found, edit_overlay(tick->arena, found, wanted)))
        plan_why(tick, "%s", route_describe(tick, &none));
    return VERDICT_GO;
}

static enum verdict skipper_disown(struct tick *tick)
{
    return source_disown(tick, &source_ingresses, source_ingress_copy(tick->arena, tick->canary));
}

static const char *const providers[] = {"skipper", NULL};
static const struct kube_resource *const resources[] = {&kube_services, &source_ingresses, NULL};

const struct router router_skipper = {
    .providers = providers,
    .about = "Skipper, backend weights of an Ingress",
    .resources = resources,
    .names = source_ingress_names,
    .metric_family = "skipper",
    .weighted = true,
    .check = source_ingress_check,
    .ignored = ignored_but_weights,
    .reconcile = skipper_reconcile,
    .get = skipper_get,
    .settled = source_ingress_settled,
    .set = skipper_set,
    .revert = skipper_revert,
    .disown = skipper_disown,
};
