#include "judge/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"

/* Values beyond this are cut: sums and products of them stay finite. */
static const double MOST_VALUE = 1e100, MOST_LOG = 1e9;

void judge_numbers_begin(struct judge_numbers *numbers, bool lower)
{
    memset(numbers, 0, sizeof(*numbers));
    numbers->lower = lower;
    for (int i = 0; i < NUMBERS_BETS; i++)
        numbers->won[i] = -MOST_LOG; /* nothing is staked yet */
}

static double cut(double value)
{
    return fmin(fmax(value, -MOST_VALUE), MOST_VALUE);
}

/* --- medians */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The value below which this part of them lies. Sorts them. */
static double quantile(double values[], int n, double part)
{
    double at = part * (n - 1);
    int low = (int)at;

    qsort(values, (size_t)n, sizeof(values[0]), by_size);
    return low + 1 < n ? values[low] + (at - low) * (values[low + 1] - values[low]) : values[low];
}

static double median(const double values[], int n)
{
    double sorted[NUMBERS_PAST];

    memcpy(sorted, values, (size_t)n * sizeof(values[0]));
    return quantile(sorted, n, 0.5);
}

/* --- how the primary varies by itself */

/*
 * DEVIATION, FAR: a normal variable has half of its distances from the median below 1/1.4826 of its
 * standard deviation, and nine tenths below 1.645.
 */
static const double DEVIATION = 1.4826, FAR_PART = 0.9, FAR_DEVIATIONS = 1.645, OUTLIER = 3;

/* Looks of a comparison: at least; where nothing is known of the dependence; and the number of
 * values from which it is known well. */
enum { LEAST_BLOCK = 2, PLAIN_BLOCK = 6, MANY_VALUES = 60 };

/* Takes away the line through the medians of the first and the last third (J. Tukey). */
static void take_line_away(double values[], int n)
{
    int third = n / 3;
    double first = median(values, third), last = median(values + n - third, third);
    double slope = (last - first) / (n - third);

    for (int i = 0; i < n; i++)
        values[i] -= slope * i;
}

/* The larger one of two robust spreads: the second sees bursts, which the first does not. */
static double spread_of(const double values[], int n)
{
    double middle = median(values, n), away[NUMBERS_PAST];

    for (int i = 0; i < n; i++)
        away[i] = fabs(values[i] - middle);
    double near = quantile(away, n, 0.5), far = quantile(away, n, FAR_PART);
    return fmax(near * DEVIATION, far / FAR_DEVIATIONS);
}

/* Looks after which a value says nothing of the next one: 1 + 2 * the sum of autocorrelations. */
static double dependence_of(const double values[], int n, double noise)
{
    double middle = median(values, n), off[NUMBERS_PAST], squares = 0, sum = 1;

    for (int i = 0; i < n; i++) {
        off[i] = fmin(fmax((values[i] - middle) / noise, -OUTLIER), OUTLIER);
        squares += off[i] * off[i];
    }
    for (int lag = 1; lag < n / 4; lag++) {
        double products = 0;
        for (int i = lag; i < n; i++)
            products += off[i] * off[i - lag];
        if (!(products / squares > 2 / sqrt(n)))
            break;
        sum += 2 * products / squares;
    }
    return sum;
}

static void learn(struct judge_numbers *numbers, double values[], int n)
{
    take_line_away(values, n);
    numbers->noise = cut(spread_of(values, n));
    int block = numbers->noise > 0
                    ? (int)ceil(fmin(dependence_of(values, n, numbers->noise), NUMBERS_LOOKS))
                    : PLAIN_BLOCK;
    if (n < MANY_VALUES && block < PLAIN_BLOCK)
        block = PLAIN_BLOCK;
    numbers->block = block < LEAST_BLOCK ? LEAST_BLOCK : block;
    numbers->n_learned = 0;
}

