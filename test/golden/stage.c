#include "stage.h"

#include <string.h>

#include "base/yaml.h"
#include "object/schema.h"
#include "test/rows.h"
#include "test/unit.h"
#include "tick/fact.h"
#include "tick/plan.h"

enum { MAX_BYTES = 4 * 1024 * 1024 };

/* matched counts where the Canary matches. */
static const struct weights states[STAGE_STATES] = {
    {.primary = WEIGHT_ALL, .mirrored = true, .matched = true},
    {.primary = 80 * WEIGHT_PERCENT,
     .canary = 20 * WEIGHT_PERCENT,
     .matched = true,
     .cookies = {.canary = "a+b=Q", .primary = "p=W"}},
    {.canary = WEIGHT_ALL, .matched = true, .cookies = {.canary = "a+b=Q"}},
    {.canary = WEIGHT_ALL, .cookies = {.canary = "a+b=Q"}},
    {.primary = WEIGHT_ALL, .matched = true, .cookies = {.previous = "a+b=Q"}},
};

static bool is_text(struct json_object *object, const char *text)
{
    return json_object_is_type(object, json_type_string) &&
           strcmp(json_object_get_string(object), text) == 0;
}

static struct json_object *schema_text(const struct stage *stage,
                                       const struct kube_resource *resource)
{
    for (size_t i = 0; i < json_len(stage->crds); i++) {
        struct json_object *spec = json_at(json_elem(stage->crds, i), "spec", NULL);
        struct json_object *versions = json_at(spec, "versions", NULL);
        bool same = is_text(json_at(spec, "names", "plural", NULL), resource->plural) &&
                    is_text(json_at(spec, "group", NULL), resource->group);
        for (size_t k = 0; same && k < json_len(versions); k++) {
            struct json_object *found = json_elem(versions, k);
            if (is_text(json_at(found, "name", NULL), resource->version))
                return json_at(found, "schema", "openAPIV3Schema", NULL);
        }
    }
    return NULL;
}

static void free_schema(void *schema)
{
    schema_free(schema);
}

/* Compiled once; NULL for a resource without a schema. */
static struct schema *schema_of(struct stage *stage, const struct kube_resource *resource)
{
    struct json_object *text;
    struct errinfo ei;
    int i = 0;

    while (i < STAGE_SCHEMAS && stage->schemas[i].resource &&
           stage->schemas[i].resource != resource)
        i++;
    assert_true(i < STAGE_SCHEMAS);
    if (!stage->schemas[i].resource && (text = schema_text(stage, resource))) {
        if (schema_compile(text, &stage->schemas[i].schema, &ei) != ERR_OK)
            fail_msg("%s", ei.text);
        arena_defer(stage->arena, free_schema, stage->schemas[i].schema);
    }
    stage->schemas[i].resource = resource;
    return stage->schemas[i].schema;
}

/* What an API server makes of it; fails where it would refuse or prune. A kind without a schema at
 * hand (one of Kubernetes itself) is kept as it is. */
static struct json_object *served(struct stage *stage, const struct kube_resource *resource,
                                  struct json_object *object)
{
    struct json_object *out = json_copy(stage->arena, object);
    struct causes causes = {.arena = stage->arena};
    struct schema *schema = schema_of(stage, resource);
    struct schema_paths unknown = {0};

    if (!schema)
        return out;
    schema_prune(schema, stage->arena, out, &unknown);
    schema_default(schema, out);
    if (!schema_validate(schema, out, &causes) || unknown.count > 0)
        fail_msg("%s%s in %s", cause_text(&causes), unknown.count ? unknown.paths[0] : "",
                 json_text(stage->arena, object));
    return out;
}

/* One rule may not have two filters that edit headers, or two that rewrite. (A rule of the Gateway
 * API that its schema says in another language.) */
