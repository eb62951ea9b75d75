/* ReplicaSets, DaemonSets and HorizontalPodAutoscalers. */
#include "cluster/workload.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/node.h"
#include "object/form.h"
#include "object/meta.h"

#define HASH "controller-revision-hash"

enum { MAX_BURST = 100 }; /* pods made or deleted in one go */

void workload_count(struct json_object *status, const char *key, int64_t count)
{
    if (count > 0)
        json_set_int(status, key, count);
}

/* ---- pods of an owner ---- */

/* Of one ReplicaSet or DaemonSet. */
struct run {
    struct cluster *cluster;
    struct arena *arena;
    struct json_object *obj;
    struct json_object **pods; /* neither ended nor being deleted */
    size_t count, ready;
    size_t available; /* ready for spec.minReadySeconds */
    int64_t next_ms;  /* when one more gets available by time alone, 0: none waits */
    const char *hash; /* of a DaemonSet's template */
    int64_t desired;
};

bool pod_is_ready(struct json_object *pod)
{
    return meta_condition_true(json_at(pod, "status", "conditions", NULL), "Ready");
}

/* Milliseconds until the pod counts as available; 0: it does; -1: it is not ready. */
static int64_t until_available(struct json_object *pod, int64_t min_ready_s)
{
    struct json_object *c = meta_condition(json_at(pod, "status", "conditions", NULL), "Ready");
    const char *text = json_str_at(c, "lastTransitionTime", NULL);
    int64_t since;
    if (!pod_is_ready(pod))
        return -1;
    if (min_ready_s <= 0 || !text || clock_parse(text, &since, NULL) != ERR_OK)
        return 0;
    int64_t left = since + min_ready_s * 1000 - clock_wall_ms();
    return left > 0 ? left : 0;
}