void judge_numbers_learn(struct judge_numbers *numbers, const double values[], int n)
{
    double known[NUMBERS_PAST];
    int count = 0;

    for (int i = n > NUMBERS_PAST ? n - NUMBERS_PAST : 0; i < n; i++) {
        if (isfinite(values[i]))
            known[count++] = cut(values[i]);
    }
    if (count >= NUMBERS_LEARNED)
        learn(numbers, known, count);
}

/* --- bets */

struct bet {
    double chance, weight;
};

static const struct bet bets[NUMBERS_BETS] = {
    {.chance = 0.6, .weight = 0.15},
    {.chance = 0.75, .weight = 0.15},
    {.chance = 0.9, .weight = 0.2},
    {.chance = 0.98, .weight = 0.5},
};

/* FIRST: the part of the stake that is bet from the beginning. Of the rest, each comparison takes
 * the part LATER of what is left. */
static const double FIRST = 0.5, LATER = 1.0 / 64;

/* The logarithm of what is not staked after this many comparisons. */
static double log_left(int64_t comparisons)
{
    return log(1 - FIRST) + (double)comparisons * log1p(-LATER);
}

static double log_sum(double a, double b)
{
    double most = fmax(a, b);

    return most + log(exp(a - most) + exp(b - most));
}

/* One comparison; `so_far` is the number of those before it. */
static void bet(struct judge_numbers *numbers, int64_t so_far, bool beyond)
{
    double staked = log_left(so_far) + log(LATER);

    if (so_far == 0)
        staked = log_sum(staked, log(FIRST));
    for (int i = 0; i < NUMBERS_BETS; i++) {
        double factor = 2 * (beyond ? bets[i].chance : 1 - bets[i].chance);
        numbers->won[i] = fmin(log_sum(numbers->won[i], staked) + log(factor), MOST_LOG);
    }
}

double judge_numbers_log_worse(const struct judge_numbers *numbers)
{
    double sum = log_left(numbers->comparisons);

    if (numbers->comparisons == 0)
        return 0;
    for (int i = 0; i < NUMBERS_BETS; i++)
        sum = log_sum(sum, numbers->won[i] + log(bets[i].weight));
    return sum;
}

/* --- looks */

static const double NOISES = 3;

static double tolerated(const struct judge_numbers *numbers, const struct judge_policy *policy,
                        double level)
{
    double ratio = fmax(policy->tolerate.ratio, 0), points = fmax(policy->tolerate.points, 0);

    return cut(fmax(fmax(ratio * fabs(level), points), NOISES * numbers->noise));
}

static void remember(struct judge_numbers *numbers, double difference)
{
    if (numbers->n_recent == NUMBERS_RECENT)
        memmove(numbers->recent, numbers->recent + 1,
                (size_t)--numbers->n_recent * sizeof(numbers->recent[0]));
    numbers->recent[numbers->n_recent++] = difference;
}

static void compare(struct judge_numbers *numbers, const struct judge_policy *policy)
{
    double away[NUMBERS_LOOKS];

    for (int i = 0; i < numbers->n; i++)
        away[i] = (numbers->canary[i] - numbers->primary[i]) * (numbers->lower ? -1 : 1);
    numbers->difference = cut(median(away, numbers->n));
    numbers->level = median(numbers->primary, numbers->n);
    numbers->tolerated = tolerated(numbers, policy, numbers->level);
    bool beyond = numbers->difference > numbers->tolerated;
    bet(numbers, numbers->comparisons, beyond);
    if (numbers->comparisons < JUDGE_MAX_LOOKS) {
        numbers->comparisons++;
        numbers->beyond += beyond;
    }
    remember(numbers, numbers->difference);
    numbers->n = 0;
}

static void learn_from(struct judge_numbers *numbers, double primary)
{
    double values[NUMBERS_LEARNED];

    numbers->learned[numbers->n_learned++] = primary;
    if (numbers->n_learned < NUMBERS_LEARNED)
        return;
    memcpy(values, numbers->learned, sizeof(values));
    learn(numbers, values, NUMBERS_LEARNED);
}

