/* Routers and the Services of a Canary: cases of cases.yaml. */
#include "tick/cases_test.h"
#include "router/router.h"
#include "router/shared/services.h"

static const struct router *router_called(const struct called *called)
{
    return router_of(called->f->canary.provider, &called->f->canary);
}

/* --- a router */

static enum rule_result reconcile(struct called *called)
{
    return router_called(called)->reconcile(called->f->tick);
}

static enum rule_result get(struct called *called)
{
    struct weights found = {0};
    enum rule_result verdict = router_called(called)->get(called->f->tick, &found);

    weight_put(called->f->arena, called->got, "primary", found.primary);
    weight_put(called->f->arena, called->got, "canary", found.canary);
    json_set_bool(called->got, "mirrored", found.mirrored);
    json_set_bool(called->got, "matched", found.matched);
    json_set_bool(called->got, "mirrors all", found.mirrors_all);
    struct json_object *cookies = json_sub(called->got, "cookies");
    json_set_str(cookies, "canary", found.cookies.canary);
    json_set_str(cookies, "primary", found.cookies.primary);
    json_set_str(cookies, "previous", found.cookies.previous);
    return verdict;
}

static int weight_at(struct json_object *with, const char *key)
{
    int64_t weight = 0;

    if (json_at(with, key, NULL) && !weight_read(json_at(with, key, NULL), WEIGHT_ALL, &weight))
        fail_msg("%s: expected a weight, found %s", key, json_text(unit_arena, with));
    return (int)weight;
}

/* with: {primary: 80, canary: 20, mirrored: false, matched: false, cookies: {canary: 'a=b'}} */
static enum rule_result set(struct called *called)
{
    struct json_object *with = called->with;
    const struct weights weights = {
        .primary = weight_at(with, "primary"),
        .canary = weight_at(with, "canary"),
        .mirrored = json_bool_at(with, false, "mirrored", NULL),
        .matched = json_bool_at(with, false, "matched", NULL),
        .cookies = {.canary = json_str_at(with, "cookies", "canary", NULL),
                    .primary = json_str_at(with, "cookies", "primary", NULL),
                    .previous = json_str_at(with, "cookies", "previous", NULL)},
        .selector = json_at(with, "selector", NULL),
    };

    return router_called(called)->set(called->f->tick, &weights);
}

/* --- each weight */

/* Adds all numbers of members `weight` at any depth. */
static void add_weights(struct json_object *tree, int64_t *sum)
{
    for (size_t i = 0; i < json_len(tree); i++)
        add_weights(json_elem(tree, i), sum);
    if (!json_object_is_type(tree, json_type_object))
        return;
    json_object_object_foreach(tree, key, value)
    {
        if (strcmp(key, "weight") == 0 && !json_object_is_type(value, json_type_object))
            *sum += json_object_get_int64(value);
        add_weights(value, sum);
    }
}

/* Puts what the plan wrote into the route, in addition to its previous content; returns the sum of
 * its weights. */
static int64_t put_planned(struct fixture *f)
{
    int64_t sum = 0;

    f->objects = json_copy(f->arena, f->objects);
    for (const struct effect *effect = f->tick->plan->first; effect; effect = effect->next) {
        if (!effect_writes(effect))
            continue;
        const char *key = arena_printf(f->arena, "%s/%s", effect->resource->plural, effect->name);
        struct json_object *live = json_at(f->objects, key, NULL);
        json_set(f->objects, key, pretend_merged(f->arena, live, effect->body));
        add_weights(json_at(f->objects, key, "spec", NULL), &sum);
    }
    return sum;
}

/* Routes this weight with the objects of the case, in its own arena, and reads it back. */
static void check_weight(const struct called *called, const struct router *router, int weight,
                         bool sums)
{
    struct fixture f = *called->f;
    struct weights wanted = {.primary = WEIGHT_ALL - weight, .canary = weight}, found = {0};

    f.arena = arena_new();
    (void)fixture_run(&f, router->set(f.tick, &wanted));
    int64_t sum = put_planned(&f);
    (void)fixture_run(&f, router->get(f.tick, &found));
    if (found.canary != weight || found.primary != wanted.primary)
        fail_msg("%s: of a weight of %d hundredths came %d", router->about, weight, found.canary);
    int64_t total = weight_relative(weight) + weight_relative(wanted.primary);
    if (sums && f.tick->plan && sum > 0 && sum != total)
        fail_msg("%s: the weights of %d hundredths add up to %lld", router->about, weight,
                 (long long)sum);
    arena_free(f.arena);
}

/* with: {sums: true}: the only weights in the object are those of the two sides. Weights that the
 * router reports as possible are written and read back: each one near the ends and, since the
 * others are all of the same kind, every thirteenth between them (proto/weight_test.c has all). */
