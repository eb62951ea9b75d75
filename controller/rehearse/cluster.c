#include "rehearse/cluster.h"

#include <string.h>

#include "decide/act/companions.h"
#include "rehearse/assume.h"
#include "rehearse/settle.h"
#include "target/target.h"

static bool is_knative(const struct kube_resource *resource)
{
    return kube_resource_same(resource, &kube_knative_services);
}

/* A companion that is made up selects the pods of the target. */
static void select_target(struct cluster *cluster, const struct canary *canary,
                          struct json_object *object)
{
    const struct rehearse_source *source = cluster->source;
    const struct target *target = target_find(canary->target.api_version, canary->target.kind);
    struct json_object *selector =
        target ? json_at(source->find(source->arg, target->resource, canary->namespace_,
                                      canary->target.name),
                         "spec", "selector", NULL)
               : NULL;

    if (selector)
        json_set(json_sub(object, "spec"), "selector", json_copy(cluster->arena, selector));
    else
        json_set_str(json_sub(json_sub(json_sub(object, "spec"), "selector"), "matchLabels"), "app",
                     canary->target.name);
}

/* What is there before, as its controllers keep it. */
static struct json_object *found(struct cluster *cluster, const struct canary *canary,
                                 const struct kube_resource *resource, const char *namespace_,
                                 const char *name)
{
    const struct rehearse_source *source = cluster->source;
    struct json_object *object = source->find(source->arg, resource, namespace_, name);

    if (object)
        return settled(cluster->arena, object);
    object = assumed_object(cluster->arena, canary, resource, namespace_, name);
    if (!object)
        return NULL;
    if (companions_resource(resource->kind))
        select_target(cluster, canary, object);
    json_object_array_add(cluster->assumed,
                          json_object_new_string(arena_printf(cluster->arena, "%s %s/%s",
                                                              resource->kind, namespace_, name)));
    return settled(cluster->arena, object);
}

/* A Knative Service that nobody has seen yet gets its first revision. */
static struct json_object *hold(struct cluster *cluster, const struct kube_resource *resource,
                                const char *namespace_, const char *name,
                                struct json_object *object)
{
    struct json_object *revision = NULL;

    if (object && is_knative(resource)) {
        object = settled_knative(cluster->arena, object, &revision);
        if (revision)
            copies_put(&cluster->copies, &kube_knative_revisions, namespace_,
                       json_str_at(revision, "metadata", "name", NULL), revision);
    }
    copies_put(&cluster->copies, resource, namespace_, name, object);
    return object;
}

static struct json_object *object_of(struct cluster *cluster, const struct canary *canary,
                                     const struct kube_resource *resource, const char *namespace_,
                                     const char *name)
{
    const struct copy *copy = copies_find(&cluster->copies, resource, namespace_, name);

    if (copy)
        return copy->now;
    struct json_object *object = found(cluster, canary, resource, namespace_, name);
    return hold(cluster, resource, namespace_, name, object);
}

/* The objects of the source, and those that were made since. */
static struct json_object *list_of(struct cluster *cluster, const struct kube_resource *resource,
                                   const char *namespace_)
{
    const struct rehearse_source *source = cluster->source;
    struct json_object *given = source->list(source->arg, resource, namespace_);
    struct json_object *given_items = json_at(given, "items", NULL);
    struct json_object *list = json_own(cluster->arena, json_object_new_object());
    struct json_object *items = json_object_new_array();

    json_object_object_add(list, "items", items);
    for (const struct copy *copy = cluster->copies.first; copy; copy = copy->next)
        if (copy->now && kube_resource_same(copy->resource, resource) &&
            strcmp(copy->namespace_, namespace_) == 0)
            json_object_array_add(items, json_object_get(copy->now));
    for (size_t i = 0; i < json_len(given_items); i++) {
        struct json_object *item = json_elem(given_items, i);
        const char *name = json_str_at(item, "metadata", "name", NULL);
        if (name && !copies_find(&cluster->copies, resource, namespace_, name))
            json_object_array_add(items, json_object_get(item));
    }
    return list;
}

void cluster_answer(struct cluster *cluster, struct tick *tick, const struct need *need)
{
    const char *namespace_ = need->namespace_ ? need->namespace_ : "";

    if (need->kind == NEED_METRIC)
        fact_metric(tick, need, assumed_metric(tick, &need->metric));
    else if (need->kind == NEED_OBJECT && !need->name)
        fact_object(tick, need, list_of(cluster, need->resource, namespace_));
    else if (need->kind == NEED_OBJECT)
        fact_object(tick, need,
                    object_of(cluster, tick->canary, need->resource, namespace_, need->name));
}

/* The cluster gives each Service an address of its own; only who copies Services looks at it. */
static void give_address(struct cluster *cluster, struct copy *copy)
{
    unsigned sum = 0;

    if (json_at(copy->now, "spec", "clusterIP", NULL))
        return;
    for (const char *at = copy->name; *at; at++)
        sum = (sum * 31 + (unsigned char)*at) & 0xffff;
    struct json_object *now = json_copy(cluster->arena, copy->now);
    json_set_str(json_sub(now, "spec"), "clusterIP",
                 arena_printf(cluster->arena, "10.0.%u.%u", sum >> 8, sum & 0xff));
    copy->now = now;
}

void cluster_settle(struct cluster *cluster, const struct canary *canary)
{
    const struct target *target = target_find(canary->target.api_version, canary->target.kind);
    bool of_services = target && kube_resource_same(target->resource, &kube_services);

    for (struct copy *copy = cluster->copies.first; copy; copy = copy->next) {
        if (!copy->now)
            continue;
        if (is_knative(copy->resource))
            (void)hold(cluster, copy->resource, copy->namespace_, copy->name, copy->now);
        else if (of_services && kube_resource_same(copy->resource, &kube_services))
            give_address(cluster, copy);
        else
            copy->now = settled(cluster->arena, copy->now);
    }
}

void cluster_push(struct cluster *cluster, const struct canary *canary)
{
    const struct target *target = target_find(canary->target.api_version, canary->target.kind);
    struct copy *copy =
        copies_find(&cluster->copies, target->resource, canary->namespace_, canary->target.name);

    copy->now = revised(cluster->arena, copy->now);
    cluster_settle(cluster, canary);
}
