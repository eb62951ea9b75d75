/* The columns of pods and of what makes pods, as `kubectl get` prints them. */
#include <string.h>

#include "base/clock.h"
#include "object/selector.h"
#include "object/table_column.h"

/* ---- pods ---- */

static bool is_true(struct json_object *conditions, const char *type)
{
    for (size_t i = 0; i < json_len(conditions); i++) {
        struct json_object *condition = json_elem(conditions, i);
        const char *found = json_str_at(condition, "type", NULL);
        const char *status = json_str_at(condition, "status", NULL);
        if (found && status && strcmp(found, type) == 0)
            return strcmp(status, "True") == 0;
    }
    return false;
}

static struct json_object *pod_ready(const struct table_row *row)
{
    struct json_object *statuses = json_at(row->obj, "status", "containerStatuses", NULL);
    size_t ready = 0, total = json_len(json_at(row->obj, "spec", "containers", NULL));
    for (size_t i = 0; i < json_len(statuses); i++)
        ready += json_bool_at(json_elem(statuses, i), false, "ready", NULL);
    return table_text(row, arena_printf(row->arena, "%zu/%zu", ready, total));
}

static const char *terminated_reason(const struct table_row *row, struct json_object *terminated)
{
    const char *reason = json_str_at(terminated, "reason", NULL);
    int64_t signal = json_int_at(terminated, 0, "signal", NULL);
    if (reason && reason[0])
        return reason;
    if (signal)
        return arena_printf(row->arena, "Signal:%lld", (long long)signal);
    return arena_printf(row->arena, "ExitCode:%lld",
                        (long long)json_int_at(terminated, 0, "exitCode", NULL));
}

/* What holds up the init containers, or NULL when they are all done. */
static const char *init_reason(const struct table_row *row)
{
    struct json_object *statuses = json_at(row->obj, "status", "initContainerStatuses", NULL);
    size_t total = json_len(json_at(row->obj, "spec", "initContainers", NULL));
    for (size_t i = 0; i < json_len(statuses); i++) {
        struct json_object *state = json_at(json_elem(statuses, i), "state", NULL);
        struct json_object *terminated = json_at(state, "terminated", NULL);
        const char *waiting = json_str_at(state, "waiting", "reason", NULL);
        if (terminated && json_int_at(terminated, 0, "exitCode", NULL) == 0)
            continue;
        if (terminated)
            return arena_printf(row->arena, "Init:%s", terminated_reason(row, terminated));
        if (waiting && waiting[0] && strcmp(waiting, "PodInitializing") != 0)
            return arena_printf(row->arena, "Init:%s", waiting);
        return arena_printf(row->arena, "Init:%zu/%zu", i, total);
    }
    return NULL;
}

/* The first container (from the last on, as kubectl has it) that has something to say. */
static const char *container_reason(const struct table_row *row, const char *reason)
{
    struct json_object *statuses = json_at(row->obj, "status", "containerStatuses", NULL);
    bool running = false;
    for (size_t i = json_len(statuses); i-- > 0;) {
        struct json_object *status = json_elem(statuses, i);
        struct json_object *state = json_at(status, "state", NULL);
        const char *waiting = json_str_at(state, "waiting", "reason", NULL);
        if (waiting && waiting[0])
            reason = waiting;
        else if (json_at(state, "terminated", NULL))
            reason = terminated_reason(row, json_at(state, "terminated", NULL));
        else if (json_bool_at(status, false, "ready", NULL) && json_at(state, "running", NULL))
            running = true;
    }
    if (running && strcmp(reason, "Completed") == 0)
        reason = is_true(json_at(row->obj, "status", "conditions", NULL), "Ready") ? "Running"
                                                                                   : "NotReady";
    return reason;
}

static struct json_object *pod_status(const struct table_row *row)
{
    const char *phase = json_str_at(row->obj, "status", "phase", NULL);
    const char *given = json_str_at(row->obj, "status", "reason", NULL);
    const char *reason = given && given[0] ? given : phase ? phase : "Unknown";
    const char *init = init_reason(row);
    if (json_str_at(row->obj, "metadata", "deletionTimestamp", NULL))
        return table_text(row, given && strcmp(given, "NodeLost") == 0 ? "Unknown" : "Terminating");
    return table_text(row, init ? init : container_reason(row, reason));
}

static struct json_object *pod_restarts(const struct table_row *row)
{
    struct json_object *statuses = json_at(row->obj, "status", "containerStatuses", NULL);
    int64_t count = 0, last = -1;
    for (size_t i = 0; i < json_len(statuses); i++) {
        struct json_object *status = json_elem(statuses, i);
        const char *finished = json_str_at(status, "lastState", "terminated", "finishedAt", NULL);
        int64_t at;
        count += json_int_at(status, 0, "restartCount", NULL);
        if (finished && clock_parse(finished, &at, NULL) == ERR_OK && at > last)
            last = at;
    }
    char age[TABLE_AGE];
    if (count > 0 && last >= 0)
        return table_text(row, arena_printf(row->arena, "%lld (%s ago)", (long long)count,
                                            table_age(row->now_ms - last, age)));
    return table_text(row, arena_printf(row->arena, "%lld", (long long)count));
}

