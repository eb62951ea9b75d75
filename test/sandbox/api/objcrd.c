/*
 * Kinds from CustomResourceDefinitions. Applying a CRD makes its kind served at once: Kubernetes'
 * two controllers (names, establishing) are done when the object is stored.
 */
#include <stdlib.h>
#include <string.h>

#include "api/objinternal.h"
#include "base/clock.h"
#include "object/form.h"
#include "object/meta.h"

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
    const char *taken = taken_name(store, crd), *version = objkind_storage_of(crd);
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
    custom->kind = objkind_of_crd(custom->arena, after);
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
