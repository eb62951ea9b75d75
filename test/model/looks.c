#include "looks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "judge/judge.h"

enum { MOST_LOOKS = 100 };

/* --- what is asked, and answered */

bool looks_asks(const struct need *need)
{
    return need->kind == NEED_METRIC && strncmp(need->metric.id, "judge[", 6) == 0;
}

bool looks_asks_before(const struct need *need)
{
    return looks_asks(need) && need->metric.times > 0;
}

void looks_window(const struct need *need, int64_t *from, int64_t *to)
{
    static const char before[] = "offset ";
    const char *offset = strstr(need->metric.query, before);

    *to = need->metric.at_s;
    *from = *to - (offset ? strtoll(offset + strlen(before), NULL, 10) : 0);
}

/* Half of the primary's requests fail; of the canary's none or all. */
enum { LOOK = 10000, MANY = 100000000 };

static struct metric_answer value(double number)
{
    return (struct metric_answer){.outcome = METRIC_VALUE, .value = number};
}

struct metric_answer looks_answer(const struct need *need, uint8_t answer)
{
    bool canary = strstr(need->metric.id, ".canary.") != NULL;
    bool total = strstr(need->metric.id, ".total") != NULL;

    if (answer == ERROR)
        return (struct metric_answer){.outcome = METRIC_ERROR, .text = "connection refused"};
    if (answer == NONE)
        return (struct metric_answer){.outcome = METRIC_NO_VALUES, .text = "no values found"};
    if (total || (canary && answer == PASS))
        return value(MANY);
    return value(canary ? 0 : MANY / 2);
}

/* --- evidence */

/* The least that shows this. */
static void least_evidence(const struct judge_policy *policy, enum judge_verdict verdict,
                           struct judge_evidence *out)
{
    struct judge_counts canary = {.total = LOOK, .bad = verdict == JUDGE_WORSE ? LOOK : 0};
    struct judge_counts primary = {.total = LOOK, .bad = LOOK / 2.0};
    int looks = 0;

    judge_begin(out);
    for (; judge_verdict(out, policy) != verdict && looks < MOST_LOOKS; looks++)
        judge_add_sample(out, policy, canary, primary);
    assert(judge_verdict(out, policy) == verdict);
}

static double number_at(struct json_object *object, const char *key)
{
    return json_object_get_double(json_at(object, key, NULL));
}

static struct json_object *abstracted(struct arena *arena, struct json_object *metric, size_t n)
{
    struct json_object *tolerate = json_at(metric, "tolerate", NULL);
    struct judge_policy policy = {.false_alarm_rate = 0.01,
                                  .share = 1 / (double)n,
                                  .tolerate = {.points = number_at(tolerate, "points"),
                                               .ratio = number_at(tolerate, "ratio")}};
    struct judge_evidence evidence;

    judge_read(json_at(metric, "evidence", NULL), &evidence);
    least_evidence(&policy, judge_verdict(&evidence, &policy), &evidence);
    return judge_write(arena, &evidence);
}

void looks_abstract(struct arena *arena, struct json_object *status)
{
    struct json_object *metrics = json_at(status, "judge", "metrics", NULL);

    for (size_t i = 0; i < json_len(metrics); i++) {
        struct json_object *metric = json_elem(metrics, i);
        json_set(metric, "evidence", abstracted(arena, metric, json_len(metrics)));
        json_set_int(metric, "from", 0);
        json_object_object_del(metric, "looks"); /* memory: no rule reads them */
        json_object_object_del(metric, "looks"); /* for the history, which no rule reads */
        if (json_at(metric, "says", NULL))
            json_set_str(metric, "says", "said");
    }
}

/* --- time */

/* A look ends three seconds ago; ten seconds later it is time for the next one. Whose pods are the
 * same since now must be so for longer than the window: two looks. */
bool looks_grow_old(struct json_object *canary)
{
    static const char *const older[][2] = {{"2023-11-14T22:13:17Z", "2023-11-14T22:13:07Z"},
                                           {"2023-11-14T22:13:20Z", "2023-11-14T22:13:10Z"},
                                           {"2023-11-14T22:13:10Z", "2023-11-14T22:08:20Z"}};
    struct json_object *judge = json_at(canary, "status", "judge", NULL);
    struct json_object *metrics = json_at(judge, "metrics", NULL);
    bool any = false;

    for (size_t i = 0; i <= json_len(metrics); i++) {
        struct json_object *at = i < json_len(metrics) ? json_elem(metrics, i) : judge;
        const char *key = at == judge ? "since" : "lastLook", *text = json_str_at(at, key, NULL);
        for (size_t k = 0; text && k < sizeof(older) / sizeof(older[0]); k++) {
            if (strcmp(text, older[k][0]) == 0) {
                json_set_str(at, key, older[k][1]);
                any = true;
                break;
            }
        }
    }
    return any;
}
