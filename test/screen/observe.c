#include "screen/observe.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"

static const struct kube_resource canaries = {
    .group = "flagger.app", .version = "v1beta1", .plural = "canaries", .kind = "Canary"};

struct observe {
    struct watch *canary, *events;
    char *name;
    struct step steps[OBSERVE_MAX_STEPS];
    size_t count;
    char last_event[OBSERVE_TEXT];
    unsigned n_events;
    bool draining;
    bool listed; /* the events that were there before have been handed over */
    void (*changed)(void *arg);
    void *arg;
};

static bool is_draining(struct json_object *canary)
{
    struct json_object *conditions = json_at(canary, "status", "conditions", NULL);
    for (size_t i = 0; i < json_len(conditions); i++) {
        const char *type = json_str_at(json_elem(conditions, i), "type", NULL);
        if (type && strcmp(type, "Drained") == 0)
            return true;
    }
    return false;
}

static void on_canary(void *arg, enum watch_event event, struct json_object *object)
{
    struct observe *observe = arg;
    if (event != WATCH_PUT)
        return;
    struct step step = {
        .at_ms = clock_monotonic_ms(),
        .phase = phase_parse(json_str_at(object, "status", "phase", NULL)),
        .weight = (int)json_int_at(object, 0, "status", "canaryWeight", NULL),
        .failed_checks = (int)json_int_at(object, 0, "status", "failedChecks", NULL),
    };
    struct step last = observe_now(observe);
    bool same = observe->count > 0 && last.phase == step.phase && last.weight == step.weight &&
                last.failed_checks == step.failed_checks;
    bool draining = is_draining(object);
    if (same && draining == observe->draining)
        return;
    observe->draining = draining;
    if (!same && observe->count < OBSERVE_MAX_STEPS)
        observe->steps[observe->count++] = step;
    observe->changed(observe->arg);
}

static void on_event(void *arg, enum watch_event event, struct json_object *object)
{
    struct observe *observe = arg;
    if (event == WATCH_SYNCED)
        observe->listed = true;
    if (event != WATCH_PUT)
        return;
    const char *kind = json_str_at(object, "involvedObject", "kind", NULL);
    const char *about = json_str_at(object, "involvedObject", "name", NULL);
    const char *message = json_str_at(object, "message", NULL);
    if (!kind || strcmp(kind, "Canary") != 0 || !about || strcmp(about, observe->name) != 0 ||
        !message)
        return;
    snprintf(observe->last_event, sizeof(observe->last_event), "%s", message);
    observe->n_events++;
    if (observe->listed)
        observe->changed(observe->arg);
}

struct observe *observe_new(struct loop *loop, struct kube_client *kube, const char *namespace_,
                            const char *name, void (*changed)(void *arg), void *arg)
{
    struct observe *observe = heap_alloc(sizeof(*observe));
    *observe = (struct observe){.name = heap_strdup(name), .changed = changed, .arg = arg};
    char selector[300];
    snprintf(selector, sizeof(selector), "metadata.name=%s", name);
    struct watch_spec canary = {
        .resource = &canaries, .namespace_ = namespace_, .field_selector = selector};
    observe->canary = watch_new(loop, kube, &canary, on_canary, observe);
    struct watch_spec events = {.resource = &kube_events, .namespace_ = namespace_};
    observe->events = watch_new(loop, kube, &events, on_event, observe);
    return observe;
}

void observe_stop(struct observe *observe)
{
    watch_free(observe->canary);
    watch_free(observe->events);
    observe->canary = NULL;
    observe->events = NULL;
}

void observe_free(struct observe *observe)
{
    if (!observe)
        return;
    observe_stop(observe);
    free(observe->name);
    free(observe);
}

struct step observe_now(const struct observe *observe)
{
    return observe->count ? observe->steps[observe->count - 1] : (struct step){.phase = PHASE_NONE};
}

const struct step *observe_steps(const struct observe *observe, size_t *count)
{
    *count = observe->count;
    return observe->steps;
}

bool observe_draining(const struct observe *observe)
{
    return observe->draining;
}

const char *observe_last_event(const struct observe *observe)
{
    return observe->last_event;
}

unsigned observe_events(const struct observe *observe)
{
    return observe->n_events;
}
