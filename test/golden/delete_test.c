/*
 * Canaries that are deleted: in each phase, after each single write of a release, and cut off
 * before each single write of the reversion. The world checks after each write that whoever gets
 * traffic answers; at the end the app must serve by itself and nothing refer to what has gone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "deletion.h"

#define KUBERNETES "{'spec':{'provider':'kubernetes'}}"

struct story {
    const char *name;
    const char *canary;  /* patch of the Canary */
    const char *image;   /* the new revision, NULL: deleted while it is initialised */
    const char *metrics; /* what the metrics say */
    const char *closed;  /* gates */
    bool bare;           /* the kubernetes provider: no route */
};

#define GATED                                                                                      \
    "{'spec':{'analysis':{'webhooks':[{'name':'start','type':'confirm-rollout','url':'http://x'}," \
    "{'name':'promote','type':'confirm-promotion','url':'http://x'}]}}}"

#define AB                                                                                         \
    "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':3,'match':[{'headers':{" \
    "'x':{'exact':'1'}}}],'sessionAffinity':{'cookieName':'stay','primaryCookieName':'keep'}}}}"

static const struct story stories[] = {
    {.name = "initialise"},
    {.name = "initialise without a mesh", .canary = KUBERNETES, .bare = true},
    {.name = "promote", .image = "podinfo:2"},
    {.name = "promote in steps",
     .canary = "{'spec':{'analysis':{'stepWeightPromotion':20}}}",
     .image = "podinfo:2"},
    {.name = "roll back", .image = "podinfo:2", .metrics = "{'metrics[0]':80}"},
    {.name = "wait for the start", .canary = GATED, .image = "podinfo:2", .closed = "start"},
    {.name = "wait for the promotion", .canary = GATED, .image = "podinfo:2", .closed = "promote"},
    {.name = "a primary that does not take the promotion", .image = "podinfo:2-canary-only"},
    {.name = "blue/green",
     .canary = "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':3}}}",
     .image = "podinfo:2"},
    {.name = "blue/green without a mesh", .canary = KUBERNETES, .image = "podinfo:2", .bare = true},
    {.name = "with an HPA",
     .canary = "{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2',"
               "'kind':'HorizontalPodAutoscaler','name':'podinfo'}}}",
     .image = "podinfo:2"},
    {.name = "with KEDA",
     .canary = "{'spec':{'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject',"
               "'name':'podinfo'}}}",
     .image = "podinfo:2"},
    {.name = "DaemonSet",
     .canary = "{'spec':{'targetRef':{'kind':'DaemonSet'}}}",
     .image = "podinfo:2"},
    {.name = "A/B test with cookies", .canary = AB, .image = "podinfo:2"},
    {.name = "mirror",
     .canary = "{'spec':{'analysis':{'mirror':true,'mirrorWeight':20,'sessionAffinity':{"
               "'cookieName':'stay'}}}}",
     .image = "podinfo:2"},
};

static void note_phase(struct json_object *phases, struct world *w)
{
    const char *phase = world_phase(w);

    json_set_bool(phases, *phase ? phase : "none", true);
}

/* The story up to just before write number `until` (-1: to its end, and *writes is how many). */
static struct world *begin_story(const struct story *story, int until, int *writes)
{
    struct world *w = world_new(story->canary);

    world_put(w, "horizontalpodautoscalers/podinfo",
              "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{"
              "'name':'podinfo'},'spec':{'minReplicas':2,'maxReplicas':5,'scaleTargetRef':{"
              "'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'}}}");
    world_put(w, "scaledobjects/podinfo",
              "{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject','metadata':{'name':"
              "'podinfo'},'spec':{'scaleTargetRef':{'name':'podinfo'},'triggers':[]}}");
    if (story->image) {
        world_initialise(w);
        world_push(w, story->image);
    }
    if (story->metrics)
        w->metrics = world_json(w, story->metrics);
    w->closed = story->closed ? story->closed : "";
    w->crash_at = until;
    for (int i = 0; i < DELETION_TICKS; i++) {
        const char *text = world_tick(w);
        if (w->crashed || (w->again == AGAIN_NEVER && strcmp(text, "again never\n") == 0))
            break;
        w->now_ms += w->again == AGAIN_NOW ? 0 : DELETION_STEP_MS;
        world_settle(w);
    }
    *writes = w->effects;
    w->crash_at = -1;
    return w;
}

/* Deletes it there; the reversion is cut off before its write number `crash`. Returns how many it
 * has. */
static int end_story(const struct story *story, struct world *w, int crash)
{
    bool was_routed = world_get(w, "httproutes/podinfo") != NULL;

    world_settle(w);
    w->effects = 0;
    w->crash_at = crash;
    world_delete(w);
    deletion_run(w);
    deletion_check(w, was_routed && !story->bare);
    if (was_routed)
        assert_non_null(world_get(w, "httproutes/podinfo"));
    int writes = w->effects;
    world_free(w);
    return writes;
}

static void test_deleted_after_each_write(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct json_object *phases = json_own(arena, json_object_new_object());
    static const char *const wanted[] = {
        "none",      "Initializing", "Initialized", "Waiting", "Progressing", "WaitingPromotion",
        "Promoting", "Finalising",   "Succeeded",   "Failed"};
    int deletions = 0;

    for (size_t s = 0; s < sizeof(stories) / sizeof(stories[0]); s++) {
        int all, writes, ignored;
        world_free(begin_story(&stories[s], -1, &all));
        for (int until = 0; until <= all; until++) {
            struct world *w = begin_story(&stories[s], until < all ? until : -1, &ignored);
            note_phase(phases, w);
            writes = end_story(&stories[s], w, -1);
            deletions++;
            for (int crash = until % 2; crash < writes; crash += 2, deletions++)
                end_story(&stories[s], begin_story(&stories[s], until < all ? until : -1, &ignored),
                          crash);
        }
    }
    print_message("%d deletions, most of them cut off\n", deletions);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (!json_at(phases, wanted[i], NULL))
            fail_msg("no story was deleted in phase %s", wanted[i]);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_deleted_after_each_write)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
