#include "router/router.h"

#include <string.h>

/* Length of the matching prefix of the provider name; 0 if none. */
static size_t served(const char *name, const char *provider)
{
    size_t len = strlen(name);

    if (len > 0 && name[len - 1] == '*')
        return strncmp(name, provider, len - 1) == 0 ? len - 1 : 0;
    return strcmp(name, provider) == 0 ? len + 1 : 0;
}

const struct router *router_find(const char *provider)
{
    const struct router *found = NULL;
    size_t best = 0;

    for (size_t i = 0; provider && router_table[i]; i++) {
        for (const char *const *name = router_table[i]->providers; *name; name++) {
            if (served(*name, provider) > best) {
                best = served(*name, provider);
                found = router_table[i];
            }
        }
    }
    return found;
}

const struct router *router_of(const char *provider, const struct canary *canary)
{
    const struct router *router = router_find(provider);

    if (router && router->refs && canary->service.n_route_refs > 0)
        return router->refs;
    if (router && router->stepped && canary->analysis.n_steps > 0)
        return router->stepped;
    return router && router->baked && canary->analysis.bake.for_ms > 0 ? router->baked : router;
}

bool router_splits(const struct router *router)
{
    return router->weighted && !router->whole;
}

const struct router *router_of_target(const struct kube_resource *target)
{
    for (size_t i = 0; router_table[i]; i++) {
        const struct kube_resource *only = router_table[i]->only_target;
        if (only && kube_resource_same(only, target))
            return router_table[i];
    }
    return NULL;
}

const char *const *router_object_names(struct arena *arena, const struct router *router,
                                       const struct canary *canary,
                                       const struct kube_resource *resource)
{
    if (router->names)
        return router->names(arena, canary, resource);
    const char **names = arena_array(arena, 2, sizeof *names);
    names[0] = canary->service.name;
    names[1] = NULL;
    return names;
}

int router_finest(const struct router *router)
{
    return router->finest > 0 ? router->finest : WEIGHT_PERCENT;
}

const char *router_names(struct arena *arena)
{
    const char *all = "";

    for (size_t i = 0; router_table[i]; i++) {
        for (const char *const *name = router_table[i]->providers; *name; name++)
            all = arena_printf(arena, "%s%s%s", all, *all ? ", " : "", *name);
    }
    return all;
}

const char *router_names_that(struct arena *arena, bool (*can)(const struct router *router))
{
    const char *all = "";

    for (size_t i = 0; router_table[i]; i++) {
        const char *name = router_table[i]->providers[0];
        if (can(router_table[i]))
            all = arena_printf(arena, "%s%s%.*s", all, *all ? ", " : "", (int)strcspn(name, "*"),
                               name);
    }
    return all;
}
