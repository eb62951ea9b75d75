/* Metrics, hooks and routes. */
#include <string.h>

#include "ctl/why/parts.h"

static const char *failed_text(struct why *w)
{
    long long failed = json_int_at(w->status, 0, "failedChecks", NULL);
    long long threshold = json_int_at(w->spec, 1, "analysis", "threshold", NULL);

    if (w->phase == PHASE_Failed)
        return "";
    return arena_printf(w->arena,
                        ". %lld of %lld failed checks are counted; at %lld it is rolled back",
                        failed, threshold, threshold);
}

/* The check that failed last, if its reason is this; NULL: it did not, or the release is over. */
static struct json_object *failed_check(const struct why *w, const char *reason)
{
    struct json_object *condition = why_condition(w, "ChecksPassed", "False");

    if (!condition || w->phase == PHASE_Succeeded || w->phase == PHASE_Initialized ||
        w->phase == PHASE_Failed)
        return NULL;
    return why_is(json_str_at(condition, "reason", NULL), reason) ? condition : NULL;
}

static bool routes_pending(struct why *w)
{
    struct json_object *condition = why_condition(w, "RoutesSettled", "False");

    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "describe canary %s", w->name),
                   "The mesh has not accepted the routes of %s, for %s: %s. No step is made before "
                   "that; look at the status of the route and at the mesh's own controller",
                   w->name, why_since(w, condition), why_message(w, condition));
}

static bool stalled(struct why *w)
{
    struct json_object *condition = why_condition(w, "Advancing", "False");

    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "describe canary %s", w->name),
                   "The release of %s has stalled, for %s: %s. See whether something else writes "
                   "its route",
                   w->name, why_since(w, condition), why_message(w, condition));
}

static bool hook_failing(struct why *w)
{
    struct json_object *condition = failed_check(w, "HookFailed");
    const char *message = why_message(w, condition);
    bool slow = strstr(message, "timed out") || strstr(message, "timeout") ||
                strstr(message, "answer within");

    if (!condition)
        return false;
    return why_say(w,
                   why_kubectl(w, "get canary %s -o jsonpath='{.spec.analysis.webhooks}'", w->name),
                   "A webhook of %s %s, for %s: %s%s", w->name, slow ? "is too slow" : "fails",
                   why_since(w, condition), message, failed_text(w));
}

static bool no_metrics(struct why *w)
{
    struct json_object *condition = failed_check(w, "NoValues");

    if (!condition)
        return false;
    return why_say(
        w, why_kubectl(w, "get canary %s -o jsonpath='{.spec.analysis.metrics}'", w->name),
        "A metric of %s has no values, for %s: %s. No traffic reaches the canary, or the "
        "query asks for another workload%s",
        w->name, why_since(w, condition), why_message(w, condition), failed_text(w));
}

static bool metric_server_down(struct why *w)
{
    struct json_object *condition = failed_check(w, "QueryFailed");

    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "get canary %s -o jsonpath='{.spec.metricsServer}'", w->name),
                   "A metric server does not answer the queries of %s, for %s: %s%s", w->name,
                   why_since(w, condition), why_message(w, condition), failed_text(w));
}

static bool metric_unusable(struct why *w)
{
    struct json_object *condition = failed_check(w, "NotUsable");

    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "get metrictemplates"),
                   "A metric of %s cannot be asked for, for %s: %s%s", w->name,
                   why_since(w, condition), why_message(w, condition), failed_text(w));
}

static bool metrics_held(struct why *w)
{
    struct json_object *condition = why_condition(w, "Measured", "False");

    if (!condition)
        return false;
    if (why_is(json_str_at(condition, "reason", NULL), "Unreachable"))
        return why_say(
            w, arena_printf(w->arena, "%s abort %s -n %s", w->program, w->name, w->namespace_),
            "%s holds its step until its metrics can be asked, for %s: %s. It goes on by "
            "itself then; to give the release up instead:",
            w->name, why_since(w, condition), why_message(w, condition));
    return why_say(w,
                   why_kubectl(w, "get canary %s -o jsonpath='{.spec.analysis.metrics}'", w->name),
                   "%s holds its step until its metrics say something again, for %s: %s", w->name,
                   why_since(w, condition), why_message(w, condition));
}

static bool judge_undecided(struct why *w)
{
    struct json_object *condition = why_condition(w, "Judged", "False");

    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "get canary %s -o jsonpath='{.status.judge}'", w->name),
                   "%s waits until its canary has had enough requests to be judged, for %s: %s",
                   w->name, why_since(w, condition), why_message(w, condition));
}

static bool judged_worse(struct why *w)
{
    struct json_object *condition = failed_check(w, "Worse");

    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "get canary %s -o jsonpath='{.status.judge}'", w->name),
                   "The canary of %s is worse than its primary, and is being rolled back, for %s: "
                   "%s",
                   w->name, why_since(w, condition), why_message(w, condition));
}

static bool out_of_range(struct why *w)
{
    struct json_object *condition = failed_check(w, "OutOfRange");

    if (!condition)
        return false;
    return why_say(w, arena_printf(w->arena, "%s get %s -n %s", w->program, w->name, w->namespace_),
                   "The last check of %s was bad, %s ago: %s%s", w->name, why_since(w, condition),
                   why_message(w, condition), failed_text(w));
}

const struct why_situation why_checks[] = {{"routes-pending", routes_pending},
                                           {"stalled", stalled},
                                           {"metrics-held", metrics_held},
                                           {"judged-worse", judged_worse},
                                           {"hook-failing", hook_failing},
                                           {"no-metrics", no_metrics},
                                           {"metric-server-down", metric_server_down},
                                           {"metric-unusable", metric_unusable},
                                           {"out-of-range", out_of_range},
                                           {"judge-undecided", judge_undecided},
                                           {0}};
