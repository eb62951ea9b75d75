/*
 * The tables of variants against the CRDs: a spec may name every variant that is served, and the
 * schema uses the table's name for it. (The schema allows more: accept.c refuses, by name, variants
 * that are not served yet.)
 */

#include <regex.h>
#include <string.h>

#include "base/file.h"
#include "base/yaml.h"
#include "metric/backend.h"
#include "notify/notify.h"
#include "router/router.h"
#include "scaler/scaler.h"
#include "target/target.h"
#include "test/unit.h"

enum { MAX_CRD = 1024 * 1024 };

/* The schema of spec in the storage version of a CRD. */
static struct json_object *spec_schema(struct arena *arena, const char *path)
{
    struct json_object *docs = NULL;
    struct errinfo info;
    if (yaml_parse_file(arena, path, MAX_CRD, &docs, &info) != ERR_OK)
        fail_msg("%s", info.text);
    struct json_object *versions = json_at(json_elem(docs, 0), "spec", "versions", NULL);
    for (size_t i = 0; i < json_len(versions); i++) {
        struct json_object *version = json_elem(versions, i);
        if (json_bool_at(version, false, "storage", NULL))
            return json_at(version, "schema", "openAPIV3Schema", "properties", "spec", "properties",
                           NULL);
    }
    fail_msg("%s has no storage version", path);
    return NULL;
}

static bool matches(const char *pattern, const char *text)
{
    regex_t regex;
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

/* True if the text is allowed by a schema's enum or pattern, in any of its alternatives. */
static bool allows(struct json_object *schema, const char *text)
{
    struct json_object *values = json_at(schema, "enum", NULL);
    for (size_t i = 0; i < json_len(values); i++)
        if (strcmp(json_object_get_string(json_elem(values, i)), text) == 0)
            return true;
    const char *pattern = json_str_at(schema, "pattern", NULL);
    if (pattern && matches(pattern, text))
        return true;
    struct json_object *any = json_at(schema, "anyOf", NULL);
    for (size_t i = 0; i < json_len(any); i++)
        if (allows(json_elem(any, i), text))
            return true;
    return false;
}

static void must_allow(struct json_object *schema, const char *what, const char *text)
{
    assert_non_null(schema);
    if (!allows(schema, text))
        fail_msg("%s: the schema does not allow %s, which is served", what, text);
}

CASE(routers_may_be_named)
{
    struct json_object *spec = spec_schema(arena, "proto/crd/canaries.yaml");
    for (const struct router *const *router = router_table; *router; router++) {
        for (const char *const *name = (*router)->providers; *name; name++) {
            if (!strchr(*name, '*'))
                must_allow(json_at(spec, "provider", NULL), "provider", *name);
        }
    }
    assert_false(allows(json_at(spec, "provider", NULL), "no-such-mesh"));
}

static void must_name(struct arena *arena, const char *text, const char *page, const char *provider)
{
    const char *quoted = arena_printf(arena, "`%.*s", (int)strcspn(provider, "*"), provider);
    if (!strstr(text, quoted))
        fail_msg("%s does not name the provider %s", page, provider);
}

CASE(routers_stand_on_the_pages)
{
    static const char *const pages[] = {"deploy/manual/canary.md", "controller/router/OBJECTS.md"};
    struct errinfo info;
    char *text;
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        if (file_read(arena, pages[i], MAX_CRD, &text, NULL, &info) != ERR_OK)
            fail_msg("%s", info.text);
        for (const struct router *const *router = router_table; *router; router++)
            for (const char *const *name = (*router)->providers; *name; name++)
                must_name(arena, text, pages[i], *name);
    }
}

CASE(targets_and_scalers_may_be_named)
{
    struct json_object *spec = spec_schema(arena, "proto/crd/canaries.yaml");
    for (const struct target *const *target = target_table; *target; target++)
        must_allow(json_at(spec, "targetRef", "properties", "kind", NULL), "targetRef.kind",
                   (*target)->kind);
    struct json_object *kinds = json_at(spec, "targetRef", "properties", "kind", "enum", NULL);
    assert_true(json_len(kinds) > 0);
    for (size_t i = 0; i < json_len(kinds); i++) {
        const char *kind = json_object_get_string(json_elem(kinds, i));
        if (!target_find("v1", kind))
            fail_msg("targetRef.kind: the schema allows %s, which is not released", kind);
    }
    for (const struct scaler *const *scaler = scaler_table; *scaler; scaler++)
        must_allow(json_at(spec, "autoscalerRef", "properties", "kind", NULL), "autoscalerRef.kind",
                   (*scaler)->kind);
}

CASE(metric_backends_may_be_named)
{
    struct json_object *spec = spec_schema(arena, "proto/crd/metrictemplates.yaml");
    for (const struct metric_backend *const *backend = metric_backend_table; *backend; backend++)
        must_allow(json_at(spec, "provider", "properties", "type", NULL), "provider.type",
                   (*backend)->type);
    struct json_object *types = json_at(spec, "provider", "properties", "type", "enum", NULL);
    assert_true(json_len(types) > 0);
    for (size_t i = 0; i < json_len(types); i++) {
        const char *type = json_object_get_string(json_elem(types, i));
        if (!metric_backend_find(type))
            fail_msg("provider.type: the schema allows %s, which is not asked", type);
    }
}

CASE(notifiers_may_be_named)
{
    struct json_object *spec = spec_schema(arena, "proto/crd/alertproviders.yaml");
    struct json_object *type = json_at(spec, "type", NULL);
    for (const struct notifier *const *notifier = notifier_table; *notifier; notifier++)
        must_allow(type, "type", (*notifier)->type);
    struct json_object *types = json_at(type, "enum", NULL);
    assert_true(json_len(types) > 0);
    for (size_t i = 0; i < json_len(types); i++) {
        const char *name = json_object_get_string(json_elem(types, i));
        if (!notifier_find(name))
            fail_msg("type: the schema allows %s, which nobody tells", name);
    }
}
