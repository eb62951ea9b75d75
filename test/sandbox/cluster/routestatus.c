#include "cluster/routestatus.h"

#include <string.h>

#include "cluster/meta.h"

#define CONTROLLER "sandbox.flagger.app/gateway"

static void put_condition(struct json_object *list, struct json_object *before, const char *type,
                          int64_t generation, const char *reason, const char *problem,
                          const char *now)
{
    struct json_object *old = meta_condition(before, type), *c = json_object_new_object();
    const char *status = problem ? "False" : "True";
    const char *old_status = json_str_at(old, "status", NULL);
    bool same = old_status && strcmp(old_status, status) == 0;

    json_set_str(c, "type", type);
    json_set_str(c, "status", status);
    json_set_int(c, "observedGeneration", generation);
    json_set_str(c, "lastTransitionTime",
                 same ? json_str_at(old, "lastTransitionTime", NULL) : now);
    json_set_str(c, "reason", reason);
    json_set_str(c, "message", problem ? problem : "");
    json_object_array_add(list, c);
}

struct json_object *routestatus_route(struct arena *arena, const struct route_result *result,
                                      struct json_object *before, const char *now)
{
    struct json_object *status = json_own(arena, json_object_new_object());
    struct json_object *parents = json_own(arena, json_object_new_array());
    struct json_object *old_parents = json_at(before, "parents", NULL);

    for (size_t i = 0; i < json_len(result->parents); i++) {
        struct json_object *ref = json_elem(result->parents, i), *old = NULL;
        struct json_object *parent = json_object_new_object();
        struct json_object *conditions = json_own(arena, json_object_new_array());
        for (size_t k = 0; k < json_len(old_parents); k++)
            if (json_same(json_at(json_elem(old_parents, k), "parentRef", NULL), ref))
                old = json_at(json_elem(old_parents, k), "conditions", NULL);
        json_set(parent, "parentRef", ref);
        json_set_str(parent, "controllerName", CONTROLLER);
        put_condition(conditions, old, "Accepted", result->generation,
                      result->refused ? "UnsupportedValue" : "Accepted", result->refused, now);
        put_condition(conditions, old, "ResolvedRefs", result->generation,
                      result->unresolved ? "BackendNotFound" : "ResolvedRefs", result->unresolved,
                      now);
        json_set(parent, "conditions", conditions);
        json_object_array_add(parents, parent);
    }
    json_set(status, "parents", parents);
    return status;
}

struct json_object *routestatus_gateway(struct arena *arena, struct json_object *gateway,
                                        const char *address, const char *now)
{
    struct json_object *status = json_own(arena, json_object_new_object());
    struct json_object *addresses = json_own(arena, json_object_new_array());
    struct json_object *entry = json_object_new_object();
    struct json_object *conditions = json_own(arena, json_object_new_array());
    struct json_object *before = json_at(gateway, "status", "conditions", NULL);
    int64_t generation = json_int_at(gateway, 1, "metadata", "generation", NULL);

    json_set_str(entry, "type", "IPAddress");
    json_set_str(entry, "value", address);
    json_object_array_add(addresses, entry);
    json_set(status, "addresses", addresses);
    put_condition(conditions, before, "Accepted", generation, "Accepted", NULL, now);
    put_condition(conditions, before, "Programmed", generation, "Programmed", NULL, now);
    json_set(status, "conditions", conditions);
    return status;
}
