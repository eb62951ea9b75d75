#include "router/shared/route.h"

#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "router/router.h"
#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

#define KUBECTL_APPLIED "kubectl.kubernetes.io/last-applied-configuration"
/* Limit for an original spec; Kubernetes accepts 256 KiB of annotations per object. */
enum { ORIGINAL_MAX = 128 * 1024, ANNOTATION_MAX = 256 * 1024 };

/* NULL if not known yet. Always known after route_need() has returned true. */
static const struct route *route_of(struct tick *tick)
{
    const struct route *route = router_find(tick->provider)->route;

    return route->choose ? route->choose(tick) : route;
}

static const char *name_of(struct tick *tick)
{
    const struct route *route = route_of(tick);

    if (route->name)
        return route->name(tick);
    return router_object_names(tick->arena, router_find(tick->provider), tick->canary,
                               route->resource)[0];
}

static struct split_sides sides_of(struct arena *arena, const struct route *route,
                                   const struct canary *canary)
{
    if (route->sides)
        return route->sides(arena, canary);
    return (struct split_sides){canary->service.primary_name, canary->service.canary_name};
}

static struct split read_split(struct tick *tick, struct json_object *live)
{
    const struct route *route = route_of(tick);
    const struct split_sides sides = sides_of(tick->arena, route, tick->canary);

    return split_find(route->format(tick->canary), &sides, live);
}

const char *route_check(struct arena *arena, const struct canary *canary)
{
    (void)arena;
    return canary->service.port > 0 ? NULL : "spec.service.port: expected a port number";
}

bool route_need(struct tick *tick, struct json_object **out)
{
    const struct route *route = route_of(tick);
    const char *name = route ? name_of(tick) : NULL;

    if (!route || (route->name && !name))
        return false;
    return need_object(tick, route->resource, tick->canary->namespace_, name, out);
}

/* Weights of the live route; everything is with the primary if they are unusable. */
static struct weights read_weights(struct tick *tick, const struct split *split)
{
    const struct route *route = route_of(tick);
    struct weights out = {.matched = split->rest};

    split_weights(route->format(tick->canary), split, &out);
    out.canary = weight_rounded(out.canary, router_finest(router_find(tick->provider)));
    out.primary = WEIGHT_ALL - out.canary;
    if (route->read)
        route->read(tick->arena, tick->canary, split, &out);
    return out;
}

const char *route_describe(struct tick *tick, const struct weights *weights)
{
    return arena_printf(
        tick->arena, "weights %s/%s%s%s", weight_text(tick->arena, weights->primary),
        weight_text(tick->arena, weights->canary), weights->mirrored ? " mirrored" : "",
        weights->matched ? " of the matched" : "");
}

struct weights route_kept(struct tick *tick, struct weights weights, bool splits)
{
    const struct canary *canary = tick->canary;
    const struct canary_status *status = &canary->status;
    struct cookies *cookies = &weights.cookies;
    bool was_all = weights.canary == WEIGHT_ALL && !weights.matched;

    if (!splits && status->canary_weight == WEIGHT_ALL) {
        was_all = status->serves_everything || status->phase == PHASE_Failed;
        weights =
            (struct weights){.canary = WEIGHT_ALL, .matched = canary->analysis.match && !was_all};
    }
    /* A share of matched requests must not become one of all requests when `match` is removed from
     * the spec. */
    if (weights.matched && !canary->analysis.match)
        weights = (struct weights){.primary = WEIGHT_ALL, .mirrored = weights.mirrored};
    /* If a step matches requests, only the route shows whether that step is running. */
    weights.matched = canary->analysis.match_step ? weights.matched && weights.canary > 0
                                                  : canary->analysis.match && !was_all;
    if (weights.canary > 0 && !cookies->canary)
        cookies->canary = status->affinity_cookie;
    if (weights.canary == 0 && !cookies->previous)
        cookies->previous =
            status->affinity_cookie ? status->affinity_cookie : status->previous_affinity_cookie;
    if (weights.canary > 0 && weights.canary < WEIGHT_ALL && !cookies->primary)
        cookies->primary = status->primary_affinity_cookie;
    if (!canary->analysis.affinity.primary_cookie_name || weights.canary == WEIGHT_ALL)
        cookies->primary = NULL;
    return weights;
}

