#include "real/podlook.h"

#include <string.h>

#include "app/behaviour.h"
#include "object/meta.h"

#define HOLD "test.flagger.app/ready"

static const char *wanted_node(struct json_object *pod)
{
    struct json_object *terms =
        json_at(pod, "spec", "affinity", "nodeAffinity",
                "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", NULL);
    struct json_object *field = json_elem(json_at(json_elem(terms, 0), "matchFields", NULL), 0);
    struct json_object *name = json_elem(json_at(field, "values", NULL), 0);
    return name ? json_object_get_string(name) : NULL;
}

void podlook_read(struct arena *arena, struct json_object *pod, struct podlook *out)
{
    struct json_object *container = json_elem(json_at(pod, "spec", "containers", NULL), 0);
    const char *image = json_str_at(container, "image", NULL);
    const char *phase = json_str_at(pod, "status", "phase", NULL);
    const char *hold = meta_annotation(pod, HOLD);
    struct behaviour behaviour = {.crash_after_ms = -1};
    struct errinfo ei = {0};

    /* A tag that cannot be read is no behaviour at all. */
    if (image && behaviour_is_demo(image) &&
        behaviour_of_image(arena, image, &behaviour, &ei) != ERR_OK)
        behaviour.crash_after_ms = -1;
    *out = (struct podlook){
        .node = json_str_at(pod, "spec", "nodeName", NULL),
        .wants = wanted_node(pod),
        .deleting = meta_deleting(pod),
        .running = phase && strcmp(phase, "Running") == 0,
        .ready = meta_condition_true(json_at(pod, "status", "conditions", NULL), "Ready"),
        .never = behaviour.crash_after_ms >= 0,
        .held = hold && strcmp(hold, "false") == 0,
        .image = image,
        .delay_ms = 1000 * json_int_at(container, 0, "readinessProbe", "initialDelaySeconds", NULL),
        .grace_ms = 1000 * json_int_at(pod, 0, "metadata", "deletionGracePeriodSeconds", NULL),
    };
}

bool podlook_ready(const struct podlook *look, int64_t running_for_ms)
{
    return !look->never && !look->held && running_for_ms >= look->delay_ms;
}
