#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/workload.h"
#include "object/form.h"
#include "object/meta.h"

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

static void set_revision(struct run *run, enum kind kind, const char *name, int64_t revision)
{
    const char *text = arena_printf(run->arena, "%lld", (long long)revision);
    context_merge(run->cluster, run->arena, kind, run->ns, name,
                  form(run->arena, "{metadata: {annotations: {" REVISION ": %s}}}", text));
}

/* The new ReplicaSet and the Deployment carry the highest revision, also when an old template came
 * back. */
static void number_revision(struct run *run)
{
    int64_t next = next_revision(run);

    if (!run->created && revision_of(run->fresh) < next)
        set_revision(run, KIND_REPLICASET, meta_name(run->fresh), next);
    else if (!run->created)
        next = revision_of(run->fresh);
    if (revision_of(run->obj) != next)
        set_revision(run, KIND_DEPLOYMENT, run->name, next);
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
    if (!paused && run.fresh)
        number_revision(&run);
    write_sets(&run);
    if (!paused)
        drop_history(&run);
    write_status(&run);
}
