#include "router/shared/route_refs.h"

#include <string.h>

#include "router/router.h"
#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

/*
 * Limits for the sum of the two weights. In a rule without other backends the sum follows from the
 * share (weight_relative()). In a rule with others it is the sum that the user has given the two,
 * but at least LEAST, so that a share is exact to one percent.
 */
enum { LEAST = 50, MAX_WEIGHT = 1000000 };

/* --- the named routes */

const struct route_refs_kind *route_refs_kind_of(const struct router *router, const char *kind)
{
    for (const struct route_refs_kind *const *at = router->ref_kinds; *at; at++)
        if (strcmp((*at)->resource->kind, kind) == 0)
            return *at;
    return NULL;
}

static const struct router *router_in(const struct tick *tick)
{
    return router_of(tick->provider, tick->canary);
}

/* One route of spec.service.routeRefs in this tick. */
struct named {
    int index;
    const struct canary_route_ref *ref;
    const struct route_refs_kind *kind;
    struct json_object *live; /* NULL if missing */
};

/* Reads all of them; they are known once it returns true. *count is their number. */
static bool read_named(struct tick *tick, struct named **out, int *count)
{
    const struct canary_service *service = &tick->canary->service;
    bool known = true;

    *count = 0;
    *out = arena_array(tick->arena, (size_t)service->n_route_refs, sizeof **out);
    for (int i = 0; i < service->n_route_refs; i++) {
        struct named *named = &(*out)[(*count)++];
        *named = (struct named){
            .index = i,
            .ref = &service->route_refs[i],
            .kind = route_refs_kind_of(router_in(tick), service->route_refs[i].kind)};
        if (!named->kind) {
            (*count)--; /* check() refuses it */
            continue;
        }
        known = need_object_surely(tick, named->kind->resource, tick->canary->namespace_,
                                   named->ref->name, &named->live) &&
                known;
    }
    return known;
}

static size_t rule_count(const struct named *named, struct json_object *route)
{
    struct json_object *rules = json_at(route, "spec", named->kind->rules, NULL);

    return named->kind->single ? rules != NULL : json_len(rules);
}

static struct json_object *rule_at(const struct named *named, struct json_object *route,
                                   size_t index)
{
    struct json_object *rules = json_at(route, "spec", named->kind->rules, NULL);

    return named->kind->single ? rules : json_elem(rules, index);
}

/* --- the rules of a route */

/* The backends of a rule that matter for this Canary. */
struct split_rule {
    struct json_object *primary, *canary; /* NULL if missing */
    bool apex;                            /* leads to the apex Service */
    bool twice;                           /* several backends lead to the same Service */
    bool others;                          /* has further backends */
};

static struct split_rule read_rule(struct tick *tick, const struct route_refs_kind *kind,
                                   struct json_object *rule)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *backends = json_at(rule, kind->backends, NULL);
    struct split_rule out = {0};

    for (size_t i = 0; i < json_len(backends); i++) {
        struct json_object *backend = json_elem(backends, i);
        const char *name = kind->service(tick->arena, tick->canary, backend);
        struct json_object **side = NULL;
        if (name && strcmp(name, service->primary_name) == 0)
            side = &out.primary;
        else if (name && strcmp(name, service->canary_name) == 0)
            side = &out.canary;
        out.apex = out.apex || (name && strcmp(name, service->name) == 0);
        out.others = out.others || !side;
        out.twice = out.twice || (side && *side);
        if (side)
            *side = backend;
    }
    return out;
}

/* -1 if it is no usable number. */
static int64_t weight_of(const struct route_refs_kind *kind, struct json_object *backend)
{
    struct json_object *weight = json_at(backend, "weight", NULL);
    int64_t number;

    if (!weight)
        return kind->missing;
    return json_to_int(weight, &number) && number >= 0 && number <= MAX_WEIGHT ? number : -1;
}

