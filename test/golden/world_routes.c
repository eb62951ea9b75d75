#include "world_routes.h"
#include "test/unit.h"

#include <string.h>

#include "decide/decide.h"
#include "router/router.h"
#include "tick/fact.h"
#include "world_kind.h"

static struct json_object *route_rules(struct world *world)
{
    return json_at(world_get(world, "httproutes/podinfo"), "spec", "rules", NULL);
}

/* How a rule splits its requests; one without a canary gives it nothing. */
static int rule_canary(struct json_object *rule, int *primary)
{
    struct json_object *backends = json_at(rule, "backendRefs", NULL);

    int64_t of_primary = json_int_at(json_elem(backends, 0), 100, "weight", NULL);
    int64_t of_canary = json_int_at(json_elem(backends, 1), 0, "weight", NULL);
    int canary = weight_of_total(of_canary, of_primary + of_canary);

    *primary = WEIGHT_ALL - canary;
    return canary;
}

struct split {
    struct world *world;
    const struct router *router;
    struct weights weights;
};

static enum rule_result ask_split(void *arg, struct tick *tick)
{
    struct split *split = arg;

    return split->router->get(tick, &split->weights);
}

static void answer_split(void *arg, struct tick *tick, const struct need *need)
{
    const struct split *split = arg;

    fact_object(tick, need,
                world_get(split->world,
                          arena_printf(tick->arena, "%s/%s", need->resource->plural, need->name)));
}

/* The routes of other meshes, by what their router reads in them. */
static int split_of_router(struct world *world, const struct router *router, int *primary)
{
    struct arena *arena = arena_new();
    struct canary canary;
    const char *mistake;
    struct errinfo ei;

    if (accept_view(arena, world->canary, &canary, &mistake, &ei) != ERR_OK)
        fail_msg("accept_view: %s", ei.text);
    struct tick *tick = tick_new(arena, &canary, &world->settings, world->now_ms, true);
    struct split split = {.world = world, .router = router, .weights = {.primary = WEIGHT_ALL}};
    assert_int_equal(tick_solve(tick, ask_split, answer_split, &split), RULE_CONTINUE);
    arena_free(arena);
    *primary = split.weights.primary;
    return split.weights.canary;
}

static bool writes_httproutes(const struct router *router)
{
    for (const struct kube_resource *const *resource = router->resources; *resource; resource++) {
        if (strcmp((*resource)->plural, "httproutes") == 0)
            return true;
    }
    return false;
}

/* The rule that splits is the last one with two backends. */
int world_routes_split(struct world *world, int *primary)
{
    const char *provider = json_str_at(world->canary, "spec", "provider", NULL);
    const struct router *router = router_find(provider ? provider : world->settings.mesh_provider);
    struct json_object *rules = route_rules(world);
    struct json_object *split = NULL;

    if (router && router->stepped && json_at(world->canary, "spec", "analysis", "steps", NULL))
        router = router->stepped;
    else if (router && router->baked && json_at(world->canary, "spec", "analysis", "bake", NULL))
        router = router->baked;
    if (world_kind_of(world)->share)
        return world_kind_of(world)->share(world, primary);
    if (router && router->weighted && !writes_httproutes(router))
        return split_of_router(world, router, primary);
    for (size_t i = 0; i < json_len(rules); i++) {
        if (json_len(json_at(json_elem(rules, i), "backendRefs", NULL)) == 2)
            split = json_elem(rules, i);
    }
    return rule_canary(split, primary);
}

const char *world_weights(struct world *world)
{
    int primary;
    int canary = world_routes_split(world, &primary);

    return arena_printf(world->arena, "%s/%s", weight_text(world->arena, primary),
                        weight_text(world->arena, canary));
}

/* "x=insider" or "cookie~.*c.*": one match */
static const char *print_match(struct world *world, struct json_object *match)
{
    static const char *const keys[] = {"headers", "queryParams"};
    const char *text = "";

    for (size_t k = 0; k < 2; k++) {
        struct json_object *fields = json_at(match, keys[k], NULL);
        for (size_t i = 0; i < json_len(fields); i++) {
            struct json_object *field = json_elem(fields, i);
            bool regex = strcmp(json_str_at(field, "type", NULL), "Exact") != 0;
            text = arena_printf(world->arena, "%s%s%s%s%s%s", text, *text ? " and " : "",
                                k == 1 ? "?" : "", json_str_at(field, "name", NULL),
                                regex ? "~" : "=", json_str_at(field, "value", NULL));
        }
    }
    return *text ? text : "all";
}

static const char *print_cookies(struct world *world, struct json_object *backends)
{
    const char *text = "";

    for (size_t i = 0; i < json_len(backends); i++) {
        struct json_object *filters = json_at(json_elem(backends, i), "filters", NULL);
        struct json_object *added =
            json_at(json_elem(filters, 0), "responseHeaderModifier", "add", NULL);
        if (filters)
            text = arena_printf(world->arena, "%s, %s gives %s", text,
                                json_str_at(json_elem(backends, i), "name", NULL),
                                json_str_at(json_elem(added, 0), "value", NULL));
    }
    return text;
}

