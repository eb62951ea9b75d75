/*
 * Every field of a Canary is edited, in every phase, also such that the Canary moves to another
 * target, Service, port, provider or autoscaler. Whatever is done with it: who serves goes on
 * serving, no Service selects pods that do not answer (world.c looks at that after each write), and
 * the release ends.
 */
#include <string.h>

#include "deletion.h"
#include "test/unit.h"
#include "world.h"

#define HPA(name)                                                                                  \
    "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','name':'" name "'}"
#define HOOK(name, type) "{'name':'" name "','type':'" type "','url':'http://x'}"

/* A Service name of its own, so that a change of the target does not change it as well. */
static const char base[] = "{'spec':{'service':{'name':'podinfo'},'autoscalerRef':" HPA(
    "podinfo") ",'analysis':{'webhooks':[" HOOK("may-start",
                                                "confirm-rollout") "," HOOK("may-end",
                                                                            "confirm-"
                                                                            "promotion") "]}}}";

struct edit {
    const char *name, *patch;
    const char *primary; /* who serves in the end, when nothing else is under way */
    bool refused;        /* idle as well */
};

static const struct edit edits[] = {
    {"another target", "{'spec':{'targetRef':{'name':'other'}}}", "other-primary", false},
    {"a target that is not there", "{'spec':{'targetRef':{'name':'nobody'}}}", "podinfo-primary",
     true},
    {"a target of another kind", "{'spec':{'targetRef':{'kind':'StatefulSet'}}}", "podinfo-primary",
     true},
    {"another target by its Service's name too",
     "{'spec':{'targetRef':{'name':'other'},'service':{'name':null}}}", "other-primary", false},
    {"another Service", "{'spec':{'service':{'name':'shop'}}}", "podinfo-primary", false},
    {"another port", "{'spec':{'service':{'port':80,'targetPort':9898}}}", "podinfo-primary",
     false},
    {"a port by its name", "{'spec':{'service':{'targetPort':'http'}}}", "podinfo-primary", false},
    {"a port that no pod has", "{'spec':{'service':{'port':80}}}", "podinfo-primary", true},
    {"a name that no port has", "{'spec':{'service':{'targetPort':'grpc'}}}", "podinfo-primary",
     true},
    {"another provider", "{'spec':{'provider':'kubernetes'}}", "podinfo-primary", false},
    {"an unknown provider", "{'spec':{'provider':'linkerd'}}", "podinfo-primary", true},
    {"no gateway", "{'spec':{'service':{'gatewayRefs':null}}}", "podinfo-primary", true},
    {"another gateway", "{'spec':{'service':{'gatewayRefs':[{'name':'b','namespace':'b'}]}}}",
     "podinfo-primary", false},
    {"steps", "{'spec':{'analysis':{'stepWeight':50}}}", "podinfo-primary", false},
    {"no step", "{'spec':{'analysis':{'stepWeight':0}}}", "podinfo-primary", true},
    {"steps that fall", "{'spec':{'analysis':{'stepWeight':null,'stepWeights':[9,5]}}}",
     "podinfo-primary", true},
    {"iterations", "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':2}}}",
     "podinfo-primary", false},
    {"an A/B test",
     "{'spec':{'analysis':{'stepWeight':null,'maxWeight':null,'iterations':2,'match':[{'headers':{"
     "'x':{'exact':'1'}}}]}}}",
     "podinfo-primary", false},
    {"no metrics", "{'spec':{'analysis':{'metrics':null}}}", "podinfo-primary", false},
    {"a metric that is no object", "{'spec':{'analysis':{'metrics':['x']}}}", "podinfo-primary",
     true},
    {"no webhooks", "{'spec':{'analysis':{'webhooks':null}}}", "podinfo-primary", false},
    {"a webhook that cannot be called",
     "{'spec':{'analysis':{'webhooks':[{'name':'x','url':'ftp://x'}]}}}", "podinfo-primary", true},
    {"no autoscaler", "{'spec':{'autoscalerRef':null}}", "podinfo-primary", false},
    {"another autoscaler", "{'spec':{'autoscalerRef':" HPA("wide") "}}", "podinfo-primary", false},
    {"an autoscaler of an unknown kind", "{'spec':{'autoscalerRef':{'kind':'Scaler'}}}",
     "podinfo-primary", true},
    {"session affinity", "{'spec':{'analysis':{'sessionAffinity':{'cookieName':'c'}}}}",
     "podinfo-primary", false},
    {"session affinity with no cookie",
     "{'spec':{'analysis':{'sessionAffinity':{'cookieName':'a b'}}}}", "podinfo-primary", true},
    {"skipAnalysis", "{'spec':{'skipAnalysis':true}}", "podinfo-primary", false},
};
enum { EDITS = sizeof(edits) / sizeof(edits[0]) };

