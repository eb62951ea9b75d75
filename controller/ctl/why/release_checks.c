/* Metrics, hooks and routes. */
#include <string.h>

#include "ctl/read.h"
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

/* The check that failed last, if this is its reason; NULL if none failed, or the release is
 * over. */
static struct json_object *failed_check(const struct why *w, const char *reason)
{
    struct json_object *condition = why_condition(w, "ChecksPassed", "False");

    if (!condition || w->phase == PHASE_Succeeded || w->phase == PHASE_Initialized ||
        w->phase == PHASE_Failed)
        return NULL;
    return why_is(json_str_at(condition, "reason", NULL), reason) ? condition : NULL;
}

/* An object that users maintain is missing or wrong: the rules report which, and what it lacks. */
static bool routes_blocked(struct why *w)
{
    struct json_object *condition = why_condition(w, "RoutesSettled", "False");

    if (!condition || !why_is(json_str_at(condition, "reason", NULL), "RoutesBlocked"))
        return false;
    return why_say(w, why_kubectl(w, "describe canary %s", w->name),
                   "The routes of %s cannot be made, for %s: %s. It goes on by itself when that is "
                   "mended",
                   w->name, why_since(w, condition), why_message(w, condition));
}

static bool route_unfit(struct why *w)
{
    struct json_object *condition = why_condition(w, "RoutesSettled", "False");

    if (!condition || !why_is(json_str_at(condition, "reason", NULL), "RouteUnfit"))
        return false;
    return why_say(w,
                   why_kubectl(w, "get canary %s -o jsonpath={.spec.service.routeRefs}", w->name),
                   "A route that %s names and does not make cannot be written, for %s: %s. No step "
                   "is made before that; write the route as it says, or name another one",
                   w->name, why_since(w, condition), why_message(w, condition));
}

static bool route_replaced(struct why *w)
{
    struct json_object *condition = why_condition(w, "RouteReplaced", "False");

    return condition &&
           why_say(w, why_kubectl(w, "describe canary %s", w->name),
                   "A route that was made for %s before spec.service.routeRefs is still there, for "
                   "%s: %s. No release begins before it has gone, which is done by itself",
                   w->name, why_since(w, condition), why_message(w, condition));
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

static bool no_requests(struct why *w)
{
    struct json_object *condition = failed_check(w, "NoRequests");

    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "get canary %s -o jsonpath='{.spec.service}'", w->name),
                   "The canary of %s gets no requests, for %s: %s%s", w->name,
                   why_since(w, condition), why_message(w, condition), failed_text(w));
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
    if (why_is(json_str_at(condition, "reason", NULL), "LoadTestRuns"))
        return why_say(
            w, why_kubectl(w, "get canary %s -o jsonpath='{.spec.analysis.webhooks}'", w->name),
            "%s holds its step while its load test runs, for %s: %s", w->name,
            why_since(w, condition), why_message(w, condition));
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

