/*
 * Releases among random events: revisions, configs, gates, metrics, edits of the Canary, objects
 * that are deleted or changed by others, workloads that break and heal, ticks that are cut off. The
 * world checks the safety rules after each write; when the noise ends, every Canary must come to
 * rest with the last revision released, or refused, and with the traffic where the status says; one
 * that is deleted must leave the app serving.
 */
#include <stdio.h>
#include <string.h>

#include "deletion.h"
#include "test/unit.h"

enum { SEEDS = 84, DELETED = 24, REFUSING = 120, STEPS = 60, TOLD = 8000 };

#define MATCH  "'match':[{'headers':{'x':{'exact':'1'}}}]"
#define STICKY "'sessionAffinity':{'cookieName':'stay','primaryCookieName':'keep'}"

struct noise {
    struct world *world;
    uint64_t state;
    int image;       /* number of the last revision */
    const char *log; /* what happened, for a failure */
};

static const struct noise *running; /* for the teardown of a test that failed */

static unsigned pick(struct noise *n, unsigned below)
{
    n->state = n->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(n->state >> 33) % below;
}

static void note(struct noise *n, const char *what)
{
    n->log = arena_printf(n->world->arena, "%s; %s", n->log, what);
}

static bool is_queued(struct world *w)
{
    const char *mode = json_str_at(w->canary, "spec", "analysis", "onNewRevision", NULL);

    return mode && strcmp(mode, "queue") == 0;
}

static void push(struct noise *n)
{
    static const char *const ends[] = {"", "", "-slow", "-stuck", "-canary-only"};
    int number = pick(n, 4) == 0 && n->image > 1 ? n->image - 1 : ++n->image;
    const char *end = ends[pick(n, 5)];
    /* nothing but another revision ends a start that takes for ever, and in a queue none does */
    bool lasts = strcmp(end, "-slow") == 0 && is_queued(n->world);
    const char *image =
        arena_printf(n->world->arena, "podinfo:%d%s", number, lasts ? "-stuck" : end);

    world_push(n->world, image);
    note(n, image);
}

static void edit_canary(struct noise *n)
{
    static const char *const edits[] = {
        "{'spec':{'suspend':true}}",
        "{'spec':{'suspend':false}}",
        "{'spec':{'skipAnalysis':true}}",
        "{'spec':{'skipAnalysis':false}}",
        "{'spec':{'analysis':{'maxWeight':20}}}",
        "{'spec':{'analysis':{'maxWeight':100}}}",
        "{'spec':{'analysis':{'stepWeight':null,'iterations':3}}}",
        "{'spec':{'analysis':{'stepWeight':20,'iterations':null}}}",
        "{'spec':{'analysis':{'threshold':1}}}",
        "{'spec':{'analysis':{'threshold':3}}}",
        "{'spec':{'analysis':{'stepWeightPromotion':40}}}",
        "{'spec':{'analysis':{'onMetricError':'hold'}}}",
        "{'spec':{'analysis':{'onMetricError':null}}}",
        "{'spec':{'analysis':{'onNoRequests':'fail'}}}",
        "{'spec':{'service':{'hosts':['a.example']}}}",
        ("{'spec':{'analysis':{" MATCH ",'mirror':null}}}"),
        "{'spec':{'analysis':{'match':null}}}",
        "{'spec':{'analysis':{'match':null,'mirror':true}}}",
        "{'spec':{'analysis':{'mirror':null}}}",
        ("{'spec':{'analysis':{" STICKY "}}}"),
        "{'spec':{'analysis':{'sessionAffinity':null}}}",
    };
    const char *edit = edits[pick(n, sizeof(edits) / sizeof(edits[0]))];

    world_patch_canary(n->world, edit);
    note(n, edit);
}

static void disturb(struct noise *n)
{
    static const char *const gone[] = {"services/podinfo-primary", "services/podinfo-canary"};
    const char *key = gone[pick(n, 2)];

    if (!world_get(n->world, key))
        return;
    world_patch(n->world, key, NULL);
    note(n, key);
}

/* The pods of a side are gone for a while. This takes no number of the others' row. */
static void lose_pods(struct noise *n)
{
    static const char *const sides[] = {"deployments/podinfo", "deployments/podinfo-primary"};
    const char *key = sides[n->state >> 24 & 1];

    if ((n->state >> 40) % 12 != 0 || !world_get(n->world, key))
        return;
    world_patch(n->world, key, "{'status':{'availableReplicas':0,'readyReplicas':0}}");
    note(n, arena_printf(n->world->arena, "no pods of %s", key));
}

static void switch_something(struct noise *n)
{
    static const char *const closed[] = {"", "start", "more", "promote", "start more promote"};
    static const char *const metrics[] = {"{}", "{}", "{'metrics[0]':1}", "{'metrics[1]':null}",
                                          "{'metrics[0]':'connection refused'}"};
    static const char *const open[] = {"", "", "back"};

    n->world->closed = closed[pick(n, 5)];
    n->world->metrics = world_json(n->world, metrics[pick(n, 5)]);
    n->world->open = open[pick(n, 3)];
    note(n,
         arena_printf(n->world->arena, "closed '%s' open '%s'", n->world->closed, n->world->open));
}

