/*
 * What a router writes is what its mesh takes: the objects of published Canaries and of those in
 * route_schema.yaml, in every state of a release, against the schemas of the mesh where they are at
 * hand. Nothing is pruned, nothing is refused, and what the server gives back with its defaults
 * needs no further edit. At the end nothing is left of the analysis.
 */
#include <glob.h>
#include <string.h>

#include "base/yaml.h"
#include "object/schema.h"
#include "router/router.h"
#include "test/unit.h"

#define CRDS      "../shared/crds/"
#define PUBLISHED "../shared/manifests/"

enum { MAX_BYTES = 4 * 1024 * 1024, MAX_ROUNDS = 5 };

/* The cluster of one Canary. */
struct stage {
    struct arena *arena;
    const struct router *router;
    struct settings settings;
    struct canary canary;
    struct json_object *crds;
    struct json_object *objects; /* "virtualservices/podinfo" */
};

/* matched counts where the Canary matches. */
static const struct weights states[] = {
    {.primary = 100, .mirrored = true, .matched = true},
    {.primary = 80,
     .canary = 20,
     .matched = true,
     .cookies = {.canary = "a+b=Q", .primary = "p=W"}},
    {.canary = 100, .matched = true, .cookies = {.canary = "a+b=Q"}},
    {.canary = 100, .cookies = {.canary = "a+b=Q"}},
    {.primary = 100, .matched = true, .cookies = {.previous = "a+b=Q"}},
};

/* NULL where the file is not at hand. */
static struct json_object *read_docs(struct arena *arena, const char *path)
{
    struct json_object *docs;
    struct errinfo ei;

    return yaml_parse_file(arena, path, MAX_BYTES, &docs, &ei) == ERR_OK ? docs : NULL;
}

static bool is_text(struct json_object *object, const char *text)
{
    return json_object_is_type(object, json_type_string) &&
           strcmp(json_object_get_string(object), text) == 0;
}

static struct schema *schema_of(const struct stage *stage, const struct kube_resource *resource)
{
    for (size_t i = 0; i < json_len(stage->crds); i++) {
        struct json_object *spec = json_at(json_elem(stage->crds, i), "spec", NULL);
        struct json_object *versions = json_at(spec, "versions", NULL);
        bool same = is_text(json_at(spec, "names", "plural", NULL), resource->plural) &&
                    is_text(json_at(spec, "group", NULL), resource->group);
        for (size_t k = 0; same && k < json_len(versions); k++) {
            struct json_object *found = json_elem(versions, k);
            struct schema *schema = NULL;
            struct errinfo ei;
            if (!is_text(json_at(found, "name", NULL), resource->version))
                continue;
            if (schema_compile(json_at(found, "schema", "openAPIV3Schema", NULL), &schema, &ei) !=
                ERR_OK)
                fail_msg("%s", ei.text);
            return schema;
        }
    }
    return NULL;
}

/* What an API server makes of it; fails where it would refuse or prune. A kind without a schema at
 * hand (one of Kubernetes itself) is kept as it is. */