/* --- the state before the Canary */

/* True if a string in it is the name of one of the backends. */
static bool mentions(struct json_object *tree, const struct split_sides *sides)
{
    for (size_t i = 0; i < json_len(tree); i++) {
        if (mentions(json_elem(tree, i), sides))
            return true;
    }
    if (json_object_is_type(tree, json_type_string)) {
        const char *text = json_object_get_string(tree);
        return split_is_name(sides->primary, text) || split_is_name(sides->canary, text);
    }
    if (!json_object_is_type(tree, json_type_object))
        return false;
    json_object_object_foreach(tree, key, value)
    {
        (void)key;
        if (mentions(value, sides))
            return true;
    }
    return false;
}

static bool leads_to_sides(struct tick *tick, struct json_object *spec)
{
    const struct split_sides sides = sides_of(tick->arena, route_of(tick), tick->canary);

    return mentions(spec, &sides);
}

static struct json_object *parsed(struct tick *tick, struct json_object *live, const char *key)
{
    const char *text = json_str_at(live, "metadata", "annotations", key, NULL);
    struct json_object *tree;
    struct errinfo ei;

    if (!text || json_parse(tick->arena, text, strlen(text), ANNOTATION_MAX, &tree, &ei) != ERR_OK)
        return NULL;
    return tree;
}

/* The spec that the route had before the Canary; NULL if unknown. */
static struct json_object *original_spec(struct tick *tick, struct json_object *live)
{
    struct json_object *spec = json_at(parsed(tick, live, KUBECTL_APPLIED), "spec", NULL);

    if (!spec)
        spec = parsed(tick, live, ORIGINAL_SPEC);
    return json_object_is_type(spec, json_type_object) && !leads_to_sides(tick, spec) ? spec : NULL;
}

/* Called before the first write, on the copy that will be written. */
static void note_original(struct tick *tick, struct json_object *copy)
{
    struct json_object *spec = json_at(copy, "spec", NULL);
    struct json_object *annotations = json_at(copy, "metadata", "annotations", NULL);

    if (!spec || edit_is_owned(tick, copy) || json_at(annotations, KUBECTL_APPLIED, NULL) ||
        json_at(annotations, ORIGINAL_SPEC, NULL) || leads_to_sides(tick, spec))
        return;
    const char *text = json_text_sorted(tick->arena, spec);
    if (strlen(text) <= ORIGINAL_MAX)
        json_set_str(json_sub(json_sub(copy, "metadata"), "annotations"), ORIGINAL_SPEC, text);
}

/* --- writing */

struct json_object *route_metadata(struct tick *tick)
{
    static const char *const maps[] = {"labels", "annotations"};
    struct json_object *out = edit_object(tick->arena);
    struct json_object *apex = tick->canary->service.apex;

    for (int i = 0; i < 2; i++)
        json_set(json_sub(out, "metadata"), maps[i],
                 edit_without_gitops(tick->arena, json_at(apex, maps[i], NULL)));
    return out;
}

struct json_object *route_whole(struct arena *arena, struct json_object *wanted,
                                struct json_object *live)
{
    if (!json_object_is_type(wanted, json_type_object))
        return wanted;
    struct json_object *out = edit_object(arena);
    if (json_object_is_type(live, json_type_object)) {
        json_object_object_foreach(live, gone, ignored)
        {
            (void)ignored;
            json_set(out, gone, NULL);
        }
    }
    json_object_object_foreach(wanted, key, value)
    {
        json_set(out, key, route_whole(arena, value, json_at(live, key, NULL)));
    }
    return out;
}

void route_beside(struct tick *tick, const struct kube_resource *resource, const char *name,
                  struct json_object *live, struct json_object *wanted, bool managed)
{
    struct json_object *base = live ? json_copy(tick->arena, live) : edit_new(tick, resource, name);

    if (managed)
        edit_disown_gitops(json_sub(json_sub(base, "metadata"), "annotations"));
    struct json_object *to = applied_lay(tick->arena, live, base, wanted);
    if (live)
        plan_update(tick, resource, live, to);
    else
        plan_create(tick, resource, tick->canary->namespace_, to);
}

