#include "page/show_judge.h"

#include <math.h>

#include "base/arena.h"
#include "base/json.h"
#include "judge/judge.h"

enum { MAX_METRICS = 10 };

static struct json_object *pair(struct judge_counts counts)
{
    struct json_object *list = json_object_new_array();

    json_object_array_add(list, json_object_new_int64((int64_t)counts.total));
    json_object_array_add(list, json_object_new_int64((int64_t)counts.bad));
    return list;
}

/* Of the way from no evidence to enough of it. */
static struct json_object *part(double log_won, const struct judge_policy *policy)
{
    double enough = -log(policy->false_alarm_rate * policy->share);

    return json_object_new_double(enough > 0 ? fmin(fmax(log_won / enough, 0), 1) : 0);
}

static double number_at(struct json_object *object, const char *key)
{
    return json_object_get_double(json_at(object, key, NULL));
}

static struct json_object *show_metric(struct json_object *from, struct judge_policy policy)
{
    static const char *const verdicts[] = {
        [JUDGE_UNDECIDED] = "undecided", [JUDGE_WORSE] = "worse", [JUDGE_NOT_WORSE] = "not worse"};
    struct json_object *out = json_object_new_object();
    struct judge_evidence evidence;

    policy.tolerate =
        (struct judge_tolerance){.points = number_at(json_at(from, "tolerate", NULL), "points"),
                                 .ratio = number_at(json_at(from, "tolerate", NULL), "ratio")};
    (void)judge_read(json_at(from, "evidence", NULL), &evidence); /* what is none is begun anew */
    json_set_str(out, "name", json_str_at(from, "name", NULL));
    json_set_str(out, "says", json_str_at(from, "says", NULL));
    json_set_str(out, "lastLook", json_str_at(from, "lastLook", NULL));
    json_object_object_add(out, "canary", pair(evidence.canary));
    json_object_object_add(out, "primary", pair(evidence.primary));
    json_set_str(out, "verdict", verdicts[judge_verdict(&evidence, &policy)]);
    json_object_object_add(out, "worse", part(judge_log_worse(&evidence, &policy), &policy));
    json_object_object_add(out, "notWorse", part(judge_log_not_worse(&evidence, &policy), &policy));
    return out;
}

struct json_object *show_judge(struct arena *arena, const struct canary *canary)
{
    struct json_object *from = json_at(canary->status.json, "judge", "metrics", NULL);
    size_t count = json_len(from) < MAX_METRICS ? json_len(from) : MAX_METRICS;

    if (!canary->analysis.judge.given || count == 0)
        return NULL;
    struct json_object *out = json_own(arena, json_object_new_array());
    const struct judge_policy policy = {.false_alarm_rate = canary->analysis.judge.false_alarm_rate,
                                        .share = 1 / (double)count};
    for (size_t i = 0; i < count; i++)
        json_object_array_add(out, show_metric(json_elem(from, i), policy));
    return out;
}
