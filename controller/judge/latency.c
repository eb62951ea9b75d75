#include "judge/latency.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"

/* Bounds that differ by less are the same: JSON keeps nine digits. */
static const double ROUNDING = 1e-6;

void judge_latency_begin(struct judge_latency *latency)
{
    memset(latency, 0, sizeof(*latency));
}

/* --- histograms */

static bool is_histogram(const struct judge_histogram *histogram)
{
    for (int i = 0; i < histogram->n; i++) {
        if (!(histogram->counts[i] >= 0 && histogram->counts[i] < INFINITY) ||
            isnan(histogram->bounds[i]))
            return false;
        if (i > 0 && (!(histogram->bounds[i] > histogram->bounds[i - 1]) ||
                      histogram->counts[i] < histogram->counts[i - 1]))
            return false;
    }
    return histogram->n == 0 || histogram->bounds[histogram->n - 1] == INFINITY;
}

static double total_of(const struct judge_histogram *histogram)
{
    return histogram->n > 0 ? histogram->counts[histogram->n - 1] : 0;
}

/* The first bound that is not below; the last one if all are. Tolerates rounding. */
static int bound_at(const struct judge_histogram *histogram, double bound)
{
    int i = 0;

    while (i < histogram->n - 1 && histogram->bounds[i] < bound * (1 - ROUNDING))
        i++;
    return i;
}

double judge_histogram_count(const struct judge_histogram *histogram, double value, bool up,
                             double *at)
{
    int i = bound_at(histogram, value);
    double below = i > 0 ? histogram->counts[i - 1] : 0;

    if (histogram->bounds[i] <= value * (1 + ROUNDING)) {
        *at = histogram->bounds[i];
        return histogram->counts[i];
    }
    if (histogram->counts[i] == below) {
        *at = value;
        return below;
    }
    *at = up ? histogram->bounds[i] : i > 0 ? histogram->bounds[i - 1] : -INFINITY;
    return up ? histogram->counts[i] : below;
}

static struct judge_counts beyond(const struct judge_histogram *histogram, double up_to)
{
    double total = total_of(histogram);

    return (struct judge_counts){.total = total, .bad = total > 0 ? total - up_to : 0};
}

/* --- the bounds that are compared */

/* Shares of the primary's requests that are wanted beyond a bound. */
static const double wanted[LATENCY_PAIRS] = {0.8, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.002};

static double log_odds(double share)
{
    return log(share / (1 - share));
}

/* The finite bound whose share beyond it is nearest; -1 if there is none that parts the requests. */
static int nearest(const struct judge_histogram *primary, double share)
{
    double total = total_of(primary), best = INFINITY;
    int found = -1;

    for (int i = 0; i < primary->n - 1; i++) {
        double slower = (total - primary->counts[i]) / total;
        double away = fabs(log_odds(fmin(fmax(slower, 1e-6), 1 - 1e-6)) - log_odds(share));
        if (primary->bounds[i] > 0 && slower < 1 && away < best) {
            best = away;
            found = i;
        }
    }
    return found;
}

static void choose(struct judge_latency *latency, const struct judge_histogram *primary)
{
    for (int i = 0; i < LATENCY_PAIRS && total_of(primary) > 0; i++) {
        int at = nearest(primary, wanted[i]);
        if (at >= 0 && (latency->n == 0 || primary->bounds[at] > latency->bounds[latency->n - 1]))
            latency->bounds[latency->n++] = primary->bounds[at];
    }
}

/* --- looks */

/* The shift is in the bounds: of the shares nothing is tolerated. */
static struct judge_policy of_shares(const struct judge_policy *policy)
{
    struct judge_policy plain = *policy;

    plain.tolerate = (struct judge_tolerance){0};
    return plain;
}

