/* Rocket.Chat, whose incoming webhooks take Slack's messages. */
#include "notify/common_slack.h"

static struct json_object *body(struct arena *arena, const struct address *address,
                                const struct alert *alert)
{
    return slack_message(arena, address, alert, alert_is_error(alert) ? "#FF0000" : "#0076D7");
}

const struct notifier notifier_rocket = {.type = "rocket", .body = body};
