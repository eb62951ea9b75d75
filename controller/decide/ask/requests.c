/*
 * Metrics may be good for requests that are no user's: probes, or a load test of the Service. Where an
 * older route takes the requests that the Canary's route is meant for, or a label of the mesh is wrong,
 * the canary gets none, and a bad revision would be promoted on nothing. (Flagger promotes it, unless a
 * built-in metric is asked, which has no values then.) So before a promotion the mesh is asked by its
 * built-in metrics for the requests of both sides, where no such metric is checked anyway. A canary
 * without any, when it should have had some by its share, holds the release (onNoRequests). What the
 * mesh does not count, or nobody can be asked for, is not known, and nothing follows from it.
 */
#include "decide/ask/requests.h"

#include <string.h>

#include "decide/ask/unmeasured.h"
#include "decide/release/condition.h"
#include "metric/family.h"
#include "metric/render.h"

/* WINDOW_S: at least so long, for servers that scrape rarely. ENOUGH: requests that the canary should
 * have had; by chance it gets none of so many once in 20,000 times. */
enum { WINDOW_S = 180, SECOND_MS = 1000, WHOLE = 100, HALF = 50, ENOUGH = 10 };

/* A built-in metric that has no values is told by itself. */
static bool is_checked_anyway(const struct release *r)
{
    for (int i = 0; i < r->canary->analysis.n_metrics; i++) {
        const struct canary_metric *metric = &r->canary->analysis.metrics[i];
        if (canary_metric_is_builtin(metric) && metric->no_data != POLICY_PASS)
            return true;
    }
    return false;
}

/* The step is a promotion, of a canary that is given requests. */
static bool is_promotion(const struct release *r)
{
    if (!r->router->weighted || r->weights.canary == 0)
        return false;
    if (r->strategy == STRATEGY_CANARY)
        return r->weights.canary >= r->canary->analysis.max_weight;
    return r->canary->status.iterations >= r->iterations;
}

static int64_t interval_s(const struct release *r)
{
    return tick_interval_ms(r->tick) / SECOND_MS;
}

static int64_t window_s(const struct release *r)
{
    return 2 * interval_s(r) > WINDOW_S ? 2 * interval_s(r) : WINDOW_S;
}

/* How many a side has had in the window; below 0: that is not known. False: not asked yet. */
static bool count(struct release *r, enum side side, double *out)
{
    struct arena *arena = r->tick->arena;
    const struct metric_family *family = metric_family_find(r->router->metric_family);
    const struct metric_count what = {.kind = METRIC_SUCCESS_RATE, .primary = side == SIDE_PRIMARY};
    struct render_model model =
        render_model_of(r->canary, arena_printf(arena, "%llds", (long long)window_s(r)), NULL);
    struct metric_question question = {
        .id = side == SIDE_PRIMARY ? "requests.primary" : "requests.canary",
        .backend = "prometheus",
        .address = r->canary->metrics_server ? r->canary->metrics_server
                                             : r->tick->settings->metrics_server,
        .interval_ms = window_s(r) * SECOND_MS};
    const struct metric_answer *answer;
    struct errinfo ignored;

    *out = -1;
    model.plain_words = family->plain_words;
    model.pods = arena_printf(arena, "%s%s%s", r->canary->target.name,
                              side == SIDE_PRIMARY ? "-primary" : "", r->target->pod_suffix);
    if (render_query(arena, metric_family_count_query(arena, family, &what), &model,
                     &question.query, &ignored) != ERR_OK)
        return true;
    if (!need_metric(r->tick, &question, &answer))
        return false;
    if (answer->outcome == METRIC_VALUE)
        *out = answer->value;
    else if (answer->outcome == METRIC_NO_VALUES)
        *out = 0; /* no series is no request */
    return true;
}

/* Of what the primary has had, what the canary should have had since the last step. */
static double expected(const struct release *r, double primary)
{
    int weight = r->weights.canary;
    double ratio = weight >= HALF ? 1 : (double)weight / (WHOLE - weight);

    return primary * ratio * (double)interval_s(r) / (double)window_s(r);
}

/* In an A/B test there may be no such request: the release goes on, which is told. */
static enum verdict tell(struct release *r, const char *text)
{
    if (r->phase == PHASE_WaitingPromotion)
        return VERDICT_GO;
    release_warn(r, "%s; the release goes on", text);
    plan_alert(r->tick, "warn", false, "The canary has had no request")->reason = text;
    return VERDICT_GO;
}

enum verdict requests_check(struct release *r)
{
    const struct metric_family *family = metric_family_find(r->router->metric_family);
    enum canary_policy policy = r->canary->analysis.on_no_requests;
    double canary, primary;

    if (policy == POLICY_PASS || !is_promotion(r) || is_checked_anyway(r) || !family ||
        metric_family_incomparable(r->tick->arena, family, METRIC_SUCCESS_RATE))
        return VERDICT_GO;
    bool known = count(r, SIDE_CANARY, &canary);
    if (!count(r, SIDE_PRIMARY, &primary) || !known)
        return VERDICT_NEED_FACTS;
    bool taken = condition_is_set(r, CONDITION_FIRST);
    if (canary != 0 || primary < 0 || (!taken && expected(r, primary) < ENOUGH))
        return VERDICT_GO;
    const char *text = arena_printf(
        r->tick->arena,
        "Halt %s advancement, its canary has had no request of its own for %llds, %s: what its "
        "checks measured says nothing of it",
        release_canary(r), (long long)window_s(r),
        primary > 0 ? arena_printf(r->tick->arena, "the primary %.0f", primary)
                    : "an older route takes them (RouteFirst)");
    if (r->weights.matched)
        return tell(r, text);
    return metrics_unmeasured(r, policy, "NoRequests", "%s", text);
}
