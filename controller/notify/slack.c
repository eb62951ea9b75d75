/*
 * Services that accept Slack's messages: Slack, Rocket.Chat and Discord.
 *
 * Slack accepts them through an incoming webhook, or through chat.postMessage with a token. Texts
 * are escaped: <!channel> would notify all members, <URL|word> would be a misleading link, and a
 * text may contain the response of a webhook.
 */
#include <string.h>

#include "notify/notify.h"

static struct json_object *slack_body(struct arena *arena, const struct address *address,
                                      const struct alert *alert)
{
    struct alert escaped = *alert;

    escaped.text = alert_escape(arena, alert->text);
    for (int i = 0; i < alert->n_fields; i++)
        escaped.fields[i].value = alert_escape(arena, alert->fields[i].value);
    return slack_message(arena, address, &escaped, alert_is_error(alert) ? "danger" : "good");
}

const struct notifier notifier_slack = {.type = "slack", .body = slack_body, .takes_token = true};

/* --- Rocket.Chat, through its incoming webhooks */

static struct json_object *rocket_body(struct arena *arena, const struct address *address,
                                       const struct alert *alert)
{
    return slack_message(arena, address, alert, alert_is_error(alert) ? "#FF0000" : "#0076D7");
}

const struct notifier notifier_rocket = {.type = "rocket", .body = rocket_body};

/* --- Discord, at the path /slack of its webhooks */

static struct json_object *discord_body(struct arena *arena, const struct address *address,
                                        const struct alert *alert)
{
    return slack_message(arena, address, alert, alert_is_error(alert) ? "danger" : "good");
}

/* Flagger appends the path after a query too, where it is not part of the path. */
static const char *discord_url(struct arena *arena, const struct address *address)
{
    size_t path = strcspn(address->url, "?#");
    size_t end = path;

    if (path >= 6 && strncmp(address->url + path - 6, "/slack", 6) == 0)
        return address->url;
    while (end > 0 && address->url[end - 1] == '/')
        end--;
    return arena_printf(arena, "%.*s/slack%s", (int)end, address->url, address->url + path);
}

const struct notifier notifier_discord = {
    .type = "discord", .body = discord_body, .url = discord_url};
