/* The rows of the plain fields agree with the CRD. */
#include <stdio.h>
#include <string.h>

#include "base/yaml.h"
#include "proto/canary_parts.h"
#include "test/unit.h"

enum { MAX_BYTES = 1024 * 1024 };

static const char *const types[] = {
    [FIELD_INT] = "integer",     [FIELD_INT64] = "integer",  [FIELD_BOOL] = "boolean",
    [FIELD_DURATION] = "string", [FIELD_NAME] = "string",    [FIELD_WORD] = "string",
    [FIELD_SECOND] = "string",   [FIELD_WEIGHT] = "integer", [FIELD_SHARE] = "number",
};

/* The properties of the object at "spec.analysis.metrics", for a list those of its elements. */
static struct json_object *properties(struct json_object *schema, const char *path)
{
    for (const char *at = path; *at; at += strspn(at, ".")) {
        char key[64];
        size_t len = strcspn(at, ".");
        snprintf(key, sizeof(key), "%.*s", (int)len, at);
        schema = json_at(schema, "properties", key, NULL);
        if (json_at(schema, "items", NULL))
            schema = json_at(schema, "items", NULL);
        at += len;
    }
    return json_at(schema, "properties", NULL);
}

static void check_words(const struct canary_field *field, struct json_object *words)
{
    size_t n = 0;

    for (; field->words && field->words[n]; n++) {
        const char *word = json_object_get_string(json_elem(words, n));
        if (!word || strcmp(field->words[n], word) != 0)
            fail_msg("%s: the CRD has no word %s at %zu", field->name, field->words[n], n);
    }
    assert_int_equal(n, json_len(words));
}

static void check(const struct canary_field *field, struct json_object *property)
{
    const char *type = json_str_at(property, "type", NULL);

    if (!type || strcmp(type, types[field->type]) != 0)
        fail_msg("%s: the CRD has the type %s", field->name, type);
    if (field->type == FIELD_INT || field->type == FIELD_INT64 || field->type == FIELD_WEIGHT) {
        if (json_at(property, "maximum", NULL))
            assert_int_equal(json_int_at(property, -1, "maximum", NULL), field->max);
        if (json_at(property, "minimum", NULL))
            assert_int_equal(json_int_at(property, -1, "minimum", NULL), field->min);
    }
    if (field->type == FIELD_DURATION)
        assert_non_null(json_str_at(property, "pattern", NULL));
    if (field->type == FIELD_WORD || field->type == FIELD_SECOND)
        check_words(field, json_at(property, "enum", NULL));
}

CASE(test_the_crd_has_each_field_with_its_bounds)
{
    struct json_object *docs;
    struct errinfo ei;

    assert_int_equal(yaml_parse_file(arena, "proto/crd/canaries.yaml", MAX_BYTES, &docs, &ei),
                     ERR_OK);
    struct json_object *versions = json_at(json_elem(docs, 0), "spec", "versions", NULL);
    struct json_object *schema = json_at(json_elem(versions, 0), "schema", "openAPIV3Schema", NULL);
    for (int i = 0; i < FIELDS_COUNT; i++) {
        struct json_object *known = properties(schema, canary_groups[i].path);
        for (const struct canary_field *field = canary_groups[i].fields; field->name; field++)
            check(field, json_at(known, field->name, NULL));
    }
}
