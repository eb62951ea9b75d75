#include "router/common_source.h"

#include <string.h>

#include "tick/applied.h"
#include "tick/edit.h"

const char *const *source_names(struct arena *arena, const struct canary *canary,
                                const struct kube_resource *resource,
                                const struct kube_resource *copied, const char *name)
{
    const char **names = arena_array(arena, 2, sizeof *names);

    names[0] = kube_resource_same(resource, copied) ? name : canary->service.name;
    names[1] = NULL;
    return names;
}

struct json_object *source_metadata(struct tick *tick, struct json_object *source,
                                    const char *except)
{
    static const char kubectl[] = "kubectl.kubernetes.io/last-applied-configuration";
    static const char *const maps[] = {"labels", "annotations"};
    struct json_object *out = edit_object(tick->arena);

    for (int i = 0; i < 2; i++) {
        struct json_object *map =
            edit_without_toolkit(tick->arena, json_at(source, "metadata", maps[i], NULL));
        struct json_object *kept = edit_object(tick->arena);
        json_object_object_foreach(map, key, value)
        {
            if (strcmp(key, kubectl) != 0 && !(except && strncmp(key, except, strlen(except)) == 0))
                json_set(kept, key, value);
        }
        json_set(json_sub(out, "metadata"), maps[i], kept);
    }
    return out;
}

static void own_lists(struct json_object *tree)
{
    for (size_t i = 0; i < json_len(tree); i++) {
        if (json_object_is_type(json_elem(tree, i), json_type_object))
            edit_pair(json_elem(tree, i), NULL);
        own_lists(json_elem(tree, i));
    }
    if (!json_object_is_type(tree, json_type_object))
        return;
    json_object_object_foreach(tree, key, value)
    {
        if (strcmp(key, EDIT_PAIR) != 0)
            own_lists(value);
    }
}

struct json_object *source_tree(struct arena *arena, struct json_object *tree)
{
    struct json_object *copy = json_copy(arena, tree);

    own_lists(copy);
    return copy;
}

enum verdict source_remove(struct tick *tick, const struct kube_resource *resource,
                           const char *name, struct json_object **found)
{
    struct json_object *live;

    *found = NULL;
    if (!need_object(tick, resource, tick->canary->namespace_, name, &live))
        return VERDICT_NEED_FACTS;
    if (live && edit_is_owned(tick, live)) {
        if (!json_at(live, "metadata", "deletionTimestamp", NULL))
            plan_delete(tick, resource, tick->canary->namespace_, name);
        return VERDICT_GO;
    }
    *found = live;
    return VERDICT_GO;
}

enum verdict source_disown(struct tick *tick, const struct kube_resource *resource,
                           const char *name)
{
    struct json_object *live;

    if (!need_object(tick, resource, tick->canary->namespace_, name, &live))
        return VERDICT_NEED_FACTS;
    if (live && !edit_is_owned(tick, live) &&
        plan_update(tick, resource, live, edit_released(tick, live, true)))
        plan_why(tick, "outlives the canary");
    return VERDICT_GO;
}

/* --- Ingresses */

const struct kube_resource source_ingresses = {
    .group = "networking.k8s.io", .version = "v1", .plural = "ingresses", .kind = "Ingress"};

const char *source_ingress_copy(struct arena *arena, const struct canary *canary)
{
    return canary->ingress.name ? arena_printf(arena, "%s-canary", canary->ingress.name) : NULL;
}

const char *const *source_ingress_names(struct arena *arena, const struct canary *canary,
                                        const struct kube_resource *resource)
{
    return source_names(arena, canary, resource, &source_ingresses,
                        source_ingress_copy(arena, canary));
}

bool source_need_ingresses(struct tick *tick, struct json_object **source,
                           struct json_object **copy)
{
    const struct canary *canary = tick->canary;
    bool known =
        need_object(tick, &source_ingresses, canary->namespace_, canary->ingress.name, source);

    return need_object(tick, &source_ingresses, canary->namespace_,
                       source_ingress_copy(tick->arena, canary), copy) &&
           known;
}

void source_write_ingress(struct tick *tick, struct json_object *live, struct json_object *wanted,
                          bool bare, const char *why)
{
    const char *name = source_ingress_copy(tick->arena, tick->canary);
    struct json_object *base =
        live ? json_copy(tick->arena, live) : edit_new(tick, &source_ingresses, name);

    json_set(wanted, "spec",
             route_whole(tick->arena, json_at(wanted, "spec", NULL), json_at(live, "spec", NULL)));
    if (!bare)
        edit_disown_toolkit(json_sub(json_sub(base, "metadata"), "annotations"));
    struct json_object *to = applied_lay(tick->arena, live, base, wanted);
    if (!live)
        plan_create(tick, &source_ingresses, tick->canary->namespace_, to);
    else if (!plan_update(tick, &source_ingresses, live, to))
        return;
    plan_why(tick, "%s", why);
}

bool source_is_apex_path(const struct canary *canary, struct json_object *path)
{
    const char *name = json_str_at(path, "backend", "service", "name", NULL);

    return name && strcmp(name, canary->service.name) == 0;
}

const char *source_ingress_mistake(struct tick *tick, struct json_object *source)
{
    const struct canary *canary = tick->canary;
    struct json_object *rules = json_at(source, "spec", "rules", NULL);

    if (!source)
        return arena_printf(tick->arena, "Ingress %s.%s not found", canary->ingress.name,
                            canary->namespace_);
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *paths = json_at(json_elem(rules, i), "http", "paths", NULL);
        for (size_t k = 0; k < json_len(paths); k++) {
            if (source_is_apex_path(canary, json_elem(paths, k)))
                return NULL;
        }
    }
    return arena_printf(tick->arena, "backend %s not found in Ingress %s.%s", canary->service.name,
                        canary->ingress.name, canary->namespace_);
}

const char *source_ingress_check(struct arena *arena, const struct canary *canary)
{
    if (!canary->ingress.name || !*canary->ingress.name)
        return "spec.ingressRef: must name the Ingress of the application";
    return route_check(arena, canary);
}

enum verdict source_ingress_settled(struct tick *tick, const char **why)
{
    struct json_object *source, *copy;

    if (!source_need_ingresses(tick, &source, &copy))
        return VERDICT_NEED_FACTS;
    *why = source_ingress_mistake(tick, source);
    return *why ? VERDICT_STOP : VERDICT_GO;
}