/* One bound. A primary with none that low, or a canary with none that high, says nothing. */
static void add(struct judge_latency *latency, int i, const struct judge_policy *policy,
                const struct judge_histogram *canary, const struct judge_histogram *primary)
{
    double shifted = latency->bounds[i] * (1 + fmax(policy->tolerate.ratio, 0));
    const struct judge_policy plain = of_shares(policy);
    struct judge_counts slow = {0}, primary_slow = {0};
    double at;

    if (primary->n > 0) {
        double up_to = judge_histogram_count(primary, latency->bounds[i], false, &at);
        if (at == -INFINITY)
            return;
        primary_slow = beyond(primary, up_to);
    }
    if (canary->n > 0) {
        double up_to = judge_histogram_count(canary, shifted, true, &at);
        if (at == INFINITY)
            return;
        slow = beyond(canary, up_to);
        /* of two names for one count, the one that was there before */
        if (at != shifted || latency->beyond[i] == 0)
            latency->beyond[i] = at;
    }
    judge_add_sample(&latency->evidence[i], &plain, slow, primary_slow);
}

bool judge_latency_add(struct judge_latency *latency, const struct judge_policy *policy,
                       const struct judge_histogram *canary, const struct judge_histogram *primary)
{
    if (!is_histogram(canary) || !is_histogram(primary))
        return false;
    if (latency->n == 0) {
        choose(latency, primary);
        return true;
    }
    for (int i = 0; i < latency->n; i++)
        add(latency, i, policy, canary, primary);
    return true;
}

/* --- looks that are kept */

/* A bound that a side has in no look yet is 0. */
static void take_least(double *least, double at)
{
    *least = *least > 0 ? fmin(*least, at) : at;
}

int judge_latency_look(const struct judge_latency *latency, const struct judge_policy *policy,
                       const struct judge_histogram *canary, const struct judge_histogram *primary,
                       double values[], double least[])
{
    double shift = 1 + fmax(policy->tolerate.ratio, 0), at, up_to;
    int n = latency->n + 1;

    values[0] = total_of(canary);
    values[n] = total_of(primary);
    for (int i = 0; i < latency->n; i++) {
        values[1 + i] = 0;
        values[n + 1 + i] = values[n];
        if (canary->n > 0) {
            up_to = judge_histogram_count(canary, latency->bounds[i] * shift, true, &at);
            values[1 + i] = at < INFINITY ? beyond(canary, up_to).bad : 0;
            if (at < INFINITY)
                take_least(&least[i], at);
        }
        if (primary->n > 0) {
            up_to = judge_histogram_count(primary, latency->bounds[i], false, &at);
            values[n + 1 + i] = at > -INFINITY ? beyond(primary, up_to).bad : values[n];
        }
    }
    return 2 * n;
}

bool judge_latency_take(struct judge_latency *latency, const struct judge_policy *policy,
                        const double least[], const double values[], int n_values)
{
    const struct judge_policy plain = of_shares(policy);
    double shift = 1 + fmax(policy->tolerate.ratio, 0);
    int n = latency->n + 1;

    if (latency->n == 0 || n_values != 2 * n)
        return false;
    for (int i = 0; i < latency->n; i++) {
        int beside = 0;
        while (beside < latency->n &&
               !(least[beside] >= latency->bounds[i] * shift * (1 - ROUNDING)))
            beside++;
        if (beside == latency->n)
            continue;
        latency->beyond[i] = least[beside];
        judge_add_sample(&latency->evidence[i], &plain,
                         (struct judge_counts){.total = values[0], .bad = values[1 + beside]},
                         (struct judge_counts){.total = values[n], .bad = values[n + 1 + i]});
    }
    return true;
}

double judge_latency_requests(const struct judge_latency *latency)
{
    double most = 0;

    for (int i = 0; i < latency->n; i++)
        most = fmax(most, latency->evidence[i].canary.total);
    return most;
}

/* --- verdicts */

double judge_latency_log_worse(const struct judge_latency *latency,
                               const struct judge_policy *policy)
{
    const struct judge_policy plain = of_shares(policy);
    double logs[LATENCY_PAIRS], most = -INFINITY, sum = 0;

    if (latency->n == 0)
        return 0;
    for (int i = 0; i < latency->n; i++) {
        logs[i] = judge_log_worse(&latency->evidence[i], &plain);
        most = fmax(most, logs[i]);
    }
    for (int i = 0; i < latency->n; i++)
        sum += exp(logs[i] - most);
    return most + log(sum / latency->n);
}

