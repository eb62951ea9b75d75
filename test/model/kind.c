#include "kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ticks.h"

/* --- pods of a template */

static const char *const images[] = {"", "podinfo:1", "podinfo:2", "podinfo:3"};

static int revision_in(const char *image)
{
    const char *colon = image ? strchr(image, ':') : NULL;

    return colon ? (int)strtol(colon + 1, NULL, 10) : 0;
}

static struct json_object *container(struct json_object *tree)
{
    return json_elem(json_at(tree, "spec", "template", "spec", "containers", NULL), 0);
}

/* Of its pods: what was pushed to a target that is pinned waits in its template. */
static int template_revision(struct json_object *tree)
{
    struct json_object *template = pretend_template(tree);
    struct json_object *containers = json_at(template, "spec", "containers", NULL);
    int revision = revision_in(json_str_at(json_elem(containers, 0), "image", NULL));

    json_object_put(template);
    return revision;
}

static void template_push(struct json_object *tree, int revision)
{
    json_set_str(container(tree), "image", images[revision]);
}

static struct json_object *put_status(struct json_object *tree)
{
    struct json_object *status = json_object_new_object();

    json_set_int(status, "observedGeneration",
                 json_int_at(tree, 1, "metadata", "generation", NULL));
    json_set(tree, "status", status);
    json_object_put(status);
    return json_at(tree, "status", NULL);
}

/* --- Deployment */

static const char deployment[] =
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'podinfo','namespace':'test',"
    "'uid':'d-1','generation':1,'labels':{'app':'podinfo'}},'spec':{'replicas':1,"
    "'selector':{'matchLabels':{'app':'podinfo'}},'template':{'metadata':{'labels':{'app':"
    "'podinfo'}},'spec':{'containers':[{'name':'podinfo','image':'podinfo:1'}]}}}}";

static const char *progress(struct json_object *tree)
{
    struct json_object *conditions = json_at(tree, "status", "conditions", NULL);
    const char *reason = json_str_at(json_elem(conditions, 0), "reason", NULL);

    return reason ? reason : "";
}

static bool workload_settle(struct json_object *tree, enum health health)
{
    if (health != HEALTH_READY && pretend_at_zero(tree))
        return false;
    pretend_settle(tree, health, NULL);
    return true;
}

static bool deployment_stuck(struct json_object *tree)
{
    return pretend_is_observed(tree) && strcmp(progress(tree), "ProgressDeadlineExceeded") == 0;
}

static bool deployment_ready(struct json_object *tree)
{
    return pretend_is_observed(tree) && pretend_serves(tree) && !deployment_stuck(tree) &&
           json_int_at(tree, 0, "status", "availableReplicas", NULL) >=
               json_int_at(tree, 1, "spec", "replicas", NULL);
}

/* --- DaemonSet */

static const char daemonset[] =
    "{'apiVersion':'apps/v1','kind':'DaemonSet','metadata':{'name':'podinfo','namespace':'test',"
    "'uid':'d-1','generation':1,'labels':{'app':'podinfo'}},'spec':{"
    "'selector':{'matchLabels':{'app':'podinfo'}},'template':{'metadata':{'labels':{'app':"
    "'podinfo'}},'spec':{'containers':[{'name':'podinfo','image':'podinfo:1'}]}}}}";

static bool daemonset_ready(struct json_object *tree)
{
    return pretend_is_observed(tree) && pretend_serves(tree);
}

static bool daemonset_stuck(struct json_object *tree)
{
    return pretend_is_observed(tree) && !pretend_at_zero(tree) && !daemonset_ready(tree);
}

/* --- Service: its selector says which pods of others it leads to, and they are always there */

static const char service[] =
    "{'apiVersion':'v1','kind':'Service','metadata':{'name':'podinfo','namespace':'test','uid':"
    "'d-1','generation':1,'labels':{'app':'podinfo'}},'spec':{'type':'ClusterIP','selector':{"
    "'image':'podinfo:1'},'ports':[{'port':9898,'protocol':'TCP','targetPort':9898}]}}";

static int service_revision(struct json_object *tree)
{
    return revision_in(json_str_at(tree, "spec", "selector", "image", NULL));
}

static void service_push(struct json_object *tree, int revision)
{
    json_set_str(json_sub(json_sub(tree, "spec"), "selector"), "image", images[revision]);
}

/* The cluster gives each an address of its own. */
static bool service_settle(struct json_object *tree, enum health health)
{
    const char *name = json_str_at(tree, "metadata", "name", NULL);

    if (health != HEALTH_READY)
        return false;
    json_set_str(json_sub(tree, "spec"), "clusterIP",
                 name && strcmp(name, "podinfo") == 0 ? "10.0.0.1" : "10.0.0.2");
    return true;
}

