/* What is measured during a release, and what loads it meanwhile. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/application_parts.h"
#include "proto/canary_parts.h"

enum { DEFAULT_S = 60 };

/* A number, or a text of one: "99.5". */
static double read_bound(struct json_reader *r, struct json_object *range, const char *key,
                         bool *has)
{
    struct json_object *value = json_at(range, key, NULL);
    char *end;
    *has = value != NULL;
    if (!json_object_is_type(value, json_type_string))
        return json_read_num(r, range, key, 0);
    const char *text = json_object_get_string(value);
    *has = *text != '\0';
    double number = strtod(text, &end);
    bool decimal = strspn(text, "+-0123456789.eE") == strlen(text);
    if (*has && (!decimal || *end != '\0' || end == text || !isfinite(number)))
        json_reader_fail(r, range, key, "expected a number, found \"%.40s\"", text);
    return number;
}

static void read_range(struct json_reader *r, struct json_object *json, struct rollout_metric *out)
{
    struct json_object *range = json_read_obj(r, json, "thresholdRange", JSON_OPTIONAL);
    if (range == NULL)
        return;
    out->min = read_bound(r, range, "min", &out->has_min);
    out->max = read_bound(r, range, "max", &out->has_max);
    if (r->err == ERR_OK && out->has_min && out->has_max && out->min > out->max)
        json_reader_fail(r, range, NULL, "expected min not above max, found min %g and max %g",
                         out->min, out->max);
}

bool rollout_metric_is_builtin(const struct rollout_metric *metric)
{
    const struct canary_metric same = {.name = metric->name};
    return canary_metric_is_builtin(&same);
}

static void read_custom(struct json_reader *r, struct json_object *json, struct rollout_metric *out)
{
    out->custom = json_read_obj(r, json, "customMetric", JSON_OPTIONAL);
    if (out->custom == NULL)
        return;
    struct json_object *provider = json_read_obj(r, out->custom, "provider", JSON_REQUIRED);
    (void)canary_read_name(r, provider, "type", JSON_REQUIRED);
    (void)canary_read_name(r, out->custom, "query", JSON_REQUIRED);
    if (rollout_metric_is_builtin(out))
        json_reader_fail(r, json, "customMetric",
                         "expected none, %s is measured without a query of its own", out->name);
}

static void read_metric(struct json_reader *r, struct json_object *json,
                        struct rollout_analysis *out, int index)
{
    struct rollout_metric *metric = &out->metrics[index];
    metric->name = application_read_name(r, json, "name", JSON_REQUIRED, APPLICATION_MAX_NAME);
    metric->interval_s = canary_read_int(r, json, "intervalSeconds", 1, INT_MAX, DEFAULT_S);
    read_range(r, json, metric);
    if (r->err == ERR_OK)
        read_custom(r, json, metric);
    for (int i = 0; r->err == ERR_OK && i < index; i++) {
        const struct rollout_metric *other = &out->metrics[i];
        if (metric->custom != NULL && other->custom != NULL &&
            strcmp(metric->name, other->name) == 0)
            json_reader_fail(r, json, "name",
                             "expected another name than that of metrics[%d], whose customMetric "
                             "it would replace, found \"%s\"",
                             i, metric->name);
    }
}

static void read_metrics(struct json_reader *r, struct json_object *json,
                         struct rollout_analysis *out)
{
    struct json_object *array = json_read_array(r, json, "metrics", JSON_OPTIONAL);
    size_t n = json_len(array);
    if (n > ROLLOUT_MAX_METRICS) {
        json_reader_fail(r, json, "metrics", "expected at most %d of them, found %zu",
                         (int)ROLLOUT_MAX_METRICS, n);
        return;
    }
    out->metrics = arena_array(r->arena, n, sizeof *out->metrics);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *metric = canary_read_element(r, array, i);
        if (metric != NULL)
            read_metric(r, metric, out, (int)i);
    }
    out->n_metrics = (int)n;
}

/* The design's own example says "commend". */
static struct json_object *read_command(struct json_reader *r, struct json_object *json)
{
    struct json_object *command = canary_read_strings(r, json, "command");
    struct json_object *commend = canary_read_strings(r, json, "commend");
    if (command != NULL && commend != NULL)
        json_reader_fail(r, json, "commend", "expected command or commend, found both");
    return command != NULL ? command : commend;
}

static void read_webhook(struct json_reader *r, struct json_object *json,
                         struct rollout_analysis *out)
{
    int timeout_s = canary_read_int(r, json, "timeoutSeconds", 1, INT_MAX, DEFAULT_S);
    struct json_object *commands = read_command(r, json);
    size_t n = json_len(commands);
    if (r->err != ERR_OK)
        return;
    if (n + (size_t)out->n_commands > ROLLOUT_MAX_COMMANDS) {
        json_reader_fail(r, json, "command", "expected at most %d commands of all webhooks",
                         (int)ROLLOUT_MAX_COMMANDS);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *text = json_object_get_string(json_elem(commands, i));
        if (*text == '\0') {
            canary_fail_element(r, commands, i, "a command");
            return;
        }
        out->commands[out->n_commands++] =
            (struct rollout_command){.text = text, .timeout_s = timeout_s};
    }
}

/* One object, or a list of them. */
static void read_webhooks(struct json_reader *r, struct json_object *json,
                          struct rollout_analysis *out)
{
    struct json_object *value = json_at(json, "webhooks", NULL);
    out->commands = arena_array(r->arena, ROLLOUT_MAX_COMMANDS, sizeof *out->commands);
    if (value == NULL)
        return;
    if (json_object_is_type(value, json_type_object)) {
        read_webhook(r, json_read_obj(r, json, "webhooks", JSON_REQUIRED), out);
        return;
    }
    if (!json_object_is_type(value, json_type_array)) {
        json_reader_fail(r, json, "webhooks", "expected an object or a list of them, found %s",
                         json_text(r->arena, value));
        return;
    }
    struct json_object *array = json_read_array(r, json, "webhooks", JSON_REQUIRED);
    for (size_t i = 0; i < json_len(array) && r->err == ERR_OK; i++) {
        struct json_object *webhook = canary_read_element(r, array, i);
        if (webhook != NULL)
            read_webhook(r, webhook, out);
    }
}

static void read_affinity(struct json_reader *r, struct json_object *json,
                          struct rollout_analysis *out)
{
    struct json_object *affinity = json_read_obj(r, json, "sessionAffinity", JSON_OPTIONAL);
    if (affinity == NULL)
        return;
    out->cookie_name = canary_read_name(r, affinity, "cookieName", JSON_REQUIRED);
    out->cookie_max_age_s = json_read_int(r, affinity, "maxAge", 0, INT_MAX, 0);
}

void application_read_analysis(struct json_reader *r, struct json_object *policy,
                               struct rollout_analysis *out)
{
    struct json_object *json = json_read_obj(r, policy, "trafficAnalysis", JSON_OPTIONAL);
    *out = (struct rollout_analysis){.interval_s = DEFAULT_S};
    if (json == NULL)
        return;
    out->interval_s = canary_read_int(r, json, "checkIntervalSeconds", 1, INT_MAX, DEFAULT_S);
    out->threshold = canary_read_int(r, json, "checkFailedTimes", 0, INT_MAX, 0);
    read_metrics(r, json, out);
    read_webhooks(r, json, out);
    read_affinity(r, json, out);
}