enum judge_verdict judge_latency_verdict(const struct judge_latency *latency,
                                         const struct judge_policy *policy)
{
    double rate = policy->false_alarm_rate * policy->share;

    return rate > 0 && rate < 1 && judge_latency_log_worse(latency, policy) >= -log(rate)
               ? JUDGE_WORSE
               : JUDGE_UNDECIDED;
}

/* --- sentences */

/* Of the bounds at which there were looks, as long as there is one. */
static int most_evident(const struct judge_latency *latency, const struct judge_policy *policy)
{
    const struct judge_policy plain = of_shares(policy);
    double most = -INFINITY;
    int best = 0;

    for (int i = 0; i < latency->n; i++) {
        double won = judge_log_worse(&latency->evidence[i], &plain);
        if (latency->evidence[i].looks > 0 && won > most) {
            most = won;
            best = i;
        }
    }
    return best;
}

const struct judge_evidence *judge_latency_evident(const struct judge_latency *latency,
                                                   const struct judge_policy *policy)
{
    return &latency->evidence[most_evident(latency, policy)];
}

static const char *slow_text(struct arena *arena, double canary, double primary, double unit)
{
    if (canary == primary)
        return arena_printf(arena, "took longer than %g ms", canary * unit);
    return arena_printf(arena, "took longer than %g ms, beside the primary's %g ms", canary * unit,
                        primary * unit);
}

const char *judge_latency_sentence(struct arena *arena, const struct judge_latency *latency,
                                   const struct judge_policy *policy, double unit)
{
    const struct judge_policy plain = of_shares(policy);

    if (latency->n == 0)
        return "the primary had no requests to choose bounds by";
    int best = most_evident(latency, policy);
    const struct judge_evidence *evidence = &latency->evidence[best];
    const char *slow = slow_text(arena, latency->beyond[best], latency->bounds[best], unit);
    const char *none = judge_silence(evidence);
    if (none)
        return none;
    const char *counts = judge_counted(arena, evidence, &plain, slow);
    if (judge_latency_verdict(latency, policy) == JUDGE_WORSE)
        return arena_printf(
            arena, "%s; odds that chance alone does this, at %d bounds: %s", counts, latency->n,
            judge_odds(arena, judge_latency_log_worse(latency, policy) + log(policy->share)));
    return arena_printf(arena,
                        "%s; that is too little to tell whether the canary is worse, at %d "
                        "bounds",
                        counts, latency->n);
}

/* --- JSON */

static struct json_object *numbers(const double values[], int n)
{
    struct json_object *list = json_object_new_array();

    for (int i = 0; i < n; i++)
        json_object_array_add(list, judge_number_json(values[i]));
    return list;
}

struct json_object *judge_latency_write(struct arena *arena, const struct judge_latency *latency)
{
    struct json_object *json = json_own(arena, json_object_new_object());
    struct json_object *list = json_object_new_array();

    for (int i = 0; i < latency->n; i++)
        json_object_array_add(list, json_object_get(judge_write(arena, &latency->evidence[i])));
    json_object_object_add(json, "bounds", numbers(latency->bounds, latency->n));
    json_object_object_add(json, "beyond", numbers(latency->beyond, latency->n));
    json_object_object_add(json, "evidence", list);
    return json;
}

static bool read_bounds(struct json_object *list, int n, bool ascend, double out[])
{
    if (json_len(list) != (size_t)n)
        return false;
    for (int i = 0; i < n; i++) {
        struct json_object *value = json_elem(list, (size_t)i);
        if (!json_object_is_type(value, json_type_int) &&
            !json_object_is_type(value, json_type_double))
            return false;
        out[i] = json_object_get_double(value);
        if (!(out[i] >= 0 && out[i] < INFINITY) || (ascend && i > 0 && out[i] <= out[i - 1]))
            return false;
    }
    return true;
}

