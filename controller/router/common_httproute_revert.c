/*
 * The route of a Canary that is deleted: one rule, as the spec's service says, to the apex
 * Service. It outlives the Canary. (Flagger leaves a route to two Services that are about to go,
 * and the garbage collector takes the route as well.)
 */
#include <string.h>

#include "router/common_httproute.h"
#include "tick/applied.h"
#include "tick/edit.h"

static struct json_object *plain_rule(struct tick *tick)
{
    const struct httproute_version *version = httproute_version_of(tick);
    const struct canary_service *service = &tick->canary->service;
    struct json_object *rule = edit_object(tick->arena);
    struct json_object *backends = edit_array(tick->arena);
    const char *why;

    json_set(rule, "matches", httproute_matches(tick->arena, service, version, &why));
    json_set(rule, "filters", httproute_filters(tick->arena, service, version));
    if (version->rich)
        json_set(rule, "timeouts", httproute_timeouts(tick->arena, service));
    json_object_array_add(backends, json_object_get(httproute_backend(tick, service->name, 100)));
    json_set(rule, "backendRefs", backends);
    return rule;
}

static bool is_reverted(struct tick *tick, struct json_object *rule)
{
    struct json_object *backends = json_at(rule, "backendRefs", NULL);
    const char *name = json_str_at(json_elem(backends, 0), "name", NULL);

    return json_len(backends) == 1 && name && strcmp(name, tick->canary->service.name) == 0;
}

/*
 * What of the live rules the plain one is laid over, so that what others and the server's defaults
 * have added stays. An analysis may have left several rules, or filters of its own.
 */
static struct json_object *base_rule(struct tick *tick, struct json_object *live)
{
    struct json_object *rules = json_at(live, "spec", "rules", NULL);
    struct json_object *rule = json_len(rules) == 1 ? json_elem(rules, 0) : NULL;

    if (!rule || is_reverted(tick, rule))
        return rule;
    struct json_object *copy = json_copy(tick->arena, rule);
    json_object_object_del(copy, "filters");
    return copy;
}

static struct json_object *reverted(struct tick *tick, struct json_object *live)
{
    struct json_object *to = json_copy(tick->arena, live);
    struct json_object *rules = edit_array(tick->arena);
    struct json_object *applied = json_at(applied_of(tick->arena, live), "spec", "rules", NULL);

    edit_add(rules, edit_merge(tick->arena, base_rule(tick, live), plain_rule(tick),
                               json_elem(applied, 0)));
    json_set(json_sub(to, "spec"), "rules", rules);
    return to;
}

enum verdict httproute_revert(struct tick *tick, bool anew)
{
    const struct kube_resource *resource = httproute_version_of(tick)->resource;
    const char *name = tick->canary->service.name;
    struct json_object *live;

    if (!route_need(tick, &live))
        return VERDICT_NEED_FACTS;
    if (live) {
        if (plan_update(tick, resource, live, reverted(tick, live)))
            plan_why(tick, "-> %s", name);
        return VERDICT_GO;
    }
    if (!anew)
        return VERDICT_GO;
    struct json_object *body =
        edit_overlay(tick->arena, edit_new(tick, resource, name), httproute_frame(tick));
    body = reverted(tick, edit_released(tick, body, true));
    plan_create(tick, resource, tick->canary->namespace_, body);
    plan_why(tick, "-> %s", name);
    return VERDICT_GO;
}
