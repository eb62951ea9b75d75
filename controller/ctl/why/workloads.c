/* Objects: an object that the release needs is missing or in the way. */
#include <string.h>

#include "ctl/why/parts.h"
#include "proto/weight.h"

static const char *kind_of(const struct why *w)
{
    return why_text(json_str_at(w->spec, "targetRef", "kind", NULL));
}

static const char *target_of(const struct why *w)
{
    return why_text(json_str_at(w->spec, "targetRef", "name", NULL));
}

static const char *describe(struct why *w, const char *suffix)
{
    return why_kubectl(w, "describe %s %s%s", kind_of(w), target_of(w), suffix);
}

static bool target_missing(struct why *w)
{
    struct json_object *condition = why_condition(w, "TargetFound", "False");

    if (!condition)
        return false;
    return why_say(w, describe(w, ""), "The target of %s cannot be released, for %s: %s", w->name,
                   why_since(w, condition), why_message(w, condition));
}

static bool pods_of_others(struct why *w)
{
    struct json_object *condition = why_condition(w, "PodsOwned", "False");
    const char *reason = json_str_at(condition, "reason", NULL);

    if (!condition || !reason || strcmp(reason, "SelectsOthers") != 0)
        return false;
    return why_say(w, why_kubectl(w, "get deployments,daemonsets,statefulsets --show-labels"),
                   "%s is not initialised, for %s: %s", w->name, why_since(w, condition),
                   why_message(w, condition));
}

static bool config_missing(struct why *w)
{
    struct json_object *condition = why_condition(w, "Configured", "False");

    if (!condition)
        condition = why_condition(w, "PrimaryConfigured", "False");
    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "get configmaps,secrets"),
                   "A config that %s needs is missing, for %s: %s", w->name,
                   why_since(w, condition), why_message(w, condition));
}

static bool primary_missing(struct why *w)
{
    struct json_object *condition = why_condition(w, "PrimaryFound", "False");

    if (!condition)
        return false;
    return why_say(w, describe(w, "-primary"), "The primary of %s is not there, for %s: %s",
                   w->name, why_since(w, condition), why_message(w, condition));
}

static bool scaler_missing(struct why *w)
{
    struct json_object *condition = why_condition(w, "AutoscalerFound", "False");

    if (!condition)
        return false;
    return why_say(
        w, why_kubectl(w, "get %s", why_text(json_str_at(w->spec, "autoscalerRef", "kind", NULL))),
        "The autoscaler that %s names is missing, for %s: %s", w->name, why_since(w, condition),
        why_message(w, condition));
}

static bool queued(struct why *w)
{
    struct json_object *condition = why_condition(w, "Admitted", "False");

    if (!condition)
        return false;
    return why_say(w, arena_printf(w->arena, "%s get -A", w->program),
                   "%s waits for its turn, for %s: as many releases are under way as the "
                   "controller allows (--max-concurrent-releases). It begins by itself when one "
                   "has ended",
                   w->name, why_since(w, condition));
}

static bool scheduled(struct why *w)
{
    struct json_object *condition = why_condition(w, "Scheduled", "False");

    if (!condition)
        return false;
    return why_say(w, why_ctl(w, "skip-analysis"),
                   "%s waits for its time, for %s: %s. It begins by itself then; skip-analysis "
                   "releases it now, without checks",
                   w->name, why_since(w, condition), why_message(w, condition));
}

const struct why_situation why_objects[] = {
    {"target-missing", target_missing}, {"pods-of-others", pods_of_others},
    {"config-missing", config_missing}, {"primary-missing", primary_missing},
    {"scaler-missing", scaler_missing}, {"queued", queued},
    {"scheduled", scheduled},           {0}};

/* --- pods that do not become ready: the target's in an analysis, the primary's before and after
 * it */

/* A container of a side's pods that waits for this reason; its pod in *pod. */
static struct json_object *waiting_for(struct json_object *pods, const char *const *reasons,
                                       struct json_object **pod)
{
    for (size_t i = 0; i < json_len(pods); i++) {
        struct json_object *list = json_at(json_elem(pods, i), "status", "containerStatuses", NULL);
        for (size_t k = 0; k < json_len(list); k++) {
            struct json_object *waits = json_at(json_elem(list, k), "state", "waiting", NULL);
            const char *reason = json_str_at(waits, "reason", NULL);
            *pod = json_elem(pods, i);
            for (const char *const *at = reasons; reason && *at; at++)
                if (strcmp(reason, *at) == 0)
                    return json_elem(list, k);
        }
    }
    return NULL;
}

