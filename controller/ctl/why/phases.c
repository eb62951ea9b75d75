/* Nothing is in the way: where the release stands, and what comes next. */
#include <string.h>

#include "ctl/glance.h"
#include "ctl/why/parts.h"

static const char *since(struct why *w)
{
    return print_age(w->arena, json_str_at(w->status, "lastTransitionTime", NULL),
                     w->facts->now_ms);
}

/* Pods of the target that nobody is sent to. */
static bool target_idle(struct why *w)
{
    struct json_object *condition = why_condition(w, "TargetIdle", "False");

    if (!condition || (w->phase != PHASE_Succeeded && w->phase != PHASE_Initialized))
        return false;
    return why_say(w, why_kubectl(w, "get deployment,hpa"), "Nothing is released, for %s: %s",
                   why_since(w, condition), why_message(w, condition));
}

static bool failed(struct why *w)
{
    const char *reason =
        json_str_at(json_elem(json_at(w->status, "history", NULL), 0), "reason", NULL);
    const char *revision = why_text(json_str_at(w->status, "lastAppliedSpec", NULL));
    const char *idle = why_message(w, why_condition(w, "TargetIdle", "False"));

    if (w->phase != PHASE_Failed || (w->facts->live && strcmp(w->facts->live, revision) != 0))
        return false;
    if (!reason)
        reason = why_message(w, why_condition(w, "ChecksPassed", "False"));
    return why_say(w, why_ctl(w, "restart"),
                   "Revision %s of %s was rolled back %s ago%s%s. All traffic is on the primary; "
                   "push another revision, or have this one analysed again%s%s",
                   revision, w->name, since(w), *reason ? ": " : "", print_clean(w->arena, reason),
                   *idle ? ". Also: " : "", idle);
}

/* What a step of the primary waits for. */
static bool primary_waits(struct why *w)
{
    static const char *const types[] = {"PrimaryWhole", "PrimaryScaled", "PrimaryServes",
                                        "PortsFollowed", "PrimaryRenewed"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct json_object *condition = why_condition(w, types[i], "False");
        if (condition)
            return why_say(w, why_kubectl(w, "get pods"), "%s waits, for %s: %s", w->name,
                           why_since(w, condition), why_message(w, condition));
    }
    return false;
}

/* The next step waits for pods of the canary. */
static bool share_waits(struct why *w)
{
    struct json_object *condition = why_condition(w, "CanaryScaled", "False");

    return condition &&
           why_say(w, why_kubectl(w, "get pods"), "The next step of %s waits for pods, for %s: %s",
                   w->name, why_since(w, condition), why_message(w, condition));
}

static bool not_begun(struct why *w)
{
    const char *applied = why_text(json_str_at(w->status, "lastAppliedSpec", NULL));

    if (why_under_way(w) || !w->facts->live || !*applied || strcmp(w->facts->live, applied) == 0)
        return false;
    return why_say(w, why_ctl(w, "get"),
                   "The target of %s has revision %s, and the release of it has not begun: the "
                   "controller has not come to it yet, or waits for the primary",
                   w->name, w->facts->live);
}

/* Of the release that runs, or else of the last one: who has let it through. */
static const char *approvals(struct why *w)
{
    struct json_object *release = json_at(w->status, "release", NULL);
    const char *text;

    if (!release)
        release = json_elem(json_at(w->status, "history", NULL), 0);
    text = glance_approvals(w->arena, release);
    return *text ? arena_printf(w->arena, ". At its gates: %s", text) : "";
}

static bool at_rest(struct why *w)
{
    if (w->phase != PHASE_Succeeded && w->phase != PHASE_Initialized)
        return false;
    return why_say(w, NULL,
                   "Nothing holds %s: revision %s is promoted, for %s, and a new one begins a "
                   "release%s",
                   w->name, why_text(json_str_at(w->status, "lastAppliedSpec", NULL)), since(w),
                   w->phase == PHASE_Succeeded ? approvals(w) : "");
}

