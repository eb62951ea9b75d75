/*
 * spec.analysis.judge (decide/RULES.md §16): between the steps the canary's requests are counted
 * beside the primary's; one that is worse is rolled back at once. A step is made when the evidence
 * is enough.
 */
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "decide/act/rollback.h"
#include "decide/ask/counts.h"
#include "decide/release/condition.h"
#include "decide/release/judged.h"
#include "decide/release/release.h"
#include "decide/release/status.h"
#include "decide/release/steering.h"
#include "decide/rules.h"

/* LATE_S: a look ends so long ago, for samples come late. PLAIN_S: so many are said as seconds. PAST:
 * looks at the primary before the release, of one metric; PAST_OF_ALL: of all metrics together. */
enum { SECOND_MS = 1000, MS_NS = 1000000, LATE_S = 3, PLAIN_S = 120, PAST = 6, PAST_OF_ALL = 12 };

static const char undecided[] = "Undecided", waits_on[] = "Inconclusive";

static bool is_judged(const struct release *r)
{
    return r->canary->analysis.judge.given && !r->canary->skip_analysis &&
           !steering_ends_analysis(r);
}

/* --- what is looked at */

static enum verdict read_judged(struct release *r)
{
    int metrics[JUDGED_METRICS], n = 0;

    for (int i = 0; i < r->canary->analysis.n_metrics && n < JUDGED_METRICS; i++) {
        enum verdict verdict = counts_judged(r, i);
        if (verdict == VERDICT_NEED_FACTS)
            return verdict;
        if (verdict == VERDICT_GO)
            metrics[n++] = i;
    }
    r->judged = judged_read(r, metrics, n);
    return VERDICT_GO;
}

static int ready_pods(struct release *r, enum side side)
{
    const char *why;

    if (release_ready(r, side, &why) != READY)
        return 0;
    return r->target->available ? release_available(r, side) : 1;
}

/* Pods that have come or gone, or were not ready for a while, answer otherwise than those before:
 * the time in which both sides are the same begins anew. */
static void follow_pods(struct release *r)
{
    struct judged *judged = r->judged;
    bool same = judged->since_ms > 0 && judged->since_ms <= r->tick->now_ms;

    for (int side = 0; side < 2; side++) {
        int ready = ready_pods(r, (enum side)side);
        same = same && judged->pods[side] == ready;
        judged->pods[side] = ready;
    }
    if (!same)
        judged->since_ms = r->tick->now_ms / SECOND_MS * SECOND_MS;
}

/* At each step the requests of the canary are counted anew. */
static void follow_step(struct release *r)
{
    const char *step = arena_printf(r->tick->arena, "%d/%d", r->canary->status.canary_weight,
                                    r->canary->status.iterations);

    if (strcmp(step, r->judged->step) == 0)
        return;
    r->judged->step = step;
    for (int i = 0; i < r->judged->n; i++)
        r->judged->metrics[i].from = r->judged->metrics[i].evidence.canary.total;
}

/* --- one look */

/* Why the requests of this window say nothing of the revisions; NULL: they do. */
static const char *guard_window(struct release *r, int64_t begin_s)
{
    const struct judged *judged = r->judged;
    int64_t from_ms = judged->since_ms + r->canary->analysis.judge.warm_up_ms;
    char text[DURATION_TEXT];

    for (int side = 0; side < 2; side++) {
        if (judged->pods[side] == 0)
            return arena_printf(r->tick->arena, "not counted: the %s is not ready",
                                side == SIDE_PRIMARY ? "primary" : "canary");
    }
    if (begin_s * SECOND_MS >= from_ms)
        return NULL;
    return arena_printf(r->tick->arena,
                        "not counted: the ready pods are others than %s before (warmUp)",
                        duration_format(r->canary->analysis.judge.warm_up_ms * MS_NS, text));
}

static void learn(struct release *r, struct judged_metric *metric,
                  const struct counts_window *window, const struct counts *counts)
{
    judge_look(&metric->evidence, &metric->policy, counts->canary, counts->primary);
    judged_keep(r, metric, window->end_s - window->length_s, window->end_s, counts->canary,
                counts->primary);
    metric->bad = counts->bad;
}

/* GO: done, or not now. The window that could not be counted stays open: the next look asks for all
 * of it. */
