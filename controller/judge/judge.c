/*
 * The evidence over all samples. judge/bets.h has the evidence of one sample, the alternatives and
 * the treatment of bad requests in clumps.
 *
 * Several metrics share one false-alarm rate by weighted Bonferroni: a metric with share w alarms
 * at 1 / (rate * w). The alternative, averaging the winnings, gives the same rate, but an alarm of
 * one among m metrics is diluted by the same m, an average needs the evidence of all metrics at the
 * same time (even of metrics without an answer), and it would not name the metric. Nor does
 * Bonferroni suffer from dependent metrics: it holds under any dependence.
 */
#include "judge/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "judge/bets.h"
#include "proto/weight.h"

static const double MOST_COUNT = 1e12, MOST_LOG = 1e15;

/*
 * Weight that a sum keeps with each new sample: the sum covers about eight recent samples, and
 * about fifty of those before the canary had requests.
 */
static const double KEPT = 0.875, KEPT_BEFORE = 0.98;

static bool is_count(double count)
{
    return count >= 0 && count < INFINITY;
}

struct judge_counts judge_clean(struct judge_counts counts)
{
    if (!is_count(counts.total) || !is_count(counts.bad))
        return (struct judge_counts){0};
    counts.total = fmin(counts.total, MOST_COUNT);
    counts.bad = fmin(counts.bad, counts.total);
    return counts;
}

void judge_begin(struct judge_evidence *evidence)
{
    memset(evidence, 0, sizeof(*evidence));
}

static void add(struct judge_counts *sum, struct judge_counts counts)
{
    sum->total = fmin(sum->total + counts.total, MOST_COUNT);
    sum->bad = fmin(sum->bad + counts.bad, sum->total);
}

static void add_fading(struct judge_counts *sum, struct judge_counts counts, double kept)
{
    sum->total *= kept;
    sum->bad *= kept;
    add(sum, counts);
}

static void bet(const struct judge_evidence *evidence, const struct judge_null *null,
                struct judge_counts canary, struct judge_counts primary, double log_won[])
{
    struct judge_past past = {evidence->canary, evidence->before, evidence->recent_canary,
                              evidence->recent_primary};
    struct judge_shares alternatives[JUDGE_WORSE_BETS];
    int count;

    add(&past.primary, evidence->primary);
    count = judge_bets(null, &past, alternatives);
    for (int i = 0; i < count; i++) {
        log_won[i] += judge_log_ratio(null, alternatives[i], canary, primary);
        log_won[i] = fmin(fmax(log_won[i], -MOST_LOG), MOST_LOG);
    }
}

void judge_add_sample(struct judge_evidence *evidence, const struct judge_policy *policy,
                      struct judge_counts canary, struct judge_counts primary)
{
    struct judge_null not_worse = judge_null_of(policy->tolerate, false);
    struct judge_null worse = judge_null_of(policy->tolerate, true);

    canary = judge_clean(canary);
    primary = judge_clean(primary);
    if (canary.total > 0 && primary.total > 0) {
        bet(evidence, &not_worse, canary, primary, evidence->worse);
        bet(evidence, &worse, canary, primary, evidence->not_worse);
        evidence->looks += evidence->looks < JUDGE_MAX_LOOKS;
    }
    if (canary.total > 0) {
        add_fading(&evidence->recent_canary, canary, KEPT);
        add(&evidence->canary, canary);
    }
    if (primary.total > 0) {
        add_fading(&evidence->recent_primary, primary, KEPT);
        if (evidence->canary.total > 0)
            add(&evidence->primary, primary);
        else
            add_fading(&evidence->before, primary, KEPT_BEFORE);
    }
    judge_spread_add(evidence, canary, primary);
}

/* 0 if the policy has none. */
static double rate_of(const struct judge_policy *policy)
{
    double rate = policy->false_alarm_rate * policy->share;

    return rate > 0 && rate < 1 ? rate : 0;
}

/*
 * Clumps may be larger than estimated. If the estimate is too small by chance, a false alarm still
 * needs a chance event of its own. So the estimate may be too small more often than a false alarm
 * may occur; and the more pairs it is based on, the less it is then too small. The factors were
 * found by simulation (test/statistics). "Not worse" can wait: there, the estimate may be too small
 * only as often as the rate.
 */
static const double RISK_WORSE = 16, RISK_NOT_WORSE = 1, FEW_PAIRS = 40, MOST_TIMES = 3;

static double risk_worse(const struct judge_evidence *evidence)
{
    double times = judge_pairs(evidence) / FEW_PAIRS;

    return RISK_WORSE * fmin(fmax(times, 1), MOST_TIMES);
}

