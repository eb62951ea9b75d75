/* What an analysis asks and tells: metrics, webhooks, alerts. */
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "proto/canary_parts.h"

enum { DEFAULT_TIMEOUT_MS = 10 * 1000, MAX_HEADERS_FROM = 8 };

static const struct {
    const char *name;
    bool gate;
} hook_types[] = {
#define HOOK_TYPE(id, name, gate) [HOOK_##id] = {name, gate},
#include "proto/hook_type.def"
#undef HOOK_TYPE
};
enum { N_HOOK_TYPES = sizeof hook_types / sizeof hook_types[0] };

const char *hook_type_name(enum hook_type type)
{
    return hook_types[type].name;
}

bool hook_type_find(const char *name, enum hook_type *out)
{
    *out = HOOK_ROLLOUT;
    if (name == NULL || name[0] == '\0')
        return true;
    for (int i = 0; i < N_HOOK_TYPES; i++) {
        *out = (enum hook_type)i;
        if (strcmp(hook_types[i].name, name) == 0)
            return true;
    }
    return false;
}

bool hook_type_is_gate(enum hook_type type)
{
    return hook_types[type].gate;
}

/* "fail", "hold" or, where it may be, "pass". */
static enum canary_policy read_policy(struct json_reader *r, struct json_object *json,
                                      const char *key, bool may_pass)
{
    const char *text = canary_read_name(r, json, key, JSON_OPTIONAL);
    if (text == NULL || strcmp(text, "fail") == 0)
        return POLICY_FAIL;
    if (strcmp(text, "hold") == 0)
        return POLICY_HOLD;
    if (may_pass && strcmp(text, "pass") == 0)
        return POLICY_PASS;
    json_reader_fail(r, json, key, "expected %s, found \"%s\"",
                     may_pass ? "fail, hold or pass" : "fail or hold", text);
    return POLICY_FAIL;
}

static double read_bound(struct json_reader *r, struct json_object *obj, const char *key, bool *has)
{
    *has = json_at(obj, key, NULL) != NULL;
    return json_read_num(r, obj, key, 0);
}

static void read_metric(struct json_reader *r, struct json_object *json, bool judged,
                        struct canary_metric *out)
{
    out->name = json_read_str(r, json, "name", JSON_REQUIRED);
    out->interval = canary_read_name(r, json, "interval", JSON_OPTIONAL);
    out->interval_ms =
        out->interval != NULL ? json_read_duration(r, json, "interval", 0) : CANARY_UNSET;
    out->query = canary_read_name(r, json, "query", JSON_OPTIONAL);
    out->template_ref = canary_read_ref(r, json, "templateRef", JSON_OPTIONAL);
    out->variables = canary_read_map(r, json, "templateVariables");
    out->threshold = read_bound(r, json, "threshold", &out->has_threshold);
    out->no_data = read_policy(r, json, "noData", true);
    canary_read_metric_judge(r, json, judged, out);
    struct json_object *range = json_read_obj(r, json, "thresholdRange", JSON_OPTIONAL);
    if (range == NULL)
        return;
    out->has_range = true;
    out->min = read_bound(r, range, "min", &out->has_min);
    out->max = read_bound(r, range, "max", &out->has_max);
    if (out->has_min && out->has_max && out->min > out->max)
        json_reader_fail(r, range, NULL, "expected min not above max, found min %g and max %g",
                         out->min, out->max);
}

void canary_read_metrics(struct json_reader *r, struct json_object *analysis,
                         struct canary_analysis *out)
{
    struct json_object *array = json_read_array(r, analysis, "metrics", JSON_OPTIONAL);
    size_t n = json_len(array);
    out->on_metric_error = read_policy(r, analysis, "onMetricError", false);
    out->on_no_requests = json_at(analysis, "onNoRequests", NULL)
                              ? read_policy(r, analysis, "onNoRequests", true)
                              : POLICY_HOLD;
    out->on_unreachable =
        json_at(analysis, "onMetricError", NULL) ? out->on_metric_error : POLICY_WAIT;
    out->metrics = arena_array(r->arena, n, sizeof *out->metrics);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *json = canary_read_element(r, array, i);
        if (json != NULL)
            read_metric(r, json, out->judge.given, &out->metrics[i]);
    }
    out->n_metrics = (int)n;
    canary_check_judge(r, analysis, out);
}