/* As in applied_lay(). */
static void drop_empty_maps(struct json_object *metadata)
{
    static const char *const maps[] = {"labels", "annotations"};

    for (int i = 0; i < 2; i++) {
        struct json_object *map = json_at(metadata, maps[i], NULL);
        if (map && json_object_object_length(map) == 0)
            json_object_object_del(metadata, maps[i]);
    }
}

void route_leave(struct tick *tick, const struct kube_resource *resource, const char *name,
                 struct json_object *live, struct json_object *wanted, bool recreate)
{
    struct arena *arena = tick->arena;

    drop_empty_maps(json_at(wanted, "metadata", NULL));
    if (live)
        plan_update(tick, resource, live, edit_merge(arena, live, wanted, applied_of(arena, live)));
    else if (recreate)
        plan_create(
            tick, resource, tick->canary->namespace_,
            edit_released(tick, edit_overlay(arena, edit_new(tick, resource, name), wanted), true));
}

void route_let_go(struct tick *tick, const struct kube_resource *resource, struct json_object *live)
{
    if (live && plan_update(tick, resource, live, edit_released(tick, live, true)))
        plan_why(tick, "outlives the canary");
}

bool route_selector(struct tick *tick, const char *service, struct json_object **out)
{
    struct json_object *live;

    if (!need_object(tick, &kube_services, tick->canary->namespace_, service, &live))
        return false;
    *out = json_at(live, "spec", "selector", NULL);
    for (const struct effect *effect = tick->plan->first; effect && !live; effect = effect->next) {
        if (effect->kind == EFFECT_CREATE && kube_resource_same(effect->resource, &kube_services) &&
            strcmp(effect->name, service) == 0)
            *out = json_at(effect->body, "spec", "selector", NULL);
    }
    return true;
}

static struct json_object *new_route(struct tick *tick)
{
    return edit_new(tick, route_of(tick)->resource, name_of(tick));
}

/*
 * Introduces backends that are new to the proxies before `to` may replace the live route; `base` is
 * a copy of the live route. CONTINUE if there are none; DONE if this is planned, or was done less
 * than an interval ago.
 */
static enum rule_result introduce(struct tick *tick, struct json_object *live,
                                  struct json_object *base, struct json_object *to)
{
    const struct route *route = route_of(tick);
    const struct split_format *format = route->format(tick->canary);

    if (!route->introduces || !live)
        return RULE_CONTINUE;
    struct json_object *first = split_introduced(tick->arena, format, base, to);
    if (!first && (tick->due || !split_is_elsewhere(format, live, to)))
        return RULE_CONTINUE;
    if (first && plan_update(tick, route->resource, live, first)) {
        plan_why(tick, "who is new in it, without a share");
        tick->plan->stepped = true;
    }
    tick->plan->wake_ms = tick_interval_ms(tick);
    return RULE_DONE;
}

/* Plans the route for `weights` and the spec; `why` as in plan_why(). */
static enum rule_result write_route(struct tick *tick, struct json_object *live,
                                    const struct split *split, const struct weights *weights,
                                    const char *why)
{
    const struct route *route = route_of(tick);
    struct json_object *base = live ? json_copy(tick->arena, live) : new_route(tick);
    struct json_object *wanted;
    enum rule_result verdict = route->wanted(tick, weights, split, live, &wanted);

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (!route->bare)
        edit_disown_gitops(json_sub(json_sub(base, "metadata"), "annotations"));
    if (live && route->plain)
        note_original(tick, base);
    struct json_object *to = applied_lay(tick->arena, live, base, wanted);
    if ((verdict = introduce(tick, live, base, to)) != RULE_CONTINUE)
        return verdict;
    if (!live)
        plan_create(tick, route->resource, tick->canary->namespace_, to);
    else if (!plan_update(tick, route->resource, live, to))
        return RULE_CONTINUE;
    plan_why(tick, "%s%s", live ? why : "", route_describe(tick, weights));
    return RULE_CONTINUE;
}

