#include "router/shared/source.h"

#include <string.h>

#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

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
            edit_of_source(tick->arena, json_at(source, "metadata", maps[i], NULL));
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

enum rule_result source_remove(struct tick *tick, const struct kube_resource *resource,
                               const char *name, struct json_object **found)
{
    struct json_object *live;

    *found = NULL;
    if (!need_object(tick, resource, tick->canary->namespace_, name, &live))
        return RULE_NEEDS_FACTS;
    if (live && edit_is_owned(tick, live)) {
        if (!json_at(live, "metadata", "deletionTimestamp", NULL))
            plan_delete(tick, resource, live);
        return RULE_CONTINUE;
    }
    *found = live;
    return RULE_CONTINUE;
}

enum rule_result source_disown(struct tick *tick, const struct kube_resource *resource,
                               const char *name)
{
    struct json_object *live;

    if (!need_object(tick, resource, tick->canary->namespace_, name, &live))
        return RULE_NEEDS_FACTS;
    if (live && !edit_is_owned(tick, live) &&
        plan_update(tick, resource, live, edit_released(tick, live, true)))
        plan_why(tick, "outlives the canary");
    return RULE_CONTINUE;
}

/* --- Ingresses */

const struct kube_resource source_ingresses = {
    .group = "networking.k8s.io", .version = "v1", .plural = "ingresses", .kind = "Ingress"};

static const char *copy_name(struct arena *arena, const struct canary *canary)
{
    return canary->ingress.name ? arena_printf(arena, "%s-canary", canary->ingress.name) : NULL;
}

const char *const *source_ingress_names(struct arena *arena, const struct canary *canary,
                                        const struct kube_resource *resource)
{
    return source_names(arena, canary, resource, &source_ingresses, copy_name(arena, canary));
}

/* *copy and *source are NULL if missing. Returns false if they are not known yet. */
static bool need_both(struct tick *tick, struct json_object **source, struct json_object **copy)
{
    const struct canary *canary = tick->canary;
    bool known =
        need_object(tick, &source_ingresses, canary->namespace_, canary->ingress.name, source);

    return need_object(tick, &source_ingresses, canary->namespace_, copy_name(tick->arena, canary),
                       copy) &&
           known;
}

static bool is_apex_path(const struct canary *canary, struct json_object *path)
{
    const char *name = json_str_at(path, "backend", "service", "name", NULL);

    return name && strcmp(name, canary->service.name) == 0;
}

/* Each path to the apex Service leads to the canary; or it leads to the primary, with a second path
 * to the canary. */
static void lead_to_sides(struct tick *tick, struct json_object *paths, bool both)
{
    const struct canary_service *service = &tick->canary->service;

    for (size_t k = 0, count = json_len(paths); k < count; k++) {
        struct json_object *path = json_elem(paths, k), *second = path;
        if (!is_apex_path(tick->canary, path))
            continue;
        if (both) {
            second = json_copy(tick->arena, path);
            json_set_str(json_at(path, "backend", "service", NULL), "name", service->primary_name);
            edit_add(paths, second);
        }
        json_set_str(json_at(second, "backend", "service", NULL), "name", service->canary_name);
    }
}

static struct json_object *wanted_spec(struct tick *tick, struct json_object *source, bool both)
{
    struct json_object *spec = source_tree(tick->arena, json_at(source, "spec", NULL));
    struct json_object *rules = json_at(spec, "rules", NULL);

    for (size_t i = 0; i < json_len(rules); i++)
        lead_to_sides(tick, json_at(json_elem(rules, i), "http", "paths", NULL), both);
    return spec;
}

static const struct source_ingress *own(const struct tick *tick)
{
    return router_find(tick->provider)->source;
}

static void write_copy(struct tick *tick, const struct source_writing *writing, const char *why)
{
    const struct source_ingress *of = own(tick);
    struct json_object *live = writing->live;
    struct json_object *base =
        live ? json_copy(tick->arena, live)
             : edit_new(tick, &source_ingresses, copy_name(tick->arena, tick->canary));
    struct json_object *wanted =
        source_metadata(tick, writing->source, of->own ? of->own(tick) : NULL);

    of->write(tick, wanted, writing);
    json_set(wanted, "spec",
             route_whole(tick->arena, wanted_spec(tick, writing->source, of->both),
                         json_at(live, "spec", NULL)));
    if (!of->bare)
        edit_disown_gitops(json_sub(json_sub(base, "metadata"), "annotations"));
    struct json_object *to = applied_lay(tick->arena, live, base, wanted);
    if (!live)
        plan_create(tick, &source_ingresses, tick->canary->namespace_, to);
    else if (!plan_update(tick, &source_ingresses, live, to))
        return;
    plan_why(tick, "%s%s", live ? why : "", route_describe(tick, writing->weights));
}