/* Of each bound: of the primary's requests before, the recent and the last ones, all and those
 * beyond, and the scatter of the latter. */
enum { KNOWN = 9 };
static const double MOST_KNOWN = 1e30; /* squares of sums of 10^12, as in judge.c */

struct json_object *judge_latency_known_write(struct arena *arena,
                                              const struct judge_latency *latency, double unit)
{
    struct json_object *json = json_own(arena, json_object_new_object());
    struct json_object *list = json_object_new_array();

    for (int i = 0; i < latency->n; i++) {
        const struct judge_evidence *of = &latency->evidence[i];
        const double known[KNOWN] = {of->before.total,
                                     of->before.bad,
                                     of->recent_primary.total,
                                     of->recent_primary.bad,
                                     of->last_primary.total,
                                     of->last_primary.bad,
                                     of->scatter,
                                     of->chance,
                                     of->squares};
        json_object_array_add(list, numbers(known, KNOWN));
    }
    json_object_object_add(json, "unit", judge_number_json(unit));
    json_object_object_add(json, "bounds", numbers(latency->bounds, latency->n));
    json_object_object_add(json, "primary", list);
    return json;
}

static bool can_be(struct judge_counts counts)
{
    return counts.bad <= counts.total;
}

static bool read_known(struct json_object *list, struct judge_evidence *out)
{
    double known[KNOWN];

    judge_begin(out);
    if (!read_bounds(list, KNOWN, false, known))
        return false;
    for (int i = 0; i < KNOWN; i++)
        if (known[i] > MOST_KNOWN)
            return false;
    out->before = (struct judge_counts){.total = known[0], .bad = known[1]};
    out->recent_primary = (struct judge_counts){.total = known[2], .bad = known[3]};
    out->last_primary = (struct judge_counts){.total = known[4], .bad = known[5]};
    out->scatter = known[6];
    out->chance = known[7];
    out->squares = known[8];
    return can_be(out->before) && can_be(out->recent_primary) && can_be(out->last_primary);
}

static bool read_all_known(struct json_object *json, struct judge_latency *out, double *unit)
{
    struct json_object *bounds = json_at(json, "bounds", NULL);
    struct json_object *list = json_at(json, "primary", NULL);
    size_t n = json_len(bounds);

    if (!json_object_is_type(bounds, json_type_array) || n == 0 || n > LATENCY_PAIRS ||
        json_len(list) != n || !read_bounds(bounds, (int)n, true, out->bounds) ||
        !json_at(json, "unit", NULL))
        return false;
    *unit = json_object_get_double(json_at(json, "unit", NULL));
    for (size_t i = 0; i < n; i++) {
        if (!read_known(json_elem(list, i), &out->evidence[i]))
            return false;
    }
    out->n = (int)n;
    return *unit > 0 && *unit < INFINITY;
}

bool judge_latency_known_read(struct json_object *json, struct judge_latency *latency, double *unit)
{
    judge_latency_begin(latency);
    *unit = 1;
    if (read_all_known(json, latency, unit))
        return true;
    judge_latency_begin(latency);
    *unit = 1;
    return false;
}

static bool read_all(struct json_object *json, struct judge_latency *out)
{
    struct json_object *list = json_at(json, "evidence", NULL);
    struct json_object *bounds = json_at(json, "bounds", NULL);
    size_t n = json_len(bounds);

    if (!json_object_is_type(bounds, json_type_array) || n > LATENCY_PAIRS ||
        !read_bounds(bounds, (int)n, true, out->bounds) ||
        !read_bounds(json_at(json, "beyond", NULL), (int)n, false, out->beyond) ||
        json_len(list) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!judge_read(json_elem(list, i), &out->evidence[i]))
            return false;
    }
    out->n = (int)n;
    return true;
}

bool judge_latency_read(struct json_object *json, struct judge_latency *latency)
{
    judge_latency_begin(latency);
    if (read_all(json, latency))
        return true;
    judge_latency_begin(latency);
    return false;
}
