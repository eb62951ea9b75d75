/*
 * The custom resource definitions. The sandbox, with an API server, tests that they accept and
 * reject the right objects.
 */
#include <string.h>

#include "base/file.h"
#include "base/yaml.h"
#include "proto/phase.h"
#include "test/unit.h"

enum { MAX_BYTES = 1024 * 1024 };

struct definition {
    const char *path, *kind, *plural, *columns;
    const char *alpha; /* its only version; NULL: v1beta1 and v1alpha3 */
    const char *group; /* NULL: flagger.app */
    bool no_status;
};

static const struct definition definitions[] = {
    {"proto/crd/canaries.yaml", "Canary", "canaries",
     "Status Weight (Share) (Suspended) (FailedChecks) (Interval) (Mirror) (StepWeight) "
     "(StepWeights) "
     "(MaxWeight) LastTransitionTime",
     .alpha = NULL},
    {"proto/crd/metrictemplates.yaml", "MetricTemplate", "metrictemplates", "Provider",
     .alpha = NULL},
    {"proto/crd/alertproviders.yaml", "AlertProvider", "alertproviders", "Type", .alpha = NULL},
    {"proto/crd/releaserequests.yaml", "ReleaseRequest", "releaserequests",
     "Action Revision By Why", .alpha = "v1alpha1", .no_status = true},
    {"deploy/fleet/applications.yaml", "Application", "applications", "Fleet", .alpha = "v1alpha1",
     .group = "apps.kurator.dev"},
    {"deploy/fleet/releaseplans.yaml", "ReleasePlan", "releaseplans", "Phase Revision Message",
     .alpha = "v1alpha1"},
};
enum { N_DEFINITIONS = sizeof definitions / sizeof definitions[0] };

