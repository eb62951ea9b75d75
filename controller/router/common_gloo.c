#include "router/common_gloo.h"

#include <string.h>

#include "tick/edit.h"

#define DEFAULT_NAMESPACE "gloo-system"

const struct kube_resource gloo_groups = {.group = "gloo.solo.io",
                                          .version = "v1",
                                          .plural = "upstreamgroups",
                                          .kind = "UpstreamGroup",
                                          .meshed = true};

/* Those that Gloo discovers by itself; "*" for any port. */
static const char *upstream(struct arena *arena, const struct canary *canary, const char *service,
                            const char *port)
{
    return arena_printf(arena, "%s-%s-%s", canary->namespace_, service, port);
}

static struct split_sides sides(struct arena *arena, const struct canary *canary)
{
    return (struct split_sides){upstream(arena, canary, canary->service.primary_name, "*"),
                                upstream(arena, canary, canary->service.canary_name, "*")};
}

static const struct split_format *format(const struct canary *canary)
{
    static const struct split_format format = {.rules = {"spec"},
                                               .backends = {"destinations"},
                                               .name = {"destination", "upstream", "name"}};

    (void)canary;
    return &format;
}

static const char *name(struct tick *tick)
{
    return tick->canary->target.name;
}

/* Gloo's own, which the provider may name: "gloo:NAMESPACE". */
static const char *namespace_of(struct tick *tick)
{
    const char *colon = strchr(tick->provider, ':');

    return colon && colon[1] ? colon + 1 : DEFAULT_NAMESPACE;
}

static void add_destination(struct tick *tick, struct json_object *list, const char *service,
                            int weight, struct json_object *live)
{
    const char *port = arena_printf(tick->arena, "%d", tick->canary->service.port);
    struct json_object *out = edit_object(tick->arena);
    struct json_object *to = json_sub(json_sub(out, "destination"), "upstream");

    json_set_str(to, "name", upstream(tick->arena, tick->canary, service, port));
    json_set_str(to, "namespace", namespace_of(tick));
    json_set_int(out, "weight", weight);
    edit_pair(out, live);
    edit_add(list, out);
}

static struct json_object *with(struct tick *tick, struct json_object *destinations)
{
    struct json_object *out = edit_object(tick->arena);

    json_set(json_sub(out, "spec"), "destinations", destinations);
    return out;
}

static enum verdict wanted(struct tick *tick, const struct weights *weights,
                           const struct split *split, struct json_object *live,
                           struct json_object **out)
{
    const struct canary_service *service = &tick->canary->service;
    struct json_object *list = edit_array(tick->arena);

    (void)live;
    if (weights->matched && weights->canary > 0)
        return plan_stop(tick,
                         "spec.analysis.match: an UpstreamGroup splits every request; delete "
                         "UpstreamGroup %s.%s, and a RouteTable is made, which can match",
                         name(tick), tick->canary->namespace_);
    add_destination(tick, list, service->primary_name, weights->primary, split->primary);
    add_destination(tick, list, service->canary_name, weights->canary, split->canary);
    *out = with(tick, list);
    return VERDICT_GO;
}

static enum verdict plain(struct tick *tick, struct json_object *live, struct json_object **out)
{
    struct json_object *list = edit_array(tick->arena);

    (void)live;
    add_destination(tick, list, tick->canary->service.name, 100, NULL);
    *out = with(tick, list);
    return VERDICT_GO;
}

const struct route gloo_group = {.resource = &gloo_groups,
                                 .format = format,
                                 .sides = sides,
                                 .wanted = wanted,
                                 .plain = plain,
                                 .name = name,
                                 .bare = true};
