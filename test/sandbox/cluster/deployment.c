/* The controller of Deployments: what it decides, and how it is done. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/workload.h"
#include "object/form.h"
#include "object/meta.h"

/* ---- how many replicas ---- */

enum err rollout_limits(struct rollout *r, struct json_object *rolling, struct errinfo *ei)
{
    int quarter_up = (r->desired + 3) / 4, quarter_down = r->desired / 4;
    enum err err = intstr_scaled(json_at(rolling, "maxSurge", NULL), r->desired, true, quarter_up,
                                 &r->surge, ei);
    if (err != ERR_OK)
        return err_wrap(ei, err, "spec.strategy.rollingUpdate.maxSurge");
    err = intstr_scaled(json_at(rolling, "maxUnavailable", NULL), r->desired, false, quarter_down,
                        &r->unavailable, ei);
    if (err != ERR_OK)
        return err_wrap(ei, err, "spec.strategy.rollingUpdate.maxUnavailable");
    if (r->surge == 0 && r->unavailable == 0)
        r->unavailable = 1; /* 10 % of 3 is nothing: without this the rollout could not begin */
    if (r->unavailable > r->desired)
        r->unavailable = r->desired;
    return ERR_OK;
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

/* Of all ReplicaSets together. */
static struct rollout_set total(const struct rollout *r)
{
    struct rollout_set sum = r->fresh;
    for (size_t i = 0; i < r->old_count; i++) {
        sum.replicas += r->old[i].replicas;
        sum.available += r->old[i].available;
    }
    return sum;
}

bool rollout_grow(struct rollout *r)
{
    int before = r->fresh.replicas, room = r->desired + r->surge - total(r).replicas;
    if (before > r->desired)
        r->fresh.replicas = r->desired;
    else if (room > 0)
        r->fresh.replicas += lesser(room, r->desired - before);
    return r->fresh.replicas != before;
}

/* Takes replicas that are not available from the old sets, at most `most`. */
static int drop_unavailable(struct rollout *r, int most)
{
    int dropped = 0;
    for (size_t i = 0; i < r->old_count && dropped < most; i++) {
        int idle = r->old[i].replicas - r->old[i].available;
        if (idle <= 0)
            continue;
        int step = lesser(idle, most - dropped);
        r->old[i].replicas -= step;
        dropped += step;
    }
    return dropped;
}

bool rollout_shrink(struct rollout *r)
{
    int least = r->desired - r->unavailable;
    int fresh_idle = r->fresh.replicas - r->fresh.available;
    int most = total(r).replicas - least - fresh_idle;
    if (most <= 0)
        return false;

    int dropped = drop_unavailable(r, most);
    int spare = total(r).available - least;
    for (size_t i = 0; i < r->old_count && spare > 0; i++) {
        int step = lesser(r->old[i].replicas, spare);
        r->old[i].replicas -= step;
        spare -= step;
        dropped += step;
    }
    return dropped > 0;
}

/* ---- the status ---- */

static int64_t count_before(const struct depstatus_in *in, const char *key)
{
    return json_int_at(in->deployment, 0, "status", key, NULL);
}

/* Times move only with what they stand for. touch: lastUpdateTime moves in any case. */
static void put_condition(struct arena *arena, const struct depstatus_in *in,
                          struct json_object *list, const char *type, const char *status,
                          const char *reason, const char *message, bool touch)
{
    struct json_object *conditions = json_at(in->deployment, "status", "conditions", NULL);
    struct json_object *before = meta_condition(conditions, type);
    const char *old_status = json_str_at(before, "status", NULL);
    const char *old_reason = json_str_at(before, "reason", NULL);
    const char *now = meta_time(arena, in->now_ms);
    bool same = !touch && old_status && strcmp(old_status, status) == 0 && old_reason &&
                strcmp(old_reason, reason) == 0;
    struct json_object *c =
        meta_add_condition(arena, list, conditions, type, status, reason,
                           same ? json_str_at(before, "message", NULL) : message, now);
    json_set_str(c, "lastUpdateTime", same ? json_str_at(before, "lastUpdateTime", NULL) : now);
}

static void put_available(struct arena *arena, const struct depstatus_in *in,
                          struct json_object *list)
{
    if (in->available >= in->desired - in->unavailable)
        put_condition(arena, in, list, "Available", "True", "MinimumReplicasAvailable",
                      "Deployment has minimum availability.", false);
    else
        put_condition(arena, in, list, "Available", "False", "MinimumReplicasUnavailable",
                      "Deployment does not have minimum availability.", false);
}

static bool complete(const struct depstatus_in *in)
{
    return in->fresh_name && in->updated == in->desired && in->replicas == in->desired &&
           in->available == in->desired;
}

static bool progressed(const struct depstatus_in *in)
{
    int64_t old_rest = count_before(in, "replicas") - count_before(in, "updatedReplicas");
    return in->updated > count_before(in, "updatedReplicas") ||
           in->replicas - in->updated < old_rest || in->ready > count_before(in, "readyReplicas") ||
           in->available > count_before(in, "availableReplicas");
}

static void put_progressing(struct arena *arena, const struct depstatus_in *in,
                            struct json_object *list, int64_t *recheck_ms)
{
    static const char *const type = "Progressing";
    struct json_object *before =
        meta_condition(json_at(in->deployment, "status", "conditions", NULL), type);
    const char *reason = json_str_at(before, "reason", NULL);
    int64_t deadline_s = json_int_at(in->deployment, 600, "spec", "progressDeadlineSeconds", NULL);
    bool done_before = reason && strcmp(reason, "NewReplicaSetAvailable") == 0;
    const char *set =
        in->fresh_name ? arena_printf(arena, "ReplicaSet \"%s\"", in->fresh_name) : "Deployment";
    int64_t updated_ms = in->now_ms;

