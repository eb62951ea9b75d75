/*
 * A cluster as Flagger 1.44 leaves it (decide/STATUS.md) in each phase, and
 * this controller goes on: with Flagger's hashes as we take them, with those of a Flagger whose
 * libraries were others, and with the decimal numbers of old ones. Switching starts no release,
 * swallows none, and a release that runs goes on where it stood. (Terminating: revert_test.c.)
 */
#include <string.h>

#include "proto/spechash.h"
#include "test/unit.h"
#include "world.h"

#define UUID "5c1b39a8-7d2e-4f61-9a44-0d6f1c2e8b73"
#define OWNER                                                                                      \
    "'ownerReferences':[{'apiVersion':'flagger.app/v1beta1','kind':'Canary','name':'podinfo',"     \
    "'uid':'c-1','controller':true,'blockOwnerDeletion':true}]"
#define TOOLKIT                                                                                    \
    "'annotations':{'kustomize.toolkit.fluxcd.io/reconcile':'disabled',"                           \
    "'helm.toolkit.fluxcd.io/driftDetection':'disabled'}"

enum hashes { SAME, OTHER, DECIMAL, N_HASHES };

/* An hour ago, five minutes ago, now: world.h's clock. */
#define LONG_AGO "2023-11-14T21:13:20Z"
#define LATELY   "2023-11-14T22:08:20Z"
#define JUST_NOW "2023-11-14T22:13:19Z"

static const char *hash_of(struct world *w, enum hashes hashes)
{
    static const char ours[] = "456789bcdf", digits[] = "0123456789";
    struct json_object *target = world_get(w, "deployments/podinfo");
    char *hash = arena_alloc(w->arena, SPECHASH_TEXT);
    struct errinfo ei;

    if (spechash_pod_template(w->arena, json_at(target, "spec", "template", NULL), hash, &ei) !=
        ERR_OK)
        fail_msg("%s", ei.text);
    for (char *at = hash; *at && hashes == DECIMAL; at++)
        *at = digits[strchr(ours, *at) - ours];
    if (hashes == OTHER)
        hash[0] = hash[0] == 'd' ? 'f' : 'd';
    return hash;
}

/* The target as kubectl applied it at `time`. */
static void apply_target(struct world *w, const char *image, int replicas, const char *time)
{
    world_patch(
        w, "deployments/podinfo",
        arena_printf(
            w->arena,
            "{'metadata':{'annotations':{'deployment.kubernetes.io/revision':'3',"
            "'kubectl.kubernetes.io/last-applied-configuration':'x'},'managedFields':[{"
            "'manager':'flagger','operation':'Update','time':'" JUST_NOW "','fieldsV1':{'f:spec':{"
            "'f:replicas':{}}}},{'manager':'kubectl-client-side-apply','operation':'Update','time':"
            "'%s','fieldsV1':{'f:spec':{'f:template':{}}}}]},'spec':{'replicas':%d,'template':{"
            "'metadata':{'creationTimestamp':null,'annotations':{'prometheus.io/scrape':'true',"
            "'x.toolkit.fluxcd.io/checksum':'1'}},'spec':{'volumes':[{'name':'s','configMap':{"
            "'name':'settings','defaultMode':420}}],'affinity':{'podAntiAffinity':{"
            "'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{'matchLabels':{"
            "'app':'podinfo'}},'topologyKey':'kubernetes.io/hostname'}]}},"
            "'dnsPolicy':'ClusterFirst','containers':[{'name':'podinfo','image':'%s','ports':[{"
            "'containerPort':9898,'name':'http','protocol':'TCP'}]}]}}}}",
            time, replicas, image));
}

