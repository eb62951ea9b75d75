#include "ctl/backtest/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "ctl/inputs.h"
#include "ctl/lint/document.h"
#include "decide/judged.h"
#include "decide/metrics.h"

enum { SECOND_MS = 1000, USUAL_WINDOW_S = 60 };

static const char success_rate[] = "request-success-rate", duration[] = "request-duration";

/* A judged metric, and the current position in its samples. */
struct seen {
    struct judged_metric judged;
    const struct past_series *series;
    int next;
    int64_t looked_s;
    struct judge_counts canary, primary; /* counts since then */
    double unit_ms;                      /* of bounds of latency */
};

struct run {
    struct arena *arena;
    const struct past *past;
    const struct canary_analysis *analysis;
    const struct past_series *clock; /* source of steps and requests; NULL if nothing was counted */
    struct seen seen[JUDGED_METRICS];
    int n_seen;
    int failed;           /* number of failed checks */
    int64_t failed_s;     /* time of the last one */
    int owed;             /* steps that the release made but that are not allowed yet */
    int64_t waits_from_s; /* below 0: no step waits */
    struct replay out;
    bool over;
};

const char *replay_end_name(enum replay_end end)
{
    static const char *const names[] = {[REPLAY_UNKNOWN] = "unknown",
                                        [REPLAY_UNDER_WAY] = "under way",
                                        [REPLAY_PROMOTED] = "promoted",
                                        [REPLAY_ROLLED_BACK] = "rolled back"};

    return names[end];
}

/* --- the record */

static double requests_until(const struct run *run, int64_t at_s)
{
    double sum = 0;

    for (int i = 0; run->clock && i < run->clock->n && run->clock->samples[i].at_s <= at_s; i++)
        sum += run->clock->samples[i].canary.total;
    return sum;
}

static void end(struct run *run, enum replay_end how, int64_t at_s, const char *why)
{
    if (run->over)
        return;
    run->over = true;
    run->out.end = how;
    run->out.at_s = at_s < run->past->end_s ? at_s : run->past->end_s;
    run->out.requests = requests_until(run, run->out.at_s);
    run->out.why = why;
}

static void note(struct run *run, const char *text)
{
    if (!run->out.note)
        run->out.note = text;
}

static bool is_named(const struct canary_metric *metric, const char *name)
{
    return strcmp(metric->name, name) == 0;
}

static bool has_values(const struct run *run, const char *name)
{
    for (int i = 0; i < run->past->n_checks; i++)
        if (strcmp(run->past->checks[i].name, name) == 0)
            return true;
    return false;
}

static enum judged_kind kind_of(const struct canary_metric *metric)
{
    if (!metric->compares)
        return JUDGED_REQUESTS;
    if (metric->past)
        return JUDGED_PAST; /* of which no history has looks */
    return canary_metric_is_latency(metric) ? JUDGED_LATENCY : JUDGED_NUMBER;
}

static const struct past_series *series_of(const struct run *run,
                                           const struct canary_metric *metric)
{
    return past_series_of(run->past, metric->name, kind_of(metric));
}

static const struct past_series *rates_of(const struct past *past)
{
    return past_series_of(past, success_rate, JUDGED_REQUESTS);
}

/* A template is judged if the release judged it, since the policy does not say whether it has
 * queries; a comparison if the release compared it. */
static bool is_judged(const struct run *run, const struct canary_metric *metric)
{
    if (!run->analysis->judge.given || metric->judge.off)
        return false;
    if (metric->compares)
        return series_of(run, metric) != NULL;
    return canary_metric_is_builtin(metric) ||
           (metric->template_ref.name && (metric->judge.given || series_of(run, metric)));
}

static bool can_be_checked(const struct run *run, const struct canary_metric *metric)
{
    return has_values(run, metric->name) || (is_named(metric, success_rate) && rates_of(run->past));
}

/* The limit for slow requests is the one used for the counts, not the policy's. */
static void note_bound(struct run *run, const struct canary_metric *metric,
                       const struct past_series *series)
{
    static const char words[] = "took longer than ";
    double most = metric->has_range ? metric->max : metric->threshold;

    if (is_named(metric, duration) && series->bad &&
        strncmp(series->bad, words, strlen(words)) == 0 &&
        strtod(series->bad + strlen(words), NULL) != most)
        note(run, arena_printf(run->arena, "%s: what was counted are requests that %s", duration,
                               series->bad));
}