static void set_config(struct noise *n)
{
    const char *patch = pick(n, 2) ? "{'data':{'color':'blue'}}" : "{'data':{'color':'red'}}";

    world_patch(n->world, "configmaps/settings", patch);
    note(n, patch);
}

static void event(struct noise *n)
{
    switch (pick(n, 13)) {
    case 0:
    case 1:
        push(n);
        break;
    case 2:
        edit_canary(n);
        break;
    case 3:
        disturb(n);
        break;
    case 4:
        switch_something(n);
        break;
    case 5:
        set_config(n);
        break;
    case 6:
        n->world->crash_at = n->world->effects + (int)pick(n, 4);
        note(n, "crash");
        break;
    default:
        break;
    }
}

/* In every second story the gates have a deadline, which goes on or rolls back. */
static void give_deadlines(struct world *w, unsigned seed)
{
    struct json_object *hooks = json_at(w->canary, "spec", "analysis", "webhooks", NULL);

    for (size_t i = 0; seed % 2 == 1 && i < 3; i++) {
        json_set_str(json_elem(hooks, i), "deadline", "5m");
        json_set_str(json_elem(hooks, i), "onDeadline",
                     (seed + i) % 4 < 2 ? "approve" : "rollback");
    }
}

/* For two seeds of three, an autoscaler that follows the load. */
static void give_scaler(struct world *w, unsigned seed)
{
    static const char *const refs[] = {
        NULL,
        "{'spec':{'autoscalerRef':{'apiVersion':'autoscaling/v2','kind':"
        "'HorizontalPodAutoscaler','name':'podinfo'}}}",
        "{'spec':{'autoscalerRef':{'apiVersion':'keda.sh/v1alpha1','kind':'ScaledObject',"
        "'name':'podinfo'}}}"};
    unsigned kind = seed / 3 % 3;

    if (!refs[kind])
        return;
    world_patch_canary(w, refs[kind]);
    world_put(w, "horizontalpodautoscalers/podinfo",
              "{'metadata':{'name':'podinfo'},'spec':{'minReplicas':1,'maxReplicas':9,"
              "'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'podinfo'}}}");
    if (kind == 2) {
        world_patch(w, "horizontalpodautoscalers/podinfo", NULL);
        world_put(w, "scaledobjects/podinfo",
                  "{'metadata':{'name':'podinfo'},'spec':{'minReplicaCount':1,'maxReplicaCount':9,"
                  "'scaleTargetRef':{'name':'podinfo'},'triggers':[]}}");
    }
    w->load = 8;
}

static struct world *start(unsigned seed)
{
    static const char *const kinds[] = {
        "{}",
        "{'spec':{'provider':'kubernetes'}}",
        "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':3}}}",
        "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':3," MATCH "}}}",
        "{'spec':{'analysis':{'mirror':true," STICKY "}}}",
        "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':3,'mirror':true}}}",
        "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':3," MATCH "," STICKY
        "}}}",
    };
    struct world *w = world_new(
        "{'spec':{'analysis':{'webhooks':[{'name':'start','type':'confirm-rollout','url':"
        "'http://x'},{'name':'more','type':'confirm-traffic-increase','url':'http://x'},{'name':"
        "'promote','type':'confirm-promotion','url':'http://x'},{'name':'back','type':'rollback',"
        "'url':'http://x'}]}}}");

    give_deadlines(w, seed);
    give_scaler(w, seed);
    world_put(w, "configmaps/settings",
              "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'settings'},"
              "'data':{'color':'red'}}");
    world_patch(w, "deployments/podinfo",
                "{'spec':{'template':{'spec':{'volumes':[{'name':'s','configMap':{"
                "'name':'settings'}}]}}}}");
    world_patch_canary(w, kinds[seed % (sizeof(kinds) / sizeof(kinds[0]))]);
    if (seed / 9 % 2 == 1)
        world_patch_canary(w, seed / 18 % 2 == 1
                                  ? "{'spec':{'analysis':{'onNewRevision':'queue'}}}"
                                  : "{'spec':{'analysis':{'onNewRevision':'finish'}}}");
    world_settle(w);
    world_initialise(w);
    return w;
}

