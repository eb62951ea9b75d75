/*
 * Whole releases, cut off before each single write in turn: the next tick starts from whatever is
 * there. Every such release must end in the same cluster as the one that was not disturbed, and
 * keep the safety rules on the way (world.c checks them after each write).
 */
#include <string.h>

#include "test/unit.h"
#include "world.h"

struct story {
    const char *name;
    const char *canary;       /* patch of the Canary */
    const char *image;        /* the new revision, NULL: only the initialisation */
    const char *metrics;      /* what the metrics say */
    const char *meanwhile;    /* pushed when the weight is first above zero */
    const char *config;       /* patched into the ConfigMap at the same moment */
    const char *later_canary; /* patched into the Canary at the same moment */
    const char *rollback;     /* hooks that ask for a rollback from that moment */
    const char *closed;       /* gates, from the first moment on */
    bool once;                /* and then no more */
    const char *phase;        /* where it ends */
    const char *primary;      /* and with which image on the primary */
    const char *weights;      /* NULL: 100/0 */
    int load;                 /* that autoscalers follow, in pods */
    int room;                 /* for the primary's, 0: for all */
    bool immutable;           /* the ConfigMap */
    bool bare;                /* without ConfigMap */
};

#define HPA                                                                                        \
    "{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler',"    \
    "'name':'podinfo'},'analysis':{'stepWeight':50,'webhooks':[{'name':'back','type':"             \
    "'rollback','url':'http://x'}]}}}"
#define KEDA                                                                                       \
    "{'spec':{'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject',"             \
    "'name':'podinfo'}}}"
#define DAEMONSET "{'spec':{'targetRef':{'kind':'DaemonSet'}}}"
#define AB(more)                                                                                   \
    "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':3,'match':[{'headers':{" \
    "'x':{'exact':'1'}}}]" more "}}}"
#define STICKY                                                                                     \
    "{'spec':{'analysis':{'sessionAffinity':{'cookieName':'stay','primaryCookieName':'keep'}}}}"

#define SERVICE "{'spec':{'targetRef':{'apiVersion':'v1','kind':'Service'}}}"
#define KNATIVE                                                                                    \
    "{'spec':{'provider':'knative','targetRef':{'apiVersion':'serving.knative.dev/v1','kind':"     \
    "'Service'}}}"

/* A row; what all rows have stands first. */
#define STORY(name_, phase_, primary_, ...)                                                        \
    {                                                                                              \
        .name = (name_), .phase = (phase_), .primary = (primary_), __VA_ARGS__                     \
    }

