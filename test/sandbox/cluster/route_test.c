
#include <string.h>

#include "cluster/route.h"
#include "test/unit.h"

static const char *resolve(void *arg, struct arena *arena, const char *ns, const char *name)
{
    (void)arg;
    (void)arena;
    (void)ns;
    return strcmp(name, "missing") == 0 ? NULL : "127.96.0.2";
}

static struct json_object *parse(struct arena *arena, const char *text)
{
    struct json_object *obj = json_own(arena, json_tokener_parse(text));
    assert_non_null(obj);
    return obj;
}

/* A route with the given rules; created orders them by age. */
static struct json_object *route(struct arena *arena, const char *name, int age, const char *spec)
{
    return parse(arena, arena_printf(arena,
                                     "{'metadata':{'name':'%s','namespace':'test','generation':3,'"
                                     "creationTimestamp':'2026-01-01T00:00:%02dZ'},'spec':%s}",
                                     name, 30 - age, spec));
}

#define BACKEND "'backendRefs':[{'name':'web','port':80}]"

static void precedence(void **state)
{
    struct arena *arena = arena_new();
    struct json_object *routes[] = {
        route(arena, "young", 1,
              "{'rules':[{" BACKEND "},{'matches':[{'path':{'type':'Exact','value':'/a'}}]," BACKEND
              "}]}"),
        route(arena, "old", 2,
              "{'rules':[{" BACKEND "},{'matches':[{'path':{'value':'/a/b'}},{'path':{'value':'/"
              "a'},'method':'GET'},{'path':{'value':'/a'}}]," BACKEND "}]}"),
        route(arena, "host", 0,
              "{'hostnames':['*.Example.com','www.example.com'],'rules':[{" BACKEND "}]}"),
        route(arena, "headers", 0,
              "{'rules':[{'matches':[{'headers':[{'name':'x','value':'1'}]},{'headers':[{'name':'x'"
              ",'value':'1'},{'name':'y','value':'1'}]},{'queryParams':[{'name':'q','value':'1'}]}]"
              "," BACKEND "}]}"),
        route(arena, "regex", 0,
              "{'rules':[{'matches':[{'path':{'type':'RegularExpression','value':'/r.*'}}]," BACKEND
              "}]}"),
    };
    static const struct {
        const char *rule, *host, *path;
        size_t headers, queries;
    } want[] = {
        {"test.host.0", "www.example.com", "/", 0, 0},
        {"test.host.0", "*.example.com", "/", 0, 0},
        {"test.young.1", NULL, "/a", 0, 0},
        {"test.regex.0", NULL, "/r.*", 0, 0},
        {"test.old.1", NULL, "/a/b", 0, 0},
        {"test.old.1", NULL, "/a", 0, 0},
        {"test.old.1", NULL, "/a", 0, 0},
        {"test.headers.0", NULL, "/", 2, 0},
        {"test.headers.0", NULL, "/", 1, 0},
        {"test.headers.0", NULL, "/", 0, 1},
        {"test.old.0", NULL, "/", 0, 0},
        {"test.young.0", NULL, "/", 0, 0},
    };
    struct route_table table;
    route_table_make(arena, routes, 5, resolve, NULL, &table);
    assert_int_equal(table.count, sizeof(want) / sizeof(want[0]));
    for (size_t i = 0; i < table.count; i++) {
        assert_string_equal(table.entries[i].rule->id, want[i].rule);
        assert_string_equal(table.entries[i].path, want[i].path);
        assert_int_equal(table.entries[i].header_count, want[i].headers);
        assert_int_equal(table.entries[i].query_count, want[i].queries);
        if (want[i].host)
            assert_string_equal(table.entries[i].host, want[i].host);
        else
            assert_null(table.entries[i].host);
    }
    assert_string_equal(table.entries[5].method, "GET");
    arena_free(arena);
}