static void check_filters(struct arena *arena, struct json_object *route)
{
    struct json_object *rules = json_at(route, "spec", "rules", NULL);

    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *filters = json_at(json_elem(rules, i), "filters", NULL);
        for (size_t a = 0; a < json_len(filters); a++) {
            const char *type = json_str_at(json_elem(filters, a), "type", NULL);
            for (size_t b = 0; b < a; b++) {
                if (strcmp(type, "RequestMirror") != 0 &&
                    strcmp(type, json_str_at(json_elem(filters, b), "type", NULL)) == 0)
                    fail_msg("two filters %s in %s", type, json_text(arena, route));
            }
        }
    }
}

static const char *key_of(struct arena *arena, const struct kube_resource *resource,
                          const char *name)
{
    return arena_printf(arena, "%s/%s", resource->plural, name);
}

static void apply(struct stage *stage, const struct effect *effect)
{
    const char *key = key_of(stage->arena, effect->resource, effect->name);
    struct json_object *live = json_at(stage->objects, key, NULL);

    if (effect->kind == EFFECT_DELETE) {
        json_object_object_del(stage->objects, key);
        return;
    }
    struct json_object *now = json_merge(stage->arena, live, effect->body);
    json_set(stage->objects, key, served(stage, effect->resource, now));
    check_filters(stage->arena, json_at(stage->objects, key, NULL));
}

enum act { RECONCILE, SET, GET, REVERT, DISOWN };

static enum rule_result ask(struct tick *tick, const struct router *router, enum act act,
                            struct weights *weights)
{
    switch (act) {
    case SET:
        return router->set(tick, weights);
    case GET:
        return router->get(tick, weights);
    case REVERT:
        return router->revert(tick, true);
    case DISOWN:
        return router->disown(tick);
    default:
        if (router->prepare && router->prepare(tick) != RULE_CONTINUE)
            return RULE_NEEDS_FACTS;
        return router->reconcile(tick);
    }
}

static void apply_all(struct stage *stage, const struct tick *tick)
{
    for (const struct effect *effect = tick->plan->first; effect; effect = effect->next)
        apply(stage, effect);
}

struct question {
    struct stage *stage;
    enum act act;
    struct weights *weights;
};

static enum rule_result ask_router(void *arg, struct tick *tick)
{
    const struct question *question = arg;

    return ask(tick, question->stage->router, question->act, question->weights);
}

static void answer_need(void *arg, struct tick *tick, const struct need *need)
{
    const struct question *question = arg;
    const char *key = key_of(question->stage->arena, need->resource, need->name);

    fact_object(tick, need, json_at(question->stage->objects, key, NULL));
}

/* With what it asks for. */
static enum rule_result answer(struct stage *stage, struct tick *tick, enum act act,
                               struct weights *weights)
{
    struct question question = {.stage = stage, .act = act, .weights = weights};

    return tick_solve(tick, ask_router, answer_need, &question);
}

/* Returns what was planned, NULL for nothing. A route may take one step before: an interval later
 * it goes on. */
static const char *step(struct stage *stage, enum act act, struct weights *weights)
{
    struct tick *tick = tick_new(stage->arena, &stage->canary, &stage->settings, 0, true);
    enum rule_result verdict = answer(stage, tick, act, weights);

    if (verdict == RULE_DONE && tick->plan->stepped) {
        apply_all(stage, tick);
        tick = tick_new(stage->arena, &stage->canary, &stage->settings, 0, true);
        verdict = answer(stage, tick, act, weights);
    }
    if (verdict != RULE_CONTINUE)
        fail_msg("act %d has verdict %d: %s", act, verdict, plan_print(tick));
    const char *text = tick->plan->first ? plan_print(tick) : NULL;
    apply_all(stage, tick);
    return text;
}

/* What the mesh and the Canary know of a state. */
static struct weights possible(const struct stage *stage, struct weights weights)
{
    const struct canary_analysis *analysis = &stage->canary.analysis;

    weights.matched = weights.matched && analysis->match;
    weights.mirrored = weights.mirrored && stage->router->mirrors && analysis->mirror;
    if (!stage->router->session_affinity)
        weights.cookies = (struct cookies){.canary = NULL};
    if (!analysis->affinity.primary_cookie_name)
        weights.cookies.primary = NULL;
    return weights;
}