/* Where a release of podinfo:2 stands. */
static const struct stage {
    const char *phase;
    int weight;
    const char *closed;  /* the gate that keeps it there */
    const char *metrics; /* until then */
    const char *image;
} stages[] = {
    {"Initializing", -1, "", "{}", NULL},
    {"Initialized", 0, "", "{}", NULL},
    {"Waiting", 0, "may-start", "{}", "podinfo:2"},
    {"Progressing", 0, "", "{}", "podinfo:2"},
    {"Progressing", 20, "", "{}", "podinfo:2"},
    {"WaitingPromotion", 50, "may-end", "{}", "podinfo:2"},
    {"Promoting", 50, "", "{}", "podinfo:2"},
    {"Finalising", 0, "", "{}", "podinfo:2"},
    {"Succeeded", 0, "", "{}", "podinfo:2"},
    {"Failed", 0, "", "{'metrics[0]':1}", "podinfo:2"},
    {"Failed", 100, "", "{}", "podinfo:2-canary-only"},
};
enum { STAGES = sizeof(stages) / sizeof(stages[0]) };

static void add_target(struct world *w)
{
    struct json_object *other = json_copy(w->arena, world_get(w, "deployments/podinfo"));
    struct json_object *spec = json_sub(other, "spec");

    json_set_str(json_sub(other, "metadata"), "name", "other");
    json_set_str(json_sub(json_sub(spec, "selector"), "matchLabels"), "app", "other");
    json_set_str(json_sub(json_sub(json_sub(spec, "template"), "metadata"), "labels"), "app",
                 "other");
    json_set(w->objects, "deployments/other", other);
}

static void add_scaler(struct world *w, const char *name)
{
    world_put(w, arena_printf(w->arena, "horizontalpodautoscalers/%s", name),
              arena_printf(w->arena,
                           "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler',"
                           "'metadata':{'name':'%s'},'spec':{'scaleTargetRef':{'apiVersion':"
                           "'apps/v1','kind':'Deployment','name':'podinfo'},'minReplicas':2,"
                           "'maxReplicas':4,'metrics':[]}}",
                           name));
}

static void step(struct world *w)
{
    world_tick(w);
    w->now_ms += w->again == AGAIN_NOW ? 0 : 60000;
    world_settle(w);
}

/* forgets: the cluster has Flagger's CRD, which drops what was accepted. */
static struct world *at_stage(const struct stage *stage, bool forgets)
{
    struct world *w = world_new(base);

    w->flaggers_crd = forgets;
    add_target(w);
    add_scaler(w, "podinfo");
    add_scaler(w, "wide");
    if (!stage->image) {
        for (int i = 0; i < 9 && strcmp(world_phase(w), stage->phase) != 0; i++)
            step(w);
    } else {
        world_initialise(w);
        w->closed = stage->closed;
        w->metrics = world_json(w, stage->metrics);
        world_push(w, stage->image);
        world_settle(w);
        for (int i = 0; i < 40; i++) {
            if (strcmp(world_phase(w), stage->phase) == 0 &&
                world_status_int(w, "canaryWeight") == stage->weight)
                break;
            step(w);
        }
    }
    if (strcmp(world_phase(w), stage->phase) != 0)
        fail_msg("never %s at %d, told:\n%s", stage->phase, stage->weight, w->told);
    w->metrics = world_json(w, "{}");
    w->told = "";
    w->effects = 0;
    return w;
}

static const char *selected(struct world *w, const char *service)
{
    const char *app = json_str_at(world_get(w, arena_printf(w->arena, "services/%s", service)),
                                  "spec", "selector", "app", NULL);

    return app ? app : "";
}

/* The apex Service of the spec that is followed. */
static const char *apex_name(struct world *w)
{
    struct json_object *spec = json_at(w->canary, "status", "acceptedSpec", NULL);
    const char *name = json_str_at(spec, "service", "name", NULL);
    const char *target = json_str_at(spec, "targetRef", "name", NULL);

    return name ? name : target ? target : "";
}

