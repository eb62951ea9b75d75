#include "object/try.h"
#include "object/typing.h"

/* Walks field by field; "[]" is an item. */
static struct typing walk(struct typing at, const char *const *path)
{
    for (; *path; path++)
        at = strcmp(*path, "[]") == 0 ? typing_item(at) : typing_field(at, *path);
    return at;
}

static void test_builtin(void **state)
{
    static const struct {
        const char *kind, *path[8];
        enum schema_list list;
        const char *merge_key, *keys;
    } cases[] = {
        {"Deployment", {"spec", "template", "spec", "containers"}, SCHEMA_LIST_MAP, "name", "name"},
        {"Deployment",
         {"spec", "template", "spec", "containers", "[]", "ports"},
         SCHEMA_LIST_MAP,
         "containerPort",
         "containerPort,protocol"},
        {"Deployment",
         {"spec", "template", "spec", "containers", "[]", "env"},
         SCHEMA_LIST_MAP,
         "name",
         "name"},
        {"Deployment",
         {"spec", "template", "spec", "containers", "[]", "args"},
         SCHEMA_LIST_ATOMIC,
         NULL,
         ""},
        {"Deployment", {"spec", "template", "spec", "tolerations"}, SCHEMA_LIST_ATOMIC, NULL, ""},
        {"Deployment", {"status", "conditions"}, SCHEMA_LIST_MAP, "type", "type"},
        {"Service", {"spec", "ports"}, SCHEMA_LIST_MAP, "port", "port,protocol"},
        {"Endpoints", {"subsets", "[]", "ports"}, SCHEMA_LIST_ATOMIC, NULL, ""},
        {"Ingress", {"spec", "rules"}, SCHEMA_LIST_ATOMIC, NULL, ""},
        {"HorizontalPodAutoscaler", {"spec", "metrics"}, SCHEMA_LIST_ATOMIC, NULL, ""},
        {"Pod", {"metadata", "ownerReferences"}, SCHEMA_LIST_MAP, "uid", "uid"},
        {"Pod",
         {"spec", "topologySpreadConstraints"},
         SCHEMA_LIST_MAP,
         "topologyKey",
         "topologyKey,whenUnsatisfiable"},
        {"Pod", {"spec", "hostAliases"}, SCHEMA_LIST_MAP, "ip", "ip"},
        {"Node", {"spec", "taints"}, SCHEMA_LIST_ATOMIC, "key", ""},
        {NULL, {"metadata", "ownerReferences"}, SCHEMA_LIST_MAP, "uid", "uid"},
        {NULL, {"spec", "containers"}, SCHEMA_LIST_ATOMIC, NULL, ""},
    };
    for (size_t i = 0; i < TRY_COUNT(cases); i++) {
        struct arena *arena TRY_FREED = arena_new();
        struct typing root = cases[i].kind ? typing_builtin(cases[i].kind) : typing_custom(NULL);
        struct typing at = walk(root, cases[i].path);
        const char *keys[TYPING_MAX_KEYS], *joined = "";
        size_t count = typing_list_keys(at, keys);
        for (size_t k = 0; k < count; k++)
            joined = arena_printf(arena, "%s%s%s", joined, k ? "," : "", keys[k]);
        assert_int_equal(typing_list(at), cases[i].list);
        assert_string_equal(joined, cases[i].keys);
        if (cases[i].merge_key)
            assert_string_equal(typing_merge_key(at), cases[i].merge_key);
        else
            assert_null(typing_merge_key(at));
    }
}

static void test_maps_and_sets(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct typing pod = typing_builtin("Deployment");
    struct typing spec = typing_field(pod, "spec");
    assert_true(typing_map_atomic(typing_field(spec, "selector")));
    assert_false(typing_map_atomic(typing_field(spec, "template")));
    struct typing finalizers = typing_field(typing_field(pod, "metadata"), "finalizers");
    assert_true(typing_merge_set(finalizers));
    assert_int_equal(typing_list(finalizers), SCHEMA_LIST_SET);
    struct json_object *tcp = typing_key_default(spec, arena, "protocol");
    assert_string_equal(json_object_get_string(tcp), "TCP");
    assert_null(typing_key_default(spec, arena, "name"));
}

static void test_custom(void **state)
{
    struct arena *arena TRY_FREED = arena_new();
    struct schema *schema = NULL;
    struct json_object *open_api = try_json(
        arena,
        "{'type':'object','properties':{'spec':{'type':'object','properties':{'l':{'type':'array','"
        "x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['k'],'items':{'type':'object',"
        "'properties':{'k':{'type':'string','default':'d'},'r':{'type':'object','x-kubernetes-map-"
        "type':'atomic'}}}},'containers':{'type':'array','items':{'type':'object'}}}}}}");
    assert_int_equal(schema_compile(open_api, &schema, NULL), ERR_OK);
    struct typing spec = typing_field(typing_custom(schema), "spec");
    struct typing list = typing_field(spec, "l");
    const char *keys[TYPING_MAX_KEYS];
    assert_int_equal(typing_list(list), SCHEMA_LIST_MAP);
    assert_int_equal(typing_list_keys(list, keys), 1);
    assert_string_equal(keys[0], "k");
    assert_string_equal(json_object_get_string(typing_key_default(list, arena, "k")), "d");
    assert_true(typing_map_atomic(typing_field(typing_item(list), "r")));
    assert_int_equal(typing_list(typing_field(spec, "containers")), SCHEMA_LIST_ATOMIC);
    assert_null(typing_merge_key(typing_field(spec, "containers")));
    schema_free(schema);
}

UNIT_MAIN(cmocka_unit_test(test_builtin), cmocka_unit_test(test_maps_and_sets),
          cmocka_unit_test(test_custom))