/* For a copy whose source is unusable. */
static void write_weights(struct tick *tick, struct json_object *live,
                          const struct weights *weights)
{
    const struct source_writing writing = {live, live, weights, true};
    struct json_object *wanted = edit_object(tick->arena);

    own(tick)->write(tick, wanted, &writing);
    if (plan_update(tick, &source_ingresses, live, edit_overlay(tick->arena, live, wanted)))
        plan_why(tick, "%s", route_describe(tick, weights));
}

/* NULL, or why nothing can be copied. */
static const char *mistake_of(struct tick *tick, struct json_object *source)
{
    const struct canary *canary = tick->canary;
    struct json_object *rules = json_at(source, "spec", "rules", NULL);

    if (!source)
        return arena_printf(tick->arena, "Ingress %s.%s not found", canary->ingress.name,
                            canary->namespace_);
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *paths = json_at(json_elem(rules, i), "http", "paths", NULL);
        for (size_t k = 0; k < json_len(paths); k++) {
            if (is_apex_path(canary, json_elem(paths, k)))
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

/* If there is no usable source, an existing copy is left unchanged; settled() reports it. */
enum rule_result source_ingress_reconcile(struct tick *tick)
{
    struct json_object *source, *live;

    if (!need_both(tick, &source, &live))
        return RULE_NEEDS_FACTS;
    const char *mistake = mistake_of(tick, source);
    if (mistake)
        return live ? RULE_CONTINUE : plan_block(tick, "%s", mistake);
    struct weights weights = route_kept(tick, own(tick)->read(tick, live), live);
    const struct source_writing writing = {source, live, &weights, false};
    write_copy(tick, &writing, "as the spec says, ");
    return RULE_CONTINUE;
}

enum rule_result source_ingress_get(struct tick *tick, struct weights *out)
{
    struct json_object *source, *live;

    if (!need_both(tick, &source, &live))
        return RULE_NEEDS_FACTS;
    *out = own(tick)->read(tick, live);
    return RULE_CONTINUE;
}

enum rule_result source_ingress_settled(struct tick *tick, const char **why)
{
    struct json_object *source, *copy;

    if (!need_both(tick, &source, &copy))
        return RULE_NEEDS_FACTS;
    *why = mistake_of(tick, source);
    return *why ? RULE_DONE : RULE_CONTINUE;
}

/* Sets only the weights if the source is missing. */
enum rule_result source_ingress_set(struct tick *tick, const struct weights *weights)
{
    struct json_object *source, *live;

    if (!need_both(tick, &source, &live))
        return RULE_NEEDS_FACTS;
    if (!live)
        return plan_block(tick, "Ingress %s.%s not found", copy_name(tick->arena, tick->canary),
                          tick->canary->namespace_);
    const struct source_writing writing = {source, live, weights, true};
    if (mistake_of(tick, source))
        write_weights(tick, live, weights);
    else
        write_copy(tick, &writing, "");
    return RULE_CONTINUE;
}

/* The source leads to the apex Service. A copy that we did not create is made to take no
 * requests. */
enum rule_result source_ingress_revert(struct tick *tick, bool recreate)
{
    const struct weights none = {.primary = WEIGHT_ALL};
    struct json_object *found;

    (void)recreate;
    enum rule_result verdict =
        source_remove(tick, &source_ingresses, copy_name(tick->arena, tick->canary), &found);
    if (verdict == RULE_CONTINUE && found && own(tick)->takes(tick, found))
        write_weights(tick, found, &none);
    return verdict;
}

enum rule_result source_ingress_disown(struct tick *tick)
{
    return source_disown(tick, &source_ingresses, copy_name(tick->arena, tick->canary));
}

/* --- claims: requests that an Ingress takes */

/* True for the copy of an Ingress as well. */
static bool is_of_canary(struct json_object *ingress)
{
    struct json_object *owners = json_at(ingress, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < json_len(owners); i++) {
        const char *kind = json_str_at(json_elem(owners, i), "kind", NULL);
        if (kind && strcmp(kind, "Canary") == 0)
            return true;
    }
    return false;
}

struct json_object *source_ingress_claims(struct arena *arena, struct json_object *ingress)
{
    struct json_object *claims = edit_array(arena);
    struct json_object *rules = json_at(ingress, "spec", "rules", NULL);
    const char *class = json_str_at(ingress, "spec", "ingressClassName", NULL);

    for (size_t i = 0; !is_of_canary(ingress) && i < json_len(rules); i++) {
        const char *host = json_str_at(json_elem(rules, i), "host", NULL);
        struct json_object *paths = json_at(json_elem(rules, i), "http", "paths", NULL);
        for (size_t k = 0; k < json_len(paths); k++) {
            const char *path = json_str_at(json_elem(paths, k), "path", NULL);
            json_object_array_add(
                claims, json_object_new_string(arena_printf(arena, "class %s, host %s, path %s",
                                                            class ? class : "of default",
                                                            host ? host : "*", path ? path : "/")));
        }
    }
    return claims;
}