    if (json_bool_at(in->deployment, false, "spec", "paused", NULL)) {
        put_condition(arena, in, list, type, "Unknown", "DeploymentPaused", "Deployment is paused",
                      false);
        return;
    }
    if (reason && strcmp(reason, "DeploymentPaused") == 0) {
        put_condition(arena, in, list, type, "Unknown", "DeploymentResumed",
                      "Deployment is resumed", false);
        *recheck_ms = 1;
        return;
    }
    if (in->created) {
        put_condition(arena, in, list, type, "True", "NewReplicaSetCreated",
                      arena_printf(arena, "Created new replica set \"%s\"", in->fresh_name), true);
    } else if (complete(in)) {
        put_condition(arena, in, list, type, "True", "NewReplicaSetAvailable",
                      arena_printf(arena, "%s has successfully progressed.", set), !done_before);
        return;
    } else if (done_before && in->replicas == in->updated) {
        /* A pod of a finished rollout is down, or it is being scaled: that is no rollout. */
        put_condition(arena, in, list, type, "True", reason, "", false);
        return;
    } else if (!reason || done_before || progressed(in)) {
        put_condition(arena, in, list, type, "True", "ReplicaSetUpdated",
                      arena_printf(arena, "%s is progressing.", set), true);
    } else {
        const char *text = json_str_at(before, "lastUpdateTime", NULL);
        if (text && clock_parse(text, &updated_ms, NULL) != ERR_OK)
            updated_ms = in->now_ms;
        if (in->now_ms >= updated_ms + deadline_s * 1000) {
            put_condition(arena, in, list, type, "False", "ProgressDeadlineExceeded",
                          arena_printf(arena, "%s has timed out progressing.", set), false);
            return;
        }
        put_condition(arena, in, list, type, json_str_at(before, "status", NULL), reason,
                      json_str_at(before, "message", NULL), false);
    }
    *recheck_ms = updated_ms + deadline_s * 1000 - in->now_ms + 50;
}

/* What its newest ReplicaSet cannot do, it cannot either. */
static void put_failure(struct arena *arena, const struct depstatus_in *in,
                        struct json_object *list)
{
    struct json_object *failure = meta_condition(in->fresh_conditions, "ReplicaFailure");