static void put_primary(struct world *w, const char *image)
{
    world_put(
        w, "deployments/podinfo-primary",
        arena_printf(
            w->arena,
            "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'podinfo-primary',"
            "'generation':4,'labels':{'app':'podinfo-primary'},'annotations':{"
            "'deployment.kubernetes.io/revision':'3',"
            "'kubectl.kubernetes.io/last-applied-configuration':'x'}," OWNER "},'spec':{"
            "'replicas':2,'progressDeadlineSeconds':600,'revisionHistoryLimit':10,'selector':{"
            "'matchLabels':{'app':'podinfo-primary'}},'template':{'metadata':{"
            "'creationTimestamp':null,'labels':{'app':'podinfo-primary'},'annotations':{"
            "'flagger-id':'" UUID "','prometheus.io/scrape':'true'}},'spec':{'volumes':[{"
            "'name':'s','configMap':{'name':'settings-primary','defaultMode':420}}],'affinity':{"
            "'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"
            "'labelSelector':{'matchLabels':{'app':'podinfo-primary'}},"
            "'topologyKey':'kubernetes.io/hostname'}]}},"
            "'dnsPolicy':'ClusterFirst','containers':[{'name':'podinfo','image':'%s','ports':[{"
            "'containerPort':9898,'name':'http','protocol':'TCP'}]}]}}}}",
            image));
}

static void put_service(struct world *w, const char *name, const char *selects)
{
    world_put(w, arena_printf(w->arena, "services/%s", name),
              arena_printf(w->arena,
                           "{'apiVersion':'v1','kind':'Service','metadata':{'name':'%s','labels':{"
                           "'app':'%s'}," TOOLKIT "," OWNER "},'spec':{'type':'ClusterIP',"
                           "'clusterIP':'10.0.0.7','clusterIPs':['10.0.0.7'],'sessionAffinity':"
                           "'None','internalTrafficPolicy':'Cluster','ipFamilies':['IPv4'],"
                           "'selector':{'app':'%s'},'ports':[{'name':'http','protocol':'TCP',"
                           "'port':9898,'targetPort':9898}]}}",
                           name, name, selects));
}

static void put_route(struct world *w, int canary)
{
    world_put(
        w, "httproutes/podinfo",
        arena_printf(
            w->arena,
            "{'apiVersion':'gateway.networking.k8s.io/v1','kind':'HTTPRoute','metadata':{'name':"
            "'podinfo','generation':5," TOOLKIT "," OWNER
            "},'spec':{'parentRefs':[{'group':'gateway.networking.k8s.io','kind':'Gateway',"
            "'name':'gateway','namespace':'infra'}],'rules':[{'matches':[{'path':{"
            "'type':'PathPrefix','value':'/'}}],'backendRefs':[{'group':'','kind':'Service',"
            "'name':'podinfo-primary','port':9898,'weight':%d},{'group':'','kind':'Service',"
            "'name':'podinfo-canary','port':9898,'weight':%d}]}]}}",
            100 - canary, canary));
}

static void put_objects(struct world *w, const char *primary, int canary)
{
    static const char config[] = "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'%s'},"
                                 "'data':{'color':'red'}%s}";

    world_put(w, "configmaps/settings",
              arena_printf(w->arena, config, "settings", ",'binaryData':{'b':'MQ=='}"));
    world_put(w, "configmaps/settings-primary",
              arena_printf(w->arena, config, "settings-primary", ""));
    put_primary(w, primary);
    put_service(w, "podinfo", "podinfo-primary");
    put_service(w, "podinfo-primary", "podinfo-primary");
    put_service(w, "podinfo-canary", "podinfo");
    put_route(w, canary);
}

/* What Flagger left. "1" is what was promoted before, "2" the revision of the release. */
struct left {
    const char *name, *phase;
    const char *target;       /* the version it holds */
    const char *primary;      /* and the primary */
    const char *applied;      /* whose hash is lastAppliedSpec, NULL: none */
    const char *promoted;     /* and lastPromotedSpec */
    const char *counters;     /* of the status */
    int replicas;             /* of the target */
    int routed;               /* percent to the canary */
    const char *closed;       /* gates */
    const char *ends, *image; /* where the rules take it: phase, and version on the primary */
    bool silent;              /* nothing is told on the way */
};

