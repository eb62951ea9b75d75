/* Nobody works on it, or it is not meant to go on: the lease, a deletion, a pause. */
#include <string.h>

#include "base/clock.h"
#include "ctl/why/parts.h"
#include "fleet/waves.h"

static bool deleting(struct why *w)
{
    struct json_object *condition = glance_condition(w->facts->canary, "Reverted");

    if (!json_at(w->facts->canary, "metadata", "deletionTimestamp", NULL))
        return false;
    if (!condition)
        return why_say(
            w, why_kubectl(w, "get canary %s -o jsonpath='{.metadata.finalizers}'", w->name),
            "%s is being deleted, and waits for its finalizers", w->name);
    return why_say(w, why_kubectl(w, "describe canary %s", w->name),
                   "%s is being deleted; for %s: %s", w->name, why_since(w, condition),
                   why_message(w, condition));
}

/* How long nobody has renewed the lease, beyond what it allows; -1: somebody has. */
static int64_t stale_ms(const struct why *w)
{
    enum { USUAL_S = 15, PATIENCE = 3 };
    struct json_object *lease = w->facts->lease;
    const char *renewed = json_str_at(lease, "spec", "renewTime", NULL);
    int64_t lasts = json_int_at(lease, USUAL_S, "spec", "leaseDurationSeconds", NULL) * 1000, at;

    if (!renewed || clock_parse(renewed, &at, NULL) != ERR_OK)
        return -1;
    return w->facts->now_ms - at > lasts * PATIENCE ? w->facts->now_ms - at : -1;
}

static const char *logs(struct why *w)
{
    return arena_printf(w->arena, "kubectl get pods -A -l app.kubernetes.io/name=flagger");
}

static bool lease_lost(struct why *w)
{
    int64_t stale = stale_ms(w);
    const char *holder = json_str_at(w->facts->lease, "spec", "holderIdentity", NULL);

    if (stale < 0)
        return false;
    return why_say(w, logs(w),
                   "No controller works on %s: its lease %s/%s was last renewed %s ago%s%s, so "
                   "nothing moves, and the traffic stays where it is. Look whether the controller "
                   "runs",
                   w->name, why_text(json_str_at(w->facts->lease, "metadata", "namespace", NULL)),
                   why_text(json_str_at(w->facts->lease, "metadata", "name", NULL)),
                   print_span(w->arena, stale), holder && *holder ? " by " : "", why_text(holder));
}

static bool no_controller(struct why *w)
{
    enum { PATIENCE_MS = 10000 };
    const char *made = json_str_at(w->facts->canary, "metadata", "creationTimestamp", NULL);
    const char *named = json_str_at(w->status, "controller", NULL);
    int64_t at;

    if (named && w->facts->no_lease)
        return why_say(w, logs(w),
                       "No controller works on %s: the lease %s of the one that drove it is gone. "
                       "Look whether a controller runs",
                       w->name, named);
    if (w->phase != PHASE_NONE || json_len(json_at(w->status, "conditions", NULL)) > 0)
        return false;
    if (!made || clock_parse(made, &at, NULL) != ERR_OK || w->facts->now_ms - at < PATIENCE_MS)
        return false;
    return why_say(w, logs(w),
                   "No controller has looked at %s since it was made %s ago: none runs, or none "
                   "looks after the namespace %s",
                   w->name, print_age(w->arena, made, w->facts->now_ms), w->namespace_);
}

/* Its plan lies in another cluster, which who asks here may not know. */
static bool held_by_plan(struct why *w)
{
    struct json_object *notes = json_at(w->facts->canary, "metadata", "annotations", NULL);
    const char *plan = print_clean(w->arena, json_str_at(notes, WAVES_HELD_BY, NULL));
    const char *slash = strchr(plan, '/');

    if (!slash || !json_bool_at(w->spec, false, "suspend", NULL))
        return false;
    return why_say(
        w,
        arena_printf(w->arena, "%s why plan/%s -n %.*s", w->program, slash + 1, (int)(slash - plan),
                     plan),
        "%s is held by the ReleasePlan %s of the management cluster of its fleet: its turn has not "
        "come, and nothing begins here before. It goes on by itself when the waves before its own "
        "have promoted their revision, with what soaks and gates are between them; asked there, "
        "with the kubeconfig of that cluster, why says what they wait for. To clear spec.suspend "
        "here does not help: the plan holds it again",
        w->name, plan);
}

static bool suspended(struct why *w)
{
    struct json_object *condition = why_condition(w, "Suspended", "True");

    if (!json_bool_at(w->spec, false, "suspend", NULL))
        return false;
    return why_say(
        w,
        why_kubectl(w, "patch canary %s --type merge -p '{\"spec\":{\"suspend\":false}}'", w->name),
        "%s is suspended%s%s: spec.suspend is true, so no release begins or goes on", w->name,
        condition ? ", for " : "", condition ? why_since(w, condition) : "");
}

static bool paused(struct why *w)
{
    struct json_object *paused_ = json_at(w->status, "paused", NULL);
    const char *reason = json_str_at(paused_, "why", NULL);

    if (!paused_)
        return false;
    return why_say(
        w, why_ctl(w, "resume"),
        "%s has paused the release of %s, %s ago%s%s: no step is made, while its checks go on",
        print_clean(w->arena, json_str_at(paused_, "by", NULL)), w->name,
        print_age(w->arena, json_str_at(paused_, "since", NULL), w->facts->now_ms),
        reason && *reason ? ", saying " : "", print_clean(w->arena, reason));
}

const struct why_situation why_control[] = {{"deleting", deleting},
                                            {"lease-lost", lease_lost},
                                            {"no-controller", no_controller},
                                            {"held-by-plan", held_by_plan},
                                            {"suspended", suspended},
                                            {"paused", paused},
                                            {0}};