static int64_t sum_of(const struct route_refs_kind *kind, const struct split_rule *rule)
{
    int64_t primary = weight_of(kind, rule->primary), canary = weight_of(kind, rule->canary);

    return primary < 0 || canary < 0 ? 0 : primary + canary;
}

static bool is_split(const struct route_refs_kind *kind, const struct split_rule *rule)
{
    return rule->primary && rule->canary && !rule->twice && !rule->apex &&
           (!rule->others || sum_of(kind, rule) >= LEAST);
}

/* The canary's part of `sum` for a weight: only weight 0 gives nothing, and only WEIGHT_ALL gives
 * everything. */
static int64_t part(int64_t sum, int weight)
{
    int64_t value = (sum * weight + WEIGHT_ALL / 2) / WEIGHT_ALL;

    if (weight == 0 || weight == WEIGHT_ALL)
        return weight == 0 ? 0 : sum;
    if (value == 0)
        return 1;
    return value == sum ? sum - 1 : value;
}

/* The canary's weight. If rounding to a small sum could have turned `told` into this share, the
 * weight is `told`. */
static int share_of(const struct route_refs_kind *kind, const struct split_rule *rule, int told)
{
    int64_t sum = sum_of(kind, rule), canary = weight_of(kind, rule->canary);

    if (canary > 0 && canary < sum && rule->others && part(sum, told) == canary)
        return told;
    return weight_of_total(canary, sum);
}

static bool is_named_by(struct json_object *one, size_t index, struct json_object *rule)
{
    const char *name = json_str_at(rule, "name", NULL);
    int64_t number;

    if (json_object_is_type(one, json_type_string))
        return name && strcmp(name, json_object_get_string(one)) == 0;
    return json_to_int(one, &number) && number == (int64_t)index;
}

/* True if the rule with this index is one of those that the spec names. */
static bool is_ours(struct tick *tick, const struct named *named, size_t index,
                    struct json_object *rule)
{
    struct json_object *names = named->ref->rules;

    for (size_t i = 0; i < json_len(names); i++)
        if (is_named_by(json_elem(names, i), index, rule))
            return true;
    if (names || named->kind->single)
        return !names;
    const struct split_rule found = read_rule(tick, named->kind, rule);
    return found.primary || found.canary || found.apex;
}

/* --- what is wrong with them */

static const char *print_route(struct tick *tick, const struct named *named)
{
    return arena_printf(tick->arena, "%s %s.%s", named->ref->kind, named->ref->name,
                        tick->canary->namespace_);
}

static const char *print_rule(struct tick *tick, const struct named *named, size_t index,
                              struct json_object *rule)
{
    const char *name = named->kind->unnamed ? NULL : json_str_at(rule, "name", NULL);

    if (named->kind->single)
        return print_route(tick, named);
    return arena_printf(tick->arena, "rule %zu%s%s%s of %s", index, name ? " (" : "",
                        name ? name : "", name ? ")" : "", print_route(tick, named));
}

/* The finest fraction of a percent that a step uses, in hundredths: 100, 10 or 1. */
static int part_of_percent(const struct canary_analysis *analysis)
{
    int finest = WEIGHT_PERCENT;

    for (int i = 0; i < analysis->n_step_weights; i++) {
        while (analysis->step_weights[i] % finest != 0)
            finest /= 10;
    }
    return finest;
}

/* Why the weights of such a rule cannot be written; NULL if they can. `path`: the path of the field
 * in the spec. */