double judge_log_worse(const struct judge_evidence *evidence, const struct judge_policy *policy)
{
    double rate = rate_of(policy);

    return rate == 0 ? -MOST_LOG
                     : judge_won(evidence->worse, false,
                                 judge_clumps(evidence, risk_worse(evidence) * rate));
}

double judge_log_not_worse(const struct judge_evidence *evidence, const struct judge_policy *policy)
{
    double rate = rate_of(policy);

    return rate == 0 ? -MOST_LOG
                     : judge_won(evidence->not_worse, true,
                                 judge_clumps(evidence, RISK_NOT_WORSE * rate));
}

enum judge_verdict judge_verdict(const struct judge_evidence *evidence,
                                 const struct judge_policy *policy)
{
    double rate = rate_of(policy);

    if (rate == 0)
        return JUDGE_UNDECIDED;
    if (judge_log_worse(evidence, policy) >= -log(rate))
        return JUDGE_WORSE;
    return judge_log_not_worse(evidence, policy) >= -log(rate) ? JUDGE_NOT_WORSE : JUDGE_UNDECIDED;
}

/* --- sentences for users */

enum { MAX_NUMBER = 48 };

const char *judge_whole(struct arena *arena, double value)
{
    char digits[MAX_NUMBER], text[2 * MAX_NUMBER];
    int len = snprintf(digits, sizeof(digits), "%.0f", value);
    size_t at = 0;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return arena_strdup(arena, text);
}

const char *judge_number_text(struct arena *arena, double value)
{
    static const double PLAIN = 1000, LONG = 1e15;
    double size = fabs(value);

    if (size < PLAIN || size >= LONG)
        return arena_printf(arena, "%.4g", value);
    return arena_printf(arena, "%s%s", value < 0 ? "-" : "", judge_whole(arena, size));
}

/* 0.0204 as "2.0 %", 0.00034 as "0.034 %". */
static const char *percent(struct arena *arena, double share)
{
    double value = share * 100;

    if (value == 0)
        return "0 %";
    if (value >= 0.0995)
        return arena_printf(arena, "%.1f %%", value);
    return arena_printf(arena, "%.2g %%", fmax(value, 1e-4));
}

static double share_of(struct judge_counts counts)
{
    return counts.bad / counts.total;
}

const char *judge_odds(struct arena *arena, double log_won)
{
    static const double MOST = 1e6;
    double won = fmin(exp(fmin(log_won, 100)) * (1 + 1e-9), MOST);
    double unit = pow(10, floor(log10(won)));

    return arena_printf(arena, "below 1 in %s", judge_whole(arena, floor(won / unit) * unit));
}

/* The tolerance, unless it is just the primary's share. */
static const char *tolerated(struct arena *arena, const struct judge_policy *policy, double primary)
{
    struct judge_null null = judge_null_of(policy->tolerate, false);

    if (null.slope == 1 && null.offset == 0)
        return "";
    return arena_printf(arena, ", up to %s is tolerated",
                        percent(arena, fmin(judge_limit(&null, primary), 1)));
}

const char *judge_counted(struct arena *arena, const struct judge_evidence *evidence,
                          const struct judge_policy *policy, const char *bad)
{
    struct judge_counts canary = evidence->canary, primary = evidence->primary;

    return arena_printf(arena, "canary %s of %s %s %s (%s), primary %s of %s (%s%s)",
                        judge_whole(arena, canary.bad), judge_whole(arena, canary.total),
                        canary.total == 1 ? "request" : "requests", bad,
                        percent(arena, share_of(canary)), judge_whole(arena, primary.bad),
                        judge_whole(arena, primary.total), percent(arena, share_of(primary)),
                        tolerated(arena, policy, share_of(primary)));
}

const char *judge_silence(const struct judge_evidence *evidence)
{
    bool canary = evidence->canary.total > 0, primary = evidence->primary.total > 0;

    if (canary && primary)
        return NULL;
    if (canary)
        return "the primary had no requests to compare the canary's with";
    return evidence->before.total > 0 ? "the canary had no requests"
                                      : "neither canary nor primary had requests";
}

const char *judge_sentence(struct arena *arena, const struct judge_evidence *evidence,
                           const struct judge_policy *policy, const char *bad)
{
    const char *none = judge_silence(evidence), *counts;
    double share = log(policy->share);

    if (none)
        return none;
    counts = judge_counted(arena, evidence, policy, bad);
    switch (judge_verdict(evidence, policy)) {
    case JUDGE_WORSE:
        return arena_printf(arena, "%s; odds that chance alone does this: %s", counts,
                            judge_odds(arena, judge_log_worse(evidence, policy) + share));
    case JUDGE_NOT_WORSE:
        return arena_printf(arena, "%s; odds that chance alone hides that it is worse: %s", counts,
                            judge_odds(arena, judge_log_not_worse(evidence, policy) + share));
    case JUDGE_UNDECIDED:
        break;
    }
    return arena_printf(arena, "%s; that is too little to tell whether the canary is worse",
                        counts);
}

