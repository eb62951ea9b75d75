#include "crash/safety.h"
#include "test/unit.h"

#include <string.h>

#include "cluster/crds.h"
#include "test/rows.h"

struct fixture {
    struct arena *arena;
    struct loop *loop;
    struct objstore *store;
};

static void put(struct fixture *f, const char *group, const char *plural, const char *text)
{
    struct objcall call = {.arena = f->arena};
    struct json_object *object = rows_json(f->arena, text);
    const struct objkind *kind = objstore_kind(f->store, group, plural);
    const char *ns = objkind_namespaced(kind) ? "test" : NULL;

    if (objstore_create(f->store, &call, kind, ns, object, NULL) != ERR_OK)
        fail_msg("%s: %s", plural, call.fail.message);
    if (json_at(object, "status", NULL) &&
        objstore_merge(f->store, &call, kind, ns, json_str_at(object, "metadata", "name", NULL),
                       OBJSUB_STATUS, object, NULL) != ERR_OK)
        fail_msg("%s: %s", plural, call.fail.message);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = *state = &fixture;
    struct errinfo ei;

    *f = (struct fixture){.arena = arena_new(), .loop = loop_new(10000)};
    f->store = objstore_new(f->loop, 0);
    assert_int_equal(crds_install(f->store, &ei), ERR_OK);
    put(f, "", "namespaces", "{'metadata':{'name':'test'}}");
    put(f, "", "services",
        "{'metadata':{'name':'a'},'spec':{'selector':{'app':'full'},'ports':[{'port':80}]}}");
    put(f, "", "services",
        "{'metadata':{'name':'b'},'spec':{'selector':{'app':'empty'},'ports':[{'port':80}]}}");
    for (int i = 0; i < 2; i++)
        put(f, "apps", "deployments",
            arena_printf(f->arena,
                         "{'metadata':{'name':'%s'},'spec':{'selector':{'matchLabels':{'app':'x'}},"
                         "'template':{'metadata':{'labels':{'app':'x'}},'spec':{'containers':[{"
                         "'name':'c','image':'i'}]}}},'status':{'replicas':2,'readyReplicas':%d,"
                         "'updatedReplicas':2,'availableReplicas':%d}}",
                         i == 0 ? "full" : "empty", i == 0 ? 1 : 0, i == 0 ? 1 : 0));
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    loop_drain(f->loop);
    assert_int_equal(loop_run(f->loop), 0);
    objstore_free(f->store);
    loop_free(f->loop);
    arena_free(f->arena);
    return 0;
}

static void route(struct fixture *f, const char *first, int weight, const char *second, int rest)
{
    put(f, "gateway.networking.k8s.io", "httproutes",
        arena_printf(f->arena,
                     "{'apiVersion':'gateway.networking.k8s.io/v1','kind':'HTTPRoute','metadata':{"
                     "'name':'podinfo'},'spec':{'rules':[{'backendRefs':[{'name':'%s','port':80,"
                     "'weight':%d},{'name':'%s','port':80,'weight':%d}]}]}}",
                     first, weight, second, rest));
}

CASE_WITH(test_traffic_to_the_ready, set_up, tear_down)
{
    struct fixture *f = *state;

    assert_null(safety_breach(f->arena, f->store)); /* no route yet */
    route(f, "a", 100, "b", 0);
    assert_null(safety_breach(f->arena, f->store));
}

CASE_WITH(test_traffic_to_nobody, set_up, tear_down)
{
    struct fixture *f = *state;

    route(f, "a", 90, "b", 10);
    assert_string_equal(safety_breach(f->arena, f->store),
                        "b had 10 % of the traffic and no pod that is ready");
}

CASE_WITH(test_weights_that_do_not_add_up, set_up, tear_down)
{
    struct fixture *f = *state;

    route(f, "a", 90, "b", 0);
    assert_string_equal(safety_breach(f->arena, f->store), "the weights added up to 90");
}