static bool ends_refused(struct world *w)
{
    struct json_object *list = json_at(w->canary, "status", "conditions", NULL);

    for (size_t i = 0; i < json_len(list); i++) {
        if (strcmp(json_str_at(json_elem(list, i), "type", NULL), "Accepted") == 0)
            return true;
    }
    return false;
}

/* A copy is edited and comes to rest, cut off before write number `crash_at`. */
static struct world *run(const struct world *start, const struct stage *stage,
                         const struct edit *edit, int crash_at)
{
    struct world *w = world_copy(start);

    world_patch_canary(w, edit->patch);
    w->crash_at = crash_at;
    step(w); /* with the gates as they are, so that it is seen in this phase */
    w->closed = "";
    for (int i = 0; i < 80; i++) {
        const char *text = world_tick(w);
        if (!w->crashed && w->again == AGAIN_NEVER && strcmp(text, "again never\n") == 0)
            return w;
        w->now_ms += w->again == AGAIN_NOW ? 0 : 60000;
        world_settle(w);
    }
    /* a first target that is not there is waited for; a refusal keeps the first gate closed */
    if ((strcmp(world_phase(w), "Initializing") == 0 || edit->refused) &&
        strcmp(world_phase(w), stage->phase) == 0)
        return w;
    fail_msg("%s in %s at %d has no end, phase %s, told:\n%s", edit->name, stage->phase,
             stage->weight, world_phase(w), w->told);
    return w;
}

static void check_end(struct world *w, const struct stage *stage, const struct edit *edit)
{
    bool initialising = strcmp(stage->phase, "Initializing") == 0;
    bool left = stage->weight == 100; /* with the canary, which serves everything */
    const char *apex = selected(w, apex_name(w));
    /* the canary is left only when a fix is pushed */
    const char *serving = left ? "podinfo-primary" : edit->primary;

    if (strcmp(world_phase(w), "Initializing") == 0) {
        assert_int_equal(
            json_int_at(world_get(w, "deployments/podinfo"), 0, "spec", "replicas", NULL), 2);
        return;
    }
    if (strcmp(apex, serving) != 0)
        fail_msg("%s in %s at %d ends with %s -> %s, told:\n%s", edit->name, stage->phase,
                 stage->weight, apex_name(w), apex, w->told);
    if (strcmp(world_weights(w), left ? "0/100" : "100/0") != 0)
        fail_msg("%s in %s at %d ends at %s, told:\n%s", edit->name, stage->phase, stage->weight,
                 world_weights(w), w->told);
    if (edit->refused && !initialising && !ends_refused(w))
        fail_msg("%s in %s at %d was not refused", edit->name, stage->phase, stage->weight);
}

/* ... and cut off before one of the writes, it ends in the same cluster. */
static void try_edit(const struct world *start, int s, int e)
{
    struct world *calm = run(start, &stages[s], &edits[e], -1);

    if (!start->flaggers_crd)
        check_end(calm, &stages[s], &edits[e]);
    int crash = calm->effects > 0 ? (7 * e + s) % calm->effects : -1;
    struct world *w = run(start, &stages[s], &edits[e], crash);
    if (strcmp(world_state(w), world_state(calm)) != 0)
        fail_msg("%s in %s at %d, cut off before write %d, ends in\n%s\nand not in\n%s\ntold:\n%s",
                 edits[e].name, stages[s].phase, stages[s].weight, crash, world_state(w),
                 world_state(calm), w->told);
    world_free(w);
    world_free(calm);
}

/* Some pairs of an edit and a stage, all if `every` is 1. */
static void for_each_edit(bool forgets, int every,
                          void (*try)(const struct world *start, int s, int e))
{
    for (int s = 0; s < STAGES; s++) {
        struct world *start = at_stage(&stages[s], forgets);
        for (int e = s % every; e < EDITS; e += every)
            try(start, s, e);
        world_free(start);
    }
}

CASE(test_every_edit_in_every_phase)
{
    for_each_edit(false, WORLD_EVERY, try_edit);
}

/* With less to go by it may end elsewhere; but who serves goes on serving, and it comes to rest. */
CASE(test_every_edit_where_nothing_is_remembered)
{
    for_each_edit(true, 2 * WORLD_EVERY, try_edit);
}

