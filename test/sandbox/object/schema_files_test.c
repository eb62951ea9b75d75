/*
 * Schemas in the wild: every CRD of the peers compiles, our own accept the Flagger manifests.
 * Skipped where the collected files are not beside the source.
 */
#include <dirent.h>

#include "base/yaml.h"
#include "object/schema.h"
#include "object/try.h"

static struct json_object *read_docs(struct arena *arena, const char *path)
{
    struct json_object *docs = NULL;
    struct errinfo ei = {0};
    if (yaml_parse_file(arena, path, JSON_MAX_BYTES, &docs, &ei))
        fail_msg("%s", ei.text);
    return docs;
}

/* Calls visit for each YAML file of a folder; skips the test when there is no such folder. */
static void each_file(const char *folder, void (*visit)(struct arena *arena, const char *path))
{
    DIR *dir = opendir(folder);
    if (!dir)
        skip();
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!strstr(entry->d_name, ".yaml"))
            continue;
        struct arena *arena TRY_FREED = arena_new();
        visit(arena, arena_printf(arena, "%s/%s", folder, entry->d_name));
    }
    closedir(dir);
}

static size_t compiled;

static void compile_file(struct arena *arena, const char *path)
{
    struct json_object *docs = read_docs(arena, path);
    for (size_t i = 0; i < json_len(docs); i++) {
        struct json_object *crd = json_elem(docs, i);
        struct json_object *versions = json_at(crd, "spec", "versions", NULL);
        for (size_t k = 0; k < json_len(versions); k++) {
            struct json_object *open_api =
                json_at(json_elem(versions, k), "schema", "openAPIV3Schema", NULL);
            struct schema *schema = NULL;
            struct errinfo ei = {0};
            if (open_api && schema_compile(open_api, &schema, &ei))
                fail_msg("%s: %s: %s", path, json_str_at(crd, "metadata", "name", NULL), ei.text);
            compiled += open_api != NULL;
            schema_free(schema);
        }
    }
}

static void test_peers(void **state)
{
    compiled = 0;
    each_file("../shared/crds", compile_file);
    assert_true(compiled > 30);
}

static const struct {
    const char *kind, *path;
} ours[] = {
    {"Canary", "proto/crd/canaries.yaml"},
    {"MetricTemplate", "proto/crd/metrictemplates.yaml"},
    {"AlertProvider", "proto/crd/alertproviders.yaml"},
};

/* The schema for an object of flagger.app; NULL for other objects. */
static struct schema *schema_for(struct arena *arena, struct json_object *obj)
{
    const char *kind = json_str_at(obj, "kind", NULL);
    const char *api_version = json_str_at(obj, "apiVersion", NULL);
    for (size_t i = 0; kind && api_version && i < TRY_COUNT(ours); i++) {
        if (strcmp(ours[i].kind, kind) != 0 || strncmp(api_version, "flagger.app/", 12) != 0)
            continue;
        struct json_object *crd = json_elem(read_docs(arena, ours[i].path), 0);
        struct json_object *versions = json_at(crd, "spec", "versions", NULL);
        for (size_t k = 0; k < json_len(versions); k++) {
            struct json_object *version = json_elem(versions, k);
            struct schema *schema = NULL;
            struct errinfo ei = {0};
            if (strcmp(json_str_at(version, "name", NULL), api_version + 12) != 0)
                continue;
            if (schema_compile(json_at(version, "schema", "openAPIV3Schema", NULL), &schema, &ei))
                fail_msg("%s: %s", ours[i].path, ei.text);
            return schema;
        }
    }
    return NULL;
}

static size_t checked, refused;

static void check_file(struct arena *arena, const char *path)
{
    struct json_object *docs = read_docs(arena, path);
    for (size_t i = 0; i < json_len(docs); i++) {
        struct json_object *obj = json_elem(docs, i);
        struct schema *schema = schema_for(arena, obj);
        struct causes causes = {.arena = arena};
        struct schema_paths unknown;
        if (!schema)
            continue;
        schema_prune(schema, arena, obj, &unknown);
        schema_default(schema, obj);
        checked++;
        if (!schema_validate(schema, obj, &causes) || unknown.count > 0) {
            refused++;
            print_message("%s: %s %s: %s%s\n", path, json_str_at(obj, "kind", NULL),
                          json_str_at(obj, "metadata", "name", NULL), cause_text(&causes),
                          unknown.count ? unknown.paths[0] : "");
        }
        schema_free(schema);
    }
}

static void test_manifests(void **state)
{
    checked = refused = 0;
    each_file("../shared/manifests", check_file);
    assert_true(checked > 40);
    assert_int_equal(refused, 1); /* the one AlertProvider that the schema refuses upstream too */
}

UNIT_MAIN(cmocka_unit_test(test_peers), cmocka_unit_test(test_manifests))
