#include "judge/past.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"

/* Values beyond this are cut: sums and squares of them stay finite. */
static const double MOST_VALUE = 1e100;

enum { MOST_COMPARISONS = 40, SIDES = PAST_DAYS + 1 };

void judge_past_begin(struct judge_past *past, bool lower)
{
    memset(past, 0, sizeof(*past));
    past->lower = lower;
}

static double cut(double value)
{
    return fmin(fmax(value, -MOST_VALUE), MOST_VALUE);
}

static double sign_of(const struct judge_past *past)
{
    return past->lower ? -1 : 1;
}

/* --- Student's distribution */

/* The chance of -t to t, as a finite sum for whole degrees of freedom. */
static double within(double t, int degrees)
{
    double angle = atan2(t, sqrt(degrees)), cosine = cos(angle), sine = sin(angle);
    bool odd = degrees % 2 == 1;
    double term = odd ? cosine : 1, sum = 0;

    for (int i = odd ? 1 : 0; i <= degrees - 2; i += 2) {
        sum += term;
        term *= cosine * cosine * (i + 1) / (i + 2);
    }
    return odd ? 2 / M_PI * (angle + sine * sum) : sine * sum;
}

double judge_student_above(double t, int degrees)
{
    double both = within(fabs(t), degrees);

    return t < 0 ? (1 + both) / 2 : fmax(1 - both, 0) / 2;
}