/* The fault of a bad request, which is optional in files written by hand. */
static const char *bad_of(const struct canary_metric *metric, const struct past_series *series)
{
    if (series && series->bad)
        return series->bad;
    return is_named(metric, success_rate) ? "failed" : "were bad";
}

/* Continues with what was known of the primary. */
static void begin_evidence(struct run *run, const struct canary_metric *metric, struct seen *seen)
{
    const struct past_series *series = seen->series;
    struct judged_metric *judged = &seen->judged;

    switch (judged->kind) {
    case JUDGED_NUMBER:
        (void)judge_numbers_read(series->before, &judged->numbers);
        judged->numbers.lower = metric->judge.lower;
        break;
    case JUDGED_LATENCY:
        (void)judge_latency_known_read(series->before, &judged->latency, &seen->unit_ms);
        break;
    case JUDGED_PAST:
        break;
    case JUDGED_REQUESTS:
        (void)judge_read(series->before, &judged->evidence);
        note_bound(run, metric, series);
        break;
    }
}

static void begin_metric(struct run *run, const struct canary_metric *metric, int judged)
{
    const struct past_series *series = series_of(run, metric);
    struct seen *seen = &run->seen[run->n_seen++];

    *seen =
        (struct seen){.series = series,
                      .judged = {.name = metric->name,
                                 .kind = kind_of(metric),
                                 .bad = bad_of(metric, series),
                                 .policy = judged_policy(&run->analysis->judge, metric, judged)}};
    judge_begin(&seen->judged.evidence);
    if (series)
        begin_evidence(run, metric, seen);
}

/* Counts show best how steps and requests followed each other, numbers least. */
static bool is_better_clock(const struct past_series *one, const struct past_series *other)
{
    static const int ranks[] = {
        [JUDGED_REQUESTS] = 2, [JUDGED_LATENCY] = 1, [JUDGED_NUMBER] = 0, [JUDGED_PAST] = 0};

    return !other || ranks[one->kind] > ranks[other->kind] ||
           (one->kind == other->kind && one->n > other->n);
}

static void begin(struct run *run)
{
    int judged = 0;

    for (int i = 0; i < run->past->n_series; i++) {
        const struct past_series *series = &run->past->series[i];
        if (is_better_clock(series, run->clock))
            run->clock = series;
    }
    for (int i = 0; i < run->analysis->n_metrics; i++)
        judged += is_judged(run, &run->analysis->metrics[i]);
    for (int i = 0; i < run->analysis->n_metrics && run->n_seen < JUDGED_METRICS; i++)
        if (is_judged(run, &run->analysis->metrics[i]))
            begin_metric(run, &run->analysis->metrics[i], judged);
}

static bool all_compared(const struct run *run)
{
    for (int i = 0; i < run->analysis->n_metrics; i++) {
        if (!run->analysis->metrics[i].compares)
            return false;
    }
    return true;
}

/* Without looks of both sides, as in histories of older versions, a metric is left out. Returns a
 * sentence if there is no other metric. */
static const char *not_compared(struct run *run, const struct canary_metric *metric)
{
    const char *text = arena_printf(run->arena,
                                    "%s: the history has no looks of both sides, so that it is not "
                                    "compared with the primary's",
                                    metric->name);

    note(run, text);
    return all_compared(run) ? text : NULL;
}

/* The part of the policy that cannot be replayed; NULL if everything can. */
static const char *missing(struct run *run)
{
    const char *none = NULL;

    for (int i = 0; i < run->analysis->n_metrics; i++) {
        const struct canary_metric *metric = &run->analysis->metrics[i];
        bool judged = is_judged(run, metric);
        if (judged && !series_of(run, metric))
            return arena_printf(run->arena, "no counts of %s were kept", metric->name);
        if (metric->compares && !judged) {
            const char *alone = not_compared(run, metric);
            none = alone ? alone : none;
            continue;
        }
        if (can_be_checked(run, metric) || (judged && metric->compares))
            continue;
        if (judged)
            note(run, arena_printf(run->arena,
                                   "%s: no values were kept, so that its threshold is left out",
                                   metric->name));
        else
            none = arena_printf(run->arena, "no values of %s were kept", metric->name);
    }
    return none;
}

/* --- looks */

