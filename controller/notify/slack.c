/*
 * Slack, by an incoming webhook, or by chat.postMessage with a token. In its texts <!channel> would
 * call everybody, and <URL|word> be a link that shows something else: what a webhook has answered
 * may stand there.
 */
#include "notify/common_slack.h"

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