/* --- samples of a release that are stored */

/*
 * Maximum part of a release that a window at its end may cover, compared with the windows at its
 * beginning.
 */
static const double WHOLE_SHARE = 0.25;

/* Samples of different steps are joined later, so that the evidence of each step stays separate. */
static const double OTHER_STEP = 4;

static void join(struct judge_sample *sample, const struct judge_sample *next)
{
    sample->at_s = next->at_s > sample->at_s ? next->at_s : sample->at_s;
    sample->step = next->step;
    sample->canary.total += next->canary.total;
    sample->canary.bad += next->canary.bad;
    sample->primary.total += next->primary.total;
    sample->primary.bad += next->primary.bad;
}

/* The part of the knowledge at its end that the joined window would cover. */
static double coarseness(const struct judge_sample *one, const struct judge_sample *next,
                         double until_next, double whole)
{
    double both = one->canary.total + next->canary.total;

    return both / (1 + until_next + whole * WHOLE_SHARE) *
           (one->step == next->step ? 1 : OTHER_STEP);
}

static void join_two(struct judge_series *series)
{
    double whole = 0, until = 0, least = INFINITY;
    int best = 0;

    for (int i = 0; i < series->n; i++)
        whole += series->samples[i].canary.total;
    for (int i = 0; i + 1 < series->n; i++) {
        const struct judge_sample *one = &series->samples[i];
        until += one->canary.total;
        double found = coarseness(one, one + 1, until + one[1].canary.total, whole);
        if (found < least) {
            least = found;
            best = i;
        }
    }
    join(&series->samples[best], &series->samples[best + 1]);
    series->n--;
    memmove(&series->samples[best + 1], &series->samples[best + 2],
            (size_t)(series->n - best - 1) * sizeof(series->samples[0]));
}

void judge_series_add(struct judge_series *series, int most, const struct judge_sample *sample)
{
    struct judge_sample clean = *sample;

    clean.canary = judge_clean(sample->canary);
    clean.primary = judge_clean(sample->primary);
    if (series->n > 0 && clean.at_s <= series->samples[series->n - 1].at_s) {
        join(&series->samples[series->n - 1], &clean);
        return;
    }
    while (series->n >= most || series->n >= JUDGE_SERIES)
        join_two(series);
    series->samples[series->n++] = clean;
}

/*
 * JSON for the status of a Canary: the evidence, with a list of numbers under each name; and the
 * samples, each a list.
 */

enum { COUNTS = 2 };
static const double MOST = 1e30; /* squares of sums of 10^12 */

/* SIGNED may be negative; OPTIONAL is all zeros if missing, as in the JSON of versions without the
 * field. */
enum field_kind { PLAIN, SIGNED, OPTIONAL };

/* The fields except the number of samples; each a list of this many numbers. */
struct field {
    const char *name;
    size_t at;
    int count;
    enum field_kind kind;
};

#define FIELD(name_, field_, count_, kind_)                                                        \
    {                                                                                              \
        .name = (name_), .at = offsetof(struct judge_evidence, field_), .count = (count_),         \
        .kind = (kind_)                                                                            \
    }

static const struct field fields[] = {
    FIELD("canary", canary, COUNTS, PLAIN),
    FIELD("primary", primary, COUNTS, PLAIN),
    FIELD("before", before, COUNTS, OPTIONAL),
    FIELD("recentCanary", recent_canary, COUNTS, PLAIN),
    FIELD("recentPrimary", recent_primary, COUNTS, PLAIN),
    FIELD("lastCanary", last_canary, COUNTS, PLAIN),
    FIELD("lastPrimary", last_primary, COUNTS, PLAIN),
    FIELD("scatter", scatter, 3, PLAIN), /* followed by chance and squares */
    FIELD("worse", worse, JUDGE_WORSE_BETS, SIGNED),
    FIELD("notWorse", not_worse, JUDGE_NOT_WORSE_BETS, SIGNED),
};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

_Static_assert(sizeof(struct judge_counts) == COUNTS * sizeof(double), "counts are two numbers");
_Static_assert(offsetof(struct judge_evidence, squares) ==
                   offsetof(struct judge_evidence, scatter) + 2 * sizeof(double),
               "scatter, chance and squares are one field");

struct json_object *judge_number_json(double value)
{
    char text[32];

    if (value == floor(value) && fabs(value) < 9e15)
        return json_object_new_int64((int64_t)value);
    snprintf(text, sizeof(text), "%.9g", value);
    return json_object_new_double_s(value, text);
}

struct json_object *judge_write(struct arena *arena, const struct judge_evidence *evidence)
{
    struct json_object *json = json_own(arena, json_object_new_object());

