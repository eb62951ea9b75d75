#include "real/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "object/meta.h"
#include "real/releases.h"

enum { HISTORY_MAX_BYTES = 512 * 1024 * 1024, TOTAL = 100 };

/* An object as it is at the revision, and what was found about it so far. */
struct thing {
    struct thing *next;
    const char *kind, *name;
    struct json_object *object;   /* NULL: it is gone */
    bool had_pods, had_endpoints; /* once; forgotten when nobody uses it any more */
    int64_t without_pods_ms, without_endpoints_ms; /* since when; 0: it is well */
    bool unequal; /* its weights; told once, until they are right again */
};

struct world {
    struct arena *arena;
    struct thing *things;
    int64_t now_ms, began_ms;
    size_t violations;
    void (*fn)(void *arg, const char *rule, const char *sentence);
    void *arg;
};

static void tell(struct world *world, const char *rule, const char *sentence)
{
    world->violations++;
    world->fn(world->arg, rule, sentence);
}

/* Seconds since the history began, as text. */
static const char *when(struct world *world, int64_t ms)
{
    return arena_printf(world->arena, "after %.1f s", (double)(ms - world->began_ms) / 1000);
}

static void on_release(void *arg, const char *rule, const char *sentence)
{
    struct world *world = arg;
    tell(world, rule, arena_printf(world->arena, "%s, %s", sentence, when(world, world->now_ms)));
}

static struct thing *thing_of(struct world *world, const char *kind, const char *name)
{
    for (struct thing *thing = world->things; thing; thing = thing->next)
        if (strcmp(thing->kind, kind) == 0 && strcmp(thing->name, name) == 0)
            return thing;
    struct thing *thing = ARENA_NEW(world->arena, struct thing);
    *thing = (struct thing){.next = world->things,
                            .kind = arena_strdup(world->arena, kind),
                            .name = arena_strdup(world->arena, name)};
    world->things = thing;
    return thing;
}

static bool pod_is_ready(struct json_object *pod)
{
    return pod && !meta_deleting(pod) &&
           meta_condition_true(json_at(pod, "status", "conditions", NULL), "Ready");
}

static bool selects(struct json_object *selector, struct json_object *pod)
{
    json_object_object_foreach(selector, key, value)
    {
        const char *label = meta_label(pod, key);
        if (!label || strcmp(label, json_object_get_string(value)) != 0)
            return false;
    }
    return true;
}

static bool has_ready_pod(struct world *world, struct json_object *service)
{
    struct json_object *selector = json_at(service, "spec", "selector", NULL);
    if (!selector)
        return true; /* not pods at all */
    for (struct thing *thing = world->things; thing; thing = thing->next)
        if (strcmp(thing->kind, "Pod") == 0 && pod_is_ready(thing->object) &&
            selects(selector, thing->object))
            return true;
    return false;
}

static bool slice_serves(struct world *world, struct json_object *slice)
{
    struct json_object *endpoints = json_at(slice, "endpoints", NULL);
    for (size_t i = 0; i < json_len(endpoints); i++) {
        struct json_object *endpoint = json_elem(endpoints, i);
        const char *pod = json_str_at(endpoint, "targetRef", "name", NULL);
        if (pod && json_bool_at(endpoint, false, "conditions", "ready", NULL) &&
            pod_is_ready(thing_of(world, "Pod", pod)->object))
            return true;
    }
    return false;
}

static bool has_ready_endpoint(struct world *world, struct thing *service)
{
    if (!json_at(service->object, "spec", "selector", NULL))
        return true;
    for (struct thing *thing = world->things; thing; thing = thing->next) {
        const char *of = thing->object && strcmp(thing->kind, "EndpointSlice") == 0
                             ? meta_label(thing->object, "kubernetes.io/service-name")
                             : NULL;
        if (of && strcmp(of, service->name) == 0 && slice_serves(world, thing->object))
            return true;
    }
    return false;
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t len = strlen(text), n = strlen(suffix);
    return len >= n && strcmp(text + len - n, suffix) == 0;
}

static bool route_gives_weight(struct json_object *route, const char *service)
{
    struct json_object *rules = json_at(route, "spec", "rules", NULL);
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *refs = json_at(json_elem(rules, i), "backendRefs", NULL);
        for (size_t k = 0; k < json_len(refs); k++) {
            const char *name = json_str_at(json_elem(refs, k), "name", NULL);
            if (name && strcmp(name, service) == 0 &&
                json_int_at(json_elem(refs, k), 1, "weight", NULL) > 0)
                return true;
        }
    }
    return false;
}