static const char *rule_mistake(struct tick *tick, const struct named *named, const char *path,
                                size_t index, struct json_object *rule)
{
    const struct canary_service *service = &tick->canary->service;
    const struct split_rule found = read_rule(tick, named->kind, rule);
    const char *text = print_rule(tick, named, index, rule);

    if (found.apex)
        return arena_printf(tick->arena,
                            "%s: %s leads to Service %s; write in its place the backends %s with "
                            "weight 100 and %s with weight 0",
                            path, text, service->name, service->primary_name, service->canary_name);
    if (!found.primary || !found.canary)
        return arena_printf(tick->arena,
                            "%s: %s has no backend %s; expected %s and %s among its %s", path, text,
                            found.primary ? service->canary_name : service->primary_name,
                            service->primary_name, service->canary_name, named->kind->backends);
    if (found.twice)
        return arena_printf(tick->arena, "%s: %s has a backend twice; expected %s and %s once each",
                            path, text, service->primary_name, service->canary_name);
    int finest = part_of_percent(&tick->canary->analysis), least = LEAST * WEIGHT_PERCENT / finest;
    if (found.others && sum_of(named->kind, &found) < least)
        return arena_printf(tick->arena,
                            "%s: %s has other backends, and the weights of %s and %s add up to "
                            "%lld; expected at least %d, so that they can be shared by %s",
                            path, text, service->primary_name, service->canary_name,
                            (long long)sum_of(named->kind, &found), least,
                            finest == WEIGHT_PERCENT ? "percent"
                            : finest == 1            ? "hundredths of a percent"
                                                     : "tenths of a percent");
    return NULL;
}

/* The same for the rules that `one`, an element of the spec's list or NULL, refers to. */
static const char *rules_mistake(struct tick *tick, const struct named *named, const char *path,
                                 struct json_object *one)
{
    const struct canary_service *service = &tick->canary->service;
    const size_t count = rule_count(named, named->live);
    const char *route = print_route(tick, named), *mistake = NULL;
    struct json_object *rule;
    bool any = false;

    for (size_t i = 0; !mistake && i < count; i++) {
        rule = rule_at(named, named->live, i);
        if (one ? !is_named_by(one, i, rule) : !is_ours(tick, named, i, rule))
            continue;
        any = true;
        mistake = rule_mistake(tick, named, path, i, rule);
    }
    if (any)
        return mistake;
    if (named->kind->single)
        return arena_printf(tick->arena,
                            "%s: %s has no spec.%s; expected it with the backends %s and %s", path,
                            route, named->kind->rules, service->primary_name, service->canary_name);
    if (!one)
        return arena_printf(tick->arena, "%s: %s has no rule with the backends %s and %s", path,
                            route, service->primary_name, service->canary_name);
    if (json_object_is_type(one, json_type_string))
        return arena_printf(tick->arena,
                            "%s: %s has no rule with the name %s; expected a name, or an index "
                            "below %zu",
                            path, route, json_object_get_string(one), count);
    return arena_printf(tick->arena, "%s: %s has no rule %s; expected an index below %zu", path,
                        route, json_text(tick->arena, one), count);
}

static const char *route_mistake(struct tick *tick, const struct named *named)
{
    const char *path = arena_printf(tick->arena, "spec.service.routeRefs[%d]", named->index);
    const struct canary_service *service = &tick->canary->service;
    const char *mistake = NULL;

    if (!named->live && tick_is_unserved(tick, named->kind->resource))
        return arena_printf(tick->arena, "%s.kind: the API server serves no %s of %s", path,
                            named->ref->kind, named->kind->resource->group);
    if (!named->live)
        return arena_printf(
            tick->arena, "%s.name: %s does not exist; expected one with the backends %s and %s",
            path, print_route(tick, named), service->primary_name, service->canary_name);
    if (!named->ref->rules)
        return rules_mistake(tick, named, path, NULL);
    for (size_t i = 0; !mistake && i < json_len(named->ref->rules); i++)
        mistake = rules_mistake(tick, named, arena_printf(tick->arena, "%s.rules[%zu]", path, i),
                                json_elem(named->ref->rules, i));
    return mistake;
}

const char *route_refs_mistake(struct tick *tick, int index, struct json_object *live)
{
    const struct canary_route_ref *ref = &tick->canary->service.route_refs[index];
    const struct named named = {index, ref, route_refs_kind_of(router_in(tick), ref->kind), live};

    return named.kind ? route_mistake(tick, &named) : NULL;
}

/* --- reading and writing */

/* The routing of all rules that can be split; the status's if there are none. */
static struct weights read_weights(struct tick *tick, const struct named *named, int count)
{
    int told = tick->canary->status.canary_weight, least = WEIGHT_ALL, most = 0;
    bool any = false;

