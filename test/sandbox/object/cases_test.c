/* The functions on JSON objects, by the rows of cases.yaml; and what is too long for a row. */
#include <dirent.h>

#include "base/clock.h"
#include "object/cases.h"
#include "object/form.h"
#include "object/managed.h"
#include "object/meta.h"
#include "object/patch.h"
#include "object/pattern.h"
#include "object/schema.h"
#include "object/selector.h"
#include "object/table.h"
#include "test/rows.h"

/* --- schemas */

static struct schema *compile(struct arena *arena, struct json_object *open_api)
{
    struct schema *schema = NULL;
    struct errinfo ei;
    if (schema_compile(open_api, &schema, &ei) != ERR_OK)
        fail_msg("%s: %s", json_text(arena, open_api), ei.text);
    return schema;
}

static struct json_object *no_schema(struct arena *arena, struct json_object *row)
{
    struct schema *schema = NULL;
    struct errinfo ei = {0};
    enum err err = schema_compile(json_at(row, "schema", NULL), &schema, &ei);
    schema_free(schema);
    return err == ERR_OK ? NULL : cases_error(arena, &ei);
}

static struct json_object *prune(struct arena *arena, struct json_object *row)
{
    struct schema *schema = compile(arena, json_at(row, "schema", NULL));
    struct json_object *obj = json_at(row, "obj", NULL), *again = json_copy(arena, obj);
    struct schema_paths unknown;
    const char *text = "";
    schema_prune(schema, arena, obj, &unknown);
    schema_prune(schema, arena, again, NULL);
    assert_true(json_same(obj, again));
    schema_free(schema);
    for (size_t i = 0; i < unknown.count; i++)
        text = arena_printf(arena, "%s%s%s", text, i ? " " : "", unknown.paths[i]);
    return form(arena, "{obj: %p, unknown: %s}", obj, text);
}

/* What was set is the object's own: the schema keeps its defaults. */
static struct json_object *defaults(struct arena *arena, struct json_object *row)
{
    struct schema *schema = compile(arena, json_at(row, "schema", NULL));
    struct json_object *obj = json_at(row, "obj", NULL), *first = json_copy(arena, obj);
    schema_default(schema, first);
    json_set_str(json_sub(first, "spec"), "foo", "changed");
    schema_default(schema, obj);
    schema_free(schema);
    return obj;
}

static struct causes validated(struct arena *arena, struct json_object *row)
{
    struct schema *schema = compile(arena, json_at(row, "schema", NULL));
    struct causes causes = {.arena = arena};
    bool ok = schema_validate(schema, json_at(row, "obj", NULL), &causes);
    assert_int_equal(ok, causes.count == 0);
    schema_free(schema);
    return causes;
}

static struct json_object *validate(struct arena *arena, struct json_object *row)
{
    struct causes causes = validated(arena, row);
    return cases_text(arena, cause_text(&causes));
}

static struct json_object *reasons(struct arena *arena, struct json_object *row)
{
    struct causes causes = validated(arena, row);
    struct json_object *out = json_own(arena, json_object_new_array());
    for (size_t i = 0; i < json_len(causes.list); i++) {
        struct json_object *cause = json_elem(causes.list, i);
        const char *field = json_str_at(cause, "field", NULL);
        const char *reason = json_str_at(cause, "reason", NULL);
        form_add(out, form(arena, "%s", arena_printf(arena, "%s %s", reason, field ? field : "")));
    }
    return out;
}

/* --- our CRDs */

/* All that is wrong with an object of ours, in one line; "" if it is accepted. A field that is not
 * known counts as wrong. NULL: its kind is none of ours. */
static const char *judge(struct arena *arena, struct json_object *obj)
{
    static const struct {
        const char *kind, *path;
    } ours[] = {
        {"Canary", "proto/crd/canaries.yaml"},
        {"MetricTemplate", "proto/crd/metrictemplates.yaml"},
        {"AlertProvider", "proto/crd/alertproviders.yaml"},
        {"ReleaseRequest", "proto/crd/releaserequests.yaml"},
        {"Application", "deploy/fleet/applications.yaml"},
        {"ReleasePlan", "deploy/fleet/releaseplans.yaml"},
    };
    const char *kind = json_str_at(obj, "kind", NULL), *path = NULL;
    struct causes causes = {.arena = arena};
    struct schema_paths unknown;
    for (size_t i = 0; kind && i < TRY_COUNT(ours); i++)
        path = strcmp(ours[i].kind, kind) == 0 ? ours[i].path : path;
    if (!path)
        return NULL;
    struct json_object *versions =
        json_at(json_elem(rows_read(arena, path), 0), "spec", "versions", NULL);
    struct schema *schema =
        compile(arena, json_at(json_elem(versions, 0), "schema", "openAPIV3Schema", NULL));
    schema_prune(schema, arena, obj, &unknown);
    for (size_t i = 0; i < unknown.count; i++)
        cause_add(&causes, CAUSE_INVALID, unknown.paths[i], "unknown field");
    schema_default(schema, obj);
    schema_validate(schema, obj, &causes);
    schema_free(schema);
    return cause_text(&causes);
}