static const struct story stories[] = {
    STORY("initialise", "Initialized", "podinfo:1"),
    STORY("promote", "Succeeded", "podinfo:2", .image = "podinfo:2"),
    STORY("promote in steps", "Succeeded", "podinfo:2",
          .canary = "{'spec':{'analysis':{'stepWeightPromotion':20}}}", .image = "podinfo:2"),
    STORY("step weights up to 100", "Succeeded", "podinfo:2",
          .canary =
              "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'stepWeights':[1,10,100]}}}",
          .image = "podinfo:2"),
    STORY("failed checks", "Failed", "podinfo:1", .image = "podinfo:2",
          .metrics = "{'metrics[0]':80}"),
    STORY("canary that never gets ready", "Failed", "podinfo:1", .image = "podinfo:2-stuck"),
    STORY("rollback hook", "Failed", "podinfo:1",
          .canary = "{'spec':{'analysis':{'webhooks':[{'name':'back','type':'rollback','url':'http:"
                    "//x'}]}}}",
          .image = "podinfo:2", .rollback = "back"),
    STORY("start that nobody approves", "Failed", "podinfo:1",
          .canary = "{'spec':{'analysis':{'webhooks':[{'name':'start','type':'confirm-rollout',"
                    "'url':'http://x','deadline':'5m'}]}}}",
          .image = "podinfo:2", .closed = "start"),
    STORY("promotion that nobody approves", "Failed", "podinfo:1",
          .canary = "{'spec':{'analysis':{'webhooks':[{'name':'promote','type':'confirm-promotion',"
                    "'url':'http://x','deadline':'5m'}]}}}",
          .image = "podinfo:2", .closed = "promote"),
    STORY("gates that open by themselves", "Succeeded", "podinfo:2",
          .canary =
              "{'spec':{'analysis':{'webhooks':["
              "{'name':'start','type':'confirm-rollout','url':'http://x','deadline':'2m',"
              "'onDeadline':'approve'},"
              "{'name':'more','type':'confirm-traffic-increase','url':'http://x','deadline':'2m',"
              "'onDeadline':'approve'},"
              "{'name':'promote','type':'confirm-promotion','url':'http://x','deadline':'2m',"
              "'onDeadline':'approve'}]}}}",
          .image = "podinfo:2", .closed = "start more promote"),
    STORY("outage of the metric server without end", "Failed", "podinfo:1",
          .canary = "{'spec':{'progressDeadlineSeconds':180,'analysis':{'onMetricError':'hold'}}}",
          .image = "podinfo:2", .metrics = "{'metrics[0]':'connection refused'}"),
    STORY("skip the analysis", "Succeeded", "podinfo:2", .canary = "{'spec':{'skipAnalysis':true}}",
          .image = "podinfo:2"),
    STORY("skip in the middle", "Succeeded", "podinfo:2", .image = "podinfo:2",
          .later_canary = "{'spec':{'skipAnalysis':true}}"),
    STORY("another revision in the middle", "Succeeded", "podinfo:3", .image = "podinfo:2",
          .meanwhile = "podinfo:3"),
    STORY("back to the promoted one in the middle", "Succeeded", "podinfo:1", .image = "podinfo:2",
          .meanwhile = "podinfo:1"),
    STORY("another config in the middle", "Succeeded", "podinfo:2", .image = "podinfo:2",
          .config = "{'data':{'color':'blue'}}"),
    STORY("immutable config that is replaced in the middle", "Succeeded", "podinfo:2",
          .image = "podinfo:2", .config = "{'data':{'color':'blue'}}", .immutable = true),
    STORY("cancelled in the middle", "Succeeded", "podinfo:1", .image = "podinfo:2",
          .meanwhile = "podinfo:1", .bare = true),
    STORY("primary that does not take the promotion", "Failed", "podinfo:2-canary-only",
          .image = "podinfo:2-canary-only", .weights = "0/100"),
    STORY("blue/green on the gateway", "Succeeded", "podinfo:2",
          .canary = "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':3}}}",
          .image = "podinfo:2"),
    STORY("blue/green on Services", "Succeeded", "podinfo:2",
          .canary = "{'spec':{'provider':'kubernetes'}}", .image = "podinfo:2"),
    STORY("blue/green that fails", "Failed", "podinfo:1",
          .canary = "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':3}}}",
          .image = "podinfo:2", .metrics = "{'metrics[1]':9}"),
    STORY("DaemonSet", "Succeeded", "podinfo:2", .canary = DAEMONSET, .image = "podinfo:2"),
    STORY("DaemonSet, failed checks", "Failed", "podinfo:1", .canary = DAEMONSET,
          .image = "podinfo:2", .metrics = "{'metrics[0]':80}"),
    STORY("DaemonSet that never gets ready", "Failed", "podinfo:1", .canary = DAEMONSET,
          .image = "podinfo:2-stuck"),
    STORY("DaemonSet, another revision in the middle", "Succeeded", "podinfo:3",
          .canary = DAEMONSET, .image = "podinfo:2", .meanwhile = "podinfo:3"),
    STORY("DaemonSet, another config in the middle", "Succeeded", "podinfo:2", .canary = DAEMONSET,
          .image = "podinfo:2", .config = "{'data':{'color':'blue'}}"),
    STORY("DaemonSet, primary that does not take the promotion", "Failed", "podinfo:2-canary-only",
          .canary = DAEMONSET, .image = "podinfo:2-canary-only", .weights = "0/100"),
    STORY("Service", "Succeeded", "podinfo:2", .canary = SERVICE, .image = "podinfo:2",
          .bare = true),
    STORY("Service, failed checks", "Failed", "podinfo:1", .canary = SERVICE, .image = "podinfo:2",
          .metrics = "{'metrics[0]':80}", .bare = true),
    STORY("Service, another revision in the middle", "Succeeded", "podinfo:3", .canary = SERVICE,
          .image = "podinfo:2", .meanwhile = "podinfo:3", .bare = true),
    STORY("Service, skip in the middle", "Succeeded", "podinfo:2", .canary = SERVICE,
          .image = "podinfo:2", .later_canary = "{'spec':{'skipAnalysis':true}}", .bare = true),
    STORY("Knative", "Succeeded", "podinfo:2", .canary = KNATIVE, .image = "podinfo:2",
          .bare = true),
    STORY("Knative, failed checks", "Failed", "podinfo:1", .canary = KNATIVE, .image = "podinfo:2",
          .metrics = "{'metrics[0]':80}", .bare = true),
    STORY("Knative, another revision in the middle", "Succeeded", "podinfo:3", .canary = KNATIVE,
          .image = "podinfo:2", .meanwhile = "podinfo:3", .bare = true),
    STORY("Knative, skip in the middle", "Succeeded", "podinfo:2", .canary = KNATIVE,
          .image = "podinfo:2", .later_canary = "{'spec':{'skipAnalysis':true}}", .bare = true),
    STORY("Service, cancelled in the middle", "Succeeded", "podinfo:1", .canary = SERVICE,
          .image = "podinfo:2", .meanwhile = "podinfo:1", .bare = true),
    STORY("Service on Services", "Succeeded", "podinfo:2",
          .canary =
              "{'spec':{'provider':'kubernetes','targetRef':{'apiVersion':'v1','kind':'Service'}}}",
          .image = "podinfo:2", .bare = true),
    STORY("Service, blue/green", "Succeeded", "podinfo:2",
          .canary =
              "{'spec':{'targetRef':{'apiVersion':'v1','kind':'Service'},'analysis':{'stepWeight':"
              "null,'maxWeight':null,'iterations':3}}}",
          .image = "podinfo:2", .bare = true),
    STORY("Knative, revision that never gets ready", "Failed", "podinfo:1", .canary = KNATIVE,
          .image = "podinfo:2-stuck", .bare = true),
    STORY("Knative, in steps", "Succeeded", "podinfo:2",
          .canary = "{'spec':{'provider':'knative','targetRef':{'apiVersion':'serving.knative.dev/"
                    "v1','kind':'Service'},'analysis':{'stepWeightPromotion':20}}}",
          .image = "podinfo:2", .bare = true),
    STORY("Knative, skip the analysis", "Succeeded", "podinfo:2",
          .canary = "{'spec':{'skipAnalysis':true,'provider':'knative','targetRef':{'apiVersion':'"
                    "serving.knative.dev/v1','kind':'Service'}}}",
          .image = "podinfo:2", .bare = true),
    STORY("Knative, rollback hook", "Failed", "podinfo:1",
          .canary =
              "{'spec':{'provider':'knative','targetRef':{'apiVersion':'serving.knative.dev/"
              "v1','kind':'Service'},'analysis':{'webhooks':[{'name':'back','type':'rollback','"
              "url':'http://x'}]}}}",
          .image = "podinfo:2", .rollback = "back", .bare = true),
    STORY("DaemonSet on Services", "Succeeded", "podinfo:2",
          .canary = "{'spec':{'provider':'kubernetes','targetRef':{'kind':'DaemonSet'}}}",
          .image = "podinfo:2"),
    STORY("A/B test", "Succeeded", "podinfo:2", .canary = AB(""), .image = "podinfo:2"),
    STORY("A/B test that fails", "Failed", "podinfo:1", .canary = AB(""), .image = "podinfo:2",
          .metrics = "{'metrics[0]':80}"),
    STORY("A/B test with another revision in the middle", "Succeeded", "podinfo:3",
          .canary = AB(",'stepWeightPromotion':30"), .image = "podinfo:2",
          .meanwhile = "podinfo:3"),
    STORY("A/B test that the primary does not take", "Failed", "podinfo:2-canary-only",
          .canary = AB(""), .image = "podinfo:2-canary-only", .weights = "0/100"),
    STORY("A/B test on Services", "Succeeded", "podinfo:2",
          .canary =
              "{'spec':{'provider':'kubernetes','analysis':{'match':[{'headers':{'x':{'exact':"
              "'1'}}}]}}}",
          .image = "podinfo:2"),
    STORY("matched requests step by step", "Succeeded", "podinfo:2",
          .canary = "{'spec':{'analysis':{'match':[{'headers':{'x':{'exact':'1'}}}]}}}",
          .image = "podinfo:2"),
    STORY("mirror, then blue/green", "Succeeded", "podinfo:2",
          .canary = "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':3,"
                    "'mirror':true}}}",
          .image = "podinfo:2"),
    STORY("mirror, then canary", "Succeeded", "podinfo:2",
          .canary = "{'spec':{'analysis':{'mirror':true,'mirrorWeight':20}}}",
          .image = "podinfo:2"),
    STORY("mirror that shows the faults", "Failed", "podinfo:1",
          .canary = "{'spec':{'analysis':{'mirror':true}}}", .image = "podinfo:2",
          .metrics = "{'metrics[0]':80}"),
    STORY("session affinity", "Succeeded", "podinfo:2", .canary = STICKY, .image = "podinfo:2"),
    STORY("session affinity, rolled back", "Failed", "podinfo:1", .canary = STICKY,
          .image = "podinfo:2", .metrics = "{'metrics[0]':80}"),
    STORY("session affinity, another revision in the middle", "Succeeded", "podinfo:3",
          .canary = STICKY, .image = "podinfo:2", .meanwhile = "podinfo:3"),
    STORY("session affinity, cancelled in the middle", "Succeeded", "podinfo:1", .canary = STICKY,
          .image = "podinfo:2", .meanwhile = "podinfo:1", .bare = true),
    STORY("session affinity that the primary does not take", "Failed", "podinfo:2-canary-only",
          .canary = STICKY, .image = "podinfo:2-canary-only", .weights = "0/100"),
    STORY("A/B test with session affinity", "Succeeded", "podinfo:2",
          .canary = AB(",'sessionAffinity':{'cookieName':'stay','primaryCookieName':'keep'}"),
          .image = "podinfo:2"),
    STORY("with a ConfigMap and an HPA", "Succeeded", "podinfo:2",
          .canary = "{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2',"
                    "'kind':'HorizontalPodAutoscaler','name':'podinfo'}}}",
          .image = "podinfo:2"),
    STORY("HPA, promote with a shrunken primary", "Succeeded", "podinfo:2", .canary = HPA,
          .load = 8, .image = "podinfo:2"),
    STORY("HPA, rollback to a shrunken primary", "Failed", "podinfo:1", .canary = HPA, .load = 8,
          .image = "podinfo:2", .rollback = "back"),
    STORY("HPA, rollback hook that is heard once", "Failed", "podinfo:1", .canary = HPA, .load = 8,
          .image = "podinfo:2", .rollback = "back", .once = true),
    STORY("HPA, rollback to a primary that has no room", "Failed", "podinfo:1", .canary = HPA,
          .load = 8, .room = 4, .image = "podinfo:2", .rollback = "back"),
    STORY("HPA, another revision in the middle", "Succeeded", "podinfo:3", .canary = HPA, .load = 8,
          .image = "podinfo:2", .meanwhile = "podinfo:3"),
    STORY("HPA, cancelled in the middle", "Succeeded", "podinfo:1", .canary = HPA, .load = 8,
          .image = "podinfo:2", .meanwhile = "podinfo:1", .bare = true),
    STORY("HPA, skip in the middle", "Succeeded", "podinfo:2", .canary = HPA, .load = 8,
          .image = "podinfo:2", .later_canary = "{'spec':{'skipAnalysis':true}}"),
    STORY("HPA, blue/green", "Succeeded", "podinfo:2", .canary = HPA, .load = 8,
          .image = "podinfo:2",
          .later_canary =
              "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':3}}}"),
    STORY("KEDA, rollback to a shrunken primary", "Failed", "podinfo:1", .canary = KEDA, .load = 8,
          .image = "podinfo:2", .metrics = "{'metrics[0]':80}"),
    STORY("KEDA, initialise", "Initialized", "podinfo:1", .canary = KEDA),
    STORY("KEDA, promote", "Succeeded", "podinfo:2", .canary = KEDA, .image = "podinfo:2"),
    STORY("KEDA, failed checks", "Failed", "podinfo:1", .canary = KEDA, .image = "podinfo:2",
          .metrics = "{'metrics[0]':80}"),
    STORY("KEDA, another revision in the middle", "Succeeded", "podinfo:3", .canary = KEDA,
          .image = "podinfo:2", .meanwhile = "podinfo:3"),
    STORY("KEDA, another config in the middle", "Succeeded", "podinfo:2", .canary = KEDA,
          .image = "podinfo:2", .config = "{'data':{'color':'blue'}}"),
    STORY("KEDA, cancelled in the middle", "Succeeded", "podinfo:1", .canary = KEDA,
          .image = "podinfo:2", .meanwhile = "podinfo:1", .bare = true),
    STORY("KEDA, primary that does not take the promotion", "Failed", "podinfo:2-canary-only",
          .canary = KEDA, .image = "podinfo:2-canary-only", .weights = "0/100"),
};

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
static struct world *initialise(const struct story *story, int crash_at)
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
    w->crash_at = crash_at;
    world_run(w);
    return w;
}