static const char *print_rule(struct world *world, struct json_object *rule)
{
    struct json_object *matches = json_at(rule, "matches", NULL);
    struct json_object *filters = json_at(rule, "filters", NULL);
    const char *text = print_match(world, json_elem(matches, 0));
    int primary;
    int canary = rule_canary(rule, &primary);

    for (size_t i = 1; i < json_len(matches); i++)
        text =
            arena_printf(world->arena, "%s or %s", text, print_match(world, json_elem(matches, i)));
    text = arena_printf(world->arena, "%s: %s/%s%s", text, weight_text(world->arena, primary),
                        weight_text(world->arena, canary),
                        print_cookies(world, json_at(rule, "backendRefs", NULL)));
    for (size_t i = 0; i < json_len(filters); i++) {
        struct json_object *mirror = json_at(json_elem(filters, i), "requestMirror", NULL);
        int percent = (int)json_int_at(mirror, 100, "percent", NULL);
        if (mirror)
            text = arena_printf(world->arena, "%s, %d %% copied to %s", text, percent,
                                json_str_at(mirror, "backendRef", "name", NULL));
    }
    return text;
}

const char *world_routes(struct world *world)
{
    struct json_object *rules = route_rules(world);
    const char *text = "";

    for (size_t i = 0; i < json_len(rules); i++)
        text = arena_printf(world->arena, "%s%s\n", text, print_rule(world, json_elem(rules, i)));
    return text;
}

static int64_t sum_of(struct json_object *rule)
{
    struct json_object *backends = json_at(rule, "backendRefs", NULL);

    return json_int_at(json_elem(backends, 0), 100, "weight", NULL) +
           json_int_at(json_elem(backends, 1), 0, "weight", NULL);
}

static bool has_port(struct json_object *service, int64_t port)
{
    struct json_object *ports = json_at(service, "spec", "ports", NULL);

    for (size_t i = 0; i < json_len(ports); i++) {
        if (json_int_at(json_elem(ports, i), 0, "port", NULL) == port)
            return true;
    }
    return false;
}

void world_routes_check_ports(struct world *world, const char *name, struct json_object *before)
{
    struct json_object *rules = route_rules(world);
    struct json_object *now = world_get(world, arena_printf(world->arena, "services/%s", name));

    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *backends = json_at(json_elem(rules, i), "backendRefs", NULL);
        for (size_t k = 0; k < json_len(backends); k++) {
            const char *service = json_str_at(json_elem(backends, k), "name", NULL);
            int64_t port = json_int_at(json_elem(backends, k), 0, "port", NULL);
            if (service && strcmp(service, name) == 0 && has_port(before, port) &&
                !has_port(now, port))
                fail_msg("port %lld is taken from the Service %s, and the route leads there",
                         (long long)port, name);
        }
    }
}

static bool leads_to(struct json_object *route, const char *name, int64_t port)
{
    struct json_object *rules = json_at(route, "spec", "rules", NULL);

    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *backends = json_at(json_elem(rules, i), "backendRefs", NULL);
        for (size_t k = 0; k < json_len(backends); k++) {
            struct json_object *one = json_elem(backends, k);
            const char *service = json_str_at(one, "name", NULL);
            if (service && strcmp(service, name) == 0 &&
                json_int_at(one, 0, "port", NULL) == port &&
                json_int_at(one, 1, "weight", NULL) > 0)
                return true;
        }
    }
    return false;
}

void world_routes_check_backends(struct world *world, struct json_object *before)
{
    struct json_object *rules = route_rules(world);

    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *backends = json_at(json_elem(rules, i), "backendRefs", NULL);
        for (size_t k = 0; k < json_len(backends); k++) {
            const char *name = json_str_at(json_elem(backends, k), "name", NULL);
            int64_t port = json_int_at(json_elem(backends, k), 0, "port", NULL);
            struct json_object *service =
                name ? world_get(world, arena_printf(world->arena, "services/%s", name)) : NULL;
            if (service && port > 0 && json_int_at(json_elem(backends, k), 1, "weight", NULL) > 0 &&
                !has_port(service, port) && !leads_to(before, name, port))
                fail_msg("the route is led to port %lld of the Service %s, which does not have it",
                         (long long)port, name);
        }
    }
}

/* Every rule of its own: those that hold a client by its cookie as well. */
void world_routes_check(struct world *world, bool at_zero)
{
    struct json_object *rules = route_rules(world);
    int primary, split = world_routes_split(world, &primary);

    if (primary + split != WEIGHT_ALL)
        fail_msg("weights %d/%d do not add up", primary, split);
    for (size_t i = 0; i < json_len(rules); i++) {
        int canary = rule_canary(json_elem(rules, i), &primary);
        int64_t sum = sum_of(json_elem(rules, i));
        if (sum != 100 && sum != 1000 && sum != WEIGHT_ALL)
            fail_msg("the weights of rule %zu add up to %lld", i, (long long)sum);
        if (canary > 0 && at_zero)
            fail_msg("the canary has %s %% of the traffic and no replicas",
                     weight_text(world->arena, canary));
        if (canary > 0 && split == 0)
            fail_msg("clients are held at a canary that has no share:\n%s", world_routes(world));
    }
}

struct json_object *world_routes_pruned(struct world *world, struct json_object *body)
{
    struct json_object *copy = json_copy(world->arena, body);
    struct json_object *rules = json_at(copy, "spec", "rules", NULL);

    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *filters = json_at(json_elem(rules, i), "filters", NULL);
        for (size_t k = 0; k < json_len(filters); k++) {
            struct json_object *mirror = json_at(json_elem(filters, k), "requestMirror", NULL);
            if (mirror)
                json_object_object_del(mirror, "percent");
        }
    }
    return copy;
}
