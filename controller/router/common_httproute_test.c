#include "router/common_httproute.h"

#include "tick/fixture_test.h"

#define GATEWAY                                                                                    \
    "{'spec':{'provider':'gatewayapi:v1','service':{'gatewayRefs':[{'name':'gw','namespace':"      \
    "'infra'}]%s}}}"

static const struct router *router(void)
{
    return router_find("gatewayapi:v1");
}

static struct fixture gateway(const char *more)
{
    struct arena *arena = arena_new();
    struct fixture f = fixture_new(arena_printf(arena, GATEWAY, more));

    arena_free(arena);
    return f;
}

static const char *rule_text(struct fixture *f, const char *key)
{
    struct json_object *rules = json_at(f->tick->plan->first->body, "spec", "rules", NULL);

    return fixture_quoted(f, json_text_sorted(f->arena, json_at(json_elem(rules, 0), key, NULL)));
}

CASE(test_create)
{
    struct fixture f = gateway(",'hosts':['a.test'],'timeout':'5s','apex':{'labels':{'x':'1'}}");

    assert_int_equal(fixture_run(&f, router()->reconcile(f.tick)), VERDICT_GO);
    assert_string_equal(plan_print(f.tick),
                        "create httproutes test/podinfo weights 100/0\nagain never\n");
    assert_string_equal(
        fixture_quoted(&f, fixture_body(&f, 0)),
        "{'apiVersion':'gateway.networking.k8s.io/v1','kind':'HTTPRoute','metadata':{"
        "'annotations':{'helm.toolkit.fluxcd.io/driftDetection':'disabled',"
        "'kustomize.toolkit.fluxcd.io/reconcile':'disabled'},'labels':{'x':'1'},'name':'podinfo',"
        "'namespace':'test','ownerReferences':[{'apiVersion':'flagger.app/v1beta1',"
        "'blockOwnerDeletion':true,'controller':true,'kind':'Canary','name':'podinfo','uid':"
        "'c-1'}]},'spec':{'hostnames':['a.test'],'parentRefs':[{'name':'gw','namespace':'infra'}],"
        "'rules':[{'backendRefs':[{'group':'','kind':'Service','name':'podinfo-primary','port':80,"
        "'weight':100},{'group':'','kind':'Service','name':'podinfo-canary','port':80,'weight':0}],"
        "'matches':[{'path':{'type':'PathPrefix','value':'/'}}],'timeouts':{'request':'5s'}}]}}");
}