static const struct left lefts[] = {
    {"Initializing, the target is at zero and the mesh knows nothing yet", "Initializing", "1", "1",
     NULL, NULL, "", 0, 0, "", "Initialized", "1", false},
    {"Initialized", "Initialized", "1", "1", "1", "1", "", 0, 0, "", "Initialized", "1", true},
    {"Waiting", "Waiting", "2", "1", "1", "1", "", 0, 0, "may-start", "Waiting", "1", true},
    /* in Failed, Flagger takes the new hash before it asks the gate */
    {"Waiting after a failure", "Waiting", "2", "1", "2", "1", "", 0, 0, "may-start", "Waiting",
     "1", true},
    {"Progressing, nothing routed yet", "Progressing", "2", "1", "2", "1", "", 2, 0, "",
     "Succeeded", "2", false},
    {"Progressing", "Progressing", "2", "1", "2", "1", "'canaryWeight':20,'failedChecks':1,", 2, 20,
     "", "Succeeded", "2", false},
    {"Progressing, a step was routed and not written", "Progressing", "2", "1", "2", "1",
     "'canaryWeight':20,", 2, 40, "", "Succeeded", "2", false},
    {"Progressing, the copy was made and not written", "Progressing", "2", "2", "2", "1",
     "'canaryWeight':50,", 2, 50, "", "Succeeded", "2", false},
    {"WaitingPromotion", "WaitingPromotion", "2", "1", "2", "1", "'iterations':-1,", 2, 50,
     "may-end", "WaitingPromotion", "1", false},
    {"Promoting", "Promoting", "2", "2", "2", "1", "'canaryWeight':50,", 2, 50, "", "Succeeded",
     "2", false},
    {"Promoting, the traffic has left", "Promoting", "2", "2", "2", "1", "'canaryWeight':50,", 2, 0,
     "", "Succeeded", "2", false},
    {"Finalising", "Finalising", "2", "2", "2", "1", "", 2, 0, "", "Succeeded", "2", false},
    {"Succeeded", "Succeeded", "2", "2", "2", "2", "", 0, 0, "", "Succeeded", "2", true},
    {"Failed", "Failed", "2", "1", "2", "1", "", 0, 0, "", "Failed", "1", true},
    {"Failed, the old spec is back", "Failed", "1", "1", "1", "1", "", 0, 0, "", "Failed", "1",
     true},
    {"Failed promotion", "Failed", "2-canary-only", "2-canary-only", "2-canary-only", "1",
     "'canaryWeight':100,", 2, 100, "", "Failed", "2-canary-only", true},
};
enum { LEFTS = sizeof(lefts) / sizeof(lefts[0]) };

static const char *version(struct world *w, const char *of)
{
    return arena_printf(w->arena, "podinfo:%s", of);
}

static const char *hash_of_version(struct world *w, const char *of, enum hashes hashes)
{
    if (!of)
        return "";
    apply_target(w, version(w, of), 0, LONG_AGO);
    return hash_of(w, hashes);
}

static struct world *leave(const struct left *left, enum hashes hashes)
{
    struct world *w = world_new(
        "{'spec':{'analysis':{'webhooks':[{'name':'may-start','type':'confirm-rollout','url':"
        "'http://x'},{'name':'may-end','type':'confirm-promotion','url':'http://x'}]}}}");
    const char *applied = hash_of_version(w, left->applied, hashes);
    const char *promoted = hash_of_version(w, left->promoted, hashes);
    char config[CONFIG_HASH_TEXT];