static const char *judge_row(struct arena *arena, struct json_object *row)
{
    return judge(arena, json_merge(arena, json_at(row, "base", NULL), json_at(row, "patch", NULL)));
}

static struct json_object *accepted(struct arena *arena, struct json_object *row)
{
    return cases_text(arena, judge_row(arena, row));
}

/* The field, and a part of what is said about it. */
static struct json_object *refused(struct arena *arena, struct json_object *row)
{
    const char *text = judge_row(arena, row);
    struct json_object *want = json_at(row, "want", NULL);
    for (size_t i = 0; i < 2; i++)
        if (!strstr(text, json_object_get_string(json_elem(want, i))))
            return cases_text(arena, text);
    return want;
}

static struct json_object *filled(struct arena *arena, struct json_object *row)
{
    struct json_object *obj =
        json_merge(arena, json_at(row, "base", NULL), json_at(row, "patch", NULL));
    assert_string_equal(judge(arena, obj), "");
    return jsonpath_first(arena, obj, json_str_at(row, "path", NULL));
}

/* Calls visit for each document of each YAML file of a folder beside the source; skips the test
 * when there is no such folder. */
static void each_document(const char *folder,
                          void (*visit)(struct arena *arena, struct json_object *doc))
{
    DIR *dir = opendir(folder);
    if (!dir)
        skip();
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct arena *arena TRY_FREED = arena_new();
        if (!strstr(entry->d_name, ".yaml"))
            continue;
        struct json_object *docs =
            rows_read(arena, arena_printf(arena, "%s/%s", folder, entry->d_name));
        for (size_t i = 0; i < json_len(docs); i++)
            visit(arena, json_elem(docs, i));
    }
    closedir(dir);
}

static int compiled, agreed, disagreed;

static void compile_crd(struct arena *arena, struct json_object *crd)
{
    struct json_object *versions = json_at(crd, "spec", "versions", NULL);
    for (size_t i = 0; i < json_len(versions); i++) {
        struct json_object *open_api =
            json_at(json_elem(versions, i), "schema", "openAPIV3Schema", NULL);
        if (open_api)
            schema_free(compile(arena, open_api));
        compiled += open_api != NULL;
    }
}

CASE(test_peers)
{
    compiled = 0;
    each_document("test/data/crds", compile_crd);
    assert_true(compiled > 30);
}

static void judge_manifest(struct arena *arena, struct json_object *obj)
{
    const char *text = judge(arena, obj);
    if (text && *text && strcmp(json_str_at(obj, "kind", NULL), "AlertProvider") != 0)
        fail_msg("%s: %s", json_str_at(obj, "metadata", "name", NULL), text);
    agreed += text && !*text;
    disagreed += text && *text;
}

/* One of them, an AlertProvider with both an address and a Secret, is refused by its own schema
 * too. */
CASE(test_manifests)
{
    agreed = disagreed = 0;
    each_document("test/data/manifests", judge_manifest);
    assert_int_equal(agreed, 92);
    assert_int_equal(disagreed, 1);
}

/* --- patches */

static struct json_object *patched(struct arena *arena, struct json_object *row)
{
    const char *kind = json_str_at(row, "kind", NULL); /* of a strategic one */
    struct json_object *target = json_at(row, "target", NULL), *patch = json_at(row, "patch", NULL);
    struct json_object *before = json_copy(arena, row), *out = NULL;
    struct errinfo ei = {0};
    enum err err = kind ? patch_strategic(arena, kind, target, patch, &out, &ei)
                        : patch_json(arena, target, patch, &out, &ei);
    assert_true(json_same(row, before));
    assert_true(err == ERR_OK || !out);
    return err == ERR_OK ? out : cases_error(arena, &ei);
}

/* --- patterns and selectors */

