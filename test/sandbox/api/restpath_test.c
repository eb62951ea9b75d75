#include "api/restpath.h"
#include "object/try.h"

static void same(const char *found, const char *wanted)
{
    if (wanted) {
        assert_non_null(found);
        assert_string_equal(found, wanted);
    } else {
        assert_null(found);
    }
}

static void test_parse(void **state)
{
    static const struct {
        const char *path;
        struct restpath wanted;
    } cases[] = {
        {"/", {.group = NULL}},
        {"/healthz", {.group = NULL}},
        {"/api", {.group = NULL}},
        {"/api/v1", {.group = "", .version = "v1"}},
        {"/apis", {.group = NULL}},
        {"/apis/apps", {.group = "apps"}},
        {"/apis/apps/v1", {.group = "apps", .version = "v1"}},
        {"/api/v1/pods", {.resource = true, .group = "", .version = "v1", .plural = "pods"}},
        {"/api/v1/namespaces",
         {.resource = true, .group = "", .version = "v1", .plural = "namespaces"}},
        {"/api/v1/namespaces/x",
         {.resource = true, .group = "", .version = "v1", .plural = "namespaces", .name = "x"}},
        {"/api/v1/namespaces/x/status",
         {.resource = true,
          .group = "",
          .version = "v1",
          .plural = "namespaces",
          .name = "x",
          .sub = "status"}},
        {"/api/v1/namespaces/x/pods/",
         {.resource = true, .group = "", .version = "v1", .ns = "x", .plural = "pods"}},
        {"/api/v1/namespaces/x/pods/y/log",
         {.resource = true,
          .group = "",
          .version = "v1",
          .ns = "x",
          .plural = "pods",
          .name = "y",
          .sub = "log"}},
        {"/apis/apps/v1/namespaces/x/deployments/y",
         {.resource = true,
          .group = "apps",
          .version = "v1",
          .ns = "x",
          .plural = "deployments",
          .name = "y"}},
        {"/apis/g/v1/things/a%3Ab",
         {.resource = true, .group = "g", .version = "v1", .plural = "things", .name = "a:b"}},
        {"/apis/g/v1/things/a%3a",
         {.resource = true, .group = "g", .version = "v1", .plural = "things", .name = "a:"}},
        {"/apis/g/v1/things/a%",
         {.resource = true, .group = "g", .version = "v1", .plural = "things", .name = "a%"}},
        {"/api/v1/namespaces/x/pods/y/log/z",
         {.resource = true,
          .excess = true,
          .group = "",
          .version = "v1",
          .ns = "x",
          .plural = "pods",
          .name = "y",
          .sub = "log"}},
        {"/a/b/c/d/e/f/g/h/i/j/k/l/m/n", {.excess = true}},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct restpath found = restpath_parse(arena, cases[i].path);
        const struct restpath *wanted = &cases[i].wanted;
        assert_string_equal(found.full, cases[i].path);
        assert_int_equal(found.resource, wanted->resource);
        assert_int_equal(found.excess, wanted->excess);
        same(found.group, wanted->group);
        same(found.version, wanted->version);
        same(found.plural, wanted->plural);
        same(found.ns, wanted->ns);
        same(found.name, wanted->name);
        same(found.sub, wanted->sub);
    }
}

UNIT_MAIN(cmocka_unit_test(test_parse))