static bool under_way(struct why *w)
{
    const char *interval = json_str_at(w->spec, "analysis", "interval", NULL);

    if (w->phase == PHASE_NONE)
        return why_say(w, NULL, "%s is new: a controller has not looked at it yet", w->name);
    return why_say(
        w, arena_printf(w->arena, "%s get %s -n %s -w", w->program, w->name, w->namespace_),
        "Nothing holds %s: it is %s at %lld percent, its last change was %s ago, and "
        "it goes on every %s%s",
        w->name, phase_name(w->phase), (long long)json_int_at(w->status, 0, "canaryWeight", NULL),
        since(w), interval ? interval : "1m", approvals(w));
}

static bool companions_unfit(struct why *w)
{
    struct json_object *condition = why_condition(w, "CompanionsFit", "False");

    if (!condition || why_under_way(w))
        return false;
    return why_say(w, why_kubectl(w, "get poddisruptionbudgets,networkpolicies"),
                   "Nothing holds %s up, but for %s: %s", w->name, why_since(w, condition),
                   why_message(w, condition));
}

static bool companion_uncopied(struct why *w)
{
    struct json_object *condition = why_condition(w, "CompanionsCopied", "False");

    if (!condition || why_under_way(w))
        return false;
    return why_say(w, why_kubectl(w, "edit canary %s", w->name),
                   "Nothing holds %s up, but for %s: %s", w->name, why_since(w, condition),
                   why_message(w, condition));
}

static bool route_contested(struct why *w)
{
    struct json_object *condition = why_condition(w, "RouteFirst", "False");

    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "get canary %s -o jsonpath='{.spec.service}'", w->name),
                   "Nothing holds %s up, but for %s: %s", w->name, why_since(w, condition),
                   why_message(w, condition));
}

/* Told of a primary that serves; before it is made, the same condition holds everything. */
static bool labels_shared(struct why *w)
{
    struct json_object *condition = why_condition(w, "PodsOwned", "False");
    const char *reason = json_str_at(condition, "reason", NULL);
    bool by_pods = reason && strcmp(reason, "PodsOfOthers") == 0;

    if (!condition || why_under_way(w))
        return false;
    return why_say(w,
                   by_pods ? why_kubectl(w, "get pods --show-labels") : why_ctl(w, "renew-primary"),
                   "Nothing holds %s up, but for %s: %s", w->name, why_since(w, condition),
                   why_message(w, condition));
}

static bool outrun(struct why *w)
{
    struct json_object *condition = why_condition(w, "Outrun", "True");

    if (!condition)
        return false;
    return why_say(
        w, arena_printf(w->arena, "%s history %s -n %s", w->program, w->name, w->namespace_),
        "Nothing holds %s up, but no release of it has come to its end, for %s: %s", w->name,
        why_since(w, condition), why_message(w, condition));
}

static bool superseded(struct why *w)
{
    struct json_object *condition = why_condition(w, "Superseded", "True");

    if (!condition)
        return false;
    return why_say(w,
                   arena_printf(w->arena, "%s abort %s -n %s", w->program, w->name, w->namespace_),
                   "What was pushed last for %s waits, for %s: %s", w->name,
                   why_since(w, condition), why_message(w, condition));
}

const struct why_situation why_phases[] = {{"failed", failed},
                                           {"share-waits", share_waits},
                                           {"outrun", outrun},
                                           {"primary-waits", primary_waits},
                                           {"superseded", superseded},
                                           {"not-begun", not_begun},
                                           {"target-idle", target_idle},
                                           {"labels-shared", labels_shared},
                                           {"companion-uncopied", companion_uncopied},
                                           {"route-contested", route_contested},
                                           {"companions-unfit", companions_unfit},
                                           {"at-rest", at_rest},
                                           {"under-way", under_way},
                                           {0}};
