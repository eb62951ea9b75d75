#include "router/common_httproute.h"

#include "tick/fixture_test.h"

#define ROUTE                                                                                      \
    "{'metadata':{'labels':{'theirs':'1'},'annotations':{'mine':'1',"                              \
    "'kustomize.toolkit.fluxcd.io/reconcile':'disabled'},'ownerReferences':[{'apiVersion':"        \
    "'flagger.app/v1beta1','kind':'Canary','name':'podinfo','controller':true}]},'spec':{"         \
    "'parentRefs':[{'name':'gw','namespace':'infra'}],'rules':"
#define BACKEND(name, more)                                                                        \
    "{'group':'','kind':'Service','name':'" name "','port':80,'weight':100" more "}"
#define PLAIN "'backendRefs':[" BACKEND("podinfo", "") "]"
#define SPLIT(more)                                                                                \
    "'backendRefs':[" BACKEND("podinfo-primary", more) "," BACKEND("podinfo-canary", "") "]"
#define ANY "'matches':[{'path':{'type':'PathPrefix','value':'/'}}]"

static const struct router *router(void)
{
    return router_find("gatewayapi:v1");
}

static struct fixture gateway(const char *service)
{
    struct arena *arena = arena_new();
    struct fixture f = fixture_new(
        arena_printf(arena,
                     "{'spec':{'provider':'gatewayapi:v1','service':{'gatewayRefs':[{'name':'gw',"
                     "'namespace':'infra'}]%s}}}",
                     service));

    arena_free(arena);
    return f;
}

/* The live rules, and those of the patch ("" for none). */
static const struct {
    const char *name, *service, *rules, *out;
} cases[] = {
    {"the split", "", "[{" ANY "," SPLIT("") "}]", "[{" PLAIN "," ANY "}]"},
    {"nothing differs, defaults of the server included", "",
     "[{'name':'r'," ANY ",'backendRefs':[{'group':'','kind':'Service','name':'podinfo','port':80,"
     "'weight':100,'theirs':1}]}]",
     ""},
    {"what others gave the rule stays", "", "[{'name':'r'," ANY "," SPLIT("") "}]",
     "[{" PLAIN "," ANY ",'name':'r'}]"},
    {"what the spec gives it as well", ",'timeout':'5s','rewrite':{'authority':'a.test'}",
     "[{" ANY "," SPLIT("") ",'timeouts':{'request':'5s'}}]",
     "[{" PLAIN ",'filters':[{'type':'URLRewrite','urlRewrite':{'hostname':'a.test'}}]," ANY
     ",'timeouts':{'request':'5s'}}]"},
    {"the copies for the canary end", "",
     "[{'filters':[{'type':'RequestMirror','requestMirror':{'backendRef':{'name':"
     "'podinfo-canary'}}}]," ANY "," SPLIT("") "}]",
     "[{" PLAIN "," ANY "}]"},
    {"an A/B test, cookies", "",
     "[{'matches':[{'headers':[{'name':'x','value':'1'}]}]," SPLIT(
         ",'filters':[{'type':'ResponseHeaderModifier'}]") "},{" ANY
                                                           ",'backendRefs':[" BACKEND(
                                                               "podinfo-primary", "") "]}]",
     "[{" PLAIN "," ANY "}]"},
};

CASE(test_revert)
{
    EACH_ROW (row, cases) {
        struct fixture f = gateway(row->service);
        fixture_put(&f, "httproutes/podinfo", arena_printf(f.arena, ROUTE "%s}}", row->rules));
        assert_int_equal(fixture_run(&f, router()->revert(f.tick, true)), VERDICT_GO);
        if (!*row->out) {
            assert_string_equal(plan_print(f.tick), "again never\n");
            continue;
        }
        assert_string_equal(plan_print(f.tick),
                            "patch httproutes test/podinfo -> podinfo\nagain never\n");
        struct json_object *spec = json_at(f.tick->plan->first->body, "spec", NULL);
        const char *want = arena_printf(f.arena, "{'rules':%s}", row->out);
        const char *got = fixture_quoted(&f, json_text_sorted(f.arena, spec));
        if (strcmp(got, want) != 0)
            fail_msg("%s:\n%s\nand not\n%s", row->name, got, want);
    }
}

CASE(test_made_anew)
{
    struct fixture f = gateway(",'hosts':['a.test'],'apex':{'labels':{'x':'1'}}");

    assert_int_equal(fixture_run(&f, router()->revert(f.tick, false)), VERDICT_GO);
    assert_string_equal(plan_print(f.tick), "again never\n");
    assert_int_equal(fixture_run(&f, router()->revert(f.tick, true)), VERDICT_GO);
    assert_string_equal(
        fixture_quoted(&f, fixture_body(&f, 0)),
        "{'apiVersion':'gateway.networking.k8s.io/v1','kind':'HTTPRoute','metadata':{'labels':{"
        "'x':'1'},'name':'podinfo','namespace':'test'},'spec':{'hostnames':['a.test'],"
        "'parentRefs':[{'name':'gw','namespace':'infra'}],'rules':[{" PLAIN "," ANY "}]}}");
}

CASE(test_disown)
{
    struct fixture f = gateway("");

    assert_int_equal(fixture_run(&f, router()->disown(f.tick)), VERDICT_GO);
    assert_string_equal(plan_print(f.tick), "again never\n");
    fixture_put(&f, "httproutes/podinfo", ROUTE "[{" PLAIN "}]}}");
    assert_int_equal(fixture_run(&f, router()->disown(f.tick)), VERDICT_GO);
    assert_string_equal(fixture_quoted(&f, fixture_body(&f, 0)),
                        "{'metadata':{'annotations':{'kustomize.toolkit.fluxcd.io/reconcile':null},"
                        "'ownerReferences':null}}");
}