    confighash(w->arena, world_json(w, "{'color':'red'}"), config);
    w->analysed = "podinfo:1 podinfo:2 podinfo:2-canary-only";
    apply_target(w, version(w, left->target), left->replicas, LONG_AGO);
    put_objects(w, version(w, left->primary), left->routed);
    if (!left->applied)
        world_patch(w, "httproutes/podinfo", NULL);
    world_patch_canary(
        w, arena_printf(w->arena,
                        "{'status':{'phase':'%s',%s'lastAppliedSpec':'%s','lastPromotedSpec':'%s',"
                        "'trackedConfigs':{'configmap/settings':'%s'},'lastTransitionTime':'" LATELY
                        "','conditions':[{'type':'Promoted','status':'%s','reason':'%s',"
                        "'message':'x','lastUpdateTime':'" LATELY "','lastTransitionTime':'" LATELY
                        "'}]}}",
                        left->phase, left->counters, applied, promoted, config,
                        phase_promoted(phase_parse(left->phase)), left->phase));
    w->closed = left->closed;
    world_settle(w);
    return w;
}

/* Ticks until nothing changes any more; a gate may stay closed. */
static void go_on(struct world *w)
{
    const char *before = "";

    for (int i = 0; i < 40; i++) {
        world_tick(w);
        world_settle(w);
        const char *now = arena_printf(w->arena, "%s%s%s", world_phase(w), world_weights(w),
                                       json_text(w->arena, json_at(w->canary, "status", NULL)));
        if (strcmp(now, before) == 0 && w->again != AGAIN_NOW)
            return;
        before = now;
        if (w->again != AGAIN_NOW)
            w->now_ms += 60000;
    }
    fail_msg("no end in phase %s, told:\n%s", world_phase(w), w->told);
}

static const char *promoted_id(struct world *w)
{
    return json_str_at(world_get(w, "deployments/podinfo-primary"), "spec", "template", "metadata",
                       "annotations", "flagger-id", NULL);
}

static void expect_left(struct world *w, const struct left *left, enum hashes hashes)
{
    bool promotes = strcmp(left->image, left->primary) != 0;

    if (strcmp(world_phase(w), left->ends) != 0 ||
        strcmp(world_image(w, "podinfo-primary"), version(w, left->image)) != 0)
        fail_msg("%s (hashes %d) ends in %s with %s on the primary, told:\n%s", left->name, hashes,
                 world_phase(w), world_image(w, "podinfo-primary"), w->told);
    if (strstr(w->told, "New revision") || (left->silent && *w->told))
        fail_msg("%s (hashes %d) told:\n%s", left->name, hashes, w->told);
    /* pods that run what they should are not made anew */
    if (!promotes && !strstr(left->name, "not written") && strcmp(promoted_id(w), UUID) != 0)
        fail_msg("%s (hashes %d) restarted the primary", left->name, hashes);
}

static void test_switching_starts_and_swallows_nothing(void **state)
{
    for (int i = 0; i < LEFTS * N_HASHES; i++) {
        const struct left *left = &lefts[i / N_HASHES];
        enum hashes hashes = (enum hashes)(i % N_HASHES);
        struct world *w = leave(left, hashes);
        go_on(w);
        expect_left(w, left, hashes);
        world_free(w);
    }
}

/* Where the hashes are ours, an idle cluster is not even written to. */
static void test_an_idle_cluster_is_not_touched(void **state)
{
    for (int i = 0; i < LEFTS; i++) {
        if (!lefts[i].silent || strcmp(lefts[i].phase, "Waiting") == 0)
            continue;
        struct world *w = leave(&lefts[i], SAME);
        expect_tick(w, "again never\n");
        world_free(w);
    }
}

/* An analysis goes on at its weight: the first steps after the switch. */
static void test_an_analysis_goes_on_at_its_weight(void **state)
{
    for (enum hashes hashes = SAME; hashes < N_HASHES; hashes++) {
        struct world *w = leave(&lefts[5], hashes);
        if (hashes != SAME) {
            const char *text = world_tick(w);
            assert_non_null(strstr(text, "status lastAppliedSpec="));
            assert_int_equal(w->again, AGAIN_NOW);
        }
        assert_int_equal(world_status_int(w, "failedChecks"), 1);
        assert_string_equal(world_weights(w), "80/20");
        world_tick(w);
        assert_string_equal(world_weights(w), "60/40");
        world_free(w);
    }
}