    if (failure)
        put_condition(arena, in, list, "ReplicaFailure", "True",
                      json_str_at(failure, "reason", NULL), json_str_at(failure, "message", NULL),
                      false);
}

struct json_object *depstatus_make(struct arena *arena, const struct depstatus_in *in,
                                   int64_t *recheck_ms)
{
    struct json_object *conditions = form(arena, "[]");
    struct json_object *status = form(arena, "{observedGeneration: %ld, conditions: %p}",
                                      meta_generation(in->deployment), conditions);
    *recheck_ms = 0;
    workload_count(status, "replicas", in->replicas);
    workload_count(status, "updatedReplicas", in->updated);
    workload_count(status, "readyReplicas", in->ready);
    workload_count(status, "availableReplicas", in->available);
    workload_count(status, "unavailableReplicas", in->spec_replicas - in->available);
    put_available(arena, in, conditions);
    put_progressing(arena, in, conditions, recheck_ms);
    put_failure(arena, in, conditions);
    return status;
}

/* ---- the controller ---- */

#define REVISION "deployment.kubernetes.io/revision"
#define HASH     "pod-template-hash"

/* One run of the controller. Trees belong to the arena. */
struct run {
    struct cluster *cluster;
    struct arena *arena;
    struct json_object *obj;
    const char *ns, *name;
    struct json_object *fresh; /* NULL: none yet */
    struct json_object **old;  /* by revision, oldest first */
    struct rollout rollout;
    bool created;
};

static int64_t revision_of(struct json_object *obj)
{
    const char *text = meta_annotation(obj, REVISION);
    return text ? strtoll(text, NULL, 10) : 0;
}

static int by_revision(const void *a, const void *b)
{
    int64_t left = revision_of(*(struct json_object *const *)a);
    int64_t right = revision_of(*(struct json_object *const *)b);
    return left < right ? -1 : left > right;
}

static struct json_object *template_without_hash(struct arena *arena, struct json_object *set)
{
    struct json_object *template = json_copy(arena, json_at(set, "spec", "template", NULL));
    struct json_object *labels = meta_labels(template);
    if (labels)
        json_object_object_del(labels, HASH);
    return template;
}

static void find_sets(struct run *run)
{
    struct json_object **items, *template = json_at(run->obj, "spec", "template", NULL);
    size_t count = context_list(run->cluster, run->arena, KIND_REPLICASET, run->ns, &items);

    run->old = arena_array(run->arena, count + 1, sizeof(struct json_object *));
    for (size_t i = 0; i < count; i++) {
        if (!meta_owned_by(items[i], meta_uid(run->obj)) || meta_deleting(items[i]))
            continue;
        if (!run->fresh && json_same(template_without_hash(run->arena, items[i]), template))
            run->fresh = items[i];
        else
            run->old[run->rollout.old_count++] = items[i];
    }
    qsort(run->old, run->rollout.old_count, sizeof(struct json_object *), by_revision);
}

static struct rollout_set numbers_of(struct json_object *set)
{
    return (struct rollout_set){.replicas = (int)json_int_at(set, 0, "spec", "replicas", NULL),
                                .available =
                                    (int)json_int_at(set, 0, "status", "availableReplicas", NULL)};
}

static bool load(struct run *run)
{
    struct rollout *r = &run->rollout;
    struct errinfo ei;

    find_sets(run);
    r->desired = (int)json_int_at(run->obj, 1, "spec", "replicas", NULL);
    if (rollout_limits(r, json_at(run->obj, "spec", "strategy", "rollingUpdate", NULL), &ei) !=
        ERR_OK) {
        log_warn("deployment_invalid", NULL, ei.text, LOG_STR("namespace", run->ns),
                 LOG_STR("name", run->name));
        return false;
    }
    r->fresh = numbers_of(run->fresh);
    r->old = arena_array(run->arena, r->old_count + 1, sizeof(*r->old));
    for (size_t i = 0; i < r->old_count; i++)
        r->old[i] = numbers_of(run->old[i]);
    return true;
}

static bool is_recreate(const struct run *run)
{
    const char *type = json_str_at(run->obj, "spec", "strategy", "type", NULL);
    return type && strcmp(type, "Recreate") == 0;
}

/* Writes what this run decided about one ReplicaSet, if it differs. */
static void write_set(struct run *run, struct json_object *set, int replicas)
{
    int64_t min_ready = json_int_at(run->obj, 0, "spec", "minReadySeconds", NULL);
    int before = numbers_of(set).replicas;

    if (before != replicas || json_int_at(set, 0, "spec", "minReadySeconds", NULL) != min_ready)
        context_merge(
            run->cluster, run->arena, KIND_REPLICASET, run->ns, meta_name(set),
            form(run->arena, "{spec: {replicas: %d, minReadySeconds: %ld}}", replicas, min_ready));
}

static void write_sets(struct run *run)
{
    for (size_t i = 0; i < run->rollout.old_count; i++)
        write_set(run, run->old[i], run->rollout.old[i].replicas);
    if (run->fresh && !run->created)
        write_set(run, run->fresh, run->rollout.fresh.replicas);
}

static int64_t next_revision(const struct run *run)
{
    int64_t last = 0;
    for (size_t i = 0; i < run->rollout.old_count; i++)
        if (revision_of(run->old[i]) > last)
            last = revision_of(run->old[i]);
    return last + 1;
}

static struct json_object *revision_patch(struct run *run, int64_t revision)
{
    return form(run->arena, "{metadata: {annotations: {" REVISION ": %s}}}",
                arena_printf(run->arena, "%lld", (long long)revision));
}

/* The new ReplicaSet and the Deployment carry the highest revision, also when an old template came
 * back. */
static void number_revision(struct run *run)
{
    int64_t next = next_revision(run);

    if (!run->created && revision_of(run->fresh) < next)
        context_merge(run->cluster, run->arena, KIND_REPLICASET, run->ns, meta_name(run->fresh),
                      revision_patch(run, next));
    else if (!run->created)
        next = revision_of(run->fresh);
    if (revision_of(run->obj) != next)
        context_merge_status(run->cluster, run->arena, KIND_DEPLOYMENT, run->ns, run->name,
                             revision_patch(run, next)); /* which is no new generation */
}

static struct json_object *set_annotations(struct run *run)
{
    struct json_object *notes =
        json_copy(run->arena, json_at(run->obj, "metadata", "annotations", NULL));
    if (!notes)
        notes = form(run->arena, "{}");
    json_object_object_del(notes, "kubectl.kubernetes.io/last-applied-configuration");
    json_set_str(notes, REVISION, arena_printf(run->arena, "%lld", (long long)next_revision(run)));
    return notes;
}

static void create_fresh(struct run *run, int replicas)
{
    struct arena *arena = run->arena;
    struct json_object *template = json_copy(arena, json_at(run->obj, "spec", "template", NULL));
    struct json_object *selector = json_copy(arena, json_at(run->obj, "spec", "selector", NULL));
    const char *hash = meta_hash(arena, template);

    json_set_str(json_sub(json_sub(template, "metadata"), "labels"), HASH, hash);
    json_set_str(json_sub(selector, "matchLabels"), HASH, hash);
    struct json_object *set = form(
        arena,
        "{metadata: {name: %s, labels: %p, annotations: %p, ownerReferences: %p}, "
        "spec: {replicas: %d, minReadySeconds: %ld, selector: %p, template: %p}}",
        arena_printf(arena, "%s-%s", run->name, hash), meta_labels(template), set_annotations(run),
        meta_owner_list(arena, run->obj, "apps/v1", "Deployment"), replicas,
        json_int_at(run->obj, 0, "spec", "minReadySeconds", NULL), selector, template);
    run->created = context_create(run->cluster, arena, KIND_REPLICASET, run->ns, set, &run->fresh);
}

static void roll(struct run *run)
{
    if (!run->fresh) {
        rollout_grow(&run->rollout);
        create_fresh(run, run->rollout.fresh.replicas);
    } else if (!rollout_grow(&run->rollout)) {
        rollout_shrink(&run->rollout);
    }
}

/* One that is paused is scaled: the newest set that has replicas, or the newest of all, gets what is
 * missing, or loses what is too much. (Of several the real one gives each its part.) */
static void scale_paused(struct run *run)
{
    struct rollout *r = &run->rollout;
    struct rollout_set *newest = run->fresh         ? &r->fresh
                                 : r->old_count > 0 ? &r->old[r->old_count - 1]
                                                    : NULL;

    for (size_t i = r->old_count; i > 0 && newest && newest->replicas == 0; i--) {
        if (r->old[i - 1].replicas > 0)
            newest = &r->old[i - 1];
    }
    if (!newest)
        return;
    newest->replicas += r->desired - total(r).replicas;
    if (newest->replicas < 0)
        newest->replicas = 0;
}

/* Recreate: nothing new before everything old is gone, pods included. */
static bool old_pods_left(struct run *run)
{
    struct json_object **pods;
    size_t count = context_list(run->cluster, run->arena, KIND_POD, run->ns, &pods);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < run->rollout.old_count; k++)
            if (meta_owned_by(pods[i], meta_uid(run->old[k])))
                return true;
    return false;
}