bool judge_numbers_add(struct judge_numbers *numbers, const struct judge_policy *policy,
                       double canary, double primary)
{
    if (!isfinite(canary) || !isfinite(primary))
        return false;
    numbers->looks += numbers->looks < JUDGE_MAX_LOOKS;
    numbers->canary_last = cut(canary);
    numbers->primary_last = cut(primary);
    if (numbers->block == 0) {
        learn_from(numbers, numbers->primary_last);
        return true;
    }
    numbers->canary[numbers->n] = numbers->canary_last;
    numbers->primary[numbers->n++] = numbers->primary_last;
    if (numbers->n >= numbers->block)
        compare(numbers, policy);
    return true;
}

bool judge_numbers_beyond(const struct judge_numbers *numbers)
{
    return numbers->comparisons > 0 && numbers->difference > numbers->tolerated;
}

/* --- verdicts */

static const double SHRINKS = 0.8;

enum { LEAST_RECENT = 8 };

/* The difference of the later comparisons is beyond the tolerance, and not on its way to it. */
static bool lasts(const struct judge_numbers *numbers)
{
    int half = numbers->n_recent / 2;

    if (numbers->n_recent < LEAST_RECENT)
        return false;
    double earlier = median(numbers->recent, half);
    double later = median(numbers->recent + numbers->n_recent - half, half);
    return later > numbers->tolerated && later >= SHRINKS * earlier;
}

/* Infinite if the policy has no rate. */
static double log_needed(const struct judge_policy *policy)
{
    double rate = policy->false_alarm_rate * policy->share;

    return rate > 0 && rate < 1 ? -log(rate) : INFINITY;
}

enum judge_verdict judge_numbers_verdict(const struct judge_numbers *numbers,
                                         const struct judge_policy *policy)
{
    return judge_numbers_log_worse(numbers) >= log_needed(policy) && lasts(numbers)
               ? JUDGE_WORSE
               : JUDGE_UNDECIDED;
}

/* --- sentences */

static const char *beside(struct arena *arena, double canary, double primary)
{
    return arena_printf(arena, "%s against %s of the primary", judge_number_text(arena, canary),
                        judge_number_text(arena, primary));
}

/* The last comparison, and how many were like it. */
static const char *compared(struct arena *arena, const struct judge_numbers *numbers)
{
    int sign = numbers->lower ? -1 : 1;
    double level = numbers->level;

    return arena_printf(arena, "%s, at %s %s is tolerated; %s that in %lld of %lld comparisons",
                        beside(arena, level + sign * numbers->difference, level),
                        numbers->lower ? "least" : "most",
                        judge_number_text(arena, level + sign * numbers->tolerated),
                        numbers->lower ? "below" : "above", (long long)numbers->beyond,
                        (long long)numbers->comparisons);
}

const char *judge_numbers_sentence(struct arena *arena, const struct judge_numbers *numbers,
                                   const struct judge_policy *policy)
{
    if (numbers->looks == 0)
        return "nothing was compared yet";
    if (numbers->comparisons == 0) {
        const char *last = beside(arena, numbers->canary_last, numbers->primary_last);
        if (numbers->block > 0)
            return arena_printf(arena, "%s; %d of the %d values of the first comparison", last,
                                numbers->n, numbers->block);
        return arena_printf(arena,
                            "%s; %d of the %d values that show how much the primary varies by "
                            "itself",
                            last, numbers->n_learned, NUMBERS_LEARNED);
    }
    const char *text = compared(arena, numbers);
    if (numbers->beyond == 0)
        return text;
    double won = judge_numbers_log_worse(numbers);
    if (won < log_needed(policy))
        return arena_printf(arena, "%s; that is too little to tell whether the canary is worse",
                            text);
    if (!lasts(numbers))
        return arena_printf(arena, "%s; but the difference shrinks, as after a start", text);
    return arena_printf(arena, "%s; odds that chance alone does this: %s", text,
                        judge_odds(arena, won + log(policy->share)));
}

/* --- JSON */