/* A revision that nobody has seen: pushed after Flagger's last tick, in whatever phase. */
static void test_a_push_in_between_is_released(void **state)
{
    for (int i = 0; i < LEFTS * N_HASHES; i++) {
        const struct left *left = &lefts[i / N_HASHES];
        enum hashes hashes = (enum hashes)(i % N_HASHES);
        struct world *w = leave(left, hashes);
        apply_target(w, "podinfo:3", left->replicas, JUST_NOW);
        w->closed = "";
        world_settle(w);
        world_run(w);
        if (strcmp(world_image(w, "podinfo-primary"), "podinfo:3") != 0 ||
            strcmp(world_weights(w), "100/0") != 0)
            fail_msg("%s (hashes %d) ends in %s with %s on the primary, told:\n%s", left->name,
                     hashes, world_phase(w), world_image(w, "podinfo-primary"), w->told);
        world_free(w);
    }
}

/* The same with the configs, whose hashes every version of Flagger takes alike. */
static void test_another_config_in_between_is_released(void **state)
{
    for (int i = 0; i < LEFTS * N_HASHES; i++) {
        const struct left *left = &lefts[i / N_HASHES];
        enum hashes hashes = (enum hashes)(i % N_HASHES);
        struct world *w = leave(left, hashes);
        const char *phase = left->phase;
        world_patch(w, "configmaps/settings", "{'data':{'color':'blue'}}");
        if (strstr(left->target, "canary-only"))
            apply_target(w, "podinfo:2", 2, JUST_NOW);
        w->closed = "";
        world_settle(w);
        world_run(w);
        const char *color =
            json_str_at(world_get(w, "configmaps/settings-primary"), "data", "color", NULL);
        /* Initializing takes an existing primary for that of another Canary and compares. */
        if (strcmp(color, "blue") != 0)
            fail_msg("%s (%s, hashes %d) leaves %s, told:\n%s", left->name, phase, hashes, color,
                     w->told);
        world_free(w);
    }
}

/* The promoted spec is put back between the two: the release is over, whatever the hashes. */
static void test_a_restored_spec_in_between(void **state)
{
    for (int i = 0; i < LEFTS * N_HASHES; i++) {
        const struct left *left = &lefts[i / N_HASHES];
        enum hashes hashes = (enum hashes)(i % N_HASHES);
        struct world *w = leave(left, hashes);
        apply_target(w, "podinfo:1", left->replicas, JUST_NOW);
        w->closed = "";
        world_settle(w);
        world_run(w);
        if (strcmp(world_image(w, "podinfo-primary"), "podinfo:1") != 0 ||
            strcmp(world_weights(w), "100/0") != 0)
            fail_msg("%s (hashes %d) ends in %s with %s on the primary, told:\n%s", left->name,
                     hashes, world_phase(w), world_image(w, "podinfo-primary"), w->told);
        world_free(w);
    }
}

/* What tells how old the template is: the fields' managers, else the Deployment's condition, else
 * nothing, and then a revision is analysed once more. */
