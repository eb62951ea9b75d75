/* Discord, which takes Slack's messages at the path /slack of its webhooks. */
#include <string.h>

#include "notify/notify.h"

static struct json_object *body(struct arena *arena, const struct address *address,
                                const struct alert *alert)
{
    return slack_message(arena, address, alert, alert_is_error(alert) ? "danger" : "good");
}

/* Flagger appends it after a query as well, where it is not part of the path. */
static const char *url(struct arena *arena, const struct address *address)
{
    size_t path = strcspn(address->url, "?#");
    size_t end = path;

    if (path >= 6 && strncmp(address->url + path - 6, "/slack", 6) == 0)
        return address->url;
    while (end > 0 && address->url[end - 1] == '/')
        end--;
    return arena_printf(arena, "%.*s/slack%s", (int)end, address->url, address->url + path);
}

const struct notifier notifier_discord = {.type = "discord", .body = body, .url = url};
