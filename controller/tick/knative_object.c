#include "tick/knative_object.h"

#include <string.h>

#include "tick/edit.h"
#include "tick/need.h"
#include "tick/plan.h"

bool knative_need(struct tick *tick, struct json_object **service)
{
    return need_object(tick, &kube_knative_services, tick->canary->namespace_,
                       tick->canary->target.name, service);
}

const char *knative_latest(struct json_object *service)
{
    const char *name = json_str_at(service, "status", "latestCreatedRevisionName", NULL);

    return name && *name ? name : NULL;
}

static bool is_latest(struct json_object *entry)
{
    return json_bool_at(entry, json_str_at(entry, "revisionName", NULL) == NULL, "latestRevision",
                        NULL);
}

/* Tagged entries of a fixed revision are for tests and previews, and belong to the user. */
static bool is_primary(struct json_object *entry)
{
    return !is_latest(entry) && !json_str_at(entry, "tag", NULL);
}

const char *knative_named(struct json_object *traffic)
{
    for (size_t i = 0; i < json_len(traffic); i++) {
        if (is_primary(json_elem(traffic, i)))
            return json_str_at(json_elem(traffic, i), "revisionName", NULL);
    }
    return NULL;
}

const char *knative_primary(struct json_object *service)
{
    const char *name = json_str_at(service, "metadata", "annotations", KNATIVE_PRIMARY, NULL);

    return name && *name ? name : knative_named(json_at(service, "spec", "traffic", NULL));
}

int knative_share(struct json_object *traffic)
{
    int64_t percent = 0;

    if (json_len(traffic) == 0)
        return 100;
    for (size_t i = 0; i < json_len(traffic); i++) {
        if (is_latest(json_elem(traffic, i)))
            percent += json_int_at(json_elem(traffic, i), 0, "percent", NULL);
    }
    return percent < 0 ? 0 : percent > 100 ? 100 : (int)percent;
}

bool knative_is_observed(struct json_object *service)
{
    return json_int_at(service, 0, "metadata", "generation", NULL) <=
           json_int_at(service, 0, "status", "observedGeneration", NULL);
}

/* --- writing */

static struct effect *planned(struct tick *tick, struct json_object *service)
{
    const char *name = json_str_at(service, "metadata", "name", NULL);

    for (struct effect *effect = tick->plan->first; effect; effect = effect->next) {
        if (effect->kind == EFFECT_PATCH &&
            kube_resource_same(effect->resource, &kube_knative_services) && name &&
            strcmp(effect->name, name) == 0)
            return effect;
    }
    return NULL;
}

/* The Service as changed by the plan so far: a copy, without nulls. */
struct json_object *knative_as_planned(struct tick *tick, struct json_object *service)
{
    struct effect *effect = planned(tick, service);
    struct json_object *plain = edit_overlay(tick->arena, NULL, service);

    return effect ? json_merge(tick->arena, plain, effect->body) : plain;
}

/*
 * One patch for everything that a plan changes: routes, promotion and annotation are in one
 * object, and a second patch would conflict with the version made by the first.
 */
static void plan(struct tick *tick, struct json_object *service, struct json_object *to,
                 const char *why)
{
    struct json_object *from = edit_overlay(tick->arena, NULL, service);
    struct effect *effect = planned(tick, service);

    if (!effect) {
        if (plan_update(tick, &kube_knative_services, from, to))
            plan_why(tick, "%s", why);
        return;
    }
    struct json_object *patch = json_merge_diff(tick->arena, from, to);
    if (!patch)
        patch = edit_object(tick->arena);
    json_set_str(json_sub(patch, "metadata"), "resourceVersion",
                 json_str_at(from, "metadata", "resourceVersion", NULL));
    effect->body = patch;
    effect->why = effect->why ? arena_printf(tick->arena, "%s, %s", effect->why, why) : why;
}

static void annotate(struct json_object *to, const char *primary)
{
    struct json_object *live = json_at(to, "metadata", "annotations", NULL);

    if (primary)
        json_set_str(json_sub(json_sub(to, "metadata"), "annotations"), KNATIVE_PRIMARY, primary);
    else if (live)
        json_object_object_del(live, KNATIVE_PRIMARY);
}

/* Lays the entry over the live one of its kind, which keeps what others wrote (its tag). */
static void add_entry(struct tick *tick, struct json_object *out, struct json_object *traffic,
                      bool (*sort)(struct json_object *entry), struct json_object *wanted)
{
    struct json_object *base = NULL;

    for (size_t i = 0; !base && i < json_len(traffic); i++) {
        if (sort(json_elem(traffic, i)))
            base = json_elem(traffic, i);
    }
    json_object_array_add(out, json_object_get(edit_overlay(tick->arena, base, wanted)));
}

/* Other entries of the traffic keep their address and get no share. */
static void add_others(struct tick *tick, struct json_object *out, struct json_object *traffic)
{
    bool latest_seen = false;

    for (size_t i = 0; i < json_len(traffic); i++) {
        struct json_object *entry = json_copy(tick->arena, json_elem(traffic, i));
        bool ours = is_primary(entry) || (is_latest(entry) && !latest_seen);
        latest_seen = latest_seen || is_latest(entry);
        if (ours || !json_str_at(entry, "tag", NULL))
            continue;
        json_object_object_del(entry, "percent");
        json_object_array_add(out, json_object_get(entry));
    }
}

static struct json_object *traffic_of(struct tick *tick, struct json_object *traffic,
                                      const char *primary, int canary)
{
    struct json_object *out = edit_array(tick->arena);
    struct json_object *latest = edit_object(tick->arena);
    struct json_object *named = edit_object(tick->arena);

    json_set_bool(latest, "latestRevision", true);
    json_set_int(latest, "percent", canary);
    add_entry(tick, out, traffic, is_latest, latest);
    json_set_str(named, "revisionName", primary);
    json_set_int(named, "percent", 100 - canary);
    if (primary)
        add_entry(tick, out, traffic, is_primary, named);
    add_others(tick, out, traffic);
    return out;
}

static void set_traffic(struct tick *tick, struct json_object *to, const char *primary, int canary)
{
    struct json_object *spec = json_sub(to, "spec");

    json_set(spec, "traffic", traffic_of(tick, json_at(spec, "traffic", NULL), primary, canary));
}

void knative_route(struct tick *tick, struct json_object *service, const char *primary, int canary,
                   const char *why)
{
    struct json_object *to = knative_as_planned(tick, service);

    annotate(to, primary);
    set_traffic(tick, to, primary, canary);
    plan(tick, service, to, why);
}

void knative_annotate(struct tick *tick, struct json_object *service, const char *primary,
                      const char *why)
{
    struct json_object *to = knative_as_planned(tick, service);

    annotate(to, primary);
    plan(tick, service, to, why);
}

void knative_release(struct tick *tick, struct json_object *service, const char *why)
{
    struct json_object *to = knative_as_planned(tick, service);

    set_traffic(tick, to, NULL, 100);
    plan(tick, service, to, why);
}
