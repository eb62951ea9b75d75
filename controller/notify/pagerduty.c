/* PagerDuty, Events API v2. The token is the routing key of the service. */
#include <string.h>

#include "base/encoding.h"
#include "base/json.h"
#include "notify/notify.h"

enum { SUMMARY_MAX = 1024 };

static const char *severity(const struct alert *alert)
{
    return strcmp(alert->severity, "warn") == 0 ? "warning" : alert->severity;
}

static const char *summary(struct arena *arena, const struct alert *alert)
{
    const char *text = alert_summary(arena, alert);

    return strlen(text) <= SUMMARY_MAX ? text
                                       : arena_strndup(arena, text, utf8_cut(text, SUMMARY_MAX));
}

/* Each alert is an incident of its own; a repeated alert has the same key and is merged with it. */
static struct json_object *body(struct arena *arena, const struct address *address,
                                const struct alert *alert)
{
    struct json_object *out = json_own(arena, json_object_new_object());
    struct json_object *payload = json_sub(out, "payload");

    json_set_str(out, "routing_key", address->token);
    json_set_str(out, "event_action", "trigger");
    json_set_str(out, "dedup_key", alert->key);
    json_set_str(out, "client", "flagger");
    json_set_str(payload, "summary", summary(arena, alert));
    json_set_str(payload, "source", alert_subject(arena, alert));
    json_set_str(payload, "severity", severity(alert));
    json_set_str(payload, "component", alert->canary);
    json_set_str(payload, "group", alert->namespace_);
    json_set_str(payload, "class", "canary");
    json_set(payload, "custom_details", alert_fields(arena, alert));
    return out;
}

const struct notifier notifier_pagerduty = {
    .type = "pagerduty", .body = body, .needs_token = "the routing key of the service"};
