#include "api/objkind.h"

#include <string.h>

#include "api/objbuiltin.h"
#include "api/objinternal.h"

/* What a schema cannot say of a built-in kind. */
static const struct {
    const char *kind;
    void (*defaults)(struct json_object *obj, struct json_object *old);
    void (*validate)(struct objfail *fail, struct json_object *obj, struct json_object *old);
} hooks[] = {
    {"Namespace", objbuiltin_namespace, NULL},
    {"Service", objbuiltin_service, objbuiltin_check_service},
    {"Secret", objbuiltin_secret, NULL},
    {"Event", NULL, objbuiltin_check_event},
    {"Deployment", objbuiltin_workload, objbuiltin_check_workload},
    {"ReplicaSet", objbuiltin_workload, objbuiltin_check_workload},
    {"DaemonSet", objbuiltin_workload, objbuiltin_check_workload},
    {"HorizontalPodAutoscaler", NULL, objbuiltin_check_hpa},
    {"CustomResourceDefinition", objbuiltin_crd, objbuiltin_check_crd},
};

static struct objkind read_kind(struct arena *arena, struct json_object *row)
{
    struct json_object *crd = json_own(arena, json_object_new_object());
    const char *generation = json_str_at(row, "generation", NULL);
    json_set(crd, "spec", row);
    objbuiltin_crd(crd, NULL);
    struct objkind kind = objcrd_kind(arena, crd);
    kind.group = json_str_at(row, "group", NULL);
    kind.plural = json_str_at(row, "names", "plural", NULL);
    kind.custom = false;
    kind.flags &= ~(unsigned)OBJKIND_GENERATION;
    if (generation)
        kind.flags |= OBJKIND_GENERATION;
    if (generation && strcmp(generation, "annotations") == 0)
        kind.flags |= OBJKIND_ANNOTATIONS;
    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
        if (strcmp(hooks[i].kind, kind.kind) != 0)
            continue;
        kind.defaults = hooks[i].defaults;
        kind.validate = hooks[i].validate;
    }
    return kind;
}

const struct objkind *objkind_builtin(void)
{
    static struct arena *arena; /* for the life of the process */
    static struct objkind *table;
    if (table)
        return table;
    arena = arena_new();
    struct json_object *list = json_at(objbuiltin_file(arena), "kinds", NULL);
    table = arena_array(arena, json_len(list) + 1, sizeof(*table));
    for (size_t i = 0; i < json_len(list); i++)
        table[i] = read_kind(arena, json_elem(list, i));
    return table;
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