    for (int n = 0; n < count; n++) {
        for (size_t i = 0; i < rule_count(&named[n], named[n].live); i++) {
            struct json_object *rule = rule_at(&named[n], named[n].live, i);
            const struct split_rule found = read_rule(tick, named[n].kind, rule);
            if (!is_ours(tick, &named[n], i, rule) || !is_split(named[n].kind, &found))
                continue;
            int share = share_of(named[n].kind, &found, told);
            any = true;
            least = share < least ? share : least;
            most = share > most ? share : most;
        }
    }
    if (!any)
        least = most = told;
    return (struct weights){.primary = WEIGHT_ALL - most, .canary = most, .uneven = least != most};
}

/* Writes the canary's weight into a copy of a route; changes nothing that is already right. */
static void write_rules(struct tick *tick, const struct named *named, struct json_object *copy,
                        int weight)
{
    int all = weight_relative(weight) + weight_relative(WEIGHT_ALL - weight);
    int told = tick->canary->status.canary_weight;

    for (size_t i = 0; i < rule_count(named, copy); i++) {
        struct json_object *rule = rule_at(named, copy, i);
        const struct split_rule found = read_rule(tick, named->kind, rule);
        if (!is_ours(tick, named, i, rule) || !is_split(named->kind, &found) ||
            (sum_of(named->kind, &found) > 0 && share_of(named->kind, &found, told) == weight))
            continue;
        int64_t sum = found.others ? sum_of(named->kind, &found) : all;
        json_set_int(found.primary, "weight", sum - part(sum, weight));
        json_set_int(found.canary, "weight", part(sum, weight));
    }
}

static void write_routes(struct tick *tick, const struct named *named, int count, int weight)
{
    for (int n = 0; n < count; n++) {
        if (!named[n].live)
            continue;
        struct json_object *copy = json_copy(tick->arena, named[n].live);
        write_rules(tick, &named[n], copy, weight);
        if (plan_update(tick, named[n].kind->resource, named[n].live, copy))
            plan_why(tick, "weights %s/%s", weight_text(tick->arena, WEIGHT_ALL - weight),
                     weight_text(tick->arena, weight));
    }
}

enum rule_result route_refs_get(struct tick *tick, struct weights *out)
{
    struct named *named;
    int count;

    if (!read_named(tick, &named, &count))
        return RULE_NEEDS_FACTS;
    *out = read_weights(tick, named, count);
    return RULE_CONTINUE;
}

enum rule_result route_refs_set(struct tick *tick, const struct weights *weights)
{
    struct named *named;
    int count;

    if (!read_named(tick, &named, &count))
        return RULE_NEEDS_FACTS;
    write_routes(tick, named, count, weights->canary);
    return RULE_CONTINUE;
}

enum rule_result route_refs_reconcile(struct tick *tick)
{
    enum phase phase = tick->canary->status.phase;
    const struct weights primary = {.primary = WEIGHT_ALL};

    if (phase != PHASE_NONE && phase != PHASE_Initializing)
        return RULE_CONTINUE;
    return route_refs_set(tick, &primary);
}

enum rule_result route_refs_settled(struct tick *tick, const char **why)
{
    struct named *named;
    int count;

    if (!read_named(tick, &named, &count))
        return RULE_NEEDS_FACTS;
    for (int n = 0; n < count; n++) {
        if ((*why = route_mistake(tick, &named[n])))
            return RULE_DONE;
    }
    for (int n = 0; n < count; n++) {
        enum rule_result verdict =
            named[n].kind->settled
                ? named[n].kind->settled(tick, named[n].kind->resource, named[n].live, why)
                : RULE_CONTINUE;
        if (verdict != RULE_CONTINUE)
            return verdict;
    }
    return RULE_CONTINUE;
}

enum rule_result route_refs_revert(struct tick *tick, bool recreate)
{
    const struct weights primary = {.primary = WEIGHT_ALL};

