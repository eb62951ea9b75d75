/* Any server that accepts a POST: sends the output of the AlertProvider's template or, if it has
 * none, this object. */
#include "base/json.h"
#include "notify/notify.h"

static struct json_object *body(struct arena *arena, const struct address *address,
                                const struct alert *alert)
{
    struct json_object *out = json_own(arena, json_object_new_object());

    (void)address;
    json_set_str(out, "key", alert->key);
    json_set_str(out, "name", alert->canary);
    json_set_str(out, "namespace", alert->namespace_);
    json_set_str(out, "severity", alert->severity);
    json_set_str(out, "text", alert->text);
    json_set(out, "fields", alert_fields(arena, alert));
    return out;
}

const struct notifier notifier_webhook = {
    .type = "webhook", .body = body, .takes_token = true, .takes_template = true};
