/*
 * spec.analysis.judge (decide/RULES.md): between the steps, requests of the canary are counted
 * beside those of the primary, and numbers of both are compared; a worse canary is rolled back at
 * once. A step needs enough evidence.
 */
#include <string.h>

#include "base/clock.h"
#include "decide/bake.h"
#include "decide/compared.h"
#include "decide/condition.h"
#include "decide/counts.h"
#include "decide/history.h"
#include "decide/judged.h"
#include "decide/release.h"
#include "decide/rollback.h"
#include "decide/rules.h"
#include "decide/status.h"
#include "decide/steering.h"

/*
 * LATE_S: a sample ends this long ago, because metrics arrive late. PLAIN_S: durations up to this
 * are shown in seconds. BEFORE: samples of the primary taken before the release, per metric.
 */
enum { SECOND_MS = 1000, MS_NS = 1000000, LATE_S = 3, PLAIN_S = 120, BEFORE = 180 };

static const char undecided[] = "Undecided", waits_on[] = "Inconclusive";

static bool is_judged(const struct release *r)
{
    return r->canary->analysis.judge.given && !r->canary->skip_analysis &&
           !steering_ends_analysis(r);
}

/* --- the judged metrics */

static enum rule_result read_in_bake(struct judged *judged, struct release *r)
{
    enum rule_result verdict = RULE_CONTINUE;

    for (int i = 0; i < judged->n; i++) {
        struct judged_metric *metric = &judged->metrics[i];
        enum rule_result one = metric->kind == JUDGED_PAST && r->canary->analysis.bake.for_ms > 0
                                   ? compared_is_of_side(r, metric->index, &metric->in_bake)
                                   : RULE_CONTINUE;
        verdict = one != RULE_CONTINUE ? one : verdict;
    }
    return verdict;
}

static enum rule_result read_judged(struct release *r)
{
    int metrics[JUDGED_METRICS], n = 0;

    for (int i = 0; i < r->canary->analysis.n_metrics && n < JUDGED_METRICS; i++) {
        enum rule_result verdict = counts_judged(r, i);
        if (verdict == RULE_NEEDS_FACTS)
            return verdict;
        if (verdict == RULE_CONTINUE)
            metrics[n++] = i;
    }
    r->judged = judged_read(r, metrics, n);
    return read_in_bake(r->judged, r);
}

static int ready_pods(struct release *r, enum side side)
{
    const char *why;

    if (release_ready(r, side, &why) != READY)
        return 0;
    return r->target->available ? release_available(r, side) : 1;
}

/*
 * Pods that were replaced, added, removed or unready may answer differently: the time during which
 * both sides are unchanged restarts.
 */
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

/* Each step counts the requests of the canary anew. */
static void follow_step(struct release *r)
{
    const char *step = arena_printf(
        r->tick->arena, "%s/%d%s", weight_text(r->tick->arena, r->canary->status.canary_weight),
        r->canary->status.iterations, release_is_at_match(r) ? " of matches" : "");

    if (strcmp(step, r->judged->step) == 0)
        return;
    r->judged->step = step;
    for (int i = 0; i < r->judged->n; i++)
        r->judged->metrics[i].from += judged_requests(&r->judged->metrics[i]);
}

/* --- one sample */

static bool waits_for_bake(const struct release *r, const struct judged_metric *metric)
{
    return metric->in_bake && !release_canary_serves_all(r);
}

/* The running step does not check the metric, or it waits for the bake: its requests do not count,
 * and are not queried. */
static bool is_left_out(const struct release *r, const struct judged_metric *metric)
{
    return waits_for_bake(r, metric) || !release_checks(r, metric->name);
}

static const char *left_out_text(struct release *r, const struct judged_metric *metric)
{
    const struct canary_step *step = release_step(r);

    if (waits_for_bake(r, metric))
        return "not compared: the primary had all traffic in the last days, which the canary has "
               "in the bake";

    return arena_printf(r->tick->arena, "not counted: %s does not name it",
                        step ? arena_printf(r->tick->arena, "%s.checks", release_step_path(r, step))
                             : "spec.analysis.bake.metrics");
}

static bool is_number(const struct judged_metric *metric)
{
    return metric->kind == JUDGED_NUMBER || metric->kind == JUDGED_PAST;
}

/* The reason why the requests of this window say nothing about the revisions; NULL if they do. */
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

/* The query of a number looks as far back as it says, whatever the look before was: at first it sees
 * what was before the release, or before the bake that gives the canary all traffic. Pods that an autoscaler adds later are of the same revisions. */
