#include "api/restaccept.h"
#include "object/try.h"

static void test_parse(void **state)
{
    static const struct {
        const char *header;
        struct restaccept wanted;
    } cases[] = {
        {NULL, {.acceptable = true}},
        {"", {.acceptable = true}},
        {"*/*", {.acceptable = true}},
        {"application/json", {.acceptable = true}},
        {"application/json;stream=watch", {.acceptable = true}},
        {"application/vnd.kubernetes.protobuf, application/json", {.acceptable = true}},
        {"application/yaml", {.acceptable = false}},
        {"text/html", {.acceptable = false}},
        {"application/json;as=Table;v=v1;g=meta.k8s.io,application/"
         "json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
         {.acceptable = true, .as = REST_AS_TABLE, .version = "v1"}},
        {"application/json;as=Table;v=v9;g=meta.k8s.io, application/json", {.acceptable = true}},
        {"application/json; as=Table; v=v1beta1; g=meta.k8s.io",
         {.acceptable = true, .as = REST_AS_TABLE, .version = "v1beta1"}},
        {"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
         {.acceptable = true, .as = REST_AS_PARTIAL, .version = "v1"}},
        {"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
         {.acceptable = true}},
        {"application/json;as=Nonsense", {.acceptable = false}},
        {";;,;", {.acceptable = false}},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct restaccept found = restaccept_parse(arena, cases[i].header);
        assert_int_equal(found.acceptable, cases[i].wanted.acceptable);
        if (found.acceptable)
            assert_int_equal(found.as, cases[i].wanted.as);
        if (cases[i].wanted.version)
            assert_string_equal(found.version, cases[i].wanted.version);
    }
}

UNIT_MAIN(cmocka_unit_test(test_parse))