static void test_how_old_the_template_is(void **state)
{
    static const struct {
        const char *patch, *phase;
    } cases[] = {
        {"{}", "Failed"},
        {"{'metadata':{'managedFields':null}}", "Progressing"},
        {"{'metadata':{'managedFields':null},'status':{'conditions':[{'type':'Progressing',"
         "'lastUpdateTime':'" LONG_AGO "'}]}}",
         "Failed"},
        {"{'metadata':{'managedFields':null},'status':{'conditions':[{'type':'Progressing',"
         "'lastUpdateTime':'" JUST_NOW "'}]}}",
         "Progressing"},
        {"{'metadata':{'managedFields':[{'time':'soon','fieldsV1':{'f:spec':{'f:template':{}}}}]}}",
         "Progressing"},
        {"{'status':{'observedGeneration':0}}", "Progressing"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = leave(&lefts[13], OTHER);
        world_patch(w, "deployments/podinfo", cases[i].patch);
        world_tick(w);
        world_tick(w);
        if (strcmp(world_phase(w), cases[i].phase) != 0)
            fail_msg("case %zu is in phase %s", i, world_phase(w));
        world_free(w);
    }
}

/* Somebody restarted the primary's pods: no other revision. */
static void test_a_restarted_primary_is_no_revision(void **state)
{
    struct world *w = leave(&lefts[12], OTHER);

    world_patch(w, "deployments/podinfo-primary",
                "{'spec':{'template':{'metadata':{'annotations':{"
                "'kubectl.kubernetes.io/restartedAt':'" JUST_NOW "'}}}}}");
    world_settle(w);
    go_on(w);
    assert_string_equal(world_phase(w), "Succeeded");
    assert_string_equal(w->told, "");
    world_free(w);
}

/* Whatever the hash and whoever wrote the template last: the primary runs just this. */
static void test_what_the_primary_runs_is_no_revision(void **state)
{
    static const int cases[] = {7, 9, 10, 11, 14};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *w = leave(&lefts[cases[i]], OTHER);
        apply_target(w, version(w, lefts[cases[i]].target), lefts[cases[i]].replicas, JUST_NOW);
        world_settle(w);
        go_on(w);
        expect_left(w, &lefts[cases[i]], OTHER);
        world_free(w);
    }
}

/* There is no way back for a primary that has the new revision: bad checks are no longer asked. */
static void test_a_promotion_that_flagger_left_half_done(void **state)
{
    for (enum hashes hashes = SAME; hashes < N_HASHES; hashes++) {
        struct world *w = leave(&lefts[7], hashes);
        w->metrics = world_json(w, "{'metrics[0]':1}");
        world_run(w);
        expect_left(w, &lefts[7], hashes);
        world_free(w);
    }
}

/* The hashes are those that we take: then another one is another revision, however old it looks (a
 * Deployment that goes back to an old ReplicaSet writes no time). */
static void test_our_hashes_need_no_times(void **state)
{
    for (int i = 5; i < LEFTS; i += 8) {
        struct world *w = leave(&lefts[i], SAME);
        apply_target(w, "podinfo:3", lefts[i].replicas, LONG_AGO);
        world_settle(w);
        world_run(w);
        assert_string_equal(world_image(w, "podinfo-primary"), "podinfo:3");
        assert_non_null(strstr(w->told, "New revision detected!"));
        world_free(w);
    }
}

/* Our own status is ours: a revision that was pushed before it was written is a revision. */
static void test_our_own_status_needs_no_times(void **state)
{
    struct world *w = leave(&lefts[13], OTHER);

    world_patch_canary(w, "{'status':{'serviceName':'podinfo'}}");
    world_tick(w);
    assert_string_equal(world_phase(w), "Progressing");
    world_free(w);
}

UNIT_MAIN(cmocka_unit_test(test_switching_starts_and_swallows_nothing),
          cmocka_unit_test(test_an_idle_cluster_is_not_touched),
          cmocka_unit_test(test_an_analysis_goes_on_at_its_weight),
          cmocka_unit_test(test_a_push_in_between_is_released),
          cmocka_unit_test(test_another_config_in_between_is_released),
          cmocka_unit_test(test_a_restored_spec_in_between),
          cmocka_unit_test(test_how_old_the_template_is),
          cmocka_unit_test(test_a_restarted_primary_is_no_revision),
          cmocka_unit_test(test_what_the_primary_runs_is_no_revision),
          cmocka_unit_test(test_a_promotion_that_flagger_left_half_done),
          cmocka_unit_test(test_our_hashes_need_no_times),
          cmocka_unit_test(test_our_own_status_needs_no_times))
