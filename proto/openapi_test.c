/*
 * The OpenAPI documents of the load tester and the gate: they parse, every reference is defined,
 * every operation lists its responses and required roles, and every example matches its schema.
 */
#include <string.h>

#include "base/yaml.h"
#include "test/unit.h"

static const char *const documents[] = {"proto/openapi/gate.yaml", "proto/openapi/loadtester.yaml"};
enum { N_DOCUMENTS = sizeof documents / sizeof documents[0] };

struct doc {
    struct arena *arena;
    const char *path;
    struct json_object *root;
};

static struct doc open_doc(const char *path)
{
    struct doc doc = {.arena = arena_new(), .path = path};
    struct json_object *docs;
    struct errinfo ei;
    if (yaml_parse_file(doc.arena, path, 1024 * 1024, &docs, &ei) != ERR_OK)
        fail_msg("%s", ei.text);
    assert_int_equal(json_len(docs), 1);
    doc.root = json_elem(docs, 0);
    return doc;
}

/* The object of the reference "#/components/x/y", or obj itself if it is not a reference. */
static struct json_object *resolve(const struct doc *doc, struct json_object *obj)
{
    const char *ref = json_str_at(obj, "$ref", NULL);
    if (ref == NULL)
        return obj;
    if (strncmp(ref, "#/", 2) != 0)
        fail_msg("%s: %s leads out of the document", doc->path, ref);
    struct json_object *at = doc->root;
    char *rest = arena_strdup(doc->arena, ref + 2);
    for (char *key; (key = strsep(&rest, "/")) != NULL;)
        at = json_at(at, key, NULL);
    if (at == NULL)
        fail_msg("%s: %s leads nowhere", doc->path, ref);
    return at;
}

static void check_references(const struct doc *doc, struct json_object *obj)
{
    if (json_object_is_type(obj, json_type_object)) {
        assert_non_null(resolve(doc, obj));
        json_object_object_foreach(obj, key, value)
        {
            (void)key;
            check_references(doc, value);
        }
    }
    for (size_t i = 0; json_object_is_type(obj, json_type_array) && i < json_len(obj); i++)
        check_references(doc, json_elem(obj, i));
}

static void check_schema(const struct doc *doc, struct json_object *schema, bool described)
{
    static const char *const types[] = {"object",  "array",  "string",
                                        "integer", "number", "boolean"};
    if (json_at(schema, "$ref", NULL) != NULL)
        return; /* a schema of its own, checked with the components */
    const char *type = json_str_at(schema, "type", NULL);
    bool known = false;
    EACH_ROW (row, types)
        known = known || (type != NULL && strcmp(*row, type) == 0);
    if (!known)
        fail_msg("%s: no type in %s", doc->path, json_text(doc->arena, schema));
    if (described && json_str_at(schema, "description", NULL) == NULL)
        fail_msg("%s: no description in %s", doc->path, json_text(doc->arena, schema));
    struct json_object *properties = json_at(schema, "properties", NULL);
    if (properties != NULL) {
        json_object_object_foreach(properties, key, property)
        {
            (void)key;
            check_schema(doc, property, true);
        }
    }
    struct json_object *required = json_at(schema, "required", NULL);
    for (size_t i = 0; i < json_len(required); i++)
        assert_non_null(json_at(properties, json_object_get_string(json_elem(required, i)), NULL));
    if (strcmp(type, "array") == 0)
        check_schema(doc, json_at(schema, "items", NULL), false);
}

static bool has_type(struct json_object *value, const char *type)
{
    switch (json_object_get_type(value)) {
    case json_type_object:
        return strcmp(type, "object") == 0;
    case json_type_array:
        return strcmp(type, "array") == 0;
    case json_type_string:
        return strcmp(type, "string") == 0;
    case json_type_int:
        return strcmp(type, "integer") == 0 || strcmp(type, "number") == 0;
    case json_type_double:
        return strcmp(type, "number") == 0;
    case json_type_boolean:
        return strcmp(type, "boolean") == 0;
    default:
        return false;
    }
}

static bool in_enum(struct json_object *values, struct json_object *value)
{
    if (values == NULL)
        return true;
    for (size_t i = 0; i < json_len(values); i++) {
        if (json_same(json_elem(values, i), value))
            return true;
    }
    return false;
}