static struct json_object *read_one(struct arena *arena, const char *path)
{
    struct json_object *docs;
    struct errinfo ei;
    if (yaml_parse_file(arena, path, MAX_BYTES, &docs, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    assert_int_equal(json_len(docs), 1);
    return json_elem(docs, 0);
}

static struct json_object *version(struct json_object *crd, size_t index)
{
    return json_elem(json_at(crd, "spec", "versions", NULL), index);
}

static struct json_object *canary_schema(struct arena *arena)
{
    return json_at(version(read_one(arena, definitions[0].path), 0), "schema", "openAPIV3Schema",
                   "properties", NULL);
}

CASE(test_names_and_versions)
{
    for (size_t i = 0; i < N_DEFINITIONS; i++) {
        const struct definition *d = &definitions[i];
        struct json_object *crd = read_one(arena, d->path);
        const char *group = d->group ? d->group : "flagger.app";
        assert_string_equal(json_str_at(crd, "apiVersion", NULL), "apiextensions.k8s.io/v1");
        assert_string_equal(json_str_at(crd, "kind", NULL), "CustomResourceDefinition");
        assert_string_equal(json_str_at(crd, "metadata", "name", NULL),
                            arena_printf(arena, "%s.%s", d->plural, group));
        /* Uninstalling the chart must not delete every Canary. */
        assert_string_equal(
            json_str_at(crd, "metadata", "annotations", "helm.sh/resource-policy", NULL), "keep");
        assert_string_equal(json_str_at(crd, "spec", "group", NULL), group);
        assert_string_equal(json_str_at(crd, "spec", "scope", NULL), "Namespaced");
        assert_string_equal(json_str_at(crd, "spec", "names", "kind", NULL), d->kind);
        assert_string_equal(json_str_at(crd, "spec", "names", "plural", NULL), d->plural);
        assert_string_equal(
            json_object_get_string(json_elem(json_at(crd, "spec", "names", "categories", NULL), 0)),
            "all");
        assert_string_equal(json_str_at(crd, "spec", "conversion", "strategy", NULL), "None");
        size_t n = d->alpha ? 1 : 2;
        assert_int_equal(json_len(json_at(crd, "spec", "versions", NULL)), n);
        assert_string_equal(json_str_at(version(crd, 0), "name", NULL),
                            d->alpha ? d->alpha : "v1beta1");
        for (size_t v = 0; v < n; v++) {
            assert_true(json_bool_at(version(crd, v), false, "served", NULL));
            assert_int_equal(json_bool_at(version(crd, v), false, "storage", NULL), v == 0);
            assert_int_equal(json_at(version(crd, v), "subresources", "status", NULL) == NULL,
                             d->no_status);
        }
        if (!d->alpha)
            assert_string_equal(json_str_at(version(crd, 1), "name", NULL), "v1alpha3");
    }
}

/* Nothing converts between the versions, so they must be the same. */
CASE(test_versions_are_alike)
{
    for (size_t i = 0; i < N_DEFINITIONS; i++) {
        struct json_object *crd = read_one(arena, definitions[i].path);
        static const char *const keys[] = {"schema", "additionalPrinterColumns", "subresources"};
        EACH_ROW (row, keys) {
            if (definitions[i].alpha)
                continue;
            assert_non_null(json_at(version(crd, 0), *row, NULL));
            assert_true(json_same(json_at(version(crd, 0), *row, NULL),
                                  json_at(version(crd, 1), *row, NULL)));
        }
    }
}

CASE(test_printer_columns)
{
    for (size_t i = 0; i < N_DEFINITIONS; i++) {
        struct json_object *columns = json_at(version(read_one(arena, definitions[i].path), 0),
                                              "additionalPrinterColumns", NULL);
        const char *text = "";
        for (size_t c = 0; c < json_len(columns); c++) {
            struct json_object *column = json_elem(columns, c);
            bool wide = json_int_at(column, 0, "priority", NULL) > 0;
            text = arena_printf(arena, "%s%s%s%s%s", text, c > 0 ? " " : "", wide ? "(" : "",
                                json_str_at(column, "name", NULL), wide ? ")" : "");
        }
        assert_string_equal(text, definitions[i].columns);
    }
}

/* `kubectl explain` has a description of every field, and every field has a type. */
static size_t check_properties(struct arena *arena, struct json_object *schema, const char *path)
{
    size_t n = 0;
    struct json_object *properties = json_at(schema, "properties", NULL);
    if (properties != NULL) {
        json_object_object_foreach(properties, key, property)
        {
            const char *at = arena_printf(arena, "%s.%s", path, key);
            const char *text = json_str_at(property, "description", NULL);
            /* The API server has its own description of metadata, and allows no other. */
            if (strcmp(at, ".metadata") != 0 && (text == NULL || strlen(text) < 7))
                fail_msg("%s has no description", at);
            if (text != NULL && text[strlen(text) - 1] != '.')
                fail_msg("%s: the description is no sentence: %s", at, text);
            if (json_at(property, "type", NULL) == NULL &&
                json_at(property, "x-kubernetes-int-or-string", NULL) == NULL &&
                json_at(property, "x-kubernetes-preserve-unknown-fields", NULL) == NULL)
                fail_msg("%s has no type", at);
            n += 1 + check_properties(arena, property, at);
        }
    }
    struct json_object *items = json_at(schema, "items", NULL);
    struct json_object *values = json_at(schema, "additionalProperties", NULL);
    if (items != NULL)
        n += check_properties(arena, items, arena_printf(arena, "%s[]", path));
    if (values != NULL)
        n += check_properties(arena, values, arena_printf(arena, "%s.*", path));
    return n;
}

CASE(test_every_property_is_described)
{
    static const size_t at_least[N_DEFINITIONS] = {300, 10, 8, 7, 60, 50};
    for (size_t i = 0; i < N_DEFINITIONS; i++) {
        struct json_object *schema = json_at(version(read_one(arena, definitions[i].path), 0),
                                             "schema", "openAPIV3Schema", NULL);
        assert_non_null(json_str_at(schema, "description", NULL));
        assert_true(check_properties(arena, schema, "") >= at_least[i]);
    }
}

static void check_enum(struct json_object *property, const char *const *names, size_t n)
{
    struct json_object *values = json_at(property, "enum", NULL);
    assert_int_equal(json_len(values), n);
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (size_t k = 0; k < n; k++)
            found = found || strcmp(json_object_get_string(json_elem(values, k)), names[i]) == 0;
        if (!found)
            fail_msg("\"%s\" is missing", names[i]);
    }
}

CASE(test_enums_follow_the_tables)
{
    static const char *const phases[] = {
        "",
#define PHASE(name, promoted, message) #name,
#include "proto/phase.def"
#undef PHASE
    };
    static const char *const hooks[] = {
        "",
#define HOOK_TYPE(id, name, gate) name,
#include "proto/hook_type.def"
#undef HOOK_TYPE
    };
    struct json_object *root = canary_schema(arena);
    check_enum(json_at(root, "status", "properties", "phase", NULL), phases,
               sizeof phases / sizeof phases[0]);
    check_enum(json_at(root, "spec", "properties", "analysis", "properties", "webhooks", "items",
                       "properties", "type", NULL),
               hooks, sizeof hooks / sizeof hooks[0]);
}

/* The old form has the same fields, but not the rule that allows only one. */
CASE(test_both_spellings_of_analysis)
{
    struct json_object *spec = json_at(canary_schema(arena), "spec", "properties", NULL);
    struct json_object *analysis = json_at(spec, "analysis", NULL);
    struct json_object *legacy = json_at(spec, "canaryAnalysis", NULL);
    assert_true(
        json_same(json_at(analysis, "properties", NULL), json_at(legacy, "properties", NULL)));
    assert_int_equal(json_len(json_at(analysis, "oneOf", NULL)), 4);
    assert_null(json_at(legacy, "oneOf", NULL));
    assert_null(json_at(legacy, "required", NULL));
}

/* As yamllint checks them: no tabs, no blanks at the end of a line, no line too long, one newline
 * at the end. */
CASE(test_the_files_are_tidy)
{
    for (size_t i = 0; i < N_DEFINITIONS; i++) {
        char *text;
        size_t len;
        assert_int_equal(file_read(arena, definitions[i].path, MAX_BYTES, &text, &len, NULL),
                         ERR_OK);
        assert_null(strchr(text, '\t'));
        assert_true(len > 2 && text[len - 1] == '\n' && text[len - 2] != '\n');
        size_t line = 1;
        for (char *at = text; *at != '\0'; line++) {
            size_t width = strcspn(at, "\n");
            if (width > 120 || (width > 0 && at[width - 1] == ' '))
                fail_msg("%s:%zu: too wide, or a space at the end", definitions[i].path, line);
            at += width + 1;
        }
    }
}
