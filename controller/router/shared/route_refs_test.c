#include "router/shared/route_refs.h"

#include "tick/fixture_test.h"

/*
 * Random routes of each kind: with other backends, other rules, unknown keys, and weights that are
 * missing, wrong or have another sum. set() must write only the weights of the two backends in the
 * named rules, and get() must read what was written. Shares are whole percentages.
 */

static const struct kind {
    const char *provider, *kind, *plural, *rules, *backends;
    bool single, unnamed;
} kinds[] = {
    {"gatewayapi:v1", "HTTPRoute", "httproutes", "rules", "backendRefs", false, false},
    {"gatewayapi:v1:grpc", "GRPCRoute", "grpcroutes", "rules", "backendRefs", false, false},
    {"gatewayapi:v1", "TLSRoute", "tlsroutes", "rules", "backendRefs", false, false},
    {"gatewayapi:v1", "TCPRoute", "tcproutes", "rules", "backendRefs", false, false},
    {"istio", "VirtualService", "virtualservices", "http", "route", false, false},
    {"traefik", "IngressRoute", "ingressroutes", "routes", "services", false, true},
    {"traefik", "IngressRouteTCP", "ingressroutetcps", "routes", "services", false, true},
    {"traefik", "TraefikService", "traefikservices", "weighted", "services", true, true},
    {"contour", "HTTPProxy", "httpproxies", "routes", "services", false, true},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), ROUTES = 300 };

struct dice {
    const struct kind *kind;
    struct arena *arena;
    uint64_t state;
};

static unsigned below(struct dice *dice, unsigned n)
{
    dice->state = dice->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice->state >> 33) % n;
}

static struct json_object *object(struct dice *dice)
{
    return json_own(dice->arena, json_object_new_object());
}

/* Adds keys that are not ours, with values that look as if they were. */
static void add_noise(struct dice *dice, struct json_object *to)
{
    static const char *const keys[] = {"weights", "filters", "match", "sticky", "x-unknown"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (below(dice, 4) > 0)
            continue;
        struct json_object *value = json_sub(to, keys[i]);
        json_set_int(value, "weight", below(dice, 200));
        json_set_str(value, "name", below(dice, 2) ? "podinfo-primary" : "podinfo-canary");
    }
}

static struct json_object *random_backend(struct dice *dice, const char *name)
{
    struct json_object *out = object(dice);
    bool istio = strcmp(dice->kind->kind, "VirtualService") == 0;

    if (istio)
        json_set_str(json_sub(out, "destination"), "host", name);
    else
        json_set_str(out, "name", name);
    if (!istio && below(dice, 2))
        json_set_int(out, "port", 80);
    if (below(dice, 4) > 0)
        json_set_int(out, "weight", below(dice, 4) ? below(dice, 101) : below(dice, 3000));
    add_noise(dice, out);
    return out;
}

static struct json_object *random_rule(struct dice *dice)
{
    static const char *const names[] = {"podinfo-primary", "podinfo-canary", "podinfo", "other"};
    struct json_object *out = object(dice);
    struct json_object *backends = json_own(dice->arena, json_object_new_array());
    bool both = below(dice, 3) > 0;
    unsigned more = below(dice, 3) ? 0 : below(dice, 4);

    for (int i = 0; both && i < 2; i++)
        json_object_array_add(backends, json_object_get(random_backend(dice, names[i])));
    for (unsigned i = 0; i < more; i++)
        json_object_array_add(
            backends, json_object_get(random_backend(dice, names[below(dice, 8) ? 3 : i % 4])));
    add_noise(dice, out);
    if (!dice->kind->unnamed && below(dice, 2))
        json_set_str(out, "name", below(dice, 2) ? "api" : "web");
    json_set(out, dice->kind->backends, backends);
    return out;
}

static struct json_object *random_route(struct dice *dice)
{
    struct json_object *out = object(dice), *spec = json_sub(out, "spec");
    struct json_object *rules = json_own(dice->arena, json_object_new_array());
    unsigned count = below(dice, 6);

    json_set_str(json_sub(out, "metadata"), "resourceVersion", "1");
    json_set_str(json_sub(json_sub(out, "metadata"), "labels"), "of", "user");
    add_noise(dice, spec);
    for (unsigned i = 0; i < count; i++)
        json_object_array_add(rules, json_object_get(random_rule(dice)));
    json_set(spec, dice->kind->rules, dice->kind->single ? random_rule(dice) : rules);
    return out;
}

/* NULL: all rules with a backend of ours. */
static struct json_object *random_names(struct dice *dice)
{
    struct json_object *out;

