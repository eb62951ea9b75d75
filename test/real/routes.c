#include "real/routes.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "cluster/route.h"

static const struct kube_resource httproutes = {.group = "gateway.networking.k8s.io",
                                                .version = "v1",
                                                .plural = "httproutes",
                                                .kind = "HTTPRoute"};

struct routes {
    struct kube_client *kube;
    struct watch *watch;
};

static void on_answer(void *arg, const struct kube_result *result)
{
    (void)arg;
    if (result->err != ERR_OK && result->err != ERR_NOT_FOUND && result->err != ERR_CANCELLED)
        log_warn("route", NULL, result->info->text);
}

static void on_route(void *arg, enum watch_event event, struct json_object *route)
{
    struct routes *routes = arg;
    if (event != WATCH_PUT)
        return;
    struct route_result result = {
        .generation = json_int_at(route, 0, "metadata", "generation", NULL),
        .parents = json_at(route, "spec", "parentRefs", NULL),
    };
    struct json_object *before = json_at(route, "status", NULL);
    struct arena *arena = arena_new();
    char now[CLOCK_TEXT];
    struct json_object *body = json_own(arena, json_object_new_object());
    json_set(body, "status",
             routestatus_route(arena, &result, before, clock_rfc3339(clock_wall_ms(), now)));
    if (!json_same(before, json_at(body, "status", NULL)))
        kube_send(
            routes->kube,
            &(struct kube_request){.verb = KUBE_MERGE_PATCH,
                                   .resource = &httproutes,
                                   .namespace_ = json_str_at(route, "metadata", "namespace", NULL),
                                   .name = json_str_at(route, "metadata", "name", NULL),
                                   .sub = "status",
                                   .body = body,
                                   .purpose = KUBE_LEASE},
            on_answer, NULL);
    arena_free(arena);
}

struct routes *routes_new(struct loop *loop, struct kube_client *kube)
{
    struct routes *routes = heap_alloc(sizeof(*routes));
    *routes = (struct routes){.kube = kube};
    struct watch_spec spec = {.resource = &httproutes, .timing = {.missing_ms = 500}};
    routes->watch = watch_new(loop, kube, &spec, on_route, routes);
    return routes;
}

void routes_stop(struct routes *routes)
{
    watch_free(routes->watch);
    routes->watch = NULL;
}

void routes_free(struct routes *routes)
{
    free(routes);
}
