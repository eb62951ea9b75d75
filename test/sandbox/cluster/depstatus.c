#include "cluster/depstatus.h"

#include <string.h>

#include "base/clock.h"
#include "cluster/meta.h"

static int64_t old_count(const struct depstatus_in *in, const char *key)
{
    return json_int_at(in->deployment, 0, "status", key, NULL);
}

static const char *now_text(struct arena *arena, const struct depstatus_in *in)
{
    char text[CLOCK_TEXT];
    return arena_strdup(arena, clock_rfc3339(in->now_ms, text));
}

/* Sets a condition; times move only with what they stand for. touch: lastUpdateTime moves in any
 * case. */
static void put_condition(struct arena *arena, const struct depstatus_in *in,
                          struct json_object *list, const char *type, const char *status,
                          const char *reason, const char *message, bool touch)
{
    struct json_object *before =
        meta_condition(json_at(in->deployment, "status", "conditions", NULL), type);
    const char *old_status = json_str_at(before, "status", NULL);
    const char *old_reason = json_str_at(before, "reason", NULL);
    bool same_status = old_status && strcmp(old_status, status) == 0;
    bool same = same_status && old_reason && strcmp(old_reason, reason) == 0;

    struct json_object *c = json_own(arena, json_object_new_object());
    json_set_str(c, "type", type);
    json_set_str(c, "status", status);
    json_set_str(c, "reason", reason);
    json_set_str(c, "message", same && !touch ? json_str_at(before, "message", NULL) : message);
    json_set_str(c, "lastUpdateTime",
                 same && !touch ? json_str_at(before, "lastUpdateTime", NULL)
                                : now_text(arena, in));
    json_set_str(c, "lastTransitionTime",
                 same_status ? json_str_at(before, "lastTransitionTime", NULL)
                             : now_text(arena, in));
    json_object_array_add(list, json_object_get(c));
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
    int64_t old_rest = old_count(in, "replicas") - old_count(in, "updatedReplicas");
    return in->updated > old_count(in, "updatedReplicas") ||
           in->replicas - in->updated < old_rest || in->ready > old_count(in, "readyReplicas") ||
           in->available > old_count(in, "availableReplicas");
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

static void put_count(struct json_object *status, const char *key, int count)
{
    if (count > 0) /* the real one leaves zeros out */
        json_set_int(status, key, count);
}

struct json_object *depstatus_make(struct arena *arena, const struct depstatus_in *in,
                                   int64_t *recheck_ms)
{
    struct json_object *status = json_own(arena, json_object_new_object());
    struct json_object *conditions = json_own(arena, json_object_new_array());

    *recheck_ms = 0;
    json_set_int(status, "observedGeneration",
                 json_int_at(in->deployment, 1, "metadata", "generation", NULL));
    put_count(status, "replicas", in->replicas);
    put_count(status, "updatedReplicas", in->updated);
    put_count(status, "readyReplicas", in->ready);
    put_count(status, "availableReplicas", in->available);
    put_count(status, "unavailableReplicas", in->spec_replicas - in->available);
    put_available(arena, in, conditions);
    put_progressing(arena, in, conditions, recheck_ms);
    json_set(status, "conditions", conditions);
    return status;
}