static void take(struct seen *seen, const struct judge_sample *sample)
{
    seen->canary.total += sample->canary.total;
    seen->canary.bad += sample->canary.bad;
    seen->primary.total += sample->primary.total;
    seen->primary.bad += sample->primary.bad;
}

static const char *sentence(struct run *run, const struct seen *seen)
{
    const struct judged_metric *judged = &seen->judged;

    switch (judged->kind) {
    case JUDGED_NUMBER:
        return judge_numbers_sentence(run->arena, &judged->numbers, &judged->policy);
    case JUDGED_LATENCY:
        return judge_latency_sentence(run->arena, &judged->latency, &judged->policy, seen->unit_ms);
    case JUDGED_PAST:
        return judge_past_sentence(run->arena, &judged->past, &judged->policy);
    case JUDGED_REQUESTS:
        break;
    }
    return judge_sentence(run->arena, &judged->evidence, &judged->policy, judged->bad);
}

static void take_verdict(struct run *run, const struct seen *seen, int64_t at_s)
{
    if (judged_verdict(&seen->judged) == JUDGE_WORSE)
        end(run, REPLAY_ROLLED_BACK, at_s,
            arena_printf(run->arena, "%s: %s", seen->judged.name, sentence(run, seen)));
}

/* A look of many counts as often; after MOST_TIMES, more of the same change nothing. */
static void take_number(struct seen *seen, const struct judge_look *look)
{
    enum { MOST_TIMES = 5000 };
    struct judged_metric *judged = &seen->judged;
    int64_t times = look->looks < MOST_TIMES ? look->looks : MOST_TIMES;

    for (int64_t i = 0; i < times && judged_verdict(judged) != JUDGE_WORSE; i++)
        (void)judge_numbers_add(&judged->numbers, &judged->policy, look->values[LOOK_CANARY],
                                look->values[LOOK_PRIMARY]);
}

static void look_compared(struct run *run, struct seen *seen, int64_t at_s)
{
    const struct past_series *series = seen->series;

    for (; seen->next < series->n && series->samples[seen->next].at_s <= at_s && !run->over;
         seen->next++) {
        const struct judge_look look = past_look(series, seen->next);
        if (seen->judged.kind == JUDGED_NUMBER)
            take_number(seen, &look);
        else
            (void)judge_latency_take(&seen->judged.latency, &seen->judged.policy, series->beyond,
                                     look.values, series->width);
        take_verdict(run, seen, at_s);
    }
}

static void look(struct run *run, struct seen *seen, int64_t at_s)
{
    const struct past_series *series = seen->series;
    int64_t every_s = run->analysis->judge.every_ms / SECOND_MS;
    bool news = false;

    if (seen->judged.kind != JUDGED_REQUESTS) {
        look_compared(run, seen, at_s);
        return;
    }
    for (; series && seen->next < series->n && series->samples[seen->next].at_s <= at_s;
         news = true)
        take(seen, &series->samples[seen->next++]);
    if (!news || (at_s - seen->looked_s < every_s && seen->next < series->n && seen->looked_s > 0))
        return;
    judge_add_sample(&seen->judged.evidence, &seen->judged.policy, seen->canary, seen->primary);
    seen->canary = seen->primary = (struct judge_counts){0};
    seen->looked_s = at_s;
    take_verdict(run, seen, at_s);
}

/* --- checks */

static int64_t interval_of(const struct run *run)
{
    int64_t interval_s = run->analysis->interval_ms / SECOND_MS;

    return interval_s > 0 ? interval_s : 1;
}

/* The part of the interval before this sample that lies within a window. */
static double part_of(const struct past_series *series, int i, int64_t from_s, int64_t to_s)
{
    int64_t end_s = series->samples[i].at_s;
    int64_t begin_s = i > 0 ? series->samples[i - 1].at_s : series->begin_s;
    int64_t first_s = begin_s > from_s ? begin_s : from_s, last_s = end_s < to_s ? end_s : to_s;

    if (end_s <= begin_s)
        return end_s > from_s && end_s <= to_s ? 1 : 0;
    return last_s > first_s ? (double)(last_s - first_s) / (double)(end_s - begin_s) : 0;
}