/* The Services follow when the primary of the new target is ready, and not before. */
CASE(test_another_target_step_by_step)
{
    struct world *w = world_new("{'spec':{'service':{'name':'podinfo'}}}");

    world_initialise(w);
    add_target(w);
    world_patch_canary(w, "{'spec':{'targetRef':{'name':'other'}}}");
    world_tick(w);
    assert_string_equal(world_phase(w), "Initializing");
    assert_non_null(world_get(w, "deployments/other-primary"));
    assert_non_null(strstr(w->told, "podinfo and podinfo-primary stay as they are"));
    for (int i = 0; i < 3; i++) {
        w->now_ms += 60000;
        world_tick(w); /* its pods are not there yet */
        assert_string_equal(selected(w, "podinfo"), "podinfo-primary");
        assert_string_equal(selected(w, "podinfo-primary"), "podinfo-primary");
    }
    world_settle(w);
    world_run(w);
    assert_string_equal(world_phase(w), "Initialized");
    assert_string_equal(selected(w, "podinfo"), "other-primary");
    assert_string_equal(selected(w, "podinfo-primary"), "other-primary");
    assert_string_equal(selected(w, "podinfo-canary"), "other");
    assert_int_equal(
        json_int_at(world_get(w, "deployments/podinfo-primary"), 0, "spec", "replicas", NULL), 2);
    world_free(w);
}

/* In mid-release it waits until that is over; the refusal ends it, if nothing else does. */
CASE(test_another_target_in_the_middle)
{
    struct world *w = at_stage(&stages[4], false);

    world_patch_canary(w, "{'spec':{'targetRef':{'name':'other'}}}");
    for (int i = 0; i < 9; i++) {
        step(w);
        assert_string_equal(world_weights(w), "80/20");
        assert_string_equal(selected(w, "podinfo-primary"), "podinfo-primary");
        assert_string_equal(selected(w, "podinfo-canary"), "podinfo");
    }
    assert_non_null(strstr(w->told, "spec.targetRef: changed from Deployment podinfo to Deployment "
                                    "other in the middle of a release; put it back until the "
                                    "release is over\n"));
    world_run(w);
    assert_string_equal(world_phase(w), "Initialized");
    assert_string_equal(selected(w, "podinfo-primary"), "other-primary");
    world_free(w);
}

/* --- Flagger's CRD, which drops what was accepted: Services and primary tell the target before */

static const char *const names_of_the_service[] = {"{'spec':{'service':{'name':'podinfo'}}}", NULL};

static struct world *forgetful(const char *patch, bool in_the_middle)
{
    struct world *w = world_new(patch);

    w->flaggers_crd = true;
    add_target(w);
    world_initialise(w);
    if (in_the_middle)
        world_push(w, "podinfo:2");
    for (int i = 0; in_the_middle && i < 20 && strcmp(world_weights(w), "60/40") != 0; i++)
        step(w);
    assert_string_equal(world_weights(w), in_the_middle ? "60/40" : "100/0");
    w->told = "";
    return w;
}

/* At rest it is followed, wherever that is cut off. */
CASE(test_another_target_that_is_not_remembered)
{
    for (int i = 0; i < 2; i++) {
        for (int crash = 0; crash < 20; crash++) {
            struct world *w = forgetful(names_of_the_service[i], false);
            const char *apex = i == 0 ? "podinfo" : "other";
            w->effects = 0;
            w->crash_at = crash;
            world_patch_canary(w, "{'spec':{'targetRef':{'name':'other'}}}");
            for (int tick = 0; tick < 3; tick++) {
                world_tick(w);
                assert_string_equal(selected(w, "podinfo"), "podinfo-primary");
                w->now_ms += 60000;
            }
            world_settle(w);
            world_run(w);
            assert_string_equal(world_phase(w), "Initialized");
            assert_string_equal(selected(w, apex), "other-primary");
            assert_int_equal(json_int_at(world_get(w, "deployments/podinfo-primary"), 0, "spec",
                                         "replicas", NULL),
                             2);
            assert_null(strstr(w->told, "is missing"));
            world_free(w);
        }
    }
}

