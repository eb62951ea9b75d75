#include "world_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define META                                                                                       \
    "'metadata':{'name':'podinfo','namespace':'test','uid':'d-1','generation':1,'labels':{'app':'" \
    "podinfo'}}"
#define CONTAINERS(image)                                                                          \
    "'containers':[{'name':'podinfo','image':'" image                                              \
    "','ports':[{'containerPort':9898,'name':'http','protocol':'TCP'}]}]"
#define POD_SPEC                                                                                   \
    "'selector':{'matchLabels':{'app':'podinfo'}},'template':{'metadata':{'labels':{'app':'"       \
    "podinfo'}},'spec':{" CONTAINERS("podinfo:1") "}}"

static const char *pod_image(struct json_object *object)
{
    struct json_object *containers =
        json_at(object, "spec", "template", "spec", "containers", NULL);

    return json_str_at(json_elem(containers, 0), "image", NULL);
}

static const char *push_pods(struct world *world, const char *image)
{
    return arena_printf(world->arena, "{'spec':{'template':{'spec':{" CONTAINERS("%s") "}}}}",
                        image);
}

/* --- Deployment */

static bool deployment_at_zero(struct json_object *object)
{
    return json_int_at(object, 1, "spec", "replicas", NULL) == 0;
}

static bool deployment_serves(struct json_object *object)
{
    return json_int_at(object, 0, "status", "availableReplicas", NULL) > 0;
}

static struct json_object *deployment_settle(struct world *world, struct json_object *object,
                                             bool stuck, bool slow)
{
    long long replicas = json_int_at(object, 1, "spec", "replicas", NULL);
    long long generation = json_int_at(object, 0, "metadata", "generation", NULL);

    stuck = stuck && replicas > 0;
    return world_json(world,
                      arena_printf(world->arena,
                                   "{'status':{'observedGeneration':%lld,'replicas':%lld,"
                                   "'updatedReplicas':%lld,'availableReplicas':%lld,'conditions':[{"
                                   "'type':'Progressing','status':'%s','reason':'%s'}]}}",
                                   generation, replicas, replicas, stuck || slow ? 0LL : replicas,
                                   stuck ? "False" : "True",
                                   stuck ? "ProgressDeadlineExceeded" : "NewReplicaSetAvailable"));
}

/* --- DaemonSet: on two nodes, neither of which has the label that scales to zero */

enum { NODES = 2 };

static bool daemonset_at_zero(struct json_object *object)
{
    return json_at(object, "spec", "template", "spec", "nodeSelector", "flagger.app/scale-to-zero",
                   NULL);
}

static bool daemonset_serves(struct json_object *object)
{
    return json_int_at(object, 0, "status", "numberAvailable", NULL) > 0;
}

static struct json_object *daemonset_settle(struct world *world, struct json_object *object,
                                            bool stuck, bool slow)
{
    int pods = daemonset_at_zero(object) ? 0 : NODES;

    return world_json(
        world, arena_printf(world->arena,
                            "{'status':{'observedGeneration':%lld,'desiredNumberScheduled':%d,"
                            "'currentNumberScheduled':%d,'updatedNumberScheduled':%d,"
                            "'numberMisscheduled':0,'numberAvailable':%d}}",
                            (long long)json_int_at(object, 0, "metadata", "generation", NULL), pods,
                            pods, pods, stuck || slow ? 0 : pods));
}

static const struct world_kind kinds[] = {
    {
        .kind = "Deployment",
        .plural = "deployments",
        .target = "{'apiVersion':'apps/v1','kind':'Deployment'," META
                  ",'spec':{'replicas':2," POD_SPEC "}}",
        .push = push_pods,
        .image = pod_image,
        .at_zero = deployment_at_zero,
        .serves = deployment_serves,
        .settle = deployment_settle,
    },
    {
        .kind = "DaemonSet",
        .plural = "daemonsets",
        .target = "{'apiVersion':'apps/v1','kind':'DaemonSet'," META ",'spec':{" POD_SPEC "}}",
        .push = push_pods,
        .image = pod_image,
        .at_zero = daemonset_at_zero,
        .serves = daemonset_serves,
        .settle = daemonset_settle,
    },
};

const struct world_kind *world_kind_of(struct world *world)
{
    const char *kind = json_str_at(world->canary, "spec", "targetRef", "kind", NULL);

    for (size_t i = 0; kind && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].kind, kind) == 0)
            return &kinds[i];
    }
    return &kinds[0];
}