CASE(test_matches)
{
    static const struct {
        const char *match, *out;
    } cases[] = {
        {"[{'uri':{'prefix':'/api'}}]", "[{'path':{'type':'PathPrefix','value':'/api'}}]"},
        {"[{'uri':{'exact':'/a'},'method':{'exact':'GET'}}]",
         "[{'method':'GET','path':{'type':'Exact','value':'/a'}}]"},
        {"[{'uri':{'regex':'/a.*'}},{}]", "[{'path':{'type':'RegularExpression','value':'/a.*'}}]"},
        {"[{'headers':{'z':{'regex':'1'},'b':{'exact':'2'}}}]",
         "[{'headers':[{'name':'b','type':'Exact','value':'2'},{'name':'z','type':"
         "'RegularExpression','value':'1'}],'path':{'type':'PathPrefix','value':'/'}}]"},
        {"[{'queryParams':{'q':{'exact':'2'}}}]",
         "[{'path':{'type':'PathPrefix','value':'/'},'queryParams':[{'name':'q','type':'Exact',"
         "'value':'2'}]}]"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = gateway(arena_printf(arena, ",'match':%s", row->match));
        assert_null(router()->check(f.arena, &f.canary));
        fixture_run(&f, router()->reconcile(f.tick));
        assert_string_equal(rule_text(&f, "matches"), row->out);
    }
}

CASE(test_filters)
{
    static const struct {
        const char *given, *out;
    } cases[] = {
        {"'headers':{'request':{'add':{'b':'1','a':'2'},'remove':['c']}}",
         "[{'requestHeaderModifier':{'add':[{'name':'a','value':'2'},{'name':'b','value':'1'}],"
         "'remove':['c']},'type':'RequestHeaderModifier'}]"},
        {"'headers':{'response':{'set':{'a':'2'}}}",
         "[{'responseHeaderModifier':{'set':[{'name':'a','value':'2'}]},'type':"
         "'ResponseHeaderModifier'}]"},
        {"'rewrite':{'uri':'/x','authority':'h.test'}",
         "[{'type':'URLRewrite','urlRewrite':{'hostname':'h.test','path':{'replaceFullPath':'/x',"
         "'type':'ReplaceFullPath'}}}]"},
        {"'rewrite':{'uri':'/x','type':'ReplacePrefixMatch'}",
         "[{'type':'URLRewrite','urlRewrite':{'path':{'replacePrefixMatch':'/x','type':"
         "'ReplacePrefixMatch'}}}]"},
        {"'mirror':[{'backendRef':{'name':'m','port':80}}]",
         "[{'requestMirror':{'backendRef':{'name':'m','port':80}},'type':'RequestMirror'}]"},
        {"'corsPolicy':{'allowOrigin':['http://a'],'allowCredentials':true,'maxAge':'24h'}",
         "[{'cors':{'allowCredentials':true,'allowOrigins':['http://a'],'maxAge':86400},'type':"
         "'CORS'}]"},
    };

    EACH_ROW (row, cases) {
        struct fixture f = gateway(arena_printf(arena, ",%s", row->given));
        fixture_run(&f, router()->reconcile(f.tick));
        assert_string_equal(rule_text(&f, "filters"), row->out);
    }
}

CASE(test_check)
{
    static const struct {
        const char *given, *sentence;
    } cases[] = {
        {",'match':[{'uri':{'suffix':'x'}}]",
         "spec.service.match[0].uri: expected one of exact, prefix, regex"},
        {",'match':[{},{'method':{'regex':'x'}}]",
         "spec.service.match[1].method: the Gateway API matches exact only"},
        {",'match':[{'queryParams':{'q':{'prefix':'x'}}}]",
         "spec.service.match[0].queryParams.q: the Gateway API matches exact or regex only"},
        {",'match':[{'headers':{'x-a':{'regex':'('}}}]",
         "spec.service.match[0].headers.x-a.regex: missing closing parenthesis at character 2, in "
         "\"(\""},
        {",'match':[{'uri':{'regex':'/[a'}}]",
         "spec.service.match[0].uri.regex: missing terminating ] for character class at character "
         "4, in \"/[a\""},
    };

    EACH_ROW (row, cases) {
        struct fixture f = gateway(row->given);
        assert_string_equal(router()->check(f.arena, &f.canary), row->sentence);
    }
}

/* As an API server gives it back: with the defaults it has filled in, and with others' keys. */
#define LIVE                                                                                       \
    "{'metadata':{'generation':3,'resourceVersion':'7','annotations':{'others':'1',"               \
    "'helm.toolkit.fluxcd.io/driftDetection':'disabled',"                                          \
    "'kustomize.toolkit.fluxcd.io/reconcile':'disabled'}},'spec':{'parentRefs':[{'group':"         \
    "'gateway.networking.k8s.io','kind':'Gateway','name':'gw','namespace':'infra'}],'rules':[{"    \
    "'name':'mine','matches':[{'path':{'type':'PathPrefix','value':'/"                             \
    "'}}],'backendRefs':[{'group':"                                                                \
    "'','kind':'Service','name':'podinfo-primary','port':80,'weight':70},{'group':'','kind':"      \
    "'Service','name':'podinfo-canary','port':80,'weight':30,'x-unknown':1}]}]}%s}"

CASE(test_live_route)
{
    struct fixture f = gateway("");
    struct weights weights;

    fixture_put(&f, "httproutes/podinfo", arena_printf(f.arena, LIVE, ""));
    assert_int_equal(fixture_run(&f, router()->reconcile(f.tick)), VERDICT_GO);
    assert_string_equal(plan_print(f.tick), "again never\n");
    assert_int_equal(fixture_run(&f, router()->get(f.tick, &weights)), VERDICT_GO);
    assert_int_equal(weights.primary, 70);
    assert_int_equal(weights.canary, 30);
    assert_int_equal(fixture_run(&f, router()->set(f.tick, &weights)), VERDICT_GO);
    assert_int_equal(f.tick->plan->count, 0);
    weights = (struct weights){.primary = 40, .canary = 60};
    assert_int_equal(fixture_run(&f, router()->set(f.tick, &weights)), VERDICT_GO);
    assert_string_equal(plan_print(f.tick),
                        "patch httproutes test/podinfo weights 40/60\nagain never\n");
    assert_non_null(strstr(fixture_body(&f, 0), "\"resourceVersion\":\"7\""));
    assert_non_null(strstr(fixture_body(&f, 0), "\"x-unknown\":1"));
    assert_non_null(strstr(fixture_body(&f, 0), "\"name\":\"mine\""));
}

CASE(test_repair_keeps_weights_and_others_keys)
{
    struct fixture f = gateway(",'timeout':'5s'");

    fixture_put(&f, "httproutes/podinfo", arena_printf(f.arena, LIVE, ""));
    assert_int_equal(fixture_run(&f, router()->reconcile(f.tick)), VERDICT_GO);
    assert_string_equal(
        plan_print(f.tick),
        "patch httproutes test/podinfo as the spec says, weights 70/30\nagain never\n");
    assert_string_equal(
        fixture_quoted(&f, fixture_body(&f, 0)),
        "{'metadata':{'resourceVersion':'7'},'spec':{'rules':[{'backendRefs':[{'group':'','kind':"
        "'Service','name':'podinfo-primary','port':80,'weight':70},{'group':'','kind':'Service',"
        "'name':'podinfo-canary','port':80,'weight':30,'x-unknown':1}],'matches':[{'path':{'type':"
        "'PathPrefix','value':'/'}}],'name':'mine','timeouts':{'request':'5s'}}]}}");
}

CASE(test_settled)
{
    static const char same[] = "{'group':'gateway.networking.k8s.io','kind':'Gateway','name':'gw',"
                               "'namespace':'infra'}";
    static const struct {
        const char *parent, *status;
        int observed;
        bool settled;
    } cases[] = {
        {same, "True", 3, true},
        {same, "True", 2, false},
        {same, "False", 3, false},
        {"{'name':'another'}", "False", 3, true},
    };

    EACH_ROW (row, cases) {
        struct fixture f = gateway("");
        fixture_put(
            &f, "httproutes/podinfo",
            arena_printf(f.arena, LIVE,
                         arena_printf(f.arena,
                                      ",'status':{'parents':[{'parentRef':%s,'conditions':[{"
                                      "'type':'Accepted','status':'%s',"
                                      "'observedGeneration':%d}]}]}",
                                      row->parent, row->status, row->observed)));
        const char *why = NULL;
        assert_int_equal(fixture_run(&f, router()->settled(f.tick, &why)),
                         row->settled ? VERDICT_GO : VERDICT_STOP);
        assert_true(row->settled || strstr(why, "HTTPRoute podinfo.test parent gw is not"));
    }
}

/* What is about to be written, the gateway cannot have taken over; one that says nothing of routes
 * is not asked. */
CASE(test_settled_after_the_plan)
{
    static const char says[] =
        ",'status':{'parents':[{'parentRef':{'group':'gateway.networking.k8s.io','kind':'Gateway',"
        "'name':'gw','namespace':'infra'},'conditions':[{'type':'Accepted','status':'True',"
        "'observedGeneration':3}]}]}";
    const struct weights weights = {.primary = 50, .canary = 50};

    for (int i = 0; i < 2; i++) {
        struct fixture f = gateway("");
        const char *why;
        fixture_put(&f, "httproutes/podinfo", arena_printf(f.arena, LIVE, i == 0 ? "" : says));
        assert_int_equal(fixture_run(&f, router()->settled(f.tick, &why)), VERDICT_GO);
        assert_int_equal(router()->set(f.tick, &weights), VERDICT_GO);
        assert_non_null(f.tick->plan->first);
        assert_int_equal(router()->settled(f.tick, &why), i == 0 ? VERDICT_GO : VERDICT_STOP);
    }
}

/* Somebody else's numbers, or none. */
CASE(test_odd_weights)
{
    static const struct {
        const char *backends;
        int canary;
    } cases[] = {
        {"[{'name':'podinfo-primary','weight':1},{'name':'podinfo-canary','weight':3}]", 75},
        {"[{'name':'podinfo-primary'},{'name':'podinfo-canary'}]", 50},
        {"[{'name':'podinfo-primary','weight':0},{'name':'podinfo-canary','weight':0}]", 0},
        {"[{'name':'podinfo-primary','weight':-5},{'name':'podinfo-canary','weight':50}]", 0},
        {"[{'name':'podinfo'}]", 0},
        {"[]", 0},
    };

    EACH_ROW (row, cases) {
        struct fixture f = gateway("");
        struct weights weights;
        fixture_put(
            &f, "httproutes/podinfo",
            arena_printf(f.arena, "{'spec':{'rules':[{'backendRefs':%s}]}}", row->backends));
        assert_int_equal(fixture_run(&f, router()->get(f.tick, &weights)), VERDICT_GO);
        assert_int_equal(weights.canary, row->canary);
        assert_int_equal(weights.primary, 100 - row->canary);
    }
}
