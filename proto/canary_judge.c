/* spec.analysis.judge, and what a metric says of it: the canary is compared with the primary. */
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/canary_parts.h"

enum {
    SECOND_MS = 1000,
    DEFAULT_EVERY_MS = 10 * SECOND_MS,
    LEAST_EVERY_MS = 5 * SECOND_MS,
    DEFAULT_WARM_UP_MS = 10 * SECOND_MS,
    DEFAULT_MAX_WAIT_MS = 10 * 60 * SECOND_MS,
    DEFAULT_MIN_REQUESTS = 100,
    MOST_METRICS = 10,
    TOLERANCE_DIGITS = 20,
};
static const double default_rate = 0.01, largest_rate = 0.5, percent = 100;

/* "10 %" is a part of the primary's share, "0.2 %-points" a part of all requests. */
static bool parse_tolerance(const char *text, struct canary_tolerance *out)
{
    size_t len = strspn(text, "0123456789.");
    char *end;

    if (len == 0 || len > TOLERANCE_DIGITS || !isdigit((unsigned char)text[0]))
        return false;
    double value = strtod(text, &end) / percent;
    if (end != text + len || value > 1)
        return false;
    end += strspn(end, " ");
    if (strcmp(end, "%") == 0)
        *out = (struct canary_tolerance){.ratio = value};
    else if (strcmp(end, "%-points") == 0)
        *out = (struct canary_tolerance){.points = value};
    else
        return false;
    return true;
}

static bool read_tolerance(struct json_reader *r, struct json_object *json, const char *key,
                           struct canary_tolerance *out)
{
    const char *text = canary_read_name(r, json, key, JSON_OPTIONAL);

    if (text == NULL)
        return false;
    if (!parse_tolerance(text, out))
        json_reader_fail(r, json, key,
                         "expected a part of the primary's share such as \"10 %%\", or of all "
                         "requests such as \"0.2 %%-points\", of at most 100, found \"%s\"",
                         text);
    return true;
}

static enum canary_inconclusive read_inconclusive(struct json_reader *r, struct json_object *json)
{
    static const char key[] = "onInconclusive";
    static const char *const names[] = {[INCONCLUSIVE_WAIT] = "wait",
                                        [INCONCLUSIVE_PROMOTE] = "promote",
                                        [INCONCLUSIVE_ROLLBACK] = "rollback"};
    const char *text = canary_read_name(r, json, key, JSON_OPTIONAL);

    if (text == NULL)
        return INCONCLUSIVE_WAIT;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], text) == 0)
            return (enum canary_inconclusive)i;
    }
    json_reader_fail(r, json, key, "expected wait, promote or rollback, found \"%s\"", text);
    return INCONCLUSIVE_WAIT;
}

static void check(struct json_reader *r, struct json_object *json, const struct canary_judge *judge)
{
    const char *type = json_read_str(r, json, "type", JSON_REQUIRED);

    if (r->err != ERR_OK)
        return;
    if (strcmp(type, "sequential") != 0)
        json_reader_fail(r, json, "type", "expected sequential, found \"%s\"", type);
    else if (!(judge->false_alarm_rate > 0 && judge->false_alarm_rate <= largest_rate))
        json_reader_fail(r, json, "falseAlarmRate",
                         "expected a number above 0 and not above %g, found %g", largest_rate,
                         judge->false_alarm_rate);
    else if (judge->every_ms < LEAST_EVERY_MS || judge->every_ms % SECOND_MS != 0)
        json_reader_fail(r, json, "every", "expected whole seconds, at least %ds, found \"%s\"",
                         LEAST_EVERY_MS / SECOND_MS, json_str_at(json, "every", NULL));
    else if (judge->max_wait_ms <= 0)
        json_reader_fail(r, json, "maxWait", "expected a duration above 0s, found \"%s\"",
                         json_str_at(json, "maxWait", NULL));
    else if (judge->warm_up_ms < 0)
        json_reader_fail(r, json, "warmUp", "expected a duration of 0s or more, found \"%s\"",
                         json_str_at(json, "warmUp", NULL));
}

