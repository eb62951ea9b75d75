/* The controllers together, on a real object store and loop, with simulated pods: rollouts from
 * begin to end. */

#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "cluster/crds.h"
#include "object/meta.h"
#include "test/unit.h"

enum { LIMIT_MS = 15 * 1000 };

struct world {
    struct loop *loop;
    struct objstore *store;
    struct cluster *cluster;
    struct arena *arena;
    bool (*until)(struct world *w);
    const char *name;
    int least_available, most_pods;
    bool met, expired;
    struct timer *poll, *limit;
};

static void on_poll(void *arg);

static void on_limit(void *arg)
{
    struct world *w = arg;
    w->limit = NULL;
    w->expired = true;
    uv_stop(loop_uv(w->loop));
}

static void on_poll(void *arg)
{
    struct world *w = arg;
    arena_reset(w->arena);
    if (!w->until(w))
        return;
    w->met = true;
    uv_stop(loop_uv(w->loop));
}

/* Turns the loop until the condition holds. */
static void wait_until(struct world *w, bool (*until)(struct world *w))
{
    w->until = until;
    w->met = w->expired = false;
    w->poll = timer_start(w->loop, 1, 1, on_poll, w);
    w->limit = timer_start(w->loop, LIMIT_MS, 0, on_limit, w);
    while (!w->met && !w->expired)
        uv_run(loop_uv(w->loop), UV_RUN_DEFAULT);
    timer_stop(w->poll);
    timer_stop(w->limit);
    assert_true(w->met);
}

static int set_up(void **state)
{
    static struct world world;
    struct errinfo ei = {0};
    world = (struct world){.loop = loop_new(5000), .arena = arena_new(), .name = "web"};
    world.store = objstore_new(world.loop, 0);
    assert_int_equal(crds_install(world.store, &ei), ERR_OK);
    const struct cluster_options options = {
        .app = "/bin/false", .directory = "/tmp", .nodes = 2, .gateway_port = -1};
    assert_int_equal(cluster_new(world.loop, world.store, &options, &world.cluster, &ei), ERR_OK);
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    loop_drain(w->loop);
    assert_int_equal(loop_run(w->loop), 0);
    cluster_free(w->cluster);
    objstore_free(w->store);
    loop_free(w->loop);
    arena_free(w->arena);
    return 0;
}

/* ---- objects ---- */

static void apply(struct world *w, const char *group, const char *plural, const char *text)
{
    const struct objkind *kind = objstore_kind(w->store, group, plural);
    struct objcall call = {.arena = w->arena, .fail = {.arena = w->arena}};
    struct json_object *obj = json_own(w->arena, json_tokener_parse(text));
    assert_non_null(obj);
    if (objstore_create(w->store, &call, kind, "test", obj, NULL) != ERR_OK)
        fail_msg("create: %s", call.fail.message);
}

static void patch(struct world *w, const char *group, const char *plural, const char *name,
                  const char *text)
{
    const struct objkind *kind = objstore_kind(w->store, group, plural);
    struct objcall call = {.arena = w->arena, .fail = {.arena = w->arena}};
    struct json_object *obj = json_own(w->arena, json_tokener_parse(text));
    assert_non_null(obj);
    if (objstore_merge(w->store, &call, kind, "test", name, OBJSUB_NONE, obj, NULL) != ERR_OK)
        fail_msg("patch: %s", call.fail.message);
}

static struct json_object *get(struct world *w, const char *group, const char *plural,
                               const char *name)
{
    return objstore_get(w->store, objstore_kind(w->store, group, plural), "test", name);
}

static size_t pods(struct world *w, bool ready_only)
{
    struct json_object **items;
    size_t found = 0, count = objstore_list(w->store, w->arena, objstore_kind(w->store, "", "pods"),
                                            "test", &items);
    for (size_t i = 0; i < count; i++)
        found += !ready_only ||
                 meta_condition_true(json_at(items[i], "status", "conditions", NULL), "Ready");
    return found;
}

static void make_namespace(struct world *w)
{
    const struct objkind *kind = objstore_kind(w->store, "", "namespaces");
    struct objcall call = {.arena = w->arena, .fail = {.arena = w->arena}};
    struct json_object *obj =
        json_own(w->arena, json_tokener_parse("{'metadata':{'name':'test'}}"));
    assert_int_equal(objstore_create(w->store, &call, kind, NULL, obj, NULL), ERR_OK);
}