void stage_reconcile(struct stage *stage)
{
    step(stage, RECONCILE, NULL);
}

/* (What is for some requests is for all of these: no release splits it further.) */
static void check_read(struct stage *stage, int state, const struct weights *wanted)
{
    struct weights read;

    step(stage, GET, &read);
    if (wanted->matched && wanted->primary > 0 && wanted->canary > 0)
        return;
    if (read.primary != wanted->primary || read.canary != wanted->canary ||
        read.mirrored != wanted->mirrored)
        fail_msg("state %d is read as %d/%d%s: %s", state, read.primary, read.canary,
                 read.mirrored ? ", mirrored" : "", json_text(stage->arena, stage->objects));
}

void stage_set(struct stage *stage, int state)
{
    struct weights weights = possible(stage, states[state]);
    const char *text;

    step(stage, SET, &weights);
    if ((text = step(stage, RECONCILE, NULL)))
        fail_msg("state %d is repaired: %s", state, text);
    if ((text = step(stage, SET, &weights)))
        fail_msg("state %d is set again: %s", state, text);
    check_read(stage, state, &weights);
}

void stage_give_back(struct stage *stage)
{
    const char *text;

    step(stage, REVERT, NULL);
    if ((text = step(stage, REVERT, NULL)))
        fail_msg("it is reverted again: %s", text);
    step(stage, DISOWN, NULL);
    if ((text = step(stage, REVERT, NULL)) || (text = step(stage, DISOWN, NULL)))
        fail_msg("it is reverted or disowned again: %s", text);
}

struct json_object *stage_crds(struct arena *arena, const char *file)
{
    struct json_object *docs;
    struct errinfo ei;

    if (yaml_parse_file(arena, arena_printf(arena, "test/data/crds/%s", file), MAX_BYTES, &docs,
                        &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return docs;
}

struct schema *stage_canary_schema(struct arena *arena)
{
    struct json_object *crd = json_elem(rows_read(arena, "proto/crd/canaries.yaml"), 0);
    struct json_object *version = json_elem(json_at(crd, "spec", "versions", NULL), 0);
    struct schema *schema;
    struct errinfo ei;

    assert_int_equal(
        schema_compile(json_at(version, "schema", "openAPIV3Schema", NULL), &schema, &ei), ERR_OK);
    arena_defer(arena, free_schema, schema);
    return schema;
}

struct json_object *stage_canary(struct arena *arena, struct json_object *spec)
{
    struct json_object *canary = json_own(arena, json_object_new_object());

    json_set_str(json_sub(canary, "metadata"), "name", "podinfo");
    json_set_str(json_sub(canary, "metadata"), "namespace", "test");
    json_set_str(json_sub(canary, "metadata"), "uid", "u");
    json_set(canary, "spec", spec);
    struct json_object *target = json_sub(json_sub(canary, "spec"), "targetRef");
    json_set_str(target, "apiVersion", "apps/v1");
    json_set_str(target, "kind", "Deployment");
    json_set_str(target, "name", "podinfo");
    return canary;
}

const char *stage_init(struct stage *stage, struct arena *arena, const char *provider,
                       struct json_object *crds, struct json_object *found,
                       struct json_object *canary)
{
    struct errinfo ei;

    assert_non_null(router_find(provider));
    *stage = (struct stage){.arena = arena,
                            .router = router_find(provider),
                            .settings = {.mesh_provider = provider},
                            .crds = crds,
                            .objects = json_own(arena, json_object_new_object())};
    for (size_t i = 0; i < json_len(found); i++) {
        struct json_object *one = json_elem(found, i);
        json_set(stage->objects, json_str_at(one, "key", NULL),
                 json_copy(arena, json_at(one, "object", NULL)));
    }
    if (canary_view(arena, canary, &stage->canary, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    stage->canary.provider = NULL;
    return stage->router->check(arena, &stage->canary);
}