static enum hook_type read_hook_type(struct json_reader *r, struct json_object *json)
{
    const char *text = json_read_str(r, json, "type", JSON_OPTIONAL);
    enum hook_type type = HOOK_ROLLOUT;
    const char *known = "";

    if (hook_type_find(text, &type))
        return type;
    for (int i = 0; i < N_HOOK_TYPES; i++)
        known = arena_printf(r->arena, "%s%s%s", known, i > 0 ? ", " : "", hook_types[i].name);
    json_reader_fail(r, json, "type", "expected one of %s, found \"%s\"", known, text);
    return HOOK_ROLLOUT;
}

static const char *read_url(struct json_reader *r, struct json_object *json)
{
    const char *url = json_read_str(r, json, "url", JSON_REQUIRED);
    if (url == NULL)
        return NULL;
    size_t scheme = strncasecmp(url, "http://", 7) == 0    ? 7
                    : strncasecmp(url, "https://", 8) == 0 ? 8
                                                           : 0;
    if (scheme == 0 || url[scheme] == '\0' || strchr("/?#", url[scheme]) != NULL)
        json_reader_fail(r, json, "url",
                         "expected a URL such as http://flagger-loadtester.test/, found \"%s\"",
                         url);
    return url;
}

int64_t hook_type_max_ms(enum hook_type type)
{
    bool informs = type == HOOK_EVENT || type == HOOK_POST_ROLLOUT;
    return informs ? HOOK_INFORMING_MAX_MS : HOOK_MAX_MS;
}

static int64_t read_timeout(struct json_reader *r, struct json_object *json)
{
    const char *text = json_read_str(r, json, "timeout", JSON_OPTIONAL);
    if (text == NULL || strlen(text) < 2)
        return DEFAULT_TIMEOUT_MS;
    int64_t ms = json_read_duration(r, json, "timeout", DEFAULT_TIMEOUT_MS);
    if (ms <= 0)
        json_reader_fail(r, json, "timeout", "expected a duration above 0s, found \"%s\"", text);
    return ms;
}

/* How long a gate may stay closed, and what happens then. Nothing waits for the other hooks. */
static void read_deadline(struct json_reader *r, struct json_object *json,
                          struct canary_webhook *out)
{
    const char *text = canary_read_name(r, json, "deadline", JSON_OPTIONAL);
    const char *then = canary_read_name(r, json, "onDeadline", JSON_OPTIONAL);

    if ((text != NULL || then != NULL) && !hook_type_is_gate(out->type)) {
        json_reader_fail(r, json, text != NULL ? "deadline" : "onDeadline",
                         "expected on a webhook of type confirm-rollout, "
                         "confirm-traffic-increase or confirm-promotion only, found on one of "
                         "type %s",
                         hook_type_name(out->type));
        return;
    }
    if (then != NULL && text == NULL) {
        json_reader_fail(r, json, "onDeadline", "expected with a deadline, found none");
        return;
    }
    out->deadline_ms = text != NULL ? json_read_duration(r, json, "deadline", 0) : 0;
    if (text != NULL && r->err == ERR_OK && out->deadline_ms <= 0)
        json_reader_fail(r, json, "deadline", "expected a duration above 0s, found \"%s\"", text);
    out->approve_at_deadline = then != NULL && strcmp(then, "approve") == 0;
    if (then != NULL && !out->approve_at_deadline && strcmp(then, "rollback") != 0)
        json_reader_fail(r, json, "onDeadline", "expected approve or rollback, found \"%s\"", then);
}

/* As envFrom of a container: [{secretRef: {name}}]. */
static void read_headers_from(struct json_reader *r, struct json_object *json,
                              struct canary_webhook *out)
{
    struct json_object *array = json_read_array(r, json, "headersFrom", JSON_OPTIONAL);
    size_t n = json_len(array);
    if (n > MAX_HEADERS_FROM) {
        json_reader_fail(r, json, "headersFrom", "expected at most %d Secrets, found %zu",
                         (int)MAX_HEADERS_FROM, n);
        return;
    }
    out->headers_from = arena_array(r->arena, n, sizeof *out->headers_from);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *source = canary_read_element(r, array, i);
        struct json_object *ref =
            source != NULL ? json_read_obj(r, source, "secretRef", JSON_REQUIRED) : NULL;
        if (ref == NULL)
            return;
        out->headers_from[i] = canary_read_name(r, ref, "name", JSON_REQUIRED);
        /* Whoever may write Canaries here must not read the Secrets of others. */
        if (json_at(ref, "namespace", NULL) != NULL)
            json_reader_fail(r, ref, "namespace",
                             "expected none, the Secret is one of the Canary's namespace");
    }
    out->n_headers_from = (int)n;
}