    if (dice->kind->single || below(dice, 3) == 0)
        return NULL;
    out = json_own(dice->arena, json_object_new_array());
    for (unsigned i = 0; i <= below(dice, 3); i++)
        json_object_array_add(out, dice->kind->unnamed || below(dice, 2)
                                       ? json_object_new_int((int)below(dice, 6))
                                       : json_object_new_string(below(dice, 2) ? "api" : "web"));
    return out;
}

static bool is_one_of(struct json_object *names, size_t index, struct json_object *rule)
{
    const char *name = json_str_at(rule, "name", NULL);

    for (size_t i = 0; i < json_len(names); i++) {
        struct json_object *one = json_elem(names, i);
        if (json_object_is_type(one, json_type_string)
                ? name && strcmp(name, json_object_get_string(one)) == 0
                : json_object_get_int(one) == (int)index)
            return true;
    }
    return !names;
}

static bool is_side(struct json_object *backend)
{
    const char *name = json_str_at(backend, "name", NULL);

    if (!name)
        name = json_str_at(backend, "destination", "host", NULL);
    return name && (strcmp(name, "podinfo-primary") == 0 || strcmp(name, "podinfo-canary") == 0);
}

/* The route without the weights that may be written. */
static const char *without_weights(struct dice *dice, struct json_object *route,
                                   struct json_object *names)
{
    struct json_object *copy = json_copy(dice->arena, route);
    struct json_object *rules = json_at(copy, "spec", dice->kind->rules, NULL);
    size_t count = dice->kind->single ? 1 : json_len(rules);

    json_object_object_del(json_at(copy, "metadata", NULL), "resourceVersion");
    json_object_object_del(json_at(copy, "metadata", NULL), "generation");
    for (size_t i = 0; i < count; i++) {
        struct json_object *rule = dice->kind->single ? rules : json_elem(rules, i);
        struct json_object *backends = json_at(rule, dice->kind->backends, NULL);
        for (size_t k = 0; is_one_of(names, i, rule) && k < json_len(backends); k++)
            if (is_side(json_elem(backends, k)))
                json_object_object_del(json_elem(backends, k), "weight");
    }
    return json_text(dice->arena, copy);
}

static struct fixture fixture_of(struct dice *dice, struct json_object *names)
{
    struct json_object *ref = object(dice);
    const char *text;

    json_set_str(ref, "kind", dice->kind->kind);
    json_set_str(ref, "name", "web");
    if (names)
        json_set(ref, "rules", names);
    text = json_text(dice->arena, ref);
    return fixture_new(arena_printf(
        dice->arena, "{'spec':{'provider':'%s','service':{'routeRefs':[%s]},'analysis':{}}}",
        dice->kind->provider, text));
}

/* Writes the share; returns the route as it is then on the API server. False: nothing was
 * written. */
static bool set_share(struct fixture *f, const char *key, int share)
{
    const struct router *router = router_of(f->canary.provider, &f->canary);
    const struct weights weights = {.primary = WEIGHT_ALL - share, .canary = share};
    struct json_object *live = json_at(f->objects, key, NULL);

    f->canary.status.canary_weight = share;
    assert_int_equal(fixture_run(f, router->set(f->tick, &weights)), RULE_CONTINUE);
    const struct effect *effect = f->tick->plan->first;
    if (!effect)
        return false;
    assert_null(effect->next);
    assert_int_equal(effect->kind, EFFECT_PATCH);
    json_set(f->objects, key, pretend_merged(f->arena, live, effect->body));
    return true;
}

CASE(test_nothing_but_weights)
{
    unsigned written = 0;

    for (unsigned i = 0; i < KINDS * ROUTES; i++) {
        struct dice dice = {&kinds[i % KINDS], unit_arena, i};
        struct json_object *names = random_names(&dice), *route = random_route(&dice);
        const char *key = arena_printf(unit_arena, "%s/web", dice.kind->plural);
        struct fixture f = fixture_of(&dice, names);
        const struct router *router = router_of(f.canary.provider, &f.canary);
        int share = WEIGHT_PERCENT * (int)below(&dice, WEIGHT_ALL / WEIGHT_PERCENT + 1);
        struct weights found = {0};

        fixture_put_tree(&f, key, route);
        const char *before = without_weights(&dice, json_at(f.objects, key, NULL), names);
        bool wrote = set_share(&f, key, share);
        const char *after = without_weights(&dice, json_at(f.objects, key, NULL), names);
        assert_string_equal(after, before);
        assert_int_equal(fixture_run(&f, router->get(f.tick, &found)), RULE_CONTINUE);
        assert_int_equal(found.canary, share);
        assert_false(found.uneven);
        assert_false(set_share(&f, key, share));
        written += wrote;
    }
    assert_true(written > KINDS * ROUTES / 4);
}
