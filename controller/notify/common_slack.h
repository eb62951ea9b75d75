/* The message of Slack's incoming webhooks, which Discord and Rocket.Chat understand as well. */
#ifndef NOTIFY_COMMON_SLACK_H
#define NOTIFY_COMMON_SLACK_H

#include "notify/notify.h"

/* color: of the bar beside the text. */
struct json_object *slack_message(struct arena *arena, const struct address *address,
                                  const struct alert *alert, const char *color);

#endif