/* A CA that would never be looked at is a mistake of somebody who feels safe. */
static void read_ca(struct json_reader *r, struct json_object *json, struct canary_webhook *out)
{
    struct json_object *ref = json_read_obj(r, json, "caSecretRef", JSON_OPTIONAL);
    if (ref == NULL)
        return;
    out->ca_secret = canary_read_name(r, ref, "name", JSON_REQUIRED);
    out->ca_key = canary_read_name(r, ref, "key", JSON_OPTIONAL);
    if (json_at(ref, "namespace", NULL) != NULL)
        json_reader_fail(r, ref, "namespace",
                         "expected none, the Secret is one of the Canary's namespace");
    if (r->err == ERR_OK && out->disable_tls)
        json_reader_fail(r, json, "caSecretRef",
                         "expected without disableTLS, which believes everybody");
    if (r->err == ERR_OK && strncasecmp(out->url, "https://", 8) != 0)
        json_reader_fail(r, json, "caSecretRef", "expected with a url that begins with https://");
}

static void read_webhook(struct json_reader *r, struct json_object *json,
                         struct canary_webhook *out)
{
    out->type = read_hook_type(r, json);
    out->name = json_read_str(r, json, "name", JSON_REQUIRED);
    out->url = read_url(r, json);
    out->metadata = canary_read_map(r, json, "metadata");
    out->timeout_ms = read_timeout(r, json);
    if (out->timeout_ms > hook_type_max_ms(out->type)) {
        out->longer_ms = out->timeout_ms;
        out->timeout_ms = hook_type_max_ms(out->type);
    }
    out->retries = canary_read_int(r, json, "retries", 0, INT_MAX, 0);
    out->mute_alert = json_read_bool(r, json, "muteAlert", false);
    out->disable_tls = json_read_bool(r, json, "disableTLS", false);
    read_deadline(r, json, out);
    read_headers_from(r, json, out);
    read_ca(r, json, out);
}

void canary_read_webhooks(struct json_reader *r, struct json_object *analysis,
                          struct canary_analysis *out)
{
    struct json_object *array = json_read_array(r, analysis, "webhooks", JSON_OPTIONAL);
    size_t n = json_len(array);
    out->webhooks = arena_array(r->arena, n, sizeof *out->webhooks);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *json = canary_read_element(r, array, i);
        if (json != NULL)
            read_webhook(r, json, &out->webhooks[i]);
    }
    out->n_webhooks = (int)n;
}

static const char *read_severity(struct json_reader *r, struct json_object *json)
{
    static const char *const known[] = {"info", "warn", "error"};
    /* Flagger never sends an alert without a severity, although it documents "info" as the default.
     */
    const char *text = canary_read_name(r, json, "severity", JSON_OPTIONAL);
    if (text == NULL)
        return known[0];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i], text) == 0)
            return known[i];
    }
    json_reader_fail(r, json, "severity", "expected one of info, warn, error, found \"%s\"", text);
    return NULL;
}

void canary_read_alerts(struct json_reader *r, struct json_object *analysis,
                        struct canary_analysis *out)
{
    struct json_object *array = json_read_array(r, analysis, "alerts", JSON_OPTIONAL);
    size_t n = json_len(array);
    out->alerts = arena_array(r->arena, n, sizeof *out->alerts);
    for (size_t i = 0; i < n && r->err == ERR_OK; i++) {
        struct json_object *json = canary_read_element(r, array, i);
        if (json == NULL)
            break;
        out->alerts[i] = (struct canary_alert){
            .name = json_read_str(r, json, "name", JSON_REQUIRED),
            .severity = read_severity(r, json),
            .provider = canary_read_ref(r, json, "providerRef", JSON_REQUIRED),
        };
    }
    out->n_alerts = (int)n;
}