static struct json_object *find_waiting(struct why *w, const char *const *reasons,
                                        struct json_object **pod)
{
    struct json_object *found = waiting_for(w->facts->pods, reasons, pod);

    return found ? found : waiting_for(w->facts->primary_pods, reasons, pod);
}

/* A container that runs again after it has ended, and is not ready: between two waits. */
static struct json_object *restarted(struct json_object *pods, struct json_object **pod)
{
    for (size_t i = 0; i < json_len(pods); i++) {
        struct json_object *list = json_at(json_elem(pods, i), "status", "containerStatuses", NULL);
        for (size_t k = 0; k < json_len(list); k++) {
            struct json_object *container = json_elem(list, k);
            *pod = json_elem(pods, i);
            if (!json_bool_at(container, false, "ready", NULL) &&
                json_at(container, "lastState", "terminated", NULL))
                return container;
        }
    }
    return NULL;
}

static const char *pod_name(struct why *w, struct json_object *pod)
{
    return print_clean(w->arena, json_str_at(pod, "metadata", "name", NULL));
}

static const char *age(struct why *w, struct json_object *pod)
{
    return print_age(w->arena, json_str_at(pod, "metadata", "creationTimestamp", NULL),
                     w->facts->now_ms);
}

static bool image_missing(struct why *w)
{
    static const char *const reasons[] = {"ImagePullBackOff", "ErrImagePull", "InvalidImageName",
                                          "ErrImageNeverPull", NULL};
    struct json_object *pod, *container = find_waiting(w, reasons, &pod);

    if (!container)
        return false;
    return why_say(
        w, why_kubectl(w, "describe pod %s", pod_name(w, pod)),
        "An image of %s cannot be pulled: the container %s of the pod %s has waited for "
        "%s, for %s: %s",
        w->name, print_clean(w->arena, json_str_at(container, "name", NULL)), pod_name(w, pod),
        print_clean(w->arena, json_str_at(container, "image", NULL)), age(w, pod),
        print_clean(w->arena, json_str_at(container, "state", "waiting", "message", NULL)));
}

/* "once" or "3 times" */
static const char *restarts(const struct why *w, struct json_object *container)
{
    long long count = json_int_at(container, 0, "restartCount", NULL);

    return count == 1 ? "once" : arena_printf(w->arena, "%lld times", count);
}

/* Points to the last output of the container before it ended. */
static bool say_of_container(struct why *w, struct json_object *pod, struct json_object *container,
                             const char *what, const char *how)
{
    const char *name = print_clean(w->arena, json_str_at(container, "name", NULL));

    return why_say(w, why_kubectl(w, "logs %s -c %s --previous", pod_name(w, pod), name),
                   "A pod of %s does not %s: the container %s of %s %s", w->name, what, name,
                   pod_name(w, pod), how);
}

static bool restarting(struct why *w)
{
    struct json_object *pod, *container = restarted(w->facts->pods, &pod);

    if (!container)
        container = restarted(w->facts->primary_pods, &pod);
    if (!container)
        return false;
    return say_of_container(w, pod, container, "stay up",
                            arena_printf(w->arena,
                                         "has ended with exit code %lld, and was started again %s",
                                         (long long)json_int_at(container, 0, "lastState",
                                                                "terminated", "exitCode", NULL),
                                         restarts(w, container)));
}

static bool crashing(struct why *w)
{
    static const char *const reasons[] = {"CrashLoopBackOff", "RunContainerError",
                                          "CreateContainerError", "CreateContainerConfigError",
                                          NULL};
    struct json_object *pod, *container = find_waiting(w, reasons, &pod);

    if (!container)
        return restarting(w);
    return say_of_container(
        w, pod, container, "start",
        arena_printf(
            w->arena, "is in %s, after it was started again %s: %s",
            print_clean(w->arena, json_str_at(container, "state", "waiting", "reason", NULL)),
            restarts(w, container),
            print_clean(w->arena, json_str_at(container, "state", "waiting", "message", NULL))));
}

/* A condition of a workload, not of the Canary. */
static struct json_object *condition_of(struct json_object *object, const char *type)
{
    return json_find(json_at(object, "status", "conditions", NULL), "type", type, NULL);
}