/* The share for the canary's requests in the metric's window that ends now. */
static bool rate_of(const struct past_series *series, const struct canary_metric *metric,
                    int64_t at_s, double *value)
{
    int64_t window_s =
        metric->interval_ms >= SECOND_MS ? metric->interval_ms / SECOND_MS : USUAL_WINDOW_S;
    struct judge_counts sum = {0};

    for (int i = 0; i < series->n; i++) {
        double part = part_of(series, i, at_s - window_s, at_s);
        sum.total += part * series->samples[i].canary.total;
        sum.bad += part * series->samples[i].canary.bad;
    }
    if (sum.total > 0)
        *value = 100 * (1 - sum.bad / sum.total);
    return sum.total > 0;
}

static bool value_at(const struct run *run, const struct canary_metric *metric, int64_t at_s,
                     double *value)
{
    const struct past_series *series = is_named(metric, success_rate) ? rates_of(run->past) : NULL;

    if (series)
        return at_s > 0 && at_s % interval_of(run) == 0 && rate_of(series, metric, at_s, value);
    for (int i = 0; i < run->past->n_checks; i++) {
        const struct past_check *check = &run->past->checks[i];
        if (check->at_s != at_s || strcmp(check->name, metric->name) != 0)
            continue;
        *value = is_named(metric, duration) && !metric->template_ref.name ? check->value * SECOND_MS
                                                                          : check->value;
        return true;
    }
    return false;
}

static struct metric_check check_of(const struct canary_metric *metric)
{
    return (struct metric_check){.metric = metric,
                                 .source = metric->template_ref.name        ? SOURCE_TEMPLATE
                                           : is_named(metric, success_rate) ? SOURCE_SUCCESS_RATE
                                           : is_named(metric, duration)     ? SOURCE_DURATION
                                                                            : SOURCE_QUERY};
}

/* An interval counts as one check, no matter how many metrics fail it. */
static bool counts_as_failed(const struct run *run, int64_t at_s)
{
    return run->failed == 0 || at_s - run->failed_s >= interval_of(run);
}

static void check(struct run *run, int64_t at_s)
{
    for (int i = 0; i < run->analysis->n_metrics; i++) {
        const struct canary_metric *metric = &run->analysis->metrics[i];
        const struct metric_check check = check_of(metric);
        double value = 0;
        if (!value_at(run, metric, at_s, &value) || metrics_within(&check, value) ||
            !counts_as_failed(run, at_s))
            continue;
        run->failed_s = at_s;
        if (++run->failed >= run->analysis->threshold) /* takes effect at the next check */
            end(run, REPLAY_ROLLED_BACK, at_s + interval_of(run),
                arena_printf(run->arena, "%d failed checks, of %s the last", run->failed,
                             metric->name));
        return;
    }
}

/* --- steps */

static const struct seen *silent_one(const struct run *run)
{
    for (int i = 0; i < run->n_seen; i++)
        if (judged_is_silent(&run->seen[i].judged, &run->analysis->judge))
            return &run->seen[i];
    return NULL;
}

static const char *too_little(const struct run *run)
{
    const struct seen *silent = silent_one(run);

    if (!silent)
        return "";
    if (silent->judged.kind == JUDGED_NUMBER)
        return arena_printf(run->arena, "%s %s", silent->judged.name,
                            judge_numbers_beyond(&silent->judged.numbers)
                                ? "is beyond what is tolerated"
                                : "has not been compared since the last step");
    return arena_printf(run->arena, "%s has seen %.0f of the %lld requests that a step needs",
                        silent->judged.name, judged_requests(&silent->judged),
                        (long long)run->analysis->judge.min_requests);
}

static void allow(struct run *run)
{
    run->owed--;
    run->waits_from_s = -1;
    for (int i = 0; i < run->n_seen; i++)
        run->seen[i].judged.from += judged_requests(&run->seen[i].judged);
}

/* True if the release made a step at this sample. Nothing is checked before its first step. */
static bool made_step(const struct run *run, int64_t at_s)
{
    const struct past_series *clock = run->clock;

    for (int i = 0; clock && i < clock->n; i++) {
        const struct judge_sample *one = &clock->samples[i];
        if (one->at_s != at_s)
            continue;
        if (i + 1 == clock->n)
            return strcmp(run->past->outcome, "promoted") == 0;
        return one[1].step != one->step && one->step != 0;
    }
    return false;
}

