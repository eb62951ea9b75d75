/*
 * What a router writes is what the Gateway API takes: the HTTPRoutes of published Canaries, in
 * every state of a release, against the schema of the API where it is at hand. Nothing is pruned,
 * nothing is refused, and what the server gives back with its defaults needs no further edit.
 */
#include <string.h>

#include "base/yaml.h"
#include "object/schema.h"
#include "router/router.h"
#include "test/unit.h"

enum { MAX_BYTES = 4 * 1024 * 1024 };

static const char api[] = "../shared/crds/gateway-api.yaml";
static const char *const published[] = {
    "../shared/manifests/test-gatewayapi-test-ab.yaml",
    "../shared/manifests/test-gatewayapi-test-bg.yaml",
    "../shared/manifests/test-gatewayapi-test-canary.yaml",
    "../shared/manifests/test-gatewayapi-test-session-affinity.yaml",
    "../shared/manifests/tutorials-gatewayapi-progressive-delivery.yaml",
};
/* Everything that spec.service can say to this router. */
static const char everything[] =
    "{'metadata':{'name':'all','namespace':'test','uid':'u'},'spec':{'targetRef':{'apiVersion':"
    "'apps/v1','kind':'Deployment','name':'all'},'service':{'port':80,'gatewayRefs':[{'name':'g',"
    "'namespace':'infra','sectionName':'web','port':443}],'hosts':['a.test','*.b.test'],'timeout':"
    "'15s','backendTimeout':'5s','retries':{'attempts':3},'match':[{'uri':{'prefix':'/api'},"
    "'method':{'exact':'GET'},'headers':{'x-a':{'exact':'1'},'cookie':{'regex':'.*b=1.*'}}},{'uri':"
    "{'regex':'/v[0-9]+/.*'},'queryParams':{'q':{'regex':'x.*'}}}],'rewrite':{'uri':'/',"
    "'authority':'c.test'},'headers':{'request':{'add':{'x-b':'1'},'remove':['x-c']},'response':{"
    "'set':{'x-d':'2'},'add':{'x-e':'3'}}},'mirror':[{'backendRef':{'name':'copy','port':80}}],"
    "'corsPolicy':{'allowOrigin':['https://a.test'],'allowMethods':['GET'],'maxAge':'1h'}},"
    "'analysis':{'interval':'1m','threshold':1,'iterations':3,'mirrorWeight':20,'match':[{'headers'"
    ":"
    "{'x-canary':{'exact':'insider'}}},{'queryParams':{'beta':{'exact':'1'}}}],'sessionAffinity':{"
    "'cookieName':'a+b','primaryCookieName':'p','domain':'a.test','path':'/','secure':true,"
    "'partitioned':true,'httpOnly':true,'sameSite':'None'}}}}";

/* Little of each, so that the server fills in the rest. */
static const char little[] =
    "{'metadata':{'name':'few','namespace':'test','uid':'u'},'spec':{'targetRef':{'apiVersion':"
    "'apps/v1','kind':'Deployment','name':'few'},'service':{'port':80,'gatewayRefs':[{'name':'g'}],"
    "'mirror':[{'backendRef':{'name':'copy','port':80}}],'corsPolicy':{'allowOrigin':["
    "'https://a.test']},'headers':{'request':{'set':{'x':'1'}}}},'analysis':{'interval':'1m',"
    "'threshold':1,'stepWeight':10}}}";

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

static struct json_object *parse(struct arena *arena, const char *quoted)
{
    char *text = arena_strdup(arena, quoted);
    struct json_object *object;
    struct errinfo ei;