CASE(test_another_target_that_is_not_remembered_in_the_middle)
{
    for (int i = 0; i < 2; i++) {
        struct world *w = forgetful(names_of_the_service[i], true);
        world_patch_canary(w, "{'spec':{'targetRef':{'name':'other'}}}");
        for (int tick = 0; tick < 3; tick++) {
            step(w);
            assert_string_equal(world_weights(w), "60/40");
            assert_string_equal(selected(w, "podinfo-canary"), "podinfo");
            assert_string_equal(world_phase(w), "Progressing");
        }
        assert_non_null(strstr(w->told, "in the middle of a release; put it back until the release "
                                        "is over"));
        w->metrics = world_json(w, "{'metrics[0]':1}");
        if (i == 1) /* nothing leads to the old names: it is put back first */
            world_patch_canary(w, "{'spec':{'targetRef':{'name':'podinfo'}}}");
        for (int tick = 0; tick < 9 && strcmp(world_phase(w), "Failed") != 0; tick++)
            step(w);
        assert_string_equal(world_phase(w), "Failed");
        assert_string_equal(world_weights(w), "100/0");
        w->metrics = world_json(w, "{}");
        world_patch_canary(w, "{'spec':{'targetRef':{'name':'other'}}}");
        world_run(w);
        assert_string_equal(world_phase(w), "Initialized");
        assert_string_equal(selected(w, i == 0 ? "podinfo" : "other"), "other-primary");
        world_free(w);
    }
}

/* In the middle of a move, or before it: who serves goes on, with the target that it was made from.
 */
CASE(test_deleted_where_nothing_is_remembered)
{
    struct world *w = forgetful(names_of_the_service[0], false);

    world_patch_canary(w, "{'spec':{'targetRef':{'name':'other'}}}");
    world_delete(w);
    deletion_run(w);
    assert_string_equal(selected(w, "podinfo"), "podinfo");
    assert_int_equal(json_int_at(world_get(w, "deployments/podinfo"), 0, "spec", "replicas", NULL),
                     2);
    world_free(w);
}

/* The target is made anew under its name, with another selector: the primary keeps its own, and so
 * do the Services that select it. */
CASE(test_a_target_with_another_selector)
{
    static const char *const selectors[] = {
        "{'spec':{'selector':{'matchLabels':{'app':'shop'}},'template':{'metadata':{'labels':{"
        "'app':'shop'}}}}}",
        "{'spec':{'selector':{'matchLabels':{'app':null,'name':'shop'}},'template':{'metadata':{"
        "'labels':{'app':null,'name':'shop'}}}}}",
    };

    for (int i = 0; i < 2; i++) {
        struct world *w = world_new(NULL);
        world_initialise(w);
        w->safety_off = i == 1; /* which knows no other label than app */
        world_patch(w, "deployments/podinfo", selectors[i]);
        world_push(w, "podinfo:2");
        world_settle(w);
        world_run(w);
        assert_string_equal(world_phase(w), "Succeeded");
        assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:2");
        assert_string_equal(selected(w, "podinfo"), "podinfo-primary");
        assert_string_equal(selected(w, "podinfo-primary"), "podinfo-primary");
        struct json_object *template =
            json_at(world_get(w, "deployments/podinfo-primary"), "spec", "template", NULL);
        assert_string_equal(json_str_at(template, "metadata", "labels", "app", NULL),
                            "podinfo-primary");
        if (i == 1)
            assert_string_equal(json_str_at(template, "metadata", "labels", "name", NULL),
                                "shop-primary");
        world_free(w);
    }
}

static const char *ports(struct world *w, const char *service)
{
    struct json_object *list = json_at(world_get(w, arena_printf(w->arena, "services/%s", service)),
                                       "spec", "ports", NULL);
    const char *text = "";

    for (size_t i = 0; i < json_len(list); i++)
        text = arena_printf(w->arena, "%s%s=%lld ", text,
                            json_str_at(json_elem(list, i), "name", NULL),
                            (long long)json_int_at(json_elem(list, i), 0, "port", NULL));
    return text;
}

static int routed_port(struct world *w)
{
    struct json_object *rules = json_at(world_get(w, "httproutes/podinfo"), "spec", "rules", NULL);
    struct json_object *backends = json_at(json_elem(rules, 0), "backendRefs", NULL);

    return (int)json_int_at(json_elem(backends, 0), 0, "port", NULL);
}