static enum verdict look(struct release *r, struct judged_metric *metric, int64_t end_s)
{
    const struct counts_window window = {.end_s = end_s, .length_s = end_s - metric->counted_s};
    struct counts counts = {0};
    const char *guarded = guard_window(r, metric->counted_s);

    if (guarded) {
        metric->counted_s = end_s;
        metric->says = guarded;
        return VERDICT_GO;
    }
    enum verdict verdict = counts_ask(r, metric->index, &window, &counts);
    if (verdict == VERDICT_NEED_FACTS)
        return verdict;
    if (verdict == VERDICT_STOP) {
        metric->says = arena_printf(r->tick->arena, "not counted yet: %s", counts.why);
        return VERDICT_GO;
    }
    learn(r, metric, &window, &counts);
    metric->counted_s = end_s;
    if (metric->first_s == 0 && counts.canary.total > 0)
        metric->first_s = end_s - window.length_s;
    metric->says = judge_sentence(r->tick->arena, &metric->evidence, &metric->policy, counts.bad);
    return VERDICT_GO;
}

/*
 * The first look is at the primary alone, at a few windows before this one: what it teaches of how bad
 * requests are spread makes the canary's first requests say more, so that fewer users meet one that
 * is bad (judge/spread.h). What cannot be had of it is done without.
 */
static enum verdict look_back(struct release *r, struct judged_metric *metric, int64_t end_s)
{
    int64_t every_s = r->canary->analysis.judge.every_ms / SECOND_MS;
    int n = r->judged->n * PAST > PAST_OF_ALL ? PAST_OF_ALL / r->judged->n : PAST;
    struct counts_window windows[PAST] = {0};
    struct counts counts[PAST] = {0};
    enum verdict verdicts[PAST], verdict = VERDICT_GO;

    if (r->judged->pods[SIDE_PRIMARY] == 0)
        n = 0;
    /* all are asked before the first is waited for */
    for (int i = 0; i < n; i++) {
        windows[i] = (struct counts_window){
            .end_s = end_s - (n - 1 - i) * every_s, .length_s = every_s, .past = i + 1};
        verdicts[i] = counts_ask(r, metric->index, &windows[i], &counts[i]);
        verdict = verdicts[i] == VERDICT_NEED_FACTS ? verdicts[i] : verdict;
    }
    for (int i = 0; verdict == VERDICT_GO && i < n; i++) {
        if (verdicts[i] == VERDICT_GO && counts[i].primary.total > 0)
            learn(r, metric, &windows[i], &counts[i]);
    }
    return verdict;
}

/* One look at each metric whose time has come. */
static enum verdict look_at_all(struct release *r)
{
    int64_t every_s = r->canary->analysis.judge.every_ms / SECOND_MS;
    int64_t end_s = r->tick->now_ms / SECOND_MS - LATE_S, next_s = every_s;
    enum verdict verdict = VERDICT_GO;

    for (int i = 0; i < r->judged->n; i++) {
        struct judged_metric *metric = &r->judged->metrics[i];
        int64_t left = metric->counted_s + every_s - end_s;
        if (metric->counted_s == 0 || metric->counted_s > end_s) {
            /* the first window begins; or a clock was set back */
            enum verdict one = metric->looks.n == 0 ? look_back(r, metric, end_s) : VERDICT_GO;
            verdict = one != VERDICT_GO ? one : verdict;
            metric->counted_s = end_s;
        } else if (left <= 0) {
            enum verdict one = look(r, metric, end_s);
            verdict = one != VERDICT_GO ? one : verdict;
        } else if (left < next_s) {
            next_s = left;
        }
    }
    release_wake(r, next_s * SECOND_MS);
    return verdict;
}

/* --- what follows from it */

static const struct judged_metric *worse_one(const struct judged *judged)
{
    for (int i = 0; i < judged->n; i++) {
        if (judged_verdict(&judged->metrics[i]) == JUDGE_WORSE)
            return &judged->metrics[i];
    }
    return NULL;
}

/* From the first requests of the canary that were counted to the look that was an alarm: the same,
 * however long the rollback waits for the primary. */
static const char *after(struct release *r, const struct judged_metric *metric)
{
    int64_t seconds = metric->counted_s + LATE_S - metric->first_s;
    char text[DURATION_TEXT];

    if (metric->first_s == 0 || seconds <= 0)
        return "";
    if (seconds <= PLAIN_S)
        return arena_printf(r->tick->arena, "; rolled back after %lld s", (long long)seconds);
    return arena_printf(r->tick->arena, "; rolled back after %s",
                        duration_format(seconds * SECOND_MS * MS_NS, text));
}