static struct course push(const struct story *story)
{
    struct world *w = initialise(story, -1);

    world_initialise(w);
    world_push(w, story->image);
    world_settle(w);
    if (story->closed)
        w->closed = story->closed;
    if (story->metrics)
        w->metrics = world_json(w, story->metrics);
    return (struct course){.world = w};
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
        const char *text = world_tick(w);
        if (!w->crashed && w->again == AGAIN_NEVER && strcmp(text, "again never\n") == 0)
            break;
        w->now_ms += w->again == AGAIN_NOW ? 0 : 60000;
        world_settle(w);
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
        calm->end.world = initialise(story, -1);
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
static struct world *run_cut_off(const struct story *story, const struct calm *calm, int crash_at)
{
    int i = calm->n - 1;

    if (!story->image)
        return initialise(story, crash_at);
    while (calm->before[i].world->effects > crash_at)
        i--;
    struct course course = calm->before[i];
    course.world = world_copy(course.world);
    course.world->crash_at = crash_at;
    go_on(story, &course, NULL);
    assert_true(course.world->effects > crash_at);
    return course.world;
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
        struct world *w = run_cut_off(story, &course, crash);
        if (strcmp(world_state(w), world_state(calm)) != 0)
            fail_msg("%s, cut off before write %d, ends in\n%s\nand not in\n%s\ntold:\n%s",
                     story->name, crash, world_state(w), world_state(calm), w->told);
        world_free(w);
    }
    free_calm(&course);
}

CASE(test_every_crash_ends_the_same)
{
    for (size_t s = 0; s < sizeof(stories) / sizeof(stories[0]); s++)
        try_story(&stories[s], (int)s % WORLD_EVERY);
}