static enum rule_result each_weight(struct called *called)
{
    const struct router *router = router_called(called);
    enum { ENDS = 3 * WEIGHT_PERCENT, STRIDE = 13 };
    int finest = router_finest(router), step = finest;

    for (int weight = 0; weight <= WEIGHT_ALL; weight += step) {
        bool near = weight < ENDS || weight >= WEIGHT_ALL - ENDS;
        step = finest > 1 || near ? finest : STRIDE;
        if (weight + step > WEIGHT_ALL - ENDS && step == STRIDE)
            step = WEIGHT_ALL - ENDS - weight;
        check_weight(called, router, weight, json_bool_at(called->with, false, "sums", NULL));
    }
    json_set_int(called->got, "finest", finest);
    return RULE_CONTINUE;
}

static enum rule_result settled(struct called *called)
{
    const char *why = NULL;
    enum rule_result verdict = router_called(called)->settled(called->f->tick, &why);

    json_set_str(called->got, "why", verdict == RULE_DONE ? why : NULL);
    return verdict;
}

/* with: {anew: false}; true if it is missing */
static bool is_anew(const struct called *called)
{
    return json_bool_at(called->with, true, "anew", NULL);
}

static enum rule_result revert(struct called *called)
{
    return router_called(called)->revert(called->f->tick, is_anew(called));
}

static enum rule_result disown(struct called *called)
{
    return router_called(called)->disown(called->f->tick);
}

static enum rule_result check(struct called *called)
{
    json_set_str(called->got, "sentence",
                 router_called(called)->check(called->f->arena, &called->f->canary));
    return RULE_CONTINUE;
}

/* --- Services: pods of a side have the label that Services select, and one more */

static struct json_object *selector(void *arg, bool primary, struct json_object *live)
{
    (void)arg;
    (void)live;
    return fixture_json(unit_arena, primary ? "{'app':'podinfo-primary'}" : "{'app':'podinfo'}");
}

static bool answer(void *arg, bool primary)
{
    (void)primary;
    return !json_bool_at(arg, false, "nobody", NULL);
}

/* with: {nobody: true}: no pod responds; {ports: [...]}: discovered ports; {settled: true}: old
 * ports are removed */
static struct service_pods pods_of(const struct called *called)
{
    struct json_object *with = called->with;

    return (struct service_pods){
        .label = "app",
        .selector = selector,
        .target =
            fixture_json(unit_arena, "{'metadata':{'labels':{'app':'podinfo','tier':'web'}}}"),
        .primary = fixture_json(unit_arena,
                                "{'metadata':{'labels':{'app':'podinfo-primary','tier':'web'}}}"),
        .answers = answer,
        .arg = with,
        .ports = json_at(with, "ports", NULL),
        .drop_old_ports = json_bool_at(with, false, "settled", NULL),
    };
}

static enum rule_result sides(struct called *called)
{
    const struct service_pods pods = pods_of(called);

    return services_reconcile_sides(called->f->tick, &pods);
}

static enum rule_result apex(struct called *called)
{
    const struct service_pods pods = pods_of(called);

    return services_reconcile_apex(called->f->tick, &pods);
}

static enum rule_result ports(struct called *called)
{
    const struct service_pods pods = pods_of(called);
    const char *found = NULL;
    struct json_object *old = NULL;
    bool adds = false;
    enum rule_result verdict = services_found_ports(called->f->tick, &pods, &found);

    if (verdict == RULE_CONTINUE)
        verdict = services_old_ports(called->f->tick, &pods, &adds, &old);
    json_set_str(called->got, "found", found);
    json_set_bool(called->got, "adds", adds);
    json_set(called->got, "old", old);
    return verdict;
}

static enum rule_result revert_apex(struct called *called)
{
    const struct service_pods pods = pods_of(called);

    return services_revert_apex(called->f->tick, &pods, is_anew(called));
}

static enum rule_result disown_apex(struct called *called)
{
    return services_disown_apex(called->f->tick);
}

static const struct called_word words[] = {
    {.name = "reconcile", .call = reconcile},
    {.name = "get", .call = get},
    {.name = "set", .call = set},
    {.name = "set as well", .call = set, .goes_on = true},
    {.name = "each weight", .call = each_weight},
    {.name = "settled", .call = settled},
    {.name = "settled after that", .call = settled, .goes_on = true},
    {.name = "revert", .call = revert},
    {.name = "disown", .call = disown},
    {.name = "check", .call = check},
    {.name = "sides", .call = sides},
    {.name = "apex", .call = apex},
    {.name = "ports", .call = ports},
    {.name = "revert apex", .call = revert_apex},
    {.name = "disown apex", .call = disown_apex},
};

CASES_OF("controller/router/cases.yaml", words, char);
