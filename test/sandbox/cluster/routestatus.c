#include "cluster/routestatus.h"

#include "object/form.h"
#include "object/meta.h"

#define CONTROLLER "sandbox.flagger.app/gateway"

static void put_condition(struct arena *arena, struct json_object *list, struct json_object *before,
                          const char *type, int64_t generation, const char *reason,
                          const char *problem, const char *now)
{
    struct json_object *c = meta_add_condition(
        arena, list, before, type, problem ? "False" : "True", reason, problem ? problem : "", now);
    json_set_int(c, "observedGeneration", generation);
}

struct json_object *routestatus_route(struct arena *arena, const struct route_result *result,
                                      struct json_object *before, const char *now)
{
    struct json_object *parents = form(arena, "[]");
    struct json_object *old_parents = json_at(before, "parents", NULL);

    for (size_t i = 0; i < json_len(result->parents); i++) {
        struct json_object *ref = json_elem(result->parents, i), *old = NULL;
        struct json_object *list = form(arena, "[]");
        for (size_t k = 0; k < json_len(old_parents); k++)
            if (json_same(json_at(json_elem(old_parents, k), "parentRef", NULL), ref))
                old = json_at(json_elem(old_parents, k), "conditions", NULL);
        put_condition(arena, list, old, "Accepted", result->generation,
                      result->refused ? "UnsupportedValue" : "Accepted", result->refused, now);
        put_condition(arena, list, old, "ResolvedRefs", result->generation,
                      result->unresolved ? "BackendNotFound" : "ResolvedRefs", result->unresolved,
                      now);
        form_add(parents, form(arena, "{parentRef: %p, controllerName: %s, conditions: %p}", ref,
                               CONTROLLER, list));
    }
    return form(arena, "{parents: %p}", parents);
}

struct json_object *routestatus_gateway(struct arena *arena, struct json_object *gateway,
                                        const char *address, const char *now)
{
    struct json_object *list = form(arena, "[]");
    struct json_object *before = json_at(gateway, "status", "conditions", NULL);
    int64_t generation = meta_generation(gateway);

    put_condition(arena, list, before, "Accepted", generation, "Accepted", NULL, now);
    put_condition(arena, list, before, "Programmed", generation, "Programmed", NULL, now);
    return form(arena, "{addresses: [{type: IPAddress, value: %s}], conditions: %p}", address,
                list);
}
