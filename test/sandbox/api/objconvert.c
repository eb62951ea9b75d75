#include "api/objconvert.h"

#include <string.h>

#include "base/arena.h"
#include "base/json.h"

static void rename_field(struct json_object *obj, const char *from, const char *to)
{
    struct json_object *value = json_at(obj, from, NULL);
    if (value)
        json_set(obj, to, value);
    json_object_object_del(obj, from);
}

/* {core/v1 name, events.k8s.io/v1 name} */
static const char *const event_fields[][2] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

void objconvert_event(struct json_object *obj, const char *from, const char *to)
{
    bool to_core = strcmp(to, "v1") == 0;
    if (strcmp(from, to) == 0)
        return;
    for (size_t i = 0; i < sizeof(event_fields) / sizeof(event_fields[0]); i++)
        rename_field(obj, event_fields[i][to_core ? 1 : 0], event_fields[i][to_core ? 0 : 1]);
}

/* Kubernetes keeps the metrics that v1 cannot express in this annotation. */
#define HPA_METRICS "autoscaling.alpha.kubernetes.io/metrics"

static void hpa_from_v1(struct json_object *obj)
{
    struct arena *arena = arena_new();
    struct json_object *spec = json_at(obj, "spec", NULL);
    struct json_object *percent = json_at(spec, "targetCPUUtilizationPercentage", NULL);
    struct json_object *metrics = NULL;
    const char *kept = json_str_at(obj, "metadata", "annotations", HPA_METRICS, NULL);
    if (!kept || json_parse(arena, kept, strlen(kept), JSON_MAX_BYTES, &metrics, NULL) != ERR_OK ||
        !json_object_is_type(metrics, json_type_array))
        metrics = json_own(arena, json_object_new_array());
    if (percent) {
        struct json_object *metric = json_object_new_object();
        json_set_str(metric, "type", "Resource");
        struct json_object *resource = json_sub(metric, "resource");
        json_set_str(resource, "name", "cpu");
        json_set_str(json_sub(resource, "target"), "type", "Utilization");
        json_set(json_sub(resource, "target"), "averageUtilization", percent);
        json_object_array_add(metrics, metric);
    }
    if (spec && json_len(metrics) > 0)
        json_set(spec, "metrics", metrics);
    if (spec)
        json_object_object_del(spec, "targetCPUUtilizationPercentage");
    if (kept)
        json_object_object_del(json_at(obj, "metadata", "annotations", NULL), HPA_METRICS);
    struct json_object *status = json_at(obj, "status", NULL);
    if (status)
        json_object_object_del(status, "currentCPUUtilizationPercentage");
    arena_free(arena);
}

static bool is_cpu_percentage(struct json_object *metric)
{
    const char *name = json_str_at(metric, "resource", "name", NULL);
    return name && strcmp(name, "cpu") == 0 &&
           json_at(metric, "resource", "target", "averageUtilization", NULL) != NULL;
}

static void hpa_to_v1(struct json_object *obj)
{
    struct json_object *spec = json_at(obj, "spec", NULL);
    struct json_object *metrics = json_at(spec, "metrics", NULL);
    struct arena *arena = arena_new();
    struct json_object *others = json_own(arena, json_object_new_array());
    for (size_t i = 0; i < json_len(metrics); i++) {
        struct json_object *metric = json_elem(metrics, i);
        if (is_cpu_percentage(metric) && !json_at(spec, "targetCPUUtilizationPercentage", NULL)) {
            json_set(spec, "targetCPUUtilizationPercentage",
                     json_at(metric, "resource", "target", "averageUtilization", NULL));
        } else {
            json_object_array_add(others, json_object_get(metric));
        }
    }
    if (json_len(others) > 0) {
        struct json_object *annotations = json_sub(json_sub(obj, "metadata"), "annotations");
        json_set_str(annotations, HPA_METRICS, json_text(arena, others));
    }
    if (spec) {
        json_object_object_del(spec, "metrics");
        json_object_object_del(spec, "behavior");
    }
    struct json_object *current = json_at(obj, "status", "currentMetrics", NULL);
    for (size_t i = 0; i < json_len(current); i++) {
        struct json_object *percent =
            json_at(json_elem(current, i), "resource", "current", "averageUtilization", NULL);
        if (percent)
            json_set(json_at(obj, "status", NULL), "currentCPUUtilizationPercentage", percent);
    }
    if (json_at(obj, "status", NULL)) {
        json_object_object_del(json_at(obj, "status", NULL), "currentMetrics");
        json_object_object_del(json_at(obj, "status", NULL), "conditions");
    }
    arena_free(arena);
}

void objconvert_hpa(struct json_object *obj, const char *from, const char *to)
{
    bool from_v1 = strcmp(from, "autoscaling/v1") == 0;
    bool to_v1 = strcmp(to, "autoscaling/v1") == 0;
    if (from_v1 && !to_v1)
        hpa_from_v1(obj);
    else if (to_v1 && !from_v1)
        hpa_to_v1(obj);
}
