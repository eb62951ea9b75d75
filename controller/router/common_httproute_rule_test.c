/* The rules of an HTTPRoute byte for byte, in every state of a release; and read back again, as
 * they were written by us or by Flagger. */
#include "router/common_httproute.h"

#include "tick/fixture_test.h"

#define GATEWAY "'provider':'gatewayapi:v1','service':{'gatewayRefs':[{'name':'gw'}]%s},"
#define AB                                                                                         \
    "'analysis':{'iterations':2,'match':[{'headers':{'x':{'exact':'1'},'b':{'regex':'2.*'}}},{"    \
    "'queryParams':{'beta':{'exact':'1'}}}]}"
#define STICKY                                                                                     \
    "'analysis':{'iterations':null,'stepWeight':10,'sessionAffinity':{'cookieName':'stay',"        \
    "'primaryCookieName':'keep'}}"
#define MIRROR "'analysis':{'iterations':2,'mirror':true,'mirrorWeight':30}"

#define SERVICE(side, weight, more)                                                                \
    "{" more "'group':'','kind':'Service','name':'podinfo-" side "','port':80,'weight':" #weight "}"
#define TO(primary, canary)                                                                        \
    "'backendRefs':[" SERVICE("primary", primary, "") "," SERVICE("canary", canary, "") "]"
#define ALL_PATHS "'path':{'type':'PathPrefix','value':'/'}"
#define GIVES(cookie)                                                                              \
    "'filters':[{'responseHeaderModifier':{'add':[{'name':'Set-Cookie','value':'" cookie           \
    "'}]},'type':'ResponseHeaderModifier'}],"
#define HAS(cookie)                                                                                \
    "'matches':[{'headers':[{'name':'Cookie','type':'RegularExpression','value':'" cookie          \
    "'}]," ALL_PATHS "}]"

static const struct router *router(void)
{
    return router_find("gatewayapi:v1");
}

static struct fixture begin(const char *analysis, const char *service)
{
    struct arena *arena = arena_new();
    const char *spec = arena_printf(arena, "{'spec':{" GATEWAY "%s}}", service, analysis);
    struct fixture f = fixture_new(spec);

    arena_free(arena);
    fixture_run(&f, router()->reconcile(f.tick));
    json_set(f.objects, "httproutes/podinfo", f.tick->plan->first->body);
    return f;
}

/* Routes it, and leaves the route as the server has it then. */
static const char *routed(struct fixture *f, struct weights weights)
{
    struct json_object *live = json_at(f->objects, "httproutes/podinfo", NULL);

    assert_int_equal(fixture_run(f, router()->set(f->tick, &weights)), VERDICT_GO);
    if (f->tick->plan->first)
        live = json_merge(f->arena, live, f->tick->plan->first->body);
    json_set(f->objects, "httproutes/podinfo", live);
    return fixture_quoted(f, json_text_sorted(f->arena, json_at(live, "spec", "rules", NULL)));
}

static void same_cookie(const char *a, const char *b)
{
    assert_int_equal(a != NULL, b != NULL);
    if (a && b)
        assert_string_equal(a, b);
}

/* What get() says is what was set. */
static void read_back(struct fixture *f, struct weights weights)
{
    struct weights found;

    assert_int_equal(fixture_run(f, router()->get(f->tick, &found)), VERDICT_GO);
    assert_int_equal(found.primary, weights.primary);
    assert_int_equal(found.canary, weights.canary);
    assert_int_equal(found.mirrored, weights.mirrored);
    assert_int_equal(found.matched, weights.matched);
    assert_false(found.mirrors_all);
    same_cookie(found.cookies.canary, weights.cookies.canary);
    same_cookie(found.cookies.primary, weights.cookies.primary);
    same_cookie(found.cookies.previous, weights.cookies.previous);
}

