#include "router/router.h"

#include <string.h>

static bool serves(const char *name, const char *provider)
{
    size_t len = strlen(name);

    if (len > 0 && name[len - 1] == '*')
        return strncmp(name, provider, len - 1) == 0;
    return strcmp(name, provider) == 0;
}

const struct router *router_find(const char *provider)
{
    for (size_t i = 0; router_table[i]; i++) {
        for (const char *const *name = router_table[i]->providers; *name; name++) {
            if (serves(*name, provider))
                return router_table[i];
        }
    }
    return NULL;
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