static void check_example(const struct doc *doc, struct json_object *reference,
                          struct json_object *value)
{
    struct json_object *schema = resolve(doc, reference);
    if (!has_type(value, json_str_at(schema, "type", NULL)) ||
        !in_enum(json_at(schema, "enum", NULL), value))
        fail_msg("%s: the example %s is not what %s says", doc->path, json_text(doc->arena, value),
                 json_text(doc->arena, schema));
    struct json_object *required = json_at(schema, "required", NULL);
    for (size_t i = 0; i < json_len(required); i++)
        assert_non_null(json_at(value, json_object_get_string(json_elem(required, i)), NULL));
    for (size_t i = 0; json_object_is_type(value, json_type_array) && i < json_len(value); i++)
        check_example(doc, json_at(schema, "items", NULL), json_elem(value, i));
    if (!json_object_is_type(value, json_type_object))
        return;
    json_object_object_foreach(value, key, field)
    {
        struct json_object *property = json_at(schema, "properties", key, NULL);
        if (property == NULL)
            property = json_at(schema, "additionalProperties", NULL);
        if (property == NULL)
            fail_msg("%s: the example has %s, which its schema has not", doc->path, key);
        check_example(doc, property, field);
    }
}

static void check_content(const struct doc *doc, struct json_object *content)
{
    json_object_object_foreach(content, type, media)
    {
        struct json_object *schema = json_at(media, "schema", NULL);
        struct json_object *example = json_at(media, "example", NULL);
        struct json_object *examples = json_at(media, "examples", NULL);
        if (schema == NULL || (example == NULL && examples == NULL))
            fail_msg("%s: %s without schema or example", doc->path, type);
        check_schema(doc, schema, false);
        if (example != NULL)
            check_example(doc, schema, example);
        if (examples != NULL) {
            json_object_object_foreach(examples, name, one)
            {
                (void)name;
                assert_non_null(json_str_at(one, "summary", NULL));
                check_example(doc, schema, json_at(one, "value", NULL));
            }
        }
    }
}

static void check_operation(const struct doc *doc, const char *where, struct json_object *operation)
{
    if (json_str_at(operation, "operationId", NULL) == NULL ||
        json_str_at(operation, "summary", NULL) == NULL ||
        json_len(json_at(operation, "tags", NULL)) != 1)
        fail_msg("%s: %s lacks operationId, summary or tag", doc->path, where);
    struct json_object *body = json_at(operation, "requestBody", NULL);
    if (body != NULL)
        check_content(doc, json_at(resolve(doc, body), "content", NULL));
    struct json_object *responses = json_at(operation, "responses", NULL);
    assert_true(json_object_object_length(responses) > 0);
    json_object_object_foreach(responses, code, reference)
    {
        struct json_object *response = resolve(doc, reference);
        if (strlen(code) != 3 || json_str_at(response, "description", NULL) == NULL)
            fail_msg("%s: %s: response %s lacks a description", doc->path, where, code);
        struct json_object *content = json_at(response, "content", NULL);
        if (content != NULL)
            check_content(doc, content);
    }
}

/* Operations with credentials may respond with 401, and changes with 403. */
static void check_security(const struct doc *doc, const char *where, struct json_object *operation)
{
    if (json_at(doc->root, "components", "securitySchemes", NULL) == NULL)
        return;
    struct json_object *security = json_at(operation, "security", NULL);
    if (security == NULL)
        security = json_at(doc->root, "security", NULL);
    struct json_object *responses = json_at(operation, "responses", NULL);
    bool secured = json_len(security) > 0, changes = strncmp(where, "get ", 4) != 0;
    if (secured != (json_at(responses, "401", NULL) != NULL))
        fail_msg("%s: %s: 401 belongs to operations with security", doc->path, where);
    if (secured && changes && json_at(responses, "403", NULL) == NULL)
        fail_msg("%s: %s: can be refused, but lacks 403", doc->path, where);
    for (size_t i = 0; i < json_len(security); i++) {
        json_object_object_foreach(json_elem(security, i), name, scopes)
        {
            (void)scopes;
            assert_non_null(
                json_at(doc->root, "components", "securitySchemes", name, "type", NULL));
        }
    }
}

CASE(test_documents)
{
    for (size_t i = 0; i < N_DOCUMENTS; i++) {
        struct doc doc = open_doc(documents[i]);
        assert_string_equal(json_str_at(doc.root, "openapi", NULL), "3.0.3");
        assert_non_null(json_str_at(doc.root, "info", "title", NULL));
        assert_string_equal(json_str_at(doc.root, "info", "version", NULL), FLAGGER_VERSION);
        check_references(&doc, doc.root);
        struct json_object *schemas = json_at(doc.root, "components", "schemas", NULL);
        json_object_object_foreach(schemas, name, schema)
        {
            (void)name;
            check_schema(&doc, schema, true);
        }
        arena_free(doc.arena);
    }
}

