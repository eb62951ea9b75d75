/*
 * The plain fields of a Canary's spec: one row each, which defines how it is read and where it is
 * stored. A field that depends on others, or has a form of its own, has its own function (canary.c,
 * canary_analysis.c). The CRD has the same bounds and words, and the descriptions.
 */
#include "base/clock.h"
#include "proto/canary_parts.h"
#include "proto/weight.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

enum {
    MOST_REPLICAS = 10000,
    MOST_REVISIONS = 10,
    MOST_A_DAY = 1000,
    PERCENT = 100,
    SECOND_MS = 1000,
    NS = 1000000, /* in a millisecond */
    DAY_S = 24 * 60 * 60,
    WEEK = 7, /* days */
};

/* Maximum age of a cookie in seconds: a hundred years. */
#define COOKIE_MAX_S (INT64_C(100) * 365 * DAY_S)

/* Field `name`, read as `type` into this member of `group`. */
#define ROW(name_, type_, group, member, ...)                                                      \
    {                                                                                              \
        .name = (name_), .type = (type_), .offset = offsetof(struct group, member), __VA_ARGS__    \
    }
#define SPEC(name, type, member, ...)     ROW(name, type, canary, member, __VA_ARGS__)
#define SERVICE(name, type, member, ...)  ROW(name, type, canary_service, member, __VA_ARGS__)
#define ANALYSIS(name, type, member, ...) ROW(name, type, canary_analysis, member, __VA_ARGS__)
#define STEP(name, type, member, ...)     ROW(name, type, canary_step, member, __VA_ARGS__)
#define RETURN(name, type, member, ...)   ROW(name, type, canary_return_step, member, __VA_ARGS__)
#define SCALE(name, type, member, ...)    ROW(name, type, canary_scale, member, __VA_ARGS__)
#define AFFINITY(name, type, member, ...) ROW(name, type, canary_affinity, member, __VA_ARGS__)
#define JUDGE(name, type, member, ...)    ROW(name, type, canary_judge, member, __VA_ARGS__)
#define METRIC(name, type, member, ...)   ROW(name, type, canary_metric, member, __VA_ARGS__)
#define WEBHOOK(name, type, member, ...)  ROW(name, type, canary_webhook, member, __VA_ARGS__)
#define TO_PERCENT                        .max = PERCENT
#define WORDS(...)                                                                                 \
    .words = (const char *const[])                                                                 \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static const struct canary_field spec[] = {
    SPEC("provider", FIELD_NAME, provider),
    SPEC("metricsServer", FIELD_NAME, metrics_server),
    SPEC("progressDeadlineSeconds", FIELD_INT, progress_deadline_s, .max = INT_MAX, .missing = 600),
    SPEC("skipAnalysis", FIELD_BOOL, skip_analysis),
    SPEC("suspend", FIELD_BOOL, suspend),
    SPEC("revertOnDeletion", FIELD_BOOL, revert_on_deletion, .missing = true),
    {.name = NULL},
};

static const struct canary_field way_back[] = {
    ROW("window", FIELD_DURATION, canary_way_back, window_ms, .min = 1),
    ROW("revisions", FIELD_INT, canary_way_back, revisions, .min = 1, .max = MOST_REVISIONS),
    {.name = NULL},
};

static const struct canary_field pushes[] = {
    ROW("perDay", FIELD_INT, canary_pushes, per_day, .min = 1, .max = MOST_A_DAY),
    {.name = NULL},
};

static const struct canary_field service[] = {
    SERVICE("name", FIELD_NAME, name),
    SERVICE("portName", FIELD_NAME, port_name),
    SERVICE("port", FIELD_INT, port, .max = USHRT_MAX),
    SERVICE("appProtocol", FIELD_NAME, app_protocol),
    SERVICE("portDiscovery", FIELD_BOOL, port_discovery),
    SERVICE("headless", FIELD_BOOL, headless),
    SERVICE("trafficDistribution", FIELD_NAME, traffic_distribution),
    {.name = NULL},
};

