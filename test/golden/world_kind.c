#include "world_kind.h"
#include "test/pretend.h"
#include "test/unit.h"

#include <string.h>

#define META                                                                                       \
    "'metadata':{'name':'podinfo','namespace':'test','uid':'d-1','generation':1,'labels':{'app':'" \
    "podinfo'}}"
#define CONTAINERS(image)                                                                          \
    "'containers':[{'name':'podinfo','image':'" image                                              \
    "','ports':[{'containerPort':9898,'name':'http','protocol':'TCP'}]}]"
#define POD_SPEC                                                                                   \
    "'selector':{'matchLabels':{'app':'podinfo'}},'template':{'metadata':{'labels':{'app':'"       \
    "podinfo'}},'spec':{" CONTAINERS("podinfo:1") "}}"

static const char *image_of(struct json_object *object)
{
    struct json_object *containers =
        json_at(object, "spec", "template", "spec", "containers", NULL);

    return json_str_at(json_elem(containers, 0), "image", NULL);
}

static const char *pod_image(struct world *world, const char *name)
{
    return image_of(world_get(world, world_key(world, name)));
}

static bool selects(struct json_object *selector, struct json_object *workload)
{
    struct json_object *labels = json_at(workload, "spec", "template", "metadata", "labels", NULL);

    if (!json_object_is_type(selector, json_type_object) ||
        json_object_object_length(selector) == 0)
        return false;
    json_object_object_foreach(selector, key, value)
    {
        if (!json_same(json_at(labels, key, NULL), value))
            return false;
    }
    return true;
}

bool world_kind_leads(struct json_object *service, struct json_object *workload,
                      struct json_object *other)
{
    struct json_object *selector = json_at(service, "spec", "selector", NULL);

    return selects(selector, workload) && !selects(selector, other);
}

static bool is_own(struct world *world, const char *name)
{
    const char *target = json_str_at(world->canary, "spec", "targetRef", "name", NULL);
    const char *followed =
        json_str_at(world->canary, "status", "acceptedSpec", "targetRef", "name", NULL);
    const char *names[] = {target, followed};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i] && (strcmp(name, names[i]) == 0 ||
                         strcmp(name, arena_printf(world->arena, "%s-primary", names[i])) == 0 ||
                         strcmp(name, arena_printf(world->arena, "%s-renewal", names[i])) == 0))
            return true;
    }
    return false;
}

const char *world_kind_selected(struct world *world, const char *service, bool own)
{
    struct json_object *object =
        world_get(world, arena_printf(world->arena, "services/%s", service));
    struct json_object *selector = json_at(object, "spec", "selector", NULL);

    json_object_object_foreach(world->objects, key, workload)
    {
        const char *name = strchr(key, '/') + 1;
        if ((strncmp(key, "deployments/", 12) == 0 || strncmp(key, "daemonsets/", 11) == 0 ||
             strncmp(key, "statefulsets/", 13) == 0) &&
            is_own(world, name) == own && selects(selector, workload) && pretend_serves(workload))
            return name;
    }
    return NULL;
}

/* The Service selects the pods of a workload that answers. */
static bool pods_answer(struct world *world, const char *service)
{
    return world_kind_selected(world, service, true) || world_kind_selected(world, service, false);
}

static const char *push_pods(struct world *world, const char *image)
{
    return arena_printf(world->arena, "{'spec':{'template':{'spec':{" CONTAINERS("%s") "}}}}",
                        image);
}

static struct json_object *pods_settle(struct world *world, struct json_object *object, bool stuck,
                                       bool slow)
{
    struct json_object *settled = json_copy(world->arena, object);
    struct json_object *patch = world_json(world, "{}");

    pretend_settle(settled, stuck ? HEALTH_STUCK : slow ? HEALTH_STARTING : HEALTH_READY, NULL);
    json_set(patch, "status", json_at(settled, "status", NULL));
    return patch;
}

/* --- Service: its selector says which pods of others it leads to, and they are always there */

static const char *push_selector(struct world *world, const char *image)
{
    return arena_printf(world->arena, "{'spec':{'selector':{'image':'%s'}}}", image);
}

static const char *selected_image(struct world *world, const char *name)
{
    return json_str_at(world_get(world, world_key(world, name)), "spec", "selector", "image", NULL);
}

static bool never_at_zero(struct json_object *object)
{
    (void)object;
    return false;
}

static bool exists(struct json_object *object)
{
    return object;
}

static bool service_answers(struct world *world, const char *service)
{
    return world_get(world, world_key(world, service));
}

/* The cluster gives each Service an address of its own. */
static struct json_object *service_settle(struct world *world, struct json_object *object,
                                          bool stuck, bool slow)
{
    const char *name = json_str_at(object, "metadata", "name", NULL);
    unsigned char sum = 0;

    (void)stuck;
    (void)slow;
    for (; *name; name++)
        sum = (unsigned char)(sum * 3 + *name);
    return world_json(world, arena_printf(world->arena,
                                          "{'spec':{'clusterIP':'10.0.0.%d','clusterIPs':["
                                          "'10.0.0.%d']}}",
                                          sum, sum));
}

/* --- Knative: a revision of each template */

static struct json_object *revision(struct world *world, const char *name)
{
    return world_get(world, arena_printf(world->arena, "revisions/%s", name ? name : ""));
}

static const char *knative_image(struct world *world, const char *name)
{
    struct json_object *service = world_get(world, "services/podinfo");
    bool is_primary = strcmp(name, "podinfo-primary") == 0;
    const char *which =
        is_primary
            ? json_str_at(service, "metadata", "annotations", "flagger.app/primary-revision", NULL)
            : json_str_at(service, "status", "latestCreatedRevisionName", NULL);

    return json_str_at(revision(world, which), "spec", "image", NULL);
}

