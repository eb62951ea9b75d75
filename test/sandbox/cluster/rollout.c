/* The pure part of the deployment controller. */
#include <string.h>

#include "base/clock.h"
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
    return status;
}