    for (char *at = text; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    if (json_parse(arena, text, strlen(text), JSON_MAX_BYTES, &object, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    return object;
}

/* NULL where the file is not at hand. */
static struct json_object *read_docs(struct arena *arena, const char *path)
{
    struct json_object *docs;
    struct errinfo ei;

    return yaml_parse_file(arena, path, MAX_BYTES, &docs, &ei) == ERR_OK ? docs : NULL;
}

static struct schema *schema_of(struct arena *arena, const char *version)
{
    struct json_object *docs = read_docs(arena, api);

    for (size_t i = 0; i < json_len(docs); i++) {
        const char *kind = json_str_at(json_elem(docs, i), "spec", "names", "kind", NULL);
        struct json_object *versions = json_at(json_elem(docs, i), "spec", "versions", NULL);
        for (size_t k = 0; kind && strcmp(kind, "HTTPRoute") == 0 && k < json_len(versions); k++) {
            struct json_object *found = json_elem(versions, k);
            struct schema *schema = NULL;
            struct errinfo ei;
            if (strcmp(json_str_at(found, "name", NULL), version) != 0)
                continue;
            if (schema_compile(json_at(found, "schema", "openAPIV3Schema", NULL), &schema, &ei) !=
                ERR_OK)
                fail_msg("%s", ei.text);
            return schema;
        }
    }
    return NULL;
}

/* What an API server makes of it; fails where it would refuse or prune. */
static struct json_object *served(struct arena *arena, const struct schema *schema,
                                  struct json_object *route)
{
    struct json_object *out = json_copy(arena, route);
    struct causes causes = {.arena = arena};
    struct schema_paths unknown = {0};

    schema_prune(schema, arena, out, &unknown);
    schema_default(schema, out);
    if (!schema_validate(schema, out, &causes) || unknown.count > 0)
        fail_msg("%s%s in %s", cause_text(&causes), unknown.count ? unknown.paths[0] : "",
                 json_text(arena, route));
    return out;
}

/* One rule may not have two filters that edit headers, or two that rewrite. (A rule of the API's
 * that its schema says in another language.) */
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

/* The route after a step of the router; as it was where nothing is planned. */
static struct json_object *step(struct tick *tick, const struct router *router,
                                const struct weights *weights, struct json_object *live)
{
    enum verdict verdict = VERDICT_NEED_FACTS;

    for (int round = 0; round < 3 && verdict == VERDICT_NEED_FACTS; round++) {
        for (const struct need *need = tick->needs; need; need = need->next)
            fact_object(tick, need, live);
        tick_reset(tick);
        verdict = weights ? router->set(tick, weights) : router->reconcile(tick);
    }
    assert_int_equal(verdict, VERDICT_GO);
    struct effect *effect = tick->plan->first;
    return effect ? json_merge(tick->arena, live, effect->body) : live;
}

static void check_canary(struct arena *arena, const struct schema *schema, const char *provider,
                         struct json_object *object)
{
    const struct settings settings = {.mesh_provider = provider};
    const struct router *router = router_find(provider);
    struct canary canary;
    struct errinfo ei;
    struct json_object *live = NULL;

    if (canary_view(arena, object, &canary, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    assert_null(router->check(arena, &canary));
    struct tick *tick = tick_new(arena, &canary, &settings, 0, true);
    live = served(arena, schema, step(tick, router, NULL, NULL));
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        struct weights weights = states[i];
        weights.matched = weights.matched && canary.analysis.match;
        if (!canary.analysis.affinity.primary_cookie_name)
            weights.cookies.primary = NULL;
        tick = tick_new(arena, &canary, &settings, 0, true);
        live = served(arena, schema, step(tick, router, &weights, live));
        check_filters(arena, live);
        tick = tick_new(arena, &canary, &settings, 0, true);
        if (step(tick, router, NULL, live) != live)
            fail_msg("state %zu is repaired: %s in %s", i, plan_print(tick),
                     json_text(arena, tick->plan->first->body));
        tick = tick_new(arena, &canary, &settings, 0, true);
        if (step(tick, router, &weights, live) != live)
            fail_msg("state %zu is set again: %s", i, plan_print(tick));
    }
}

static void check_version(const char *version)
{
    struct arena *arena = arena_new();
    struct schema *schema = schema_of(arena, version);
    const char *provider = arena_printf(arena, "gatewayapi:%s", version);
    int n = 0;

    if (!schema) {
        arena_free(arena);
        skip();
    }
    check_canary(arena, schema, provider, parse(arena, everything));
    check_canary(arena, schema, provider, parse(arena, little));
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
        struct json_object *docs = read_docs(arena, published[i]);
        for (size_t k = 0; k < json_len(docs); k++) {
            const char *kind = json_str_at(json_elem(docs, k), "kind", NULL);
            if (!kind || strcmp(kind, "Canary") != 0)
                continue;
            check_canary(arena, schema, provider, json_elem(docs, k));
            n++;
        }
    }
    assert_true(n >= 5);
    schema_free(schema);
    arena_free(arena);
}

CASE(test_v1)
{
    check_version("v1");
}

CASE(test_v1beta1)
{
    check_version("v1beta1");
}