static bool too_long(struct why *w)
{
    struct json_object *condition = failed_check(w, "DurationExceeded");

    if (!condition)
        return false;
    return why_say(w, why_kubectl(w, "get canary %s -o jsonpath='{.spec.analysis}'", w->name),
                   "The analysis of %s has lasted too long, and is being rolled back, for %s: %s",
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

static bool back_in_steps(struct why *w)
{
    struct json_object *condition = why_condition(w, "RolledBack", "False");
    const char *reason = why_message(w, why_condition(w, "ChecksPassed", "False"));

    return condition &&
           why_say(
               w, why_ctl(w, "abort"),
               "%s, for %s%s%s. All traffic goes back at once if the rollback is asked for again",
               why_message(w, condition), why_since(w, condition),
               *reason ? "; the last check: " : "", reason);
}

/* A rollback has started, whatever waits for it or held the step before. */
const struct why_situation why_verdicts[] = {
    {"judged-worse", judged_worse}, {"too-long", too_long}, {"back-in-steps", back_in_steps}, {0}};

const struct why_situation why_checks[] = {{"routes-blocked", routes_blocked},
                                           {"route-unfit", route_unfit},
                                           {"route-replaced", route_replaced},
                                           {"routes-pending", routes_pending},
                                           {"stalled", stalled},
                                           {"metrics-held", metrics_held},
                                           {"hook-failing", hook_failing},
                                           {"no-requests", no_requests},
                                           {"no-metrics", no_metrics},
                                           {"metric-server-down", metric_server_down},
                                           {"metric-unusable", metric_unusable},
                                           {"out-of-range", out_of_range},
                                           {"judge-undecided", judge_undecided},
                                           {0}};

/* --- gates: why one is closed, according to its own response */

/* The start of the hold by a gate, as far as the Canary shows it; NULL if no gate holds the
 * release. */
static struct json_object *closed_gate(const struct why *w)
{
    struct json_object *condition = why_condition(w, "Approved", "False");

    if (condition)
        return condition;
    if (w->phase == PHASE_Waiting || w->phase == PHASE_WaitingPromotion)
        condition = glance_condition(w->facts->canary, "Promoted");
    else
        return NULL;
    return condition ? condition : w->status; /* which also has a time */
}

static const char *gate_type(const struct why *w)
{
    struct json_object *condition = why_condition(w, "Approved", "False");

    if (w->phase == PHASE_Waiting)
        return "confirm-rollout";
    if (w->phase == PHASE_WaitingPromotion)
        return "confirm-promotion";
    return condition ? "confirm-traffic-increase" : "";
}

/* "the gate promote (confirm-promotion)" */
static const char *gate_name(struct why *w)
{
    struct json_object *hooks = json_at(w->spec, "analysis", "webhooks", NULL);
    const char *names = "";

    for (size_t i = 0; i < json_len(hooks); i++) {
        const char *name = json_str_at(json_elem(hooks, i), "name", NULL);
        if (name && why_is(json_str_at(json_elem(hooks, i), "type", NULL), gate_type(w)))
            names = arena_printf(w->arena, "%s%s%s", names, *names ? ", " : "", name);
    }
    return arena_printf(w->arena, "the gate %s (%s)", print_clean(w->arena, names), gate_type(w));
}

/* The last response of a gate's hook; NULL if there is none. */
static const char *said(struct why *w)
{
    struct json_object *hooks = json_at(w->status, "release", "hooks", NULL);

    for (size_t i = json_len(hooks); i > 0; i--) {
        struct json_object *hook = json_elem(hooks, i - 1);
        if (why_is(json_str_at(hook, "type", NULL), gate_type(w)) &&
            !json_bool_at(hook, true, "passed", NULL))
            return print_clean(w->arena, json_str_at(hook, "said", NULL));
    }
    return NULL;
}

static bool frozen(struct why *w)
{
    struct json_object *freeze = json_at(gate_of_kind(w->facts->gate, "gate"), "frozen", NULL);
    struct json_object *condition = closed_gate(w);
    const char *until = json_str_at(freeze, "until", NULL);
    long long id = json_int_at(freeze, 0, "id", NULL);

    if (!condition || !freeze)
        return false;
    return why_say(
        w, arena_printf(w->arena, "curl -X DELETE %s/v1/freezes/%lld", w->facts->gate_url, id),
        "A freeze holds %s at %s, for %s%s%s: %s. No approval passes while it holds%s", w->name,
        gate_name(w), why_since(w, condition), until ? ", until " : "", why_text(until),
        print_clean(w->arena, json_str_at(freeze, "reason", NULL)),
        until ? "; it ends by itself" : "");
}

static const char *approvers(struct why *w, struct json_object *policy)
{
    struct json_object *list = json_at(policy, "approvers", NULL);
    const char *names = "";

    for (size_t i = 0; i < json_len(list); i++)
        names = arena_printf(w->arena, "%s%s%s", names, i ? ", " : "",
                             print_clean(w->arena, json_object_get_string(json_elem(list, i))));
    return *names ? names : "whoever may open gates";
}

static bool quorum_missing(struct why *w)
{
    struct json_object *gate = gate_of_kind(w->facts->gate, "gate");
    struct json_object *policy = json_at(gate, "policy", NULL);
    struct json_object *condition = closed_gate(w);
    long long quorum = json_int_at(policy, 1, "quorum", NULL);

    if (!condition || quorum < 2)
        return false;
    return why_say(w, why_ctl(w, "approve"),
                   "%s waits at %s, for %s: %zu of %lld approvals are there. Those who may: %s",
                   w->name, gate_name(w), why_since(w, condition),
                   json_len(json_at(gate, "votes", NULL)), quorum, approvers(w, policy));
}

/* The gate did not respond: the refusal is not its own. */
static bool gate_silent(struct why *w)
{
    struct json_object *condition = closed_gate(w);
    const char *message = why_message(w, why_condition(w, "Approved", "False"));
    const char *answer = said(w);
    const char *unasked = strstr(message, "it could not be asked: ");
    bool refused = !w->facts->gate && w->facts->gate_trouble &&
                   strstr(w->facts->gate_trouble, "connection refused");

    if (!condition)
        return false;
    if (unasked)
        return why_say(w, why_kubectl(w, "get secrets"), "%s waits at %s, for %s, and %s", w->name,
                       gate_name(w), why_since(w, condition), unasked);
    if (answer && (strstr(answer, "giving up after") || strstr(answer, " answered 5")))
        return why_say(w, why_kubectl(w, "get canary %s -o yaml", w->name),
                       "%s waits at %s, for %s, but nobody answers there: %s. While that is so it "
                       "is closed to everybody",
                       w->name, gate_name(w), why_since(w, condition), answer);
    if (!refused)
        return false;
    return why_say(w, why_kubectl(w, "get canary %s -o yaml", w->name),
                   "%s waits at %s, for %s, but nobody answers there: %s", w->name, gate_name(w),
                   why_since(w, condition), w->facts->gate_trouble);
}

static bool gate_closed(struct why *w)
{
    struct json_object *condition = closed_gate(w);
    const char *message = why_message(w, why_condition(w, "Approved", "False"));
    const char *until = strstr(message, " until ");
    const char *trouble = w->facts->gate_trouble, *next = why_ctl(w, "approve");

    if (!condition)
        return false;
    if (w->facts->gate_asks_who) /* the API server would not pass it on */
        next =
            arena_printf(w->arena, "%s --gate %s --gate-token-file FILE", next, w->facts->gate_url);
    return why_say(w, next, "%s waits for a person to open %s, for %s%s. %s%s%s", w->name,
                   gate_name(w), why_since(w, condition), until ? until : "",
                   w->phase == PHASE_WaitingPromotion
                       ? "Its checks go on meanwhile, and a failed analysis still rolls back"
                   : w->phase == PHASE_Waiting ? "Nothing of the new revision runs before that"
                                               : "The traffic stays as it is",
                   trouble ? "; why it is closed is not known: " : "", why_text(trouble));
}

const struct why_situation why_gates[] = {{"frozen", frozen},
                                          {"quorum-missing", quorum_missing},
                                          {"gate-silent", gate_silent},
                                          {"gate-closed", gate_closed},
                                          {0}};