static void step(struct run *run, int64_t at_s)
{
    const struct canary_judge *judge = &run->analysis->judge;

    run->owed += made_step(run, at_s);
    if (run->owed == 0)
        return;
    if (!silent_one(run)) {
        allow(run);
        return;
    }
    if (run->waits_from_s < 0)
        run->waits_from_s = at_s;
    if ((at_s - run->waits_from_s) * SECOND_MS < judge->max_wait_ms)
        return;
    if (judge->on_inconclusive == INCONCLUSIVE_PROMOTE)
        allow(run);
    else if (judge->on_inconclusive == INCONCLUSIVE_ROLLBACK)
        end(run, REPLAY_ROLLED_BACK, at_s,
            arena_printf(run->arena, "too little traffic: %s", too_little(run)));
}

/* --- the whole replay */

static int compare(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

    return (one > other) - (one < other);
}

/* All times with data, in order. */
static int64_t *moments(const struct run *run, size_t *n)
{
    const struct past *past = run->past;
    int64_t interval_s = interval_of(run);
    bool rated = rates_of(past) && past->end_s / interval_s < PAST_MAX_LOOKS;
    size_t most = (size_t)past->n_checks + (rated ? (size_t)(past->end_s / interval_s) : 0);

    for (int i = 0; i < past->n_series; i++)
        most += (size_t)past->series[i].n;
    int64_t *all = arena_array(run->arena, most + 1, sizeof(*all));
    *n = 0;
    for (int i = 0; i < past->n_series; i++)
        for (int k = 0; k < past->series[i].n; k++)
            all[(*n)++] = past->series[i].samples[k].at_s;
    for (int i = 0; i < past->n_checks; i++)
        all[(*n)++] = past->checks[i].at_s;
    for (int64_t at_s = interval_s; rated && at_s <= past->end_s; at_s += interval_s)
        all[(*n)++] = at_s;
    qsort(all, *n, sizeof(*all), &compare);
    return all;
}

static void walk(struct run *run)
{
    size_t n;
    const int64_t *all = moments(run, &n);

    for (size_t i = 0; i < n && !run->over; i++) {
        if (i > 0 && all[i] == all[i - 1])
            continue;
        for (int k = 0; k < run->n_seen; k++)
            look(run, &run->seen[k], all[i]);
        check(run, all[i]);
        if (run->n_seen > 0)
            step(run, all[i]);
    }
}

struct replay replay_run(struct arena *arena, const struct past *past, const struct policy *policy)
{
    struct run run = {.arena = arena,
                      .past = past,
                      .analysis = policy->analysis,
                      .waits_from_s = -1,
                      .out = {.why = ""}};

    begin(&run);
    const char *lacks = missing(&run);
    walk(&run);
    if (lacks)
        end(&run, REPLAY_UNKNOWN, past->end_s, lacks);
    else if (run.owed > 0 || strcmp(past->outcome, "promoted") != 0)
        end(&run, REPLAY_UNDER_WAY, past->end_s, run.owed > 0 ? too_little(&run) : "");
    else
        end(&run, REPLAY_PROMOTED, past->end_s, "");
    return run.out;
}

/* --- policies */

/* "strict" for "deploy/strict.yaml". */
static const char *name_of(struct arena *arena, const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    const char *dot = strrchr(name, '.');

    return dot && dot > name ? arena_strndup(arena, name, (size_t)(dot - name)) : name;
}

static bool is_canary(struct json_object *doc)
{
    const char *kind = json_str_at(doc, "kind", NULL);

    return kind && strcmp(kind, "Canary") == 0;
}

/* The document to use: the only Canary, or else the only document. */
static enum err choose(const char *file, struct json_object *docs, size_t *index,
                       struct errinfo *ei)
{
    size_t canaries = 0;

    for (size_t i = 0; i < json_len(docs); i++) {
        if (!is_canary(json_elem(docs, i)))
            continue;
        canaries++;
        *index = i;
    }
    if (canaries == 1)
        return ERR_OK;
    if (canaries > 1 || json_len(docs) != 1)
        return err_set(ei, ERR_INVALID,
                       "%s: expected one policy, an analysis or a Canary with one, found %zu", file,
                       canaries > 1 ? canaries : json_len(docs));
    *index = 0;
    return ERR_OK;
}

static struct json_object *analysis_of(struct json_object *doc)
{
    struct json_object *analysis = json_at(doc, "spec", "analysis", NULL);

    if (!analysis)
        analysis = json_at(doc, "spec", "canaryAnalysis", NULL);
    if (!analysis)
        analysis = json_at(doc, "analysis", NULL);
    return analysis || is_canary(doc) ? analysis : doc;
}

