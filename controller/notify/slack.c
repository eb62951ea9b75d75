/*
 * Slack, by an incoming webhook, or by chat.postMessage with a token. Texts are escaped: <!channel>
 * would notify all members, and <URL|word> be a misleading link, and a text may contain the answer
 * of a webhook.
 */
#include "notify/notify.h"

static struct json_object *body(struct arena *arena, const struct address *address,
                                const struct alert *alert)
{
    struct alert escaped = *alert;

    escaped.text = alert_escape(arena, alert->text);
    for (int i = 0; i < alert->n_fields; i++)
        escaped.fields[i].value = alert_escape(arena, alert->fields[i].value);
    return slack_message(arena, address, &escaped, alert_is_error(alert) ? "danger" : "good");
}

const struct notifier notifier_slack = {.type = "slack", .body = body, .takes_token = true};