CASE(test_ab)
{
    struct fixture f = begin(AB, ",'match':[{'uri':{'prefix':'/api'},'headers':{'X':{'exact':'0'},"
                                 "'y':{'exact':'3'}}}]");
    const struct weights weights = {.canary = 100, .matched = true};

    assert_string_equal(
        routed(&f, weights),
        "[{" TO(0, 100) ",'matches':[{'headers':[{'name':'b','type':'RegularExpression','value':"
                        "'2.*'},{'name':'x','type':'Exact','value':'1'},{'name':'y','type':'Exact',"
                        "'value':'3'}],"
                        "'path':{'type':'PathPrefix','value':'/"
                        "api'}},{'headers':[{'name':'X','type':'Exact',"
                        "'value':'0'},{'name':'y','type':'Exact','value':'3'}],'path':{'type':'"
                        "PathPrefix','value':"
                        "'/api'},'queryParams':[{'name':'beta','type':'Exact','value':'1'}]}]},"
                        "{'backendRefs':[{'group':'','kind':'Service','name':'podinfo-primary','"
                        "port':80,'weight':"
                        "100}],'matches':[{'headers':[{'name':'X','type':'Exact','value':'0'},{'"
                        "name':'y','type':"
                        "'Exact','value':'3'}],'path':{'type':'PathPrefix','value':'/api'}}]}]");
    read_back(&f, weights);
}

CASE(test_ab_for_everybody)
{
    struct fixture f = begin(AB, "");
    const struct weights weights = {.canary = 100};

    assert_string_equal(routed(&f, weights), "[{" TO(0, 100) ",'matches':[{" ALL_PATHS "}]}]");
    read_back(&f, weights);
}

CASE(test_mirror)
{
    struct fixture f = begin(MIRROR, ",'headers':{'request':{'set':{'a':'1'}}}");
    const struct weights weights = {.primary = 100, .mirrored = true};

    assert_string_equal(
        routed(&f, weights),
        "[{" TO(100, 0) ",'filters':[{'requestHeaderModifier':{'set':[{'name':'a','value':'1'}]},"
                        "'type':'RequestHeaderModifier'},{'requestMirror':{'backendRef':{'group':"
                        "'','kind':'Service','name':'podinfo-canary','port':80},'percent':30},"
                        "'type':'RequestMirror'}],'matches':[{" ALL_PATHS "}]}]");
    read_back(&f, weights);
    assert_string_equal(
        routed(&f, (struct weights){.primary = 70, .canary = 30}),
        "[{" TO(70, 30) ",'filters':[{'requestHeaderModifier':{'set':[{'name':'a','value':'1'}]},"
                        "'type':'RequestHeaderModifier'}],'matches':[{" ALL_PATHS "}]}]");
}

/* A mirror of the spec's own is not the analysis's. */
CASE(test_mirror_elsewhere)
{
    struct fixture f = begin(MIRROR, ",'mirror':[{'backendRef':{'name':'copy','port':80}}]");

    read_back(&f, (struct weights){.primary = 100});
    routed(&f, (struct weights){.primary = 100, .mirrored = true});
    read_back(&f, (struct weights){.primary = 100, .mirrored = true});
}

CASE(test_sticky)
{
    struct fixture f = begin(STICKY, "");
    const struct weights weights = {
        .primary = 70, .canary = 30, .cookies = {.canary = "stay=abc", .primary = "keep=xyz"}};

    static const char to_primary[] = SERVICE("primary", 70, GIVES("keep=xyz; Max-Age=60"));
    static const char to_canary[] = SERVICE("canary", 30, GIVES("stay=abc; Max-Age=86400"));
    assert_string_equal(routed(&f, weights),
                        arena_printf(f.arena,
                                     "[{%s,%s},{%s,%s},{'backendRefs':[%s,%s],'matches':[{%s}]}]",
                                     TO(0, 100), HAS(".*stay.*abc.*"), TO(100, 0),
                                     HAS(".*keep.*xyz.*"), to_primary, to_canary, ALL_PATHS));
    read_back(&f, weights);
}

CASE(test_cookie_taken_back)
{
    struct fixture f = begin(STICKY, "");
    const struct weights weights = {.primary = 100, .cookies = {.previous = "stay=abc"}};

    static const char to_primary[] = SERVICE("primary", 100, GIVES("stay=abc; Max-Age=-1"));
    static const char to_canary[] = SERVICE("canary", 0, "");
    assert_string_equal(routed(&f, weights),
                        arena_printf(f.arena, "[{'backendRefs':[%s,%s],%s},{%s,'matches':[{%s}]}]",
                                     to_primary, to_canary, HAS(".*stay.*abc.*"), TO(100, 0),
                                     ALL_PATHS));
    read_back(&f, weights);
}