static enum rule_result guard_query(struct release *r, const struct judged_metric *metric,
                                    int64_t end_s, const char **guarded)
{
    int64_t warm_up_ms = r->canary->analysis.judge.warm_up_ms, reach_ms, began_ms;
    bool baked = metric->in_bake && bake_runs_since(r, &began_ms);
    char reach[DURATION_TEXT], warm_up[DURATION_TEXT];
    enum rule_result verdict = compared_reach(r, metric->index, &reach_ms);

    if (verdict == RULE_NEEDS_FACTS || reach_ms == 0 ||
        (!baked && !history_analysis_began(r, &began_ms)) ||
        end_s * SECOND_MS - reach_ms >= began_ms + warm_up_ms)
        return verdict;
    *guarded = arena_printf(r->tick->arena,
                            "not compared: the query looks %s back, and the %s began less than %s "
                            "before that (warmUp)",
                            duration_format(reach_ms * MS_NS, reach), baked ? "bake" : "release",
                            duration_format(warm_up_ms * MS_NS, warm_up));
    return RULE_CONTINUE;
}

/* Unknown values: the look is left out. */
static enum rule_result look_at_numbers(struct release *r, struct judged_metric *metric,
                                        int64_t end_s)
{
    struct compared now = {0};
    bool known = metric->numbers.block > 0;
    enum rule_result verdict = compared_ask(r, metric->index, end_s, &now);

    if (verdict == RULE_NEEDS_FACTS)
        return verdict;
    if (verdict == RULE_DONE) {
        metric->says = arena_printf(r->tick->arena, "not compared: %s", now.why);
    } else {
        (void)judge_numbers_add(&metric->numbers, &metric->policy, now.canary, now.primary);
        if (known)
            judged_keep_look(r, metric, metric->counted_s, end_s,
                             (const double[LOOK_PAIR]){now.canary, now.primary}, LOOK_PAIR);
        else if (metric->numbers.block > 0)
            judged_know(metric, judge_numbers_write(r->tick->arena, &metric->numbers));
        metric->says = judge_numbers_sentence(r->tick->arena, &metric->numbers, &metric->policy);
        if (metric->first_s == 0)
            metric->first_s = metric->counted_s;
    }
    metric->counted_s = end_s;
    return RULE_CONTINUE;
}

/* Looks that one window of the query covers: of an interval that is not given, a minute is assumed,
 * as elsewhere. */
static double overlap_of(const struct release *r, int index)
{
    static const double MINUTE_MS = 60 * SECOND_MS;
    const struct canary_metric *metric = &r->canary->analysis.metrics[index];
    double window = metric->interval_ms > 0 ? (double)metric->interval_ms : MINUTE_MS;

    return window / (double)r->canary->analysis.judge.every_ms;
}

/* Handled like numbers of both sides. */
static enum rule_result look_at_past(struct release *r, struct judged_metric *metric, int64_t end_s)
{
    struct judge_past_look now;
    const char *why = NULL;
    enum rule_result verdict = compared_past_ask(r, metric->index, end_s, &now, &why);

    if (verdict == RULE_NEEDS_FACTS)
        return verdict;
    if (verdict == RULE_DONE) {
        metric->says = arena_printf(r->tick->arena, "not compared: %s", why);
    } else {
        (void)judge_past_add(&metric->past, &metric->policy, overlap_of(r, metric->index), &now);
        metric->says = judge_past_sentence(r->tick->arena, &metric->past, &metric->policy);
        if (metric->first_s == 0)
            metric->first_s = metric->counted_s;
    }
    metric->counted_s = end_s;
    return RULE_CONTINUE;
}

/* Keeps the look; the first one of all has chosen the bounds, and is no evidence. */
static void keep_latency(struct release *r, struct judged_metric *metric, int64_t end_s,
                         const struct histograms *now, bool known)
{
    double values[LOOK_VALUES];

    if (!known && metric->latency.n > 0) {
        judged_know(metric,
                    judge_latency_known_write(r->tick->arena, &metric->latency, now->unit_ms));
        return;
    }
    if (metric->latency.n == 0)
        return;
    int n = judge_latency_look(&metric->latency, &metric->policy, &now->canary, &now->primary,
                               values, metric->beyond);
    judged_keep_look(r, metric, metric->counted_s, end_s, values, n);
}