/* The t that is exceeded by this chance, below one half. */
static double student_quantile(double chance, int degrees)
{
    double low = 0, high = 1;

    while (high < 1e9 && judge_student_above(high, degrees) > chance)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (judge_student_above(middle, degrees) > chance)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* --- days */

static void add_to(struct judge_past_day *day, double value)
{
    if (!isfinite(value))
        return;
    double from = cut(value) - day->mean;

    day->looks++;
    day->mean += from / (double)day->looks;
    day->squares += from * (cut(value) - day->mean);
}

static void add_before(struct judge_past_day *day, double value)
{
    if (!isfinite(value) || day->points >= PAST_BEFORE)
        return;
    day->points++;
    day->before += (cut(value) - day->before) / day->points;
}

void judge_past_before(struct judge_past *past, const struct judge_past_look *point)
{
    add_before(&past->today, point->today);
    for (int i = 0; i < PAST_DAYS; i++)
        add_before(&past->days[i], point->days[i]);
}

static bool counts(const struct judge_past *past, const struct judge_past_day *day)
{
    return day->looks > 0 && 2 * day->looks >= past->today.looks;
}

/* The days that count; their number. */
static int days_of(const struct judge_past *past, const struct judge_past_day *days[PAST_DAYS])
{
    int n = 0;

    for (int i = 0; i < PAST_DAYS; i++) {
        if (counts(past, &past->days[i]))
            days[n++] = &past->days[i];
    }
    return n;
}

int judge_past_days(const struct judge_past *past)
{
    const struct judge_past_day *ignored[PAST_DAYS];

    return days_of(past, ignored);
}

/* --- the number of a day */

struct spread {
    double mean, deviation;
};

static struct spread spread_of(const double values[], int n)
{
    double mean = 0, squares = 0;

    for (int i = 0; i < n; i++)
        mean += values[i] / n;
    for (int i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return (struct spread){.mean = mean, .deviation = sqrt(squares / (n - 1))};
}

static bool has_before(const struct judge_past_day *day)
{
    return 2 * day->points >= PAST_BEFORE;
}

/* The hour before is used if the days' deviation is at least this times more without it. */
static const double CLEARLY = 1.25;

/* The numbers of n days, and today's as the last; by: what the mean is above that of the hour
 * before. The spread is that of the past days. */
static struct spread take_values(const struct judge_past_day *const days[], int n, bool by,
                                 bool logarithm, double values[SIDES])
{
    for (int i = 0; i <= n; i++) {
        double before = by ? days[i]->before : 0;
        values[i] =
            logarithm ? log(days[i]->mean) - (by ? log(before) : 0) : days[i]->mean - before;
    }
    return spread_of(values, n);
}

/* Looks of one window of the query count as one. */
static double error_of_mean(double squares, int64_t looks, int64_t free, double overlap)
{
    return free > 0 ? sqrt(squares / (double)free * overlap / (double)looks) : 0;
}

/* Errors of a mean, estimated from the looks of the past days and of today. */
struct errors {
    double days, today;
};

static struct errors errors_of(const struct judge_past *past,
                               const struct judge_past_day *const days[], int n, double overlap)
{
    const struct judge_past_day *today = &past->today;
    double squares = 0;
    int64_t free = 0;

    for (int i = 0; i < n; i++) {
        squares += days[i]->squares;
        free += days[i]->looks - 1;
    }
    return (struct errors){
        .days = error_of_mean(squares, today->looks, free, overlap),
        .today = error_of_mean(today->squares, today->looks, today->looks - 1, overlap)};
}

/* The deviation of one more day; the tolerance gives the least one. */
static double deviation_of(double days, double tolerated, struct errors errors, int n)
{
    static const double PART = 0.1;
    double one = fmax(fmax(days, PART * tolerated), fmax(errors.days, errors.today));

    return cut(one * sqrt(1 + 1.0 / n));
}

static bool all_positive(const struct judge_past_day *const days[], int n, bool by)
{
    for (int i = 0; i <= n; i++) {
        if (!(days[i]->mean > 0) || (by && !(days[i]->before > 0)))
            return false;
    }
    return true;
}

/* --- comparisons */

static double tolerated_of(const struct judge_policy *policy, double level)
{
    return cut(
        fmax(fmax(policy->tolerate.ratio, 0) * fabs(level), fmax(policy->tolerate.points, 0)));
}

/* Today's distance from the days, with the sign that positive is worse, of all looks so far. */
static double distance_of(const struct judge_past *past)
{
    const struct judge_past_day *days[PAST_DAYS];
    int n = days_of(past, days);
    double mean = 0;

    for (int i = 0; i < n; i++)
        mean += days[i]->mean / n;
    return n > 0 ? sign_of(past) * (past->today.mean - mean) : 0;
}

static const double SHRINKS = 0.8;

/* Of equal numbers of looks in the earlier and the later half. by: taken from both. */
static bool lasts(const struct judge_past *past, double by, double tolerated)
{
    double earlier = past->earlier - by, later = 2 * distance_of(past) - past->earlier - by;

    return later > tolerated && later >= SHRINKS * earlier;
}

static bool by_before(const struct judge_past_day *const days[], int n)
{
    double values[SIDES];

    for (int i = 0; i <= n; i++) {
        if (!has_before(days[i]))
            return false;
    }
    return take_values(days, n, true, false, values).deviation * CLEARLY <
           take_values(days, n, false, false, values).deviation;
}

/* The same by logarithms, where all are positive. days[n] is today. */
static void compare_logarithms(struct judge_past *past, const struct judge_past_day *const days[],
                               int n, bool by, double level, double tolerated, struct errors errors)
{
    struct judge_past_result *last = &past->last;
    double part = 1 + sign_of(past) * tolerated / level, values[SIDES];

    if (!all_positive(days, n, by) || !(part > 0))
        return;
    struct spread days_logarithm = take_values(days, n, by, true, values);
    errors.days /= level;
    errors.today /= past->today.mean;
    last->logarithm.expected =
        cut(days_logarithm.mean + log(past->today.mean) - values[n] + log(part));
    last->logarithm.deviation =
        deviation_of(days_logarithm.deviation, tolerated / level, errors, n);
    last->has_logarithm = last->logarithm.deviation > 0;
}

static void compare(struct judge_past *past, const struct judge_policy *policy, double overlap)
{
    const struct judge_past_day *days[SIDES];
    int n = days_of(past, days);
    double means[SIDES], values[SIDES];

    past->last = (struct judge_past_result){.today = past->today.mean};
    if (n < PAST_LEAST_DAYS)
        return;
    days[n] = &past->today;
    bool by = by_before(days, n);
    struct spread level = take_values(days, n, false, false, means);
    struct spread number = take_values(days, n, by, false, values);
    double tolerated = tolerated_of(policy, level.mean);
    double shift = means[n] - values[n]; /* today's hour before, or 0 */
    struct errors errors = errors_of(past, days, n, overlap);
    struct judge_past_result *last = &past->last;

    last->days = n;
    last->least = last->most = means[0];
    for (int i = 1; i < n; i++) {
        last->least = fmin(last->least, means[i]);
        last->most = fmax(last->most, means[i]);
    }
    last->number.expected = cut(number.mean + shift + sign_of(past) * tolerated);
    last->number.deviation = deviation_of(number.deviation, tolerated, errors, n);
    last->lasts = lasts(past, sign_of(past) * (number.mean + shift - level.mean), tolerated);
    compare_logarithms(past, days, n, by, level.mean, tolerated, errors);
}

/* The looks of the next comparison. */
static int64_t next_looks(const struct judge_past *past)
{
    return (int64_t)PAST_FIRST << past->comparisons;
}

bool judge_past_add(struct judge_past *past, const struct judge_policy *policy, double overlap,
                    const struct judge_past_look *look)
{
    if (!isfinite(look->today))
        return false;
    if (past->today.looks >= JUDGE_MAX_LOOKS)
        return true;
    add_to(&past->today, look->today);
    for (int i = 0; i < PAST_DAYS; i++)
        add_to(&past->days[i], look->days[i]);
    if (2 * past->today.looks == next_looks(past))
        past->earlier = distance_of(past);
    if (past->today.looks < next_looks(past))
        return true;
    compare(past, policy, fmax(overlap, 1));
    past->comparisons++;
    past->earlier = distance_of(past); /* half of the next one's */
    return true;
}

/* --- verdicts */

static double t_of(const struct judge_past *past)
{
    const struct judge_past_result *last = &past->last;

    if (last->days == 0 || !(last->number.deviation > 0))
        return 0;
    double t = (last->today - last->number.expected) / last->number.deviation * sign_of(past);
    if (!last->has_logarithm)
        return t;
    return fmin(t, (log(last->today) - last->logarithm.expected) / last->logarithm.deviation *
                       sign_of(past));
}

/* The part of the rate that the last comparison has is one of this many. */
static double parts(const struct judge_past *past)
{
    return (double)past->comparisons * (past->comparisons + 1.0);
}

static int degrees_of(const struct judge_past *past)
{
    return past->last.days - 3;
}

double judge_past_log_worse(const struct judge_past *past)
{
    static const double LEAST_CHANCE = 1e-12;
    double t = t_of(past);

    if (!(t > 0))
        return 0;
    double chance = fmax(judge_student_above(t, degrees_of(past)), LEAST_CHANCE);
    return fmax(-log(chance * parts(past)), 0);
}

/* The chance that false alarms may have; 0 if the policy has no rate. */
static double rate_of(const struct judge_policy *policy)
{
    double rate = policy->false_alarm_rate * policy->share;

    return rate > 0 && rate < 1 ? rate : 0;
}

bool judge_past_beyond(const struct judge_past *past, const struct judge_policy *policy)
{
    return rate_of(policy) > 0 && judge_past_log_worse(past) >= -log(rate_of(policy));
}

enum judge_verdict judge_past_verdict(const struct judge_past *past,
                                      const struct judge_policy *policy)
{
    return judge_past_beyond(past, policy) && past->last.lasts ? JUDGE_WORSE : JUDGE_UNDECIDED;
}

/* --- sentences */

/* "1.1 to 1.6 at the same time of the last 7 days", "... of 5 of the last 7 days" */
static const char *against(struct arena *arena, double least, double most, int days)
{
    const char *from = judge_number_text(arena, least), *to = judge_number_text(arena, most);
    const char *range = strcmp(from, to) == 0 ? from : arena_printf(arena, "%s to %s", from, to);
    const char *some = days < PAST_DAYS ? arena_printf(arena, "%d of ", days) : "";

    return arena_printf(arena, "%s at the same time of %sthe last %d days", range, some, PAST_DAYS);
}

static const char *too_few(struct arena *arena, int days)
{
    return arena_printf(arena,
                        "only %d of the last %d days have values at this time, %d are needed", days,
                        PAST_DAYS, PAST_LEAST_DAYS);
}

/* The value from which on there would be a verdict. */
static double limit_of(const struct judge_past *past, const struct judge_policy *policy)
{
    const struct judge_past_result *last = &past->last;
    double chance = fmax(rate_of(policy) / parts(past), 1e-12);
    double t = student_quantile(chance, degrees_of(past)) * sign_of(past);
    double limit = last->number.expected + t * last->number.deviation;

    if (!last->has_logarithm)
        return limit;
    double other = exp(last->logarithm.expected + t * last->logarithm.deviation);
    return past->lower ? fmin(limit, other) : fmax(limit, other);
}

static const char *first_looks(struct arena *arena, const struct judge_past *past)
{
    const struct judge_past_day *days[PAST_DAYS];
    int n = days_of(past, days);

    if (n == 0)
        return too_few(arena, n);
    double least = days[0]->mean, most = least;
    for (int i = 1; i < n; i++) {
        least = fmin(least, days[i]->mean);
        most = fmax(most, days[i]->mean);
    }
    return arena_printf(arena, "%s against %s; %lld of the %d looks of the first comparison",
                        judge_number_text(arena, past->today.mean), against(arena, least, most, n),
                        (long long)past->today.looks, PAST_FIRST);
}

const char *judge_past_sentence(struct arena *arena, const struct judge_past *past,
                                const struct judge_policy *policy)
{
    const struct judge_past_result *last = &past->last;

    if (past->today.looks == 0)
        return "nothing was compared yet";
    if (past->comparisons == 0)
        return first_looks(arena, past);
    if (last->days == 0)
        return too_few(arena, judge_past_days(past));
    const char *text = arena_printf(arena, "%s against %s", judge_number_text(arena, last->today),
                                    against(arena, last->least, last->most, last->days));
    if (!(last->number.deviation > 0))
        return arena_printf(arena,
                            "%s; values that never differ do not show how much more is worse, "
                            "which judge.tolerate with an amount would",
                            text);
    text = arena_printf(arena, "%s, at %s %s is tolerated", text, past->lower ? "least" : "most",
                        judge_number_text(arena, limit_of(past, policy)));
    if (!judge_past_beyond(past, policy))
        return text;
    if (!last->lasts)
        return arena_printf(arena, "%s; but the difference shrinks, as after a start", text);
    return arena_printf(arena, "%s; odds that chance alone does this: %s", text,
                        judge_odds(arena, judge_past_log_worse(past) + log(policy->share)));
}

/* --- JSON */

static void add_number(struct json_object *list, double value)
{
    json_object_array_add(list, judge_number_json(value));
}

/* [looks, mean, squares, points, before] */
static struct json_object *day_json(const struct judge_past_day *day)
{
    struct json_object *list = json_object_new_array();

    add_number(list, (double)day->looks);
    add_number(list, day->mean);
    add_number(list, day->squares);
    add_number(list, day->points);
    add_number(list, day->before);
    return list;
}

struct json_object *judge_past_write(struct arena *arena, const struct judge_past *past)
{
    struct json_object *json = json_own(arena, json_object_new_object());
    struct json_object *days = json_object_new_array(), *numbers = json_object_new_array();
    const struct judge_past_result *last = &past->last;
    const double all[] = {last->today,
                          last->least,
                          last->most,
                          last->number.expected,
                          last->number.deviation,
                          last->logarithm.expected,
                          last->logarithm.deviation};

    json_set_bool(json, "lower", past->lower);
    json_object_object_add(json, "today", day_json(&past->today));
    for (int i = 0; i < PAST_DAYS; i++)
        json_object_array_add(days, day_json(&past->days[i]));
    json_object_object_add(json, "days", days);
    json_set_int(json, "comparisons", past->comparisons);
    json_object_object_add(json, "earlier", judge_number_json(past->earlier));
    json_set_int(json, "counted", last->days);
    json_set_bool(json, "lasts", last->lasts);
    json_set_bool(json, "positive", last->has_logarithm);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        add_number(numbers, all[i]);
    json_object_object_add(json, "compared", numbers);
    return json;
}

static bool get_number(struct json_object *json, double most, double *out)
{
    if (!json_object_is_type(json, json_type_int) && !json_object_is_type(json, json_type_double))
        return false;
    *out = json_object_get_double(json);
    return fabs(*out) <= most;
}

/* A list of exactly so many numbers. */
static bool get_numbers(struct json_object *list, double most, double out[], size_t n)
{
    if (!json_object_is_type(list, json_type_array) || json_len(list) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!get_number(json_elem(list, i), most, &out[i]))
            return false;
    }
    return true;
}

static bool get_count(struct json_object *json, const char *key, int64_t most, int *out)
{
    int64_t value;

    if (!json_to_int(json_at(json, key, NULL), &value) || value < 0 || value > most)
        return false;
    *out = (int)value;
    return true;
}

static bool is_whole(double value, double most)
{
    return value >= 0 && value <= most && value == floor(value);
}

static bool read_day(struct json_object *json, double most_looks, struct judge_past_day *out)
{
    double all[5];

    if (!get_numbers(json, 2 * MOST_VALUE * MOST_VALUE * JUDGE_MAX_LOOKS, all, 5) ||
        !is_whole(all[0], most_looks) || !is_whole(all[3], PAST_BEFORE) ||
        fabs(all[1]) > MOST_VALUE || all[2] < 0 || fabs(all[4]) > MOST_VALUE)
        return false;
    *out = (struct judge_past_day){.looks = (int64_t)all[0],
                                   .mean = all[1],
                                   .squares = all[2],
                                   .points = (int)all[3],
                                   .before = all[4]};
    return true;
}

static bool read_last(struct json_object *json, struct judge_past_result *last)
{
    double all[7];

    if (!get_numbers(json_at(json, "compared", NULL), MOST_VALUE * 4, all, 7) ||
        !get_count(json, "counted", PAST_DAYS, &last->days) || all[4] < 0 || all[6] < 0)
        return false;
    last->today = all[0];
    last->least = all[1];
    last->most = all[2];
    last->number = (struct judge_past_interval){all[3], all[4]};
    last->logarithm = (struct judge_past_interval){all[5], all[6]};
    last->lasts = json_object_get_boolean(json_at(json, "lasts", NULL));
    last->has_logarithm = json_object_get_boolean(json_at(json, "positive", NULL));
    return (last->days == 0 || last->days >= PAST_LEAST_DAYS) && last->least <= last->most &&
           (!last->has_logarithm || (last->today > 0 && last->logarithm.deviation > 0));
}

static bool read_all(struct json_object *json, struct judge_past *out)
{
    struct json_object *days = json_at(json, "days", NULL);

    out->lower = json_object_get_boolean(json_at(json, "lower", NULL));
    if (!read_day(json_at(json, "today", NULL), JUDGE_MAX_LOOKS, &out->today) ||
        !json_object_is_type(days, json_type_array) || json_len(days) != PAST_DAYS ||
        !get_count(json, "comparisons", MOST_COMPARISONS, &out->comparisons) ||
        !get_number(json_at(json, "earlier", NULL), 4 * MOST_VALUE, &out->earlier))
        return false;
    for (size_t i = 0; i < PAST_DAYS; i++) {
        if (!read_day(json_elem(days, i), (double)out->today.looks, &out->days[i]))
            return false;
    }
    /* as many comparisons as there were looks for */
    return out->today.looks < next_looks(out) &&
           (out->comparisons == 0 ? json_at(json, "compared", NULL) != NULL
                                  : 2 * out->today.looks >= next_looks(out)) &&
           read_last(json, &out->last) && (out->comparisons > 0 || out->last.days == 0);
}

bool judge_past_read(struct json_object *json, struct judge_past *past)
{
    judge_past_begin(past, false);
    if (read_all(json, past))
        return true;
    judge_past_begin(past, false);
    return false;
}
