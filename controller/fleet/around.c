/* What must be there around a workload: the Namespace that the mesh knows, the Ingress, templates. */
#include <string.h>

#include "fleet/derive.h"
#include "tick/edit.h"

struct json_object *derive_template(struct arena *arena, const struct rollout_metric *metric)
{
    struct json_object *out = edit_object(arena);

    edit_put(arena, out, "spec", metric->custom);
    return out;
}

/* --- Ingress */

struct json_object *derive_ingress(struct arena *arena, const struct rollout *rollout)
{
    struct json_object *out = edit_object(arena), *rule = edit_object(arena);
    struct json_object *rules = edit_array(arena), *paths = edit_array(arena);
    struct json_object *path = edit_object(arena);
    struct json_object *service = json_sub(json_sub(path, "backend"), "service");

    json_set_str(path, "path", "/");
    json_set_str(path, "pathType", "Prefix");
    json_set_str(service, "name", rollout->service_name);
    json_set_int(json_sub(service, "port"), "number", rollout->port);
    edit_add(paths, path);
    json_set_str(rule, "host", rollout->routing.host);
    json_set(json_sub(rule, "http"), "paths", paths);
    edit_add(rules, rule);
    json_set(json_sub(out, "spec"), "rules", rules);
    return out;
}

static bool leads_to(struct json_object *rule, const char *service)
{
    struct json_object *paths = json_at(rule, "http", "paths", NULL);

    for (size_t i = 0; i < json_len(paths); i++) {
        const char *name = json_str_at(json_elem(paths, i), "backend", "service", "name", NULL);
        if (name && strcmp(name, service) == 0)
            return true;
    }
    return false;
}

bool derive_ingress_leads(struct json_object *ingress, const struct rollout *rollout)
{
    struct json_object *rules = json_at(ingress, "spec", "rules", NULL);

    for (size_t i = 0; i < json_len(rules); i++) {
        const char *host = json_str_at(json_elem(rules, i), "host", NULL);
        if (host && strcmp(host, rollout->routing.host) == 0 &&
            leads_to(json_elem(rules, i), rollout->service_name))
            return true;
    }
    return false;
}

/* --- Namespace */

struct json_object *derive_namespace(struct arena *arena, const struct rollout *rollout,
                                     struct json_object *namespace_, const char **mistake)
{
    const struct rollout_provider *provider = rollout->provider;
    const struct canary_ref *workload = &rollout->workload;

    *mistake = NULL;
    if (!provider->injection.map)
        return NULL;
    const char *map = provider->injection.map, *key = provider->injection.key;
    const char *also_map = provider->injection.also_map, *also_key = provider->injection.also_key;
    const char *leave = provider->injection.also;
    const char *said = json_str_at(namespace_, "metadata", map, key, NULL);
    const char *also = json_str_at(namespace_, "metadata", also_map, also_key, NULL);
    const char *against = NULL, *where = key;
    if (said && strcmp(said, "enabled") != 0) {
        against = said;
    } else if (also && leave && strcmp(also, leave) != 0) {
        against = also;
        where = also_key;
    }
    if (against)
        *mistake = arena_printf(arena,
                                "Namespace %s has %s: %s, so that %s does not see the requests of "
                                "%s %s; expected enabled",
                                workload->namespace_, where, against, provider->name,
                                workload->kind, workload->name);
    if (said || also)
        return NULL;
    struct json_object *out = edit_object(arena);
    json_set_str(json_sub(json_sub(out, "metadata"), map), key, "enabled");
    return out;
}