/* Handled like counts. */
static enum rule_result look_at_latency(struct release *r, struct judged_metric *metric,
                                        int64_t end_s)
{
    const struct counts_window window = {
        .end_s = end_s, .length_s = end_s - metric->counted_s, .native = metric->native};
    struct histograms now = {0};
    bool known = metric->latency.n > 0;
    enum rule_result verdict = counts_histograms(r, metric->index, &window, &now);

    if (verdict == RULE_NEEDS_FACTS)
        return verdict;
    if (verdict == RULE_DONE) {
        metric->says = arena_printf(r->tick->arena, "not counted yet: %s", now.why);
        return RULE_CONTINUE;
    }
    if (judge_latency_add(&metric->latency, &metric->policy, &now.canary, &now.primary))
        keep_latency(r, metric, end_s, &now, known);
    metric->says =
        judge_latency_sentence(r->tick->arena, &metric->latency, &metric->policy, now.unit_ms);
    if (metric->first_s == 0 && now.canary.n > 0 && now.canary.counts[now.canary.n - 1] > 0)
        metric->first_s = metric->counted_s;
    metric->counted_s = end_s;
    return RULE_CONTINUE;
}

/* CONTINUE: done, or not now. A window that could not be counted stays open: the next sample covers
 * it. */
static enum rule_result sample(struct release *r, struct judged_metric *metric, int64_t end_s)
{
    const struct counts_window window = {
        .end_s = end_s, .length_s = end_s - metric->counted_s, .native = metric->native};
    struct counts counts = {0};
    const char *guarded =
        is_left_out(r, metric) ? left_out_text(r, metric) : guard_window(r, metric->counted_s);

    if (!guarded && is_number(metric) &&
        guard_query(r, metric, end_s, &guarded) == RULE_NEEDS_FACTS)
        return RULE_NEEDS_FACTS;
    if (guarded) {
        metric->counted_s = end_s;
        metric->says = guarded;
        return RULE_CONTINUE;
    }
    if (metric->kind == JUDGED_NUMBER)
        return look_at_numbers(r, metric, end_s);
    if (metric->kind == JUDGED_LATENCY)
        return look_at_latency(r, metric, end_s);
    if (metric->kind == JUDGED_PAST)
        return look_at_past(r, metric, end_s);
    enum rule_result verdict = counts_ask(r, metric->index, &window, &counts);
    if (verdict == RULE_NEEDS_FACTS)
        return verdict;
    if (verdict == RULE_DONE) {
        metric->says = arena_printf(r->tick->arena, "not counted yet: %s", counts.why);
        return RULE_CONTINUE;
    }
    judge_add_sample(&metric->evidence, &metric->policy, counts.canary, counts.primary);
    judged_keep_sample(r, metric, metric->counted_s, end_s, counts.canary, counts.primary);
    metric->bad = counts.bad;
    metric->counted_s = end_s;
    if (metric->first_s == 0 && counts.canary.total > 0)
        metric->first_s = end_s - window.length_s;
    metric->says = judge_sentence(r->tick->arena, &metric->evidence, &metric->policy, counts.bad);
    return RULE_CONTINUE;
}

/* The last window with requests; -1 if none has any. */
static int last_with_requests(const struct histograms *past)
{
    int i = past->n_before - 1;

    while (i >= 0 &&
           (past->before[i].n == 0 || !(past->before[i].counts[past->before[i].n - 1] > 0)))
        i--;
    return i;
}

/* The bounds are chosen from the last window: the primary may have been another version before. */
static enum rule_result learn_latency(struct release *r, struct judged_metric *metric,
                                      const struct counts_window *window)
{
    const struct judge_histogram none = {0};
    struct histograms past = {0};
    enum rule_result verdict = counts_histograms(r, metric->index, window, &past);

    if (verdict == RULE_NEEDS_FACTS)
        return verdict;
    int last = verdict == RULE_CONTINUE ? last_with_requests(&past) : -1;
    if (last >= 0)
        (void)judge_latency_add(&metric->latency, &metric->policy, &none, &past.before[last]);
    for (int i = 0; i < last; i++)
        (void)judge_latency_add(&metric->latency, &metric->policy, &none, &past.before[i]);
    if (metric->latency.n > 0)
        judged_know(metric,
                    judge_latency_known_write(r->tick->arena, &metric->latency, past.unit_ms));
    return RULE_CONTINUE;
}

/* The hour before the release, in which the primary had all traffic. */
static enum rule_result learn_past(struct release *r, struct judged_metric *metric, int64_t end_s)
{
    int64_t began_ms;

    if (history_analysis_began(r, &began_ms) && began_ms / SECOND_MS < end_s)
        end_s = began_ms / SECOND_MS;
    return compared_past_learn(r, metric->index, end_s, &metric->past);
}

static enum rule_result learn_number(struct release *r, struct judged_metric *metric,
                                     const struct counts_window *window)
{
    enum rule_result verdict = compared_learn(r, metric->index, window, &metric->numbers);

    if (verdict == RULE_CONTINUE && metric->numbers.block > 0)
        judged_know(metric, judge_numbers_write(r->tick->arena, &metric->numbers));
    return verdict;
}

