/* judge/: evidence as it stands in a status, which anybody may have edited. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "judge/judge.h"
#include "judge/latency.h"
#include "judge/numbers.h"
#include "judge/past.h"

static const struct judge_policy policy = {
    .false_alarm_rate = 0.01, .share = 0.5, .tolerate = {.points = 0.002, .ratio = 0.1}};

static void check_counts(struct judge_counts counts)
{
    if (!isfinite(counts.total) || !(counts.bad >= 0) || counts.bad > counts.total)
        abort();
}

/* It can be asked, goes on, and is written and read again as what it is. */
static void check(struct arena *arena, struct judge_evidence evidence)
{
    struct judge_evidence again;

    for (int i = 0; i < 2; i++) {
        check_counts(evidence.canary);
        check_counts(evidence.primary);
        if (isnan(judge_log_worse(&evidence, &policy)) ||
            isnan(judge_log_not_worse(&evidence, &policy)) ||
            !*judge_sentence(arena, &evidence, &policy, "failed"))
            abort();
        judge_add_sample(&evidence, &policy, (struct judge_counts){.total = 100, .bad = 3},
                         (struct judge_counts){.total = 1000, .bad = 7});
    }
    struct json_object *written = judge_write(arena, &evidence);
    if (!judge_read(written, &again) ||
        strcmp(json_text_sorted(arena, written),
               json_text_sorted(arena, judge_write(arena, &again))) != 0)
        abort();
}

static void check_same(struct arena *arena, struct json_object *one, struct json_object *other)
{
    if (strcmp(json_text_sorted(arena, one), json_text_sorted(arena, other)) != 0)
        abort();
}

static void check_numbers(struct arena *arena, struct judge_numbers numbers)
{
    struct judge_numbers again;

    for (int i = 0; i < 2 * NUMBERS_LEARNED; i++) {
        if (!isfinite(judge_numbers_log_worse(&numbers)) ||
            !*judge_numbers_sentence(arena, &numbers, &policy) ||
            judge_numbers_verdict(&numbers, &policy) == JUDGE_NOT_WORSE)
            abort();
        (void)judge_numbers_add(&numbers, &policy, i % 3 ? 1e300 : 7, i % 5 ? -1e300 : 7);
    }
    struct json_object *written = judge_numbers_write(arena, &numbers);
    if (!judge_numbers_read(written, &again))
        abort();
    check_same(arena, written, judge_numbers_write(arena, &again));
}

static void check_latency(struct arena *arena, struct judge_latency latency)
{
    static const double bounds[] = {0.1, INFINITY}, counts[] = {90, 100};
    const struct judge_histogram histogram = {2, bounds, counts};
    struct judge_latency again;

    for (int i = 0; i < 3; i++) {
        if (isnan(judge_latency_log_worse(&latency, &policy)) ||
            !*judge_latency_sentence(arena, &latency, &policy, 1000) ||
            !judge_latency_add(&latency, &policy, &histogram, &histogram))
            abort();
    }
    struct json_object *written = judge_latency_write(arena, &latency);
    if (!judge_latency_read(written, &again))
        abort();
    check_same(arena, written, judge_latency_write(arena, &again));
}

static void check_past(struct arena *arena, struct judge_past past)
{
    struct judge_past_look look = {.today = 1e300, .days = {7, -1e300, 0, 7, 7, NAN, 1}};
    struct judge_past again;

    for (int i = 0; i < 2 * PAST_FIRST; i++) {
        if (!isfinite(judge_past_log_worse(&past)) ||
            !*judge_past_sentence(arena, &past, &policy) ||
            judge_past_verdict(&past, &policy) == JUDGE_NOT_WORSE)
            abort();
        judge_past_before(&past, &look);
        (void)judge_past_add(&past, &policy, 6, &look);
        look.today = i % 3 ? 7 : -1e300;
    }
    struct json_object *written = judge_past_write(arena, &past);
    if (!judge_past_read(written, &again))
        abort();
    check_same(arena, written, judge_past_write(arena, &again));
}

FUZZ_TARGET(arena, data, size)
{
    struct json_object *json;
    struct judge_evidence evidence;
    struct judge_numbers numbers;
    struct judge_latency latency;
    struct judge_past past;

    if (json_parse(arena, (const char *)data, size, JSON_MAX_BYTES, &json, NULL) != ERR_OK)
        return;
    if (judge_read(json, &evidence))
        check(arena, evidence);
    if (judge_numbers_read(json, &numbers))
        check_numbers(arena, numbers);
    if (judge_latency_read(json, &latency))
        check_latency(arena, latency);
    if (judge_past_read(json, &past))
        check_past(arena, past);
}