static void refused(void **state)
{
    static const struct {
        const char *spec, *says;
    } cases[] = {
        {"{'rules':[{'backendRefs':[{'name':'web'}]}]}", "spec.rules[0].backendRefs[0]: port"},
        {"{'rules':[{'backendRefs':[{'name':'web','port':80,'weight':-1}]}]}", "weight"},
        {"{'rules':[{'backendRefs':[{'kind':'Bucket','name':'web','port':80}]}]}", "only Services"},
        {"{'rules':[{'filters':[{'type':'ExtensionRef'}]}]}",
         "spec.rules[0].filters[0].type ExtensionRef"},
        {"{'rules':[{'filters':[{'type':'RequestHeaderModifier','requestHeaderModifier':{'set':[{'"
         "name':'a b','value':'x'}]}}]}]}",
         "header name"},
        {"{\"rules\":[{\"filters\":[{\"type\":\"RequestHeaderModifier\",\"requestHeaderModifier\":{"
         "\"set\":[{\"name\":\"a\",\"value\":\"x\\ny\"}]}}]}]}",
         "header name"},
        {"{'rules':[{'matches':[{'path':{'value':'nope'}}]}]}", "absolute path"},
        {"{\"rules\":[{\"matches\":[{\"headers\":[{\"name\":\"x\",\"value\":\"\\n\"}]}]}]}",
         "spec.rules[0].matches[0].headers"},
        {"{'rules':[{'matches':[{'headers':[{'name':'x','type':'RegularExpression','value':'('}]}]}"
         "]}",
         "regular expression"},
        {"{'rules':[{'matches':[{'path':{'type':'RegularExpression','value':'*'}}]}]}",
         "regular expression"},
        {"{'rules':[{'timeouts':{'request':'soon'}}]}", "spec.rules[0].timeouts.request"},
        {"{'hostnames':['a b'],'rules':[{" BACKEND "}]}", "host names"},
        {"{'rules':[{'filters':[{'type':'RequestMirror','requestMirror':{'percent':101,'backendRef'"
         ":{'name':'b','port':80}}}]}]}",
         "percent"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena *arena = arena_new();
        struct json_object *routes[] = {route(arena, "bad", 0, cases[i].spec),
                                        route(arena, "good", 0, "{'rules':[{" BACKEND "}]}")};
        struct route_table table;
        route_table_make(arena, routes, 2, resolve, NULL, &table);
        assert_non_null(table.results[0].refused);
        assert_non_null(strstr(table.results[0].refused, cases[i].says));
        assert_null(table.results[1].refused);
        assert_int_equal(table.count,
                         1); /* nothing of the bad one is served, all of the good one is */
        assert_int_equal(table.rule_count, 1);
        arena_free(arena);
    }
}

static void parts(void **state)
{
    struct arena *arena = arena_new();
    struct json_object *routes[] = {
        route(arena, "web", 0,
              "{'parentRefs':[{'name':'gateway'}],'rules':[{'timeouts':{'request':'5s','"
              "backendRequest':'2s'},'filters':[{'type':'URLRewrite','urlRewrite':{'hostname':'h','"
              "path':{'type':'ReplacePrefixMatch','replacePrefixMatch':'/"
              "n'}}},{'type':'RequestMirror','requestMirror':{'fraction':{'numerator':1,'"
              "denominator':4},'backendRef':{'name':'copy','port':81}}}],'backendRefs':[{'name':'"
              "web','port':80,'weight':0,'filters':[{'type':'ResponseHeaderModifier','"
              "responseHeaderModifier':{'remove':['a'],'add':[{'name':'b','value':'c'}]}}]},{'name'"
              ":'missing','namespace':'other','port':80}]}]}")};
    struct route_table table;
    route_table_make(arena, routes, 1, resolve, NULL, &table);
    assert_null(table.results[0].refused);
    assert_non_null(strstr(table.results[0].unresolved, "no Service missing in namespace other"));
    assert_int_equal(table.results[0].generation, 3);
    const struct route_rule *rule = table.rules[0];
    assert_int_equal(rule->timeout_ms, 2000);
    assert_string_equal(rule->filters.host, "h");
    assert_string_equal(rule->filters.prefix_path, "/n");
    assert_int_equal(rule->mirror_count, 1);
    assert_true(rule->mirrors[0].percent > 24.9 && rule->mirrors[0].percent < 25.1);
    assert_string_equal(rule->mirrors[0].backend.address, "127.96.0.2:81");
    assert_int_equal(rule->backends[0].weight, 0);
    assert_int_equal(rule->backends[0].filters.response_count, 2);
    assert_int_equal(rule->backends[0].filters.response[0].op, ROUTE_REMOVE);
    assert_int_equal(rule->backends[1].weight, 1);
    assert_null(rule->backends[1].address);
    arena_free(arena);
}

UNIT_MAIN(cmocka_unit_test(precedence), cmocka_unit_test(refused), cmocka_unit_test(parts))
