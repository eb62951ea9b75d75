/*
 * The numbers of an analysis, and which of them may stand together.
 *
 * spec.analysis names exactly one of iterations, stepWeight and stepWeights. spec.canaryAnalysis
 * comes from before that rule and may name several or none, as it could then.
 */
#include <limits.h>
#include <string.h>

#include "proto/canary_parts.h"

enum { DEFAULT_INTERVAL_MS = 60 * 1000, FULL_WEIGHT = 100, DEFAULT_MAX_AGE_S = 24 * 60 * 60 };

static void read_step_weights(struct json_reader *r, struct json_object *json,
                              struct canary_analysis *out)
{
    struct json_object *array = json_read_array(r, json, "stepWeights", JSON_OPTIONAL);
    if (array == NULL)
        return;
    size_t n = json_len(array);
    if (n == 0 || n > FULL_WEIGHT) {
        json_reader_fail(r, json, "stepWeights", "expected 1 to %d rising weights, found %zu",
                         (int)FULL_WEIGHT, n);
        return;
    }
    out->step_weights = arena_array(r->arena, n, sizeof *out->step_weights);
    int below = 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *element = json_elem(array, i);
        int64_t weight;
        if (!json_to_int(element, &weight) || weight < 1 || weight > FULL_WEIGHT) {
            canary_fail_element(r, array, i, "a whole number from 1 to 100");
            return;
        }
        if (weight <= below) {
            canary_fail_element(r, array, i, arena_printf(r->arena, "a weight above %d", below));
            return;
        }
        below = (int)weight;
        out->step_weights[i] = below;
    }
    out->n_step_weights = (int)n;
}

static void check_one_strategy(struct json_reader *r, struct json_object *json)
{
    static const char *const keys[] = {"iterations", "stepWeight", "stepWeights"};
    const char *found = NULL;
    int n = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (json_at(json, keys[i], NULL) == NULL)
            continue;
        found = n++ == 0 ? keys[i] : arena_printf(r->arena, "%s and %s", found, keys[i]);
    }
    if (n != 1)
        json_reader_fail(r, json, NULL,
                         "expected one of iterations, stepWeight and stepWeights, found %s",
                         n == 0 ? "none of them" : found);
}

static struct json_object *read_match(struct json_reader *r, struct json_object *json)
{
    struct json_object *match = json_read_array(r, json, "match", JSON_OPTIONAL);
    for (size_t i = 0; i < json_len(match); i++)
        canary_read_element(r, match, i);
    return json_len(match) > 0 ? match : NULL;
}

/* RFC 6265: the name of a cookie is a token, the value of an attribute has no semicolon and nothing
 * that ends a header. */
static const char *read_cookie_text(struct json_reader *r, struct json_object *obj, const char *key,
                                    enum json_need need, const char *forbidden)
{
    const char *text = canary_read_name(r, obj, key, need);
    for (const char *at = text; at != NULL && *at != '\0'; at++) {
        if ((unsigned char)*at < 0x21 || (unsigned char)*at > 0x7e || strchr(forbidden, *at)) {
            json_reader_fail(r, obj, key, "expected a text that a cookie can carry, found \"%s\"",
                             text);
            return NULL;
        }
    }
    return text;
}

static void read_affinity(struct json_reader *r, struct json_object *json,
                          struct canary_affinity *out)
{
    static const char separators[] = "()<>@,;:\\\"/[]?={}", end[] = ";";
    static const int64_t max_age_s = INT64_C(100) * 365 * 24 * 3600;
    struct json_object *affinity = json_read_obj(r, json, "sessionAffinity", JSON_OPTIONAL);
    if (affinity == NULL)
        return;
    const char *cookie = read_cookie_text(r, affinity, "cookieName", JSON_REQUIRED, separators);
    const char *primary =
        read_cookie_text(r, affinity, "primaryCookieName", JSON_OPTIONAL, separators);
    if (cookie != NULL && primary != NULL && strcmp(cookie, primary) == 0)
        json_reader_fail(r, affinity, "primaryCookieName",
                         "expected another name than cookieName, found \"%s\" twice", primary);
    *out = (struct canary_affinity){
        .cookie_name = cookie,
        .primary_cookie_name = primary,
        .max_age_s = json_read_int(r, affinity, "maxAge", 0, max_age_s, DEFAULT_MAX_AGE_S),
        .domain = read_cookie_text(r, affinity, "domain", JSON_OPTIONAL, end),
        .path = read_cookie_text(r, affinity, "path", JSON_OPTIONAL, end),
        .same_site = read_cookie_text(r, affinity, "sameSite", JSON_OPTIONAL, end),
        .secure = json_read_bool(r, affinity, "secure", false),
        .http_only = json_read_bool(r, affinity, "httpOnly", false),
        .partitioned = json_read_bool(r, affinity, "partitioned", false),
    };
    if (out->max_age_s == 0)
        out->max_age_s = DEFAULT_MAX_AGE_S;
}

