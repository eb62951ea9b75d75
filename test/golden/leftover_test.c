/*
 * Canaries whose provider, name, port or target was changed, and that are deleted then, with or
 * without another Canary that goes on: routes of all that came before may still be there. At any
 * time every route leads to Services that are there, by ports that they have, to pods that answer.
 */
#include <string.h>

#include "deletion.h"
#include "test/unit.h"
#include "world_kind.h"

/* At rest, one after the other. */
static const char *const edits[] = {
    "{'spec':{'provider':'kubernetes'}}",
    "{'spec':{'provider':'gatewayapi:v1'}}",
    "{'spec':{'service':{'name':'shop'}}}",
    "{'spec':{'targetRef':{'name':'other'}}}",
    "{'spec':{'targetRef':{'name':'other'},'service':{'name':'podinfo'}}}",
    "{'spec':{'targetRef':{'name':'podinfo'},'service':{'name':null}}}",
    "{'spec':{'service':{'port':80,'targetPort':9898}}}",
};
enum { EDITS = sizeof(edits) / sizeof(edits[0]) };

/* Who goes on when it is deleted; patch NULL: nobody. */
static const struct successor {
    const char *patch; /* of the spec of the one that is deleted */
    bool successor;    /* it has the same target, and gets what is there as it stands */
} successors[] = {
    {NULL, false},
    {"{}", true},
    {"{'spec':{'provider':'kubernetes','service':{'port':8080,'targetPort':9898}}}", true},
    {"{'spec':{'provider':'gatewayapi:v1','service':{'name':'web'}}}", true},
    {"{'spec':{'provider':'gatewayapi:v1beta1'}}", true},
    {"{'spec':{'provider':'kubernetes','service':{'port':8080,'targetPort':9898}}}", false},
    {"{'spec':{'provider':'kubernetes','targetRef':{'name':'third'},'service':{'name':'podinfo',"
     "'port':8080,'targetPort':9898}}}",
     false},
};

static bool has_port(struct json_object *service, int64_t number)
{
    struct json_object *ports = json_at(service, "spec", "ports", NULL);

    for (size_t i = 0; i < json_len(ports); i++) {
        if (json_int_at(json_elem(ports, i), 0, "port", NULL) == number)
            return true;
    }
    return false;
}

static void check_backend(struct world *w, const char *route, struct json_object *backend)
{
    const char *name = json_str_at(backend, "name", NULL);
    int64_t port = json_int_at(backend, 0, "port", NULL);
    struct json_object *service = world_get(w, arena_printf(w->arena, "services/%s", name));

    if (json_int_at(backend, 1, "weight", NULL) == 0)
        return;
    if (!service)
        fail_msg("%s leads to Service %s, which is gone", route, name);
    if (!has_port(service, port))
        fail_msg("%s leads to port %lld, Service %s has %s", route, (long long)port, name,
                 json_text_sorted(w->arena, json_at(service, "spec", "ports", NULL)));
    if (!world_kind_of(w)->answers(w, name))
        fail_msg("%s leads to Service %s, where nobody answers", route, name);
}

static void check_routes(struct world *w)
{
    json_object_object_foreach(w->objects, key, object)
    {
        struct json_object *rules = json_at(object, "spec", "rules", NULL);
        if (strncmp(key, "httproutes/", strlen("httproutes/")) != 0)
            continue;
        for (size_t i = 0; i < json_len(rules); i++) {
            struct json_object *backends = json_at(json_elem(rules, i), "backendRefs", NULL);
            for (size_t k = 0; k < json_len(backends); k++)
                check_backend(w, key, json_elem(backends, k));
        }
    }
    if (w->lost_route)
        fail_msg("%s went together with its Services", w->lost_route);
}

static bool step(struct world *w)
{
    bool rests = strcmp(world_tick(w), "again never\n") == 0;

    check_routes(w);
    w->now_ms += w->requeue == REQUEUE_NOW ? 0 : DELETION_STEP_MS;
    world_settle(w);
    return rests;
}

static void rest(struct world *w)
{
    for (int i = 0; i < DELETION_TICKS; i++) {
        if (step(w))
            return;
    }
    fail_msg("no end, told:\n%s", w->told);
}

/* Cut off before its write `crash`. Returns how many writes there were. */
static int end(struct world *w, int crash)
{
    w->effects = 0;
    w->crash_at = crash;
    world_delete(w);
    for (int i = 0; i < DELETION_TICKS && !w->gone; i++)
        step(w);
    if (!w->gone)
        fail_msg("the Canary is still there, told:\n%s", w->told);
    check_routes(w);
    w->crash_at = -1;
    return w->effects;
}

static struct world *begin(bool requeue)
{
    struct world *w = world_new(NULL);

    w->safety_off = true; /* which knows the routes of one name only */
    deletion_add_target(w, "other");
    deletion_add_target(w, "third");
    world_settle(w);
    rest(w);
    if (requeue) { /* on a route and a Service that it has not made */
        end(w, -1);
        deletion_succeed(w, "podinfo", "{}");
        rest(w);
    }
    return w;
}

static void edit(struct world *w, const char *patch)
{
    world_patch_canary(w, patch);
    rest(w);
}

/* The last one is deleted as well. Returns the writes of the first deletion, which is cut off. */
static int finish(struct world *w, const struct successor *successor, int crash)
{
    w->successor = successor->successor ? "web.test" : NULL;
    int writes = end(w, crash);

    if (successor->patch) {
        deletion_succeed(w, "web", successor->patch);
        rest(w);
        assert_string_equal(world_phase(w), "Initialized");
        end(w, -1);
    }
    world_free(w);
    return writes;
}

/* Of the writes that a deletion is cut off before, and only after one edit fewer. */
enum { EVERY = 3 * WORLD_EVERY };

/* Every sequence of so many edits or fewer. */
static int play(const struct world *start, int depth)
{
    int played = 0;

    for (size_t i = 0; i < sizeof(successors) / sizeof(successors[0]); i++) {
        int writes = finish(world_copy(start), &successors[i], -1);
        played++;
        for (int crash = (int)i % EVERY; depth > 0 && crash < writes; crash += EVERY, played++)
            finish(world_copy(start), &successors[i], crash);
    }
    for (int i = 0; depth > 0 && i < EDITS; i++) {
        struct world *w = world_copy(start);
        edit(w, edits[i]);
        played += play(w, depth - 1);
        world_free(w);
    }
    return played;
}

CASE(test_deleted_after_edits)
{
    int played = 0;

    for (int requeue = 0; requeue < 2; requeue++) {
        struct world *w = begin(requeue);
        played += play(w, WORLD_EVERY == 1 ? 2 : 1);
        world_free(w);
    }
    print_message("%d sequences\n", played);
}

/* Deleted with another port than the Services have. */
CASE(test_deleted_with_another_port)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_patch_canary(w, "{'spec':{'service':{'port':80,'targetPort':9898}}}");
    end(w, -1);
    assert_non_null(
        strstr(json_text(w->arena, world_get(w, "httproutes/podinfo")), "\"port\":80,"));
    world_free(w);
}