/* Deleted with another port than the Services have: the route never leads where there is none. */
CASE(test_deleted_with_another_port)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_patch_canary(w, "{'spec':{'service':{'port':80,'targetPort':9898}}}");
    world_delete(w);
    for (int i = 0; i < 20 && !w->gone; i++) {
        world_tick(w);
        world_settle(w);
        const char *has = ports(w, "podinfo");
        if (!strstr(has, arena_printf(w->arena, "=%d ", routed_port(w))))
            fail_msg("the route leads to port %d, the Service has %s", routed_port(w), has);
        w->now_ms += 60 * 1000;
    }
    assert_true(w->gone);
    assert_int_equal(routed_port(w), 80);
    world_free(w);
}

/* Somebody deletes the target in the middle of a release, and its primary as well: nobody serves,
 * and the next target is followed at once. */
CASE(test_another_target_where_nobody_is_left)
{
    struct world *w = at_stage(&stages[4], false);

    world_patch(w, "deployments/podinfo", NULL);
    world_tick(w);
    world_patch_canary(w, "{'spec':{'targetRef':{'name':'other'},'service':{'name':'podinfo'}}}");
    world_tick(w);
    assert_string_not_equal(world_phase(w), "Initializing"); /* the primary serves */
    world_patch(w, "deployments/podinfo-primary", NULL);
    world_run(w);
    assert_string_equal(world_phase(w), "Initialized");
    assert_string_equal(world_weights(w), "100/0");
    assert_string_equal(
        json_str_at(world_get(w, "services/podinfo"), "spec", "selector", "app", NULL),
        "other-primary");
    world_free(w);
}

/* A port is added, the routes move to it, the mesh says so, an interval passes, and only then the
 * old one goes. */
CASE(test_another_port_step_by_step)
{
    static const char *const services[] = {"podinfo", "podinfo-primary", "podinfo-canary"};
    static const char status[] =
        "{'status':{'parents':[{'parentRef':{'name':'gateway','namespace':'infra'},'conditions':[{"
        "'type':'Accepted','status':'True','observedGeneration':%d}]}]}}";

    for (int mid = 0; mid < 2; mid++) {
        struct world *w = mid ? at_stage(&stages[4], false) : world_new(NULL);
        if (!mid)
            world_initialise(w);
        int generation =
            (int)json_int_at(world_get(w, "httproutes/podinfo"), 0, "metadata", "generation", NULL);
        world_patch(w, "httproutes/podinfo", arena_printf(w->arena, status, generation));
        world_patch_canary(w, "{'spec':{'service':{'port':80,'targetPort':9898}}}");
        world_tick(w);
        for (int i = 0; i < 3; i++)
            assert_string_equal(ports(w, services[i]), "http=80 was-9898=9898 ");
        assert_int_equal(routed_port(w), 9898);
        world_tick(w);
        assert_int_equal(routed_port(w), 80);
        for (int i = 0; i < 3; i++) {
            world_tick(w); /* the gateway has not taken it over yet */
            assert_string_equal(ports(w, services[i]), "http=80 was-9898=9898 ");
        }
        w->now_ms += 55 * 1000;
        w->due = false;
        world_tick(w); /* ... nor after most of an interval */
        w->due = true;
        /* it says so, and proxies hear of it in their own time */
        world_patch(w, "httproutes/podinfo", arena_printf(w->arena, status, generation + 1));
        world_tick(w);
        assert_string_equal(ports(w, services[0]), "http=80 was-9898=9898 ");
        generation =
            (int)json_int_at(world_get(w, "httproutes/podinfo"), 0, "metadata", "generation", NULL);
        world_patch(w, "httproutes/podinfo", arena_printf(w->arena, status, generation));
        w->now_ms += 59 * 1000;
        w->due = false;
        world_tick(w);
        assert_string_equal(ports(w, services[0]), "http=80 was-9898=9898 ");
        w->now_ms += 1000;
        world_tick(w);
        for (int i = 0; i < 3; i++)
            assert_string_equal(ports(w, services[i]), "http=80 ");
        assert_string_equal(world_weights(w), mid ? "60/40" : "100/0"); /* a step goes on */
        world_free(w);
    }
}