void canary_read_judge(struct json_reader *r, struct json_object *analysis,
                       struct canary_judge *out)
{
    struct json_object *json = json_read_obj(r, analysis, "judge", JSON_OPTIONAL);
    struct json_object *tolerate = json_read_obj(r, json, "tolerate", JSON_OPTIONAL);

    *out = (struct canary_judge){.given = json != NULL};
    if (json == NULL)
        return;
    out->false_alarm_rate = json_read_num(r, json, "falseAlarmRate", default_rate);
    read_tolerance(r, tolerate, "errorRate", &out->error_rate);
    read_tolerance(r, tolerate, "latency", &out->latency);
    out->every_ms = json_read_duration(r, json, "every", DEFAULT_EVERY_MS);
    out->min_requests = json_read_int(r, json, "minRequests", 1, INT_MAX, DEFAULT_MIN_REQUESTS);
    out->max_wait_ms = json_read_duration(r, json, "maxWait", DEFAULT_MAX_WAIT_MS);
    out->warm_up_ms = json_read_duration(r, json, "warmUp", DEFAULT_WARM_UP_MS);
    out->on_inconclusive = read_inconclusive(r, json);
    check(r, json, out);
}

void canary_read_metric_judge(struct json_reader *r, struct json_object *metric, bool judged,
                              struct canary_metric *out)
{
    struct json_object *json = json_read_obj(r, metric, "judge", JSON_OPTIONAL);

    out->judge = (struct canary_metric_judge){.given = json != NULL};
    if (json == NULL)
        return;
    out->judge.off = !json_read_bool(r, json, "enabled", true);
    out->judge.has_tolerance = read_tolerance(r, json, "tolerate", &out->judge.tolerate);
    if (!judged)
        json_reader_fail(r, metric, "judge", "expected only with spec.analysis.judge");
    else if (!out->judge.off && !canary_metric_is_builtin(out) && out->template_ref.name == NULL)
        json_reader_fail(r, metric, "judge",
                         "expected on request-success-rate, request-duration or a metric with a "
                         "templateRef, whose counts can be asked for, found on \"%s\"",
                         out->name);
}

static void check_duration(struct json_reader *r, struct json_object *array, int index,
                           const struct canary_metric *metric)
{
    double most = metric->has_range ? metric->max : metric->threshold;
    bool has_most = metric->has_range ? metric->has_max : metric->has_threshold;

    if (metric->judge.off || !canary_metric_is_duration(metric))
        return;
    if (!has_most || !(most > 0) || !isfinite(most))
        json_reader_fail(r, json_read_elem(r, array, (size_t)index), NULL,
                         "expected with thresholdRange.max above 0: spec.analysis.judge counts the "
                         "requests that are slower");
}

void canary_check_judge(struct json_reader *r, struct json_object *analysis,
                        const struct canary_analysis *out)
{
    int judged = 0;

    if (!out->judge.given || r->err != ERR_OK)
        return;
    struct json_object *array = json_read_array(r, analysis, "metrics", JSON_OPTIONAL);
    for (int i = 0; i < out->n_metrics && r->err == ERR_OK; i++) {
        const struct canary_metric *metric = &out->metrics[i];
        judged += !metric->judge.off &&
                  (canary_metric_is_builtin(metric) || metric->template_ref.name != NULL);
        check_duration(r, array, i, metric);
    }
    if (judged > MOST_METRICS)
        json_reader_fail(r, analysis, "judge",
                         "expected at most %d metrics without judge.enabled: false, found %d",
                         MOST_METRICS, judged);
    if (judged == 0)
        json_reader_fail(r, analysis, "judge",
                         "expected a metric that it can judge: request-success-rate, "
                         "request-duration or a MetricTemplate with queries, found none");
}