static const struct canary_field analysis[] = {
    ANALYSIS("interval", FIELD_DURATION, interval_ms, .min = INT64_MIN, .missing = 60 * SECOND_MS),
    ANALYSIS("maxDuration", FIELD_DURATION, max_duration_ms, .min = 1),
    ANALYSIS("iterations", FIELD_INT, iterations, .max = INT_MAX),
    ANALYSIS("threshold", FIELD_INT, threshold, .max = INT_MAX),
    ANALYSIS("mirror", FIELD_BOOL, mirror),
    ANALYSIS("mirrorWeight", FIELD_INT, mirror_weight, TO_PERCENT),
    ANALYSIS("maxWeight", FIELD_WEIGHT, max_weight_given, TO_PERCENT),
    ANALYSIS("stepWeight", FIELD_WEIGHT, step_weight, TO_PERCENT),
    ANALYSIS("stepWeightPromotion", FIELD_WEIGHT, step_weight_promotion, TO_PERCENT),
    ANALYSIS("primaryReadyThreshold", FIELD_INT, primary_ready_threshold, TO_PERCENT,
             .missing = PERCENT),
    ANALYSIS("canaryReadyThreshold", FIELD_INT, canary_ready_threshold, TO_PERCENT,
             .missing = PERCENT),
    ANALYSIS("onPrimaryNotReady", FIELD_SECOND, waits_for_primary, WORDS("forward", "wait")),
    ANALYSIS("onNewRevision", FIELD_WORD, on_new_revision, WORDS("restart", "finish", "queue")),
    ANALYSIS("onMetricError", FIELD_WORD, on_metric_error, WORDS("fail", "hold")),
    ANALYSIS("onNoRequests", FIELD_WORD, on_no_requests, WORDS("fail", "hold", "pass"),
             .missing = POLICY_HOLD),
    {.name = NULL},
};

static const struct canary_field step[] = {
    STEP("weight", FIELD_SHARE, weight),
    STEP("mirror", FIELD_INT, mirror, .min = 1, TO_PERCENT),
    STEP("for", FIELD_DURATION, for_ms),
    STEP("gate", FIELD_BOOL, gate),
    {.name = NULL},
};

static const struct canary_field return_step[] = {
    RETURN("weight", FIELD_WEIGHT, weight, .min = 1, TO_PERCENT),
    RETURN("for", FIELD_DURATION, for_ms),
    {.name = NULL},
};

static const struct canary_field bake[] = {
    ROW("for", FIELD_DURATION, canary_bake, for_ms, .min = 1, .max = INT64_C(1000) * WEEK * DAY_S),
    {.name = NULL},
};

static const struct canary_field capacity[] = {
    ANALYSIS("canary", FIELD_SECOND, any_capacity, WORDS("Proportional", "None")),
    ANALYSIS("matchedShare", FIELD_INT, matched_share, .min = 1, TO_PERCENT, .missing = PERCENT),
    {.name = NULL},
};

static const struct canary_field scale[] = {
    SCALE("replicas", FIELD_INT, replicas, .min = 1, .max = MOST_REPLICAS),
    SCALE("percent", FIELD_INT, percent, .min = 1, TO_PERCENT),
    SCALE("matchWeight", FIELD_BOOL, match_weight),
    {.name = NULL},
};

static const struct canary_field affinity[] = {
    AFFINITY("maxAge", FIELD_INT64, max_age_s, .max = COOKIE_MAX_S, .missing = DAY_S),
    AFFINITY("secure", FIELD_BOOL, secure),
    AFFINITY("httpOnly", FIELD_BOOL, http_only),
    AFFINITY("partitioned", FIELD_BOOL, partitioned),
    {.name = NULL},
};

static const struct canary_field judge[] = {
    JUDGE("every", FIELD_DURATION, every_ms, .min = INT64_MIN, .missing = 10 * SECOND_MS),
    JUDGE("minRequests", FIELD_INT64, min_requests, .min = 1, .max = INT_MAX, .missing = 100),
    JUDGE("maxWait", FIELD_DURATION, max_wait_ms, .min = 1, .missing = 600 * SECOND_MS),
    JUDGE("warmUp", FIELD_DURATION, warm_up_ms, .missing = 10 * SECOND_MS),
    JUDGE("onInconclusive", FIELD_WORD, on_inconclusive, WORDS("wait", "promote", "rollback")),
    {.name = NULL},
};

static const struct canary_field metric[] = {
    METRIC("query", FIELD_NAME, query),
    METRIC("noData", FIELD_WORD, no_data, WORDS("fail", "hold", "pass")),
    {.name = NULL},
};

static const struct canary_field load_test[] = {
    ROW("figure", FIELD_WORD, canary_load_test, figure,
        WORDS("failure-rate", "failures", "requests", "p50", "p90", "p95", "p99", "max")),
    ROW("webhook", FIELD_NAME, canary_load_test, webhook),
    {.name = NULL},
};

static const struct canary_field webhook[] = {
    WEBHOOK("retries", FIELD_INT, retries, .max = INT_MAX),
    WEBHOOK("muteAlert", FIELD_BOOL, mute_alert),
    WEBHOOK("disableTLS", FIELD_BOOL, disable_tls),
    {.name = NULL},
};