static void make_deployment(struct world *w, int replicas, const char *strategy,
                            const char *annotations)
{
    make_namespace(w);
    apply(w, "apps", "deployments",
          arena_printf(w->arena,
                       "{'metadata':{'name':'web'},'spec':{'replicas':%d,'progressDeadlineSeconds':"
                       "1,'strategy':%s,'selector':{'matchLabels':{'app':'web'}},'template':{'"
                       "metadata':{'labels':{'app':'web'},'annotations':%s},'spec':{'containers':[{"
                       "'name':'app','image':'x:1'}]}}}}",
                       replicas, strategy, annotations));
}

static void set_image(struct world *w, const char *image)
{
    patch(
        w, "apps", "deployments", "web",
        arena_printf(w->arena,
                     "{'spec':{'template':{'spec':{'containers':[{'name':'app','image':'%s'}]}}}}",
                     image));
}

/* ---- conditions ---- */

static const char *progress(struct world *w)
{
    struct json_object *list =
        json_at(get(w, "apps", "deployments", "web"), "status", "conditions", NULL);
    const char *reason = json_str_at(meta_condition(list, "Progressing"), "reason", NULL);
    return reason ? reason : "";
}

static bool rolled_out(struct world *w)
{
    struct json_object *d = get(w, "apps", "deployments", "web");
    int64_t wanted = json_int_at(d, 1, "spec", "replicas", NULL);
    size_t now = pods(w, false), ready = pods(w, true);
    if ((int)now > w->most_pods)
        w->most_pods = (int)now;
    if (w->least_available >= 0 && (int)ready < w->least_available)
        w->least_available = (int)ready;
    return strcmp(progress(w), "NewReplicaSetAvailable") == 0 &&
           json_int_at(d, 0, "status", "observedGeneration", NULL) ==
               json_int_at(d, -1, "metadata", "generation", NULL) &&
           json_int_at(d, 0, "status", "updatedReplicas", NULL) == wanted &&
           json_int_at(d, 0, "status", "availableReplicas", NULL) == wanted &&
           (int64_t)now == wanted;
}

static bool timed_out(struct world *w)
{
    return strcmp(progress(w), "ProgressDeadlineExceeded") == 0;
}

static bool crashing(struct world *w)
{
    struct json_object **items;
    size_t count =
        objstore_list(w->store, w->arena, objstore_kind(w->store, "", "pods"), "test", &items);
    struct json_object *status =
        count ? json_elem(json_at(items[0], "status", "containerStatuses", NULL), 0) : NULL;
    const char *reason = json_str_at(status, "state", "waiting", "reason", NULL);
    return json_int_at(status, 0, "restartCount", NULL) >= 2 && reason &&
           strcmp(reason, "CrashLoopBackOff") == 0;
}

static bool no_pods(struct world *w)
{
    return pods(w, false) == 0;
}

/* ---- stories ---- */

CASE_WITH(rolling_update, set_up, tear_down)
{
    struct world *w = *state;
    make_deployment(w, 3, "{'rollingUpdate':{'maxSurge':1,'maxUnavailable':0}}", "{}");
    w->least_available = -1;
    wait_until(w, rolled_out);
    w->least_available = w->most_pods = 3;
    set_image(w, "x:2");
    wait_until(w, rolled_out);
    assert_int_equal(w->least_available, 3); /* never fewer than three served */
    assert_true(w->most_pods >= 4);
    struct json_object *d = get(w, "apps", "deployments", "web");
    assert_string_equal(meta_annotation(d, "deployment.kubernetes.io/revision"), "2");
    set_image(w, "x:1"); /* back: the old ReplicaSet is used again, as a new revision */
    wait_until(w, rolled_out);
    d = get(w, "apps", "deployments", "web");
    assert_string_equal(meta_annotation(d, "deployment.kubernetes.io/revision"), "3");
    assert_int_equal(
        objstore_count(w->store, objstore_kind(w->store, "apps", "replicasets"), "test"), 2);
}

CASE_WITH(recreate, set_up, tear_down)
{
    struct world *w = *state;
    make_deployment(w, 2, "{'type':'Recreate'}", "{}");
    w->least_available = -1;
    wait_until(w, rolled_out);
    w->least_available = w->most_pods = 2;
    set_image(w, "x:2");
    wait_until(w, rolled_out);
    assert_int_equal(w->least_available, 0);
    assert_int_equal(w->most_pods, 2);
}