enum rule_result route_reconcile(struct tick *tick)
{
    struct json_object *live;

    if (!route_need(tick, &live))
        return RULE_NEEDS_FACTS;
    struct split split = read_split(tick, live);
    struct weights weights = route_kept(tick, read_weights(tick, &split), split.split);
    return write_route(tick, live, &split, &weights, "as the spec says, ");
}

enum rule_result route_get(struct tick *tick, struct weights *out)
{
    struct json_object *live;

    if (!route_need(tick, &live))
        return RULE_NEEDS_FACTS;
    struct split split = read_split(tick, live);
    *out = read_weights(tick, &split);
    return RULE_CONTINUE;
}

enum rule_result route_set(struct tick *tick, const struct weights *weights)
{
    struct json_object *live;

    if (!route_need(tick, &live))
        return RULE_NEEDS_FACTS;
    const struct split_sides sides = sides_of(tick->arena, route_of(tick), tick->canary);
    struct split split = read_split(tick, live);
    if (!split.split)
        return plan_block(tick, "%s %s.%s has no rule with the backends %s and %s",
                          route_of(tick)->resource->kind, name_of(tick), tick->canary->namespace_,
                          sides.primary, sides.canary);
    return write_route(tick, live, &split, weights, "");
}

enum rule_result route_settled(struct tick *tick, const char **why)
{
    (void)tick;
    (void)why;
    return RULE_CONTINUE;
}

/* --- deletion of a Canary */

/* The spec of the live route without our changes: the original's values and, for other keys, those
 * that we do not write. Our labels and annotations are removed as well. */
static struct json_object *restored(struct tick *tick, struct json_object *live,
                                    struct json_object *original, struct json_object *plain)
{
    struct json_object *applied = json_at(applied_of(tick->arena, live), "metadata", NULL);
    struct json_object *shape = edit_object(tick->arena);

    if (applied)
        json_set(shape, "metadata", applied);
    struct json_object *to = edit_merge(tick->arena, live, edit_object(tick->arena), shape);
    struct json_object *spec = json_sub(to, "spec"), *ours = json_at(plain, "spec", NULL);
    json_object_object_foreach(ours, key, ignored)
    {
        (void)ignored;
        json_object_object_del(spec, key);
    }
    json_object_object_foreach(original, given, value)
    {
        json_set(spec, given, json_copy(tick->arena, value));
    }
    return to;
}

enum rule_result route_revert(struct tick *tick, bool recreate)
{
    struct json_object *live, *plain, *original = NULL;

    if (!route_need(tick, &live))
        return RULE_NEEDS_FACTS;
    const struct route *route = route_of(tick);
    bool found = live && !edit_is_owned(tick, live);
    if ((!live && !recreate) || (found && !leads_to_sides(tick, json_at(live, "spec", NULL))))
        return RULE_CONTINUE;
    enum rule_result verdict = route->plain(tick, live, &plain);
    if (verdict != RULE_CONTINUE)
        return verdict;
    if (!live) {
        plan_create(tick, route->resource, tick->canary->namespace_,
                    edit_released(tick, edit_overlay(tick->arena, new_route(tick), plain), true));
        plan_why(tick, "-> %s", tick->canary->service.name);
        return RULE_CONTINUE;
    }
    if (found)
        original = original_spec(tick, live);
    struct json_object *to =
        original ? restored(tick, live, original, plain)
                 : edit_merge(tick->arena, live, plain, applied_of(tick->arena, live));
    if ((verdict = introduce(tick, live, live, to)) != RULE_CONTINUE)
        return verdict;
    if (plan_update(tick, route->resource, live, to))
        plan_why(tick, "-> %s", original ? "as it was" : tick->canary->service.name);
    return RULE_CONTINUE;
}

enum rule_result route_disown(struct tick *tick)
{
    struct json_object *live;

    if (!route_need(tick, &live))
        return RULE_NEEDS_FACTS;
    if (!live)
        return RULE_CONTINUE;
    struct json_object *to = json_copy(tick->arena, live);
    struct json_object *annotations = json_at(to, "metadata", "annotations", NULL);
    if (annotations)
        json_object_object_del(annotations, ORIGINAL_SPEC);
    if (plan_update(tick, route_of(tick)->resource, live, edit_released(tick, to, true)))
        plan_why(tick, "outlives the canary");
    return RULE_CONTINUE;
}