static bool is_used(struct world *world, const char *service)
{
    if (!ends_with(service, "-primary") && !ends_with(service, "-canary"))
        return true;
    for (struct thing *thing = world->things; thing; thing = thing->next)
        if (thing->object && strcmp(thing->kind, "HTTPRoute") == 0 &&
            route_gives_weight(thing->object, service))
            return true;
    return false;
}

/* The end of a time without pods or endpoints, or of the history. */
static void told_without(struct world *world, struct thing *service, const char *rule,
                         int64_t *since, int64_t lag_ms)
{
    int64_t lasted = world->now_ms - *since;
    if (*since && lasted >= lag_ms)
        tell(world, rule,
             arena_printf(world->arena, "Service %s had no ready %s for %.1f s, %s", service->name,
                          strcmp(rule, "pods") == 0 ? "pod" : "endpoint", (double)lasted / 1000,
                          when(world, *since)));
    *since = 0;
}

static void look_at(struct world *world, struct thing *service, bool well, const char *rule,
                    bool *had, int64_t *since, int64_t lag_ms)
{
    if (well) {
        told_without(world, service, rule, since, lag_ms);
        *had = true;
    } else if (*had && !*since) {
        *since = world->now_ms;
    }
}

static void check_service(struct world *world, struct thing *service)
{
    if (!service->object || !is_used(world, service->name)) {
        told_without(world, service, "pods", &service->without_pods_ms, 0);
        told_without(world, service, "endpoints", &service->without_endpoints_ms, HISTORY_LAG_MS);
        service->had_pods = service->had_endpoints = false;
        return;
    }
    look_at(world, service, has_ready_pod(world, service->object), "pods", &service->had_pods,
            &service->without_pods_ms, 0);
    look_at(world, service, has_ready_endpoint(world, service), "endpoints",
            &service->had_endpoints, &service->without_endpoints_ms, HISTORY_LAG_MS);
}

static bool weights_are_whole(struct json_object *route)
{
    struct json_object *rules = json_at(route, "spec", "rules", NULL);
    for (size_t i = 0; i < json_len(rules); i++) {
        struct json_object *refs = json_at(json_elem(rules, i), "backendRefs", NULL);
        int64_t sum = 0;
        for (size_t k = 0; k < json_len(refs); k++)
            sum += json_int_at(json_elem(refs, k), 1, "weight", NULL);
        if (json_len(refs) > 1 && sum != TOTAL && sum != 10 * TOTAL && sum != 100 * TOTAL)
            return false;
    }
    return true;
}

static void check_route(struct world *world, struct thing *route)
{
    bool whole = !route->object || weights_are_whole(route->object);
    if (!whole && !route->unequal)
        tell(world, "weights",
             arena_printf(world->arena, "the weights of HTTPRoute %s do not add up to 100, %s",
                          route->name, when(world, world->now_ms)));
    route->unequal = !whole;
}

static void check_now(struct world *world)
{
    for (struct thing *thing = world->things; thing; thing = thing->next) {
        if (strcmp(thing->kind, "Service") == 0)
            check_service(world, thing);
        else if (strcmp(thing->kind, "HTTPRoute") == 0)
            check_route(world, thing);
    }
}

static bool is_rest(const char *phase)
{
    static const char *const rest[] = {"Initialized", "Succeeded", "Failed", NULL};
    for (const char *const *at = rest; *at; at++)
        if (phase && strcmp(phase, *at) == 0)
            return true;
    return false;
}

/* What the rule without matches of headers gives to the Service; -1: no such rule or backend. */
static int64_t weight_of(struct json_object *route, const char *service)
{
    struct json_object *rules = json_at(route, "spec", "rules", NULL);
    struct json_object *refs =
        json_at(json_elem(rules, json_len(rules) ? json_len(rules) - 1 : 0), "backendRefs", NULL);
    for (size_t i = 0; i < json_len(refs); i++) {
        const char *name = json_str_at(json_elem(refs, i), "name", NULL);
        if (name && strcmp(name, service) == 0)
            return json_int_at(json_elem(refs, i), 1, "weight", NULL);
    }
    return -1;
}

