/* judge/: evidence as it stands in a status, which anybody may have edited. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "judge/judge.h"

static void check_counts(struct judge_counts counts)
{
    if (!isfinite(counts.total) || !(counts.bad >= 0) || counts.bad > counts.total)
        abort();
}

/* It can be asked, goes on, and is written and read again as what it is. */
static void check(struct arena *arena, struct judge_evidence evidence)
{
    static const struct judge_policy policy = {
        .false_alarm_rate = 0.01, .share = 0.5, .tolerate = {.points = 0.002, .ratio = 0.1}};
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

FUZZ_TARGET(arena, data, size)
{
    struct json_object *json;
    struct judge_evidence evidence;

    if (json_parse(arena, (const char *)data, size, JSON_MAX_BYTES, &json, NULL) == ERR_OK &&
        judge_read(json, &evidence))
        check(arena, evidence);
}