/* Steps are optional in a policy, unlike in a Canary. */
static struct json_object *with_steps(struct arena *arena, struct json_object *analysis)
{
    struct json_object *copy = json_copy(arena, analysis);

    if (!json_at(copy, "iterations", NULL) && !json_at(copy, "stepWeight", NULL) &&
        !json_at(copy, "stepWeights", NULL) && !json_at(copy, "steps", NULL))
        json_set_int(copy, "iterations", 1);
    return copy;
}

/* A Canary with only this analysis. */
static struct json_object *canary_around(struct arena *arena, struct json_object *analysis)
{
    struct json_object *canary = json_own(arena, json_object_new_object());
    struct json_object *spec = json_sub(canary, "spec"), *target = json_sub(spec, "targetRef");

    json_set_str(canary, "apiVersion", "flagger.app/v1beta1");
    json_set_str(canary, "kind", "Canary");
    json_set_str(json_sub(canary, "metadata"), "name", "policy");
    json_set_str(target, "apiVersion", "apps/v1");
    json_set_str(target, "kind", "Deployment");
    json_set_str(target, "name", "policy");
    json_set_int(json_sub(spec, "service"), "port", 80);
    json_set(spec, "analysis", with_steps(arena, analysis));
    return canary;
}

/* Turns "spec.analysis.judge.every: expected ..." for a Canary into "judge.every: expected ...". */
static const char *within(const char *sentence)
{
    static const char above[] = "spec.analysis";
    size_t len = strlen(above);

    if (strncmp(sentence, above, len) != 0)
        return sentence;
    return sentence + len + (sentence[len] == '.');
}

static enum err tell(const struct lint_mistake *mistake, struct errinfo *ei)
{
    return err_set(ei, ERR_INVALID, "%s:%zu:%zu: %s%s%s", mistake->file, mistake->line,
                   mistake->column, mistake->path, *mistake->path ? ": " : "", mistake->text);
}

/* The CRD's schema of an analysis without its required fields, such as steps. */
static struct json_object *policy_schema(struct arena *arena)
{
    struct json_object *spec = crd_member(crd_schema(arena, "Canary"), "spec");
    struct json_object *schema = json_copy(arena, crd_member(spec, "analysis"));

    json_object_object_del(schema, "oneOf");
    json_object_object_del(schema, "required");
    return schema;
}

/* The schema is checked first, because it also finds fields that are not read. */
static enum err view(struct arena *arena, struct lint_part *part, struct policy *out,
                     struct errinfo *ei)
{
    struct canary *canary = ARENA_NEW(arena, struct canary);
    struct errinfo read = {0};
    const struct lint_mistake *mistake = lint_part_first(arena, part);

    if (mistake)
        return tell(mistake, ei);
    part->schema = NULL;
    if (canary_view(arena, canary_around(arena, part->json), canary, &read) != ERR_OK)
        part->sentence = within(arena_strdup(arena, read.text));
    else if (canary->analysis.n_metrics == 0)
        part->sentence = "metrics: expected at least one metric, judged or with a threshold";
    mistake = lint_part_first(arena, part);
    out->analysis = &canary->analysis;
    return mistake ? tell(mistake, ei) : ERR_OK;
}

enum err policy_parse(struct arena *arena, const char *file, const char *text, size_t len,
                      struct policy *out, struct errinfo *ei)
{
    struct lint_part part = {.file = file};
    struct json_object *docs;
    struct yaml_marks *marks;
    enum err err = yaml_parse_marked(arena, file, text, len, POLICY_MAX_BYTES, &docs, &marks, ei);

    if (err == ERR_OK)
        err = choose(file, docs, &part.index, ei);
    if (err != ERR_OK)
        return err;
    part.docs = docs;
    part.marks = marks;
    part.json = analysis_of(json_elem(docs, part.index));
    if (!json_object_is_type(part.json, json_type_object))
        return err_set(ei, ERR_INVALID, "%s:1: expected an analysis, or a Canary with one", file);
    part.schema = policy_schema(arena);
    out->name = name_of(arena, file);
    return view(arena, &part, out, ei);
}

enum err policy_read(struct arena *arena, const char *file, struct policy *out, struct errinfo *ei)
{
    char *text;
    size_t len;
    enum err err = input_read(arena, file, POLICY_MAX_BYTES, &text, &len, ei);

    return err == ERR_OK ? policy_parse(arena, input_name(file), text, len, out, ei) : err;
}