static void set(struct json_object *json, const char *key, const double values[], int n)
{
    struct json_object *list = json_object_new_array();

    for (int i = 0; i < n; i++)
        json_object_array_add(list, judge_number_json(values[i]));
    json_object_object_add(json, key, list);
}

struct json_object *judge_numbers_write(struct arena *arena, const struct judge_numbers *numbers)
{
    struct json_object *json = json_own(arena, json_object_new_object());
    const double last[] = {numbers->canary_last, numbers->primary_last},
                 compared_last[] = {numbers->difference, numbers->level, numbers->tolerated};

    json_set_bool(json, "lower", numbers->lower);
    json_set_int(json, "looks", numbers->looks);
    json_set_int(json, "comparisons", numbers->comparisons);
    json_set_int(json, "beyond", numbers->beyond);
    json_set_int(json, "block", numbers->block);
    set(json, "noise", &numbers->noise, 1);
    set(json, "last", last, 2);
    set(json, "compared", compared_last, 3);
    set(json, "learned", numbers->learned, numbers->n_learned);
    set(json, "canary", numbers->canary, numbers->n);
    set(json, "primary", numbers->primary, numbers->n);
    set(json, "recent", numbers->recent, numbers->n_recent);
    set(json, "won", numbers->won, NUMBERS_BETS);
    return json;
}

/* A list of at most so many numbers; its length, or -1. */
static int get(struct json_object *json, const char *key, double values[], int most)
{
    struct json_object *list = json_at(json, key, NULL);
    size_t len = json_len(list);

    if (!json_object_is_type(list, json_type_array) || len > (size_t)most)
        return -1;
    for (size_t i = 0; i < len; i++) {
        struct json_object *value = json_elem(list, i);
        if (!json_object_is_type(value, json_type_int) &&
            !json_object_is_type(value, json_type_double))
            return -1;
        values[i] = json_object_get_double(value);
        if (!(fabs(values[i]) <= MOST_VALUE))
            return -1;
    }
    return (int)len;
}

static bool get_count(struct json_object *json, const char *key, int64_t most, int64_t *out)
{
    return json_to_int(json_at(json, key, NULL), out) && *out >= 0 && *out <= most;
}

static bool read_all(struct json_object *json, struct judge_numbers *out)
{
    double last[2], compared_last[3];
    int64_t block;

    out->lower = json_object_get_boolean(json_at(json, "lower", NULL));
    if (!get_count(json, "looks", JUDGE_MAX_LOOKS, &out->looks) ||
        !get_count(json, "comparisons", out->looks, &out->comparisons) ||
        !get_count(json, "beyond", out->comparisons, &out->beyond) ||
        !get_count(json, "block", NUMBERS_LOOKS, &block) ||
        get(json, "noise", &out->noise, 1) != 1 || out->noise < 0 ||
        get(json, "last", last, 2) != 2 || get(json, "compared", compared_last, 3) != 3 ||
        get(json, "won", out->won, NUMBERS_BETS) != NUMBERS_BETS)
        return false;
    out->block = (int)block;
    out->canary_last = last[0];
    out->primary_last = last[1];
    out->difference = compared_last[0];
    out->level = compared_last[1];
    out->tolerated = compared_last[2];
    out->n_learned = get(json, "learned", out->learned, NUMBERS_LEARNED - 1);
    out->n_recent = get(json, "recent", out->recent, NUMBERS_RECENT);
    out->n = get(json, "canary", out->canary, NUMBERS_LOOKS);
    return out->n_learned >= 0 && out->n_recent >= 0 && out->n >= 0 &&
           (out->n == 0 || out->n < out->block) &&
           get(json, "primary", out->primary, NUMBERS_LOOKS) == out->n;
}

bool judge_numbers_read(struct json_object *json, struct judge_numbers *numbers)
{
    judge_numbers_begin(numbers, false);
    if (read_all(json, numbers))
        return true;
    judge_numbers_begin(numbers, false);
    return false;
}
