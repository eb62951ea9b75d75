#include "metric/backend.h"

#include <string.h>

const struct kube_resource metric_templates = {.group = "flagger.app",
                                               .version = "v1beta1",
                                               .plural = "metrictemplates",
                                               .kind = "MetricTemplate"};

const struct metric_backend *metric_backend_find(const char *type)
{
    for (size_t i = 0; type && metric_backend_table[i]; i++) {
        if (strcmp(metric_backend_table[i]->type, type) == 0)
            return metric_backend_table[i];
    }
    return NULL;
}

bool metric_backend_is_ambient(const struct metric_backend *backend, struct json_object *secret)
{
    if (!backend->ambient)
        return false;
    for (const char *const *key = backend->own; *key; key++) {
        if (json_at(secret, "data", *key, NULL))
            return false;
    }
    return true;
}

const char *metric_backend_names(struct arena *arena)
{
    const char *all = "";

    for (size_t i = 0; metric_backend_table[i]; i++)
        all = arena_printf(arena, "%s%s%s", all, *all ? ", " : "", metric_backend_table[i]->type);
    return all;
}