static int effective_max_weight(const struct canary_analysis *analysis)
{
    if (analysis->n_step_weights > 0)
        return analysis->step_weights[analysis->n_step_weights - 1];
    return analysis->max_weight_given > 0 ? analysis->max_weight_given : FULL_WEIGHT;
}

static void read_weights(struct json_reader *r, struct json_object *json,
                         struct canary_analysis *out)
{
    out->mirror_weight = canary_read_int(r, json, "mirrorWeight", 0, FULL_WEIGHT, 0);
    out->max_weight_given = canary_read_int(r, json, "maxWeight", 0, FULL_WEIGHT, 0);
    out->step_weight = canary_read_int(r, json, "stepWeight", 0, FULL_WEIGHT, 0);
    out->step_weight_promotion = canary_read_int(r, json, "stepWeightPromotion", 0, FULL_WEIGHT, 0);
    out->primary_ready_threshold =
        canary_read_int(r, json, "primaryReadyThreshold", 0, FULL_WEIGHT, FULL_WEIGHT);
    out->canary_ready_threshold =
        canary_read_int(r, json, "canaryReadyThreshold", 0, FULL_WEIGHT, FULL_WEIGHT);
    read_step_weights(r, json, out);
    if (r->err == ERR_OK)
        out->max_weight = effective_max_weight(out);
}

/* Reads a field of two words, the first of which is the default: true for the second. */
static bool read_second(struct json_reader *r, struct json_object *json, const char *key,
                        const char *first, const char *second)
{
    const char *word = json_read_str(r, json, key, JSON_OPTIONAL);

    if (word != NULL && strcmp(word, first) != 0 && strcmp(word, second) != 0)
        json_reader_fail(r, json, key, "expected %s or %s, found \"%s\"", first, second, word);
    return word != NULL && strcmp(word, second) == 0;
}

static void read_capacity(struct json_reader *r, struct json_object *json,
                          struct canary_analysis *out)
{
    struct json_object *capacity = json_read_obj(r, json, "capacity", JSON_OPTIONAL);

    out->matched_share = FULL_WEIGHT;
    if (capacity == NULL)
        return;
    out->any_capacity = read_second(r, capacity, "canary", "Proportional", "None");
    out->matched_share = canary_read_int(r, capacity, "matchedShare", 1, FULL_WEIGHT, FULL_WEIGHT);
}

void canary_read_analysis(struct json_reader *r, struct json_object *json, bool legacy,
                          struct canary_analysis *out)
{
    *out = (struct canary_analysis){.json = json, .legacy = legacy && json != NULL};
    if (json == NULL)
        json = json_own(r->arena, json_object_new_object());
    if (!legacy)
        check_one_strategy(r, json);
    out->interval_ms = json_read_duration(r, json, "interval", DEFAULT_INTERVAL_MS);
    out->iterations = canary_read_int(r, json, "iterations", 0, INT_MAX, 0);
    out->threshold = canary_read_int(r, json, "threshold", 0, INT_MAX, 0);
    if (out->threshold == 0)
        out->threshold = 1;
    out->mirror = json_read_bool(r, json, "mirror", false);
    read_weights(r, json, out);
    out->match = read_match(r, json);
    read_affinity(r, json, &out->affinity);
    read_capacity(r, json, out);
    out->waits_for_primary = read_second(r, json, "onPrimaryNotReady", "forward", "wait");
    out->finishes = read_second(r, json, "onNewRevision", "restart", "finish");
    canary_read_judge(r, json, &out->judge);
    canary_read_metrics(r, json, out);
    canary_read_webhooks(r, json, out);
    canary_read_alerts(r, json, out);
}