static void come_to_rest(struct noise *n)
{
    struct world *w = n->world;

    w->crash_at = -1;
    w->refuses = "";
    w->closed = w->open = "";
    w->metrics = world_json(w, "{}");
    world_patch_canary(w, "{'spec':{'suspend':false,'skipAnalysis':false,'analysis':{'stepWeight':"
                          "20,'iterations':null,'maxWeight':50,'match':null,'mirror':null}}}");
    if (strcmp(json_str_at(w->canary, "spec", "provider", NULL), "kubernetes") == 0)
        world_patch_canary(w, "{'spec':{'analysis':{'sessionAffinity':null}}}");
    /* Against a primary that is broken no analysis ends well; none is the way out. */
    if (strchr(world_image(w, "podinfo-primary"), '-'))
        world_patch_canary(w, "{'spec':{'skipAnalysis':true}}");
    const char *last = arena_printf(w->arena, "podinfo:%d", ++n->image);
    world_push(w, last);
    note(n, "rest");
    world_settle(w);
    /* each of a queue has its own deadline */
    for (int i = 0; i < (is_queued(w) ? 800 : 80); i++) {
        const char *text = world_tick(w);
        note(n, arena_printf(w->arena, "[%s]", text));
        if (w->requeue == REQUEUE_NEVER && strcmp(text, "again never\n") == 0)
            break;
        /* what waited behind another revision may have broken the primary meanwhile */
        if (strchr(world_image(w, "podinfo-primary"), '-'))
            world_patch_canary(w, "{'spec':{'skipAnalysis':true}}");
        if (strstr(text, "`kubectl rollout resume")) /* a person does as told */
            world_patch(w, "deployments/podinfo", "{'spec':{'paused':null}}");
        w->now_ms += w->requeue == REQUEUE_NOW ? 0 : 60000;
        world_settle(w);
    }
    if (strcmp(world_phase(w), "Succeeded") != 0 ||
        strcmp(world_image(w, "podinfo-primary"), last) != 0 ||
        strcmp(world_weights(w), "100/0") != 0 || strstr(world_routes(w), "copied") ||
        json_at(w->canary, "status", "sessionAffinityCookie", NULL))
        fail_msg("phase %s, primary %s, weights %s, routes\n%s", world_phase(w),
                 world_image(w, "podinfo-primary"), world_weights(w), world_routes(w));
}

/* In the middle of it the Canary is deleted; noise goes on for a while, then the target heals. */
static void be_deleted(struct noise *n)
{
    struct world *w = n->world;

    note(n, "deleted");
    world_delete(w);
    for (int i = 0; i < 4 && !w->gone; i++) {
        push(n);
        w->crash_at = w->effects + (int)pick(n, 4);
        note(n, arena_printf(w->arena, "[%s]", world_tick(w)));
        w->now_ms += 60000;
        world_settle(w);
    }
    w->crash_at = -1;
    if (!w->gone)
        world_push(w, "podinfo:99");
    world_settle(w);
    deletion_run(w);
    deletion_check(w, world_get(w, "httproutes/podinfo") != NULL);
}

static int tell_what_happened(void **state)
{
    if (running)
        fprintf(stderr, "%s\n",
                strlen(running->log) > TOLD ? running->log + strlen(running->log) - TOLD
                                            : running->log);
    return 0;
}

/* The API server refuses the writes of an object for good, or takes all again. */
static void refuse(struct noise *n)
{
    static const char *const keys[] = {"",
                                       "services/podinfo-canary",
                                       "services/podinfo",
                                       "deployments/podinfo",
                                       "deployments/podinfo-primary",
                                       "configmaps/settings-primary",
                                       "httproutes/podinfo",
                                       "horizontalpodautoscalers/podinfo-primary",
                                       "horizontalpodautoscalers/podinfo",
                                       "scaledobjects/podinfo-primary",
                                       "scaledobjects/podinfo"};

    n->world->refuses = keys[pick(n, sizeof(keys) / sizeof(keys[0]))];
    note(n, arena_printf(n->world->arena, "refuses '%s'", n->world->refuses));
}

CASE_WITH(test_random_refusals, NULL, tell_what_happened)
{
    for (unsigned seed = 1; seed <= REFUSING; seed += WORLD_EVERY) {
        static struct noise n; /* outlives a failure */
        n = (struct noise){.world = start(seed), .state = seed, .image = 1, .log = ""};
        running = &n;
        for (int i = 0; i < STEPS; i++) {
            if (pick(&n, 8) == 0)
                refuse(&n);
            else
                event(&n);
            world_settle(n.world);
            note(&n, arena_printf(n.world->arena, "[%s]", world_tick(n.world)));
            n.world->now_ms += 60000;
            if (n.world->crashed)
                n.world->crash_at = -1;
        }
        n.world->due = true;
        come_to_rest(&n);
        running = NULL;
        world_free(n.world);
    }
}

CASE_WITH(test_random_events, NULL, tell_what_happened)
{
    for (unsigned seed = 1; seed <= SEEDS + DELETED; seed += WORLD_EVERY) {
        static struct noise n; /* outlives a failure */
        n = (struct noise){.world = start(seed), .state = seed, .image = 1, .log = ""};
        running = &n;
        for (int i = 0; i < STEPS; i++) {
            event(&n);
            lose_pods(&n);
            if (pick(&n, 3))
                world_settle(n.world);
            n.world->due = pick(&n, 4) != 0;
            note(&n, arena_printf(n.world->arena, "[%s]", world_tick(n.world)));
            n.world->now_ms += 60000;
            if (n.world->crashed)
                n.world->crash_at = -1;
        }
        n.world->due = true;
        if (seed <= SEEDS)
            come_to_rest(&n);
        else
            be_deleted(&n);
        running = NULL;
        world_free(n.world);
    }
}
