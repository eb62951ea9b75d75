/* Alertmanager, API v2. The address is the server's; a token is sent as a bearer token. */
#include <string.h>

#include "base/json.h"
#include "notify/notify.h"

/* Alerts with equal labels are the same alert: since the key is one of them, a repeated alert is
 * recognised. */
static struct json_object *labels(const struct alert *alert)
{
    struct json_object *out = json_object_new_object();

    json_set_str(out, "alertname", "FlaggerCanary");
    json_set_str(out, "severity",
                 strcmp(alert->severity, "warn") == 0    ? "warning"
                 : strcmp(alert->severity, "error") == 0 ? "critical"
                                                         : alert->severity);
    json_set_str(out, "namespace", alert->namespace_);
    json_set_str(out, "canary", alert->canary);
    json_set_str(out, "key", alert->key);
    return out;
}

static struct json_object *body(struct arena *arena, const struct address *address,
                                const struct alert *alert)
{
    struct json_object *out = json_own(arena, json_object_new_array());
    struct json_object *one = json_object_new_object();
    struct json_object *annotations = json_sub(one, "annotations");

    (void)address;
    json_object_object_add(one, "labels", labels(alert));
    json_set_str(annotations, "summary", alert->text);
    json_set_str(annotations, "description", alert_summary(arena, alert));
    for (int i = 0; i < alert->n_fields; i++)
        json_set_str(annotations, alert_identifier(arena, alert->fields[i].name),
                     alert->fields[i].value);
    json_object_array_add(out, one);
    return out;
}

static const char *url(struct arena *arena, const struct address *address)
{
    size_t len = strlen(address->url);

    if (strstr(address->url, "/api/v2/"))
        return address->url;
    while (len > 0 && address->url[len - 1] == '/')
        len--;
    return arena_printf(arena, "%.*s/api/v2/alerts", (int)len, address->url);
}

const struct notifier notifier_alertmanager = {
    .type = "alertmanager", .body = body, .url = url, .takes_token = true};
