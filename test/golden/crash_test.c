/*
 * Whole releases, cut off before each single write in turn: the next tick starts from whatever is
 * there. Every such release must end in the same cluster as the one that was not disturbed, and
 * keep the safety rules on the way (world.c checks them after each write).
 */
#include <string.h>

#include "story.h"
#include "test/unit.h"

static void add_objects(struct world *w)
{
    world_put(w, "configmaps/settings",
              "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings'},"
              "'data':{'color':'red'}}");
    world_put(w, "horizontalpodautoscalers/podinfo",
              "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{"
              "'name':'podinfo'},'spec':{'minReplicas':3,'maxReplicas':5,'scaleTargetRef':{"
              "'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'}}}");
    world_patch(w, world_key(w, "podinfo"),
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{"
                "'name':'settings'}}]}}}}");
}

static void add_hpa(struct world *w)
{
    world_put(w, "horizontalpodautoscalers/podinfo",
              "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{"
              "'name':'podinfo'},'spec':{'minReplicas':1,'maxReplicas':9,'scaleTargetRef':{"
              "'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'}}}");
}

static void add_keda(struct world *w)
{
    world_put(w, "scaledobjects/podinfo",
              "{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject','metadata':{'name':'podinfo'"
              "},'spec':{'minReplicaCount':2,'scaleTargetRef':{'name':'podinfo'},'triggers':[{"
              "'type':'prometheus','metadata':{'query':'x{app=podinfo}'}}]}}");
}

static bool has_traffic(struct world *w)
{
    return world_status_int(w, "canaryWeight") > 0 ||
           (world_status_int(w, "iterations") > 0 && strcmp(world_phase(w), "Progressing") == 0);
}

/* A story before one of its ticks. */
struct course {
    struct world *world;
    int ticks;
    bool pushed; /* all that happens in the middle has */
};
enum { MAX_TICKS = 80 };

/* The undisturbed story and a copy of it before each tick: one that is cut off goes on from the
 * last of these in which its write was not done yet. */
struct calm {
    struct course end, before[MAX_TICKS];
    int n;
};

/* All before the new revision is pushed; without one, that is the whole story. */
static struct world *initialise(const struct story *story, int crash_at, bool after)
{
    struct world *w = world_new(story->canary);

    if (story->canary && strstr(story->canary, "ScaledObject"))
        add_keda(w);
    if (!story->bare)
        add_objects(w);
    if (story->immutable)
        world_patch(w, "configmaps/settings", "{'immutable':true}");
    if (story->load > 0 && !strstr(story->canary, "ScaledObject"))
        add_hpa(w);
    w->load = story->load;
    w->settings.alerts = &world_receiver;
    w->crash_at = crash_at;
    w->crash_after = after;
    world_run(w);
    return w;
}

static struct course push(const struct story *story)
{
    struct world *w = initialise(story, -1, false);

    world_initialise(w);
    world_push(w, story->image);
    world_settle(w);
    if (story->closed)
        w->closed = story->closed;
    if (story->metrics)
        w->metrics = world_json(w, story->metrics);
    return (struct course){.world = w};
}

static void ask(struct world *w, const char *action)
{
    const char *revision = json_str_at(w->canary, "status", "lastAppliedSpec", NULL);

    world_put(w, "releaserequests/podinfo",
              arena_printf(w->arena,
                           "{'metadata':{'uid':'r-1'},'spec':{'action':'%s','revision':'%s',"
                           "'by':'alice','why':'fix'}}",
                           action, revision));
}

static void happen_in_the_middle(const struct story *story, struct world *w)
{
    w->room = story->room;
    if (story->meanwhile)
        world_push(w, story->meanwhile);
    if (story->config)
        world_patch(w, "configmaps/settings", story->config);
    if (story->later_canary)
        world_patch_canary(w, story->later_canary);
    if (story->rollback)
        w->open = story->rollback;
    if (story->asks)
        ask(w, story->asks);
    world_settle(w);
}

/* To the end. calm: where to note the course before each tick, or NULL. */
static void go_on(const struct story *story, struct course *course, struct calm *calm)
{
    struct world *w = course->world;

    for (; course->ticks < MAX_TICKS; course->ticks++) {
        if (calm) {
            calm->before[calm->n] = *course;
            calm->before[calm->n++].world = world_copy(w);
        }
        if (world_step(w))
            break;
        if (course->pushed && story->once && !w->crashed)
            w->open = "";
        if (course->pushed || !has_traffic(w))
            continue;
        course->pushed = true;
        happen_in_the_middle(story, w);
    }
}

static void run_calm(const struct story *story, struct calm *calm)
{
    *calm = (struct calm){0};
    if (!story->image) {
        calm->end.world = initialise(story, -1, false);
        return;
    }
    calm->end = push(story);
    go_on(story, &calm->end, calm);
}

static void free_calm(struct calm *calm)
{
    for (int i = 0; i < calm->n; i++)
        world_free(calm->before[i].world);
    world_free(calm->end.world);
}

/* The story to its end, the tick cut off before write number crash_at. */
static struct world *run_cut_off(const struct story *story, const struct calm *calm, int crash_at,
                                 bool after)
{
    int i = calm->n - 1;

    if (!story->image)
        return initialise(story, crash_at, after);
    while (calm->before[i].world->effects > crash_at)
        i--;
    struct course course = calm->before[i];
    course.world = world_copy(course.world);
    course.world->crash_at = crash_at;
    course.world->crash_after = after;
    go_on(story, &course, NULL);
    assert_true(course.world->effects > crash_at);
    return course.world;
}

/*
 * Each line of `calm` in its order; one that is there several times in a row, at least once. A route
 * that was written without its status is a step without a gate, or leads to a second climb, whose
 * gates are waited for again.
 */
static bool arrived(const char *received, const char *calm)
{
    const char *last = NULL;

    for (size_t len; *calm; last = calm, calm += len) {
        len = strcspn(calm, "\n") + 1;
        if (last && strncmp(last, calm, len) == 0)
            continue;
        while (*received && strncmp(received, calm, len) != 0)
            received += strcspn(received, "\n") + 1;
        if (!*received)
            return false;
        received += len;
    }
    return true;
}

static void try_cut(const struct story *story, const struct calm *course, int crash, bool after)
{
    const char *where = after ? "behind" : "before";
    struct world *calm = course->end.world;
    struct world *w = run_cut_off(story, course, crash, after);

    if (strcmp(world_state(w), world_state(calm)) != 0)
        fail_msg("%s, cut off %s write %d, ends in\n%s\nand not in\n%s\ntold:\n%s", story->name,
                 where, crash, world_state(w), world_state(calm), w->told);
    if (!arrived(w->received, calm->received))
        fail_msg("%s, cut off %s write %d, alerts\n%s\nand not\n%s\ntold:\n%s", story->name, where,
                 crash, w->received, calm->received, w->told);
    world_free(w);
}

static void try_story(const struct story *story, int first)
{
    struct calm course;

    run_calm(story, &course);
    struct world *calm = course.end.world;
    print_message("%s: %d writes\n", story->name, calm->effects);
    if (strcmp(world_phase(calm), story->phase) != 0)
        fail_msg("%s ends in phase %s, told:\n%s", story->name, world_phase(calm), calm->told);
    assert_string_equal(world_image(calm, "podinfo-primary"), story->primary);
    assert_string_equal(world_weights(calm), story->weights ? story->weights : "100/0");
    assert_int_equal(world_status_int(calm, "canaryWeight"), story->weights ? 100 : 0);
    assert_true(calm->effects > 1);
    for (int crash = first; crash < calm->effects; crash += WORLD_EVERY) {
        try_cut(story, &course, crash, false);
        try_cut(story, &course, crash, true);
    }
    free_calm(&course);
}

CASE(test_every_crash_ends_the_same)
{
    size_t count;
    const struct story *stories = story_read(arena, "cut_off", &count);

    for (size_t s = 0; s < count; s++)
        try_story(&stories[s], (int)s % WORLD_EVERY);
}