static struct json_object *served(const struct stage *stage, const struct kube_resource *resource,
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
    schema_free(schema);
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

enum act { RECONCILE, SET, REVERT, DISOWN };

static enum verdict ask(struct tick *tick, const struct router *router, enum act act,
                        const struct weights *weights)
{
    switch (act) {
    case SET:
        return router->set(tick, weights);
    case REVERT:
        return router->revert(tick, true);
    case DISOWN:
        return router->disown(tick);
    default:
        if (router->prepare && router->prepare(tick) != VERDICT_GO)
            return VERDICT_NEED_FACTS;
        return router->reconcile(tick);
    }
}

/* Returns what was planned, NULL for nothing. */
static const char *step(struct stage *stage, enum act act, const struct weights *weights)
{
    struct tick *tick = tick_new(stage->arena, &stage->canary, &stage->settings, 0, true);
    enum verdict verdict = VERDICT_NEED_FACTS;

    for (int round = 0; round < MAX_ROUNDS && verdict == VERDICT_NEED_FACTS; round++) {
        for (const struct need *need = tick->needs; need; need = need->next) {
            const char *key = key_of(stage->arena, need->resource, need->name);
            fact_object(tick, need, json_at(stage->objects, key, NULL));
        }
        tick_reset(tick);
        verdict = ask(tick, stage->router, act, weights);
    }
    assert_int_equal(verdict, VERDICT_GO);
    const char *text = tick->plan->first ? plan_print(tick) : NULL;
    for (const struct effect *effect = tick->plan->first; effect; effect = effect->next)
        apply(stage, effect);
    return text;
}

/* What the mesh and the Canary know of a state. */
static struct weights possible(const struct stage *stage, struct weights weights)
{
    const struct canary_analysis *analysis = &stage->canary.analysis;

    weights.matched = weights.matched && analysis->match;
    weights.mirrored = weights.mirrored && stage->router->mirrors;
    if (!stage->router->session_affinity)
        weights.cookies = (struct cookies){.canary = NULL};
    if (!analysis->affinity.primary_cookie_name)
        weights.cookies.primary = NULL;
    return weights;
}

static void check_release(struct stage *stage)
{
    const char *text;

    step(stage, RECONCILE, NULL);
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        struct weights weights = possible(stage, states[i]);
        step(stage, SET, &weights);
        if ((text = step(stage, RECONCILE, NULL)))
            fail_msg("state %zu is repaired: %s", i, text);
        if ((text = step(stage, SET, &weights)))
            fail_msg("state %zu is set again: %s", i, text);
    }
    step(stage, REVERT, NULL);
    if ((text = step(stage, REVERT, NULL)))
        fail_msg("it is reverted again: %s", text);
    step(stage, DISOWN, NULL);
    if ((text = step(stage, REVERT, NULL)) || (text = step(stage, DISOWN, NULL)))
        fail_msg("it is reverted or disowned again: %s", text);
}

static void check_canary(struct arena *arena, const char *provider, struct json_object *crds,
                         struct json_object *objects, struct json_object *object)
{
    struct stage stage = {.arena = arena,
                          .router = router_find(provider),
                          .settings = {.mesh_provider = provider},
                          .crds = crds,
                          .objects = json_own(arena, json_object_new_object())};
    struct errinfo ei;

    assert_non_null(stage.router);
    for (size_t i = 0; i < json_len(objects); i++) {
        struct json_object *found = json_elem(objects, i);
        json_set(stage.objects, json_str_at(found, "key", NULL),
                 json_copy(arena, json_at(found, "object", NULL)));
    }
    if (canary_view(arena, object, &stage.canary, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    stage.canary.provider = NULL;
    const char *why = stage.router->check(arena, &stage.canary);
    if (why)
        fail_msg("%s: %s", provider, why);
    check_release(&stage);
}

static struct json_object *canary_of(struct arena *arena, struct json_object *spec)
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

static int check_published(struct arena *arena, struct json_object *row, struct json_object *crds)
{
    const char *pattern = json_str_at(row, "published", NULL);
    const char *provider = json_str_at(row, "provider", NULL);
    glob_t files;
    int n = 0;

    if (!pattern || glob(arena_printf(arena, PUBLISHED "%s", pattern), 0, NULL, &files) != 0)
        return 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct json_object *docs = read_docs(arena, files.gl_pathv[i]);
        for (size_t k = 0; k < json_len(docs); k++) {
            if (!is_text(json_at(json_elem(docs, k), "kind", NULL), "Canary"))
                continue;
            check_canary(arena, provider, crds, json_at(row, "objects", NULL), json_elem(docs, k));
            n++;
        }
    }
    globfree(&files);
    return n;
}

CASE(test_schemas)
{
    struct json_object *rows = read_docs(arena, "test/golden/route_schema.yaml");
    int played = 0;

    assert_true(json_len(rows) > 0);
    for (size_t i = 0; i < json_len(rows); i++) {
        struct json_object *row = json_elem(rows, i), *specs = json_at(row, "specs", NULL);
        const char *file = json_str_at(row, "crds", NULL);
        struct json_object *crds =
            file ? read_docs(arena, arena_printf(arena, CRDS "%s", file)) : NULL;
        if (file && !crds)
            continue;
        for (size_t k = 0; k < json_len(specs); k++, played++)
            check_canary(arena, json_str_at(row, "provider", NULL), crds,
                         json_at(row, "objects", NULL), canary_of(arena, json_elem(specs, k)));
        played += check_published(arena, row, crds);
    }
    if (played == 0)
        skip();
}