/* --- rules */

static int sticky_rules(struct tick *tick, const struct weights *weights, const struct split *live,
                        struct route_rule *out)
{
    const struct cookies *cookies = &weights->cookies;
    const struct {
        const char *cookie;
        int canary;
        bool taken_back;
    } wanted[] = {
        {weights->canary > 0 ? cookies->canary : NULL, 100, false},
        {weights->canary > 0 ? cookies->primary : NULL, 0, false},
        {weights->canary == 0 ? cookies->previous : NULL, 0, true},
    };
    int n = 0;

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const char *back = wanted[i].taken_back ? wanted[i].cookie : NULL;
        if (!wanted[i].cookie)
            continue;
        out[n] = (struct route_rule){
            .cookie = wanted[i].cookie,
            .primary = 100 - wanted[i].canary,
            .canary = wanted[i].canary,
            .primary_cookie = cookie_taken_back(tick, back),
            .takes_back = back,
            .live = live->sticky[n],
        };
        n++;
    }
    return n;
}

int route_rules(struct tick *tick, const struct weights *weights, const struct split *live,
                struct route_rule out[ROUTE_MAX_RULES])
{
    const struct canary_affinity *affinity = &tick->canary->analysis.affinity;
    bool binds = affinity->cookie_name && weights->canary > 0;
    int n = affinity->cookie_name ? sticky_rules(tick, weights, live, out) : 0;

    out[n++] = (struct route_rule){
        .matched = weights->matched,
        .mirrored = weights->mirrored,
        .primary = weight_relative(weights->primary),
        .canary = weight_relative(weights->canary),
        .primary_cookie =
            binds ? cookie_given(tick, weights->cookies.primary, tick_interval_ms(tick) / 1000)
                  : NULL,
        .canary_cookie =
            binds ? cookie_given(tick, weights->cookies.canary, affinity->max_age_s) : NULL,
        .live = live->split,
    };
    if (weights->matched)
        out[n++] = (struct route_rule){.primary = 100, .canary = -1, .live = live->rest};
    return n;
}

/* --- the weights in a route */

enum { MAX_WEIGHT = 1000000 };

static struct json_object *follow(struct json_object *from, const char *const keys[SPLIT_KEYS])
{
    for (int i = 0; i < SPLIT_KEYS && keys[i]; i++)
        from = strcmp(keys[i], "0") == 0 ? json_elem(from, 0) : json_at(from, keys[i], NULL);
    return from;
}

bool split_is_name(const char *name, const char *text)
{
    size_t len = strlen(name);

    if (len > 0 && name[len - 1] == '*')
        return strncmp(name, text, len - 1) == 0;
    return strcmp(name, text) == 0;
}

struct json_object *split_backend(const struct split_format *format, struct json_object *rule,
                                  const char *name)
{
    struct json_object *backends = follow(rule, format->backends);

    for (size_t i = 0; i < json_len(backends); i++) {
        struct json_object *found = follow(json_elem(backends, i), format->name);
        if (json_object_is_type(found, json_type_string) &&
            split_is_name(name, json_object_get_string(found)))
            return json_elem(backends, i);
    }
    return NULL;
}

/* In a list of rules, or the only rule. */
static struct json_object *rule_at(struct json_object *rules, size_t index)
{
    if (json_object_is_type(rules, json_type_object))
        return index == 0 ? rules : NULL;
    return json_elem(rules, index);
}

/* The split is the last rule with both sides, unless the format says otherwise: rules for clients
 * with a cookie also have both sides, and come first. */
struct split split_find(const struct split_format *format, const struct split_sides *sides,
                        struct json_object *route)
{
    struct json_object *rules = follow(route, format->rules), *rule;
    struct split out = {.split = NULL};
    size_t at = 0;

