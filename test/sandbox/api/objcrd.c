/*
 * Kinds from CustomResourceDefinitions. Applying a CRD makes its kind served at once: Kubernetes'
 * two controllers (names, establishing) are done when the object is stored.
 */
#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"
#include "base/clock.h"
#include "base/log.h"
#include "object/form.h"
#include "object/meta.h"
#include "object/schema.h"
#include "object/table.h"

static struct objcustom *find_custom(struct objstore *store, const char *group, const char *plural)
{
    for (struct objcustom *custom = store->customs; custom; custom = custom->next)
        if (strcmp(custom->kind.group, group) == 0 && strcmp(custom->kind.plural, plural) == 0)
            return custom;
    return NULL;
}

/* Another kind of the group that has one of the names already; NULL when they are free. */
static const char *taken_name(struct objstore *store, struct json_object *crd)
{
    const char *group = json_str_at(crd, "spec", "group", NULL);
    const char *plural = json_str_at(crd, "spec", "names", "plural", NULL);
    const char *kind = json_str_at(crd, "spec", "names", "kind", NULL);
    const struct objkind *same_plural = objstore_kind(store, group, plural);
    if (same_plural && !same_plural->custom)
        return plural;
    const struct objkind *same_kind = objstore_kind_named(store, group, kind);
    return same_kind && strcmp(same_kind->plural, plural) != 0 ? kind : NULL;
}

static const char *storage_version(struct json_object *crd)
{
    struct json_object *versions = json_at(crd, "spec", "versions", NULL);
    for (size_t i = 0; i < json_len(versions); i++)
        if (json_bool_at(json_elem(versions, i), false, "storage", NULL))
            return json_str_at(json_elem(versions, i), "name", NULL);
    return NULL;
}

void objcrd_status(struct objstore *store, struct json_object *crd)
{
    static const struct {
        const char *type, *status, *reason, *message;
    } rows[] = {
        {"NamesAccepted", "True", "NoConflicts", "no conflicts found"},
        {"Established", "True", "InitialNamesAccepted", "the initial names have been accepted"},
        {"NamesAccepted", "False", "NamesConflict", NULL},
        {"Established", "False", "NotAccepted", "not all names are accepted"},
    };
    struct arena *arena = arena_new();
    struct json_object *before = json_at(crd, "status", NULL), *conditions = form(arena, "[]");
    struct json_object *versions = json_copy(arena, json_at(before, "storedVersions", NULL));
    const char *taken = taken_name(store, crd), *version = storage_version(crd);
    bool known = false;
    for (size_t i = taken ? 2 : 0; i < (taken ? 4 : 2); i++)
        meta_add_condition(arena, conditions, json_at(before, "conditions", NULL), rows[i].type,
                           rows[i].status, rows[i].reason,
                           rows[i].message
                               ?: arena_printf(arena, "\"%s\" is already in use", taken),
                           meta_time(arena, clock_wall_ms()));
    if (!json_object_is_type(versions, json_type_array))
        versions = form(arena, "[]");
    for (size_t i = 0; i < json_len(versions); i++)
        known |= strcmp(json_object_get_string(json_elem(versions, i)) ?: "", version) == 0;
    if (!known)
        json_object_array_add(versions, json_object_new_string(version));
    struct json_object *names = taken ? form(arena, "{}") : json_at(crd, "spec", "names", NULL);
    json_set(crd, "status",
             form(arena, "{conditions: %p, acceptedNames: %p, storedVersions: %p}", conditions,
                  json_copy(arena, names), versions));
    arena_free(arena);
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

struct objkind objcrd_kind(struct arena *arena, struct json_object *crd)
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
        .storage = arena_strdup(arena, storage_version(crd)),
        .flags = OBJKIND_GENERATION,
        .served = true,
        .custom = true,
    };
    kind.flags |= strcmp(scope, "Namespaced") == 0 ? OBJKIND_NAMESPACED : 0;
    kind.flags |= objkind_version(&kind, kind.storage)->flags;
    return kind;
}

static bool is_established(struct json_object *crd)
{
    return meta_condition_true(json_at(crd, "status", "conditions", NULL), "Established");
}

void objcrd_changed(struct objstore *store, struct json_object *before, struct json_object *after)
{
    struct json_object *either = after ? after : before;
    const char *group = json_str_at(either, "spec", "group", NULL);
    const char *plural = json_str_at(either, "spec", "names", "plural", NULL);
    struct objcustom *custom = find_custom(store, group, plural);
    if (!after || !is_established(after)) {
        if (custom)
            custom->kind.served = false;
        return;
    }
    if (custom && before && custom->kind.served &&
        json_same(json_at(before, "spec", NULL), json_at(after, "spec", NULL)))
        return;
    struct objset *set = objset_of(store, group, plural);
    if (!custom) {
        custom = heap_alloc(sizeof(*custom));
        *custom = (struct objcustom){.next = NULL};
        struct objcustom **at = &store->customs;
        while (*at)
            at = &(*at)->next;
        *at = custom;
    }
    arena_free(custom->retired);
    custom->retired = custom->arena;
    custom->arena = arena_new();
    custom->kind = objcrd_kind(custom->arena, after);
    custom->kind.group = set->group;
    custom->kind.plural = set->plural;
    set->kind = &custom->kind;
}

void objcrd_free(struct objstore *store)
{
    while (store->customs) {
        struct objcustom *custom = store->customs;
        store->customs = custom->next;
        arena_free(custom->arena);
        arena_free(custom->retired);
        free(custom);
    }
}