CASE(test_operations)
{
    for (size_t i = 0; i < N_DOCUMENTS; i++) {
        struct doc doc = open_doc(documents[i]);
        struct json_object *ids = json_own(doc.arena, json_object_new_object());
        struct json_object *paths = json_at(doc.root, "paths", NULL);
        json_object_object_foreach(paths, path, item)
        {
            json_object_object_foreach(item, method, operation)
            {
                const char *where = arena_printf(doc.arena, "%s %s", method, path);
                check_operation(&doc, where, operation);
                check_security(&doc, where, operation);
                const char *id = json_str_at(operation, "operationId", NULL);
                if (json_at(ids, id, NULL) != NULL)
                    fail_msg("%s: %s stands there twice", documents[i], id);
                json_set_bool(ids, id, true);
            }
        }
        arena_free(doc.arena);
    }
}

CASE(test_paths)
{
    static const struct {
        const char *document, *path, *method;
    } cases[] = {
        {"proto/openapi/gate.yaml", "/gate/check", "post"},
        {"proto/openapi/gate.yaml", "/gate/open", "post"},
        {"proto/openapi/gate.yaml", "/gate/close", "post"},
        {"proto/openapi/gate.yaml", "/gate/approve", "post"},
        {"proto/openapi/gate.yaml", "/gate/halt", "post"},
        {"proto/openapi/gate.yaml", "/rollback/check", "post"},
        {"proto/openapi/gate.yaml", "/rollback/open", "post"},
        {"proto/openapi/gate.yaml", "/rollback/close", "post"},
        {"proto/openapi/gate.yaml", "/v1/whoami", "get"},
        {"proto/openapi/gate.yaml", "/v1/gates", "get"},
        {"proto/openapi/gate.yaml", "/v1/gates/{namespace}/{name}", "get"},
        {"proto/openapi/gate.yaml", "/v1/gates/{namespace}/{name}/open", "post"},
        {"proto/openapi/gate.yaml", "/v1/gates/{namespace}/{name}/approve", "post"},
        {"proto/openapi/gate.yaml", "/v1/gates/{namespace}/{name}/close", "post"},
        {"proto/openapi/gate.yaml", "/v1/gates/{namespace}/{name}/policy", "put"},
        {"proto/openapi/gate.yaml", "/v1/gates/{namespace}/{name}/policy", "delete"},
        {"proto/openapi/gate.yaml", "/v1/freezes", "get"},
        {"proto/openapi/gate.yaml", "/v1/freezes", "post"},
        {"proto/openapi/gate.yaml", "/v1/freezes/{id}", "delete"},
        {"proto/openapi/gate.yaml", "/v1/history", "get"},
        {"proto/openapi/gate.yaml", "/v1/events", "get"},
        {"proto/openapi/gate.yaml", "/v1/links", "post"},
        {"proto/openapi/gate.yaml", "/links/{token}", "get"},
        {"proto/openapi/gate.yaml", "/links/{token}", "post"},
        {"proto/openapi/gate.yaml", "/", "get"},
        {"proto/openapi/gate.yaml", "/page/{file}", "get"},
        {"proto/openapi/gate.yaml", "/debug/process", "get"},
        {"proto/openapi/gate.yaml", "/healthz", "get"},
        {"proto/openapi/gate.yaml", "/readyz", "get"},
        {"proto/openapi/gate.yaml", "/metrics", "get"},
        {"proto/openapi/loadtester.yaml", "/", "post"},
        {"proto/openapi/loadtester.yaml", "/tasks", "get"},
        {"proto/openapi/loadtester.yaml", "/debug/process", "get"},
        {"proto/openapi/loadtester.yaml", "/healthz", "get"},
        {"proto/openapi/loadtester.yaml", "/readyz", "get"},
        {"proto/openapi/loadtester.yaml", "/metrics", "get"},
    };
    EACH_ROW (row, cases) {
        struct doc doc = open_doc(row->document);
        if (json_at(doc.root, "paths", row->path, row->method, NULL) == NULL)
            fail_msg("%s lacks %s", row->document, row->path);
        arena_free(doc.arena);
    }
}
