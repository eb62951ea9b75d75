#include "cluster/podstatus.h"

#include <string.h>

#include "base/clock.h"
#include "cluster/meta.h"

static const char *when(struct arena *arena, int64_t ms)
{
    char text[CLOCK_TEXT];
    return arena_strdup(arena, clock_rfc3339(ms, text));
}

static void put_condition(struct arena *arena, struct json_object *list, const char *type, bool on,
                          int64_t since_ms, const char *reason)
{
    struct json_object *c = json_object_new_object();
    json_set_str(c, "type", type);
    json_set_str(c, "status", on ? "True" : "False");
    json_set_str(c, "lastTransitionTime", when(arena, since_ms));
    json_set_str(c, "reason", reason);
    json_object_array_add(list, c);
}

static void put_ended(struct arena *arena, const struct podstatus_in *in, struct json_object *state)
{
    struct json_object *ended = json_sub(state, "terminated");
    json_set_int(ended, "exitCode", in->last_signal ? 128 + in->last_signal : in->last_exit);
    if (in->last_signal)
        json_set_int(ended, "signal", in->last_signal);
    json_set_str(ended, "reason", in->last_exit == 0 && !in->last_signal ? "Completed" : "Error");
    json_set_str(ended, "finishedAt", when(arena, in->last_ended_ms));
}

static struct json_object *container_status(struct arena *arena, const struct podstatus_in *in,
                                            struct json_object *container)
{
    struct json_object *c = json_own(arena, json_object_new_object());
    struct json_object *state = json_sub(c, "state");
    const char *name = json_str_at(container, "name", NULL);
    bool own = name && in->container && strcmp(name, in->container) == 0;
    bool waits = in->state == POD_WAITING || (own && in->state == POD_BACKOFF);

    json_set_str(c, "name", name);
    json_set_str(c, "image", json_str_at(container, "image", NULL));
    json_set_str(c, "imageID", "");
    json_set_bool(c, "ready", own ? in->ready : !waits);
    json_set_bool(c, "started", !waits);
    json_set_int(c, "restartCount", own ? in->restarts : 0);
    if (waits) {
        json_set_str(json_sub(state, "waiting"), "reason", in->reason);
        json_set_str(json_sub(state, "waiting"), "message", in->message);
    } else {
        json_set_str(json_sub(state, "running"), "startedAt",
                     when(arena, own ? in->running_ms : in->started_ms));
    }
    json_sub(c, "lastState");
    if (own && in->has_last)
        put_ended(arena, in, json_sub(c, "lastState"));
    return c;
}

struct json_object *podstatus_make(struct arena *arena, const struct podstatus_in *in)
{
    struct json_object *status = json_own(arena, json_object_new_object());
    struct json_object *conditions = json_own(arena, json_object_new_array());
    struct json_object *statuses = json_own(arena, json_object_new_array());
    struct json_object *containers = json_at(in->pod, "spec", "containers", NULL);
    const char *unready = in->ready ? NULL : "ContainersNotReady";

    json_set_str(status, "phase", in->state == POD_WAITING ? "Pending" : "Running");
    put_condition(arena, conditions, "Initialized", true, in->started_ms, NULL);
    put_condition(arena, conditions, "Ready", in->ready, in->ready_changed_ms, unready);
    put_condition(arena, conditions, "ContainersReady", in->ready, in->ready_changed_ms, unready);
    put_condition(arena, conditions, "PodScheduled", true, in->started_ms, NULL);
    json_set(status, "conditions", conditions);
    json_set_str(status, "hostIP", "127.0.0.1");
    json_set_str(status, "podIP", in->address);
    struct json_object *ips = json_own(arena, json_object_new_array());
    struct json_object *ip = json_object_new_object();
    json_set_str(ip, "ip", in->address);
    json_object_array_add(ips, ip);
    json_set(status, "podIPs", ips);
    json_set_str(status, "startTime", when(arena, in->started_ms));
    json_set_str(status, "qosClass", "BestEffort");
    for (size_t i = 0; i < json_len(containers); i++)
        json_object_array_add(
            statuses, json_object_get(container_status(arena, in, json_elem(containers, i))));
    json_set(status, "containerStatuses", statuses);
    return status;
}