const struct canary_group canary_groups[FIELDS_COUNT] = {
    [FIELDS_SPEC] = {"spec", spec},
    [FIELDS_ROLLBACK] = {"spec.rollback", way_back},
    [FIELDS_PUSHES] = {"spec.pushes", pushes},
    [FIELDS_SERVICE] = {"spec.service", service},
    [FIELDS_ANALYSIS] = {"spec.analysis", analysis},
    [FIELDS_STEP] = {"spec.analysis.steps", step},
    [FIELDS_PROMOTION_STEP] = {"spec.analysis.promotion.steps", return_step},
    [FIELDS_ROLLBACK_STEP] = {"spec.analysis.rollback.steps", return_step},
    [FIELDS_BAKE] = {"spec.analysis.bake", bake},
    [FIELDS_CAPACITY] = {"spec.analysis.capacity", capacity},
    [FIELDS_SCALE] = {"spec.analysis.canaryScale", scale},
    [FIELDS_AFFINITY] = {"spec.analysis.sessionAffinity", affinity},
    [FIELDS_JUDGE] = {"spec.analysis.judge", judge},
    [FIELDS_METRIC] = {"spec.analysis.metrics", metric},
    [FIELDS_LOAD_TEST] = {"spec.analysis.metrics.loadTest", load_test},
    [FIELDS_WEBHOOK] = {"spec.analysis.webhooks", webhook},
};

/* "a, b or c" */
static const char *all_words(struct arena *arena, const char *const *words)
{
    const char *text = words[0];

    for (int i = 1; words[i] != NULL; i++)
        text = arena_printf(arena, "%s%s%s", text, words[i + 1] != NULL ? ", " : " or ", words[i]);
    return text;
}

static int read_word(struct json_reader *r, struct json_object *json,
                     const struct canary_field *field)
{
    bool strict = field->type == FIELD_SECOND;
    const char *text = strict ? json_read_str(r, json, field->name, JSON_OPTIONAL)
                              : canary_read_name(r, json, field->name, JSON_OPTIONAL);

    if (text == NULL)
        return (int)field->missing;
    for (int i = 0; field->words[i] != NULL; i++) {
        if (strcmp(field->words[i], text) == 0)
            return i;
    }
    json_reader_fail(r, json, field->name, "expected %s, found \"%s\"",
                     all_words(r->arena, field->words), text);
    return (int)field->missing;
}

static int64_t read_duration(struct json_reader *r, struct json_object *json,
                             const struct canary_field *field)
{
    int64_t ms = json_read_duration(r, json, field->name, field->missing);
    const char *text = json_str_at(json, field->name, NULL);

    if (r->err == ERR_OK && text != NULL && ms < field->min)
        json_reader_fail(r, json, field->name, "expected a duration %s, found \"%s\"",
                         field->min > 0 ? "above 0s" : "of 0s or more", text);
    if (r->err == ERR_OK && field->max > 0 && ms > field->max) {
        char most[DURATION_TEXT];
        json_reader_fail(r, json, field->name, "expected a duration of at most %s, found \"%s\"",
                         duration_format(field->max * NS, most), text);
    }
    return ms;
}

static int read_share(struct json_reader *r, struct json_object *json,
                      const struct canary_field *field)
{
    struct json_object *value = json_at(json, field->name, NULL);
    int64_t weight;

    if (value == NULL)
        return 0;
    if (weight_read(value, WEIGHT_ALL, &weight) && weight > 0)
        return (int)weight;
    json_reader_fail(r, json, field->name,
                     "expected a number from 0.01 to 100 with at most two decimals, found %s",
                     json_text(r->arena, value));
    return 0;
}

static void read_field(struct json_reader *r, struct json_object *json,
                       const struct canary_field *field, void *to)
{
    const char *name = field->name, *text;

    switch (field->type) {
    case FIELD_INT:
        *(int *)to = (int)json_read_int(r, json, name, field->min, field->max, field->missing);
        break;
    case FIELD_INT64:
        *(int64_t *)to = json_read_int(r, json, name, field->min, field->max, field->missing);
        break;
    case FIELD_DURATION:
        *(int64_t *)to = read_duration(r, json, field);
        break;
    case FIELD_BOOL:
        *(bool *)to = json_read_bool(r, json, name, field->missing != 0);
        break;
    case FIELD_NAME:
        text = canary_read_name(r, json, name, JSON_OPTIONAL);
        if (text != NULL)
            *(const char **)to = text;
        break;
    case FIELD_WORD:
        *(unsigned *)to = (unsigned)read_word(r, json, field);
        break;
    case FIELD_SECOND:
        *(bool *)to = read_word(r, json, field) == 1;
        break;
    case FIELD_WEIGHT:
        *(int *)to = WEIGHT_PERCENT *
                     (int)json_read_int(r, json, name, field->min, field->max, field->missing);
        break;
    case FIELD_SHARE:
        *(int *)to = read_share(r, json, field);
        break;
    }
}

void canary_read_fields(struct json_reader *r, struct json_object *json, enum canary_fields fields,
                        void *out)
{
    for (const struct canary_field *field = canary_groups[fields].fields; field->name; field++)
        read_field(r, json, field, (char *)out + field->offset);
}
