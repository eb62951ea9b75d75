/* Rocket.Chat: its incoming webhooks accept Slack's messages. */
#include "notify/notify.h"

static struct json_object *body(struct arena *arena, const struct address *address,
                                const struct alert *alert)
{
    return slack_message(arena, address, alert, alert_is_error(alert) ? "#FF0000" : "#0076D7");
}

const struct notifier notifier_rocket = {.type = "rocket", .body = body};