    for (size_t i = 0; (rule = rule_at(rules, i)); i++) {
        struct json_object *primary = split_backend(format, rule, sides->primary);
        struct json_object *canary = split_backend(format, rule, sides->canary);
        bool later = format->first && out.split;
        bool alone = (primary && format->may_leave_out) || (canary && format->leaves_either);
        if (!later && ((primary && canary) || (alone && !out.split))) {
            at = i;
            out.split = rule;
            out.rest = NULL;
            out.primary = primary;
            out.canary = canary;
        } else if (primary && out.split && (later || !out.rest)) {
            out.rest = rule;
        }
    }
    for (size_t i = 0; out.split && i < 2 && i < at; i++)
        out.sticky[i] = rule_at(rules, i);
    return out;
}

/* Reads a number, or a quantity in a string; -1 if it is neither or invalid. */
static int64_t weight_of(const struct split_format *format, struct json_object *backend)
{
    struct json_object *weight = json_at(backend, "weight", NULL);
    int64_t number = -1;
    struct errinfo ei;

    if (!weight)
        return format->missing;
    if (json_object_is_type(weight, json_type_string)) {
        if (quantity_whole(json_object_get_string(weight), &number, &ei) != ERR_OK)
            return -1;
    } else if (!json_to_int(weight, &number)) {
        return -1;
    }
    return number <= MAX_WEIGHT ? number : -1;
}

void split_weights(const struct split_format *format, const struct split *split,
                   struct weights *out)
{
    int64_t primary = split->primary ? weight_of(format, split->primary) : 0;
    int64_t canary = split->canary ? weight_of(format, split->canary) : 0;

    out->primary = WEIGHT_ALL;
    out->canary = 0;
    if (!split->split || primary < 0 || canary < 0)
        return;
    out->canary = weight_of_total(canary, primary + canary);
    out->primary = WEIGHT_ALL - out->canary;
}

/* --- backends that are new to a route */

/* The backend with this index, counted over all rules; NULL if there are fewer. */
static struct json_object *backend_at(const struct split_format *format, struct json_object *route,
                                      size_t index)
{
    struct json_object *rules = follow(route, format->rules), *rule;

    for (size_t i = 0; (rule = rule_at(rules, i)); i++) {
        struct json_object *backends = follow(rule, format->backends);
        if (index < json_len(backends))
            return json_elem(backends, index);
        index -= json_len(backends);
    }
    return NULL;
}

static bool has_namesake(const struct split_format *format, struct json_object *route,
                         struct json_object *backend)
{
    struct json_object *name = follow(backend, format->name), *other;

    for (size_t i = 0; (other = backend_at(format, route, i)); i++) {
        if (json_same(follow(other, format->name), name))
            return true;
    }
    return false;
}

bool split_is_elsewhere(const struct split_format *format, struct json_object *from,
                        struct json_object *to)
{
    struct json_object *backend;
    bool somewhere = false;

    for (size_t i = 0; (backend = backend_at(format, from, i)); i++) {
        if (weight_of(format, backend) <= 0)
            continue;
        if (has_namesake(format, to, backend))
            return false;
        somewhere = true;
    }
    return somewhere;
}

/* Without weights all backends have the same share, which must not change when a backend is
 * added. */
static void say_weights(const struct split_format *format, struct json_object *backends)
{
    enum { SAME = 100 };
    int64_t sum = 0;

    for (size_t i = 0; i < json_len(backends); i++)
        sum += weight_of(format, json_elem(backends, i));
    for (size_t i = 0; sum == 0 && i < json_len(backends); i++)
        json_set_int(json_elem(backends, i), "weight", SAME);
}

struct json_object *split_introduced(struct arena *arena, const struct split_format *format,
                                     struct json_object *from, struct json_object *to)
{
    struct json_object *out = json_copy(arena, from), *backend;
    struct json_object *backends = follow(rule_at(follow(out, format->rules), 0), format->backends);
    bool added = false;

    if (json_len(backends) == 0)
        return NULL;
    say_weights(format, backends);
    for (size_t i = 0; (backend = backend_at(format, to, i)); i++) {
        if (has_namesake(format, out, backend))
            continue;
        backend = json_copy(arena, backend);
        json_set_int(backend, "weight", 0);
        json_object_array_add(backends, json_object_get(backend));
        added = true;
    }
    return added ? out : NULL;
}
