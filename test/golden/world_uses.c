#include "world_uses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static struct json_object *told;
static FILE *file;

static void forget(void)
{
    json_object_put(told);
    if (file)
        fclose(file);
}

/* False: nobody wants to know. */
static bool begin(void)
{
    const char *path = getenv("GOLDEN_USES");

    if (file || !path)
        return file;
    file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    told = json_object_new_object();
    (void)atexit(forget);
    return true;
}

static void tell(const char *provider, const struct kube_resource *resource, const char *group,
                 const char *verb)
{
    char line[300];
    bool gloo = strncmp(provider, "gloo:", 5) == 0 || strncmp(provider, "supergloo:", 10) == 0;

    snprintf(line, sizeof(line), "%.*s\t%s/%s\t%s\t%s",
             gloo ? (int)strcspn(provider, ":") : (int)strlen(provider), provider, group,
             resource->plural, verb, resource->meshed ? "meshed" : "beside");
    if (json_object_object_get_ex(told, line, NULL))
        return;
    json_object_object_add(told, line, NULL);
    fprintf(file, "%s\n", line);
}

/* Of each group by which the cluster may serve it. */
static void tell_resource(const struct tick *tick, const struct kube_resource *resource,
                          const char *verb)
{
    if (!begin())
        return;
    tell(tick->provider, resource, resource->group, verb);
    for (const struct kube_version *also = resource->also; also && also->group; also++)
        tell(tick->provider, resource, also->group, verb);
}

void world_uses_need(const struct tick *tick, const struct need *need)
{
    if (need->kind != NEED_OBJECT)
        return;
    if (need->surely) { /* read now, whatever a watch shows */
        tell_resource(tick, need->resource, "get");
        return;
    }
    /* What a rule asks for by name is watched from then on, and read where the watch lags. */
    tell_resource(tick, need->resource, "list");
    if (!need->name)
        return;
    tell_resource(tick, need->resource, "get");
    tell_resource(tick, need->resource, "watch");
}

void world_uses_effect(const struct tick *tick, const struct effect *effect)
{
    static const char *const verbs[] = {
        [EFFECT_CREATE] = "create", [EFFECT_PATCH] = "patch", [EFFECT_DELETE] = "delete"};

    if (effect->kind > EFFECT_DELETE)
        return;
    tell_resource(tick, effect->resource, verbs[effect->kind]);
    /* Who changes an object's owners must be allowed to delete it (the admission plugin
     * OwnerReferencesPermissionEnforcement). */
    if (effect->kind == EFFECT_PATCH &&
        json_object_object_get_ex(json_at(effect->body, "metadata", NULL), "ownerReferences", NULL))
        tell_resource(tick, effect->resource, "delete");
}