static bool knative_serves(struct json_object *object)
{
    return json_bool_at(object, false, "status", "latestIsReady", NULL);
}

static bool knative_answers(struct world *world, const char *service)
{
    return knative_serves(world_get(world, world_key(world, service)));
}

static int knative_share(struct world *world, int *primary)
{
    struct json_object *traffic =
        json_at(world_get(world, "services/podinfo"), "spec", "traffic", NULL);

    if (!traffic) { /* nothing is split yet: whoever serves goes on */
        *primary = WEIGHT_ALL;
        return 0;
    }
    *primary = WEIGHT_PERCENT * (int)json_int_at(json_elem(traffic, 1), 0, "percent", NULL);
    return WEIGHT_PERCENT * (int)json_int_at(json_elem(traffic, 0), 0, "percent", NULL);
}

static void knative_grow(struct world *world)
{
    struct json_object *service = world_get(world, "services/podinfo");
    const char *image = image_of(service);
    const char *old = knative_image(world, "podinfo");
    int number = 0;

    if (!service || !image)
        return;
    if (!old || strcmp(old, image) != 0) {
        const char *name;
        do
            name = arena_printf(world->arena, "podinfo-%05d", ++number);
        while (revision(world, name));
        world_put(world, arena_printf(world->arena, "revisions/%s", name),
                  arena_printf(world->arena, "{'metadata':{'name':'%s'},'spec':{'image':'%s'}}",
                               name, image));
        world_patch(
            world, "services/podinfo",
            arena_printf(world->arena, "{'status':{'latestCreatedRevisionName':'%s'}}", name));
    }
    bool bad = strstr(image, "stuck") || strstr(image, "slow");
    const char *latest = json_str_at(world_get(world, "services/podinfo"), "status",
                                     "latestCreatedRevisionName", NULL);
    world_patch(world, arena_printf(world->arena, "revisions/%s", latest),
                arena_printf(world->arena,
                             "{'status':{'conditions':[{'type':'Ready','status':'%s',"
                             "'lastTransitionTime':'2023-11-14T22:13:20Z'}]}}",
                             bad ? "Unknown" : "True"));
}

static struct json_object *knative_settle(struct world *world, struct json_object *object,
                                          bool stuck, bool slow)
{
    struct json_object *patch = world_json(
        world,
        arena_printf(world->arena, "{'status':{'observedGeneration':%lld,'latestIsReady':%s}}",
                     (long long)json_int_at(object, 0, "metadata", "generation", NULL),
                     stuck || slow ? "false" : "true"));
    struct json_object *traffic = json_at(object, "spec", "traffic", NULL);
    struct json_object *all = world_json(world, "[{'latestRevision':true,'percent':100}]");

    json_set(json_sub(patch, "status"), "traffic",
             json_copy(world->arena, traffic ? traffic : all));
    return patch;
}

static const struct world_kind kinds[] = {
    {
        .kind = "Deployment",
        .plural = "deployments",
        .target = "{'apiVersion':'apps/v1','kind':'Deployment'," META
                  ",'spec':{'replicas':2," POD_SPEC "}}",
        .push = push_pods,
        .image = pod_image,
        .at_zero = pretend_at_zero,
        .serves = pretend_serves,
        .answers = pods_answer,
        .settle = pods_settle,
    },
    {
        .kind = "DaemonSet",
        .plural = "daemonsets",
        .target = "{'apiVersion':'apps/v1','kind':'DaemonSet'," META ",'spec':{" POD_SPEC "}}",
        .push = push_pods,
        .image = pod_image,
        .at_zero = pretend_at_zero,
        .serves = pretend_serves,
        .answers = pods_answer,
        .settle = pods_settle,
    },
    {
        .kind = "Service",
        .plural = "services",
        .target = "{'apiVersion':'v1','kind':'Service'," META ",'spec':{'type':'ClusterIP',"
                  "'selector':{'image':'podinfo:1'},'ports':[{'port':9898,'protocol':'TCP',"
                  "'targetPort':9898}]}}",
        .push = push_selector,
        .image = selected_image,
        .at_zero = never_at_zero,
        .serves = exists,
        .answers = service_answers,
        .settle = service_settle,
    },
    {
        .kind = "Service",
        .group = "serving.knative.dev/",
        .plural = "services",
        .target = "{'apiVersion':'serving.knative.dev/v1','kind':'Service'," META
                  ",'spec':{'template':{'spec':{" CONTAINERS("podinfo:1") "}}}}",
        .push = push_pods,
        .image = knative_image,
        .at_zero = never_at_zero,
        .serves = knative_serves,
        .answers = knative_answers,
        .share = knative_share,
        .grow = knative_grow,
        .settle = knative_settle,
    },
};

const struct world_kind *world_kind_of(struct world *world)
{
    const char *kind = json_str_at(world->canary, "spec", "targetRef", "kind", NULL);
    const char *version = json_str_at(world->canary, "spec", "targetRef", "apiVersion", NULL);
    const struct world_kind *found = NULL;

    for (size_t i = 0; kind && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *group = kinds[i].group ? kinds[i].group : "";
        if (strcmp(kinds[i].kind, kind) == 0 && version &&
            strncmp(version, group, strlen(group)) == 0)
            found = &kinds[i];
    }
    return found ? found : &kinds[0];
}

const char *world_key(struct world *world, const char *name)
{
    return arena_printf(world->arena, "%s/%s", world_kind_of(world)->plural, name);
}

const char *world_image(struct world *world, const char *name)
{
    const char *image = world_kind_of(world)->image(world, name);

    return image ? image : "";
}