static void recreate(struct run *run)
{
    for (size_t i = 0; i < run->rollout.old_count; i++)
        run->rollout.old[i].replicas = 0;
    if (run->fresh)
        run->rollout.fresh.replicas =
            old_pods_left(run) ? run->rollout.fresh.replicas : run->rollout.desired;
    else if (!old_pods_left(run))
        create_fresh(run, run->rollout.desired);
}

/* revisionHistoryLimit: the oldest ReplicaSets that are done go. */
static void drop_history(struct run *run)
{
    int64_t limit = json_int_at(run->obj, 10, "spec", "revisionHistoryLimit", NULL);
    int64_t surplus = (int64_t)run->rollout.old_count - limit;
    for (size_t i = 0; i < run->rollout.old_count && surplus > 0; i++, surplus--) {
        if (numbers_of(run->old[i]).replicas > 0 ||
            json_int_at(run->old[i], 0, "status", "replicas", NULL) > 0)
            continue;
        context_remove(run->cluster, run->arena, KIND_REPLICASET, run->ns, meta_name(run->old[i]));
    }
}

static void add_status(struct depstatus_in *in, struct json_object *set)
{
    in->replicas += (int)json_int_at(set, 0, "status", "replicas", NULL);
    in->ready += (int)json_int_at(set, 0, "status", "readyReplicas", NULL);
    in->available += (int)json_int_at(set, 0, "status", "availableReplicas", NULL);
}