static enum verdict alarm(struct release *r, const struct judged_metric *metric)
{
    const char *says =
        arena_printf(r->tick->arena, "%s: %s%s", metric->name,
                     metric->says ? metric->says : "worse than the primary", after(r, metric));

    (void)condition_set(r, CONDITION_CHECKS, "Worse", says);
    release_warn(r, "Rolling back %s, the canary is worse than the primary: %s", release_canary(r),
                 says);
    plan_alert(r->tick, "error", false, "The canary is worse than the primary")->reason = says;
    return rollback_run(r, false);
}

enum verdict looks_take(struct release *r)
{
    if (!is_judged(r))
        return VERDICT_GO;
    enum verdict verdict = read_judged(r);
    if (verdict != VERDICT_GO)
        return verdict;
    follow_pods(r);
    follow_step(r);
    /* an alarm whose rollback was cut off is one */
    const struct judged_metric *worse = worse_one(r->judged);
    if (!worse) {
        verdict = look_at_all(r);
        worse = verdict == VERDICT_GO ? worse_one(r->judged) : NULL;
    }
    if (verdict != VERDICT_GO)
        return verdict;
    judged_write(r, r->judged);
    return worse ? alarm(r, worse) : VERDICT_GO;
}

/* --- is it enough for a step? */

/* The first metric that says too little; NULL: none. */
static const struct judged_metric *silent_one(const struct release *r)
{
    for (int i = 0; i < r->judged->n; i++) {
        if (judged_is_silent(&r->judged->metrics[i], &r->canary->analysis.judge))
            return &r->judged->metrics[i];
    }
    return NULL;
}

static const char *too_little(struct release *r, const struct judged_metric *metric)
{
    return arena_printf(
        r->tick->arena,
        "%s has seen %.0f requests of the canary since the last step, of the %lld that a step "
        "needs (minRequests)%s%s",
        metric->name, judged_requests(metric), (long long)r->canary->analysis.judge.min_requests,
        metric->says ? "; " : "", metric->says ? metric->says : "");
}

static enum verdict wait_for_more(struct release *r, const char *reason, const char *text)
{
    if (!condition_has_reason(r, CONDITION_JUDGED, reason))
        release_warn(r, "%s", text);
    (void)condition_set(r, CONDITION_JUDGED, reason, text);
    return VERDICT_STOP;
}

/* maxWait is over. */
static enum verdict conclude(struct release *r, const char *silence)
{
    char lasted[DURATION_TEXT];
    const char *text = arena_printf(
        r->tick->arena, "Too little traffic to judge %s for %s: %s", release_canary(r),
        duration_format(r->canary->analysis.judge.max_wait_ms * MS_NS, lasted), silence);

    switch (r->canary->analysis.judge.on_inconclusive) {
    case INCONCLUSIVE_PROMOTE:
        condition_clear(r, CONDITION_JUDGED);
        release_warn(r, "%s; the step is made without a verdict (onInconclusive)", text);
        return VERDICT_GO;
    case INCONCLUSIVE_ROLLBACK:
        (void)condition_set(r, CONDITION_CHECKS, waits_on, text);
        release_warn(r, "Rolling back %s, it cannot be judged: %s", release_canary(r), text);
        plan_alert(r->tick, "error", false, "Too little traffic to judge the canary")->reason =
            text;
        return rollback_run(r, false);
    case INCONCLUSIVE_WAIT:
        break;
    }
    return wait_for_more(r, waits_on, text);
}

enum verdict looks_allow(struct release *r)
{
    int64_t since;

    if (!r->judged || release_is_first_step(r))
        return VERDICT_GO;
    const struct judged_metric *silent = silent_one(r);
    if (!silent) {
        condition_clear(r, CONDITION_JUDGED);
        return VERDICT_GO;
    }
    bool waited = condition_since(r, CONDITION_JUDGED, undecided, &since) ||
                  condition_since(r, CONDITION_JUDGED, waits_on, &since);
    if (waited && r->tick->now_ms - since >= r->canary->analysis.judge.max_wait_ms)
        return conclude(r, too_little(r, silent));
    return wait_for_more(r, undecided,
                         arena_printf(r->tick->arena, "The step of %s waits: %s", release_canary(r),
                                      too_little(r, silent)));
}