static struct json_object *pattern(struct arena *arena, struct json_object *row)
{
    static const char *const lists[] = {"matches", "others"};
    struct pattern *compiled_pattern = NULL;
    struct errinfo ei = {0};
    bool all = true;
    if (pattern_compile(json_str_at(row, "pattern", NULL), PATTERN_CHARACTERS, &compiled_pattern,
                        &ei) != ERR_OK)
        return cases_error(arena, &ei);
    for (size_t k = 0; k < 2; k++) {
        struct json_object *texts = json_at(row, lists[k], NULL);
        for (size_t i = 0; i < json_len(texts); i++) {
            const char *text = json_object_get_string(json_elem(texts, i));
            all = all && pattern_match(compiled_pattern, text, strlen(text)) == (k == 0);
        }
    }
    pattern_free(compiled_pattern);
    return cases_bool(arena, all);
}

/* A text is as long as it says, and may be no UTF-8. */
CASE(test_bytes)
{
    struct pattern *one = NULL;
    assert_int_equal(pattern_compile("^a\\x00b$", PATTERN_CHARACTERS, &one, NULL), ERR_OK);
    assert_true(pattern_match(one, "a\0b", 3));
    assert_false(pattern_match(one, "a\0b", 1));
    pattern_free(one);
    assert_int_equal(pattern_compile("^[äö]+$", PATTERN_CHARACTERS, &one, NULL), ERR_OK);
    assert_false(pattern_match(one, "\xc3", 1));
    pattern_free(one);
    char text[PATTERN_MAX_BYTES + 2];
    struct errinfo ei;
    memset(text, 'a', sizeof(text));
    text[PATTERN_MAX_BYTES + 1] = 0;
    assert_int_equal(pattern_compile(text, PATTERN_CHARACTERS, &one, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "longer than"));
}

/* Whether labels match, or why the selector is none; more: its text is shown as well. */
static struct json_object *selected(struct arena *arena, struct json_object *row, enum err err,
                                    const struct selector *selector, const struct errinfo *ei,
                                    bool more)
{
    if (err != ERR_OK)
        return cases_error(arena, ei);
    bool match = selector_match(selector, json_at(row, "labels", NULL));
    return more ? form(arena, "{match: %i, text: %s}", match, selector_text(selector))
                : cases_bool(arena, match);
}

static struct json_object *labels(struct arena *arena, struct json_object *row)
{
    const struct selector *selector = NULL;
    struct errinfo ei = {0};
    const char *text = json_str_at(row, "selector", NULL);
    enum err err = selector_parse(arena, text ? text : "", &selector, &ei);
    return selected(arena, row, err, selector, &ei, false);
}

static struct json_object *label_objects(struct arena *arena, struct json_object *row)
{
    const struct selector *selector = NULL;
    struct errinfo ei = {0};
    enum err err = selector_from_object(arena, json_at(row, "selector", NULL), &selector, &ei);
    return selected(arena, row, err, selector, &ei, true);
}

static struct json_object *label_maps(struct arena *arena, struct json_object *row)
{
    const struct selector *selector = NULL;
    struct errinfo ei = {0};
    enum err err = selector_from_map(arena, json_at(row, "selector", NULL), &selector, &ei);
    return selected(arena, row, err, selector, &ei, false);
}

static struct json_object *fields(struct arena *arena, struct json_object *row)
{
    const struct fields *selector = NULL;
    struct errinfo ei = {0};
    const char *wanted = json_str_at(row, "wanted", NULL);
    if (fields_parse(arena, json_str_at(row, "kind", NULL), json_str_at(row, "selector", NULL),
                     &selector, &ei) != ERR_OK)
        return cases_error(arena, &ei);
    if (wanted)
        return cases_text(arena, fields_wanted(selector, wanted));
    return cases_bool(arena, fields_match(selector, json_at(row, "obj", NULL)));
}

/* --- tables */

static struct json_object *age(struct arena *arena, struct json_object *row)
{
    char text[TABLE_AGE];
    return cases_text(arena, table_age(json_int_at(row, 0, "ms", NULL), text));
}

static struct json_object *cell(struct arena *arena, struct json_object *row)
{
    const struct table_column columns[] = {
        {.name = "C",
         .type = json_str_at(row, "type", NULL),
         .path = json_str_at(row, "path", NULL)},
        {0},
    };
    struct table_request request = {.include = TABLE_NONE};
    struct json_object *items = json_own(arena, json_object_new_array());
    assert_int_equal(clock_parse("2026-01-01T00:05:00Z", &request.now_ms, NULL), ERR_OK);
    json_object_array_add(items, json_object_get(json_at(row, "obj", NULL)));
    struct json_object *out = table_render(arena, columns, &request, items, NULL);
    return json_elem(json_at(json_elem(json_at(out, "rows", NULL), 0), "cells", NULL), 1);
}