/* A step forward and one back leave nothing of each other in the rules. */
CASE(test_there_and_back)
{
    struct fixture f = begin(STICKY, "");
    const struct weights back = {.primary = 100, .cookies = {.previous = "stay=abc"}};
    const char *before = routed(&f, back);

    routed(&f, (struct weights){.primary = 70, .canary = 30, .cookies = {.canary = "stay=def"}});
    routed(&f, (struct weights){.canary = 100, .cookies = {.canary = "stay=def"}});
    assert_string_equal(routed(&f, back), before);
}

/* In the middle of a release, and after one. */
CASE(test_what_flagger_wrote)
{
    static const char to_primary[] = SERVICE("primary", 60, GIVES("keep=xyz; Max-Age=60"));
    static const char to_canary[] = SERVICE("canary", 40, GIVES("stay=abc; Max-Age=86400"));
    struct fixture f = begin(STICKY, "");
    const char *running = arena_printf(
        f.arena, "{'spec':{'rules':[{%s,%s},{%s,%s},{'matches':[{%s}],'backendRefs':[%s,%s]}]}}",
        HAS(".*stay.*abc.*"), TO(0, 100), HAS(".*keep.*xyz.*"), TO(100, 0), ALL_PATHS, to_primary,
        to_canary);
    const char *over = arena_printf(f.arena, "{'spec':{'rules':[{%s,%s%s},{'matches':[{%s}],%s}]}}",
                                    HAS(".*stay.*abc.*"), GIVES("stay=abc; Max-Age=-1"), TO(100, 0),
                                    ALL_PATHS, TO(100, 0));

    fixture_put(&f, "httproutes/podinfo", running);
    read_back(&f, (struct weights){.primary = 60,
                                   .canary = 40,
                                   .cookies = {.canary = "stay=abc", .primary = "keep=xyz"}});
    fixture_put(&f, "httproutes/podinfo", over);
    read_back(&f, (struct weights){.primary = 100, .cookies = {.previous = "stay=abc"}});
}

CASE(test_mirror_without_its_share)
{
    struct fixture f = begin(MIRROR, "");
    struct weights weights = {.primary = 100, .mirrored = true};

    routed(&f, weights);
    struct json_object *live = json_at(f.objects, "httproutes/podinfo", NULL);
    struct json_object *filters =
        json_at(json_elem(json_at(live, "spec", "rules", NULL), 0), "filters", NULL);
    json_object_object_del(json_at(json_elem(filters, 0), "requestMirror", NULL), "percent");
    fixture_run(&f, router()->get(f.tick, &weights));
    assert_true(weights.mirrors_all);
    /* and it is not asked for again and again */
    fixture_run(&f, router()->reconcile(f.tick));
    assert_int_equal(f.tick->plan->count, 0);
}

/* What the spec no longer asks for leaves nothing in what it asks for now. */
CASE(test_another_filter_in_its_place)
{
    static const char *const before[] = {
        "[{'type':'RequestHeaderModifier','requestHeaderModifier':{'set':[{'name':'a','value':'1'}]"
        "}}]",
        "[{'type':'URLRewrite','urlRewrite':{'hostname':'h.test','path':{'type':"
        "'ReplacePrefixMatch','replacePrefixMatch':'/y'}}}]",
    };

    EACH_ROW (row, before) {
        struct fixture f = begin(MIRROR, ",'rewrite':{'uri':'/x'}");
        struct json_object *live = json_at(f.objects, "httproutes/podinfo", NULL);
        json_set(json_elem(json_at(live, "spec", "rules", NULL), 0), "filters",
                 fixture_json(f.arena, *row));
        assert_string_equal(
            routed(&f, (struct weights){.primary = 100}),
            "[{" TO(100, 0) ",'filters':[{'type':'URLRewrite','urlRewrite':{'path':{"
                            "'replaceFullPath':'/x','type':'ReplaceFullPath'}}}],'matches':["
                            "{" ALL_PATHS "}]}]");
    }
}

/* The product of both lists is what the API counts. */
CASE(test_too_many_matches)
{
    const char *list = "{'uri':{'exact':'/0'}}";

    for (int i = 1; i < 33; i++)
        list = arena_printf(arena, "%s,{'uri':{'exact':'/%d'}}", list, i);
    struct fixture f = fixture_new(arena_printf(arena, "{'spec':{" GATEWAY AB "}}",
                                                arena_printf(arena, ",'match':[%s]", list)));
    assert_string_equal(router()->check(f.arena, &f.canary),
                        "spec.analysis.match: with spec.service.match it makes 66 matches, the "
                        "Gateway API takes 64 of a rule");
}