CASE_WITH(deadline, set_up, tear_down)
{
    struct world *w = *state;
    make_deployment(w, 1, "{}", "{'sandbox.flagger.app/never-ready':'true'}");
    wait_until(w, timed_out);
    assert_int_equal(pods(w, true), 0);
}

CASE_WITH(crash, set_up, tear_down)
{
    struct world *w = *state;
    make_deployment(w, 1, "{}", "{'sandbox.flagger.app/crash':'true'}");
    wait_until(w, crashing);
}

CASE_WITH(scaling, set_up, tear_down)
{
    struct world *w = *state;
    make_deployment(w, 1, "{}", "{}");
    w->least_available = -1;
    wait_until(w, rolled_out);
    apply(w, "autoscaling", "horizontalpodautoscalers",
          "{'metadata':{'name':'web'},'spec':{'minReplicas':2,'maxReplicas':4,'scaleTargetRef':{'"
          "apiVersion':'apps/v1','kind':'Deployment','name':'web'}}}");
    wait_until(w, rolled_out);
    while (pods(w, true) != 2)
        wait_until(w, rolled_out);
    patch(w, "apps", "deployments", "web",
          "{'spec':{'replicas':0}}"); /* as Flagger does with a target */
    wait_until(w, no_pods);
    patch(w, "apps", "deployments", "web", "{'spec':{'replicas':9}}");
    while (pods(w, true) != 4)
        wait_until(w, rolled_out);
}

static bool daemons_updated(struct world *w)
{
    struct json_object *s = json_at(get(w, "apps", "daemonsets", "agent"), "status", NULL);
    return json_int_at(s, 0, "desiredNumberScheduled", NULL) == 2 &&
           json_int_at(s, 0, "numberReady", NULL) == 2 &&
           json_int_at(s, 0, "updatedNumberScheduled", NULL) == 2 &&
           json_int_at(s, 0, "observedGeneration", NULL) ==
               json_int_at(get(w, "apps", "daemonsets", "agent"), -1, "metadata", "generation",
                           NULL);
}

CASE_WITH(daemonset, set_up, tear_down)
{
    struct world *w = *state;
    make_namespace(w);
    apply(w, "apps", "daemonsets",
          "{'metadata':{'name':'agent'},'spec':{'selector':{'matchLabels':{'app':'agent'}},'"
          "template':{'metadata':{'labels':{'app':'agent'}},'spec':{'containers':[{'name':'app','"
          "image':'x:1'}]}}}}");
    wait_until(w, daemons_updated);
    patch(w, "apps", "daemonsets", "agent",
          "{'spec':{'template':{'spec':{'containers':[{'name':'app','image':'x:2'}]}}}}");
    wait_until(w, daemons_updated);
    patch(w, "apps", "daemonsets", "agent",
          "{'spec':{'template':{'spec':{'nodeSelector':{'flagger.app/scale-to-zero':'true'}}}}}");
    wait_until(w, no_pods);
}

CASE_WITH(service_address, set_up, tear_down)
{
    struct world *w = *state;
    make_namespace(w);
    apply(w, "", "services",
          "{'metadata':{'name':'web'},'spec':{'ports':[{'port':8080}],'selector':{'app':'web'}}}");
    const char *ip = json_str_at(get(w, "", "services", "web"), "spec", "clusterIP", NULL);
    assert_non_null(ip);
    assert_int_equal(strncmp(ip, "127.96.", 7), 0);
    char *before = heap_strdup(ip);
    patch(w, "", "services", "web", "{'spec':{'clusterIP':null,'ports':[{'port':81}]}}");
    assert_string_equal(json_str_at(get(w, "", "services", "web"), "spec", "clusterIP", NULL),
                        before);
    free(before);
    struct errinfo ei = {0};
    assert_int_equal(cluster_register(w->cluster, "tester.tools:8080=127.0.0.1:9", &ei), ERR_OK);
    assert_int_equal(cluster_register(w->cluster, "tester.tools:8080=127.0.0.1:10", &ei), ERR_OK);
    assert_int_equal(cluster_register(w->cluster, "nonsense", &ei), ERR_INVALID);
}