static struct json_object *pod_gates(const struct table_row *row)
{
    struct json_object *gates = json_at(row->obj, "spec", "readinessGates", NULL);
    size_t passed = 0;
    for (size_t i = 0; i < json_len(gates); i++) {
        const char *type = json_str_at(json_elem(gates, i), "conditionType", NULL);
        passed += type && is_true(json_at(row->obj, "status", "conditions", NULL), type);
    }
    if (json_len(gates) == 0)
        return table_or_none(row, NULL);
    return table_text(row, arena_printf(row->arena, "%zu/%zu", passed, json_len(gates)));
}

static const struct table_column pod_columns[] = {
    TABLE_NAME,
    TABLE_CELL("Ready", 0, pod_ready),
    TABLE_CELL("Status", 0, pod_status),
    TABLE_CELL("Restarts", 0, pod_restarts),
    TABLE_AGE_COLUMN,
    TABLE_TEXT("IP", 1, "<none>", "status", "podIP"),
    TABLE_TEXT("Node", 1, "<none>", "spec", "nodeName"),
    TABLE_TEXT("Nominated Node", 1, "<none>", "status", "nominatedNodeName"),
    TABLE_CELL("Readiness Gates", 1, pod_gates),
};

/* ---- what makes pods ---- */

static struct json_object *containers_field(const struct table_row *row, const char *field)
{
    struct json_object *containers =
        json_at(row->obj, "spec", "template", "spec", "containers", NULL);
    const char *text = "";
    for (size_t i = 0; i < json_len(containers); i++)
        text = table_join(row, text, ",", json_str_at(json_elem(containers, i), field, NULL) ?: "");
    return table_text(row, text);
}

static struct json_object *cell_containers(const struct table_row *row)
{
    return containers_field(row, "name");
}

static struct json_object *cell_images(const struct table_row *row)
{
    return containers_field(row, "image");
}

static struct json_object *cell_selector(const struct table_row *row)
{
    const struct selector *selector;
    struct json_object *obj = json_at(row->obj, "spec", "selector", NULL);
    if (selector_from_object(row->arena, obj, &selector, NULL))
        return table_text(row, "<invalid>");
    return table_or_none(row, selector_text(row->arena, selector));
}

static struct json_object *cell_ready_of(const struct table_row *row)
{
    return table_text(
        row, arena_printf(row->arena, "%lld/%lld",
                          (long long)json_int_at(row->obj, 0, "status", "readyReplicas", NULL),
                          (long long)json_int_at(row->obj, 1, "spec", "replicas", NULL)));
}

static struct json_object *daemon_nodes(const struct table_row *row)
{
    const struct selector *selector;
    struct json_object *map = json_at(row->obj, "spec", "template", "spec", "nodeSelector", NULL);
    if (selector_from_map(row->arena, map, &selector, NULL))
        return table_text(row, "<invalid>");
    return table_or_none(row, selector_text(row->arena, selector));
}

#define WIDE                                                                                       \
    TABLE_CELL("Containers", 1, cell_containers), TABLE_CELL("Images", 1, cell_images),            \
        TABLE_CELL("Selector", 1, cell_selector)

static const struct table_column deployment_columns[] = {
    TABLE_NAME,
    TABLE_CELL("Ready", 0, cell_ready_of),
    TABLE_NUMBER("Up-to-date", "string", 0, "status", "updatedReplicas"),
    TABLE_NUMBER("Available", "string", 0, "status", "availableReplicas"),
    TABLE_AGE_COLUMN,
    WIDE,
};

static const struct table_column replicaset_columns[] = {
    TABLE_NAME,
    TABLE_NUMBER("Desired", "integer", 1, "spec", "replicas"),
    TABLE_NUMBER("Current", "integer", 0, "status", "replicas"),
    TABLE_NUMBER("Ready", "integer", 0, "status", "readyReplicas"),
    TABLE_AGE_COLUMN,
    WIDE,
};

static const struct table_column daemonset_columns[] = {
    TABLE_NAME,
    TABLE_NUMBER("Desired", "integer", 0, "status", "desiredNumberScheduled"),
    TABLE_NUMBER("Current", "integer", 0, "status", "currentNumberScheduled"),
    TABLE_NUMBER("Ready", "integer", 0, "status", "numberReady"),
    TABLE_NUMBER("Up-to-date", "integer", 0, "status", "updatedNumberScheduled"),
    TABLE_NUMBER("Available", "integer", 0, "status", "numberAvailable"),
    TABLE_CELL("Node Selector", 0, daemon_nodes),
    TABLE_AGE_COLUMN,
    WIDE,
};

const struct table_kind table_workloads[] = {
    TABLE_KIND("", "Pod", pod_columns),
    TABLE_KIND("apps", "Deployment", deployment_columns),
    TABLE_KIND("apps", "ReplicaSet", replicaset_columns),
    TABLE_KIND("apps", "DaemonSet", daemonset_columns),
    {0},
};