static void write_status(struct run *run)
{
    struct depstatus_in in = {
        .deployment = context_get(run->cluster, run->arena, KIND_DEPLOYMENT, run->ns, run->name),
        .fresh_name = run->fresh ? meta_name(run->fresh) : NULL,
        .desired = run->rollout.desired,
        .unavailable = is_recreate(run) ? 0 : run->rollout.unavailable,
        .spec_replicas = run->rollout.fresh.replicas,
        .updated = (int)json_int_at(run->fresh, 0, "status", "replicas", NULL),
        .created = run->created,
        .fresh_conditions = json_at(run->fresh, "status", "conditions", NULL),
        .now_ms = clock_wall_ms(),
    };
    int64_t recheck_ms;

    if (run->fresh)
        add_status(&in, run->fresh);
    for (size_t i = 0; i < run->rollout.old_count; i++) {
        add_status(&in, run->old[i]);
        in.spec_replicas += run->rollout.old[i].replicas;
    }
    struct json_object *status = depstatus_make(run->arena, &in, &recheck_ms);
    context_status(run->cluster, run->arena, run->cluster->kinds[KIND_DEPLOYMENT], run->ns,
                   run->name, status);
    if (recheck_ms > 0)
        context_queue_after(run->cluster, deployment_sync, run->ns, run->name, recheck_ms);
}

void deployment_sync(void *arg, struct arena *arena, const char *ns, const char *name)
{
    struct run run = {.cluster = arg, .arena = arena, .ns = ns, .name = name};
    run.obj = context_get(run.cluster, arena, KIND_DEPLOYMENT, ns, name);
    if (!run.obj || meta_deleting(run.obj) || !load(&run))
        return;

    bool paused = json_bool_at(run.obj, false, "spec", "paused", NULL);
    if (!paused && is_recreate(&run))
        recreate(&run);
    else if (!paused)
        roll(&run);
    else
        scale_paused(&run);
    if (!paused && run.fresh)
        number_revision(&run);
    write_sets(&run);
    if (!paused)
        drop_history(&run);
    write_status(&run);
}
