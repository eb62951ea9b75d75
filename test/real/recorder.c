#include "real/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "object/meta.h"

static const struct kube_resource recorded[] = {
    {.group = "", .version = "v1", .plural = "pods", .kind = "Pod"},
    {.group = "", .version = "v1", .plural = "services", .kind = "Service"},
    {.group = "discovery.k8s.io",
     .version = "v1",
     .plural = "endpointslices",
     .kind = "EndpointSlice"},
    {.group = "gateway.networking.k8s.io",
     .version = "v1",
     .plural = "httproutes",
     .kind = "HTTPRoute"},
    {.group = "flagger.app", .version = "v1beta1", .plural = "canaries", .kind = "Canary"},
    {.group = "apps", .version = "v1", .plural = "deployments", .kind = "Deployment"},
    {.group = "autoscaling",
     .version = "v2",
     .plural = "horizontalpodautoscalers",
     .kind = "HorizontalPodAutoscaler"},
    {.group = "", .version = "v1", .plural = "events", .kind = "Event"},
};
enum { N_RECORDED = sizeof(recorded) / sizeof(recorded[0]) };

struct source {
    struct recorder *recorder;
    const struct kube_resource *resource;
    struct watch *watch;
};

struct recorder {
    const char *folder;
    int64_t revision; /* the greatest that has come */
    struct source sources[N_RECORDED];
};

static void append(struct recorder *recorder, const char *namespace_, const char *suffix,
                   const char *line)
{
    struct arena *arena = arena_new();
    const char *path = arena_printf(arena, "%s/%s.%s", recorder->folder, namespace_, suffix);
    FILE *file = fopen(path, "ae");
    bool good = file && fprintf(file, "%s\n", line) > 0;
    if (file && fclose(file) != 0)
        good = false;
    if (!good) {
        log_error("record_failed", NULL, strerror(errno), LOG_STR("file", path));
        abort(); /* a history with gaps would hide what it is for */
    }
    arena_free(arena);
}

static const char *or_dash(const char *text)
{
    return text && text[0] ? text : "-";
}

static const char *summary(struct arena *arena, struct json_object *canary, const char *revision)
{
    struct json_object *status = json_at(canary, "status", NULL);
    struct json_object *promoted = meta_condition(json_at(status, "conditions", NULL), "Promoted");
    return arena_printf(arena, "%s %s %s %lld %lld %lld %s/%s", revision, meta_name(canary),
                        or_dash(json_str_at(status, "phase", NULL)),
                        (long long)json_int_at(status, 0, "canaryWeight", NULL),
                        (long long)json_int_at(status, 0, "failedChecks", NULL),
                        (long long)json_int_at(status, 0, "iterations", NULL),
                        or_dash(json_str_at(promoted, "status", NULL)),
                        or_dash(json_str_at(promoted, "reason", NULL)));
}

static void append_line(struct recorder *recorder, struct arena *arena, const char *namespace_,
                        int64_t revision, const char *kind, bool gone, struct json_object *object)
{
    struct json_object *line = json_own(arena, json_object_new_object());
    json_set_int(line, "revision", revision);
    json_set_str(line, "kind", kind);
    json_set_bool(line, "gone", gone);
    json_set_int(line, "time", clock_wall_ms());
    json_set(line, "object", object);
    append(recorder, namespace_, "history", json_text(arena, line));
}

/* Of events those about Canaries; writers are asked of routes and Deployments. */
static bool is_kept(const struct source *source, struct json_object *object)
{
    const char *about = json_str_at(object, "involvedObject", "kind", NULL);
    return strcmp(source->resource->kind, "Event") != 0 || (about && strcmp(about, "Canary") == 0);
}

static bool has_writer(const struct kube_resource *resource)
{
    return strcmp(resource->kind, "HTTPRoute") == 0 || strcmp(resource->kind, "Deployment") == 0;
}

static void on_object(void *arg, enum watch_event event, struct json_object *object)
{
    struct source *source = arg;
    struct recorder *recorder = source->recorder;
    if (event == WATCH_SYNCED || !is_kept(source, object))
        return;
    struct arena *arena = arena_new();
    struct json_object *copy = json_copy(arena, object);
    const char *revision = json_str_at(object, "metadata", "resourceVersion", NULL);
    const char *namespace_ = meta_ns(object);
    int64_t number = revision ? strtoll(revision, NULL, 10) : 0;
    recorder->revision = number > recorder->revision ? number : recorder->revision;
    if (!has_writer(source->resource))
        json_object_object_del(json_at(copy, "metadata", NULL), "managedFields");
    append_line(recorder, arena, namespace_, number, source->resource->kind, event == WATCH_GONE,
                copy);
    if (strcmp(source->resource->kind, "Canary") == 0 && event == WATCH_PUT)
        append(recorder, namespace_, "canaries", summary(arena, object, revision));
    arena_free(arena);
}

void recorder_hook(struct recorder *recorder, const char *namespace_, struct json_object *call)
{
    struct arena *arena = arena_new();
    append_line(recorder, arena, namespace_, recorder->revision, "Hook", false, call);
    arena_free(arena);
}

struct recorder *recorder_new(struct loop *loop, struct kube_client *kube, const char *folder)
{
    struct recorder *recorder = heap_alloc(sizeof(*recorder));
    *recorder = (struct recorder){.folder = folder};
    for (size_t i = 0; i < N_RECORDED; i++) {
        struct source *source = &recorder->sources[i];
        *source = (struct source){.recorder = recorder, .resource = &recorded[i]};
        struct watch_spec spec = {.resource = &recorded[i], .timing = {.missing_ms = 500}};
        source->watch = watch_new(loop, kube, &spec, on_object, source);
    }
    return recorder;
}

void recorder_stop(struct recorder *recorder)
{
    for (size_t i = 0; i < N_RECORDED; i++) {
        watch_free(recorder->sources[i].watch);
        recorder->sources[i].watch = NULL;
    }
}

void recorder_free(struct recorder *recorder)
{
    free(recorder);
}
