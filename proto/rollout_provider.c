/* The providers of an Application: a row each, with all that is special of one. */
#include <string.h>

#include "proto/application.h"

static const struct rollout_provider providers[] = {
    {.name = "istio",
     .injection = {.map = "labels",
                   .key = "istio-injection",
                   .also_map = "labels",
                   .also_key = "istio.io/rev"}},
    {.name = "kuma",
     .protocol_key = "service.kuma.io/protocol",
     .injection = {.map = "annotations",
                   .key = "kuma.io/sidecar-injection",
                   .also_map = "labels",
                   .also_key = "kuma.io/sidecar-injection",
                   .also = "enabled"}},
    {.name = "nginx", .ingress_class = "nginx"},
};
enum { N_PROVIDERS = sizeof providers / sizeof providers[0] };

const struct rollout_provider *rollout_provider_find(const char *name)
{
    if (name == NULL)
        return &providers[0];
    for (int i = 0; i < N_PROVIDERS; i++) {
        if (strcmp(providers[i].name, name) == 0)
            return &providers[i];
    }
    return NULL;
}

const char *rollout_provider_names(struct arena *arena)
{
    const char *names = providers[0].name;
    for (int i = 1; i < N_PROVIDERS; i++)
        names = arena_printf(arena, "%s%s%s", names, i < N_PROVIDERS - 1 ? ", " : " or ",
                             providers[i].name);
    return names;
}