    json_set_int(json, "looks", evidence->looks);
    for (int i = 0; i < FIELDS; i++) {
        const double *values = (const double *)((const char *)evidence + fields[i].at);
        struct json_object *list = json_object_new_array();
        for (int j = 0; j < fields[i].count; j++)
            json_object_array_add(list, judge_number_json(values[j]));
        json_object_object_add(json, fields[i].name, list);
    }
    return json;
}

static bool read_field(struct json_object *json, const struct field *field, double values[])
{
    struct json_object *list = json_at(json, field->name, NULL);

    if (!list && field->kind == OPTIONAL)
        return true;
    if (!json_object_is_type(list, json_type_array) || json_len(list) != (size_t)field->count)
        return false;
    for (int i = 0; i < field->count; i++) {
        struct json_object *value = json_elem(list, (size_t)i);
        if (!json_object_is_type(value, json_type_int) &&
            !json_object_is_type(value, json_type_double))
            return false;
        values[i] = json_object_get_double(value);
        if (!(fabs(values[i]) <= MOST) || (values[i] < 0 && field->kind != SIGNED))
            return false;
    }
    return true;
}

static bool can_be(struct judge_counts counts)
{
    return counts.bad <= counts.total;
}

static bool read_all(struct json_object *json, struct judge_evidence *evidence)
{
    if (!json_to_int(json_at(json, "looks", NULL), &evidence->looks) || evidence->looks < 0 ||
        evidence->looks > JUDGE_MAX_LOOKS)
        return false;
    for (int i = 0; i < FIELDS; i++) {
        if (!read_field(json, &fields[i], (double *)((char *)evidence + fields[i].at)))
            return false;
    }
    return can_be(evidence->canary) && can_be(evidence->primary) && can_be(evidence->before) &&
           can_be(evidence->recent_canary) && can_be(evidence->recent_primary) &&
           can_be(evidence->last_canary) && can_be(evidence->last_primary);
}

bool judge_read(struct json_object *json, struct judge_evidence *evidence)
{
    judge_begin(evidence);
    if (!read_all(json, evidence)) {
        judge_begin(evidence);
        return false;
    }
    return true;
}

/* --- samples */

enum { LOOK_NUMBERS = 6, MOST_SECONDS = 1000000000 };

static const int64_t most_step = INT64_C(100) * 1000000000;
static const double MOST_REQUESTS = 1e12;

struct json_object *judge_samples_write(struct arena *arena, const struct judge_sample *samples,
                                        int n)
{
    struct json_object *list = json_own(arena, json_object_new_array());

    for (int i = 0; i < n; i++) {
        const struct judge_sample *look = &samples[i];
        const double counts[] = {look->canary.total, look->canary.bad, look->primary.total,
                                 look->primary.bad};
        struct json_object *row = json_object_new_array();
        json_object_array_add(row, json_object_new_int64(look->at_s));
        json_object_array_add(row, json_object_get(weight_json(arena, look->step)));
        for (size_t j = 0; j < sizeof(counts) / sizeof(counts[0]); j++)
            json_object_array_add(row, judge_number_json(counts[j]));
        json_object_array_add(list, row);
    }
    return list;
}

static bool read_look(struct json_object *row, struct judge_sample *look)
{
    double values[LOOK_NUMBERS];

    if (!json_object_is_type(row, json_type_array) || json_len(row) != LOOK_NUMBERS ||
        !json_to_int(json_elem(row, 0), &look->at_s) ||
        !weight_read(json_elem(row, 1), most_step, &look->step) || look->at_s < 0 ||
        look->at_s > MOST_SECONDS)
        return false;
    for (size_t i = 2; i < LOOK_NUMBERS; i++) {
        struct json_object *value = json_elem(row, i);
        if (!json_object_is_type(value, json_type_int) &&
            !json_object_is_type(value, json_type_double))
            return false;
        values[i] = json_object_get_double(value);
        if (!(values[i] >= 0 && values[i] <= MOST_REQUESTS))
            return false;
    }
    look->canary = (struct judge_counts){.total = values[2], .bad = values[3]};
    look->primary = (struct judge_counts){.total = values[4], .bad = values[5]};
    return can_be(look->canary) && can_be(look->primary);
}

bool judge_samples_read(struct arena *arena, struct json_object *json, int most,
                        struct judge_sample **out, int *n)
{
    size_t len = json_len(json);
    struct judge_sample *samples = arena_array(arena, len + 1, sizeof(*samples));

    *n = 0;
    *out = samples;
    if (!json_object_is_type(json, json_type_array) || len > (size_t)most)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!read_look(json_elem(json, i), &samples[i]) ||
            (i > 0 && samples[i].at_s <= samples[i - 1].at_s))
            return false;
    }
    *n = (int)len;
    return true;
}
