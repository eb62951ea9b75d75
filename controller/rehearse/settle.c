#include "rehearse/settle.h"

#include <string.h>

#include "proto/spechash.h"

enum { NODES = 2 };

static bool is_kind(struct json_object *object, const char *kind)
{
    const char *found = json_str_at(object, "kind", NULL);

    return found && strcmp(found, kind) == 0;
}

static struct json_object *condition(struct arena *arena, const char *type, const char *reason)
{
    struct json_object *out = json_own(arena, json_object_new_object());

    json_set_str(out, "type", type);
    json_set_str(out, "status", "True");
    json_set_str(out, "reason", reason);
    json_set_str(out, "lastTransitionTime", "2020-01-01T00:00:00Z");
    json_set_str(out, "lastUpdateTime", "2020-01-01T00:00:00Z");
    return out;
}

static struct json_object *new_status(struct arena *arena, struct json_object *object)
{
    struct json_object *status = json_own(arena, json_object_new_object());

    json_set_int(status, "observedGeneration",
                 json_int_at(object, 1, "metadata", "generation", NULL));
    return status;
}

static struct json_object *deployment_status(struct arena *arena, struct json_object *object)
{
    static const char *const counts[] = {"replicas", "updatedReplicas", "readyReplicas",
                                         "availableReplicas"};
    struct json_object *status = new_status(arena, object);
    struct json_object *conditions = json_own(arena, json_object_new_array());

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        json_set_int(status, counts[i], json_int_at(object, 1, "spec", "replicas", NULL));
    json_object_array_add(
        conditions, json_object_get(condition(arena, "Available", "MinimumReplicasAvailable")));
    json_object_array_add(
        conditions, json_object_get(condition(arena, "Progressing", "NewReplicaSetAvailable")));
    json_set(status, "conditions", conditions);
    return status;
}

static struct json_object *daemonset_status(struct arena *arena, struct json_object *object)
{
    static const char *const counts[] = {"desiredNumberScheduled", "currentNumberScheduled",
                                         "updatedNumberScheduled", "numberReady",
                                         "numberAvailable"};
    struct json_object *status = new_status(arena, object);
    bool off = json_at(object, "spec", "template", "spec", "nodeSelector",
                       "flagger.app/scale-to-zero", NULL) != NULL;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        json_set_int(status, counts[i], off ? 0 : NODES);
    json_set_int(status, "numberMisscheduled", 0);
    return status;
}

struct json_object *settled(struct arena *arena, struct json_object *object)
{
    bool deployment = is_kind(object, "Deployment");

    if (!deployment && !is_kind(object, "DaemonSet"))
        return object;
    struct json_object *copy = json_copy(arena, object);
    json_set(copy, "status",
             deployment ? deployment_status(arena, copy) : daemonset_status(arena, copy));
    return copy;
}

/* --- Knative */

/* Named after its template: the same template is the same revision. */
static const char *revision_name(struct arena *arena, struct json_object *service)
{
    char hash[SPECHASH_TEXT] = "0";
    struct json_object *template = json_at(service, "spec", "template", NULL);
    struct errinfo ignored;

    (void)!spechash_pod_template(arena, template, hash, &ignored);
    return arena_printf(arena, "%s-%s", json_str_at(service, "metadata", "name", NULL), hash);
}

static struct json_object *new_revision(struct arena *arena, struct json_object *service,
                                        const char *name)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *conditions = json_own(arena, json_object_new_array());
    struct json_object *metadata = json_sub(out, "metadata");

    json_set_str(out, "apiVersion", "serving.knative.dev/v1");
    json_set_str(out, "kind", "Revision");
    json_set_str(metadata, "name", name);
    json_set_str(metadata, "namespace", json_str_at(service, "metadata", "namespace", NULL));
    json_object_array_add(conditions, json_object_get(condition(arena, "Ready", "Ready")));
    json_set(json_sub(out, "status"), "conditions", conditions);
    return out;
}

struct json_object *settled_knative(struct arena *arena, struct json_object *service,
                                    struct json_object **revision)
{
    struct json_object *copy = json_copy(arena, service), *all;
    struct json_object *status = new_status(arena, copy);
    struct json_object *traffic = json_at(copy, "spec", "traffic", NULL);
    const char *name = revision_name(arena, copy);
    const char *before = json_str_at(copy, "status", "latestCreatedRevisionName", NULL);
    bool known = before && strcmp(before, name) == 0;

    all = json_own(arena, json_object_new_array());
    json_object_array_add(all, json_object_new_object());
    json_set_bool(json_elem(all, 0), "latestRevision", true);
    json_set_int(json_elem(all, 0), "percent", 100);
    json_set_bool(status, "latestIsReady", true);
    json_set_str(status, "latestCreatedRevisionName", name);
    json_set_str(status, "latestReadyRevisionName", name);
    json_set(status, "traffic", json_copy(arena, traffic ? traffic : all));
    json_set(copy, "status", status);
    *revision = known ? NULL : new_revision(arena, copy, name);
    return copy;
}

/* --- a new revision */

static void revise_template(struct json_object *target)
{
    struct json_object *template = json_sub(json_sub(target, "spec"), "template");
    struct json_object *containers = json_at(template, "spec", "containers", NULL);
    struct json_object *container = json_elem(containers, 0);

    /* A container has an image; where none does, anything else that the template says will do. */
    if (container)
        json_set_str(container, "image", "next");
    else
        json_set_str(json_sub(json_sub(template, "metadata"), "annotations"), "next", "next");
}

struct json_object *revised(struct arena *arena, struct json_object *target)
{
    struct json_object *copy = json_copy(arena, target);
    const char *version = json_str_at(copy, "apiVersion", NULL);

    if (is_kind(copy, "Service") && version && !strchr(version, '/'))
        json_set_str(json_sub(json_sub(copy, "spec"), "selector"), "next", "next");
    else
        revise_template(copy);
    json_set_int(json_sub(copy, "metadata"), "generation",
                 json_int_at(target, 1, "metadata", "generation", NULL) + 1);
    return copy;
}
