#include "api/objkind.h"

#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "object/meta.h"
#include "object/schema.h"

const char *objkind_storage_of(struct json_object *crd)
{
    struct json_object *versions = json_at(crd, "spec", "versions", NULL);
    for (size_t i = 0; i < json_len(versions); i++)
        if (json_bool_at(json_elem(versions, i), false, "storage", NULL))
            return json_str_at(json_elem(versions, i), "name", NULL);
    return NULL;
}

static void put_schema(void *schema)
{
    schema_free(schema);
}

static const char *const *text_list(struct arena *arena, struct json_object *list)
{
    const char **out = arena_array(arena, json_len(list) + 1, sizeof(*out));
    size_t count = 0;
    for (size_t i = 0; i < json_len(list); i++)
        if (json_object_is_type(json_elem(list, i), json_type_string))
            out[count++] = arena_strdup(arena, json_object_get_string(json_elem(list, i)));
    return out;
}

/* The warning for those who use a deprecated version; NULL for any other. */
static const char *deprecation_of(struct arena *arena, struct json_object *crd,
                                  struct json_object *version)
{
    const char *text = json_str_at(version, "deprecationWarning", NULL);
    if (!json_bool_at(version, false, "deprecated", NULL))
        return NULL;
    return text ? arena_strdup(arena, text)
                : arena_printf(arena, "%s/%s %s is deprecated",
                               json_str_at(crd, "spec", "group", NULL),
                               json_str_at(version, "name", NULL),
                               json_str_at(crd, "spec", "names", "kind", NULL));
}

static struct objversion read_version(struct arena *arena, struct json_object *crd,
                                      struct json_object *version)
{
    struct objversion out = {
        .name = arena_strdup(arena, json_str_at(version, "name", NULL)),
        .served = json_bool_at(version, false, "served", NULL),
        .deprecation = deprecation_of(arena, crd, version),
        .flags = json_at(version, "subresources", "status", NULL) ? OBJKIND_STATUS : 0,
    };
    struct json_object *scale = json_at(version, "subresources", "scale", NULL);
    out.scale = (struct objscale){
        .spec_replicas = arena_strdup(arena, json_str_at(scale, "specReplicasPath", NULL)),
        .status_replicas = arena_strdup(arena, json_str_at(scale, "statusReplicasPath", NULL)),
        .selector = arena_strdup(arena, json_str_at(scale, "labelSelectorPath", NULL)),
    };
    struct errinfo ei;
    struct schema *schema = NULL;
    struct json_object *open_api = json_at(version, "schema", "openAPIV3Schema", NULL);
    if (open_api && schema_compile(open_api, &schema, &ei) == ERR_OK) {
        arena_defer(arena, put_schema, schema);
        out.schema = schema;
    } else if (open_api) {
        log_warn("crd_schema", NULL, ei.text, LOG_STR("crd", meta_name(crd)));
    }
    out.columns = table_columns(arena, json_at(version, "additionalPrinterColumns", NULL));
    return out;
}

struct objkind objkind_of_crd(struct arena *arena, struct json_object *crd)
{
    struct json_object *spec = json_at(crd, "spec", NULL);
    struct json_object *names = json_at(spec, "names", NULL);
    struct json_object *list = json_at(spec, "versions", NULL);
    struct objversion *versions = arena_array(arena, json_len(list) + 1, sizeof(*versions));
    for (size_t i = 0; i < json_len(list); i++) {
        versions[i] = read_version(arena, crd, json_elem(list, i));
    }
    const char *scope = json_str_at(spec, "scope", NULL);
    struct objkind kind = {
        .kind = arena_strdup(arena, json_str_at(names, "kind", NULL)),
        .list_kind = arena_strdup(arena, json_str_at(names, "listKind", NULL)),
        .singular = arena_strdup(arena, json_str_at(names, "singular", NULL)),
        .short_names = text_list(arena, json_at(names, "shortNames", NULL)),
        .categories = text_list(arena, json_at(names, "categories", NULL)),
        .versions = versions,
        .storage = arena_strdup(arena, objkind_storage_of(crd)),
        .flags = OBJKIND_GENERATION,
        .served = true,
        .custom = true,
    };
    kind.flags |= strcmp(scope, "Namespaced") == 0 ? OBJKIND_NAMESPACED : 0;
    kind.flags |= objkind_version(&kind, kind.storage)->flags;
    return kind;
}

const struct objversion *objkind_version(const struct objkind *kind, const char *version)
{
    for (const struct objversion *v = kind->versions; v->name; v++)
        if (strcmp(v->name, version) == 0)
            return v;
    return NULL;
}

const char *objkind_api_version(struct arena *arena, const struct objkind *kind,
                                const char *version)
{
    return *kind->group ? arena_printf(arena, "%s/%s", kind->group, version) : version;
}

const char *objkind_resource(struct arena *arena, const struct objkind *kind)
{
    return *kind->group ? arena_printf(arena, "%s.%s", kind->plural, kind->group) : kind->plural;
}