static bool quota(struct why *w)
{
    struct json_object *failure = condition_of(w->facts->target, "ReplicaFailure");

    if (!failure)
        failure = condition_of(w->facts->primary, "ReplicaFailure");
    if (!failure || !why_is(json_str_at(failure, "status", NULL), "True"))
        return false;
    const char *message = why_message(w, failure);
    bool exceeded = strstr(message, "exceeded quota") != NULL;
    return why_say(w, why_kubectl(w, exceeded ? "describe resourcequota" : "get events"),
                   "%s of %s cannot be made, for %s: %s", exceeded ? "Pods beyond a quota" : "Pods",
                   w->name, why_since(w, failure), message);
}

static bool unschedulable(struct why *w)
{
    struct json_object *sides[] = {w->facts->pods, w->facts->primary_pods};

    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < json_len(sides[side]); i++) {
            struct json_object *pod = json_elem(sides[side], i);
            struct json_object *condition = condition_of(pod, "PodScheduled");
            if (why_is(json_str_at(condition, "status", NULL), "False"))
                return why_say(w, why_kubectl(w, "describe pod %s", pod_name(w, pod)),
                               "No node takes the pod %s of %s, for %s: %s", pod_name(w, pod),
                               w->name, why_since(w, condition), why_message(w, condition));
        }
    }
    return false;
}

/* Start of the wait: as the rules recorded it, as the workload itself reports it, or the time at
 * which the release reached its current state. */
static const char *not_ready_since(struct why *w, struct json_object *object, const char *side)
{
    const char *since = json_str_at(why_condition(w, side, "False"), "lastTransitionTime", NULL);
    struct json_object *available = condition_of(object, "Available");

    if (!since && why_is(json_str_at(available, "status", NULL), "False"))
        since = json_str_at(available, "lastTransitionTime", NULL);
    if (!since && why_under_way(w))
        since = json_str_at(w->status, "lastTransitionTime", NULL);
    return since ? arena_printf(w->arena, ", for %s", print_age(w->arena, since, w->facts->now_ms))
                 : "";
}

/* The end of the release; only an analysis can be rolled back. */
static const char *deadline_text(struct why *w)
{
    long long deadline = json_int_at(w->spec, 600, "progressDeadlineSeconds", NULL);

    switch (w->phase) {
    case PHASE_Progressing:
    case PHASE_Waiting:
    case PHASE_WaitingPromotion:
        return arena_printf(
            w->arena, "After progressDeadlineSeconds (%lld) the release is rolled back", deadline);
    case PHASE_Promoting:
    case PHASE_Finalising:
        return "Its promotion goes on when they are, and is not taken back";
    default:
        return "It is initialised when they are";
    }
}

static bool say_not_ready(struct why *w, struct json_object *object, const char *whose)
{
    const char *name = why_text(json_str_at(object, "metadata", "name", NULL));
    const char *side = strcmp(whose, "primary") == 0 ? "PrimaryReady" : "CanaryReady";
    int64_t ready, wanted;

    if (!glance_falls_short(object, &ready, &wanted))
        return false;
    return why_say(w, why_kubectl(w, "describe pods"),
                   "%s waits for pods: of the %s %s, %lld of %lld are ready%s. %s", w->name, whose,
                   name, (long long)ready, (long long)wanted, not_ready_since(w, object, side),
                   deadline_text(w));
}

static bool pods_not_ready(struct why *w)
{
    if (!why_under_way(w) || w->phase == PHASE_Waiting)
        return false;
    return say_not_ready(w, w->facts->primary, "primary") ||
           say_not_ready(w, w->facts->target, "canary");
}

/* Nothing is being released, and too few pods serve, whatever their revision. */
static bool primary_short(struct why *w)
{
    int64_t ready, wanted;

    if (why_under_way(w) || w->phase == PHASE_NONE ||
        !glance_falls_short(w->facts->primary, &ready, &wanted))
        return false;
    if (!json_at(w->facts->primary, "status", "desiredNumberScheduled", NULL))
        ready = json_int_at(w->facts->primary, 0, "status", "readyReplicas", NULL);
    if (ready >= wanted)
        return false;
    return why_say(
        w, why_kubectl(w, "describe pods"),
        "No release of %s is under way, but of the primary %s, which serves, %lld of %lld pods are "
        "ready%s",
        w->name, why_text(json_str_at(w->facts->primary, "metadata", "name", NULL)),
        (long long)ready, (long long)wanted, not_ready_since(w, w->facts->primary, "PrimaryReady"));
}