static void check_end(struct world *world, struct thing *canary)
{
    struct json_object *spec = json_at(canary->object, "spec", NULL);
    const char *phase = json_str_at(canary->object, "status", "phase", NULL);
    const char *name = json_str_at(spec, "service", "name", NULL);
    int64_t said = json_int_at(canary->object, 0, "status", "canaryWeight", NULL);
    if (!name)
        name = json_str_at(spec, "targetRef", "name", NULL);
    if (!is_rest(phase)) {
        tell(world, "rest",
             arena_printf(world->arena, "Canary %s is left in phase %s", canary->name,
                          phase ? phase : "(none)"));
        return;
    }
    struct json_object *route = name ? thing_of(world, "HTTPRoute", name)->object : NULL;
    if (!route)
        return;
    int64_t routed = weight_of(route, arena_printf(world->arena, "%s-canary", name));
    if (routed >= 0 && routed != said)
        tell(world, "status",
             arena_printf(world->arena, "the status of Canary %s says weight %lld, its route %lld",
                          canary->name, (long long)said, (long long)routed));
}

static bool is_of_traffic(const char *kind)
{
    static const char *const kinds[] = {"Pod", "Service", "EndpointSlice", "HTTPRoute", "Canary"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i], kind) == 0)
            return true;
    return false;
}

size_t history_check(struct json_object *lines,
                     void (*fn)(void *arg, const char *rule, const char *sentence), void *arg)
{
    struct world world = {.arena = arena_new(), .fn = fn, .arg = arg};
    struct releases *releases = releases_new(world.arena, on_release, &world);

    for (size_t i = 0; i < json_len(lines); i++) {
        struct json_object *line = json_elem(lines, i);
        struct json_object *object = json_at(line, "object", NULL);
        const char *kind = json_str_at(line, "kind", NULL);
        bool gone = json_bool_at(line, false, "gone", NULL);
        /* Arrival at the recorder, which may lag; the order is that of the revisions. */
        int64_t time = json_int_at(line, 0, "time", NULL);
        world.now_ms = time > world.now_ms ? time : world.now_ms;
        if (i == 0)
            world.began_ms = time;
        releases_see(releases, kind, object, gone, world.now_ms);
        if (!is_of_traffic(kind))
            continue;
        thing_of(&world, kind, meta_name(object))->object = gone ? NULL : object;
        check_now(&world);
    }
    for (struct thing *thing = world.things; thing; thing = thing->next) {
        if (strcmp(thing->kind, "Service") == 0) {
            told_without(&world, thing, "pods", &thing->without_pods_ms, 0);
            told_without(&world, thing, "endpoints", &thing->without_endpoints_ms, 0);
        } else if (strcmp(thing->kind, "Canary") == 0 && thing->object) {
            check_end(&world, thing);
        }
    }
    releases_free(releases);
    arena_free(world.arena);
    return world.violations;
}

static int by_revision(const void *a, const void *b)
{
    struct json_object *one = *(struct json_object *const *)a;
    struct json_object *other = *(struct json_object *const *)b;
    int64_t x = json_int_at(one, 0, "revision", NULL), y = json_int_at(other, 0, "revision", NULL);
    if (x != y)
        return x < y ? -1 : 1;
    x = json_int_at(one, 0, "line", NULL);
    y = json_int_at(other, 0, "line", NULL);
    return x < y ? -1 : x > y;
}

void history_sort(struct json_object *lines)
{
    for (size_t i = 0; i < json_len(lines); i++)
        json_set_int(json_elem(lines, i), "line", (int64_t)i);
    json_object_array_sort(lines, by_revision);
}

enum err history_read(struct arena *arena, const char *path, struct json_object **out,
                      struct errinfo *ei)
{
    char *text = NULL;
    enum err err = file_read(arena, path, HISTORY_MAX_BYTES, &text, NULL, ei);
    if (err != ERR_OK)
        return err;
    struct json_object *lines = json_own(arena, json_object_new_array());
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        struct json_object *parsed = NULL;
        err = json_parse(arena, line, (size_t)(end - line), JSON_MAX_BYTES, &parsed, ei);
        if (err != ERR_OK)
            return err_wrap(ei, err, "%s", path);
        json_object_array_add(lines, json_object_get(parsed));
    }
    history_sort(lines);
    *out = lines;
    return ERR_OK;
}