static bool always(struct json_object *tree)
{
    return tree;
}

static bool never(struct json_object *tree)
{
    (void)tree;
    return false;
}

/* --- Knative: a revision of each template, all of which are there from the beginning. (A template
 * that comes back is the old revision again, and not one more: so there is an end of them.) */

static const char knative[] =
    "{'apiVersion':'serving.knative.dev/v1','kind':'Service','metadata':{'name':'podinfo',"
    "'namespace':'test','uid':'d-1','generation':1,'labels':{'app':'podinfo'}},'spec':{'template':"
    "{'spec':{'containers':[{'name':'podinfo','image':'podinfo:1'}]}}},'status':{"
    "'observedGeneration':1,'latestCreatedRevisionName':'podinfo-1','traffic':[{'latestRevision':"
    "true,'percent':100}]}}";

/* Of the target, or of a revision. */
static int knative_revision(struct json_object *tree)
{
    const char *name = json_str_at(tree, "metadata", "name", NULL);
    const char *dash = name ? strchr(name, '-') : NULL;

    return dash ? (int)strtol(dash + 1, NULL, 10) : template_revision(tree);
}

static const char *knative_named_by(struct json_object *tree, bool primary)
{
    return primary
               ? json_str_at(tree, "metadata", "annotations", "flagger.app/primary-revision", NULL)
               : json_str_at(tree, "status", "latestCreatedRevisionName", NULL);
}

static void knative_take_over(struct json_object *tree)
{
    struct json_object *status = put_status(tree);
    struct json_object *traffic = json_at(tree, "spec", "traffic", NULL);
    char name[20];

    snprintf(name, sizeof(name), "podinfo-%d", template_revision(tree));
    json_set_str(status, "latestCreatedRevisionName", name);
    if (traffic) {
        json_set(status, "traffic", traffic);
        return;
    }
    struct json_object *all = json_object_new_array();
    struct json_object *latest = json_object_new_object();
    json_set_bool(latest, "latestRevision", true);
    json_set_int(latest, "percent", 100);
    json_object_array_add(all, latest);
    json_set(status, "traffic", all);
    json_object_put(all);
}

static struct json_object *ready_condition(struct json_object *tree)
{
    return json_elem(json_at(tree, "status", "conditions", NULL), 0);
}

/* Stuck is one that starts since before its deadline. */
static bool knative_settle(struct json_object *tree, enum health health)
{
    struct json_object *conditions = json_object_new_array();
    struct json_object *ready = json_object_new_object();

    json_set_str(ready, "type", "Ready");
    json_set_str(ready, "status", health == HEALTH_READY ? "True" : "Unknown");
    if (health != HEALTH_READY)
        json_set_str(ready, "lastTransitionTime", health == HEALTH_STUCK ? ticks_past : ticks_now);
    json_object_array_add(conditions, ready);
    json_set(json_sub(tree, "status"), "conditions", conditions);
    json_object_put(conditions);
    return true;
}

static bool knative_ready(struct json_object *tree)
{
    const char *status = json_str_at(ready_condition(tree), "status", NULL);

    return status && strcmp(status, "True") == 0;
}

static bool knative_stuck(struct json_object *tree)
{
    const char *since = json_str_at(ready_condition(tree), "lastTransitionTime", NULL);

    return !knative_ready(tree) && since && strcmp(since, ticks_past) == 0;
}

static const struct kind kinds[] = {
    {
        .kind = "Deployment",
        .plural = "deployments",
        .object = deployment,
        .revision = template_revision,
        .push = template_push,
        .settle = workload_settle,
        .ready = deployment_ready,
        .stuck = deployment_stuck,
        .at_zero = pretend_at_zero,
    },
    {
        .kind = "DaemonSet",
        .plural = "daemonsets",
        .object = daemonset,
        .revision = template_revision,
        .push = template_push,
        .settle = workload_settle,
        .ready = daemonset_ready,
        .stuck = daemonset_stuck,
        .at_zero = pretend_at_zero,
    },
    {
        .kind = "Service",
        .plural = "services",
        .object = service,
        .revision = service_revision,
        .push = service_push,
        .settle = service_settle,
        .ready = always,
        .stuck = never,
        .at_zero = never,
        .copied = true,
    },
    {
        .kind = "Knative",
        .plural = "services",
        .object = knative,
        .revision = knative_revision,
        .push = template_push,
        .settle = knative_settle,
        .ready = knative_ready,
        .stuck = knative_stuck,
        .at_zero = never,
        .named = knative_named_by,
        .take_over = knative_take_over,
    },
};

const struct kind *kind_find(const char *kind)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!kind || strcmp(kinds[i].kind, kind) == 0)
            return &kinds[i];
    }
    return NULL;
}