    (void)recreate;
    return route_refs_set(tick, &primary);
}

enum rule_result route_refs_disown(struct tick *tick)
{
    (void)tick;
    return RULE_CONTINUE;
}

/* --- the spec */

const char *const *route_refs_names(struct arena *arena, const struct canary *canary,
                                    const struct kube_resource *resource)
{
    static const char *const none[] = {NULL};

    (void)arena;
    (void)canary;
    (void)resource;
    return none;
}

static const char *kinds_text(struct arena *arena, const struct router *router)
{
    const char *all = "";

    for (const struct route_refs_kind *const *at = router->ref_kinds; *at; at++)
        all = arena_printf(arena, "%s%s%s", all, *all ? ", " : "", (*at)->resource->kind);
    return all;
}

/* Refuses rules that are named in a way that this kind of route does not support. */
static const char *refuse_rules(struct arena *arena, const struct route_refs_kind *kind,
                                const struct canary_route_ref *ref, int index)
{
    if (ref->rules && kind->single)
        return arena_printf(arena,
                            "spec.service.routeRefs[%d].rules: a %s has no rules to select from; "
                            "leave them out",
                            index, ref->kind);
    for (size_t i = 0; kind->unnamed && i < json_len(ref->rules); i++) {
        struct json_object *one = json_elem(ref->rules, i);
        if (json_object_is_type(one, json_type_string))
            return arena_printf(arena,
                                "spec.service.routeRefs[%d].rules[%zu]: the rules of kind %s have "
                                "no names; expected an index from 0, found \"%s\"",
                                index, i, ref->kind, json_object_get_string(one));
    }
    return NULL;
}

/* Refuses an analysis that needs its own rules, filters or matches in the route. */
static const char *refuse_analysis(struct arena *arena, const struct canary_analysis *analysis)
{
    if (analysis->match)
        return arena_printf(arena,
                            "%s: not possible with spec.service.routeRefs, where the matches are "
                            "the user's; leave out one of them",
                            analysis->match_at);
    if (analysis->mirror)
        return arena_printf(arena,
                            "%s: not possible with spec.service.routeRefs, where the filters are "
                            "the user's; leave out one of them",
                            analysis->mirror_at);
    if (analysis->affinity.cookie_name)
        return "spec.analysis.sessionAffinity: not possible with spec.service.routeRefs, where the "
               "rules are the user's; leave out one of them";
    return NULL;
}

const char *route_refs_check(struct arena *arena, const struct canary *canary,
                             const struct router *router)
{
    const struct canary_service *service = &canary->service;

    if (service->port <= 0)
        return "spec.service.port: expected a port number";
    for (int i = 0; i < service->n_route_refs; i++) {
        const struct canary_route_ref *ref = &service->route_refs[i];
        const struct route_refs_kind *kind = route_refs_kind_of(router, ref->kind);
        if (!kind)
            return arena_printf(arena, "spec.service.routeRefs[%d].kind: expected %s, found %s", i,
                                kinds_text(arena, router), ref->kind);
        const char *mistake = refuse_rules(arena, kind, ref, i);
        if (mistake)
            return mistake;
        for (int k = 0; k < i; k++) {
            if (strcmp(service->route_refs[k].kind, ref->kind) == 0 &&
                strcmp(service->route_refs[k].name, ref->name) == 0)
                return arena_printf(
                    arena, "spec.service.routeRefs[%d]: %s %s is named twice; expected each once",
                    i, ref->kind, ref->name);
        }
    }
    return refuse_analysis(arena, &canary->analysis);
}

const char *route_refs_ignored(struct arena *arena, const struct canary *canary)
{
    static const char *const of_route[] = {
        "gatewayRefs",    "gateways", "hosts",   "delegation", "match",  "rewrite",       "timeout",
        "backendTimeout", "retries",  "headers", "corsPolicy", "mirror", "trafficPolicy", NULL};

    return ignored_of_service(arena, canary, of_route, NULL);
}