static struct json_object *table(struct arena *arena, struct json_object *row)
{
    const struct table_request request = {
        .version = json_str_at(row, "version", NULL),
        .include = table_include_of(json_str_at(row, "include", NULL)),
        .no_definitions = json_bool_at(row, false, "no_definitions", NULL),
    };
    return table_render(arena, table_columns(arena, json_at(row, "columns", NULL)), &request,
                        json_at(row, "items", NULL), json_at(row, "list", NULL));
}

/* --- the rest */

static struct json_object *json_path(struct arena *arena, struct json_object *row)
{
    return jsonpath_first(arena, json_at(row, "obj", NULL), json_str_at(row, "path", NULL));
}

static struct json_object *int_or_percent(struct arena *arena, struct json_object *row)
{
    struct errinfo ei = {0};
    int out;
    if (intstr_scaled(json_at(row, "value", NULL), (int)json_int_at(row, 0, "total", NULL),
                      json_bool_at(row, false, "up", NULL), -1, &out, &ei) != ERR_OK)
        return cases_error(arena, &ei);
    return json_own(arena, json_object_new_int(out));
}

static const char *rows_text(struct arena *arena, struct json_object *list)
{
    const char *text = "";
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *entry = json_elem(list, i);
        text = arena_printf(arena, "%s%s@%c %s\n", text, json_str_at(entry, "manager", NULL),
                            json_str_at(entry, "time", NULL)[18],
                            json_text(arena, json_at(entry, "fieldsV1", NULL)));
    }
    return text;
}

static struct json_object *managed(struct arena *arena, struct json_object *row)
{
    struct json_object *steps = json_at(row, "steps", NULL), *old = NULL;
    for (size_t i = 0; i < json_len(steps); i++) {
        struct json_object *step = json_elem(steps, i), *obj = json_at(step, "obj", NULL);
        managed_note(arena, obj, old, json_str_at(step, "manager", NULL),
                     json_str_at(step, "subresource", NULL), (int64_t)i * 1000);
        const char *text = rows_text(arena, json_at(obj, "metadata", "managedFields", NULL));
        if (strcmp(text, json_str_at(step, "want", NULL)) != 0)
            return cases_text(arena, text);
        old = obj;
    }
    return cases_bool(arena, true);
}

/* --- limits */

CASE(test_depth)
{
    struct json_object *inner = json_object_new_object();
    json_set_str(inner, "type", "object");
    for (int i = 0; i <= SCHEMA_MAX_DEPTH; i++) {
        struct json_object *outer = json_object_new_object();
        json_set_str(outer, "type", "array");
        json_object_object_add(outer, "items", inner);
        inner = outer;
    }
    struct schema *schema = NULL;
    struct errinfo ei;
    assert_int_equal(schema_compile(inner, &schema, &ei), ERR_INVALID);
    assert_non_null(strstr(ei.text, "nested deeper than"));
    json_object_put(inner);
}

CASE(test_prune_many)
{
    struct schema *schema = compile(arena, try_json(arena, "{'type':'object'}"));
    struct json_object *obj = json_own(arena, json_object_new_object());
    struct schema_paths unknown;
    for (int i = 0; i < 1000; i++)
        json_set_int(obj, arena_printf(arena, "k%d", i), i);
    schema_prune(schema, arena, obj, &unknown);
    assert_int_equal(unknown.count, CAUSE_MAX);
    assert_string_equal(unknown.paths[CAUSE_MAX - 1], "k99");
    assert_int_equal(json_object_object_length(obj), 0);
    schema_free(schema);
}

static const struct cases_group groups[] = {
    {"accepted by our CRDs", accepted},
    {"refused by our CRDs", refused},
    {"defaults of our CRDs", filled},
    {"schemas that are none", no_schema},
    {"prune", prune},
    {"defaults", defaults},
    {"validate", validate},
    {"reasons", reasons},
    {"JSON patch", patched},
    {"strategic patch", patched},
    {"pattern", pattern},
    {"labels", labels},
    {"label selector objects", label_objects},
    {"label selector maps", label_maps},
    {"fields", fields},
    {"age", age},
    {"cell", cell},
    {"table", table},
    {"JSON path", json_path},
    {"int or percent", int_or_percent},
    {"managed fields", managed},
};

CASES("test/sandbox/object/cases.yaml", groups)