static bool ended(struct json_object *pod)
{
    const char *phase = json_str_at(pod, "status", "phase", NULL);
    return phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

static void list_pods(struct run *run)
{
    struct json_object **all;
    size_t count = context_list(run->cluster, run->arena, KIND_POD, meta_ns(run->obj), &all);
    int64_t min_ready_s = json_int_at(run->obj, 0, "spec", "minReadySeconds", NULL);

    run->pods = all;
    run->count = run->ready = run->available = 0;
    run->next_ms = 0;
    for (size_t i = 0; i < count; i++) {
        if (!meta_owned_by(all[i], meta_uid(run->obj)) || meta_deleting(all[i]) || ended(all[i]))
            continue;
        run->pods[run->count++] = all[i];
        int64_t left = until_available(all[i], min_ready_s);
        run->ready += left >= 0;
        run->available += left == 0;
        if (left > 0 && (run->next_ms == 0 || left < run->next_ms))
            run->next_ms = left;
    }
}

static bool begin(struct run *run, enum kind kind, const char *ns, const char *name)
{
    run->obj = context_get(run->cluster, run->arena, kind, ns, name);
    if (!run->obj || meta_deleting(run->obj))
        return false;
    list_pods(run);
    return true;
}

static bool create_pod(struct run *run, const char *owner_kind, const char *node)
{
    struct json_object *template = json_at(run->obj, "spec", "template", NULL);
    struct json_object *pod =
        form(run->arena,
             "{metadata: {labels: %p, annotations: %p, generateName: %s, ownerReferences: %p}, "
             "spec: %p}",
             json_copy(run->arena, meta_labels(template)),
             json_at(template, "metadata", "annotations", NULL),
             arena_printf(run->arena, "%s-", meta_name(run->obj)),
             meta_owner_list(run->arena, run->obj, "apps/v1", owner_kind),
             json_copy(run->arena, json_at(template, "spec", NULL)));
    if (run->hash)
        json_set_str(json_sub(json_sub(pod, "metadata"), "labels"), HASH, run->hash);
    if (node)
        json_set_str(json_sub(pod, "spec"), "nodeName", node);
    return context_create(run->cluster, run->arena, KIND_POD, meta_ns(run->obj), pod, NULL);
}

static void delete_pod(struct run *run, struct json_object *pod)
{
    context_delete(run->cluster, run->arena, KIND_POD, meta_ns(run->obj), meta_name(pod));
}

static void write_status(struct run *run, enum kind kind, struct json_object *status, work_fn again)
{
    context_status(run->cluster, run->arena, run->cluster->kinds[kind], meta_ns(run->obj),
                   meta_name(run->obj), status);
    if (run->next_ms > 0)
        context_queue_after(run->cluster, again, meta_ns(run->obj), meta_name(run->obj),
                            run->next_ms + 5);
}

/* ---- ReplicaSets ---- */

/* Those to delete first: not ready ones, then the newest. */
static int delete_order(const void *a, const void *b)
{
    struct json_object *left = *(struct json_object *const *)a;
    struct json_object *right = *(struct json_object *const *)b;
    if (pod_is_ready(left) != pod_is_ready(right))
        return pod_is_ready(left) ? 1 : -1;
    int64_t l = meta_created(left), r = meta_created(right);
    if (l != r)
        return l > r ? -1 : 1;
    return strcmp(meta_name(left), meta_name(right));
}

/* As where a ResourceQuota allows no further pods. */
static bool denied_by_quota(const struct run *run, int64_t wanted)
{
    const char *text = meta_annotation(json_at(run->obj, "spec", "template", NULL),
                                       "sandbox.flagger.app/no-quota");

    return text && strcmp(text, "true") == 0 && (int64_t)run->count < wanted;
}

static void put_failure(struct run *run, struct json_object *status)
{
    struct json_object *list = form(run->arena, "[]");

    meta_add_condition(run->arena, list, json_at(run->obj, "status", "conditions", NULL),
                       "ReplicaFailure", "True", "FailedCreate",
                       arena_printf(run->arena,
                                    "pods \"%s-\" is forbidden: exceeded quota: pods, requested: "
                                    "pods=1, used: pods=10, limited: pods=10",
                                    meta_name(run->obj)),
                       context_now(run->arena));
    json_set(status, "conditions", list);
}

/* New pods are dealt out to the nodes in turn. */
static void adjust(struct run *run, size_t wanted)
{
    for (size_t i = 0; run->count + i < wanted && i < MAX_BURST; i++)
        if (!create_pod(run, "ReplicaSet", node_in_turn(run->cluster, run->arena, run->count + i)))
            return;
    if (run->count <= wanted)
        return;
    qsort(run->pods, run->count, sizeof(struct json_object *), delete_order);
    for (size_t i = 0; i < run->count - wanted && i < MAX_BURST; i++)
        delete_pod(run, run->pods[i]);
}

void replicaset_sync(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct run run = {.cluster = arg, .arena = arena};
    if (!begin(&run, KIND_REPLICASET, ns, name))
        return;
    int64_t wanted = json_int_at(run.obj, 1, "spec", "replicas", NULL);
    bool denied = denied_by_quota(&run, wanted);
    if ((int64_t)run.count != wanted && !denied) {
        adjust(&run, wanted > 0 ? (size_t)wanted : 0);
        list_pods(&run);
    }
    struct json_object *status = form(arena, "{replicas: %zu, observedGeneration: %ld}", run.count,
                                      meta_generation(run.obj));
    workload_count(status, "fullyLabeledReplicas", (int64_t)run.count);
    workload_count(status, "readyReplicas", (int64_t)run.ready);
    workload_count(status, "availableReplicas", (int64_t)run.available);
    if (denied)
        put_failure(&run, status);
    write_status(&run, KIND_REPLICASET, status, replicaset_sync);
    if ((int64_t)run.count != wanted && !denied)
        context_queue_after(run.cluster, replicaset_sync, ns, name, 50);
}

/* ---- DaemonSets ---- */

bool daemonset_node_fits(struct json_object *node_selector, const char *node)
{
#ifdef __aarch64__
    static const char *const arch = "arm64";
#else
    static const char *const arch = "amd64";
#endif
    const char *const labels[][2] = {{"kubernetes.io/hostname", node},
                                     {"kubernetes.io/os", "linux"},
                                     {"kubernetes.io/arch", arch}};
    int fits = 0, asked = node_selector ? json_object_object_length(node_selector) : 0;
    for (size_t i = 0; i < 3; i++) {
        const char *value = json_str_at(node_selector, labels[i][0], NULL);
        fits += value && strcmp(value, labels[i][1]) == 0;
    }
    return fits == asked;
}

static struct json_object *pod_on(struct run *run, const char *node)
{
    for (size_t i = 0; i < run->count; i++) {
        const char *at = json_str_at(run->pods[i], "spec", "nodeName", NULL);
        if (at && strcmp(at, node) == 0)
            return run->pods[i];
    }
    return NULL;
}

static bool is_current(const struct run *run, struct json_object *pod)
{
    const char *hash = meta_label(pod, HASH);
    return hash && strcmp(hash, run->hash) == 0;
}

static void place(struct run *run)
{
    struct json_object *selector =
        json_at(run->obj, "spec", "template", "spec", "nodeSelector", NULL);

    for (int i = 0; i < nodes_count(run->cluster); i++) {
        const char *node = node_name(run->arena, (size_t)i);
        struct json_object *pod = pod_on(run, node);
        bool fits = daemonset_node_fits(selector, node);
        run->desired += fits;
        if (!fits && pod)
            delete_pod(run, pod);
        else if (fits && !pod)
            create_pod(run, "DaemonSet", node);
    }
}

/* Pods of an old template go; those that serve only as far as maxUnavailable allows. */
static void update(struct run *run)
{
    struct json_object *strategy = json_at(run->obj, "spec", "updateStrategy", NULL);
    const char *type = json_str_at(strategy, "type", NULL);
    int unavailable = 1;
    if (intstr_scaled(json_at(strategy, "rollingUpdate", "maxUnavailable", NULL), (int)run->desired,
                      true, 1, &unavailable, NULL) != ERR_OK ||
        unavailable < 1)
        unavailable = 1;
    int64_t left = unavailable - (run->desired - (int64_t)run->available);

    if (type && strcmp(type, "OnDelete") == 0)
        return;
    for (size_t i = 0; i < run->count; i++)
        if (!is_current(run, run->pods[i]) && (!pod_is_ready(run->pods[i]) || left-- > 0))
            delete_pod(run, run->pods[i]);
}

void daemonset_sync(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct run run = {.cluster = arg, .arena = arena};
    int64_t updated = 0;
    if (!begin(&run, KIND_DAEMONSET, ns, name))
        return;
    run.hash = meta_hash(arena, json_at(run.obj, "spec", "template", NULL));
    place(&run);
    update(&run);
    list_pods(&run);
    for (size_t i = 0; i < run.count; i++)
        updated += is_current(&run, run.pods[i]);
    struct json_object *status =
        form(arena,
             "{currentNumberScheduled: %zu, desiredNumberScheduled: %ld, numberMisscheduled: 0, "
             "numberReady: %zu, observedGeneration: %ld}",
             run.count, run.desired, run.ready, meta_generation(run.obj));
    workload_count(status, "updatedNumberScheduled", updated);
    workload_count(status, "numberAvailable", (int64_t)run.available);
    workload_count(status, "numberUnavailable", run.desired - (int64_t)run.available);
    write_status(&run, KIND_DAEMONSET, status, daemonset_sync);
}

/* ---- HorizontalPodAutoscalers ---- */

int64_t hpa_wanted(int64_t present, int64_t min, int64_t max)
{
    if (present == 0)
        return 0;
    if (present < min)
        return min;
    return present > max ? max : present;
}

static struct json_object *conditions(struct arena *arena, struct json_object *hpa, bool found,
                                      int64_t present)
{
    static const struct {
        const char *type, *status, *reason, *message;
    } rows[] = {
        {"AbleToScale", "False", "FailedGetScale",
         "the HPA controller was unable to get the target's current scale"},
        {"AbleToScale", "True", "SucceededGetScale",
         "the HPA controller was able to get the target's current scale"},
        {"ScalingActive", "False", "ScalingDisabled",
         "scaling is disabled since the replica count of the target is zero"},
        {"ScalingActive", "True", "ValidMetricFound",
         "the sandbox has no load metrics: only the bounds are kept"},
    };
    struct json_object *list = form(arena, "[]"),
                       *before = json_at(hpa, "status", "conditions", NULL);
    for (size_t i = found ? 1 : 0; i < (found ? 4 : 1); i++)
        if (i < 2 || (i == 3) == (present > 0))
            meta_add_condition(arena, list, before, rows[i].type, rows[i].status, rows[i].reason,
                               rows[i].message, context_now(arena));
    return list;
}

void hpa_sync(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct cluster *cluster = arg;
    struct json_object *hpa = context_get(cluster, arena, KIND_HPA, ns, name);
    if (!hpa || meta_deleting(hpa))
        return;

    struct json_object *ref = json_at(hpa, "spec", "scaleTargetRef", NULL);
    const char *kind = json_str_at(ref, "kind", NULL), *target = json_str_at(ref, "name", NULL);
    bool deployment = kind && target && strcmp(kind, "Deployment") == 0;
    struct json_object *obj =
        deployment ? context_get(cluster, arena, KIND_DEPLOYMENT, ns, target) : NULL;
    int64_t present = json_int_at(obj, obj ? 1 : 0, "spec", "replicas", NULL);
    int64_t wanted = hpa_wanted(present, json_int_at(hpa, 1, "spec", "minReplicas", NULL),
                                json_int_at(hpa, INT32_MAX, "spec", "maxReplicas", NULL));
    if (obj && wanted != present)
        context_merge(cluster, arena, KIND_DEPLOYMENT, ns, target,
                      form(arena, "{spec: {replicas: %ld}}", wanted));
    struct json_object *status = form(
        arena,
        "{observedGeneration: %ld, currentReplicas: %ld, desiredReplicas: %ld, conditions: %p}",
        meta_generation(hpa), json_int_at(obj, 0, "status", "replicas", NULL), wanted,
        conditions(arena, hpa, obj != NULL, present));
    context_status(cluster, arena, cluster->kinds[KIND_HPA], ns, name, status);
}