static bool primary_unserved(struct why *w)
{
    struct json_object *condition = why_condition(w, "TrafficServed", "False");

    if (!condition)
        return false;
    return why_say(w,
                   why_kubectl(w, "describe deploy %s-primary",
                               why_text(json_str_at(w->spec, "targetRef", "name", NULL))),
                   "The primary of %s has lost all its pods, for %s: %s", w->name,
                   why_since(w, condition), why_message(w, condition));
}

static bool side_waits(struct why *w)
{
    struct json_object *condition = why_condition(w, "CanaryReady", "False");

    if (!condition)
        condition = why_condition(w, "PrimaryReady", "False");
    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "get pods"), "%s waits for pods, for %s: %s", w->name,
                   why_since(w, condition), why_message(w, condition));
}

const struct why_situation why_pods[] = {{"image-missing", image_missing},
                                         {"crashing", crashing},
                                         {"quota", quota},
                                         {"unschedulable", unschedulable},
                                         {"pods-not-ready", pods_not_ready},
                                         {"primary-short", primary_short},
                                         {"primary-unserved", primary_unserved},
                                         {"side-waits", side_waits},
                                         {0}};

/* --- the spec: not followed, or invalid */

static bool owned_by_another(struct why *w)
{
    struct json_object *condition = why_condition(w, "Accepted", "False");
    const char *message = why_message(w, condition);

    if (!condition || !strstr(message, "is looked after by Canary"))
        return false;
    return why_say(w, why_kubectl(w, "get canaries"),
                   "Another Canary owns what %s wants, for %s: %s", w->name,
                   why_since(w, condition), message);
}

static bool spec_refused(struct why *w)
{
    struct json_object *condition = why_condition(w, "Accepted", "False");

    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "edit canary %s", w->name),
                   "The spec of %s has been refused for %s: %s. %s", w->name,
                   why_since(w, condition), why_message(w, condition),
                   w->phase == PHASE_Initializing || w->phase == PHASE_NONE
                       ? "It is not initialised before it is right"
                   : why_under_way(w) ? "The release that runs is guarded by the spec before it, "
                                        "and goes no step forward"
                                      : "No release begins before it is right");
}

static bool right_missing(struct why *w)
{
    struct json_object *condition = why_condition(w, "ResourcesAllowed", "False");

    if (!condition)
        return false;
    return why_say(w, "kubectl get clusterrole flagger -o yaml",
                   "The controller lacks a right that %s needs, for %s: %s", w->name,
                   why_since(w, condition), why_message(w, condition));
}

static bool crd_missing(struct why *w)
{
    struct json_object *condition = why_condition(w, "ResourcesServed", "False");

    if (!condition)
        return false;
    return why_say(w, "kubectl get crds",
                   "A CRD is missing, for %s: %s. %s goes on by itself when it is there",
                   why_since(w, condition), why_message(w, condition), w->name);
}

static bool write_refused(struct why *w)
{
    struct json_object *condition = why_condition(w, "WritesAccepted", "False");
    const char *resource = json_str_at(w->status, "refusedWrite", "resource", NULL);
    const char *name = json_str_at(w->status, "refusedWrite", "name", NULL);
    bool kept = weight_of_status(w->status) > 0;

    if (!condition)
        return false;
    return why_say(w,
                   resource && name ? why_kubectl(w, "get %s %s -o yaml", resource, name)
                                    : why_kubectl(w, "describe canary %s", w->name),
                   "The API server has refused a write of %s for %s: %s. It is tried again; %s",
                   w->name, why_since(w, condition), why_message(w, condition),
                   why_under_way(w) ? "at the progress deadline the release is rolled back, unless "
                                      "its promotion is written already"
                   : kept           ? "until it is taken the canary keeps the traffic that it has"
                                    : "nothing goes on before it is taken");
}

const struct why_situation why_spec[] = {
    {"another-owns-target", owned_by_another}, {"spec-refused", spec_refused},
    {"right-missing", right_missing},          {"crd-missing", crd_missing},
    {"write-refused", write_refused},          {0}};