/*
 * The first sample is preceded by windows of the primary alone: knowing how its bad requests are
 * spread makes the canary's first requests more conclusive, so that fewer users meet a bad one
 * (judge/bets.h). Missing windows are skipped.
 */
static enum rule_result sample_before(struct release *r, struct judged_metric *metric,
                                      int64_t end_s)
{
    const struct counts_window window = {.end_s = end_s,
                                         .length_s = r->canary->analysis.judge.every_ms / SECOND_MS,
                                         .before = BEFORE,
                                         .native = metric->native};
    struct counts counts = {0};

    if (r->judged->pods[SIDE_PRIMARY] == 0)
        return RULE_CONTINUE;
    if (metric->kind == JUDGED_NUMBER)
        return learn_number(r, metric, &window);
    if (metric->kind == JUDGED_LATENCY)
        return learn_latency(r, metric, &window);
    if (metric->kind == JUDGED_PAST)
        return learn_past(r, metric, end_s);
    enum rule_result verdict = counts_ask(r, metric->index, &window, &counts);
    if (verdict == RULE_NEEDS_FACTS)
        return verdict;
    for (int i = 0; verdict == RULE_CONTINUE && i < counts.n_before; i++)
        judge_add_sample(&metric->evidence, &metric->policy, (struct judge_counts){0},
                         counts.before[i]);
    if (metric->evidence.before.total > 0)
        metric->before = judge_write(r->tick->arena, &metric->evidence);
    return RULE_CONTINUE;
}

/* Samples each metric that is due. */
static enum rule_result sample_all(struct release *r)
{
    int64_t every_s = r->canary->analysis.judge.every_ms / SECOND_MS;
    int64_t end_s = r->tick->now_ms / SECOND_MS - LATE_S, next_s = every_s;
    enum rule_result verdict = RULE_CONTINUE;

    for (int i = 0; i < r->judged->n; i++) {
        struct judged_metric *metric = &r->judged->metrics[i];
        int64_t left = metric->counted_s + every_s - end_s;
        if (metric->counted_s == 0 && is_left_out(r, metric)) {
            metric->says = left_out_text(r, metric);
        } else if (metric->counted_s == 0 || metric->counted_s > end_s) {
            /* the first window begins; or a clock was set back */
            bool is_first = metric->kind == JUDGED_NUMBER ? metric->numbers.looks == 0
                            : metric->kind == JUDGED_PAST ? metric->past.today.looks == 0
                            : metric->kind == JUDGED_LATENCY
                                ? metric->latency.n == 0
                                : metric->samples.n == 0 && !metric->before;
            enum rule_result one = is_first ? sample_before(r, metric, end_s) : RULE_CONTINUE;
            verdict = one != RULE_CONTINUE ? one : verdict;
            metric->counted_s = end_s;
        } else if (left <= 0) {
            enum rule_result one = sample(r, metric, end_s);
            verdict = one != RULE_CONTINUE ? one : verdict;
        } else if (left < next_s) {
            next_s = left;
        }
    }
    release_requeue_within(r, next_s * SECOND_MS);
    return verdict;
}

/* --- rollback */

static const struct judged_metric *worse_one(const struct judged *judged)
{
    for (int i = 0; i < judged->n; i++) {
        if (judged_verdict(&judged->metrics[i]) == JUDGE_WORSE)
            return &judged->metrics[i];
    }
    return NULL;
}

/*
 * From the first counted requests of the canary to the sample that raised the alarm: unchanged,
 * however long the rollback waits for the primary.
 */
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

static enum rule_result alarm(struct release *r, const struct judged_metric *metric)
{
    const char *says =
        arena_printf(r->tick->arena, "%s: %s%s", metric->name,
                     metric->says ? metric->says : "worse than the primary", after(r, metric));

    (void)condition_set(r, CONDITION_CHECKS, "Worse", says);
    event_warning(r, "Rolling back %s, the canary is worse than the primary: %s", release_canary(r),
                  says);
    plan_alert(r->tick, "error", false, "The canary is worse than the primary")->reason = says;
    return rollback_run(r, false);
}

enum rule_result samples_take(struct release *r)
{
    if (!is_judged(r))
        return RULE_CONTINUE;
    enum rule_result verdict = read_judged(r);
    if (verdict != RULE_CONTINUE)
        return verdict;
    follow_pods(r);
    follow_step(r);
    /* an alarm remains one if its rollback was interrupted */
    const struct judged_metric *worse = worse_one(r->judged);
    if (!worse) {
        verdict = sample_all(r);
        worse = verdict == RULE_CONTINUE ? worse_one(r->judged) : NULL;
    }
    if (verdict != RULE_CONTINUE)
        return verdict;
    judged_write(r, r->judged);
    return worse ? alarm(r, worse) : RULE_CONTINUE;
}