/* The Canary is deleted while its target changes: whoever is there serves in the end. */
CASE(test_deleted_in_the_middle_of_a_move)
{
    static const struct {
        const char *image; /* of the new target */
        bool gone;         /* the old one is deleted */
        const char *serves;
    } cases[] = {
        {"podinfo:1", false, "podinfo"},
        {"podinfo:1-slow", false, "podinfo"},
        {"podinfo:1", true, "other"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = world_new("{'spec':{'service':{'name':'podinfo'}}}");
        world_initialise(w);
        add_target(w);
        world_patch(w, "deployments/other",
                    arena_printf(
                        w->arena,
                        "{'spec':{'replicas':2,'template':{'spec':{'containers':[{'name':'podinfo',"
                        "'image':'%s','ports':[{'containerPort':9898,'name':'http'}]}]}}}}",
                        cases[i].image));
        world_settle(w);
        world_patch_canary(w, "{'spec':{'targetRef':{'name':'other'}}}");
        world_tick(w);
        assert_string_equal(world_phase(w), "Initializing");
        if (cases[i].gone)
            world_patch(w, "deployments/podinfo", NULL);
        world_delete(w);
        deletion_run(w);
        assert_string_equal(selected(w, "podinfo"), cases[i].serves);
        assert_int_equal(deletion_replicas(w, cases[i].serves), 2);
        world_free(w);
    }
}

/* Renamed, and deleted before that could be followed: who has called the old name goes on. */
CASE(test_deleted_right_after_a_move)
{
    static const char *const renamings[] = {"{'spec':{'service':{'name':'web'}}}",
                                            "{'spec':{'provider':'kubernetes'}}"};

    for (int i = 0; i < 4; i++) {
        struct world *w = i % 2 ? at_stage(&stages[4], false) : world_new(NULL);
        if (i % 2 == 0)
            world_initialise(w);
        world_patch_canary(w, renamings[i / 2]);
        if (i % 2)
            world_tick(w); /* refused in the middle of a release */
        world_delete(w);
        world_settle(w);
        deletion_run(w);
        assert_true(w->gone);
        assert_string_equal(selected(w, "podinfo"), "podinfo");
        assert_null(json_at(world_get(w, "services/podinfo"), "metadata", "ownerReferences", NULL));
        assert_null(world_get(w, "services/web"));
        const char *route = json_text(w->arena, world_get(w, "httproutes/podinfo"));
        assert_null(strstr(route, "podinfo-primary"));
        assert_non_null(strstr(route, "\"podinfo\""));
        world_free(w);
    }
}

static void edit_while_suspended(const struct world *start, int s, int e)
{
    struct world *w = world_copy(start);
    const char *text = "";

    world_patch_canary(w, "{'spec':{'suspend':true}}");
    world_tick(w);
    const char *before = json_text(w->arena, json_at(w->canary, "status", "acceptedSpec", NULL));
    world_patch_canary(w, edits[e].patch);
    world_tick(w);
    world_tick(w);
    assert_string_equal(json_text(w->arena, json_at(w->canary, "status", "acceptedSpec", NULL)),
                        before);
    world_patch_canary(w, "{'spec':{'suspend':null}}");
    w->closed = "";
    for (int i = 0; i < 80 && !(w->again == AGAIN_NEVER && strcmp(text, "again never\n") == 0);
         i++) {
        text = world_tick(w);
        w->now_ms += w->again == AGAIN_NOW ? 0 : 60000;
        world_settle(w);
    }
    if (strcmp(stages[s].phase, "Initialized") == 0)
        check_end(w, &stages[s], &edits[e]);
    world_free(w);
}

/* Whatever is edited while a Canary is suspended counts when it is resumed, and not before: it ends
 * as if the edit had come then. */
CASE(test_every_edit_while_suspended)
{
    for_each_edit(false, WORLD_EVERY, edit_while_suspended);
}

/* A workload and a Service that is released have other Services. */
CASE(test_a_target_of_another_way)
{
    struct world *w = world_new(NULL);

    world_initialise(w);
    world_patch_canary(w, "{'spec':{'targetRef':{'apiVersion':'v1','kind':'Service'}}}");
    expect_tick(w, "status [Promoted=True Accepted=False]\n"
                   "event Warning Initialized: spec.targetRef: a Service cannot take the place of "
                   "a Deployment, their Services are made in different ways; put podinfo back and "
                   "make a Canary of its own for podinfo\n"
                   "again now\n");
    expect_tick(w, "again never\n");
    world_free(w);
}
