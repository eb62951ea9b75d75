/*
 * Every field of a Canary is edited, in every phase, also such that the Canary moves to another
 * target, Service, port, provider or autoscaler. Whatever is done with it: who serves goes on
 * serving, no Service selects pods that do not answer (world.c looks at that after each write), and
 * the release ends.
 */
#include <string.h>

#include "test/rows.h"
#include "test/unit.h"
#include "world.h"

struct edit {
    const char *name, *patch;
    const char *primary; /* who serves in the end, when nothing else is under way */
    bool refused;        /* idle as well */
};
static const struct row_column of_edit[] = {
    ROW_TEXT(struct edit, name),
    ROW_TEXT(struct edit, patch),
    ROW_TEXT(struct edit, primary),
    ROW_FLAG(struct edit, refused),
};

/* Where a release of podinfo:2 stands. */
struct stage {
    const char *phase;
    int weight;
    const char *closed;  /* the gate that keeps it there */
    const char *metrics; /* until then */
    const char *image;
};
static const struct row_column of_stage[] = {
    ROW_TEXT(struct stage, phase),  ROW_NUMBER(struct stage, weight),
    ROW_TEXT(struct stage, closed), ROW_TEXT(struct stage, metrics),
    ROW_TEXT(struct stage, image),
};

/* The rows of moves.yaml. */
static const char *base; /* patch of the Canary */
static struct edit *edits;
static struct stage *stages;
static size_t n_edits, n_stages;

static int read_all(void **state)
{
    static const struct edit edit = {.primary = "podinfo-primary"};
    static const struct stage stage = {.closed = "", .metrics = "{}"};
    static struct arena *arena; /* as long as the program */

    arena = arena_new();
    struct json_object *file = json_elem(rows_read(arena, "test/golden/moves.yaml"), 0);
    base = json_text(arena, json_at(file, "canary", NULL));
    edits = ROWS_FILL(arena, json_at(file, "edits", NULL), of_edit, edit, &n_edits);
    stages = ROWS_FILL(arena, json_at(file, "stages", NULL), of_stage, stage, &n_stages);
    return 0;
}

UNIT_FIXTURE(.set_up_all = read_all);

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
            world_step(w);
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
            world_step(w);
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
    world_step(w); /* with the gates as they are, so that it is seen in this phase */
    w->closed = "";
    for (int i = 0; i < 80; i++) {
        if (world_step(w))
            return w;
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
    for (int s = 0; (size_t)s < n_stages; s++) {
        struct world *start = at_stage(&stages[s], forgets);
        for (int e = s % every; (size_t)e < n_edits; e += every)
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

static void edit_while_suspended(const struct world *start, int s, int e)
{
    struct world *w = world_copy(start);

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
    for (int i = 0; i < 80 && !world_step(w); i++)
        ;
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