/* --- enough evidence for a step */

/* The first metric with too little evidence; NULL if none. */
static const struct judged_metric *silent_one(const struct release *r)
{
    for (int i = 0; i < r->judged->n; i++) {
        if (!is_left_out(r, &r->judged->metrics[i]) &&
            judged_is_silent(&r->judged->metrics[i], &r->canary->analysis.judge))
            return &r->judged->metrics[i];
    }
    return NULL;
}

/* The same of a number beside that of the last days. */
static const char *no_past(const struct judged_metric *metric)
{
    if (judged_requests(metric) < 1)
        return "has not been compared with the last days since the last step";
    return metric->past.last.days == 0 ? "has not been compared with the last days yet"
                                       : "is beyond what is tolerated";
}

/* The evidence that a number lacks for a step. */
static const char *no_number(const struct judged_metric *metric)
{
    if (metric->kind == JUDGED_PAST)
        return no_past(metric);
    if (judged_requests(metric) < 1)
        return "has not been compared with the primary since the last step";
    return judge_numbers_beyond(&metric->numbers) ? "is beyond what is tolerated"
                                                  : "has not been compared with the primary yet";
}

static const char *too_little(struct release *r, const struct judged_metric *metric)
{
    if (is_number(metric))
        return arena_printf(r->tick->arena, "%s %s%s%s", metric->name, no_number(metric),
                            metric->says ? "; " : "", metric->says ? metric->says : "");
    return arena_printf(
        r->tick->arena,
        "%s has seen %.0f requests of the canary since the last step, of the %lld that a step "
        "needs (minRequests)%s%s",
        metric->name, judged_requests(metric), (long long)r->canary->analysis.judge.min_requests,
        metric->says ? "; " : "", metric->says ? metric->says : "");
}

static enum rule_result wait_for_more(struct release *r, const char *reason, const char *text)
{
    if (!condition_has_reason(r, CONDITION_JUDGED, reason))
        event_warning(r, "%s", text);
    (void)condition_set(r, CONDITION_JUDGED, reason, text);
    return RULE_DONE;
}

/* maxWait is over. */
static enum rule_result conclude(struct release *r, const struct judged_metric *silent)
{
    char lasted[DURATION_TEXT];
    const char *name = release_canary(r), *silence = too_little(r, silent), *text, *told;

    duration_format(r->canary->analysis.judge.max_wait_ms * MS_NS, lasted);
    if (is_number(silent)) {
        text = arena_printf(r->tick->arena, "No verdict on %s for %s: %s", name, lasted, silence);
        told = "No verdict on the canary";
    } else {
        text = arena_printf(r->tick->arena, "Too little traffic to judge %s for %s: %s", name,
                            lasted, silence);
        told = "Too little traffic to judge the canary";
    }

    switch (r->canary->analysis.judge.on_inconclusive) {
    case INCONCLUSIVE_PROMOTE:
        condition_clear(r, CONDITION_JUDGED);
        event_warning(r, "%s; the step is made without a verdict (onInconclusive)", text);
        return RULE_CONTINUE;
    case INCONCLUSIVE_ROLLBACK:
        (void)condition_set(r, CONDITION_CHECKS, waits_on, text);
        event_warning(r, "Rolling back %s, it cannot be judged: %s", release_canary(r), text);
        plan_alert(r->tick, "error", false, "%s", told)->reason = text;
        return rollback_run(r, false);
    case INCONCLUSIVE_WAIT:
        break;
    }
    return wait_for_more(r, waits_on, text);
}

enum rule_result samples_allow(struct release *r)
{
    int64_t since;

    if (!r->judged || release_is_first_step(r))
        return RULE_CONTINUE;
    const struct judged_metric *silent = silent_one(r);
    if (!silent) {
        condition_clear(r, CONDITION_JUDGED);
        return RULE_CONTINUE;
    }
    bool waited = condition_since(r, CONDITION_JUDGED, undecided, &since) ||
                  condition_since(r, CONDITION_JUDGED, waits_on, &since);
    if (waited && r->tick->now_ms - since >= r->canary->analysis.judge.max_wait_ms)
        return conclude(r, silent);
    return wait_for_more(r, undecided,
                         arena_printf(r->tick->arena, "The step of %s waits: %s", release_canary(r),
                                      too_little(r, silent)));
}
